# SPDX-License-Identifier: Apache-2.0
"""Process mode without namespaces, on a machine without control groups. Each attack is tried in mode none as well, as the positive
control: there it gets through, to the same gateway by the same user."""
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "faults")]
import alone
import common
import provider as abi
import tap
from provider import OK, Host

USER = int(os.environ.get("PROCESS_TEST_UID", "0"))
STORMS = 1000 if os.environ.get("CODE_EXECUTE_TEST_LONG") == "1" else 20
MARK = f"UNPRIVILEGED_TEST_MARK_{os.getpid()}"  # this test's, and no other's that runs meanwhile
CAPABILITIES = ("sandbox.exec", "sandbox.exec.mode.unprivileged", "sandbox.exec.mode.none", "sandbox.exec.limits.extended")
LIMITS = {"memory_bytes": 96 << 20, "processes": 16, "scratch_bytes": 16 << 20, "scratch_inodes": 500, "wall_ms": 60000}
WITHOUT = json.loads((ROOT / "policies" / "in-container.json").read_text())
WITHOUT["capabilities"] += ["sandbox.exec.mode.none"]
WITHOUT["pools"] = {"process": {"ready": 0}}  # test_unprivileged_warm.py has them
NONE = {"modes": {"default": "none", "allowed": ["none"]}, "capabilities": WITHOUT["capabilities"]}


def become():
    """An ordinary user, by execve: a process that has changed its user is not readable to itself."""
    if USER and os.geteuid() == 0:
        alone.become_alone()
        subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/fs/cgroup"], check=True)
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
        os.environ["HOME"] = "/nonexistent"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    if not USER:
        alone.become_alone()
        subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/fs/cgroup"], check=True)


become()
provider = abi.Provider()
HOME = pathlib.Path(tempfile.mkdtemp(prefix="unprivileged-test-", dir=os.environ.get("UNPRIVILEGED_TEST_DIRECTORY", "/var/tmp")))


def run(code, policy=None, language="python", **request):
    provider.use_policy(policy or WITHOUT)
    status, result = provider.invoke({"language": language, "code": code, **request}, Host(CAPABILITIES))
    return result


def outcome(code, policy=None):
    """What the program says, or how it ended."""
    result = run(code, policy)
    return result["stdout"].strip() or result["cause"]


# Each prints "through" where it got through, and else what stopped it.
TRY = """
import ctypes, os, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
gateway, home = {gateway}, {home!r}
def call(function, *arguments):
    result = function(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
try:
{attempt}
    print("through")
except OSError as error:
    print("stopped:", error.errno)
"""

ATTACKS = {
    "read a file of the gateway": "open(home + '/secret').read()",
    "read it through a link": "os.symlink(home + '/secret', 'link'); open('link').read()",
    "read it through a hard link": "os.link(home + '/secret', 'hard'); open('hard').read()",
    "list its directory": "os.listdir(home)",
    "write to it": "open(home + '/secret', 'a').write('x')",
    "truncate it": "os.truncate(home + '/other', 0)",
    "remove it": "os.unlink(home + '/victim')",
    "rename it": "os.rename(home + '/moved', home + '/away')",
    "take it by renaming": "os.rename(home + '/taken', 'taken')",
    "make a file beside it": "open(home + '/new', 'w')",
    "change its mode": "os.chmod(home + '/secret', 0o644)",
    "change its mode through a link": "os.symlink(home + '/secret', 'link'); os.chmod('link', 0o644)",
    "change its mode by a directory": "d = os.open(home, os.O_PATH); os.chmod('secret', 0o644, dir_fd=d)",
    "change its times": "os.utime(home + '/secret', (1, 1))",
    "change the mode of a readable file": "f = os.open('/usr/lib', os.O_PATH); os.chmod(home, 0o755)",
    "read the gateway's environment": "open(f'/proc/{gateway}/environ').read()",
    "read the gateway's memory": "open(f'/proc/{gateway}/mem', 'rb')",
    "see what the gateway executes": "os.readlink(f'/proc/{gateway}/exe')",
    "list the gateway's descriptors": "os.listdir(f'/proc/{gateway}/fd')",
    "signal the gateway": "os.kill(gateway, signal.SIGCONT)",
    "signal it through a descriptor": "signal.pidfd_send_signal(os.pidfd_open(gateway), signal.SIGCONT)",
    "signal the init": "os.kill(os.getppid(), signal.SIGCONT)",
    "change the gateway's limits": "call(libc.prlimit, gateway, 4, struct.pack('QQ', 0, 2**64 - 1), None)",
    "change the gateway's priority": "os.setpriority(os.PRIO_PROCESS, gateway, os.getpriority(os.PRIO_PROCESS, gateway) + 1)",
    "change the gateway's processors": "os.sched_setaffinity(gateway, os.sched_getaffinity(gateway))",
    "connect to a socket by its path": "socket.socket(socket.AF_UNIX).connect(home + '/socket')",
    "send to a socket by its path": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', home + '/datagrams')",
    "connect to an abstract socket": "socket.socket(socket.AF_UNIX).connect('\\0unprivileged-test-' + str(gateway))",
    "connect to the machine's network": "socket.create_connection(('127.0.0.1', {port}))",
    "attach shared memory": "call(libc.shmat, {shared}, None, 0)",
    "open a message queue": "call(libc.mq_open, b'/unprivileged-test', os.O_CREAT | os.O_RDWR, 0o600, None)",
    "make a memory file": "os.memfd_create('x')",
    "share memory by /dev/zero": "import mmap; mmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096, mmap.MAP_SHARED)",
    "write to /dev/shm": "open('/dev/shm/unprivileged-test', 'w'); os.unlink('/dev/shm/unprivileged-test')",
    "write to /tmp": "open('/tmp/unprivileged-test', 'w'); os.unlink('/tmp/unprivileged-test')",
    "exchange the directory whose files come out": "home = os.getcwd(); os.rename(home, home + '-gone'); os.rename(home + '-gone', home)",
    "put another beside it": "os.mkdir(os.getcwd() + '-beside'); os.rmdir(os.getcwd() + '-beside')",
    "keep orphans from the init": "call(libc.prctl, 36, 1)",
    "take the disk without writing": "f = open('file', 'w'); call(libc.fallocate, f.fileno(), 1, ctypes.c_long(0), ctypes.c_long(1 << 24))",
    "make a socket that holds more": "socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)",
    "make a set of rules": "call(libc.syscall, 444, struct.pack('QQ', 0, 3), 16, 0)",
}


class Bait:
    """What the gateway has that programs of its user could reach."""

    def __init__(self):
        for name in ("secret", "other", "victim", "moved", "taken"):
            (HOME / name).write_text("the gateway's")
            (HOME / name).chmod(0o600)
        for name in ("away", "new", "socket", "datagrams"):
            (HOME / name).unlink(missing_ok=True)
        self.sockets = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
                        socket.socket(socket.AF_UNIX), socket.socket()]
        for bound, address in zip(self.sockets, (f"{HOME}/socket", f"{HOME}/datagrams", f"\0unprivileged-test-{os.getpid()}",
                                                 ("127.0.0.1", 0))):
            bound.bind(address)
            if bound.type != socket.SOCK_DGRAM:
                bound.listen()
        self.port = self.sockets[3].getsockname()[1]
        self.shared = ctypes.CDLL(None).shmget(0, 4096, 0o1600)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for bound in self.sockets:
            bound.close()
        ctypes.CDLL(None).shmctl(self.shared, 0, None)
        ctypes.CDLL(None).mq_unlink(b"/unprivileged-test")


def attempt(bait, text):
    lines = "".join(f"    {line.strip()}\n" for line in text.replace("{port}", str(bait.port)).replace("{shared}", str(bait.shared)).split(";"))
    return TRY.replace("{gateway}", str(os.getpid())).replace("{home!r}", repr(str(HOME))).replace("{attempt}\n", lines)


def test_what_the_same_user_can_reach_is_out_of_reach():
    wrong = []
    with Bait() as bait:
        # Each policy at a time: a change of it is a new backend. What the controls destroy is there before.
        stopped = {name: outcome(attempt(bait, text)) for name, text in ATTACKS.items()}
        for name, inside in stopped.items():
            control = outcome(attempt(bait, ATTACKS[name]), NONE)
            if control != "through" or not inside.startswith("stopped"):
                wrong.append(f"{name}: {inside}, and without isolation {control}")
    tap.equal(wrong, [], "attacks")


def test_the_program_works_in_its_own_directory():
    result = run("import os, shutil, subprocess, tempfile, multiprocessing\n"
                 "open('a', 'w').write('x'); os.chmod('a', 0o750); shutil.copy2('a', 'b'); os.utime('b', (5, 6))\n"
                 "os.mkdir('e'); os.rename('a', 'e/a')\n"
                 "print(oct(os.stat('b').st_mode), int(os.stat('b').st_mtime))\n"
                 "print(subprocess.run(['sh', '-c', 'mkdir d; mv b d; ls d | cat'], capture_output=True, text=True).stdout.strip())\n"
                 "with tempfile.TemporaryDirectory() as d: print(os.path.dirname(d) == os.environ['TMPDIR'], os.getcwd() == os.environ['HOME'])\n"
                 "a, b = multiprocessing.Pipe(); a.send(7); print(b.recv())")
    tap.equal(result["stdout"], "0o100750 6\nb\nTrue True\n7\n", result)


def test_layers_are_told():
    result = run("pass")
    isolation = result["isolation"]
    tap.equal(result["mode"], "unprivileged", "mode")
    tap.equal(set(isolation["applied"]), {"capabilities", "resource_limits", "no_new_privileges", "landlock", "seccomp"}, "applied")
    tap.true({"user_namespace", "pid_namespace", "network_namespace", "cgroup", "read_only_root", "proc"} <= set(isolation["missing"]),
             isolation["missing"])


# What exceeds a limit, and the cause that the result tells; each within its limit is below.
HOLD = "import os, time\ndef hold(size):\n    x = bytearray(size)\n    x[::4096] = b'x' * len(x[::4096])\n    return x\n"
HIDE = "k = []\nfor i in range(30):\n    f = open('f', 'wb'); f.write(b'x' * (1 << 20)); f.flush(); os.unlink('f'); k.append(f)\ntime.sleep(15)"
EXCESSES = {
    "memory of one process": ("memory_limit", HOLD + "kept = [hold(4 << 20) for i in range(60)]"),
    "memory of several": ("memory_limit", HOLD + "for i in range(4):\n    if os.fork() == 0:\n        x = hold(40 << 20); time.sleep(15); os._exit(0)\ntime.sleep(15)"),
    "processor time of several": ("cpu_limit", "import os\nfor i in range(3):\n    if os.fork() == 0:\n        while True: pass\nos.wait()"),
    "processes": ("process_limit", "import os, time\nfor i in range(30):\n    if os.fork() == 0: time.sleep(15); os._exit(0)\ntime.sleep(15)"),
    "threads": ("process_limit", "import threading, time\nthreading.stack_size(65536)\nfor i in range(30): threading.Thread(target=time.sleep, args=(15,)).start()"),
    "files": ("disk_full", "import time\nfor i in range(30): open(f'f{i}', 'wb').write(b'x' * (1 << 20))\ntime.sleep(15)"),
    "deleted files": ("disk_full", "import os, time\nk = []\nfor i in range(30):\n    f = open('f', 'wb'); f.write(b'x' * (1 << 20)); f.flush(); os.unlink('f'); k.append(f)\ntime.sleep(15)"),
    "files behind a closed directory": ("disk_full", "import os, time\nos.mkdir('d'); d = os.open('d', os.O_PATH)\nfor i in range(30): open(f'd/f{i}', 'wb').write(b'x' * (1 << 20))\nos.chmod('d', 0)\ntime.sleep(15)"),
    "deleted files of a program that nobody may read":
        ("disk_full", "import os, shutil\nshutil.copy(os.path.realpath('/usr/bin/python3'), 'p'); os.chmod('p', 0o111)\n"
                      f"os.execv('p', ['p', '-c', {'import os, time' + chr(10) + HIDE!r}])"),
    "deleted files beside a deep directory":
        ("disk_full", "import os, time\nf = open('f', 'wb'); f.write(b'x'); f.flush(); os.unlink('f')\n"
                      "for i in range(300): os.mkdir('d'); os.chdir('d')\ntime.sleep(15)"),
    "page tables":
        ("memory_limit", "import ctypes, time\nlibc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p\nsize = 80 << 30\n"
                         "page = libc.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, ctypes.c_long(0))\n"
                         "libc.madvise(ctypes.c_void_p(page), ctypes.c_size_t(size), 15)\n"  # else huge pages of zeroes need no tables
                         "for i in range(0, size, 2 << 20): ctypes.c_char.from_address(page + i).value\ntime.sleep(15)"),
    "sockets":
        ("memory_limit", "import os, socket, time\nfor i in range(4):\n    if os.fork() == 0:\n"
                         "        k = [socket.socketpair() for i in range(100)]; time.sleep(15); os._exit(0)\ntime.sleep(15)"),
    "names of files": ("disk_full", "import time\nfor i in range(900): open(f'f{i}', 'w')\ntime.sleep(15)"),
}
WITHIN = {
    "memory": HOLD + "x = hold(40 << 20); print('kept')",
    "memory that copies have in common": HOLD + "x = hold(40 << 20)\nfor i in range(5):\n    if os.fork() == 0: time.sleep(0.5); os._exit(len(x) == 0)\n"
                                         "while True:\n    try: os.wait()\n    except ChildProcessError: break\nprint('kept')",
    "memory that is lent to a program's start": HOLD + "import subprocess\nx = hold(60 << 20)\nfor i in range(200): subprocess.run(['/bin/true'])\nprint('kept')",
    "sockets": "import socket, time\nk = [socket.socketpair() for i in range(40)]; time.sleep(0.1); print('kept')",
    "files": "for i in range(8): open(f'f{i}', 'wb').write(b'x' * (1 << 20))\nimport time; time.sleep(0.5); print('kept')",
    "processes": "import threading, time\nfor i in range(10): threading.Thread(target=time.sleep, args=(0.1,)).start()\nprint('kept')",
}


def limited():
    return {**WITHOUT, "limits": {name: {"default": value, "max": value} for name, value in LIMITS.items()} |
            {"cpu_ms": {"default": 2000, "max": 2000}}}


def test_limits_are_supervised():
    wrong = []
    for name, (cause, code) in EXCESSES.items():
        result = run(code, limited())
        if result["cause"] != cause:
            wrong.append(f"{name}: {result['cause']} {result['error']}")
    for name, code in WITHIN.items():
        result = run(code, limited())
        if result["stdout"] != "kept\n":
            wrong.append(f"within: {name}: {result['cause']} {result['stderr']}")
    tap.equal(wrong, [], "limits")


# Each asks for more than it may have at once, and has had little by then. None writes to it: a container may have less. The words of
# other languages: ../unit/result/test_run_notes.c.
AT_ONCE = {"python": "bytes(1 << 30)", "javascript": "Buffer.alloc(1 << 30)"}


def test_memory_that_is_refused_is_told():
    note = "each process of this run can have at most 268435456 bytes of memory, and is refused more when it asks for it"
    small = {**WITHOUT, "limits": {"memory_bytes": {"default": 256 << 20, "max": 4 << 30},
                                   **{name: {"default": 60000, "max": 60000} for name in ("wall_ms", "cpu_ms")}}}
    for language, code in AT_ONCE.items():
        result = run(code, small, language)
        if result["error"] and result["error"]["code"] == "runtime_not_found":
            continue  # Node is not everywhere
        tap.equal((result["status"], result["cause"], result["notes"]), ("completed", "exit", [note]), result)
        tap.true(result["exit_code"] > 0, "it fails with its own words")
        result = run(code, small, language, memory_bytes=3 << 30)
        tap.equal((result["exit_code"], result["notes"]), (0, []), f"the control: with more it does not: {result}")


def runs(pid):
    """And is no zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def directories():
    """Of runs of this user; by the pid of the supervisor in its name."""
    found = {}
    for path in (path for place in ("/tmp", "/dev/shm") for path in pathlib.Path(place).glob("code-execute-*-*")):
        number = path.name.split("-")[2]
        if number.isdigit() and path.exists() and path.stat().st_uid == os.geteuid():
            found.setdefault(int(number), []).append(path)
    return found


def supervisors_of(host):
    """An ordinary user may not look at what a supervisor has open, which tells it: there, by the directory of the run."""
    return common.supervisors_of(host) if os.geteuid() == 0 else [pid for pid in directories() if runs(pid)]


def left():
    """Processes of programs of this test, wherever they hang by now; and directories of runs."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if MARK.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


STORM = f"""f() {{ (setsid bash -c "sleep 0.01; : {MARK}; f" & ); (bash -c "kill -STOP \\$\\$; : {MARK}" &); f; }}; export -f f; f"""


def test_a_storm_of_orphans_dies_with_its_run():
    for number in range(STORMS):
        result = run(STORM, limited(), "bash", timeout_ms=300 + 20 * (number % 10))
        tap.true(result["cause"] in ("process_limit", "wall_timeout"), result)
        tap.equal(left(), [], f"left of storm {number}")
    tap.eventually(lambda: not [path for pid in supervisors_of(os.getpid()) for path in directories().get(pid, [])], "the directories are removed")


def begin(code, after):
    """A gateway of its own with such a run under way; its pid, the supervisor's and the init's are known once the program says so."""
    script = f"""
import json, sys
sys.path[:0] = {json.dumps(sys.path[:2])}
import provider as abi
provider = abi.Provider()
provider.use_policy({json.dumps(limited())})
status, result = provider.invoke({{"language": "bash", "code": {code!r}, "timeout_ms": 15000}},
                                 abi.Host({CAPABILITIES!r}, on_output=lambda stream, data, length: print("said", flush=True)))
print(json.dumps([result["cause"], result["error"] and result["error"]["code"]]), flush=True)
"""
    gateway = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        tap.equal(gateway.stdout.readline(), "said\n", "the program is there")
        [supervisor] = supervisors_of(gateway.pid)
        inits = [pid for pid in common.children(supervisor) if common.children(pid)]
        tap.equal(len(inits), 1, f"one init: {inits}")
        after(gateway, supervisor, inits[0])
    finally:
        gateway.kill()
        gateway.wait()


CROWD = f"for i in 1 2 3 4; do (setsid bash -c 'sleep 60; : {MARK}' & ); done; sleep 0.2; echo said; sleep 60"


def test_nothing_outlives_a_killed_process_of_ours():
    def kill(which):
        def after(gateway, supervisor, init):
            tap.true(len(left()) >= 4, f"positive control: {left()}")
            os.kill({"gateway": gateway.pid, "supervisor": supervisor, "init": init}[which], signal.SIGKILL)
            tap.eventually(lambda: not left(), f"nothing is left once the {which} is killed")
            tap.eventually(lambda: not runs(init), "the init has ended")
        begin(CROWD, after)
    for which in ("gateway", "supervisor", "init"):
        kill(which)


def test_nothing_outlives_all_of_ours():
    """The guardian alone is left to end the tree."""
    def after(gateway, supervisor, init):
        for pid in (gateway.pid, supervisor, init):
            os.kill(pid, signal.SIGSTOP)
        for pid in (gateway.pid, supervisor, init):
            os.kill(pid, signal.SIGKILL)
        tap.eventually(lambda: not left(), "nothing is left")
        provider.reset()
        run("pass")
        tap.eventually(lambda: not directories().get(supervisor), "the next gateway removes its directory, or one that is about has")
    begin(CROWD, after)


def test_another_run_is_out_of_reach():
    def after(gateway, supervisor, init):
        [place] = directories()[supervisor]
        others = [pid for pid in left()]
        for name, text in {"its directory": f"os.listdir({str(place)!r})", "its files": f"open({str(place)!r} + '/home/main.bash').read()",
                           "its processes": f"os.kill({others[0]}, 0)", "its memory": f"open('/proc/{others[0]}/mem', 'rb')",
                           "its descriptors, by their names": f"os.listdir('/proc/{others[0]}/fd')",
                           "its descriptors": f"call(libc.syscall, 438, os.pidfd_open({others[0]}), 1, 0)",  # pidfd_getfd(2)
                           "its init": f"os.kill({init}, 0)", "the supervisor": f"os.kill({supervisor}, 0)"}.items():
            code = TRY.replace("{gateway}", "0").replace("{home!r}", "''").replace("{attempt}\n", f"    {text}\n")
            tap.contains(outcome(code), "stopped", name)
            if name not in ("its memory", "its init", "the supervisor") and (name != "its descriptors" or os.geteuid() == 0):
                tap.equal(outcome(code, NONE), "through", f"positive control: {name}")
    begin(CROWD, after)


def test_what_cannot_be_had_is_refused_by_name():
    for more in ({"network": True}, {"session": "new"}):
        result = run("pass", {**WITHOUT, "network": True, "capabilities": WITHOUT["capabilities"] + ["sandbox.exec.network", "sandbox.exec.session"]}, **more)
        tap.true(result["error"] and result["error"]["hint"], (more, result))


def test_no_secret_is_written_to_the_machine():
    """Where files of a run are on no memory file system of its own. As a variable it comes."""
    host = Host((*CAPABILITIES, "sandbox.exec.secrets"), {"key": b"a secret value"})
    for delivery, expected in (("file", "secret_unusable"), ("environment", None)):
        tap.equal(provider.use_policy({**WITHOUT, "secrets": {"allowed": ["*"], "delivery": {"*": delivery}}}), OK)
        _, result = provider.invoke({"language": "sh", "code": 'echo ${#KEY}', "secrets": {"KEY": "{{secret:key}}"}}, host)
        tap.equal((result["error"] or {}).get("code"), expected, result)
    tap.equal(result["stdout"], "14\n", "positive control")


try:
    tap.run(globals())
finally:
    provider.library.tool_shutdown()
    subprocess.run(["rm", "-rf", str(HOME)], check=True)
