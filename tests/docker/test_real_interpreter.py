# SPDX-License-Identifier: Apache-2.0
"""Containers whose Python waits in them, on a real engine: a program cannot tell it from one that was started for it, and it is used
once. By hand: scripts/with-engine tests/docker/test_real_interpreter.py"""
import json
import os
import pathlib
import sys

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
ROOT = pathlib.Path(__file__).parents[2]
os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import engine
import tap
from engine import ask, containers
from modes import Provider
from provider import OK, Host

READY = 2
provider = Provider()
GRANTED = ("sandbox.exec", "sandbox.exec.secrets", "sandbox.exec.files")

PROGRAMS = {
    "itself": "import sys; main = sys.modules['__main__']\nprint(sys.argv, sys.orig_argv, sys.executable, sys.flags, sys.path, sorted(main.__dict__), main.__file__, main.__spec__, main.__loader__.path)",
    "surroundings": "import os, site, sys\nprint(sorted(os.environ.items()), os.getcwd(), oct(os.umask(0o22)), sorted(os.listdir('.')), os.listdir('/tmp'), os.listdir('/dev/shm'), site.USER_BASE, site.getusersitepackages(), os.path.expanduser('~'), sys.dont_write_bytecode)\n"
                    "print([name for name in sys.modules if 'execute' in name], [entry for entry in sys.path_importer_cache if 'execute' in entry])\nos.system('env | sort')",
    "descriptors": "import os\nprint(sorted(int(fd) for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')))\n"
                   "print([(open(f'/proc/{pid}/comm').read(), os.stat(f'/proc/{pid}').st_uid) for pid in sorted((pid for pid in os.listdir('/proc') if pid.isdigit()), key=int)])\n"
                   "print([line for line in open('/proc/self/status') if line.split(':')[0] in ('Name', 'Umask', 'State', 'Uid', 'Gid', 'Groups', 'Threads', 'SigBlk', 'SigIgn', 'SigCgt', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp')])",
    "streams": "import os, sys\nfor stream in (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__):\n    print(stream.name, stream.mode, stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.seekable(), stream.isatty(), type(stream.buffer))\n"
               "print(os.lseek(0, 0, os.SEEK_CUR), os.fstat(0).st_size, input(), sys.stdin.read())\ntry:\n    input()\nexcept EOFError as error:\n    print('end', error)",
    "signals": "import os, signal\nprint({number.name: str(signal.getsignal(number)).split(' at ')[0] for number in signal.valid_signals() if isinstance(number, signal.Signals)}, signal.pthread_sigmask(signal.SIG_BLOCK, []))\nos.kill(os.getpid(), signal.SIGINT)",
    "limits": "import resource\nprint([(name, resource.getrlimit(getattr(resource, name))) for name in dir(resource) if name.startswith('RLIMIT')])",
    "traceback": "import inspect, traceback\nprint(len(inspect.stack())); traceback.print_stack()\ndef inner():\n    raise ValueError('seen')\ninner()",
    "syntax": "x = = 1",
    "processes": "import multiprocessing, subprocess, sys\ndef double(x):\n    return 2 * x\nif __name__ == '__main__':\n    print(subprocess.run([sys.executable, '-c', 'import os, sys; print(sys.flags, os.environ.get(\"PYTHONPATH\"), sys.stdin.read())'], capture_output=True, text=True))\n    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        print(pool.map(double, [1, 2]))",
    "end": "import atexit, sys, threading, time\nclass Thing:\n    def __del__(self): print('gone')\nthing = Thing()\natexit.register(print, 'at exit')\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()\nsys.exit(7)",
    "killed": "import os, signal\nprint('before', flush=True); os.kill(os.getpid(), signal.SIGKILL)",
    "import of its own": "open('other.py', 'w').write('value = 42')\nimport other; print(other.value, other.__file__)",
}


POLICY = {"secrets": {"allowed": ["KEY"]}}
in_force = None


def use(ready, anew=False, **more):
    """One policy for most cases, so that what waits is left for the next one."""
    global in_force
    policy = {"pools": {"docker": {"ready": ready}}, **POLICY, **more}
    if anew or policy != in_force:
        provider.reset()
        tap.equal(provider.use_policy(policy), OK)
        in_force = policy


def run(code, host=None, **more):
    status, result = provider.invoke({"language": "python", "code": code, **more}, host or Host(GRANTED))
    tap.true(status == OK and result["cause"] in ("exit", "signal"), result)
    return result


def waits_in(identity):
    return any(process[-1] == "python3 main.py" for process in (json.loads(ask(f"/containers/{identity}/top")).get("Processes") or ()))


def await_ready(count=READY):
    def settled():
        found = engine.waiting()
        return len(found) == count == len(containers()) and all(map(waits_in, found))
    tap.eventually(settled, f"an interpreter waits in each of {count}", 60)
    return engine.waiting()


def ready_run(code, **more):
    """Runs it in an interpreter that waited. The first attempts may find none, because a new one does not wait yet."""
    for _ in range(20):
        await_ready()
        before = provider.counters()["sandboxes_ready"]
        result = run(code, **more)
        if provider.counters()["sandboxes_ready"] > before:
            return result
    raise AssertionError("no container was ready")


def test_the_status_reports_ready_interpreters():
    use(READY)
    run("pass")
    await_ready()
    tap.eventually(lambda: provider.pool("docker")[1]["python"]["ready"] == READY, "as many", 20)
    tap.equal({kind: row["wanted"] for kind, row in provider.pool("docker")[1].items()}, {"none": 0, "python": READY, "node": 0})


def seen(result):
    return {name: result[name] for name in ("cause", "exit_code", "signal", "stdout", "stderr")}


def test_a_program_sees_no_difference():
    with_run = {"stdin": "one\ntwo\n", "args": ["first", "", "a b"], "env": {"MORE": "it's\n$(id)"}}
    use(0)
    plain = {name: seen(run(code, **with_run)) for name, code in PROGRAMS.items()}
    use(READY)
    run("pass")
    different = []
    for name, code in PROGRAMS.items():
        ready = seen(ready_run(code, **with_run))
        if ready != plain[name]:
            different.append(name)
            print(f"# {name}:\n#   started {plain[name]}\n#   ready   {ready}".replace("\\n", " "))
    tap.equal(different, [], "programs that can tell")


def test_each_run_has_its_own_secrets_and_files():
    use(READY)
    run("pass")
    large = "x" * 30_000
    for number in range(READY + 1):
        host = Host(GRANTED, secrets={"KEY": f"key-{number}-of-this-run".encode()})
        result = ready_run("import os\nprint(input(), os.environ['KEY'] == open('data').read(), len(os.environ['LARGE']), hash('x'), os.listdir('/tmp'))", host=host,
                           stdin=f"in {number}\n", env={"LARGE": large}, secrets={"KEY": "{{secret:KEY}}"},
                           files=[{"path": "data", "content": f"key-{number}-of-this-run"}])
        parts = result["stdout"].split()
        tap.equal(parts[:4] + parts[5:], ["in", str(number), "True", "30000", "[]"])
        tap.equal(ready_run("import os; print('KEY' in os.environ, os.path.exists('data'), os.fstat(0).st_size)")["stdout"], "False False 0\n")


def test_its_files_are_those_of_a_started_interpreter():
    """The guest writes them, for a started program before its start."""
    look = ("import os, zlib\nfor place, _, names in sorted(os.walk('.')):\n    for path in [os.path.join(place, name) for name in sorted(names)]:\n"
            "        state, data = os.stat(path), open(path, 'rb').read()\n"
            "        print(path, oct(state.st_mode), oct(os.stat(place).st_mode), state.st_uid, state.st_gid, len(data), zlib.crc32(data))\n"
            "print(os.environ['KEY'], os.readlink('/proc/self/fd/0'), oct(os.umask(0)))")
    policy = {"secrets": {"allowed": ["KEY"], "delivery": {"*": "file"}}}
    with_run = {"stdin": "in", "secrets": {"KEY": "{{secret:KEY}}"},
                "files": [{"path": "it's", "content": "it's\n\\'$(id)`id`"}, {"path": "a b/c/d", "content": "'"}, {"path": "none", "content": ""},
                          {"path": "a b/bytes", "content": "AP8A", "encoding": "base64"}, {"path": "large", "content": "x'\n" * 40_000}]}
    host = Host(GRANTED, secrets={"KEY": b"a key's\nlines\n"})
    use(0, **policy)
    plain = seen(run(look, host=host, **with_run))
    tap.true("./large 0o100644" in plain["stdout"] and " 0o100400 0o40700 " in plain["stdout"], plain)
    use(READY, **policy)
    run("pass")
    tap.equal(seen(ready_run(look, host=host, **with_run)), plain)


def test_nothing_of_one_run_is_in_the_next():
    look = ("import glob, os, sys\nothers = [open(p).read().split('\\0')[0] for p in glob.glob('/proc/[0-9]*/cmdline') if p.split('/')[2] != str(os.getpid())]\n"
            "print(sorted(os.listdir('/tmp')), sorted(os.listdir('.')), sorted(os.listdir('/dev/shm')), sorted(others), len(sys.modules))\n"
            "for path in ('/tmp/trace', '/dev/shm/trace', 'trace'):\n    open(path, 'w').write('x')\n")
    use(READY)
    run("pass")
    tap.equal(len({ready_run(look)["stdout"] for _ in range(READY + 1)}), 1, "all see the same")
    tap.contains(ready_run("open('/tmp/trace', 'w')\n" + look)["stdout"], "['trace'] ['main.py'] []", "positive control: what is there is seen")


def test_hash_seeds_are_their_own():
    use(READY)
    run("pass")
    tap.equal(len({ready_run("print(hash('x'))")["stdout"] for _ in range(READY)}), READY)


def test_its_configuration_shows_nothing_of_a_run():
    use(READY)
    run("the_code_of_a_run = 1", host=Host(GRANTED, secrets={"KEY": b"the-secret-of-a-run"}), secrets={"KEY": "{{secret:KEY}}"}, env={"MORE": "the-variable-of-a-run"})
    for identity in await_ready():
        shown = ask(f"/containers/{identity}/json").decode()
        tap.true("MPLBACKEND=Agg" in shown, "positive control: the policy's variables are")
        for word in ("the_code_of_a_run", "the-secret-of-a-run", "the-variable-of-a-run", "KEY"):
            tap.true(word not in shown, word)


def test_a_run_without_a_fitting_container_gets_its_own():
    use(READY)
    run("pass")
    before = await_ready()
    ready = provider.counters()["sandboxes_ready"]
    tap.equal(len({run("print(hash('x'))", env={"PYTHONHASHSEED": "1"})["stdout"] for _ in range(2)}), 1)
    tap.true(set(before) <= set(engine.waiting()), "they wait on")
    tap.equal(provider.counters()["sandboxes_ready"], ready)


def test_a_dead_waiting_python_fails_no_run():
    use(READY, anew=True)
    run("pass")
    for identity in await_ready():
        [pid] = [int(process[1]) for process in json.loads(ask(f"/containers/{identity}/top"))["Processes"] if process[-1] == "python3 main.py"]
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            raise tap.Skip("the engine is on another machine") from None
    tap.equal(run("print(1)")["stdout"], "1\n")


tap.run(globals())
