# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of sessions in whole calls: cells that are undone by themselves, what makes a checkpoint unavailable, and what an attacker can
do to one. What an undo brings back: test_session_undo.py."""
import json
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import tap
from checkpointed import KILL_ALL, PIDS, RIGHTS, SHARES, SHARES_NO_MORE, THREADS, UNTIL_ONE_THREAD, call, provider, seen_by_others, use
from checkpointed_cells import begin, cell, printed, refusal, restored, undo
from modes import MODE, run_cases
from provider import Host


def without(word, code, session, **more):
    """The cell itself runs, and cannot be undone."""
    result = cell(code, session, checkpoint=word, **more)
    tap.equal((result["session"]["undoable"], refusal(session)["code"]), (0, "checkpoint_unavailable"), result)
    return result


def test_a_policy_without_checkpoints_has_none():
    use(0)
    session = begin(checkpoint=None)
    without(None, "x = 2", session)
    tap.equal(printed("print(x)", session, checkpoint=None), "2\n")


def test_a_cell_that_ends_the_interpreter_is_undone():
    use()
    session = begin("x = 1")
    restored("x = 2\nimport os\nos._exit(3)", session, "exit", "completed")
    tap.equal(printed("print(x)", session), "1\n")
    restored("x = 2\nimport os\nos.kill(os.getpid(), 11)", session, "signal", "killed")
    tap.equal(printed("print(x)", session), "1\n")
    restored("import ctypes\nx = 2\nctypes.CDLL(None).reboot(0)", session, "forbidden_syscall", "killed")
    tap.equal(printed("print(x)", session), "1\n")


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


def test_other_languages_have_none():
    use()
    session = provider.invoke({"language": "sh", "code": "x=1", "session": "new"}, Host(RIGHTS, context={"principal": "ann"}))[1]["session"]
    tap.equal(session["checkpoint"], None)
    error = provider.invoke({"language": "sh", "code": "x=1", "session": session["id"], "session_action": "undo"}, Host(RIGHTS, context={"principal": "ann"}))[1]["error"]
    tap.equal(error["code"], "not_supported", error)


# In docker mode (tests/docker/meson.build) what its guest does; the rest is the gateway's, or not there.
OF_DOCKER_MODE = (
    "a_cell_that_ends_the_interpreter_is_undone", "a_cell_that_needs_too_much_memory_is_undone",
    "a_cell_that_does_not_heed_its_time_is_undone", "processes_of_an_undone_cell_are_gone", "what_has_another_process_is_not_copied",
    "what_has_threads_is_not_copied", "what_has_descriptors_open_is_not_copied", "what_shares_memory_is_not_copied",
    "files_that_cannot_be_copied", "a_program_does_not_see_its_checkpoints", "a_checkpoint_that_was_killed_loses_its_session",
    "no_signal_of_the_programs_wakes_a_checkpoint", "nobody_looks_into_a_checkpoint")
# Without namespaces nobody looks into /proc: it has no word on which pages are a process's own, nor does it hide that there is one.
NEEDING_PROC = ("pages_that_cells_write_to_are_copied_ahead", "a_program_does_not_see_its_checkpoints")
if MODE == "unprivileged":
    for name in NEEDING_PROC:
        del globals()[f"test_{name}"]
run_cases(globals(), OF_DOCKER_MODE)
