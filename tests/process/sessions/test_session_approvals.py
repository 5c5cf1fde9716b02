# SPDX-License-Identifier: Apache-2.0
"""What an approver of a cell is told, and which answers hold for a cell whose session has a history."""
import hashlib
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import modes
import tap
from provider import INVALID
from session_cells import Approver, begin, call, caller, id_of, printed, refusal, use


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


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


# In docker mode too (tests/docker/meson.build), and without namespaces: what the audit says of a run there. The gateway alone decides about
# approvals; they are the same in every mode.
EVERYWHERE = ("every_cell_is_audited",)
modes.run_cases(globals(), EVERYWHERE, EVERYWHERE, ())
