# SPDX-License-Identifier: Apache-2.0
"""Process mode without namespaces with sandboxes and interpreters that are ready, on a machine without control groups. What a run could
do to them is tried from a program in mode none as well, as the positive control: there it gets through, to the same processes."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "faults")]
import alone
import common
import provider as abi
import tap
from provider import OK, Host

READY = 3
CAPABILITIES = ("sandbox.exec", "sandbox.exec.mode.unprivileged", "sandbox.exec.mode.none", "sandbox.exec.limits.extended")
WITHOUT = json.loads((ROOT / "policies" / "in-container.json").read_text())
WITHOUT["capabilities"] += ["sandbox.exec.mode.none"]
NONE = {"modes": {"default": "none", "allowed": ["none"]}, "capabilities": WITHOUT["capabilities"]}

alone.become_alone()
subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/fs/cgroup"], check=True)
provider = abi.Provider()


def use(prepare=None, ready=READY, **more):
    python = {"languages": {"python": {"prepare": prepare}}} if prepare else {}
    tap.equal(provider.use_policy({**WITHOUT, "pools": {"process": {"ready": ready, "most": 0}}, **python, **more}), OK)


def fresh(**how):
    provider.reset()
    use(**how)


def run(code, language="python", **request):
    return provider.invoke({"language": language, "code": code, **request}, Host(CAPABILITIES))[1]


def counted(name):
    return provider.counters()["sandboxes_" + name]


def await_ready(kind="python", count=READY):
    tap.eventually(lambda: provider.pool("process")[1].get(kind, {}).get("ready") == count, f"{count} are ready", 30)


def ready_run(code, language="python", kind="python", **request):
    await_ready(kind)
    before = counted("ready")
    result = run(code, language, **request)
    tap.equal(counted("ready") - before, 1, "it was ready")
    return result


def supervisor():
    [pid] = common.supervisors_of(os.getpid())
    return pid


def originals():
    """Those that copies are made of: Pythons below the supervisor that are no init, which has children."""
    return [pid for pid in common.children(supervisor()) if is_copied(pid) and not common.children(pid)]


def the_original():
    """A copy has no child at first, and the original for a moment one whose memory is looked at."""
    tap.eventually(lambda: len(originals()) == 1, "one original", 20)
    return originals()[0]


def is_copied(pid):
    try:
        return b"CODE_EXECUTE_INTERPRETER=copy" in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def inits():
    return [pid for pid in common.children(supervisor()) if common.children(pid)]


def programs_of(init):
    """Each leads a session of its own."""
    return [child for child in common.children(init) if os.getsid(child) == child]


def payloads():
    return [child for init in inits() for child in programs_of(init)]


def directories(pid):
    return list(pathlib.Path("/tmp").glob(f"code-execute-{pid}-*"))


def test_python_is_copied_into_sandboxes_without_namespaces():
    fresh()
    tap.equal(run("pass")["error"], None)
    await_ready()
    the_original()
    tap.true(all(is_copied(pid) for pid in payloads()), "and its copies")
    result = ready_run("import os, sys, tempfile\nprint(os.getcwd() == os.environ['HOME'] == sys.path[0] == os.path.dirname(__file__))\n"
                       "print(sys.argv, sys.orig_argv[1:], os.environ['TMPDIR'] == tempfile.gettempdir(), [n for n in os.environ if 'CODE_EXECUTE' in n])\n"
                       "print(os.environ['HOME'] in __import__('site').getusersitepackages())\n2 ** 5")
    tap.equal(result["stdout"], "True\n['main.py'] ['main.py'] True []\nTrue\n", result)
    tap.contains(str(result["results"]), "'32'", "its value")
    tap.equal((result["mode"], "landlock" in result["isolation"]["applied"]), ("unprivileged", True), result)


def test_a_module_that_the_program_names_is_there():
    """As with namespaces: by a copy, whose original has imported it, which a trial in such a sandbox has allowed."""
    if not pathlib.Path("/usr/lib/python3/dist-packages/numpy").exists():
        raise tap.Skip("takes the distribution's numpy")
    code = "import sys\nahead = 'numpy' in sys.modules\nimport numpy\nprint(ahead, numpy.arange(10).sum())"
    fresh(ready=1)
    tap.equal(run(code)["stdout"], "False 45\n", "the first of its kind finds nothing ready")
    tap.eventually(lambda: any(is_copied(pid) for pid in payloads()), "a copy waits", 60)
    before = counted("ready")
    tap.equal(run(code)["stdout"], "True 45\n")
    tap.equal(counted("ready") - before, 1, "it was ready")


def test_others_wait_too():
    fresh()
    run("true", "sh")
    tap.equal(ready_run("echo hi", "sh", "none")["stdout"], "hi\n", "a sandbox alone")
    if shutil.which("node", path="/usr/bin"):
        fresh(languages={"javascript": {"environment": {"OPENSSL_CONF": "/dev/null"}}})  # Debian's is in no path of the policy
        run("0", "javascript")
        tap.equal(ready_run("console.log(process.cwd() === process.env.HOME)", "javascript", "node")["stdout"], "true\n", "Node")
    fresh(prepare={"interpreter": "python", "fork": False})
    run("pass")
    await_ready()
    tap.equal(originals(), [], "none is copied")
    tap.equal(ready_run("import os, sys; print(sys.argv, os.getcwd() == os.environ['HOME'])")["stdout"], "['main.py'] True\n", "started in its sandbox")


def test_errors_name_the_program():
    fresh()
    run("pass")
    for code, last in (("x = (", "SyntaxError: '(' was never closed"), ("\n1/0", "ZeroDivisionError: division by zero")):
        result = ready_run(code)
        home = result["stderr"].split('File "')[1].split("/main.py")[0]
        tap.true(home.startswith("/tmp/code-execute-") and home.endswith("/home"), result["stderr"])
        tap.equal((result["stderr"].splitlines()[-1].split(" (")[0], result["exit_code"]), (last, 1), result)


# Each gets the number of a process, and prints "through" where it got through; else it fails or is ended.
ATTACKS = {
    "signal it": "os.kill(pid, 0)",
    "signal it by a descriptor": "import signal; signal.pidfd_send_signal(os.pidfd_open(pid), 0)",
    "take a descriptor": "call(libc.syscall, 438, os.pidfd_open(pid), 0, 0)",
    "trace it": "call(libc.ptrace, 0x4206, pid, 0, 0)",
    "read its memory": "data = ctypes.create_string_buffer(8); ends = open(f'/proc/{pid}/maps').readline().split('-')\n"
                       "    vec = struct.pack('QQ', ctypes.addressof(data), 8), struct.pack('QQ', int(ends[0], 16), 8)\n"
                       "    call(libc.process_vm_readv, pid, vec[0], 1, vec[1], 1, 0)",
    "open its memory": "open(f'/proc/{pid}/mem', 'rb')",
    "read its variables": "open(f'/proc/{pid}/environ').read()",
    "list its descriptors": "os.listdir(f'/proc/{pid}/fd')",
    "change its limits": "call(libc.prlimit, pid, 4, struct.pack('QQ', 0, 2**64 - 1), None)",
    "change its priority": "os.setpriority(os.PRIO_PROCESS, pid, 1)",
    "change its processors": "os.sched_setaffinity(pid, os.sched_getaffinity(pid))",
}
TRY = """
import ctypes, os, struct
libc, pid = ctypes.CDLL(None, use_errno=True), {pid}
def call(function, *arguments):
    if function(*arguments) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
try:
    {attempt}
    print("through")
except OSError as error:
    print("stopped:", error.errno)
"""


def newest():
    """The init of the sandbox that was made last, and what waits in it; the next run takes the oldest."""
    await_ready()
    init = max(inits(), key=lambda pid: (int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]), pid))
    tap.eventually(lambda: programs_of(init), "the program-to-be leads its session")
    return init, *programs_of(init)


def outcome(attempt, pid, policy):
    tap.equal(provider.use_policy(policy), OK)
    result = run(TRY.replace("{pid}", str(pid)).replace("{attempt}", attempt))
    return result["stdout"].strip() or result["cause"]


def test_nobody_reaches_what_waits_or_the_original():
    fresh()
    run("pass")
    await_ready()
    original = the_original()
    warm = {**WITHOUT, "pools": {"process": {"ready": READY, "most": 0}}}
    wrong = []
    for name, attempt in ATTACKS.items():
        for whose, find in (("original", lambda: original), ("init", lambda: newest()[0]), ("waiting interpreter", lambda: newest()[1])):
            pid = find()
            inside, control = outcome(attempt, pid, warm), outcome(attempt, pid, NONE)
            if control != "through" or not inside.startswith(("stopped", "forbidden_syscall")):
                wrong.append(f"{name} ({whose}): {inside}, and without isolation {control}")
    tap.equal(wrong, [], "attacks")
    tap.equal(the_original(), original, "it still copies")


def test_no_run_finds_anything_of_another():
    fresh()
    run("pass")
    first = ready_run("import os; mark = 'the-mark' + '-of-a-run'; open('left', 'w').write(mark); os.environ['MARK'] = mark; print(os.getcwd())")
    tap.eventually(lambda: not os.path.exists(first["stdout"].strip()), "its directory is removed, behind the answer")
    second = ready_run(f"import os, gc\nprint(os.listdir('.'), 'MARK' in os.environ, os.path.exists({first['stdout'].strip()!r}), "
                       "[fd for fd in range(256) if not fails(os.fstat, fd)])\n"
                       .replace("import os, gc\n", "import os\ndef fails(function, *arguments):\n    try: function(*arguments)\n    except OSError: return True\n"))
    tap.equal(second["stdout"], "['main.py'] False False [0, 1, 2, 63]\n", "its program, its streams and its results")


# A large original, and what its copies may have beyond: its own memory is not theirs.
LARGE_MIB, LIMIT_MIB = 320, 96
HOLD = "def hold(mib):\n    kept = bytearray(mib << 20); kept[::4096] = b'x' * len(kept[::4096]); return kept\n"
MEMORY = {
    "less than the limit": (HOLD + "kept = hold(76); import time; time.sleep(0.3); print('kept')", "exit"),
    "more than the limit": (HOLD + "kept = [hold(4) for i in range(60)]; import time; time.sleep(15)", "memory_limit"),
    "more than the limit, of several": (HOLD + "import os, time\nfor i in range(3):\n    if os.fork() == 0: kept = hold(60); time.sleep(15); os._exit(0)\ntime.sleep(15)", "memory_limit"),
    "more, once the original's is given back": (HOLD + "import ctypes, large, time\nlarge.give_back()\nkept = [hold(4) for i in range(60)]; time.sleep(15)", "memory_limit"),
    "an exit with a number": ("import sys; sys.exit(1)", "exit"),
}
LARGE = f"""
import mmap
kept = mmap.mmap(-1, {LARGE_MIB} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for offset in range(0, len(kept), 4096):
    kept[offset] = 1
def give_back():
    kept.close()
"""


def test_memory_of_the_original_is_not_the_runs():
    directory = pathlib.Path(f"/usr/local/lib/code-execute-test-{os.getpid()}")
    directory.mkdir(parents=True)
    try:
        (directory / "large.py").write_text(LARGE)
        limits = {"memory_bytes": {"default": LIMIT_MIB << 20, "max": LIMIT_MIB << 20}}
        provider.reset()
        tap.equal(provider.use_policy({**WITHOUT, "pools": {"process": {"ready": READY, "most": 0}}, "limits": limits, "languages": {"python": {
            "prepare": {"import": ["large"]}, "environment": {"PYTHONPATH": str(directory)}, "read_only": [str(directory)]}}}), OK)
        run("pass")
        await_ready()
        held = int(pathlib.Path(f"/proc/{the_original()}/status").read_text().split("RssAnon:")[1].split()[0]) >> 10
        tap.true(held > LARGE_MIB, f"positive control: the original has {held} MiB")
        wrong = []
        for name, (code, cause) in MEMORY.items():
            result = ready_run(code, timeout_ms=10000)
            if result["cause"] != cause:
                wrong.append(f"{name}: {result['cause']} {result['stderr']} {result['usage']}")
            elif cause == "exit" and result["usage"]["peak_memory_bytes"] > LIMIT_MIB << 20:
                wrong.append(f"{name}: {result['usage']}")
        tap.equal(wrong, [], "memory")
    finally:
        subprocess.run(["rm", "-rf", str(directory)], check=True)


def test_every_directory_is_removed():
    """Of one that was used, that was not, whose original has failed, and whose supervisor was killed."""
    fresh()
    run("pass")
    await_ready()
    own = supervisor()
    tap.eventually(lambda: len(directories(own)) == READY, "one for each that waits, and none of the run", 20)
    original = the_original()
    os.kill(original, signal.SIGKILL)
    tap.equal(ready_run("print('hi')")["stdout"], "hi\n", "those that are there serve on")
    tap.eventually(lambda: originals() not in ([], [original]), "another original", 30)
    await_ready()
    provider.reset()
    tap.eventually(lambda: not directories(own), "none once the pool is emptied", 20)
    use()
    run("pass")
    await_ready()
    own, those = supervisor(), payloads() + inits() + originals()
    os.kill(own, signal.SIGKILL)
    tap.eventually(lambda: not directories(own) and not [pid for pid in those if pathlib.Path(f"/proc/{pid}/exe").exists()],
                   "neither directories nor processes of a killed supervisor", 20)
    provider.reset()


def test_nobody_is_left_of_what_was_not_used():
    """Neither as a zombie: each init has reaped its own before it ended."""
    fresh()
    run("pass")
    await_ready()
    tap.eventually(lambda: [len(common.children(init)) for init in inits()] == [2] * READY, "an init, its guardian and an interpreter each")
    own, waiting = supervisor(), inits()
    tree = {*waiting, *(child for init in waiting for child in common.children(init))}
    use(pools={"process": {"ready": READY, "most": 0, "idle_ms": 1}})
    run("pass")
    tap.eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in tree), "none of them is there any more", 20)
    tap.eventually(lambda: not directories(own), "nor its directory", 20)
    tap.equal(supervisor(), own, "it is the same supervisor")


def test_it_is_told():
    fresh()
    run("pass")
    await_ready()
    code, answer = provider.prepare(interpreters=True)
    [rows] = [row["preparation"] for row in answer["interpreters"] if row["language"] == "python"]
    tap.equal((code, [row["how"] for row in rows if row["word"] is None]), (0, ["copied"]), answer)


try:
    tap.run(globals())
finally:
    provider.library.tool_shutdown()
