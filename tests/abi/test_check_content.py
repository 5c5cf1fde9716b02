# SPDX-License-Identifier: Apache-2.0
"""The gateway's own look at a program (check_content, since 1.1): what it is told, what its findings do, that anything but an answer is a
check that failed, and that a gateway of before it works."""
import base64
import ctypes
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from provider import ALLOW, DENY, NOT_RUN, OK, Host, Provider, ToolHost

provider = Provider()
REQUEST = {"language": "sh", "code": "echo ran", "files": [{"path": "a.txt", "content": "x"}]}
FINDING = {"line": 1, "column": 6, "rule": "house-rule", "message": "says ran"}
RIGHTS = ("sandbox.exec", "sandbox.exec.files")


def answering(answer, verdict=ALLOW, length=None, seen=None):
    text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def check_content(request, buffer, capacity, ret_length, ret_verdict):
        if seen is not None:
            seen.append((json.loads(request), capacity))
        ctypes.memmove(buffer, text, min(len(text), capacity))
        ret_length[0] = len(text) if length is None else length
        ret_verdict[0] = verdict
    return check_content


def call(check_content, terms=None, wanted=OK, **context):
    tap.equal(provider.use_policy({"content_checks": {"host": terms}}), OK, "prepare")
    host = Host(RIGHTS, check_content=check_content, **context)
    code, result = provider.invoke(REQUEST, host)
    tap.true(code == wanted, result)
    return result, host


def test_it_is_told_the_whole_request():
    """Everything that decides what runs, as the approver sees it, and the files' content."""
    seen, whole = [], {**REQUEST, "args": ["-v"], "env": {"A": "b"}, "stdin": "in", "secrets": {"KEY": "{{secret:key}}"}, "reason": "because"}
    tap.equal(provider.use_policy({"content_checks": {"host": None}, "secrets": {"allowed": ["key"]}}), OK, "prepare")
    host = Host((*RIGHTS, "sandbox.exec.secrets"), secrets={"key": b"sesame"}, check_content=answering({"findings": []}, seen=seen),
                context={"principal": "ann", "session": "s"})
    code, result = provider.invoke(whole, host)
    tap.equal(code, OK, result["error"])
    (told, capacity), shown = seen[0], host.requests[0]
    tap.equal((len(seen), capacity), (1, 65536))
    tap.equal({name: told[name] for name in ("args", "environment", "stdin", "secrets", "network", "image", "workspace", "reason")},
              {"args": ["-v"], "environment": {"A": "b"}, "stdin": "in", "secrets": {"KEY": "key"}, "network": False, "image": None,
               "workspace": None, "reason": "because"})
    tap.equal(told["files"], [{"content_base64": base64.b64encode(b"x").decode(), **shown["files"][0]}])
    alone = {"approval_id", "run_id", "expires_in_ms", "in_band", "content_findings", "content_findings_more", "arguments", "allowed_decisions",
             "decision_members"}
    tap.equal({**told, "files": None}, {**{name: value for name, value in shown.items() if name not in alone}, "files": None})


def test_an_edit_of_anything_is_looked_at_again():
    """The approver changes a variable only."""
    seen, replies = [], []

    def edit(token, request, _verdict):
        arguments = {**json.loads(request)["arguments"], "env": {"BASH_ENV": "x"}}
        replies.append(provider.reply(token, {"decision": "edit", "arguments": arguments}))
    tap.equal(provider.use_policy({"content_checks": {"host": None}}), OK, "prepare")
    code, result = provider.invoke(REQUEST, Host(RIGHTS, check_content=answering({"findings": []}, seen=seen), request_approval=edit))
    tap.equal((code, replies), (OK, [0]), result["error"])
    tap.equal([told["environment"] for told, _ in seen], [{}, {"BASH_ENV": "x"}])


def test_findings_are_warnings_unless_the_policy_refuses():
    for terms in None, {"action": "warn"}, {"action": "warn", "required": True}:
        result, host = call(answering({"findings": [FINDING, {**FINDING, "file": "a.txt", "line": 2}, {**FINDING, "file": None}]}), terms)
        tap.equal(result["stdout"], "ran\n")
        tap.equal(host.requests[0]["content_findings"], [{"file": None, **FINDING}, {**FINDING, "file": "a.txt", "line": 2},
                                                         {"file": None, **FINDING}])
        tap.equal(result["notes"][0], "content check: line 1, column 6: says ran (house-rule)")
    result, host = call(answering({"findings": [FINDING]}), {"action": "refuse"}, NOT_RUN)
    tap.equal((result["error"]["code"], result["error"]["message"], host.requests),
              ("content_refused", "content refused: line 1, column 6: says ran (house-rule)", []))
    call(answering({"findings": []}), {"action": "refuse", "required": True})


def test_the_audit_has_places_and_rules():
    """What the approver was shown, without the messages: they can repeat what the program says."""
    many = [FINDING, {**FINDING, "file": "a.txt", "line": 2}, *[{**FINDING, "line": 3}] * 38]
    result, host = call(answering({"findings": many}))
    places = [{name: value for name, value in finding.items() if name != "message"} for finding in host.requests[0]["content_findings"]]
    tap.equal(len(places), 32)
    start, end = host.records
    tap.equal((start["content_findings"], start["content_findings_more"]), (places, 8))
    tap.equal(start["content_findings"][1], {"file": "a.txt", "line": 2, "column": 6, "rule": "house-rule"})
    tap.true("content_findings" not in end, end)
    tap.lacks(json.dumps(host.records), FINDING["message"])
    tap.contains(json.dumps(host.requests), FINDING["message"])
    for terms, more in (({"action": "refuse"}, {}), (None, {"request_approval": lambda *_: None})):
        result, host = call(answering({"findings": [FINDING]}), terms, NOT_RUN, **more)
        tap.equal([(record["event"], record["content_findings"]) for record in host.records],
                  [("refused", [{"file": None, "line": 1, "column": 6, "rule": "house-rule"}])], result["error"])
    nothing = call(answering({"findings": []}))[1].records[0]
    tap.equal((nothing["content_findings"], nothing["content_findings_more"]), ([], 0))


def test_an_edit_that_is_not_looked_at_has_no_findings():
    """Those of the request before it name files that it may not have."""
    edited = {"language": "sh", "code": "echo ran", "network": True}

    def approve(token, _request, _verdict):
        provider.reply(token, {"decision": "edit", "arguments": edited})

    result, host = call(answering({"findings": [{**FINDING, "file": "a.txt"}]}), None, NOT_RUN, request_approval=approve)
    tap.equal((result["error"]["code"], host.records[0]["content_findings"]), ("policy_denied", []))
    edited = {**REQUEST, "args": ["same text"]}
    result, host = call(answering({"findings": [{**FINDING, "file": "a.txt"}]}), request_approval=approve)
    tap.equal([finding["file"] for finding in host.records[0]["content_findings"]], ["a.txt"])


NO_ANSWERS = [b"", b"junk", b"[]", b"{}", {"findings": {}}, {"findings": [1]}, {"findings": [{}]}, {"findings": [], "x": 1},
              {"findings": [{**FINDING, "line": 0}]}, {"findings": [{**FINDING, "column": 0}]}, {"findings": [{**FINDING, "rule": ""}]},
              {"findings": [{**FINDING, "rule": "r" * 33}]}, {"findings": [{**FINDING, "message": "m" * 201}]},
              {"findings": [{**FINDING, "message": "a\x1b[2J"}]}, {"findings": [{**FINDING, "message": "a\x7f"}]},
              {"findings": [{**FINDING, "file": "b.txt"}]}, {"findings": [{**FINDING, "file": 1}]}, {"findings": [FINDING, {**FINDING, "more": 1}]}]


def test_anything_but_an_answer_is_a_check_that_failed():
    for answer in NO_ANSWERS:
        result, host = call(answering(answer))
        told = host.requests[0]["content_findings"]
        tap.equal((len(told), told[0]["rule"]), (1, "not_checked"), answer)
        tap.contains(told[0]["message"], "the content check of the gateway failed: answer")
        result, _ = call(answering(answer), {"action": "warn", "required": True}, NOT_RUN)
        tap.equal(result["error"]["code"], "content_refused", answer)


def raises(*_):
    raise ValueError("no")


def test_no_word_is_a_check_that_failed():
    good = {"findings": []}
    sys.stderr.flush()
    for check in answering(good, DENY), answering(good, 1), answering(good, length=65537), answering(good, length=1 << 60), raises:
        result, _ = call(check, {"action": "warn", "required": True}, NOT_RUN)
        tap.contains(result["error"]["message"], "the content check of the gateway failed: it gave no answer (not_checked)")
    call(answering(good), {"action": "warn", "required": True})


def test_a_host_without_a_check_is_refused_where_one_is_required():
    call(None)
    call(None, {"action": "refuse"})
    result, _ = call(None, {"action": "warn", "required": True}, NOT_RUN)
    tap.contains(result["error"]["message"], "the content check of the gateway failed: it offers none")


def old_host(host):
    """As a gateway of 1.0 fills it; what is behind its struct is no member."""
    host.struct.struct_size = ToolHost.check_content.offset
    host.struct.abi_version = 1 << 16
    ctypes.memset(ctypes.addressof(host.struct) + ToolHost.check_content.offset, 0x5A, 8)
    return host


def test_a_gateway_of_before_works():
    tap.equal(ToolHost.check_content.offset, 80)
    tap.equal(provider.use_policy({}), OK)
    code, result = provider.invoke(REQUEST, old_host(Host(RIGHTS)))
    tap.equal((code, result["stdout"], result["notes"]), (OK, "ran\n", []))
    tap.equal(provider.use_policy({"content_checks": {"host": {"action": "warn", "required": True}}}), OK)
    code, result = provider.invoke(REQUEST, old_host(Host(RIGHTS)))
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "content_refused"))


tap.run(globals())
