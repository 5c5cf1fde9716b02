# SPDX-License-Identifier: Apache-2.0
"""Attacks that need two cells. What a session's interpreter says about its own cells a program can forge; it gets no further: not into
another session, not past a limit, not out of the history, and no call hangs. Each has a control that shows the attack at work."""
import hashlib
import json
import pathlib
import subprocess
import sys
import threading

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
sys.path.insert(0, str(SUPPORT))
import tap
from modes import MODE, Provider, merged, run_cases
from provider import ACCEPTED, OK, Host

AMPLE_MS = 60000 * tap.SLOW
POLICY = {"sessions": {"max_total": 6, "max_per_principal": 6}, "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS},
                                                                       "cpu_ms": {"default": 300000, "max": 300000}}}
RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files")
FRAME = ("import os\ndef forge(status):\n    text = b'{\"exit_code\": %d, \"defined\": [\"forged\"]}' % status\n"
         "    os.write(63, len(text).to_bytes(4, 'little') + bytes((4,)) + text)\n")
provider = Provider()


def use(**more):
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


def call(code, session="new", host=None, **more):
    return provider.invoke({"language": "python", "code": code, "session": session, **more}, host or Host(RIGHTS))[1]


def begin(code="x = 1"):
    return call(code)["session"]["id"]


def test_forging_the_end_of_its_own_cell():
    use()
    other, session = begin("x = 'other'"), begin(FRAME)
    forged = call("forge(7)\nprint('behind', flush=True)\nx = 'forged'", session)
    tap.equal((forged["exit_code"], forged["session"]["defined"]), (7, ["forged"]), "the control: it is heard")
    told = call("print(x)", session)
    tap.equal(told["stdout"], "forged\n", told)
    tap.equal(call("print(x)", other)["stdout"], "other\n", "another session")


def test_keeping_its_own_files_back():
    """A cell that says falsely that it has left none hides them from nobody: they come with the next one."""
    use()
    session = begin(FRAME.replace("%d,", "%d, \"home_is_empty\": true,"))
    forged = call("open('f', 'w').write('x')\nforge(0)", session)
    tap.equal((forged["exit_code"], forged["files"], forged["files_omitted"]), (0, [], None), "the control: it is believed")
    told = call("x = 1", session)
    tap.equal([(file["path"], file["change"], file["content"]) for file in told["files"]], [("f", "new", "x")], told)


def test_going_on_behind_a_forged_end():
    """The cell holds no place any more; a second later its processes stop, and the next cell's time ends them."""
    use()
    session = begin(FRAME)
    tap.equal(call("forge(0)\nwhile True: pass", session)["session"]["state"], "kept", "the control: it is believed")
    tap.equal(provider.counters()["calls_running"], 0)
    late = call("print('late')", session, timeout_ms=500)
    tap.equal(late["status"], "timeout", late)
    tap.true(late["duration_ms"] < 30000 * tap.SLOW, "it is no hang")


def test_a_child_answers_for_its_parent():
    use()
    session = begin(FRAME)
    answer = call("import time\nif os.fork() == 0:\n    forge(9)\n    os._exit(0)\nos.wait()\nprint('parent')", session)
    tap.equal(answer["exit_code"], 9, "the control: it is heard")
    tap.equal(call("print('next')", session)["stdout"], "next\n", "the child takes no cell")


def test_replacing_what_serves_cells():
    use()
    other, session = begin("x = 'other'"), begin()
    code = ("import gc\n[serving] = [it for it in gc.get_objects() if type(it).__name__ == 'Session']\n"
            "serving.defined = lambda: ['replaced']")
    tap.equal(call(code, session)["session"]["defined"], ["replaced"], "the control: it is replaced")
    call("serving.take = lambda: None", session)  # there is no next cell
    tap.eventually(lambda: (call("1", session)["error"] or {}).get("code") == "session_not_found", "the session is gone", 60)
    tap.equal(call("print(x)", other)["session"]["defined"], ["x"], "another session has its own")
    fresh = call("x = 1")
    tap.equal((fresh["session"]["state"], fresh["session"]["defined"]), ("kept", ["x"]), "and so has a new one")


def test_planting_files_for_an_interpreter_to_come():
    use()
    plant = ("import os, site\nplaces = ['.', '/tmp', os.path.expanduser('~/.local/lib/python3/site-packages'), site.getusersitepackages()]\n"
             "for place in places:\n    os.makedirs(place, exist_ok=True)\n"
             "    for name in ('usercustomize', 'sitecustomize', 'json', 'planted'):\n"
             "        open(f'{place}/{name}.py', 'w').write('print(\"planted\")')\n")
    session = begin(plant)
    tap.equal(call("import sys; sys.path.insert(0, '.')\nimport planted", session)["stdout"], "planted\n", "the control: it is there")
    for _ in range(3):
        fresh = call("import json, importlib.util\nprint(json.dumps(1), importlib.util.find_spec('planted'), os.listdir('.') if 'os' in globals() else '')")
        tap.equal(fresh["stdout"], "1 None \n", fresh)


def test_filling_the_scratch_space_slowly():
    use(limits={"scratch_bytes": {"default": 8 << 20, "max": 8 << 20}})
    session = begin("held = 0")
    fill = "try:\n    open(f'f{held}', 'wb').write(bytes(1 << 20)); held += 1\nexcept OSError as error:\n    print(error.errno)"
    answers = [call(fill, session) for _ in range(10)]
    tap.equal(answers[0]["stdout"], "", "the control: there is room")
    if MODE == "unprivileged":  # supervised: what has too much is ended, sooner or later
        tap.eventually(lambda: answers.append(call(fill, session)) or (answers[-1]["error"] or {}).get("code") == "session_not_found", "it is lost", 60)
        told = [answer for answer in answers if (answer.get("session") or {}).get("state") == "lost" or answer["cause"] == "disk_full"
                or (answer["error"] or {}).get("code") == "session_lost"]  # the first: it ended just as the cell came
        tap.equal(len(told), 1, answers)
    else:
        tap.equal(answers[-1]["stdout"], "28\n", answers)
        tap.equal(call("print(held)", session)["session"]["state"], "kept")
    tap.equal(call("open('f', 'wb').write(bytes(1 << 20))")["exit_code"], 0, "another session has its own")


def test_what_fires_later_is_in_the_history():
    """An object whose end does something, which an innocent cell brings about."""
    use(approval={"default": "ask"})
    asked = []

    def approve(token, request, _verdict):
        asked.append(json.loads(request))
        tap.equal(provider.reply(token, {"decision": "allow_once"}), ACCEPTED)

    host = Host(RIGHTS, request_approval=approve)
    bomb = "class Bomb:\n    def __del__(self): print('fired')\nbomb = Bomb()"
    session = call(bomb, host=host)["session"]["id"]
    tap.equal(call("bomb = None", session, host=host)["stdout"], "fired\n", "the control: it fires")
    [earlier] = asked[-1]["session_history"]["cells"]
    tap.equal((earlier["code_sha256"], earlier["first_line"]), (hashlib.sha256(bomb.encode()).hexdigest(), "class Bomb:"))



HUNT = """import os, signal, time
def hunt(seconds):
    mine, killed, seen = {1, os.getpid()}, set(), set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for pid in range(1, 3000):
            try:
                if pid not in mine: os.kill(pid, signal.SIGKILL); killed.add(pid)
            except ProcessLookupError:
                pass
        seen.update(int(name) for name in os.listdir('/proc') if name.isdigit())
        seen.update(os.listdir('/dev/shm'))
    return sorted(killed), sorted(map(str, seen - mine - killed))
"""


def test_waiting_for_the_sandboxes_of_others():
    """A cell that hunts for processes and files while other calls take sandboxes from the pool, and these are made anew."""
    use()
    hunter, other = begin(HUNT), begin("x = 'other'")
    control = call("victim = os.fork()\nif victim == 0: time.sleep(600)\nprint(hunt(0.1)[0] == [victim], os.waitpid(victim, 0)[1])", hunter)
    tap.equal(control["stdout"], "True 9\n", ("the control: what is in its own sandbox it finds", control))
    told = []
    hunting = threading.Thread(target=lambda: told.append(call("print(hunt(1.5))", hunter)))
    hunting.start()
    calls = 0
    while hunting.is_alive():
        tap.equal(call("print(x)", other)["stdout"], "other\n", "another session")
        fresh = provider.invoke({"language": "python", "code": "print(1 + 1)"}, Host(RIGHTS))[1]
        tap.equal((fresh["status"], fresh["stdout"]), ("completed", "2\n"), fresh)
        calls += 1
    hunting.join()
    tap.true(calls > 1, calls)
    tap.equal(told[0]["stdout"], "([], [])\n", told)


CLONE = """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def clone(number):
    wanted = (ctypes.c_int * 1)(number)
    arguments = (ctypes.c_uint64 * 10)(0, 0, 0, 0, 17, 0, 0, 0, ctypes.addressof(wanted), 1)
    made = libc.syscall(435, arguments, ctypes.sizeof(arguments))
    if made == 0: os._exit(0)
    return made
first = os.fork()
if first == 0: os._exit(0)
os.waitpid(first, 0)
"""


def test_choosing_the_number_of_a_process():
    """A checkpoint or interpreter that is known by its number is followed by another one only where a program can choose numbers."""
    use()
    session = begin(CLONE)
    answer = call("print(clone(first) == first)\ntry: open('/proc/sys/kernel/ns_last_pid', 'r+')\nexcept OSError: print('refused')", session)
    tap.equal(answer["stdout"], "False\nrefused\n", answer)
    control = subprocess.run([sys.executable, "-c", f"{CLONE}print(clone(first) == first, ctypes.get_errno())"], capture_output=True, text=True, check=False)
    tap.true(control.stdout in ("True 0\n", "False 1\n"), ("the control: it is granted, or for want of privilege (EPERM) refused", control))


# What of others can be reached without namespaces: test_unprivileged_warm.py.
WITHOUT_NAMESPACES = ("going_on_behind_a_forged_end", "a_child_answers_for_its_parent", "planting_files_for_an_interpreter_to_come",
                      "filling_the_scratch_space_slowly", "choosing_the_number_of_a_process")
run_cases(globals(), None, WITHOUT_NAMESPACES, ("waiting_for_the_sandboxes_of_others",))
