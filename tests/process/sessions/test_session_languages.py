# SPDX-License-Identifier: Apache-2.0
"""Several languages in one session: what they share and what is each one's own, how their interpreters start and end, and that a later
one has every layer of the first."""
import ctypes
import json
import os
import pathlib
import shlex
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import common
import modes
import tap
from modes import Provider, merged
from provider import ACCEPTED, OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files")
AMPLE_MS = 120000
LANDLOCK_CREATE_RULESET = 444
POLICY = {"sessions": {"max_total": 8, "max_per_principal": 8, "max_cells": 1000},
          "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS}, "cpu_ms": {"default": 300000, "max": 300000}}}
ORDERS = (("python", "bash", "javascript", "sh"), ("sh", "javascript", "bash", "python"), ("javascript", "python", "sh", "bash"))
SET = {"python": "x = 'python'\nopen('python', 'w').write('1')", "bash": "x=bash; echo 1 >~/bash",
       "sh": "x=sh; echo 1 >~/sh", "javascript": "var x = 'javascript'; require('fs').writeFileSync('javascript', '1')"}
TELL = {"python": "print(x)", "bash": "echo $x", "sh": "echo $x", "javascript": "console.log(x)"}
LIST = {"python": "import os\nprint(*sorted(os.listdir()))", "bash": "echo $(ls ~)", "sh": "echo $(ls ~)",
        "javascript": "console.log(require('fs').readdirSync('.').sort().join(' '))"}
BUSY = {"python": "while True: pass", "bash": "while :; do :; done", "javascript": "while (true);"}
STATUS = "grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)' /proc/self/status; cat /proc/self/limits; readlink /proc/self/ns/*"
provider = Provider()


def use(**more):
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


class Session:
    """Its cells are to keep it, where a test says nothing else."""

    def __init__(self, *cells, host=None, **more):
        self.id, self.host = "new", host or Host(RIGHTS)
        for language, code in cells:
            self.id = self.cell(language, code, **more)["session"]["id"]

    def call(self, language, code, **more):
        return provider.invoke({"language": language, "code": code, "session": self.id, **more}, self.host)[1]

    def cell(self, language, code, status="completed", **more):
        result = self.call(language, code, **more)
        tap.equal((result["status"], result["session"]["state"], result["session"]["lost_reason"]), (status, "kept", None), result)
        return result

    def prints(self, stdout, language, code, **more):
        result = self.cell(language, code, **more)
        tap.equal((result["stdout"], result["stderr"], result["exit_code"]), (stdout, "", 0), result)
        return result

    def is_lost(self, reason, language, code):
        result = self.call(language, code)
        tap.equal((result["session"]["state"], result["session"]["lost_reason"]), ("lost", reason), result)
        for other in ("python", "bash"):
            error = self.call(other, "1")["error"]
            tap.equal(error and error["code"], "session_not_found", error)


def check_orders():
    for order in ORDERS:
        session = Session(*((language, SET[language]) for language in order))
        for language in order:
            tap.equal(session.prints(f"{language}\n", language, TELL[language])["session"]["languages"], list(order))
            session.prints("bash javascript python sh\n", language, LIST[language])


def test_files_are_shared_and_variables_are_not():
    use()
    check_orders()


def test_sessions_from_sandboxes_that_wait():
    use(pools={"process": {"ready": 2, "most": 2}})
    check_orders()
    check_orders()


def test_the_result_names_what_the_language_has_defined():
    use()
    session = Session(("python", "a = 1"))
    told = session.cell("bash", "b=1; f() { :; }")["session"]
    tap.equal([told[name] for name in ("languages", "defined", "cells", "created")], [["python", "bash"], ["f", "b"], 2, False])
    tap.equal(session.cell("python", "c = 1")["session"]["defined"], ["a", "c"])


def test_each_has_a_working_directory_and_an_environment():
    use()
    session = Session(("bash", "cd /tmp; export E=1"))
    session.prints("/home/sandbox None\n", "python", "import os\nprint(os.getcwd(), os.environ.get('E'))")
    session.cell("python", "os.chdir('/dev')")
    session.prints("/tmp 1\n", "bash", "echo $PWD $E")


def test_an_interruption_keeps_the_state_of_all():
    use()
    session = Session(*((language, SET[language]) for language in BUSY))
    for language in BUSY:
        session.cell(language, BUSY[language], status="timeout", timeout_ms=500)
        for other in BUSY:
            session.prints(f"{other}\n", other, TELL[other])


def test_the_end_of_any_interpreter_ends_the_session():
    use()
    for language, code, reason in (("python", "import os\nos._exit(3)", "exited"), ("bash", "kill -9 $PPID; sleep 100", "crashed")):
        other = "bash" if language == "python" else "python"
        Session((other, SET[other]), (language, SET[language])).is_lost(reason, language, code)
        Session((language, SET[language]), (other, SET[other])).is_lost(reason, language, code)


def test_one_that_ends_between_two_cells():
    use()
    session = Session(("python", "x = 1"), ("bash", "(sleep 0.1; kill -9 $PPID) & "))
    # Either the cell finds it gone, or it goes while the cell waits for that.
    result = session.call("python", "import time\ntime.sleep(100)")
    lost = (result.get("session") or {}).get("lost_reason") == "crashed"
    tap.true(lost or result["error"]["code"] == "session_lost" and "crashed" in result["error"]["message"], result)


def test_a_runtime_that_is_missing_leaves_the_session():
    use(languages={"bash": {"argv": ["no-such-shell", "{file}"], "file": "main.sh"}})
    session = Session(("python", "x = 1"))
    tap.equal(session.call("bash", "echo")["error"]["code"], "runtime_not_found")
    session.prints("1\n", "python", "print(x)")


def test_an_interpreter_that_cannot_start_leaves_the_session():
    """It has no room for its files. The control: it starts once there is room."""
    use()
    session = Session(("bash", "x=1"))
    session.prints("", "bash", f"python3 -c {shlex.quote(FILL)}")
    result = session.call("python", "print('begun')")
    tap.true(result["error"] and result["stdout"] == "", result)
    session.prints("1\n", "bash", "echo $x")
    session.cell("bash", "rm -r /tmp/full")
    tap.equal(session.prints("begun\n", "python", "print('begun')")["session"]["languages"], ["bash", "python"])


def states():
    """Of the processes below the backend of this gateway: how many are stopped, and how many run."""
    found = []
    for pid in modes.below(common.supervisors_of(os.getpid())):
        try:
            found.append(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0])
        except OSError:
            continue
    return found.count("T"), found.count("R")


def test_the_interpreters_of_an_idle_session_are_stopped():
    """Both run something that is busy, which the cells have seen."""
    use(pools={"process": {"ready": 0, "most": 0}})
    session = Session(("python", "import os, threading\nturns = 0\ndef spin():\n    global turns\n    while True: turns += 1"))
    session.cell("bash", "(echo >/tmp/spins; while :; do :; done) >/dev/null 2>&1 &")
    session.cell("python", "threading.Thread(target=spin, daemon=True).start()\nwhile turns == 0 or not os.path.exists('/tmp/spins'): pass")
    for _ in range(2):
        tap.eventually(lambda: states()[0] == 4 and states()[1] == 0, "Python, our program before the shell, the shell and its child stop", 60)
        session.prints("1\n", "bash", "echo 1")


def test_the_limit_of_processes_is_for_all_interpreters():
    use(limits={"processes": {"default": 24, "max": 24}})
    session = Session(("python", "import os"), ("bash", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done; echo $(jobs | wc -l)"))
    fork = "made = 0\ntry:\n    while made < 100:\n        if os.fork() == 0:\n            import time; time.sleep(1000)\n        made += 1\nexcept OSError as error: print(error.errno, made <= 12)"
    session.prints("11 True\n", "python", fork)
    tap.equal(session.call("bash", ":", session_action="end")["session"]["state"], "ended")
    alone = Session(("python", "import os"))
    alone.prints("11 False\n", "python", fork)


def test_files_of_cells_are_the_session_s():
    use()
    session = Session(("python", "open('a', 'w').write('a')"))
    cells = [session.cell("bash", "sleep 1000 & echo b >b; echo c >c"), session.cell("python", "open('b', 'w').write('py')"), session.cell("bash", ":")]
    tap.equal([[file["path"] for file in cell["files"]] for cell in cells], [["b", "c"], ["b"], []])
    tap.equal([cell["files_omitted"] for cell in cells], [None] * 3)


def test_late_output_comes_with_a_cell_of_another_language():
    use()
    session = Session(("python", "x = 1"))
    session.cell("bash", "(while [ ! -e /tmp/go ]; do sleep 0.02; done; echo late; echo >/tmp/told) & ")
    code = "import os, time\nopen('/tmp/go', 'w').close()\nwhile not os.path.exists('/tmp/told'): time.sleep(0.02)"
    tap.equal(session.cell("python", code)["session"]["late_stdout"], "late\n")


def test_nothing_can_be_undone_beside_another_interpreter():
    use(sessions={"checkpoints": 4})
    words = ("checkpoint", "undoable")
    session = Session(("python", "x = 1"))

    def told(language, code):
        result = session.cell(language, code)["session"]
        return [result[word] for word in words]

    tap.equal(told("python", "x = 2"), ["taken", 2], "the control")
    tap.equal([told("bash", "x=1"), told("python", "x = 3")], [[None, 0], ["processes", 0]])
    tap.equal(session.call("python", "\n", session_action="undo")["error"]["code"], "checkpoint_unavailable")
    session.prints("3\n", "python", "print(x)")
    session.is_lost("exited", "python", "import os\nos._exit(1)")
    session = Session(("bash", "x=1"))
    tap.equal(told("python", "x = 3"), ["processes", 0])


def test_secrets_are_in_the_environment_of_the_first_interpreter_only():
    use(secrets={"allowed": ["*"]})
    host = Host((*RIGHTS, "sandbox.exec.secrets"), secrets={"my-key": b"the-value-of-the-key"})
    code = "import os\nopen('/tmp/value', 'w').write(os.environ['KEY'])\nprint(len(os.environ['KEY']))"
    session = Session(("python", code), host=host, secrets={"KEY": "{{secret:my-key}}"})
    session.prints("20\n", "python", "print(len(os.environ['KEY']))")
    session.prints("none\n", "bash", "echo ${KEY-none}")
    session.prints("[redacted:my-key]", "bash", "cat /tmp/value")


def test_an_approver_sees_the_languages():
    use(approval={"default": "ask"})
    asked = []

    def approve(token, request, _verdict):
        asked.append(json.loads(request))
        tap.equal(provider.reply(token, {"decision": "allow_once"}), ACCEPTED)

    session = Session(("python", "x = 1"), ("bash", "x=1"), host=Host(RIGHTS, request_approval=approve))
    session.cell("python", "x = 2")
    tap.equal([cell["language"] for cell in asked[-1]["session_history"]["cells"]], ["python", "bash"])


def test_a_later_interpreter_has_the_layers_of_the_first():
    use()
    first = Session(("bash", ":")).cell("bash", STATUS + " | grep -v '^[a-z]*:'")["stdout"]
    later = Session(("python", "x = 1")).cell("bash", STATUS + " | grep -v '^[a-z]*:'")["stdout"]
    tap.equal(later, first)
    tap.contains(later, f"NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t{3 if modes.MODE == 'docker' else 2}\n")  # of docker too
    session = Session(("python", "import subprocess"))
    own = session.cell("python", f"print(subprocess.run(['sh', '-c', {STATUS!r}], capture_output=True, text=True).stdout)")["stdout"]
    tap.equal(session.cell("bash", STATUS)["stdout"].strip(), own.strip(), "the same limits, filters and namespaces")


def test_a_later_interpreter_s_forbidden_call_ends_the_session():
    """The control is the same call in the first one."""
    use()
    code = "import ctypes\nctypes.CDLL(None).reboot(0)"
    results = [Session(("python", "x = 1")).call("python", code), Session(("bash", ":")).call("python", code)]
    tap.equal([(result["error"]["code"], result["session"]["lost_reason"]) for result in results], [("forbidden_syscall", "crashed")] * 2)
    tap.equal(results[0]["error"]["message"], results[1]["error"]["message"])


def test_landlock_restricts_a_later_interpreter():
    """Its domain is its own: it signals nobody outside of it. The control is a child."""
    use()
    code = ("import os, signal, subprocess\nchild = subprocess.Popen(['sleep', '1000'])\nos.kill(child.pid, 0)\n"
            "try: os.kill(1, 0)\nexcept PermissionError: print('refused')")
    refuses = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), 1) >= 6  # its version
    told = [Session((first, SET[first])).cell("python", code)["stdout"] for first in ("python", "bash")]
    tap.equal(told, ["refused\n" if refuses else ""] * 2)


FILL = """
import errno, os
os.mkdir('/tmp/full')
full, number = False, 0
while not full:
    number += 1
    with open(f'/tmp/full/{number}', 'wb', buffering=0) as file:
        try:
            while file.tell() < 1 << 20: file.write(bytes(4096))
        except OSError as error:
            full = error.errno == errno.ENOSPC
"""
LOOKER = """
import os, subprocess, threading
child = subprocess.Popen(['sleep', '1000'])
opened, rounds, ending = set(), 0, False
def look():
    global rounds
    while not ending:
        for pid in range(1, 64):
            try: os.close(os.open(f'/proc/{pid}/mem', os.O_RDONLY))
            except OSError: pass
            else: opened.add(pid)
        rounds += 1
thread = threading.Thread(target=look)
thread.start()
"""


def test_nobody_looks_into_an_interpreter_that_starts():
    """It has not all layers yet. The control: the memory of an own child can be opened."""
    use()
    for language in ("bash", "sh", "javascript"):
        session = Session(("python", LOOKER), (language, SET[language]))
        session.prints("True True\n", "python", "ending = True\nthread.join()\nprint(rounds > 0, opened == {os.getpid(), child.pid, thread.native_id} or opened)")


# In docker mode too (tests/docker/meson.build), in an image that has the machine's Node, run those in which the guest does something of its own.
OF_BACKENDS = (
    "files_are_shared_and_variables_are_not", "an_interruption_keeps_the_state_of_all", "the_end_of_any_interpreter_ends_the_session",
    "a_runtime_that_is_missing_leaves_the_session", "an_interpreter_that_cannot_start_leaves_the_session", "files_of_cells_are_the_session_s",
    "late_output_comes_with_a_cell_of_another_language", "a_later_interpreter_has_the_layers_of_the_first",
    "nothing_can_be_undone_beside_another_interpreter", "landlock_restricts_a_later_interpreter", "nobody_looks_into_an_interpreter_that_starts")
WITHOUT_NAMESPACES = ("files_are_shared_and_variables_are_not", "an_interruption_keeps_the_state_of_all", "the_end_of_any_interpreter_ends_the_session",
                      "a_later_interpreter_s_forbidden_call_ends_the_session", "landlock_restricts_a_later_interpreter")
modes.run_with_node(globals(), OF_BACKENDS, POLICY, ("python", "bash", "sh", "javascript"), without_namespaces=WITHOUT_NAMESPACES)
