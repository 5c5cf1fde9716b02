# SPDX-License-Identifier: Apache-2.0
"""Sessions of process mode without namespaces: what they keep, what a process that a cell has left behind can reach, and what is left of
them when a process of ours is killed. What holds in every mode is in the suites of sessions, some cases of which run in this mode too."""
import ctypes
import json
import os
import pathlib
import signal
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

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files", "sandbox.exec.mode.unprivileged")
POLICY = json.loads((ROOT / "policies" / "in-container.json").read_text()) | {
    "sessions": {"max_total": 8, "max_per_principal": 8},
    "limits": {"wall_ms": {"default": 60000, "max": 60000}, "cpu_ms": {"default": 60000, "max": 60000}}}
STOPPED = "T"
if os.geteuid() == 0:  # an ordinary user has no control groups here
    alone.become_alone()
    subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/fs/cgroup"], check=True)
provider = abi.Provider()
tap.equal(ctypes.CDLL(None).prctl(36, 1, 0, 0, 0), 0, "PR_SET_CHILD_SUBREAPER")  # of the backend, which leaves its gateway


def use(**more):
    tap.equal(provider.use_policy({**POLICY, **more}), OK)


class Session:
    def __init__(self):
        self.id = "new"

    def call(self, code, language="python", **more):
        result = provider.invoke({"language": language, "code": code, "session": self.id, **more}, Host(RIGHTS))[1]
        if self.id == "new":
            self.id = result["session"]["id"]
        return result

    def prints(self, code, language="python", **more):
        result = self.call(code, language, **more)
        tap.equal((result["status"], result["session"]["state"], result["stderr"]), ("completed", "kept", ""), result)
        return result["stdout"].strip()

    def processes(self):
        """The interpreter of Python, its init, and the guardian."""
        python, init = map(int, self.prints("import os\nprint(os.getpid(), os.getppid())").split())
        guardians = [pid for pid in common.children(init) if os.getsid(pid) != pid]  # each program leads a session of the kernel's
        tap.equal(len(guardians), 1, guardians)
        return python, init, guardians[0]


def is_stopped(pid):
    """With each of its threads: one that is on a processor stops a moment behind the others."""
    return all(state(task) == STOPPED for task in os.listdir(f"/proc/{pid}/task"))


def state(pid):
    """Of the process or thread, its letter of proc(5); None: it has ended."""
    try:
        letter = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None
    return None if letter in "ZX" else letter


def test_languages_share_files_and_keep_what_is_theirs():
    use()
    session = Session()
    places = session.prints("import os\nx = 'python'\nopen('a', 'w').write('1')\nprint(os.getcwd(), os.environ['TMPDIR'])").split()
    tap.true(places[0] == os.path.dirname(places[1]) + "/home", places)
    for language, begin, tell in (("bash", "x=bash; echo 2 >b; cd \"$TMPDIR\"", "echo $x; pwd"), ("sh", "x=sh; exit 0", "echo $x; ls"),
                                  ("javascript", "var x = 'javascript'", "console.log(x)")):
        session.prints(begin, language)
        tap.contains(session.prints(tell, language), language, f"what {language} keeps")
    tap.equal(session.prints("pwd", "bash"), places[1], "a working directory of its own")
    tap.equal(session.prints("import os\nprint(x, *sorted(os.listdir()))"), "python a b")
    failed = session.call("def f(): raise ValueError\nf()")
    tap.contains(failed["stderr"], f'File "{places[1]}/cell-3.py", line 1, in f\n    def f(): raise ValueError', "a traceback with its lines")


CHECKPOINTED = {"sessions": {**POLICY["sessions"], "checkpoints": 3}}


def test_only_python_has_checkpoints():
    use(**CHECKPOINTED)
    session = Session()
    session.prints("x=1", "bash")
    for action in ("undo", "fork"):
        error = session.call("echo $x", "bash", session_action=action)["error"]
        tap.equal((error["code"], "Python" in error["message"]), ("not_supported", True), error)
    tap.equal(session.prints("echo $x", "bash"), "1", "the session stays")


# Sends each of them each signal that it could; "through": one was sent.
SHOOT = """
import os, signal
def shoot(pids):
    for pid in pids:
        for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
            try: os.kill(pid, number); return f'through: {number} {pid}'
            except PermissionError: pass
    return 'stopped'
"""


def test_no_cell_reaches_another_interpreter_nor_what_guards_it():
    """The control: a process of its own language it reaches."""
    use()
    session = Session()
    session.prints(SHOOT)
    _, init, guardian = session.processes()
    shell = session.prints("echo $$", "bash")
    parent = session.prints("echo $PPID", "bash")
    tap.equal(session.prints(f"print(shoot(({init}, {guardian}, {shell}, {parent})))"), "stopped", "from Python")
    tap.contains(session.prints("import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nprint(shoot((child.pid,)))\nchild.kill()"), "through",
                 "the control")
    python = session.processes()[0]
    shots = "; ".join(f"kill -STOP {pid} 2>/dev/null || echo stopped" for pid in (python, guardian, init))
    tap.equal(session.prints(f"{shots}; sleep 60 & kill -STOP $! && echo through; kill -KILL $!", "bash"), "stopped\nstopped\nstopped\nthrough",
              "from a shell, and its control")


# A process that a cell leaves behind, which goes on trying until it finds the file "enough". Then it writes what it has had through.
LEFT_BEHIND = """
import os
secrets, home = {secrets!r}, os.getcwd()
def tries():
    yield lambda: (os.rename(home, home + '-gone'), os.symlink(secrets, home))
    yield lambda: os.symlink(secrets, home + '-beside')
    yield lambda: os.rmdir(home)
    yield lambda: os.unlink(home)
if os.fork() == 0:
    through, rounds = [], 0
    while not os.path.exists('enough'):
        for number, attempt in enumerate(tries()):
            try: attempt(); through.append(number)
            except OSError: pass
        rounds += 1
        try: os.rename('d', 'e'); os.symlink(secrets, 'd')
        except OSError: pass
        try: os.unlink('d'); os.rename('e', 'd')
        except OSError: pass
    open('told', 'w').write(f'{{through}} {{rounds > 0}}')
    os._exit(0)
"""


def test_nobody_puts_a_link_in_the_place_of_the_home():
    """The control: below the home it exchanges a directory for a link all the time, which is not followed either."""
    use()
    with tempfile.TemporaryDirectory(prefix="sessions-test-", dir="/var/tmp") as secrets:
        pathlib.Path(secrets, "secret").write_text("the gateway's")
        session = Session()
        session.prints("import os\nos.mkdir('d')\nopen('d/own', 'w').write('1')")
        session.prints(LEFT_BEHIND.format(secrets=secrets))
        seen = set()
        for number in range(12):
            result = session.call(f"open('f{number}', 'w').write('{number}')", outputs=["**"])
            seen |= {file["path"] for file in result["files"]}
            tap.true(not any("secret" in file["path"] or file.get("text") == "the gateway's" for file in result["files"]), result["files"])
        tap.true({"f3", "f11"} <= seen, f"its own files come: {seen}")
        session.prints("open('enough', 'w')")
        tap.eventually(lambda: session.prints("import os\nprint(os.path.exists('told'))") == "True", "it has seen that")
        tap.equal(session.prints("print(open('told').read())"), "[] True", "what got through")


def test_an_idle_session_is_stopped_and_its_guardian_is_not():
    use()
    session = Session()
    python, init, guardian = session.processes()
    child = int(session.prints("import subprocess\nchild = subprocess.Popen(['sleep', '1000'])\nprint(child.pid)"))
    tap.true(state(child) in ("S", "R"), f"the control: it runs at first, {state(child)}")
    tap.eventually(lambda: state(python) == STOPPED and state(child) == STOPPED, "all of the session are stopped")
    tap.true(state(guardian) != STOPPED and state(init) != STOPPED, "its init and its guardian go on")
    tap.equal(session.prints("print(child.poll())"), "None", "the next cell goes on")


# Its timer sends it on while it is idle, each second. The thread that waits for that tells how long it has stood still, and runs on.
WAKES = """
import ctypes, os, signal, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT})
longest = 0
def run():
    global longest
    last = time.monotonic()
    while True:
        time.sleep(0.005)
        last, longest = time.monotonic(), max(longest, time.monotonic() - last)
def tell():
    while signal.sigwaitinfo({signal.SIGCONT}).si_code != -2: pass  # SI_TIMER
    time.sleep(0.01)
    with open('woken', 'w') as file: file.write(str(longest))
for part in run, tell: threading.Thread(target=part, daemon=True).start()
timer = ctypes.c_void_p()
event = struct.pack('Qii48x', 0, signal.SIGCONT, 0)
assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
assert libc.timer_settime(timer, 0, struct.pack('4Q', 1, 0, 4, 0), None) == 0
print(os.getcwd(), os.getpid())
"""


def test_a_program_that_wakes_itself_is_stopped_again():
    use()
    session = Session()
    home, pid = session.prints(WAKES).split()
    woken = pathlib.Path(home, "woken")
    tap.eventually(lambda: woken.exists() and woken.read_text() != "", "the control: its timer has woken it")
    tap.true(float(woken.read_text()) > 1, f"the control: it was stopped until then, for {woken.read_text()} s")
    tap.eventually(lambda: is_stopped(pid), "it is stopped again")


def test_a_limit_of_the_tree_ends_the_session():
    use(limits={name: {"default": value, "max": value} for name, value in (("memory_bytes", 128 << 20), ("processes", 16))})
    hold = "import os, time\nfor i in range(4):\n    if os.fork() == 0:\n        x = bytearray(60 << 20); x[::4096] = b'x' * len(x[::4096]); time.sleep(60)\ntime.sleep(60)"
    crowd = "import os, time\nfor i in range(30):\n    if os.fork() == 0: time.sleep(60); os._exit(0)\ntime.sleep(60)"
    for code, cause, reason in ((hold, "memory_limit", "memory"), (crowd, "process_limit", "crashed")):
        session = Session()
        tap.equal(session.prints("x = 1\nprint(x)"), "1", "the control: it begins")
        result = session.call(code)
        tap.equal((result["cause"], result["session"]["state"], result["session"]["lost_reason"]), (cause, "lost", reason), result)


# A memory limit of 128 MiB and 16 processes.
NARROW = {name: {"default": value, "max": value} for name, value in (("memory_bytes", 128 << 20), ("processes", 16))}


def test_a_limit_of_the_tree_undoes_the_cell():
    """Where there is a checkpoint; what it has does not count a second time."""
    use(limits={**POLICY["limits"], **NARROW}, **CHECKPOINTED)
    hold = "big = 0\nx = 2\nfor i in range(4):\n    if os.fork() == 0:\n        y = bytearray(60 << 20); y[::4096] = b'x' * len(y[::4096]); time.sleep(60)\ntime.sleep(60)"
    crowd = "x = 2\nfor i in range(30):\n    if os.fork() == 0:\n        if i % 2: os.setsid()\n        time.sleep(60); os._exit(0)\ntime.sleep(60)"
    session = Session()
    session.prints("import os, time\nx = 1\nbig = b'x' * (40 << 20)")
    for number in range(4):  # with three checkpoints it is 160 MiB, of which 120 are the same
        tap.equal(session.prints(f"print(x, len(big))\ny = {number}"), f"1 {40 << 20}", "the control: it goes on")
    init = session.processes()[1]
    for code, cause in ((hold, "memory_limit"), (crowd, "process_limit")):
        result = session.call(code)
        tap.equal((result["cause"], result["session"]["state"]), (cause, "restored"), result)
        tap.equal(session.prints("print(x, len(big), y)"), f"1 {40 << 20} 3", "as it was before")
        tap.true(len(common.children(init)) <= 6, "the guardian, the interpreter, its checkpoints and one that may be on its end")


def test_storms_are_undone():
    """Of each cell, processes that are forked twice, lead sessions of their own and are stopped; then its interpreter ends, or it is undone."""
    use(**CHECKPOINTED)
    storm = ("for i in range(6):\n    if os.fork() == 0:\n        os.setsid()\n        for j in range(2):\n            if os.fork() == 0:\n"
             "                if j: os.kill(os.getpid(), signal.SIGSTOP)\n                time.sleep(1000)\n        os._exit(0)\n")
    session = Session()
    session.prints("import os, signal, time\nx = 1")
    init = session.processes()[1]
    for number in range(500 if os.environ.get("CODE_EXECUTE_TEST_LONG") == "1" else 10):
        tap.equal(session.call(storm + "os._exit(1)")["session"]["state"], "restored", number)
        session.call(storm + "x = 2")
        tap.equal(session.prints("print(x)", session_action="undo"), "1", number)
    own = [pid for pid in common.children(init) if state(pid)]
    tap.true(len(own) <= 1 + 1 + 3, f"the guardian, the interpreter and checkpoints: {own}")
    names = {pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0] for pid in own}
    tap.true(len(names) <= 2, names)


def begin(after):
    """A gateway of its own with an idle session, whose interpreter has checkpoints and a child; all of it is stopped by then."""
    script = f"""
import json, sys
sys.path[:0] = {json.dumps(sys.path[:2])}
import provider as abi
provider = abi.Provider()
provider.use_policy({json.dumps({**POLICY, **CHECKPOINTED})})
def call(code, session):
    return provider.invoke({{"language": "python", "code": code, "session": session}}, abi.Host({RIGHTS!r}))[1]
session = call("x = 1", "new")["session"]["id"]
assert call("x = 2", session)["session"]["undoable"] == 2
code = "import os, subprocess\\nchild = subprocess.Popen(['sleep', '1000'])\\nprint(os.getpid(), os.getppid(), child.pid, os.getcwd())"
print(call(code, session)["stdout"], end="", flush=True)
sys.stdin.read()
"""
    gateway = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        python, init, child, home = gateway.stdout.readline().split()
        tap.eventually(lambda: state(python) == STOPPED, "it is stopped")
        supervisor = int(pathlib.Path(f"/proc/{init}/stat").read_text().rsplit(")", 1)[1].split()[1])
        checkpoints = [pid for pid in common.children(int(python)) if pid != int(child)]
        tap.true(len(checkpoints) > 0 and all(state(pid) == STOPPED for pid in checkpoints), f"its checkpoints are stopped: {checkpoints}")
        killed = after({"gateway": gateway.pid, "supervisor": supervisor, "init": int(init)})
        tap.eventually(lambda: not any(map(state, (python, init, child, *checkpoints))), f"nothing of it lives once the {killed} is killed")
        tap.eventually(lambda: killed == "all" or not os.path.exists(os.path.dirname(home)), f"its directory, once the {killed} is killed")
        subprocess.run(["rm", "-rf", os.path.dirname(home)], check=True)  # nobody is left who would
    finally:
        gateway.kill()
        gateway.wait()


def test_nothing_of_an_idle_session_outlives_a_process_of_ours():
    def kill(which):
        def after(ours):
            os.kill(ours[which], signal.SIGKILL)
            return which
        begin(after)

    def kill_all(ours):
        for pid in ours.values():
            os.kill(pid, signal.SIGSTOP)
        for pid in ours.values():
            os.kill(pid, signal.SIGKILL)
        return "all"
    for which in ("gateway", "supervisor", "init"):
        kill(which)
    begin(kill_all)


def test_the_directory_goes_with_the_session():
    use()
    session = Session()
    home = session.prints("import os\nprint(os.getcwd())")
    tap.true(os.path.isdir(home), "the control: it is there")
    session.call("1", session_action="end")
    tap.eventually(lambda: not os.path.exists(os.path.dirname(home)), "it is removed")


tap.run(globals())
