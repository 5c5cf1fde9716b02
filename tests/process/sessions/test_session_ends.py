# SPDX-License-Identifier: Apache-2.0
"""How cells and sessions end: by a limit, an interruption, a crash, time, their number, their policy or their gateway; and what is left then."""
import os
import pathlib
import select
import signal
import stat
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import common
import modes
import tap
from modes import gateway
from provider import ALLOW, OK
from session_cells import (
    FOREVER, RIGHTS, Running, begin, call, caller, cell, expect_lost, expect_refused, id_of, policy, printed, provider, refusal, use)

HEEDLESS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\nwhile True: pass"


def expect_ended(result, reason):
    """With this cell, whose caller hears of it here."""
    tap.equal((result["session"]["state"], result["session"]["lost_reason"]), ("lost", reason), result)
    tap.true(any(f"the session ended with this cell ({reason})" in note for note in result["notes"]), result["notes"])
    expect_refused("session_not_found", id_of(result))


def test_the_end_of_its_time_interrupts_a_cell():
    use()
    session = begin("x = 1")
    result = cell(FOREVER, session, status="timeout", error="timeout", timeout_ms=1000)
    tap.equal((result["timed_out"], result["cause"], result["exit_code"]), (True, "wall_timeout", None), result)
    tap.true("the cell was interrupted; the session keeps its state" in result["notes"], result["notes"])
    tap.equal(printed("print(x)", session), "1\n")


def test_each_interruption_is_told_with_its_cell():
    """The end of the cell comes at once behind the word of its interruption, by another way."""
    use({"max_cells": 1000})
    session = begin("import time")
    for _ in range(40):
        cell("while True: time.sleep(0.001)", session, status="timeout", error="timeout", timeout_ms=30)


def test_a_cell_that_does_not_heed_it_loses_its_session():
    use()
    session = begin()
    result = call(HEEDLESS, session, timeout_ms=1000)[1]
    tap.equal((result["status"], result["timed_out"]), ("timeout", True), result)
    expect_ended(result, "timeout")


def test_cancelling_a_cell():
    use()
    session = begin()
    result = Running(session=session).cancel()
    tap.equal((result["status"], result["stdout"], result["session"]["state"]), ("cancelled", "begun\n", "kept"), result)
    tap.equal(printed("print(x)", session), "1\n")
    result = Running(HEEDLESS, session).cancel()
    tap.equal(result["status"], "cancelled", result)
    expect_ended(result, "cancelled")


def test_too_much_output_interrupts_a_cell():
    use(limits={"output_total_bytes": {"default": 1 << 20}})
    session = begin()
    result = cell("while True: print('x' * 1000)", session, status="killed", error="output_limit")
    tap.equal((result["cause"], result["truncated"]["stdout"]), ("output_limit", True), result)
    tap.equal(printed("print(x)", session), "1\n")


def test_too_much_memory_ends_it():
    use()
    session = begin(memory_bytes=64 << 20)
    result = call("x = bytearray(1 << 30)", session)[1]
    if result["exception"] and result["exception"]["name"] == "MemoryError":
        raise tap.Skip("no control group counts memory here")
    tap.equal((result["status"], result["cause"], result["error"]["code"]), ("killed", "memory_limit", "memory_limit"), result)
    expect_ended(result, "memory")


def test_an_interpreter_that_ends_itself():
    use()
    result = call("import os\nos._exit(3)", begin())[1]
    tap.equal(result["exit_code"], 3, result)
    expect_ended(result, "exited")
    expect_ended(call("import os\nos._exit(0)")[1], "exited")


def test_an_interpreter_that_crashes():
    use()
    expect_ended(call("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", begin())[1], "crashed")


def test_the_reason_is_told_however_early_it_ends():
    """The interpreter may end before its backend has read that there is a cell. In docker mode each takes a container."""
    use()
    for status in range(40 if modes.MODE != "docker" or modes.LONG else 10):
        result = call(f"import os\nos._exit({status})", begin())[1]
        tap.equal((result["cause"], result["exit_code"], result["session"]["lost_reason"], result["error"]), ("exit", status, "exited", None))


def has_ended(pid):
    """A process that nobody has waited for stays, as a zombie, but has closed all that it had open."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def test_a_backend_that_is_killed_between_two_cells():
    use()
    sessions = [begin(), begin()]
    [supervisor] = common.supervisors_of(os.getpid())
    os.kill(supervisor, signal.SIGKILL)
    tap.eventually(lambda: has_ended(supervisor), "it has closed its sockets")
    for session in sessions:
        expect_lost("crashed", session)
    tap.equal(printed("print(x)", begin()), "1\n", "the next backend has sessions")


def test_an_idle_session_expires():
    use({"idle_ms": 1000})
    session = begin()
    error = None

    def has_expired():
        nonlocal error
        time.sleep(3)  # each cell that still runs begins its idle time again
        error = call("print(1)", session)[1]["error"]
        return error is not None
    tap.eventually(has_expired, "it expires", 60)
    tap.equal((error["code"], error["message"]), ("session_lost", f"the session {session} is lost: expired"))
    expect_refused("session_not_found", session)


def test_a_cell_that_closes_the_stream_of_its_end_is_ended():
    use({"checkpoints": 0})
    result = call("import os\nos.close(63)", begin())[1]
    tap.equal((result["error"]["code"], result["cause"], result["signal"]), ("killed_by_signal", "signal", "SIGKILL"), result)
    expect_ended(result, "crashed")


def sockets():
    return {fd for fd in map(int, os.listdir("/proc/self/fd")) if os.path.exists(f"/proc/self/fd/{fd}") and stat.S_ISSOCK(os.fstat(fd).st_mode)}


def are_hung_up(fds):
    poller = select.poll()
    for fd in fds:
        poller.register(fd, 0)
    return len([1 for _, events in poller.poll(0) if events & select.POLLHUP]) == len(fds)


def test_a_session_that_expires_while_its_cell_waits_for_approval():
    use({"idle_ms": 1000})
    call("1", None)  # the backend is there
    others = sockets()
    session = begin()
    own = sockets() - others

    def wait_for_end(verdict):
        tap.eventually(lambda: are_hung_up(own), "the backend has said that it ended", 60)
        verdict[0] = ALLOW
    host = caller(request_approval=lambda _token, _request, verdict: wait_for_end(verdict))
    result = call("print(x)", session, host=host)[1]
    tap.equal((result["error"]["code"], result["stdout"]), ("session_lost", ""), result)
    tap.contains(result["error"]["message"], "expired")
    tap.equal((result["session"]["lost_reason"], result["session"]["cells"]), ("expired", 1), result)
    expect_refused("session_not_found", session)


def test_an_old_session_expires():
    use({"age_ms": 1000})
    session = begin()
    time.sleep(1.5)  # the owner's next cell would come too late, whenever it comes
    tap.eventually(lambda: call("print(1)", session)[1]["error"], "it expires", 60)
    expect_refused("session_not_found", session)


def test_another_policy_ends_it():
    use()
    session = begin()
    tap.equal(provider.use_policy(policy()), OK)
    tap.equal(printed("print(x)", session), "1\n", "the same policy read again is no other")
    tap.equal(provider.use_policy(policy(limits={"processes": {"default": 32}})), OK)
    expect_lost("policy_changed", session)


def test_a_session_has_so_many_cells():
    use({"max_cells": 2})
    session = begin()
    tap.equal(cell("x", session)["session"]["cells"], 2)
    expect_lost("expired", session)


def test_a_principal_has_so_many_sessions():
    use({"max_per_principal": 2})
    first, second, others = begin("x = 'first'"), begin("x = 'second'"), begin("x = 'other'", "bob")
    cell("1", first)
    third = begin("x = 'third'")
    expect_lost("evicted", second)
    tap.equal([printed("print(x)", session) for session in (first, third)], ["first\n", "third\n"])
    tap.equal(printed("print(x)", others, "bob"), "other\n", "another principal's is unhurt")


def test_all_have_so_many_sessions():
    use({"max_total": 3, "max_per_principal": 3})
    bobs = begin("x = 'bob'", "bob")
    anns = [begin("x = 'ann'"), begin("x = 'ann'")]
    cell("1", anns[0])
    carols = begin("x = 'carol'", "carol")
    tap.equal(printed("print(x)", bobs, "bob"), "bob\n", "the oldest, but its principal's only one")
    expect_lost("evicted", anns[1])
    tap.equal((printed("print(x)", anns[0]), printed("print(x)", carols, "carol")), ("ann\n", "carol\n"))


def test_an_idle_session_holds_its_memory():
    use(memory_total_bytes=600 << 20)
    one, two = begin(), begin(principal="bob")
    tap.equal(refusal(session=None, timeout_ms=1000)["code"], "too_many_requests")
    tap.equal(printed("print(x)", two, principal="bob"), "1\n", "a cell takes no more")
    tap.equal(call("x", one, session_action="end")[1]["session"]["state"], "ended")
    tap.equal(call("print(1)", None)[1]["stdout"], "1\n", "there is room again")


def test_busy_sessions_make_no_room():
    use({"max_total": 2, "max_per_principal": 1})
    running = [Running(), Running(principal="bob")]
    for principal in ("ann", "carol"):
        error = expect_refused("too_many_requests", principal=principal)
        tap.true(error["retryable"] and error["retry_after_ms"] > 0, error)
    for one in running:
        tap.equal(one.cancel()["session"]["state"], "kept")
    begin(principal="carol")


def test_late_output_is_not_the_next_cells():
    """The thread writes to what was its cell's, while the next one runs: only so nothing depends on time."""
    use()
    session = begin("import os, threading\nout, go = os.dup(1), threading.Event()\n"
                    "def write():\n    go.wait()\n    os.write(out, b'late')\nthread = threading.Thread(target=write)\nthread.start()")
    result = cell("go.set()\nthread.join()\nprint('second')", session)
    tap.equal((result["stdout"], result["session"]["late_stdout"], result["session"]["late_stderr"]), ("second\n", "late", ""))
    tap.equal(cell("1", session)["session"]["late_stdout"], "", "it is told once")


def test_late_output_between_two_cells():
    use()

    def is_late():
        session = begin("import os, threading, time\ndef write():\n    time.sleep(0.3)\n    os.write(1, b'late'); os.write(2, b'error')\n"
                        "threading.Thread(target=write).start()\nprint('first')")
        time.sleep(2)
        result = cell("print('second')", session)
        return (result["stdout"], result["session"]["late_stdout"], result["session"]["late_stderr"]) == ("second\n", "late", "error")
    tap.eventually(is_late, "what was written after the end of the cell is told with the next", 60)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_sessions_leave_no_descriptors():
    provider.forget()  # nothing of an earlier case is on its way out
    use({"max_per_principal": 2})
    begin()
    tap.equal(call("import os\nos._exit(0)")[1]["session"]["state"], "lost")
    before = descriptors()
    for _ in range(6):
        begin()
    begin("import os")
    [call("import os\nos._exit(0)", id_of(cell("1")))[1] for _ in range(3)]
    expect_refused("approval_denied", host=caller(request_approval=lambda *_: None))
    kept = [begin(), begin()]
    tap.true(descriptors() > before, "the control: those that live have some")
    for session in kept:
        call("import os\nos._exit(0)", session)
    ended = begin()
    call("import os\nos._exit(0)", ended)
    begin()
    tap.eventually(lambda: descriptors() == before, "as many as before")


def test_unloading_ends_them():
    use()
    before = modes.own_processes()
    sessions, traces = [begin(), begin(FOREVER.replace("while True:", "if False:"))], common.Traces()
    [supervisor] = common.supervisors_of(os.getpid())
    traces.see(supervisor)
    tree = modes.below({supervisor})
    tap.true(len(tree) > len(sessions), tree)
    provider.forget()
    tap.eventually(lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in tree if pid != supervisor), "no interpreter is left", 30)
    traces.expect_none()
    tap.true(not set(modes.own_processes()) - set(before), "nothing is left")
    tap.equal(provider.use_policy(policy()), OK)
    for session in sessions:
        expect_refused("session_not_found", session)


def test_killing_the_gateway_ends_them():
    script = (f"p = Provider(); p.use_policy({policy()!r}); h = Host({RIGHTS!r})\n"
              "r = p.invoke({'language': 'python', 'code': 'x = 1', 'session': 'new'}, h)[1]\n"
              "print(r['session']['state'], flush=True); sys.stdin.read()")
    host = gateway(script, stdin=-1)
    tap.equal(host.stdout.readline(), "kept\n")
    [supervisor] = common.supervisors_of(host.pid)
    traces = common.Traces()
    traces.see(supervisor)
    tree = modes.below({supervisor})
    tap.true(len(tree) > 1, tree)
    host.kill()
    host.wait()
    tap.eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in tree - {supervisor}), "no interpreter is left", 30)
    traces.expect_none()


def test_a_child_of_the_gateway_ends_none():
    """A gateway that forks has the sessions still, and its child has none."""
    script = (f"import os\np = Provider(); p.use_policy({policy()!r}); h = Host({RIGHTS!r})\n"
              "r = p.invoke({'language': 'python', 'code': 'x = 1', 'session': 'new'}, h)[1]\n"
              "again = {'language': 'python', 'code': 'print(x)', 'session': r['session']['id']}\n"
              "pid = os.fork()\n"
              "if pid == 0:\n"
              "    found = p.invoke(again, h)[1]['error']['code']\n"
              "    p.forget()\n"
              "    os._exit(0 if found == 'session_not_found' else 1)\n"
              "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), p.invoke(again, h)[1]['stdout'], end='', flush=True)")
    host = gateway(script)
    tap.equal(host.communicate()[0], "0 1\n")


# In docker mode too (tests/docker/meson.build) run those in which a backend does something of its own. What the gateway alone decides, such as
# owners, numbers and approvals, is the same in every mode.
OF_BACKENDS = (
    "the_end_of_its_time_interrupts_a_cell", "each_interruption_is_told_with_its_cell", "a_cell_that_does_not_heed_it_loses_its_session",
    "cancelling_a_cell", "too_much_output_interrupts_a_cell", "too_much_memory_ends_it", "an_interpreter_that_ends_itself",
    "an_interpreter_that_crashes", "the_reason_is_told_however_early_it_ends", "a_backend_that_is_killed_between_two_cells",
    "an_idle_session_expires", "an_old_session_expires", "another_policy_ends_it", "a_session_has_so_many_cells",
    "late_output_is_not_the_next_cells", "late_output_between_two_cells", "sessions_leave_no_descriptors",
    "a_child_of_the_gateway_ends_none")
# Without namespaces the init stops, interrupts and counts otherwise, and the home is elsewhere. The long form runs all but the one that needs a
# network.
WITHOUT_NAMESPACES = (
    "the_end_of_its_time_interrupts_a_cell", "cancelling_a_cell", "too_much_memory_ends_it", "an_interpreter_that_ends_itself",
    "an_interpreter_that_crashes", "an_idle_session_expires", "another_policy_ends_it", "late_output_between_two_cells")
modes.run_cases(globals(), OF_BACKENDS, WITHOUT_NAMESPACES, ())
