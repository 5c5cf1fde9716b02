# SPDX-License-Identifier: Apache-2.0
"""Cells of sessions that are undone, in whole calls: what is back, how many cells that can be, and what an approver and the audit are told."""
import hashlib
import json
import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import tap
from checkpointed import PIDS, RIGHTS, call, provider, use
from checkpointed_cells import begin, cell, printed, refusal, restored, undo
from modes import MODE, run_cases
from provider import ALLOW, NOT_RUN, Host

# Where shared memory has its names.
SHARED = "'/tmp'" if MODE == "unprivileged" else "'/dev/shm'"


def test_undo_brings_variables_back():
    use()
    session = begin("x = [1]")
    cell("x.append(2); y = 7", session)
    tap.equal(undo("print(x, 'y' in globals())", session)["stdout"], "[1] False\n")
    tap.equal(printed("print(x)", session), "[1]\n", "it goes on")


def test_undo_brings_files_back():
    use()
    session = begin("import os, pathlib\nos.mkdir('d'); pathlib.Path('d/a').write_text('old'); os.chmod('d/a', 0o600); os.symlink('d/a', 'l')\n"
                    "pathlib.Path('/tmp/t').write_text('tmp'); os.utime('d/a', (1000, 1000)); os.mkdir('closed'); os.chmod('closed', 0o500)")
    cell("import shutil\npathlib.Path('d/a').write_text('new'); pathlib.Path('/tmp/t').unlink(); os.unlink('l'); shutil.rmtree('closed')\n"
         f"os.makedirs('/tmp/more/deep'); pathlib.Path('/tmp/more/deep/f').write_text('x'); pathlib.Path({SHARED}, 's').write_text('x'); os.chdir('/')", session)
    tap.equal(undo("a = os.stat('d/a')\nprint(os.getcwd(), open('l').read(), open('/tmp/t').read(), oct(a.st_mode), a.st_mtime, oct(os.stat('closed').st_mode))\n"
                   f"print(os.path.exists('/tmp/more'), os.path.exists({SHARED} + '/s'), oct(os.stat('/tmp').st_mode))", session)["stdout"],
              f"/home/sandbox old tmp 0o100600 1000.0 0o40500\nFalse False {'0o40700' if MODE == 'unprivileged' else '0o41777'}\n")


def test_the_working_directory_is_one_that_is_back():
    use()
    session = begin("import os\nos.mkdir('d'); os.chdir('d')")
    cell("os.chdir('/'); os.rmdir('/home/sandbox/d')", session)
    tap.equal(undo("print(os.getcwd())\nopen('a', 'w').close()\nprint(os.listdir('/home/sandbox/d'))", session)["stdout"], "/home/sandbox/d\n['a']\n")
    session = begin("import os\nos.mkdir('d'); os.chdir('d'); os.rmdir('/home/sandbox/d')")
    cell("os.chdir('/')", session)
    tap.equal(undo("print(os.path.exists('/home/sandbox/d'))\nos.getcwd()", session)["exception"]["name"], "FileNotFoundError", "it was deleted then too")


def test_files_that_are_back_are_not_returned_again():
    use()
    first = cell("open('a', 'w').write('first')")
    session = first["session"]["id"]
    second = cell("open('a', 'w').write('second'); open('b', 'w').write('new')", session)
    third = undo("open('c', 'w').write(open('a').read())", session)
    tap.equal([sorted(file["path"] for file in result["files"]) for result in (first, second, third)], [["a"], ["a", "b"], ["c"]])
    result = restored("open('d', 'w').write('x')\nimport os\nos._exit(1)", session, "exit", "completed")
    tap.equal((result["files"], cell("open('e', 'w').close()", session)["files"][0]["path"]), ([], "e"), result)


def test_undo_goes_back_as_often_as_there_are_checkpoints():
    use(2)
    session = begin("x = 0")
    for _ in range(4):
        result = cell("x += 1", session)
    tap.equal(result["session"]["undoable"], 2)
    tap.equal(undo("print(x)", session)["stdout"], "3\n")
    tap.equal(undo("print(x)", session)["stdout"], "3\n", "the cell that printed is undone")
    tap.equal(cell("pass", session)["session"]["undoable"], 2)
    use(8)
    session = begin("x = 0")
    for _ in range(4):
        cell("x += 1", session)
    for left in (4, 3, 2):
        result = undo("\n", session, checkpoint=None)
        tap.equal((result["session"]["undoable"], result["session"]["cells"], result["exit_code"], result["files_omitted"]), (left, 5, 0, None), result)
    tap.equal(undo("print(x)", session)["stdout"], "0\n")
    call("\n", session, session_action="undo")
    call("\n", session, session_action="undo")
    tap.equal(refusal(session)["code"], "checkpoint_unavailable")
    tap.equal(printed("print('x' in globals())", session), "False\n")


def test_undo_of_several_cells():
    use(8)
    session = begin("x = 0; open('a', 'w').write('first')")
    for _ in range(5):
        cell("x += 1\nopen('a', 'w').write(str(x))\nopen('b%d' % x, 'w').close()", session)
    result = undo("import os\nprint(x, open('a').read(), sorted(name for name in os.listdir() if name != 'c'))\nopen('c', 'w').close()", session, count=3)
    tap.equal((result["stdout"], result["session"]["undoable"], [file["path"] for file in result["files"]]), ("2 2 ['a', 'b1', 'b2']\n", 4, ["c"]), result)
    tap.equal(undo("print(x)", session, count=1)["stdout"], "2\n", "the cell that printed is undone")
    tap.equal(undo("print(x)", session)["stdout"], "2\n", "a single one, behind several")
    result = undo("\n", session, checkpoint=None, count=2)
    tap.equal((result["session"]["undoable"], result["notes"]), (2, ["the last 2 cells are undone, and no code was executed"]), result)
    tap.equal(printed("print(x)", session), "1\n")
    result = undo("\n", session, checkpoint=None, count=3)
    tap.equal(result["session"]["undoable"], 0, result)
    tap.equal(printed("print('x' in globals(), __import__('os').listdir())", session), "False []\n", "all of them")


def test_undo_of_several_cells_leaves_no_process():
    use(8)
    session = begin("import os")
    for _ in range(6):
        cell("x = 1", session)
    cell("if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        import time; time.sleep(1000)\n    os._exit(0)", session)
    tap.equal(undo(f"seen = []\nfor pid in {PIDS}:\n    try:\n        os.kill(pid, 0)\n        seen.append(pid)\n    except OSError:\n        pass\nprint(len(seen))",
                   session, count=6)["stdout"], "4\n", "the interpreter, and the checkpoints of two cells and of this one")


def test_undo_of_more_cells_than_can_be():
    use(3)
    session = begin("x = 0")
    for _ in range(4):
        cell("x += 1", session)
    error = refusal(session, count=4)
    tap.equal(error["code"], "checkpoint_unavailable", error)
    tap.contains(error["message"], "of the last cells 3 can be undone, not 4")
    tap.equal(error["hint"], "undo at most 3")
    tap.equal(undo("print(x)", session, count=3)["stdout"], "1\n", "the refusal has undone nothing")
    error = refusal(session, count=2)
    tap.contains(error["message"], "of the last cells 1 can be undone, not 2")
    tap.equal(undo("print(x)", session)["stdout"], "1\n")


def test_a_count_needs_an_undo():
    use()
    session = begin("x = 1")
    for more in ({}, {"session_action": "keep"}, {"session_action": "end"}):
        returned, result = call("x = 2", session, count=1, **more)
        tap.equal((returned, result["error"]["code"]), (NOT_RUN, "invalid_input"), result)
        tap.contains(result["error"]["message"], "/count")
    for count in (0, 9, -1, 1.5, "2", True):
        error = refusal(session, count=count)
        tap.equal(error["code"], "invalid_input", error)
        tap.contains(error["message"], "/count")
    tap.equal(undo("print('x' in globals())", session, count=None)["stdout"], "False\n", "null is one")


def test_undo_of_several_cells_and_cells_that_were_undone_by_themselves():
    use(8)
    session = begin("x = 0")
    cell("x = 1", session)
    tap.equal(restored("import os\nos._exit(1)", session, "exit", "completed")["session"]["undoable"], 2)
    cell("x = 2", session)
    tap.contains(refusal(session, count=4)["message"], "3 can be undone")
    tap.equal(undo("print(x)", session, count=2)["stdout"], "0\n", "the cell between them is gone already")
    restored("x = 3\nimport os\nos._exit(1)", session, "exit", "completed")
    tap.equal(printed("print(x)", session), "0\n")


def test_a_killed_checkpoint_that_is_passed_over_loses_nothing():
    use(8)
    session = begin("import os\nx = 1")
    cell("x = 2", session)
    cell("def alive(pid):\n    try:\n        os.kill(pid, 0)\n        return True\n    except OSError:\n        return False\n"
         "os.kill([pid for pid in range(2, 400) if pid != os.getpid() and alive(pid)][-1], 9)\nx = 3", session)
    tap.equal(undo("print(x)", session, count=2)["stdout"], "1\n")


def test_the_hash_has_the_count():
    use()
    session = begin("x = 0")
    for _ in range(2):
        cell("x += 1", session)
    seen = []
    host = Host(RIGHTS, context={"principal": "ann"}, request_approval=lambda _token, request, _verdict: seen.append(json.loads(request)))
    for count in (None, 1, 2):
        error = provider.invoke({"language": "python", "code": "print(x)", "session": session, "session_action": "undo", "count": count}, host)[1]["error"]
        tap.equal(error["code"], "approval_denied", error)
    tap.equal([request["count"] for request in seen], [None, 1, 2])
    tap.equal(len({request["request_sha256"] for request in seen}), 3)
    tap.equal(undo("print(x)", session, count=2)["stdout"], "0\n", "what was denied has undone nothing")


def test_the_history_notes_each_of_several_cells():
    use()
    session = begin("x = 0")
    for _ in range(3):
        cell("x += 1", session)
    undo("x += 10", session, count=2)
    seen = []
    host = Host(RIGHTS, context={"principal": "ann"}, request_approval=lambda _token, request, _verdict: seen.append(json.loads(request)))
    provider.invoke({"language": "python", "code": "print(x)", "session": session}, host)
    tap.equal([cell["undone"] for cell in seen[0]["session_history"]["cells"]], [False, False, True, True, False])
    tap.equal(printed("print(x)", session), "11\n")


def test_a_new_session_has_nothing_to_undo():
    use()
    tap.equal(refusal("new")["code"], "invalid_input")


def test_names_that_are_there_again_are_told():
    use()
    session = begin("x = 1")
    cell("y = 2", session)
    tap.equal(restored("z = 3\nimport os\nos._exit(3)", session, "exit", "completed")["session"]["defined"], ["x", "y"])
    tap.equal(undo("\n", session, checkpoint=None)["session"]["defined"], ["x"])
    tap.equal(undo("\n", session, checkpoint=None)["session"]["defined"], [])


def test_random_numbers_return():
    use()
    session = begin("import random\nrandom.seed(42)\nrandom.random()")
    first = printed("print(random.random())", session)
    tap.equal(undo("print(random.random())", session)["stdout"], first)
    tap.true(printed("print(random.random())", session) != first, "they go on")


def test_undo_after_the_session_was_stopped():
    use()
    session = begin("import time\nx = 1")
    cell("x = 2\nbegun = time.monotonic()", session)
    cell("x = 3", session)
    time.sleep(1.5)
    tap.equal(undo("print(x)", session)["stdout"], "2\n")
    time.sleep(1.5)
    tap.equal(undo("print(x)", session)["stdout"], "2\n")


def chain(words):
    """The history's hash: over the hash before and the next cell's request, or the word that the last cell is undone."""
    history = ""
    for word in words:
        history = hashlib.sha256((history + word).encode()).hexdigest()
    return history


def test_an_approver_sees_what_was_undone():
    use()
    earlier = [cell("x = 1")]
    session = earlier[0]["session"]["id"]
    earlier += [cell("x = 2", session), cell("import os\nos._exit(0)", session, "restored")]
    seen, answers = [], []

    def approve(_token, request, verdict):
        seen.append(json.loads(request))
        verdict[0] = ALLOW
    host = Host(RIGHTS, context={"principal": "ann"}, request_approval=approve)
    for _ in range(2):
        answers.append(provider.invoke({"language": "python", "code": "print(x)", "session": session, "session_action": "undo"}, host)[1])
        tap.equal(answers[-1]["stdout"], "1\n", answers[-1])
    denied = provider.invoke({"language": "python", "code": "x", "session": session, "session_action": "undo"}, Host(RIGHTS, context={"principal": "ann"}, request_approval=lambda *_: None))[1]
    tap.equal((denied["error"]["code"], denied["session"]["checkpoint"]), ("approval_denied", None), denied)
    tap.equal(printed("print(x)", session), "1\n", "what was denied undoes nothing")
    histories = [request["session_history"] for request in seen]
    tap.equal([cell["undone"] for cell in histories[0]["cells"]], [False, False, True])
    tap.equal([cell["undone"] for cell in histories[1]["cells"]], [False, True, True, False], "the one that printed comes behind")
    ran = [result["approval"]["request_sha256"] for result in (*earlier, answers[0])]
    told = [*ran[:3], "undone"]
    tap.equal(histories[0]["history_sha256"], chain(told), "the cell that ended the interpreter is undone by itself")
    tap.equal(histories[1]["history_sha256"], chain([*told, "undone", ran[3]]), "the last one is undone ahead of the one that printed")


def test_the_audit_has_what_was_undone():
    use()
    host = Host(RIGHTS, context={"principal": "ann"})

    def audited(code, session, **more):
        return provider.invoke({"language": "python", "code": code, "session": session, **more}, host)[1]["session"]["id"]
    session = audited("x = 1", "new")
    audited("import os\nos._exit(1)", session)
    audited("print(x)", session, session_action="undo")
    tap.equal([(record["event"], record["session_action"], record["cell"]["undone"]) for record in host.records],
              [("start", None, False), ("end", None, False), ("start", None, False), ("end", None, True), ("start", "undo", False), ("end", "undo", False)])


# In docker mode (tests/docker/meson.build) what its guest does; the rest is the gateway's, or not there.
OF_DOCKER_MODE = (
    "undo_brings_variables_back", "undo_brings_files_back", "the_working_directory_is_one_that_is_back",
    "files_that_are_back_are_not_returned_again", "undo_of_several_cells", "undo_of_several_cells_leaves_no_process",
    "undo_of_several_cells_and_cells_that_were_undone_by_themselves", "a_killed_checkpoint_that_is_passed_over_loses_nothing",
    "random_numbers_return", "undo_after_the_session_was_stopped")
run_cases(globals(), OF_DOCKER_MODE)
