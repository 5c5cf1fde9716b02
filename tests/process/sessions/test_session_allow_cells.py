# SPDX-License-Identifier: Apache-2.0
"""The answer allow_cells: it is offered where a policy says so, further cells of that one session run by it without a question, and
whatever wants more than the approved cell is asked about. A cell that asks for nothing more is the control of each."""
import json
import os
import pathlib
import sys
import tempfile

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
sys.path[:0] = [str(SUPPORT)]
import tap
from modes import Provider, adopt_orphans, merged
from provider import ACCEPTED, ALLOW, INVALID, OK, PENDING, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files", "sandbox.exec.secrets", "sandbox.exec.limits.extended")
AMPLE_MS = 120000
EVERY = ["once", "session", "always", "edit", "cells"]
POLICY = {"sessions": {"max_total": 8, "max_per_principal": 8, "checkpoints": 2}, "secrets": {"allowed": ["*"]},
          "limits": {"wall_ms": {"default": AMPLE_MS, "max": 2 * AMPLE_MS}, "cpu_ms": {"default": 300000, "max": 300000}}}
adopt_orphans()
provider = Provider()


def use(decisions=None, rules=(), **more):
    approval = {"approval": {"default": "ask", "decisions": EVERY if decisions is None else decisions, "rules": list(rules)}}
    tap.equal(provider.begin_anew(merged(merged(POLICY, approval), more)), OK)


class Person:
    """Answers what is asked, and keeps it."""

    def __init__(self, decision="deny", reply=ACCEPTED, principal="ann", context=None, **more):
        self.decision, self.reply, self.asked = decision, reply, []
        self.host = Host(RIGHTS, context={"principal": principal, **(context or {})}, secrets={"key": b"the-value-of-it"},
                         request_approval=self.ask, **more)

    def ask(self, token, request, _verdict):
        self.asked.append(json.loads(request))
        answer = {"decision": self.decision, "approver": "bob", "reason": "a quiet afternoon"}
        tap.equal(provider.reply(token, answer), self.reply)

    def __call__(self, code, session="new", language="python", **more):
        request = {"language": language, "code": code, **more}
        if session is not None:
            request["session"] = session
        return provider.invoke(request, self.host)[1]

    def offered(self):
        return self.asked[-1]["allowed_decisions"]


def begin(code="x = 1", person=None, **more):
    """A session whose first cell was answered with allow_cells."""
    person = person or Person("allow_cells")
    result = person(code, **more)
    tap.equal((len(person.asked), result["error"], result["session"]["state"]), (1, None, "kept"), result)
    tap.contains(person.offered(), "allow_cells")
    return result["session"]["id"]


def expect_unasked(code, session, output, person=None, **more):
    person = person or Person()
    result = person(code, session, **more)
    tap.equal((len(person.asked), result["stdout"], result["error"]), (0, output, None), result)
    return result


def expect_asked(code, session, person=None, **more):
    """It is asked about, and the person who is asked says no."""
    person = person or Person()
    result = person(code, session, **more)
    tap.equal((len(person.asked), result["error"] and result["error"]["code"], result["stdout"]), (1, "approval_denied", ""), result)
    return person


def expect_unasked_still(session):
    expect_unasked("print('as before')", session, "as before\n")


def test_it_is_offered_where_the_policy_says_so():
    for decisions, offers in ((["once", "session", "always", "edit"], False), (EVERY, True), (["cells"], True)):
        use(decisions)
        person = Person("allow_once" if "once" in decisions else "allow_cells")
        session = person("x = 1")["session"]["id"]
        person("x = 2", session)
        tap.equal(["allow_cells" in asked["allowed_decisions"] for asked in person.asked], [offers] * len(person.asked), decisions)
        tap.equal(len(person.asked), 2 if "once" in decisions else 1)
    use(EVERY)
    person = Person()
    for session, offers in ((None, False), ("new", True)):
        person("x = 1", session)
        tap.equal("allow_cells" in person.offered(), offers, "it is a word for sessions")


def test_the_default_policy_does_not_offer_it():
    tap.equal(provider.begin_anew({"sessions": {"max_total": 2}}), OK)
    person = Person("allow_cells", INVALID)
    result = person("x = 1")
    tap.lacks(person.offered(), "allow_cells")
    tap.contains(person.offered(), "allow_session")
    tap.equal(result["error"]["code"], "approval_denied", result)
    tap.contains(result["error"]["message"], "does not accept this decision")


def test_where_it_is_not_offered_it_is_refused():
    use()
    for session, more in ((None, {}), ("new", {"secrets": {"KEY": "{{secret:key}}"}})):
        person = Person("allow_cells", INVALID)
        result = person("print(1)", session, **more)
        tap.equal((len(person.asked), result["error"]["code"], result["stdout"]), (1, "approval_denied", ""), result)
        tap.contains(result["error"]["message"], "does not accept this decision")
        tap.lacks(person.offered(), "allow_cells")
    begin()


def test_further_cells_run_unasked_and_say_by_whose_answer():
    use()
    first = Person("allow_cells")
    session = begin("def f(x):\n    return x + 1", first)
    person = Person()
    answer = first.host.records[0]["approval"]
    tap.equal((answer["decision"], answer["approver"], answer["reason"], len(answer["id"])), ("allow_cells", "bob", "a quiet afternoon", 32))
    for number in range(3):
        result = expect_unasked(f"print(f({number}))", session, f"{number + 1}\n", person)
        told = {name: result["approval"][name] for name in ("decision", "approver", "id")}
        tap.equal(told, {name: answer[name] for name in told})
    tap.equal([record["event"] for record in person.host.records], ["start", "end"] * 3)
    tap.equal([record["approval"] for record in person.host.records], [answer] * 6)
    hashes = {record["request_sha256"] for record in person.host.records}
    tap.equal(len(hashes), 3, "each has the hash of its own request")


def test_an_answer_behind_the_first_cell_holds_from_then_on():
    use()
    person = Person("allow_once")
    session = person("x = 1")["session"]["id"]
    expect_asked("print(x)", session)
    person.decision = "allow_cells"
    tap.equal(person("print(x)", session)["stdout"], "1\n")
    expect_unasked("print(x + 1)", session, "2\n")


def test_an_answer_to_a_call_that_is_pending_holds_too():
    use()
    tokens = []

    def wait(token, _request, verdict):
        tokens.append(token)
        verdict[0] = PENDING
    host = Host(RIGHTS, context={"principal": "ann"}, request_approval=wait)
    request = {"language": "python", "code": "x = 1", "session": "new"}
    tap.equal(provider.invoke(request, host)[1]["error"]["code"], "approval_pending")
    tap.equal(provider.reply(tokens[0], {"decision": "allow_cells"}), ACCEPTED)
    result = provider.invoke(request, host)[1]
    tap.equal((result["error"], len(tokens)), (None, 1), result)
    expect_unasked("print(x)", result["session"]["id"], "1\n")


def test_what_may_differ():
    use()
    session = begin()
    expect_unasked("import os, sys\nprint(os.environ['A'], sys.argv[1], input(), open('f').read())", session, "a b c d\n",
                   env={"A": "a"}, args=["b"], stdin="c", files=[{"path": "f", "content": "d"}], outputs=["*.csv"], timeout_ms=AMPLE_MS // 2,
                   reason="another one")


def test_more_time_is_asked_about():
    use()
    session = begin()
    expect_asked("print(x)", session, timeout_ms=AMPLE_MS + 1)
    expect_unasked("print(x)", session, "1\n", timeout_ms=AMPLE_MS)
    short = begin(timeout_ms=AMPLE_MS // 2)
    expect_asked("print(x)", short)
    expect_unasked("print(x)", short, "1\n", timeout_ms=AMPLE_MS // 2)


def test_another_narrowing_is_asked_about():
    use()
    session = begin()
    narrowed = {"policy": {"limits": {"stdout_bytes": 2048}}}
    expect_asked("print(x)", session, Person(context=narrowed))
    expect_unasked_still(session)


def test_a_file_of_the_gateway_is_asked_about():
    use()
    session = begin()
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"of the gateway")
        file.flush()

        def lend(_ref, descriptor, size, verdict):
            descriptor[0] = os.open(file.name, os.O_RDONLY)
            size[0] = 14
            verdict[0] = ALLOW
        person = Person(context={"files": [{"ref": "r", "name": "f", "size": 14}]}, open_file=lend)
        expect_unasked_still(session)
        request = {"files": [{"path": "f", "ref": "r"}]}
        expect_asked("print(open('f').read())", session, person, **request)
        person.decision = "allow_once"
        tap.equal(person("print(open('f').read())", session, **request)["stdout"], "of the gateway\n", "the control")
    expect_unasked_still(session)


def test_it_is_for_one_session_and_its_principal():
    use()
    session = begin()
    person = Person()
    result = person("print(1)")
    tap.equal((len(person.asked), result["error"]["code"]), (1, "approval_denied"), "another session")
    other = Person("allow_once")("x = 2")["session"]["id"]
    expect_asked("print(x)", other)
    stranger = Person(principal="eve")
    tap.equal((stranger("print(x)", session)["error"]["code"], stranger.asked), ("session_not_found", []))
    expect_asked("print(1)", None)
    expect_unasked_still(session)


def test_a_rule_that_denies_wins():
    use(rules=[{"id": "large", "decision": "deny", "code_bytes": {"min": 100}}])
    session = begin()
    person = Person()
    result = person("print(x)" + "#" * 100, session)
    tap.equal((result["error"]["code"], person.asked, result["stdout"]), ("policy_denied", [], ""), result)
    expect_unasked_still(session)


def test_another_rule_that_asks_asks_anew():
    use(rules=[{"id": "large", "decision": "ask", "code_bytes": {"min": 100}}])
    session = begin()
    large = "print(x)" + "#" * 100
    expect_asked(large, session)
    expect_unasked("print(x)", session, "1\n")
    by_rule = begin("x = 1" + "#" * 100)
    expect_unasked(large, by_rule, "1\n")
    expect_asked("print(x)", by_rule)


def test_a_finding_is_asked_about():
    use(content_checks={"languages": {"python": {"action": "warn", "forbidden_modules": ["subprocess"]}}})
    session = begin()
    person = expect_asked("import subprocess", session)
    tap.equal([finding["rule"] for finding in person.asked[0]["content_findings"]], ["forbidden_module"])
    expect_unasked_still(session)
    expect_asked("import subprocess", begin("import subprocess"))


def test_a_fork_is_asked_about_and_so_is_its_copy():
    use()
    session = begin()
    expect_asked("print(x)", session, session_action="fork")
    expect_unasked("print(x)", session, "1\n")
    copy = Person("allow_once")("print(x)", session, session_action="fork")["session"]["id"]
    expect_asked("print(x)", copy)
    expect_unasked("print(x)", session, "1\n")
    copy = Person("allow_cells")("print(x)", session, session_action="fork")["session"]["id"]
    expect_unasked("print(x)", copy, "1\n")


def test_it_lives_on_behind_an_undone_cell():
    use()
    session = begin()
    expect_unasked("x = 2\nprint(x)", session, "2\n")
    expect_unasked("print(x)", session, "1\n", session_action="undo")
    expect_unasked("print(x)", session, "1\n")


def test_it_ends_with_the_session():
    use(sessions={"checkpoints": 0})
    for code, more, state in (("import os\nos._exit(0)", {}, "lost"), ("print(x)", {"session_action": "end"}, "ended")):
        session = begin()
        person = Person()
        result = person(code, session, **more)
        tap.equal((person.asked, result["session"]["state"]), ([], state), result)
        tap.equal(Person()("print(1)", session)["error"]["code"], "session_not_found")
        expect_asked("print(1)", "new")


def test_a_changed_policy_ends_it():
    use()
    session = begin()
    changed = merged(POLICY, {"approval": {"default": "ask", "decisions": EVERY, "timeout_ms": 5000}})
    tap.equal(provider.use_policy(changed), OK)
    result = Person()("print(1)", session)
    tap.equal(result["error"]["code"], "session_lost", result)
    expect_unasked_still(begin())


def test_a_cell_that_did_not_run_leaves_no_answer():
    use()
    person = Person("allow_once")
    session = person("x = 1")["session"]["id"]
    person.decision = "allow_cells"
    refused = Person("allow_cells", audit=lambda *_: None)
    result = refused("print(x)", session)
    tap.equal((len(refused.asked), result["error"]["code"]), (1, "audit_unavailable"), result)
    expect_asked("print(x)", session)
    tap.equal(person("print(x)", session)["stdout"], "1\n")
    expect_unasked_still(session)


tap.run(globals())
