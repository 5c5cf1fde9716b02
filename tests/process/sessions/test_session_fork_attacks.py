# SPDX-License-Identifier: Apache-2.0
"""What an attacker in a session that was forked can do to another one of its sandbox, in whole calls. What a fork is: test_session_forks.py."""
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import tap
from checkpointed import KILL_ALL, PIDS, seen_by_others
from forked_cells import begin, cell, fork, host, lost, printed, refusal, use
from modes import MODE, run_cases


def test_another_principals_are_not_there():
    use()
    first = begin()
    error = refusal(first, session_action="fork", to=host("bob"))
    tap.equal(error["code"], "session_not_found", error)
    second = fork(first)
    tap.equal(refusal(second, to=host("bob"))["code"], "session_not_found")
    tap.equal(printed("print(x)", second), "1\n", "the control")


def test_a_killed_copy_loses_its_session_alone():
    use()
    first = begin("x = 1")
    second = fork(first, "x = 2")
    cell(KILL_ALL.format(number=9), second)
    lost(first, "crashed")
    tap.equal(printed("print(x)", second), "2\n")
    third = fork(second, "x = 3")
    tap.equal((printed("print(x)", second), printed("print(x)", third)), ("2\n", "3\n"), "and its sandbox is as good as before")


def test_a_program_that_keeps_its_interpreter_from_answering_loses_its_own_sandbox_alone():
    """A child reads from the socket of cells in the interpreter's place. Where the interpreter was faster, it says what the child is."""
    use()
    other = begin("x = 5")
    first = begin("x = 1")
    second = fork(first)
    cell("import os, socket\nfor fd in range(64, 256):\n    try:\n        mine = socket.socket(fileno=fd)\n"
         "    except OSError:\n        continue\n    if os.fork() == 0:\n        while True:\n            mine.recv(1)\n    mine.detach()", second)
    error = refusal(second, session_action="fork")
    tap.contains(("session_lost", "checkpoint_unavailable"), error["code"])
    if error["code"] == "session_lost":
        lost(first, "crashed")
    tap.equal(printed("print(x)", other), "5\n")


def test_no_signal_wakes_another_branch():
    """The control is the turn that the gateway gives it."""
    use()
    first = begin("x = 1")
    second = fork(first, "x = 2")
    for number in (1, 2, 10, 14, 15, 17, 18, 34, 64):
        cell(f"{KILL_ALL.format(number=number)}", second)
        tap.equal((printed("print(x)", first), printed("print(x)", second)), ("1\n", "2\n"), number)


def test_no_call_of_ours_wakes_another_branch():
    """Docker mode has none."""
    use()
    first = begin("x = 1\nimport os")
    second = fork(first, "x = 2")
    awake = 0x776f6b65
    result = cell(f"import ctypes\nchild = os.fork()\nif child == 0:\n    ctypes.CDLL(None).syscall(180, ctypes.c_ulong({awake}))\n    open('awake', 'w').close()\n    os._exit(0)\nos.waitpid(child, 0)\nimport time\ntime.sleep(60)",
                  second, "restored", status="killed")
    tap.equal(result["cause"], "forbidden_syscall", result)
    tap.equal((printed("print(x, os.path.exists('awake'))", first), printed("print(x)", second)), ("1 False\n", "2\n"))


def test_nobody_looks_into_a_branch_that_sleeps():
    """Its memory has what the other session has, and its socket wakes it. The control: the program opens the same of itself. Process mode
    shows no number of it."""
    use()
    first = begin("import os\nx = 1\ndef opened(pid):\n    found = []\n    for name in 'mem', 'maps', 'environ', 'fd/0':\n        try:\n"
                  "            os.close(os.open(f'/proc/{pid}/{name}', os.O_RDONLY))\n            found.append(name)\n        except OSError:\n            pass\n    return found")
    second = fork(first)
    if MODE != "unprivileged":
        tap.equal(printed("print([os.path.exists(f'/proc/{pid}') for pid in range(2, 400)].count(True))", second), "4\n" if MODE == "docker" else "1\n",
                  "it, its checkpoint, the one that sleeps and that one's")
    own, others, pid = printed(f"print(opened(os.getpid()), {{word for pid in {PIDS} if pid != os.getpid() for word in opened(pid)}}, os.getpid(), sep=';')",
                               second).split(";")
    seen_by_others(own, others, pid)
    tap.equal(printed("print(x)", first), "1\n", "there was one")


# In docker mode (tests/docker/meson.build) all but this.
run_cases(globals(), [name.removeprefix("test_") for name in globals() if name.startswith("test_") and name != "test_no_call_of_ours_wakes_another_branch"])
