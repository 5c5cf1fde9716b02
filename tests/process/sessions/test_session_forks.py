# SPDX-License-Identifier: Apache-2.0
"""Sessions that are forked, in whole calls: what the copy has, that both go on separately, what makes a fork unavailable, and how each of
them ends. What an attacker in one of them can do to another: test_session_fork_attacks.py."""
import hashlib
import json
import os
import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import tap
from checkpointed import SHARES, SHARES_NO_MORE, UNTIL_ONE_THREAD, provider
from forked_cells import Waiting, begin, call, cell, end, fork, host, lost, operator_ends, printed, refusal, use
from provider import ACCEPTED, ALLOW, OK, PENDING


def test_a_copy_begins_with_variables_and_files_and_both_go_on():
    use()
    first = begin("import os\nx = [1]\nopen('a', 'w').write('old')\nopen('/tmp/t', 'w').write('tmp')\nos.mkdir('d')\nos.chdir('d')")
    second = fork(first, "x.append('second')\nopen('../a', 'w').write('second')\ny = 2")
    for turn in range(3):
        tap.equal(printed(f"x.append({turn})\nprint(x, open('../a').read(), open('/tmp/t').read(), os.getcwd(), 'y' in globals())", first),
                  f"{[1, *range(turn + 1)]} {'old' if turn == 0 else 'first'} tmp /home/sandbox/d False\n")
        cell("open('../a', 'w').write('first')", first)
        tap.equal(printed(f"x.append({turn * 10})\nprint(x, open('../a').read(), y, os.getcwd())", second),
                  f"{[1, 'second', *range(0, turn * 10 + 1, 10)]} second 2 /home/sandbox/d\n")


def test_a_fork_with_blank_code_executes_nothing():
    use()
    first = begin()
    result = cell(" \n", first, session_action="fork")
    tap.equal((result["session"]["cells"], result["session"]["undoable"], result["session"]["checkpoint"], result["files_omitted"]), (1, 0, None, None), result)
    tap.equal(result["session"]["defined"], ["x"])
    tap.equal(result["notes"], [f"the session {result['session']['id']} is a copy of {first}, and no code was executed"])
    tap.equal(cell("x", first)["session"]["forked_from"], None)
    tap.equal(cell("x", result["session"]["id"])["session"]["forked_from"], first, "it stays said")


def test_forks_of_forks():
    use()
    sessions = [begin("x = '0'")]
    for number in range(1, 4):
        sessions.append(fork(sessions[-1], f"x += '{number}'"))
    sessions.append(fork(sessions[1], "x += 'a'"))
    wanted = ["0", "01", "012", "0123", "01a"]
    for order in (range(5), range(4, -1, -1), (2, 0, 3, 1, 4)):
        for number in order:
            tap.equal(printed("print(x)", sessions[number]), f"{wanted[number]}\n")


def test_each_undoes_its_own_cells():
    use(3)
    first = begin("x = 0")
    for _ in range(2):
        cell("x += 1", first)
    second = fork(first)
    tap.equal(refusal(second, session_action="undo")["code"], "checkpoint_unavailable", "a copy has nothing to undo")
    for _ in range(2):
        cell("x += 10\nopen('f', 'w').write(str(x))", second)
    tap.equal(printed("print(x, __import__('os').listdir())", first, session_action="undo", count=2), "0 []\n")
    tap.equal(printed("print(x, open('f').read())", second, session_action="undo"), "12 12\n")
    tap.equal(printed("print(x)", first), "0\n")
    tap.equal(printed("print(x, __import__('os').listdir())", second, session_action="undo", count=2), "2 []\n")
    tap.contains(refusal(second, session_action="undo", count=3)["message"], "1 can be undone")


def test_a_cell_that_ends_its_interpreter_is_undone_and_leaves_the_others():
    use()
    first = begin("x = 1\nopen('a', 'w').write('first')")
    second = fork(first, "x = 2")
    result = cell("x = 3\nimport os\nos._exit(3)", second, "restored")
    tap.equal(result["session"]["undoable"], 1, result)
    tap.equal(printed("print(x, open('a').read())", first), "1 first\n")
    cell("x = 4\nimport os\nos._exit(3)", first, "restored")
    tap.equal((printed("print(x)", second), printed("print(x)", first)), ("2\n", "1\n"))


def test_without_a_checkpoint_all_are_lost_and_each_owner_hears_once():
    use()
    first = begin("import os")
    second, third = fork(first), fork(first)
    cell("import threading\nstop = threading.Event()\nthreading.Thread(target=stop.wait, daemon=True).start()", third)
    result = cell("os._exit(3)", third, "lost")
    tap.equal(result["session"]["lost_reason"], "exited", result)
    tap.equal(provider.counters()["sessions"], 0)
    lost(first, "exited")
    lost(second, "exited")
    tap.equal(refusal(third)["code"], "session_not_found")


OBSTACLES = (("threads", "import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()", f"stop.set(); thread.join()\n{UNTIL_ONE_THREAD}"),
             ("processes", "import os, time\nchild = os.fork()\nif child == 0:\n    time.sleep(1000)", "os.kill(child, 9); os.waitpid(child, 0)"),
             ("descriptors", "file = open('a', 'w')", "file.close()"),
             ("descriptors", "import socket\nmine, other = socket.socketpair()", "mine.close(); other.close()"),
             ("shared_memory", SHARES, SHARES_NO_MORE),
             ("files", "import os\nos.mkfifo('/tmp/f')", "os.unlink('/tmp/f')"))


def test_what_cannot_be_copied_is_not_forked_and_nothing_changes():
    use()
    for word, code, remedy in OBSTACLES:
        session = begin(code)
        error = refusal(session, "x = 5", session_action="fork")
        tap.equal((error["code"], error["message"].endswith(f": {word}")), ("checkpoint_unavailable", True), error)
        tap.equal(provider.counters()["sessions"], 1)
        cell(f"{remedy}\nx = 7", session)
        second = fork(session, "x += 1")
        tap.equal((printed("print(x)", session), printed("print(x)", second)), ("7\n", "8\n"), word)
        end(session)
        end(second)


def test_a_branch_that_cannot_be_put_aside_keeps_its_turn():
    use()
    first = begin("x = 1")
    second = fork(first)
    for word, code, remedy in OBSTACLES[:3]:
        cell(f"{code}\ny = 'mine'", second)
        error = refusal(first)
        tap.equal((error["code"], error["message"].endswith(f": {word}")), ("session_busy", True), error)
        tap.equal(printed(f"print(y)\n{remedy}", second), "mine\n")
        tap.equal(printed("print(x)", first), "1\n", word)


def test_where_no_session_can_be_forked():
    use()
    tap.equal(refusal("new", session_action="fork")["code"], "invalid_input")
    session = begin()
    tap.equal(refusal(session, session_action="fork", count=1)["code"], "invalid_input")
    tap.equal(refusal(session, language="sh", session_action="fork")["code"], "not_supported")
    shell = cell("x=1", language="sh")["session"]["id"]
    tap.equal(refusal(shell, language="sh", session_action="fork")["code"], "not_supported")
    cell("true", session, language="sh")
    error = refusal(session, session_action="fork")
    tap.equal(error["code"], "checkpoint_unavailable", error)
    tap.contains(error["message"], "another language")
    use(0)
    session = begin()
    error = refusal(session, session_action="fork")
    tap.equal(error["code"], "checkpoint_unavailable", error)
    tap.contains(error["message"], "policy")


def test_one_that_was_forked_keeps_to_its_language():
    use()
    first = begin()
    second = fork(first)
    for session in (first, second):
        error = refusal(session, "true", language="sh")
        tap.equal((error["code"], error["retryable"]), ("not_supported", False), error)
        tap.contains(error["message"], "one language")
        tap.contains(error["hint"], "end the other sessions")
    tap.equal((printed("print(x)", first), printed("print(x)", second)), ("1\n", "1\n"), "both are as they were")
    end(second)
    tap.equal(printed("echo $((1 + 1))", first, language="sh"), "2\n", "alone again")
    tap.equal(printed("print(x)", first), "1\n")


def test_secrets_are_not_copied():
    use(secrets={"allowed": ["*"]})
    giver = host(secrets={"key": b"the-value-of-the-key"})
    returned, result = call("x = 1", to=giver, secrets={"KEY": "{{secret:key}}"})
    tap.equal((returned, result["session"]["state"]), (OK, "kept"), result)
    error = refusal(result["session"]["id"], session_action="fork", to=giver)
    tap.equal(error["code"], "checkpoint_unavailable", error)
    tap.contains(error["message"], "secrets")


def test_random_numbers_differ_behind_a_fork_and_return_behind_an_undo():
    use()
    draw = "print(random.random())"
    first = begin("import random\nrandom.seed(42)\nrandom.random()")
    second, third = fork(first), fork(first)
    drawn = [printed(draw, session) for session in (first, second, third)]
    tap.equal(len(set(drawn)), 3, drawn)
    tap.equal([printed(draw, session, session_action="undo") for session in (first, second, third)], drawn)
    tap.equal(printed("random.seed(42)\nrandom.random()\nprint(random.random())", second), drawn[0], "the first one has gone on with its own")


def test_numbers_of_numpy_differ():
    use()
    first = begin("try:\n    import numpy\n    numpy.random.seed(42)\nexcept ImportError:\n    numpy = None", env={"OPENBLAS_NUM_THREADS": "1"})
    if printed("print(numpy is None)", first) == "True\n":
        raise tap.Skip("no numpy here")
    second = fork(first)
    drawn = [printed("print(numpy.random.random())", session) for session in (first, second)]
    tap.true(drawn[0] != drawn[1], drawn)


def test_the_end_of_each():
    use()
    first = begin("x = 1")
    second = fork(first, "x = 2")
    third = fork(second, "x = 3")
    end(third)
    tap.equal((printed("print(x)", first), printed("print(x)", second)), ("1\n", "2\n"), "the one that ran has ended")
    end(first)
    tap.equal(printed("print(x)", second), "2\n", "one that slept has ended")
    end(second)
    tap.equal(provider.counters()["sessions"], 0)
    for session in (first, second, third):
        tap.equal(refusal(session)["code"], "session_not_found")


def test_the_last_end_gives_the_memory_back():
    use(sessions={"max_total": 4}, memory_total_bytes=300 << 20, limits={"memory_bytes": {"default": 200 << 20}})
    first = begin()
    second = fork(first)
    tap.equal(refusal("new", timeout_ms=400)["code"], "too_many_requests", "the control")
    end(first)
    tap.equal(refusal("new", timeout_ms=400)["code"], "too_many_requests", "the other one lives in it")
    end(second)
    end(begin())


def named(name):
    """How many processes of that name live on this machine; dead ones may wait for their parent."""
    count = 0
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            before, _, after = path.read_text().rpartition(") ")
        except OSError:
            continue
        count += before.partition("(")[2] == name and after[0] != "Z"
    return count


def test_processes_of_a_session_that_has_ended_are_gone():
    """Also while nobody calls another one of its sandbox."""
    use()
    name = f"fork-{os.getpid()}"
    first = begin(f"import ctypes\nctypes.CDLL(None).prctl(15, b'{name}')")
    cell("x = 1", first)
    tap.equal(named(name), 2, "its interpreter, and the checkpoint of the second cell")
    second = fork(first, "x = 2")
    tap.equal(named(name), 4, "and those of the copy")
    operator_ends(first)
    tap.eventually(lambda: named(name) == 2, "those of the one that slept are gone")
    third = fork(second, "x = 3")
    tap.equal(named(name), 4)
    end(third)
    tap.eventually(lambda: named(name) == 2, "those of the one that ran are gone")
    tap.equal(printed("print(x)", second), "2\n")
    end(second)
    tap.eventually(lambda: named(name) == 0, "all are gone")


def test_a_turn_behind_the_stop_of_an_idle_sandbox():
    """All processes were stopped then. What matters is the time itself; a turn that comes earlier passes as well."""
    use()
    first = begin("x = 1")
    second = fork(first, "import threading, time\nx = 2")
    time.sleep(1.5)
    tap.equal((printed("print(x)", first), printed("print(x)", second)), ("1\n", "2\n"))
    time.sleep(1.5)
    third = fork(first, "x = 3")
    tap.equal([printed("print(x)", session) for session in (first, second, third)], ["1\n", "2\n", "3\n"])


def test_two_calls_at_once():
    use()
    first = begin("x = 1")
    second = fork(first, "x = 2")
    waiting = Waiting("print(x)", second)
    for session, more in ((first, {}), (first, {"session_action": "fork"}), (second, {})):
        error = refusal(session, **more)
        tap.equal((error["code"], error["retry_after_ms"] > 0), ("session_busy", True), error)
    tap.equal(waiting.result()["stdout"], "2\n")
    tap.equal(printed("print(x)", first), "1\n")


def test_an_operator_ends_one_while_the_other_is_busy():
    use()
    first = begin("x = 1")
    second = fork(first, "x = 2")
    waiting = Waiting("print(x)", second)
    operator_ends(first)
    tap.equal(waiting.result()["stdout"], "2\n", "its own call goes on")
    lost(first, "ended_by_operator")
    tap.equal((printed("print(x)", second), provider.counters()["sessions"]), ("2\n", 1))


def test_each_counts_for_the_limits():
    use(sessions={"max_per_principal": 2})
    name = f"limit-{os.getpid()}"
    first = begin(f"import ctypes\nctypes.CDLL(None).prctl(15, b'{name}')\nx = 1")
    second = fork(first, "x = 2")
    tap.equal(provider.counters()["sessions"], 2)
    error = refusal(first, session_action="fork")
    tap.equal(error["code"], "too_many_requests", error)
    tap.eventually(lambda: named(name) == 3, "both sleep, and a checkpoint of the second one")
    tap.equal((printed("print(x)", first), printed("print(x)", second)), ("1\n", "2\n"), "the refused fork has changed nothing")
    third = begin("x = 3")
    lost(first, "evicted")
    tap.equal((printed("print(x)", second), printed("print(x)", third)), ("2\n", "3\n"))
    use()
    sessions = [begin()]
    tap.equal([call("\n", sessions[0], session_action="fork")[1]["status"] for _ in range(7)], ["completed"] * 7)
    use(sessions={"max_total": 20, "max_per_principal": 20})
    first = begin()
    for _ in range(7):
        fork(first)
    error = refusal(first, session_action="fork")
    tap.equal(error["code"], "checkpoint_unavailable", error)
    tap.contains(error["message"], "eight")


def chain(words):
    history = ""
    for word in words:
        history = hashlib.sha256((history + word).encode()).hexdigest()
    return history


def test_an_approver_sees_the_history_of_the_session_and_that_it_was_forked():
    use()
    seen = []

    def approve(_token, request, verdict):
        seen.append(json.loads(request))
        verdict[0] = ALLOW
    watched = host(request_approval=approve)
    ran = [cell("x = 1")]
    first = ran[0]["session"]["id"]
    ran.append(call("x += 1", first, session_action="fork", to=watched)[1])
    second = ran[1]["session"]["id"]
    ran.append(call("x += 10", first, to=watched)[1])
    ran.append(call("x += 100", second, to=watched)[1])
    shas = [result["approval"]["request_sha256"] for result in ran]
    histories = [request["session_history"] for request in seen]
    tap.equal([(history["id"], history["count"]) for history in histories], [(first, 1), (first, 1), (second, 2)])
    tap.equal([history["history_sha256"] for history in histories], [chain(shas[:1]), chain(shas[:1]), chain([shas[0], "forked", shas[1]])])
    tap.equal([cell["first_line"] for cell in histories[2]["cells"]], ["x = 1", "x += 1"])
    tap.equal([history["shares_sandbox_with"] for history in histories], [0, 1, 1])
    tap.equal(seen[0]["session_action"], "fork")
    call("\n", second, session_action="undo")
    call("pass", first, to=watched)
    tap.equal([cell["undone"] for cell in seen[-1]["session_history"]["cells"]], [False, False], "what the other one undoes is its own")
    denied = call("x", first, session_action="fork", to=host(request_approval=lambda *_: None))[1]
    tap.equal((denied["error"]["code"], provider.counters()["sessions"]), ("approval_denied", 2), denied)


def test_an_approval_holds_for_the_neighbours_that_the_approver_was_told_of():
    """The same cell of the same history, asked about and pending: it runs behind a fork only with an answer of its own."""
    use()
    asked, answer = [], []

    def approve(token, request, verdict):
        asked.append((token, json.loads(request)))
        verdict[0] = answer[0]
    watched = host(request_approval=approve)
    first = begin("x = 1")
    answer[:] = [PENDING]
    for neighbours in (0, 1):
        pending = refusal(first, "print(x)", to=watched)
        tap.equal((pending["code"], asked[-1][1]["session_history"]["shares_sandbox_with"]), ("approval_pending", neighbours), pending)
        if neighbours == 0:
            tap.equal(provider.reply(asked[0][0], {"decision": "allow_once"}), ACCEPTED)
            copy = fork(first)
    end(copy)
    tap.equal(call("print(x)", first, to=watched)[1]["stdout"], "1\n", "as it was asked about: without a further question")
    tap.equal(len({request["request_sha256"] for _, request in asked}), 2, "two hashes")


def test_a_turn_comes_only_behind_the_approval():
    use()
    first = begin("x = 1")
    second = fork(first, "import threading\nx = 2\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()")
    denied = call("x", first, to=host(request_approval=lambda *_: None))[1]
    tap.equal(denied["error"]["code"], "approval_denied", denied)
    tap.equal(printed("print(x, thread.is_alive())\nstop.set(); thread.join()", second), "2 True\n")


def test_the_audit_has_where_it_comes_from():
    use()
    first = begin()
    audited = host()
    result = call("x", first, session_action="fork", to=audited)[1]["session"]
    tap.equal([(record["event"], record["cell"]["session"], record["cell"]["forked_from"]) for record in audited.records],
              [("start", first, None), ("end", result["id"], first)])


tap.run(globals())
