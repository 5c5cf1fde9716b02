# SPDX-License-Identifier: Apache-2.0
"""Attacks that need two cells. What a session's interpreter says about its own cells a program can forge; it gets no further: not into
another session, not past a limit, not out of the history, and no call hangs. Each has a control that shows the attack at work."""
import hashlib
import json
import pathlib
import sys

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import tap
from modes import Provider, merged
from provider import ACCEPTED, OK, Host

AMPLE_MS = 60000 * tap.SLOW
POLICY = {"sessions": {"max_total": 6, "max_per_principal": 6}, "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS},
                                                                       "cpu_ms": {"default": 300000, "max": 300000}}}
RIGHTS = ("sandbox.exec", "sandbox.exec.session")
FRAME = ("import os\ndef forge(status):\n    text = b'{\"exit_code\": %d, \"defined\": [\"forged\"]}' % status\n"
         "    os.write(63, len(text).to_bytes(4, 'little') + bytes((4,)) + text)\n")
provider = Provider()


def use(**more):
    provider.reset()
    tap.equal(provider.use_policy(merged(POLICY, more)), OK)


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
    told = [call(fill, session)["stdout"] for _ in range(10)]
    tap.equal(told[0], "", "the control: there is room")
    tap.equal(told[-1], "28\n", told)
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


tap.run(globals())
