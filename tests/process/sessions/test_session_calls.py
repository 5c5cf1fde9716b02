# SPDX-License-Identifier: Apache-2.0
"""Cells of sessions in whole calls: what one leaves for the next, and whose a session is."""
import pathlib
import sys
import threading

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import modes
import tap
from provider import ACCEPTED, ALLOW, OK, Host
from session_cells import (
    FOREVER, RIGHTS, Approver, Running, begin, call, caller, cell, expect_lost, expect_refused, id_of, policy, printed, provider,
    refusal, use)


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
    none = policy(modes={"default": "none", "allowed": ["none"]}, capabilities=[*RIGHTS, "sandbox.exec.mode.none"])
    tap.equal(provider.begin_anew(none), OK)
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


# In docker mode too (tests/docker/meson.build) run those in which a backend does something of its own. What the gateway alone decides, such as
# owners, numbers and approvals, is the same in every mode.
OF_BACKENDS = (
    "state_lives_on", "a_cell_fails_alone", "a_value_is_let_go_of_within_its_cell", "what_watches_calls_sees_the_cell_of_any_program",
    "input_arguments_and_variables_are_the_cells", "a_variable_in_the_place_of_the_policys", "output_by_its_name",
    "files_of_a_request_come_into_the_working_directory", "awaiting_at_the_top_level", "many_long_names", "its_caller_ends_it")
# Without namespaces the init stops, interrupts and counts otherwise, and the home is elsewhere. The long form runs all but the one that needs a
# network.
WITHOUT_NAMESPACES = (
    "state_lives_on", "output_by_its_name", "files_of_a_request_come_into_the_working_directory", "its_caller_ends_it")
modes.run_cases(globals(), OF_BACKENDS, WITHOUT_NAMESPACES, ("an_approver_changes_a_cell",))
