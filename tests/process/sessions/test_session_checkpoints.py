# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of sessions in whole calls: what goes back, what makes one unavailable, and what an attacker can do to one."""
import hashlib
import json
import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import tap
from checkpointed import PIDS, RIGHTS, SHARES, SHARES_NO_MORE, THREADS, UNTIL_ONE_THREAD, call, provider, seen_by_others, use
from modes import MODE, run_cases
from provider import ALLOW, NOT_RUN, Host


# Where shared memory has its names.
SHARED = "'/tmp'" if MODE == "unprivileged" else "'/dev/shm'"


def cell(code, session="new", state="kept", checkpoint="taken", status="completed", **more):
    result = call(code, session, **more)[1]
    tap.equal((result["status"], result["session"] and (result["session"]["state"], result["session"]["checkpoint"])), (status, (state, checkpoint)), result)
    return result


def begin(code="x = 1", **more):
    return cell(code, **more)["session"]["id"]


def printed(code, session, **more):
    return cell(code, session, **more)["stdout"]


def undo(code, session, **more):
    return cell(code, session, session_action="undo", **more)


def restored(code, session, cause, status, **more):
    result = cell(code, session, "restored", status=status, **more)
    tap.equal((result["cause"], result["files"], result["files_omitted"]), (cause, [], None), result)
    tap.true(any("as they were before this cell" in note for note in result["notes"]), result["notes"])
    return result


def without(word, code, session, **more):
    """The cell itself runs, and cannot be undone."""
    result = cell(code, session, checkpoint=word, **more)
    tap.equal((result["session"]["undoable"], refusal(session)["code"]), (0, "checkpoint_unavailable"), result)
    return result


def refusal(session, code="print(1)", action="undo", **more):
    returned, result = call(code, session, session_action=action, **more)
    tap.equal((returned, result["stdout"]), (NOT_RUN, ""), result)
    return result["error"]


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


def test_a_policy_without_checkpoints_has_none():
    use(0)
    session = begin(checkpoint=None)
    without(None, "x = 2", session)
    tap.equal(printed("print(x)", session, checkpoint=None), "2\n")


def test_a_new_session_has_nothing_to_undo():
    use()
    tap.equal(refusal("new")["code"], "invalid_input")


def test_a_cell_that_ends_the_interpreter_is_undone():
    use()
    session = begin("x = 1")
    restored("x = 2\nimport os\nos._exit(3)", session, "exit", "completed")
    tap.equal(printed("print(x)", session), "1\n")
    restored("x = 2\nimport os\nos.kill(os.getpid(), 11)", session, "signal", "killed")
    tap.equal(printed("print(x)", session), "1\n")
    restored("import ctypes\nx = 2\nctypes.CDLL(None).reboot(0)", session, "forbidden_syscall", "killed")
    tap.equal(printed("print(x)", session), "1\n")


def test_names_that_are_there_again_are_told():
    use()
    session = begin("x = 1")
    cell("y = 2", session)
    tap.equal(restored("z = 3\nimport os\nos._exit(3)", session, "exit", "completed")["session"]["defined"], ["x", "y"])
    tap.equal(undo("\n", session, checkpoint=None)["session"]["defined"], ["x"])
    tap.equal(undo("\n", session, checkpoint=None)["session"]["defined"], [])


def test_a_cell_that_needs_too_much_memory_is_undone():
    use()
    session = begin("df = list(range(1000))", memory_bytes=96 << 20)
    result = call("x = bytearray(1 << 30)", session)[1]
    if result["exception"] and result["exception"]["name"] == "MemoryError":
        raise tap.Skip("no control group counts memory here")
    tap.equal((result["status"], result["error"]["code"], result["session"]["state"]), ("killed", "memory_limit", "restored"), result)
    tap.equal(printed("print(sum(df))", session), "499500\n")
    tap.equal(printed(f"import os\nprint({THREADS})", session), "1\n")
    result = restored("os._exit(1)", session, "exit", "completed")
    tap.true(not any("memory" in note for note in result["notes"]), result["notes"])


def test_a_cell_that_does_not_heed_its_time_is_undone():
    use()
    session = begin("x = 1")
    restored("x = 2\nimport signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", session, "wall_timeout", "timeout", timeout_ms=500)
    tap.equal(printed("import signal\nprint(x, signal.getsignal(signal.SIGINT) == signal.default_int_handler)", session), "1 True\n")


def test_an_interruption_needs_no_checkpoint():
    use()
    session = begin("x = 1")
    result = cell("x = 2\nwhile True: pass", session, status="timeout", timeout_ms=500)
    tap.equal(result["session"]["undoable"], 2)
    tap.equal(undo("print(x)", session)["stdout"], "1\n")


def test_processes_of_an_undone_cell_are_gone():
    use()
    session = begin("import os, sys, time")
    cell("for _ in range(3):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            time.sleep(1000)\n        time.sleep(1000)", session)
    seen = "print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit() and int(name) not in (1, os.getpid())))"
    if MODE == "unprivileged":
        seen = f"def answers(pid):\n    try: return os.kill(pid, 0) is None\n    except OSError: return False\nprint([pid for pid in {PIDS} if pid != os.getpid() and answers(pid)])"
    seen = undo(seen, session)["stdout"]
    tap.equal(len(json.loads(seen)), 0 if MODE == "process" else 2, "where they are seen, the checkpoints: of the first cell, and of this one")


def test_what_has_another_process_is_not_copied():
    use()
    session = begin("import os, time")
    cell("child = os.fork()\nif child == 0:\n    time.sleep(1000)", session)
    without("processes", "x = 1", session)
    cell("os.kill(child, 9)", session, checkpoint="processes")
    cell("print(os.waitpid(child, 0)[0] == child)", session, checkpoint="processes")
    cell("middle = os.fork()\nif middle == 0:\n    os.fork() or time.sleep(1000)\n    os._exit(0)\nos.waitpid(middle, 0)", session)
    without("processes", "x = 1", session)


def test_what_has_threads_is_not_copied():
    use()
    session = begin("import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()")
    without("threads", "x = 1", session)
    cell(f"stop.set(); thread.join()\n{UNTIL_ONE_THREAD}", session, checkpoint="threads")
    cell("x = 2", session)


def test_what_has_descriptors_open_is_not_copied():
    use()
    session = begin("file = open('a', 'w')")
    without("descriptors", "x = 1", session)
    cell("file.close()", session, checkpoint="descriptors")
    cell("import asyncio\nawait asyncio.sleep(0)", session)
    without("descriptors", "x = 2", session)


def test_what_shares_memory_is_not_copied():
    use()
    session = begin(SHARES)
    without("shared_memory", "x = 1", session)
    cell(SHARES_NO_MORE, session, checkpoint="shared_memory")
    cell("x = 2", session)


def test_files_that_cannot_be_copied():
    use()
    session = begin("import os\nos.mkfifo('/tmp/f')")
    without("files", "x = 1", session)
    cell("os.unlink('/tmp/f'); open('big', 'wb').write(bytes(1 << 24))", session, checkpoint="files")
    without("files", "x = 1", session)
    cell("os.unlink('big'); open('a', 'w').close(); os.link('a', 'b')", session, checkpoint="files")
    without("files", "x = 1", session)
    cell("os.unlink('b')", session, checkpoint="files")
    cell("x = 2", session)


def test_random_numbers_return():
    use()
    session = begin("import random\nrandom.seed(42)\nrandom.random()")
    first = printed("print(random.random())", session)
    tap.equal(undo("print(random.random())", session)["stdout"], first)
    tap.true(printed("print(random.random())", session) != first, "they go on")


PAGES = """import array
pages = array.array("B", bytes(200 * 4096))
first = pages.buffer_info()[0] // 4096 + 1
def own():
    with open("/proc/self/pagemap", "rb") as file:
        file.seek(8 * first)
        found = file.read(8 * 198)
    return sum(found[i] & 0x81 == 0x81 for i in range(7, len(found), 8))
def write():
    for i in range(0, len(pages), 4096): pages[i] ^= 1
"""


def test_pages_that_cells_write_to_are_copied_ahead():
    """While a checkpoint is made. So a cell finds some that its checkpoint does not share, before it has written to them."""
    use()
    session = begin(PAGES)
    tap.equal(printed("print(own())\nwrite()\nprint(own())", session), "0\n198\n", "which pages these are is seen behind this cell")
    tap.true(any(printed("print(own())\nwrite()", session) != "0\n" for _ in range(100)), "pages are copied ahead of a cell")


def test_a_program_does_not_see_its_checkpoints():
    use()
    session = begin("import os")
    tap.equal(printed("try:\n    os.wait()\nexcept ChildProcessError:\n    print('none')", session), "none\n")
    tap.equal(printed("print([os.access(f'/proc/{pid}', 0) for pid in range(2, 40)].count(True))", session), "4\n" if MODE == "docker" else "1\n", "they are not dumpable")
    cell("import time", session)
    cell("import subprocess\nprint(subprocess.run(['true']).returncode)", session)


def test_undo_after_the_session_was_stopped():
    use()
    session = begin("import time\nx = 1")
    cell("x = 2\nbegun = time.monotonic()", session)
    cell("x = 3", session)
    time.sleep(1.5)
    tap.equal(undo("print(x)", session)["stdout"], "2\n")
    time.sleep(1.5)
    tap.equal(undo("print(x)", session)["stdout"], "2\n")



KILL_ALL = """import os
for pid in PIDS:
    if pid != os.getpid():
        try:
            os.kill(pid, {number})
        except OSError:
            pass
""".replace("PIDS", PIDS)


def test_a_checkpoint_that_was_killed_loses_its_session():
    use()
    session = begin("x = 1")
    cell(KILL_ALL.format(number=9), session)
    error = refusal(session)
    tap.equal(error["code"], "session_lost", error)
    tap.equal(refusal(session)["code"], "session_not_found")
    session = begin("x = 1")
    result = call(KILL_ALL.format(number=9) + "os._exit(3)", session)[1]
    tap.equal((result["session"]["state"], result["session"]["lost_reason"]), ("lost", "exited"), result)


def test_no_signal_of_the_programs_wakes_a_checkpoint():
    """Nor does one wait there for the interpreter that is woken."""
    use()
    for number in (2, 15, 18, 19, 40) if MODE == "docker" else (1, 2, 3, 6, 10, 12, 13, 14, 15, 17, 18, 19, 20, 34, 40, 64):
        session = begin("x = 1")
        cell(f"x += 1\n{KILL_ALL.format(number=number)}", session)
        tap.equal(undo("print(x)", session)["stdout"], "1\n", number)
        tap.equal(call("x", session, session_action="end")[1]["session"]["state"], "ended", number)


def test_nobody_looks_into_a_checkpoint():
    """Its memory has what was undone, and its socket wakes it. The control: the program opens the same of itself."""
    use()
    session = begin("import os\nx = 1\ndef opened(pid):\n    found = []\n    for name in 'mem', 'maps', 'environ', 'fd/0':\n        try:\n"
                    "            os.close(os.open(f'/proc/{pid}/{name}', os.O_RDONLY))\n            found.append(name)\n        except OSError:\n            pass\n    return found")
    cell("x = 2", session)
    own, others, pid = printed(f"print(opened(os.getpid()), {{word for pid in {PIDS} if pid != os.getpid() for word in opened(pid)}}, os.getpid(), sep=';')",
                               session).split(";")
    seen_by_others(own, others, pid)
    tap.equal(undo("print(x)", session, count=2)["stdout"], "1\n", "there was one")


def test_a_process_of_the_program_is_no_checkpoint():
    """It says that it is one, as ours do, in a cell that has none ahead of it."""
    use()
    session = begin("import ctypes, os, threading, time\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()\n"
                    "def call(*words): return ctypes.CDLL(None).syscall(180, *map(ctypes.c_ulong, words))")
    sleep, made = 0x736c6570, 0x6d616465
    cell(f"child = os.fork()\nif child == 0:\n    call({sleep})\n    open('woken', 'w').close()\n    os._exit(0)\ntime.sleep(0.2)", session, checkpoint="threads")
    tap.equal(refusal(session)["code"], "checkpoint_unavailable")
    state = ("lost", None) if MODE == "unprivileged" else ("kept", "threads")
    result = cell(f"print(call({made}, child))", session, *state, status="timeout", timeout_ms=1000)
    tap.equal(result["stdout"], "", "nobody answers")
    if MODE == "unprivileged":  # no signal interrupts such a call
        return
    tap.equal(refusal(session)["code"], "checkpoint_unavailable")
    tap.equal(printed("print(os.path.exists('woken'))", session, checkpoint="threads"), "False\n")


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


def test_other_languages_have_none():
    use()
    session = provider.invoke({"language": "sh", "code": "x=1", "session": "new"}, Host(RIGHTS, context={"principal": "ann"}))[1]["session"]
    tap.equal(session["checkpoint"], None)
    error = provider.invoke({"language": "sh", "code": "x=1", "session": session["id"], "session_action": "undo"}, Host(RIGHTS, context={"principal": "ann"}))[1]["error"]
    tap.equal(error["code"], "not_supported", error)


# In docker mode (tests/docker/meson.build) what its guest does; the rest is the gateway's, or not there.
OF_DOCKER_MODE = (
    "undo_brings_variables_back", "undo_brings_files_back", "the_working_directory_is_one_that_is_back",
    "files_that_are_back_are_not_returned_again", "undo_of_several_cells",
    "undo_of_several_cells_leaves_no_process", "undo_of_several_cells_and_cells_that_were_undone_by_themselves",
    "a_killed_checkpoint_that_is_passed_over_loses_nothing", "a_cell_that_ends_the_interpreter_is_undone",
    "a_cell_that_needs_too_much_memory_is_undone", "a_cell_that_does_not_heed_its_time_is_undone", "processes_of_an_undone_cell_are_gone",
    "what_has_another_process_is_not_copied", "what_has_threads_is_not_copied", "what_has_descriptors_open_is_not_copied",
    "what_shares_memory_is_not_copied", "files_that_cannot_be_copied", "random_numbers_return", "a_program_does_not_see_its_checkpoints",
    "undo_after_the_session_was_stopped", "a_checkpoint_that_was_killed_loses_its_session", "no_signal_of_the_programs_wakes_a_checkpoint",
    "nobody_looks_into_a_checkpoint")
# Without namespaces nobody looks into /proc: it has no word on which pages are a process's own, nor does it hide that there is one.
NEEDING_PROC = ("pages_that_cells_write_to_are_copied_ahead", "a_program_does_not_see_its_checkpoints")
if MODE == "unprivileged":
    for name in NEEDING_PROC:
        del globals()[f"test_{name}"]
run_cases(globals(), OF_DOCKER_MODE)
