# SPDX-License-Identifier: Apache-2.0
"""Cells of sessions in whole calls: what one leaves for the next, whose a session is, how it ends, and what an approver is told."""
import hashlib
import json
import os
import pathlib
import select
import signal
import stat
import sys
import threading
import time

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
FAULTS = pathlib.Path(__file__).parents[2] / "faults"
sys.path[:0] = [str(SUPPORT), str(FAULTS)]
import common
import modes
import tap
from modes import Provider, adopt_orphans, gateway, merged
from provider import ACCEPTED, ALLOW, FAILED, INVALID, NOT_RUN, OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files", "sandbox.exec.secrets")
SESSIONS = {"max_total": 8, "max_per_principal": 8, "max_cells": 100, "idle_ms": 600000, "age_ms": 3600000}
AMPLE_MS = 120000  # for cells that are not about time
FOREVER = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.02)\n"
HEEDLESS = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\nwhile True: pass"
adopt_orphans()
provider = Provider()
call_ids = iter(range(1000, 100000))


def policy(sessions=None, **more):
    return merged({"sessions": {**SESSIONS, **(sessions or {})}, "limits": {"wall_ms": {"default": AMPLE_MS}, "cpu_ms": {"default": 300000}}}, more)


def use(sessions=None, **more):
    provider.reset()
    tap.equal(provider.use_policy(policy(sessions, **more)), OK)


def caller(principal="ann", rights=RIGHTS, **more):
    """In one session of its agent, which an answer may hold for."""
    return Host(rights, context={"principal": principal, "session": "of-the-agent"} if principal is not None else None, **more)


def call(code, session="new", principal="ann", host=None, **more):
    """The return code and the result."""
    request = {"language": "python", "code": code, **more}
    if session is not None:
        request["session"] = session
    return provider.invoke(request, host or caller(principal))


def cell(code, session="new", principal="ann", status="completed", error=None, **more):
    """The result of a cell that runs, and leaves its session."""
    result = call(code, session, principal, **more)[1]
    tap.equal((result["status"], result["error"] and result["error"]["code"]), (status, error), result)
    tap.equal((result["session"]["state"], result["session"]["lost_reason"]), ("kept", None), result)
    return result


def id_of(result):
    return result["session"]["id"]


def begin(code="x = 1", principal="ann", **more):
    return id_of(cell(code, principal=principal, **more))


def printed(code, session, principal="ann", **more):
    return cell(code, session, principal, **more)["stdout"]


def refusal(code="print(1)", session="new", principal="ann", **more):
    """The error of a call that does not run."""
    returned, result = call(code, session, principal, **more)
    tap.true(returned in (NOT_RUN, FAILED) and result["error"] and result["stdout"] == "", result)
    return result["error"]


def expect_refused(error, session="new", principal="ann", **more):
    found = refusal(session=session, principal=principal, **more)
    tap.equal(found["code"], error, found)
    return found


def expect_lost(reason, session, principal="ann"):
    """Its owner hears of it once."""
    tap.contains(expect_refused("session_lost", session, principal)["message"], f"{session} is lost: {reason}")
    expect_refused("session_not_found", session, principal)


def expect_ended(result, reason):
    """With this cell, whose caller hears of it here."""
    tap.equal((result["session"]["state"], result["session"]["lost_reason"]), ("lost", reason), result)
    tap.true(any(f"the session ended with this cell ({reason})" in note for note in result["notes"]), result["notes"])
    expect_refused("session_not_found", id_of(result))


class Running:
    """A cell on a thread of its own; its output has begun."""

    def __init__(self, code=FOREVER, session="new", principal="ann", **more):
        self.call_id, self.answer = next(call_ids), None
        self.host = caller(principal, call_id=self.call_id)
        self.thread = threading.Thread(target=self.run, args=(code, session), kwargs=more)
        self.thread.start()
        tap.eventually(lambda: b"begun" in self.host.output[1] or self.answer, "the cell runs", 60)
        tap.equal(self.answer, None, "it goes on")

    def run(self, code, session, **more):
        self.answer = call(code, session, host=self.host, **more)[1]

    def join(self):
        self.thread.join(60 * tap.SLOW)
        tap.true(not self.thread.is_alive(), "the call returned")
        return self.answer

    def cancel(self):
        tap.equal(provider.cancel(self.call_id), ACCEPTED)
        return self.join()


def check_state():
    first = cell("import os\nx = 20\nos.mkdir('d'); os.chdir('d'); open('f', 'w').write('text')\nx + 1")
    session = id_of(first)
    tap.equal((first["session"]["created"], first["session"]["cells"], first["session"]["defined"]), (True, 1, ["os", "x"]))
    tap.equal(first["results"][-1]["text"], "21")
    second = cell("x += 1\ndef double(): return 2 * x\nprint(x, open('f').read(), os.getcwd())", session)
    tap.equal(modes.at_home(second["stdout"]), "21 text /home/sandbox/d\n")
    tap.equal((id_of(second), second["session"]["created"], second["session"]["cells"]), (session, False, 2))
    tap.equal((second["session"]["defined"], second["results"]), (["os", "x", "double"], []))
    tap.equal(cell("double()", session)["results"][-1]["text"], "42")
    tap.true(begin("x = 0") != session, "another session has another id")
    tap.equal(printed("print(x)", session), "21\n", "and nothing of this one")
    tap.true("session" not in call("print(1)", None)[1], "a call without one")


def test_state_lives_on():
    use()
    check_state()


def test_state_lives_on_beside_interpreters_that_wait():
    use(pools={"process": {"ready": 2, "most": 2}})
    check_state()


def test_a_cell_fails_alone():
    use()
    session = begin("def f():\n    return 1 / 0\nx = 5")
    result = cell("f()", session)
    tap.equal((result["exit_code"], result["exception"]["name"], result["exception"]["value"]), (1, "ZeroDivisionError", "division by zero"))
    tap.equal([frame["function"] for frame in result["exception"]["frames"]], ["<module>", "f"])
    tap.contains(result["stderr"], "    return 1 / 0\n")
    result = cell("import sys\nsys.exit(7)", session)
    tap.equal((result["exit_code"], result["exception"], result["cause"]), (7, None, "exit"))
    tap.equal(cell("y = (", session)["exception"]["name"], "SyntaxError")
    result = cell("print(x)", session)
    tap.equal((result["stdout"], result["stderr"], result["exception"], result["exit_code"]), ("5\n", "", None, 0))


def test_a_value_is_let_go_of_within_its_cell():
    use()
    first = cell("class Thing:\n    def __del__(self): print('gone')\n    def __repr__(self): return 'a thing'")["session"]["id"]
    for code in ("Thing()", "str(); Thing()"):
        result = cell(code, first)
        tap.equal((result["stdout"], [row["text"] for row in result["results"]]), ("gone\n", ["a thing"]), result)
        result = cell("print('next')", first)
        tap.equal(result["stdout"], "next\n", result)


def test_what_watches_calls_sees_the_cell_of_any_program():
    use()
    first = cell("import sys\nseen, x = [], 1\ndef watch(frame, event, value):\n"
                 "    if 'cell-' in frame.f_code.co_filename: seen.append((event, value))\n    return watch\n"
                 "sys.settrace(watch)")["session"]["id"]
    tap.equal(cell("x + 1", first)["results"][0]["text"], "2")
    told = cell("sys.settrace(None)\nprint(seen[:3])", first)["stdout"]
    tap.equal(told, "[('call', None), ('line', None), ('return', None)]\n")


def test_input_arguments_and_variables_are_the_cells():
    use()
    session = begin("import os, sys\nprint(sys.stdin.read())", stdin="one")
    tap.equal(printed("print(sys.stdin.read(), sys.argv[1:], os.environ['KEY'])", session, stdin="two", args=["a", "b c"], env={"KEY": "value"}),
              "two ['a', 'b c'] value\n")
    tap.equal(printed("print(repr(sys.stdin.read()), sys.argv[1:], os.environ.get('KEY'))", session), "'' [] None\n")


def test_a_variable_in_the_place_of_the_policys():
    use(environment={"TZ": "UTC"})
    zone = "import os\nprint(os.environ['TZ'])"
    first = cell(zone, env={"TZ": "Asia/Tokyo"})
    tap.equal(first["stdout"], "Asia/Tokyo\n")
    tap.equal(printed(zone, id_of(first)), "UTC\n")
    tap.equal(printed(zone, id_of(first), env={"TZ": "Europe/Rome"}), "Europe/Rome\n")


def test_output_by_its_name():
    """The pipes of a cell are not the supervisor's to give to the program's user."""
    use()
    session = begin("open('/dev/stdout', 'w').write('begin')")
    tap.equal(printed("print(open('/dev/stderr', 'w').write('err'), open('/dev/stdout', 'w').write('out'), flush=True)", session), "out3 3\n")


def test_files_of_a_request_come_into_the_working_directory():
    use()
    session = begin("import os\nhome = os.getcwd()\nprint(open('a').read())", files=[{"path": "a", "content": "first"}])
    cell("os.mkdir('d'); os.chdir('d')", session)
    tap.equal(printed("print(open(f'{home}/a').read(), open(f'{home}/b/c').read())", session, files=[{"path": "b/c", "content": "later"}]),
              "first later\n")
    tap.equal(printed("print(open(f'{home}/a').read())", session, files=[{"path": "a", "content": "again"}]), "again\n")


def test_awaiting_at_the_top_level():
    use()
    session = begin("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7")
    tap.equal(cell("y = await f()\ny", session)["results"][-1]["text"], "7")
    tap.equal(printed("print(y + await f())", session), "14\n")


def test_without_a_policy_there_are_none():
    use({"max_total": 0})
    expect_refused("not_supported")
    tap.equal(call("print(1)", None)[1]["stdout"], "1\n", "the control")


def test_without_the_capability_there_are_none():
    use()
    without = tuple(right for right in RIGHTS if right != "sandbox.exec.session")
    expect_refused("access_denied", host=caller(rights=without))
    session = begin()
    expect_refused("access_denied", session, host=caller(rights=without))
    tap.equal(printed("print(x)", session), "1\n", "the session is unhurt")
    tap.equal(call("print(1)", None, host=caller(rights=without))[1]["stdout"], "1\n", "the control")
    use(capabilities=list(without))
    expect_refused("access_denied")
    tap.equal(call("print(1)", None)[1]["stdout"], "1\n", "the control")


def test_without_the_capability_nothing_is_heard_of_a_loss():
    use()
    without = caller(rights=tuple(right for right in RIGHTS if right != "sandbox.exec.session"))
    session = begin()
    tap.equal(provider.use_policy(policy(max_runs=3)), OK)
    expect_refused("access_denied", session, host=without)
    expect_lost("policy_changed", session)


def test_a_caller_with_less_does_not_get_more():
    use()
    session = begin()
    less = Host(RIGHTS, context={"principal": "ann", "policy": {"limits": {"memory_bytes": 64 << 20}}})
    tap.contains(expect_refused("limit_too_high", session, host=less)["message"], "memory_bytes")
    tap.equal(printed("print(x)", session), "1\n", "the session is unhurt")
    own = id_of(call("x = 2", host=less)[1])
    tap.equal(call("print(x)", own, host=less)[1]["stdout"], "2\n", "the control")


def test_a_session_is_its_principals():
    use()
    session = begin("secret = 'mine'")
    for other in ("bob", "", None):
        tap.equal(expect_refused("session_not_found", session, other)["message"], f"there is no session {session}")
    tap.equal(printed("print(secret)", session), "mine\n", "the owner's is unhurt")
    nobodys = begin("secret = 'of no principal'", principal=None)
    for other in ("ann", ""):
        expect_refused("session_not_found", nobodys, other)
    tap.equal(printed("print(secret)", nobodys, None), "of no principal\n")
    for unknown in ("s_" + "0" * 32, session[:-1], session + "0", "a"):
        expect_refused("session_not_found", unknown)


def test_many_long_names():
    """What a session says it has is cut before it is too long to be said at all: else its cells would not end."""
    use()
    for letter in ("a", "\u00e9", "\u6f22", "\U00020000"):
        session = begin(f"for i in range(300): globals()[{letter!r} * 96 + f'{{i:04}}'] = i")
        result = cell("kept = 1", session)
        defined = result["session"]["defined"]
        tap.equal((len(defined), defined[-1]), (200, "kept"))
        tap.true(all(96 < len(name.encode()) <= 100 for name in defined[:-1]), defined)
    for name in ("'\\x01' * 100 + str(i)", "'\\udc80' * 90 + str(i)", "' ' + str(i)", "i"):
        session = begin(f"for i in range(300): globals()[{name}] = i")
        tap.equal(cell("kept = 1", session)["session"]["defined"], ["i", "kept"], "no name that code could not have")


def test_its_caller_ends_it():
    use({"max_per_principal": 1})
    session = begin()
    tap.equal(cell("x", session, session_action="keep")["session"]["state"], "kept")
    last = call("x += 1\nx", session, session_action="end")[1]
    tap.equal((last["results"][-1]["text"], last["session"]["state"], last["session"]["lost_reason"]), ("2", "ended", "ended"), last)
    expect_refused("session_not_found", session)
    only = call("1", session_action="end")[1]
    tap.equal((only["session"]["created"], only["session"]["state"]), (True, "ended"))
    tap.contains(expect_refused("invalid_input", session, session_action="pause")["message"], "/session_action")
    tap.contains(refusal(session=None, session_action="end")["message"], "/session_action")


def test_what_has_no_sessions():
    use()
    session = begin()
    for language in ("typescript", "perl"):
        error = provider.invoke({"language": language, "code": "1", "session": "new"}, caller())[1]["error"]
        tap.equal(error["code"], "not_supported", error)
    tap.equal(printed("print(x)", session), "1\n")


def test_mode_none_has_no_sessions():
    provider.reset()
    none = policy(modes={"default": "none", "allowed": ["none"]}, capabilities=[*RIGHTS, "sandbox.exec.mode.none"])
    tap.equal(provider.use_policy(none), OK)
    host = caller(rights=(*RIGHTS, "sandbox.exec.mode.none"))
    error = expect_refused("not_supported", host=host)
    tap.contains(error["message"], "mode none has no sessions")
    tap.contains(error["hint"], "which has them")
    tap.equal(call("print(1)", None, host=host)[1]["stdout"], "1\n", "the control")


def test_another_shape_is_another_session():
    use(network={"allowed": True})
    session = begin()
    host = caller(rights=(*RIGHTS, "sandbox.exec.network"))
    expect_refused("invalid_input", session, host=host, network=True)
    tap.equal(printed("print(x)", session), "1\n")


def test_its_memory_is_that_of_its_first_cell():
    use()
    session = begin(memory_bytes=64 << 20)
    approver = Approver("allow_once")
    result = approver("x", session)
    tap.equal((result["limits"]["memory_bytes"], approver.asked[0]["limits"]["memory_bytes"]), (64 << 20, 64 << 20))
    tap.equal(cell("x", session, memory_bytes=64 << 20)["limits"]["memory_bytes"], 64 << 20)
    tap.contains(expect_refused("invalid_input", session, memory_bytes=32 << 20)["message"], "another memory_bytes")


def editing(**arguments):
    """A request_approval that lets something else run."""
    def approve(token, _request, _verdict):
        tap.equal(provider.reply(token, {"decision": "edit", "arguments": {"language": "python", **arguments}}), ACCEPTED)
    return approve


def test_an_approver_changes_a_cell():
    """What an approver makes of a cell has to fit its session too: it would have the network that its editor has taken from it."""
    use(network={"allowed": True})
    rights = (*RIGHTS, "sandbox.exec.network")
    session = id_of(call("x = 'networked'", host=caller(rights=rights), network=True)[1])
    other = begin("x = 'other'")

    def edited(**arguments):
        host = caller(rights=rights, request_approval=editing(code="print(globals().get('x'))", **arguments))
        return call("print('as sent')", session, host=host, network=True)[1]
    result = edited(session=session)
    tap.equal((result["error"]["code"], result["stdout"]), ("invalid_input", ""), result)
    for arguments, wanted in (({"session": session, "network": True}, "networked\n"), ({"session": other}, "other\n"), ({"session": "new"}, "None\n"), ({}, "None\n")):
        result = edited(**arguments)
        tap.equal((result["stdout"], result["error"]), (wanted, None), result)
        tap.equal(result.get("session", {}).get("id") in (session, other), arguments.get("session") in (session, other), "whose cell it was")
    result = cell("print(x)", other)
    tap.equal((result["stdout"], result["session"]["cells"]), ("other\n", 3))


def test_one_cell_at_a_time():
    use()
    session = begin()
    running = Running(f"try:\n    {FOREVER.replace(chr(10), chr(10) + '    ')}\nexcept KeyboardInterrupt:\n    x += 1\n    print('went on')", session)
    error = expect_refused("session_busy", session)
    tap.true(error["retryable"] and error["retry_after_ms"] > 0, error)
    expect_refused("session_not_found", session, "bob")
    tap.equal(cell("print(1)")["stdout"], "1\n", "another session is free")
    tap.equal(running.cancel()["stdout"], "begun\nwent on\n")
    tap.equal(printed("print(x)", session), "2\n")


def test_a_cell_that_waits_for_its_approver_has_its_session():
    use()
    session, asked, answer, results = begin(), threading.Event(), threading.Event(), []

    def approve(_token, _request, verdict):
        asked.set()
        answer.wait(60)
        verdict[0] = ALLOW
    thread = threading.Thread(target=lambda: results.append(call("x += 1\nprint(x)", session, host=caller(request_approval=approve))[1]))
    thread.start()
    tap.true(asked.wait(60), "the approver is asked")
    tap.equal(refusal(session=session)["code"], "session_busy")
    answer.set()
    thread.join()
    tap.equal((results[0]["stdout"], results[0]["status"]), ("2\n", "completed"), results)
    denied = call("x = 0", session, host=caller(request_approval=lambda *_: None))[1]
    tap.equal(denied["error"]["code"], "approval_denied")
    tap.equal(printed("print(x)", session), "2\n", "a cell that was denied gives it back")


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
    """The interpreter may end before its backend has read that there is a cell."""
    use()
    for status in range(40):
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


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Approver:
    """A host that answers through tool_reply_approval, and keeps what it was asked."""

    def __init__(self, decision, principal="ann", reply=ACCEPTED):
        self.decision, self.reply = decision, reply
        self.host = caller(principal, request_approval=self.ask)
        self.asked = []

    def ask(self, token, request, _verdict):
        self.asked.append(json.loads(request))
        tap.equal(provider.reply(token, {"decision": self.decision}), self.reply)

    def __call__(self, code, session="new", **more):
        return call(code, session, host=self.host, **more)[1]


def test_an_approver_sees_the_history():
    use()
    approver = Approver("allow_once")
    code = "\n\ndef f():\n    return 1"
    session = id_of(approver(code))
    approver("f()\n1 / 0", session)
    approver("f()", session)
    approver("f()")
    empty, one, two, fresh = (asked["session_history"] for asked in approver.asked)
    tap.equal(empty, {"id": "new", "cells": [], "count": 0, "history_sha256": None, "secrets": {}, "shares_sandbox_with": 0})
    tap.equal(fresh, empty)
    first = {"language": "python", "code_sha256": sha256(code), "first_line": "def f():", "exit_code": 0, "defined": ["f"], "undone": False}
    hashes = [asked["request_sha256"] for asked in approver.asked]
    tap.equal(one, {"id": session, "cells": [first], "count": 1, "history_sha256": sha256(hashes[0]), "secrets": {}, "shares_sandbox_with": 0})
    second = {"language": "python", "code_sha256": sha256("f()\n1 / 0"), "first_line": "f()", "exit_code": 1, "defined": ["f"], "undone": False}
    tap.equal(two, {"id": session, "cells": [first, second], "count": 2, "history_sha256": sha256(sha256(hashes[0]) + hashes[1]), "secrets": {},
                    "shares_sandbox_with": 0})
    standing = {"allow_session", "allow_always"}
    tap.equal([standing & set(asked["allowed_decisions"]) for asked in approver.asked], [standing, set(), set(), standing])
    approver("f()", None)
    tap.lacks(approver.asked[-1], "session_history")


def test_an_approver_sees_the_last_of_very_many_cells():
    use({"max_cells": 1000})
    approver = Approver("allow_once")
    session = id_of(approver("x = 0"))
    for number in range(1, 103):
        approver(f"x = {number}", session)
    history = approver.asked[-1]["session_history"]
    tap.equal((history["count"], [row["first_line"] for row in history["cells"]]), (102, [f"x = {number}" for number in range(2, 102)]))


def test_the_same_code_has_another_hash_with_another_history():
    use()
    approver = Approver("allow_once")
    approver("f()", None)
    approver("f()")
    for first in ("def f(): return 1", "def f(): return 2"):
        session = id_of(approver(first))
        approver("f()", session)
        approver("f()", session)
    hashes = [asked["request_sha256"] for asked in approver.asked if asked["code"] == "f()"]
    tap.equal(len(set(hashes)), 6, hashes)


HARMLESS = "report = globals().get('summarise')\nprint(report() if report else 'harmless')\n"
TRAP = "def summarise():\n    open('damage', 'w').write('x')\n    return 'bad'\n"


def answers(decision, code, session, **more):
    approver = Approver(decision)
    result = approver(code, session, **more)
    return len(approver.asked), result


def expect_no_way_for(code):
    """Code that a caller may run unasked is asked about where a cell before it has laid a trap; the control shows that the trap works."""
    for session in (None, "new"):
        asked, result = answers("deny", code, session)
        tap.equal((asked, result["stdout"]), (0, "harmless\n"), f"the control: {result}")
    asked, result = answers("allow_once", TRAP, "new")
    tap.equal(asked, 1, result)
    session = id_of(result)
    asked, result = answers("deny", code, session)
    tap.equal((asked, result["error"] and result["error"]["code"], result["stdout"]), (1, "approval_denied", ""), result)
    tap.equal(answers("allow_once", "import os\nprint(os.path.exists('damage'))", session)[1]["stdout"], "False\n")
    asked, result = answers("allow_once", code, session)
    tap.equal((asked, result["stdout"]), (1, "bad\n"), "the trap works, and no answer of before holds")
    tap.equal(answers("deny", code, session)[0], 1, "nor does that one")


def test_a_rule_by_code_does_not_allow_what_an_earlier_cell_has_defined():
    rule = {"id": "vetted", "decision": "allow", "languages": ["python"], "code_sha256": [sha256(HARMLESS)]}
    use(approval={"rules": [rule]})
    expect_no_way_for(HARMLESS)


def test_a_standing_answer_does_not_allow_what_an_earlier_cell_has_defined():
    use()
    for session in (None, "new"):
        asked, result = answers("allow_session", HARMLESS, session)
        tap.equal((asked, result["stdout"]), (1, "harmless\n"), result)
    expect_no_way_for(HARMLESS)


def test_no_answer_for_a_cell_with_a_history_is_a_standing_one():
    """The host that remembers allow_always does so by the hash, which is another one; and it is not accepted here."""
    use()
    session = begin(TRAP)
    for decision in ("allow_session", "allow_always"):
        approver = Approver(decision, reply=INVALID)
        result = approver(HARMLESS, session)
        tap.equal((len(approver.asked), result["error"]["code"], result["stdout"]), (1, "approval_denied", ""), result)
        tap.contains(result["error"]["message"], "does not accept this decision")
    tap.equal(answers("allow_once", HARMLESS, session)[1]["stdout"], "bad\n", "the control")


def test_a_rule_by_request_does_not_either():
    use()
    approver = Approver("allow_once")
    for session in (None, "new"):
        approver(HARMLESS, session)
    session = id_of(approver(TRAP))
    approver(HARMLESS, session)
    fresh = [asked["request_sha256"] for asked in approver.asked[:2]]
    use(approval={"rules": [{"decision": "allow", "request_sha256": fresh}]})
    expect_no_way_for(HARMLESS)


def test_a_rule_that_denies_by_code_denies_cells_too():
    use(approval={"rules": [{"decision": "deny", "code_sha256": [sha256(HARMLESS)]}]})
    session = begin()
    tap.equal(refusal(HARMLESS, session)["code"], "policy_denied")
    tap.equal(refusal(HARMLESS)["code"], "policy_denied")
    tap.equal(printed("print(x)", session), "1\n")


def test_every_cell_is_audited():
    use()
    host = caller()
    session = id_of(call("x = 1", host=host)[1])
    call("print(x)", session, host=host)
    call("import os\nos._exit(1)", session, host=host)
    call("print(x)", session, host=host)
    tap.equal([record["event"] for record in host.records], ["start", "end", "start", "end", "start", "end", "refused"])
    told = [(record["cell"]["session"], record["cell"]["cells"], record["cell"]["lost_reason"]) for record in host.records]
    tap.equal(told, [("new", 0, None), (session, 1, None), (session, 1, None), (session, 2, None), (session, 2, None), (session, 3, "exited"),
                     (session, 0, None)])
    tap.equal(host.records[-1]["error"], "session_not_found")
    hashes = [record["request_sha256"] for record in host.records[:-1]]
    tap.equal(hashes[0::2], hashes[1::2])
    tap.equal([record["code_sha256"] for record in host.records[0:4:2]], [sha256("x = 1"), sha256("print(x)")])


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_sessions_leave_no_descriptors():
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
    "state_lives_on", "a_cell_fails_alone", "a_value_is_let_go_of_within_its_cell", "what_watches_calls_sees_the_cell_of_any_program",
    "input_arguments_and_variables_are_the_cells", "a_variable_in_the_place_of_the_policys",
    "output_by_its_name", "files_of_a_request_come_into_the_working_directory", "awaiting_at_the_top_level", "many_long_names",
    "its_caller_ends_it", "the_end_of_its_time_interrupts_a_cell", "each_interruption_is_told_with_its_cell",
    "a_cell_that_does_not_heed_it_loses_its_session", "cancelling_a_cell", "too_much_output_interrupts_a_cell", "too_much_memory_ends_it",
    "an_interpreter_that_ends_itself", "an_interpreter_that_crashes", "the_reason_is_told_however_early_it_ends",
    "a_backend_that_is_killed_between_two_cells", "an_idle_session_expires", "an_old_session_expires", "another_policy_ends_it",
    "a_session_has_so_many_cells", "late_output_is_not_the_next_cells", "late_output_between_two_cells", "every_cell_is_audited",
    "sessions_leave_no_descriptors", "a_child_of_the_gateway_ends_none")
# Without namespaces the init stops, interrupts and counts otherwise, and the home is elsewhere. The long form runs all but the one that needs a
# network.
WITHOUT_NAMESPACES = (
    "state_lives_on", "output_by_its_name", "files_of_a_request_come_into_the_working_directory", "its_caller_ends_it",
    "the_end_of_its_time_interrupts_a_cell", "cancelling_a_cell", "too_much_memory_ends_it", "an_interpreter_that_ends_itself",
    "an_interpreter_that_crashes", "an_idle_session_expires", "another_policy_ends_it", "late_output_between_two_cells")
modes.run_cases(globals(), OF_BACKENDS, WITHOUT_NAMESPACES, ("an_approver_changes_a_cell",))
