# SPDX-License-Identifier: Apache-2.0
"""Sessions in containers of a real engine, as far as they differ from those of process mode. By hand:
scripts/with-engine tests/docker/test_real_sessions.py"""
import json
import os
import pathlib
import socket
import sys

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
ROOT = pathlib.Path(__file__).parents[2]
os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tap
from engine import IMAGE, ask, containers
from modes import Provider, gateway
from provider import OK, Host

POLICY = {"sessions": {"max_total": 4, "checkpoints": 2}}
provider = Provider()
host = Host(("sandbox.exec", "sandbox.exec.session", "sandbox.exec.image"))


def call(code, session="new", **more):
    return provider.invoke({"language": "python", "code": code, "session": session, **more}, host)[1]


def begin():
    provider.reset()
    tap.equal(provider.use_policy(POLICY), OK)
    result = call("x = 1")
    tap.equal(result["session"]["state"], "kept", result)
    return result["session"]["id"]


def test_every_language_runs_in_the_image_of_the_first():
    """The policy has another one for each of them, which the engine has not."""
    other = "nowhere/none:1"
    provider.reset()
    tap.equal(provider.use_policy({**POLICY, "docker": {"images": {"bash": other}, "offered": [other, IMAGE]}}), OK)
    alone = provider.invoke({"language": "bash", "code": "echo", "session": "new"}, host)[1]
    tap.equal(alone["error"] and alone["error"]["code"], "backend_unavailable", f"the control: {alone['error']}")
    session = call("x = 1")["session"]["id"]
    result = call("echo $PWD", session, language="bash")
    tap.equal((result["stdout"], result["isolation"]["details"]["image"]), ("/home/sandbox\n", IMAGE), result)
    error = call("print(x)", session, image=other)["error"]
    tap.equal(error and error["code"], "invalid_input", error)
    tap.contains(error["message"], "begun with another image")
    tap.equal(call("print(x)", session, image=IMAGE)["stdout"], "1\n")


def test_a_further_language_ends_the_checkpoints():
    session = begin()
    others = "import os\nprint([int(name) for name in os.listdir('/proc') if name.isdigit() and int(name) not in (1, os.getpid())])"
    copies = json.loads(call(others, session)["stdout"])
    tap.equal(len(copies), 2, "the control")
    tap.equal(call("echo", session, language="bash")["session"]["state"], "kept")
    result = call(others, session)
    tap.equal((set(copies) & set(json.loads(result["stdout"])), result["session"]["checkpoint"]), (set(), "processes"), result)


def test_a_python_without_ctypes_is_not_copied():
    """An image may lack it: there is no other way to a copy that the program does not notice. A module of that name is what lacks it."""
    session = begin()
    tap.equal(call("x = 2", session)["session"]["checkpoint"], "taken", "the control")
    parts = {"__name__": "session_checkpoint"}
    exec((ROOT / "plugin/guest/session/session_checkpoint.py").read_text(), parts)
    guest, interpreter = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.modules["ctypes"], there = None, sys.modules.get("ctypes")
    try:
        tap.equal(parts["Maker"]().make(interpreter), False)
    finally:
        sys.modules["ctypes"] = there
    tap.equal(guest.recv(1), b"", "no word: the guest refuses")
    guest.close()


def test_tracebacks_show_the_cell_alone():
    errors = call("def f():\n    return 1 / 0\nf()", begin())["stderr"]
    tap.contains(errors, "cell-2.py")
    tap.lacks(errors, "session_loop")


def test_a_session_ends_with_its_container():
    provider.reset()
    tap.eventually(lambda: not containers(), "those before are gone")
    session = begin()
    mine = containers()
    tap.equal(len(mine), 1, mine)
    ask(f"/containers/{mine[0]}?force=1", method="DELETE")
    lost = call("print(x)", session)
    tap.true(lost["error"] or lost["session"]["state"] == "lost", lost)
    tap.equal(lost["stdout"], "")
    tap.eventually(lambda: not containers(), "its removal")


def states_in(container):
    """Of its processes but the first, the guest."""
    return [line[0][:1] for line in json.loads(ask(f"/containers/{container}/top?ps_args=-eo%20stat,pid"))["Processes"]][1:]


def test_an_idle_session_is_stopped():
    provider.reset()
    tap.eventually(lambda: not containers(), "those before are gone")
    session = begin()
    tap.equal(call("import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()", session)["status"], "completed")
    tap.eventually(lambda: set(states_in(containers()[0])) == {"T"}, "its stop, and that of its checkpoint")
    tap.equal(call("print(x)", session)["stdout"], "1\n", "it goes on")


def test_killing_the_gateway_ends_them():
    provider.reset()
    tap.eventually(lambda: not containers(), "those before are gone")
    other = gateway(f"p = Provider(); p.use_policy({POLICY!r}); h = Host(('sandbox.exec', 'sandbox.exec.session'))\n"
                    "r = p.invoke({'language': 'python', 'code': 'x = 1', 'session': 'new'}, h)[1]\n"
                    "print(r['session']['state'], flush=True); sys.stdin.read()", stdin=-1)
    tap.equal(other.stdout.readline(), "kept\n")
    tap.equal(len(containers()), 1, "the control")
    other.kill()
    other.wait()
    tap.eventually(lambda: not containers(), "its container is gone", 60)


tap.run(globals())
