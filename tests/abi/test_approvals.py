# SPDX-License-Identifier: Apache-2.0
"""What an approver can decide, in whole calls: the six decisions, what an edit goes through, whom a grant serves, and that the
hash of a request is that of canonical JSON, by a second implementation that shares nothing with the plugin's."""
import base64
import hashlib
import json
import os
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from oracles.request_hash import recomputed
from provider import ACCEPTED, INVALID, NOT_RUN, OK, PENDING, UNKNOWN, Host, Provider

provider = Provider()
ECHO = {"language": "sh", "code": "echo asked-for"}
EDITED = {"language": "sh", "code": "echo edited"}
ROUNDS = 400 if os.environ.get("CODE_EXECUTE_TEST_LONG") else 60


def answering(decision, seen=None):
    """A request_approval that gives the decision from inside; replies and requests go to seen."""
    def approve(token, request, _verdict):
        code = provider.reply(token, decision)
        if seen is not None:
            seen.append((code, json.loads(request), token))
    return approve


def call(request, decision, **host):
    seen = []
    host = Host(request_approval=answering(decision, seen), **host)
    code, result = provider.invoke(request, host)
    tap.equal(len(seen), 1, f"questions ({result['error']})")
    return code, result, host, *seen[0][:2]


def events(host):
    return [record["event"] for record in host.records]


def test_every_decision():
    wanted = {
        "allow_once": (OK, "completed", None),
        "allow_session": (OK, "completed", None),
        "allow_always": (OK, "completed", None),
        "deny": (NOT_RUN, "denied", "approval_denied"),
        "cancel": (NOT_RUN, "cancelled", "cancelled"),
    }
    for decision, (code, status, error) in wanted.items():
        request = {**ECHO, "args": [decision]}
        got, result, host, reply, asked = call(request, {"decision": decision, "approver": "ann", "reason": "because"})
        tap.equal((reply, got, result["status"]), (ACCEPTED, code, status), decision)
        tap.equal(result["error"] and result["error"]["code"], error, decision)
        tap.true(decision in asked["allowed_decisions"], f"{decision} is offered")
        tap.equal((result["approval"]["decision"], result["approval"]["approver"]), (decision, "ann"))
        tap.equal({(record["approval"]["decision"], record["approval"]["approver"], record["approval"]["reason"])
                   for record in host.records}, {(decision, "ann", "because")}, "audit")
        tap.equal(events(host), ["start", "end"] if code == OK else ["refused"])
    provider.reset()


def test_the_hosts_own_id():
    """A host that keeps the decision under another id says so; what no person can type is no id."""
    code, result, host, reply, asked = call(ECHO, {"decision": "allow_once", "approval_id": "grant-7"})
    tap.equal((code, reply, result["approval"]["id"]), (OK, ACCEPTED, "grant-7"))
    tap.equal({record["approval"]["id"] for record in host.records}, {"grant-7"})
    tap.equal(asked["decision_members"], ["approval_id", "approver", "arguments", "pending_id", "reason", "request_sha256"])
    result, _, reply, asked = call(ECHO, {"decision": "allow_once"})[1:]
    tap.equal((reply, result["approval"]["id"]), (ACCEPTED, asked["approval_id"]), "otherwise the request's")
    for bad in ("a b", "x" * 33, "a\n", "\u00e9"):
        code, result, _, reply, _ = call(ECHO, {"decision": "allow_once", "approval_id": bad})
        tap.equal((code, reply, result["error"]["code"]), (NOT_RUN, INVALID, "approval_denied"), bad)
    provider.reset()


def test_the_id_of_a_request_that_waits_already():
    """A host whose queue has the request already names it; that is no decision, and comes only while the host is asked."""
    tokens = []

    def wait(token, request, verdict):
        tokens.append(token)
        for text, expected in (({"pending_id": "waits-7"}, ACCEPTED), ({"pending_id": "waits-8"}, ACCEPTED)):
            tap.equal(provider.library.tool_reply_approval(token, json.dumps(text).encode()), expected, text)
        verdict[0] = PENDING

    host = Host(request_approval=wait)
    for _ in range(2):
        result = provider.invoke({**ECHO, "args": ["waits"]}, host)[1]
        tap.equal((result["error"]["code"], result["approval"]["id"]), ("approval_pending", "waits-8"), result)
    tap.equal((len(tokens), {record["approval"]["id"] for record in host.records}), (1, {"waits-8"}))
    tap.equal(provider.library.tool_reply_approval(tokens[0], b'{"pending_id": "late"}'), UNKNOWN)
    tap.equal(provider.library.tool_reply_approval(tokens[0], b'{"decision": "allow_once"}'), ACCEPTED)
    tap.equal(provider.invoke({**ECHO, "args": ["waits"]}, host)[1]["approval"]["id"], "waits-8")
    for bad in ({"pending_id": ""}, {"pending_id": "a b"}, {"pending_id": "x" * 33}, {"pending_id": "x", "reason": "y"}):
        code, result, _, reply, _ = call({**ECHO, "args": [json.dumps(bad)]}, bad)
        tap.equal((code, reply, result["error"]["code"]), (NOT_RUN, INVALID, "approval_denied"), bad)
    provider.reset()


def test_an_unavailable_approver_is_no_denial():
    """A host that could ask nobody says so, and no one is named for it; no request offers it as a decision."""
    got, result, host, reply, asked = call(ECHO, {"decision": "unavailable", "approver": "terminal:root", "reason": "no terminal"})
    tap.equal((reply, got, result["status"], result["error"]["code"]), (ACCEPTED, NOT_RUN, "denied", "approval_unavailable"))
    tap.contains(result["error"]["message"], "nobody could be asked: no terminal")
    tap.true("unavailable" not in asked["allowed_decisions"], asked["allowed_decisions"])
    without = Host(request_approval=None)
    nobody = provider.invoke(ECHO, without)[1]
    tap.equal(nobody["error"]["code"], "approval_unavailable", "a host without the callback")
    for seen, record in ((result, host.records[-1]), (nobody, without.records[-1])):
        tap.equal((seen["approval"]["decision"], seen["approval"]["approver"]), ("unavailable", None))
        tap.equal((record["error"], record["approval"]["decision"], record["approval"]["approver"]), ("approval_unavailable", "unavailable", None))
    provider.reset()


def test_the_policy_says_which_decisions_there_are():
    tap.equal(provider.use_policy({"approval": {"decisions": ["once"]}}), OK, "prepare")
    try:
        for decision, code in (("allow_session", NOT_RUN), ("allow_always", NOT_RUN), ("allow_once", OK)):
            got, result, _, reply, asked = call(ECHO, {"decision": decision})
            tap.equal(asked["allowed_decisions"], ["allow_once", "deny", "cancel"])
            tap.equal((got, reply), (code, ACCEPTED if code == OK else INVALID), decision)
        got, result, _, reply, _ = call(ECHO, {"decision": "edit", "arguments": EDITED})
        tap.equal((got, reply, result["error"]["message"]),
                  (NOT_RUN, INVALID, "approval denied: the request does not accept this decision"))
    finally:
        provider.reset()


def test_nothing_stands_with_a_workspace():
    """What a workspace holds is not in the hash: session and always are not offered, and an answer that gives them denies."""
    with tempfile.TemporaryDirectory() as top:
        top = os.path.realpath(top)
        os.chmod(top, 0o755)
        with open(os.path.join(top, "file"), "w", encoding="ascii") as file:
            file.write("first\n")
        tap.equal(provider.use_policy({"workspace": {"below": [top]}}), OK, "prepare")
        request, context = {"language": "sh", "code": "cat /work/file"}, {"principal": "ann", "session": "one", "workspace": top}
        for decision in ("allow_session", "allow_always"):
            code, result, host, reply, asked = call(request, {"decision": decision}, context=context)
            tap.equal(asked["allowed_decisions"], ["allow_once", "deny", "edit", "cancel"])
            tap.equal((code, reply, result["error"]["code"]), (NOT_RUN, INVALID, "approval_denied"), decision)
            tap.contains(result["error"]["message"], "does not accept this decision")
            tap.equal(events(host), ["refused"])
        for _ in range(2):
            code, result, _, reply, _ = call(request, {"decision": "allow_once"}, context=context)
            tap.equal((code, reply, result["stdout"]), (OK, ACCEPTED, "first\n"), "asked about each time")
        asked = call(request, {"decision": "deny"}, context={"principal": "ann"})[4]
        tap.true({"allow_session", "allow_always"} <= set(asked["allowed_decisions"]), "control: without a workspace")
    provider.reset()


def test_only_a_session_decision_is_remembered():
    """once and always are asked about again (always is the host's to remember), session is not, in its session."""
    for decision, again in (("allow_once", 1), ("allow_always", 1), ("allow_session", 0)):
        request = {**ECHO, "args": [decision, "again"]}
        mine = {"principal": "ann", "session": "one"}
        call(request, {"decision": decision}, context=mine)
        for context, questions in ((mine, again), ({**mine, "session": "two"}, 1), ({"principal": "ann"}, 1),
                                   ({**mine, "principal": "bob"}, 1), (None, 1)):
            seen = []
            code, _ = provider.invoke(request, Host(context=context, request_approval=answering({"decision": "deny"}, seen)))
            tap.equal((code, len(seen)), (NOT_RUN if questions else OK, questions), f"{decision} for {context}")
    provider.reset()


def test_a_missing_principal_is_not_an_empty_one():
    """A host that names no principal, and one whose principal has an empty name."""
    for granted, other in (({}, {"principal": ""}), ({"principal": ""}, {})):
        request = {**ECHO, "args": ["nobody", *granted]}
        call(request, {"decision": "allow_session"}, context=granted)
        for context, questions in ((other, 1), (granted, 0)):
            seen = []
            provider.invoke(request, Host(context=context, request_approval=answering({"decision": "deny"}, seen)))
            tap.equal(len(seen), questions, f"granted for {granted}, asked by {context}")
    provider.reset()


def test_an_edit_runs_instead():
    seen = []
    approve = answering({"decision": "edit", "arguments": EDITED, "approver": "ann"}, seen)
    code, result = provider.invoke({**ECHO, "stdin": "gone", "files": [{"path": "gone", "content": ""}]},
                                   Host(("sandbox.exec", "sandbox.exec.files"), request_approval=approve))
    tap.equal((code, result["stdout"], seen[0][0]), (OK, "edited\n", ACCEPTED))
    shown = seen[0][1]
    approval = result["approval"]
    tap.equal((approval["decision"], approval["approver"], approval["edited_from"]),
              ("edit", "ann", shown["request_sha256"]))
    tap.true(any("approver changed" in note for note in result["notes"]), "the agent is told")
    # The new hash is that of the edited request, as if it had been asked for.
    asked = call(EDITED, {"decision": "deny"})[4]
    tap.equal(approval["request_sha256"], asked["request_sha256"], "the new hash")
    tap.true(approval["request_sha256"] != approval["edited_from"], "two hashes")


def test_an_edit_is_in_the_audit():
    _, result, host, _, asked = call(ECHO, {"decision": "edit", "arguments": EDITED})
    for record in host.records:
        tap.equal((record["approval"]["edited_from"], record["request_sha256"], record["code_sha256"]),
                  (asked["request_sha256"], result["approval"]["request_sha256"],
                   hashlib.sha256(b"echo edited").hexdigest()), record["event"])


def test_an_edit_goes_through_the_gate_again():
    policy = {"secrets": {"allowed": ["known"]},
              "approval": {"rules": [{"decision": "deny", "languages": ["perl"], "reason": "no perl"}]}}
    tap.equal(provider.use_policy(policy), OK, "prepare")
    try:
        for changes, error in (({"language": "perl"}, "policy_denied"), ({"network": True}, "policy_denied"),
                               ({"secrets": {"A": "{{secret:other}}"}}, "secret_not_allowed"),
                               ({"secrets": {"A": "{{secret:known}}"}}, "access_denied"),
                               ({"files": [{"path": "a", "content": ""}]}, "access_denied"),
                               ({"timeout_ms": 299999999}, "limit_too_high"), ({"session": "s"}, "not_supported"),
                               ({"language": "klingon"}, "approval_denied"), ({"unknown": 1}, "approval_denied"),
                               ({"code": 7}, "approval_denied")):
            code, result, host, reply, _ = call(ECHO, {"decision": "edit", "arguments": {**EDITED, **changes}})
            tap.equal((reply, code, result["error"]["code"]), (ACCEPTED, NOT_RUN, error), f"{changes}")
            tap.equal((events(host), result["stdout"]), (["refused"], ""), f"{changes}")
            tap.true(result["approval"]["edited_from"], "the old hash is told")
        code, result, *_ = call(ECHO, {"decision": "edit", "arguments": EDITED})
        tap.equal((code, result["stdout"]), (OK, "edited\n"), "positive control")
    finally:
        provider.reset()


def test_an_edit_without_arguments_denies():
    for decision in ({"decision": "edit"}, {"decision": "edit", "arguments": None}, {"decision": "edit", "arguments": "x"},
                     {"decision": "allow_once", "arguments": EDITED}, {"decision": "deny", "arguments": EDITED}):
        code, result, _, reply, _ = call(ECHO, decision)
        tap.equal((reply, code, result["error"]["code"]), (INVALID, NOT_RUN, "approval_denied"), f"{decision}")


def test_a_pending_request_can_be_edited():
    tokens = []

    def later(token, _request, verdict):
        tokens.append(token)
        verdict[0] = PENDING
    request = {**ECHO, "reason": "edited later"}
    tap.equal(provider.invoke(request, Host(request_approval=later))[1]["error"]["code"], "approval_pending")
    tap.equal(provider.reply(tokens[0], {"decision": "edit", "arguments": EDITED}), ACCEPTED)
    code, result = provider.invoke(request, Host(request_approval=None))
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "approval_unavailable"), "a host without an approver")
    code, result = provider.invoke(request, Host(request_approval=later))
    tap.equal((code, result["stdout"], len(tokens)), (OK, "edited\n", 1))


def test_a_second_different_answer_refuses():
    tokens = []

    def later(token, _request, verdict):
        tokens.append(token)
        verdict[0] = PENDING
    for first, second, error in (("allow_once", "deny", "approval_replayed"), ("allow_once", "allow_once", None),
                                 ("deny", "allow_once", "approval_denied")):
        request = {**ECHO, "args": [first, second]}
        provider.invoke(request, Host(request_approval=later))
        tap.equal(provider.reply(tokens[-1], {"decision": first}), ACCEPTED)
        tap.equal(provider.reply(tokens[-1], {"decision": second}), UNKNOWN)
        code, result = provider.invoke(request, Host(request_approval=later))
        tap.equal((code, result["error"] and result["error"]["code"]), (NOT_RUN if error else OK, error), f"{first} {second}")


RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.secrets", "sandbox.exec.limits.extended")
CHARACTERS = ["a", "Z", "~", "\u007f", "\u0080", "\u00e9", "\u2028", "\u202e", "\u0430", "\ue000", "\ufb33", "\ufffd", "\uffff",
              "\U00010000", "\U0001f600", "\U0010ffff", '"', "\\", "/", "\b", "\f", "\n", "\r", "\t", "\x01", "\x1f"]


def text(chance, most=12):
    return "".join(chance.choice(CHARACTERS) for _ in range(chance.randrange(most)))


def random_request(chance):
    request = {"language": chance.choice(["sh", "python"]), "code": "x" + text(chance, 40), "args": [text(chance) for _ in range(chance.randrange(4))],
               "env": {f"{chance.choice('ABab_')}{number}": text(chance) for number in range(chance.randrange(5))},
               "timeout_ms": chance.choice([1, 10000, 2 ** 31 % 300000]),
               "secrets": {f"S{number}": "{{secret:known}}" for number in range(chance.randrange(3))},
               "files": [{"path": f"{number}/{chance.choice(['e', 'd.d', 'x' * 200])}", "content": text(chance)}
                         for number in range(chance.randrange(4))], "reason": text(chance)}
    if chance.random() < 0.5:
        request["stdin"] = text(chance)
    if chance.random() < 0.3:
        request["files"].append({"path": "binary", "content": "AP9h", "encoding": "base64"})
    return {name: value for name, value in request.items() if chance.random() < 0.9 or name in ("language", "code")}


def test_the_hash_by_a_second_implementation():
    chance = random.Random(20260117)
    tap.equal(provider.use_policy({"secrets": {"allowed": ["known"]}}), OK, "prepare")
    try:
        for number in range(ROUNDS):
            request = random_request(chance)
            context = {"policy": {"limits": {"memory_bytes": 100000000}, "capabilities": RIGHTS, "approval": "ask"}} if number % 3 == 0 else None
            _, _, _, _, asked = call(request, {"decision": "deny"}, capabilities=RIGHTS, context=context)
            tap.equal("narrowing" in asked, context is not None)
            tap.equal(asked["request_sha256"], recomputed(provider, asked), f"request {number}: {request!r}")
            again = call(asked["arguments"], {"decision": "deny"}, capabilities=RIGHTS, context=context)[4]
            tap.equal(again["request_sha256"], asked["request_sha256"], f"its arguments {number}")
            tap.equal(again["arguments"], asked["arguments"], f"its arguments {number}")
            shown = asked["arguments"]
            tap.equal((shown["code"], shown.get("args", []), shown.get("env", {}), shown.get("stdin")),
                      (asked["code"], asked["args"], asked["environment"], asked["stdin"]), "both say the same")
            hashes = [hashlib.sha256(bytes_of(file)).hexdigest() for file in shown.get("files", [])]
            tap.equal(hashes, [file["sha256"] for file in asked["files"]], "the files' hashes")
    finally:
        provider.reset()


def bytes_of(file):
    return base64.b64decode(file["content"]) if file.get("encoding") == "base64" else file["content"].encode()


def test_everything_that_decides_is_in_the_hash():
    base = call(ECHO, {"decision": "deny"})[4]["request_sha256"]
    for changes in ({"code": "echo asked-for "}, {"args": [""]}, {"env": {"A": ""}}, {"stdin": ""}, {"timeout_ms": 9999},
                    {"language": "bash"}, {"files": [{"path": "a", "content": ""}]}):
        other = call({**ECHO, **changes}, {"decision": "deny"}, capabilities=RIGHTS)[4]
        tap.true(other["request_sha256"] != base, f"{changes} changes the hash")
    for changes in ({"reason": "other words"}, {"args": []}, {"env": {}}, {"network": False}):
        other = call({**ECHO, **changes}, {"decision": "deny"})[4]
        tap.equal(other["request_sha256"], base, f"{changes} changes nothing")


tap.run(globals())
