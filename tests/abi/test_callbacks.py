# SPDX-License-Identifier: Apache-2.0
"""Every callback missing, denying, raising, writing junk: nothing may run. From Python's ctypes, where a callback that
raises returns as if nothing had happened. "Ran" is judged from outside: by the result, and by whether a start was recorded."""
import ctypes
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from provider import (ABI_VERSION, ABSENT, ACCEPTED, ALLOW, INVALID, LATER, NOT_RUN, OK, PENDING, UNKNOWN, Host, Provider,
                      ToolHost)

# A callback that raises is what is tested here: its traceback on stderr is expected.
sys.unraisablehook = lambda _: None
provider = Provider()
ECHO = {"language": "sh", "code": "echo canary-$((6*7))"}
WITH_SECRET = {**ECHO, "secrets": {"TOKEN": "{{secret:token}}"}}
SECRET_POLICY = {"secrets": {"allowed": ["token"]}}
SECRET_RIGHTS = ("sandbox.exec", "sandbox.exec.secrets")
JUNK = [1, 2, 0xFFFFFFFF, ALLOW ^ 1, ALLOW << 1 & 0xFFFFFFFF, 0x80000000, ALLOW >> 1, ALLOW + 0x100]


def must_not_run(host, code, request=None):
    host_records = getattr(host, "records", [])
    result_code, result = provider.invoke(request or ECHO, host)
    tap.equal(result_code, NOT_RUN, "return code")
    tap.equal(result["error"]["code"], code, "error code")
    tap.lacks(result["stdout"], "canary", "stdout")
    tap.equal([record["event"] for record in host_records if record["event"] == "start"], [], "start records")
    return result


def raises(*_):
    raise RuntimeError("a callback that raises")


def writes(value):
    def callback(*arguments):
        arguments[-1][0] = value
    return callback


def test_positive_control_it_runs_when_all_allow():
    host = Host()
    code, result = provider.invoke(ECHO, host)
    tap.equal((code, result["stdout"], result["status"]), (OK, "canary-42\n", "completed"))
    tap.equal([record["event"] for record in host.records], ["start", "end"])


def logged(host):
    return "\n".join(str(line) for line in host.logs)


def heard(words, host):
    """A mistake of the gateway's author: an error of its own, which the log hears too. No hint sends an agent or an operator on."""
    result = must_not_run(host, "invalid_host")
    tap.contains(result["error"]["message"], words)
    tap.contains(result["error"]["hint"], "the gateway's author")
    tap.equal(result["status"], "error")
    tap.contains(logged(host), words)


def test_struct_size_and_abi_version():
    for member, value, words in [("struct_size", 0, "struct_size is 0"), ("abi_version", 0, "abi_version is 0")]:
        host = Host()
        setattr(host.struct, member, value)
        heard(words, host)
        tap.equal(host.records, [], "nothing else of such a host is called")
    for size in (ToolHost.check_content.offset, ToolHost.open_file.offset, ctypes.sizeof(ToolHost)):
        host = Host()
        host.struct.struct_size, host.struct.abi_version = size, 0
        heard("abi_version is 0", host)
    for member, value, words in [("struct_size", 8, "struct_size is too small"), ("abi_version", 2 << 16, "another major version"),
                                 ("abi_version", 1, "another major version")]:
        host = Host()
        setattr(host.struct, member, value)
        tap.contains(must_not_run(host, "invalid_host")["error"]["message"], words)
        tap.equal((host.logs, host.records), ([], []), "what the layout does not say is not called")


def test_a_verdict_that_is_none_is_logged():
    for callback in ("check_capability", "request_approval", "audit"):
        host = Host(**{callback: writes(1)})
        provider.invoke(ECHO, host)
        tap.contains(logged(host), f"{callback} wrote 0x1", callback)
    host = Host(capabilities=())
    must_not_run(host, "access_denied")
    tap.equal(host.logs, [], "a denial is no mistake")


def test_no_words_of_the_json_library():
    """What a gateway passes that cannot be read is told in the provider's words."""
    for context, words in [("{\"x\": 1}", "/x: unknown member"), ("{\"principal\": 1}", "/principal: must be a string"),
                           ("{\"principal\": \"a\" \"b\"}", "not JSON at line 1, byte"), ("[]", "must be an object")]:
        host = Host()
        host.struct.context_json = context.encode()
        tap.contains(must_not_run(host, "invalid_input")["error"]["message"], words)
    for configuration, words in [({"policy": 1}, "/policy: unknown member"), ({"sandbox": 1}, "/sandbox: must be a string"),
                                 ({"sweep": 1}, "/sweep: must be true or false"), ({"check": True, "x": 1}, "/x: unknown member"),
                                 ({"check": 1}, "/check: must be true or absent"), ({"explain": {}}, "/explain/input_json: missing"),
                                 ({"explain": {"input_json": 1}}, "/explain/input_json: must be a string")]:
        code, status = provider.prepare(**configuration)
        tap.equal((code, status["error"]["code"]), (NOT_RUN, "invalid_policy"), str(configuration))
        tap.contains(status["error"]["message"], words)
    provider.reset()


def test_no_host():
    must_not_run(None, "invalid_host")


def test_check_capability_missing():
    heard("check_capability is NULL", Host(check_capability=None))


def test_check_capability_denies():
    must_not_run(Host(capabilities=()), "access_denied")


def test_check_capability_raises():
    must_not_run(Host(check_capability=raises), "access_denied")


def test_check_capability_writes_junk():
    for junk in JUNK:
        must_not_run(Host(check_capability=writes(junk)), "access_denied")


def test_request_approval_missing():
    host = Host(request_approval=None)
    must_not_run(host, "approval_unavailable")
    tap.contains(logged(host), "no request_approval")


def test_request_approval_denies():
    must_not_run(Host(request_approval=lambda *_: None), "approval_denied")


def test_request_approval_raises():
    must_not_run(Host(request_approval=raises), "approval_denied")


def test_request_approval_writes_junk():
    for junk in JUNK:
        must_not_run(Host(request_approval=writes(junk)), "approval_denied")


def test_audit_missing():
    heard("audit is NULL", Host(audit=None))


def test_audit_denies():
    must_not_run(Host(audit=lambda *_: None), "audit_unavailable")


def test_audit_raises():
    must_not_run(Host(audit=raises), "audit_unavailable")


def test_audit_writes_junk():
    for junk in JUNK:
        must_not_run(Host(audit=writes(junk)), "audit_unavailable")


def test_read_secret_missing_denying_raising_junk():
    tap.equal(provider.use_policy(SECRET_POLICY), OK, "prepare")
    try:
        for callback in [None, lambda *_: None, raises, writes(ABSENT), *[writes(junk) for junk in JUNK]]:
            must_not_run(Host(SECRET_RIGHTS, read_secret=callback), "unknown_secret", WITH_SECRET)
        host = Host(SECRET_RIGHTS, {"token": b"s3cr3t-value"})
        code, result = provider.invoke({**WITH_SECRET, "code": "echo ${#TOKEN} $TOKEN"}, host)
        tap.equal((code, result["stdout"]), (OK, "12 [redacted:token]\n"), "positive control")
    finally:
        provider.reset()


def test_read_secret_that_lies_about_its_length():
    tap.equal(provider.use_policy(SECRET_POLICY), OK, "prepare")
    try:
        def too_long(_name, _buffer, _capacity, length, verdict):
            length[0] = 1 << 40
            verdict[0] = ALLOW
        must_not_run(Host(SECRET_RIGHTS, read_secret=too_long), "secret_too_large", WITH_SECRET)
        large = Host(SECRET_RIGHTS, {"token": b"x" * 65536})
        code, result = provider.invoke({**WITH_SECRET, "code": "echo ${#TOKEN}"}, large)
        tap.equal((code, result["stdout"]), (OK, "65536\n"), "a secret that needs the second call")
    finally:
        provider.reset()


def test_on_output_and_log_that_raise_change_nothing():
    code, result = provider.invoke(ECHO, Host(on_output=raises, log=raises))
    tap.equal((code, result["stdout"]), (OK, "canary-42\n"))
    code, result = provider.invoke(ECHO, Host(on_output=None, log=None))
    tap.equal((code, result["stdout"]), (OK, "canary-42\n"))


def test_every_truncated_struct_grants_only_what_it_holds():
    full = ctypes.sizeof(ToolHost)
    for size in range(0, full + 1):
        host = Host()
        host.struct.struct_size = size
        code, result = provider.invoke(ECHO, host)
        complete = size >= ToolHost.audit.offset + ToolHost.audit.size
        tap.equal(code, OK if complete else NOT_RUN, f"return code with struct_size {size}")
        tap.equal("canary" in result["stdout"], complete, f"ran with struct_size {size}")


def test_larger_struct_of_a_newer_host():
    class NewerHost(ctypes.Structure):
        _fields_ = [("known", ToolHost), ("unknown", ctypes.c_uint64 * 8)]
    host = Host()
    newer = NewerHost(known=host.struct)
    newer.unknown[:] = [0xDEADBEEF] * 8
    newer.known.struct_size = ctypes.sizeof(NewerHost)
    code, result = provider.invoke(ECHO, ctypes.byref(newer))
    tap.equal((code, result["stdout"]), (OK, "canary-42\n"))


def test_another_major_version_grants_nothing():
    for version in (0, 2 << 16, 0xFFFFFFFF):
        host = Host()
        host.struct.abi_version = version
        must_not_run(host, "invalid_host")
    host = Host()
    host.struct.abi_version = ABI_VERSION | 7
    tap.equal(provider.invoke(ECHO, host)[0], OK, "a newer minor version")


def test_reply_from_inside_the_callback():
    replies = []

    def approve(token, _request, _verdict):
        replies.append(provider.reply(token, {"decision": "allow_once", "approver": "test"}))
        replies.append(provider.reply(token, {"decision": "allow_once"}))
    code, result = provider.invoke(ECHO, Host(request_approval=approve))
    tap.equal((code, replies), (OK, [ACCEPTED, UNKNOWN]))
    tap.equal((result["approval"]["decision"], result["approval"]["approver"]), ("allow_once", "test"))


def reply_inside(decision, code="approval_denied"):
    outcome = []

    def approve(token, _request, verdict):
        outcome.append(provider.reply(token, decision))
        verdict[0] = ALLOW  # a reply stands before the verdict: a host that contradicts itself denies
    result = must_not_run(Host(request_approval=approve), code)
    return outcome[0], result


def test_replies_that_are_not_a_decision_deny():
    for decision in [b"", b"{}", b"junk", b"[]", b'{"decision":"allow"}', b'{"decision":"ALLOW_ONCE"}',
                     b'{"decision":"allow_once","extra":1}', b'{"decision":"deny","decision":"allow_once"}',
                     b'{"decision":"allow_once"', b'{"decision":1}', None,
                     {"decision": "allow_once", "request_sha256": "short"}]:
        tap.equal(reply_inside(decision)[0], INVALID, f"reply {decision!r}")
    other = {"decision": "allow_once", "request_sha256": "0" * 64}
    tap.equal(reply_inside(other, "approval_mismatch")[0], INVALID, "a decision for another request")
    code, result = reply_inside({"decision": "deny", "reason": "not today"})
    tap.equal(code, ACCEPTED)
    tap.equal(result["error"]["message"], "approval denied: not today")


def test_reply_later_from_another_thread():
    def approve(token, _request, verdict):
        verdict[0] = LATER
        threading.Timer(0.2, provider.reply, (token, {"decision": "allow_once"})).start()
    code, result = provider.invoke(ECHO, Host(request_approval=approve))
    tap.equal((code, result["stdout"]), (OK, "canary-42\n"))


def test_waiting_for_approval_times_out():
    tap.equal(provider.use_policy({"approval": {"timeout_ms": 200}}), OK, "prepare")
    try:
        tokens = []

        def approve(token, _request, verdict):
            tokens.append(token)
            verdict[0] = LATER
        begin = time.monotonic()
        must_not_run(Host(request_approval=approve), "approval_timeout")
        tap.true(time.monotonic() - begin >= 0.2, "it waited")
        tap.equal(provider.reply(tokens[0], {"decision": "allow_once"}), UNKNOWN, "a late reply")
    finally:
        provider.reset()


def test_pending_then_granted_then_used_once():
    tokens = []

    def approve(token, _request, verdict):
        tokens.append(token)
        verdict[0] = PENDING
    request = {**ECHO, "reason": "pending"}
    first = must_not_run(Host(request_approval=approve), "approval_pending", request)
    tap.equal(first["status"], "pending")
    second = must_not_run(Host(request_approval=approve), "approval_pending", request)
    tap.equal((len(tokens), second["approval"]["id"]), (1, first["approval"]["id"]), "asked once")
    tap.equal(provider.reply(tokens[0], {"decision": "allow_once"}), ACCEPTED)
    changed = Host(request_approval=lambda *_: None)
    must_not_run(changed, "approval_denied", {**request, "code": "echo canary-other"})
    tap.equal(provider.invoke(request, Host(request_approval=raises))[0], OK, "the identical call uses the grant")
    must_not_run(Host(request_approval=lambda *_: None), "approval_denied", request)


def test_unknown_token_and_call():
    tap.equal(provider.reply(12345, {"decision": "allow_once"}), UNKNOWN)
    tap.equal((provider.cancel(0), provider.cancel(99)), (UNKNOWN, UNKNOWN))


def test_cancel_while_waiting_for_approval():
    def approve(_token, _request, verdict):
        verdict[0] = LATER
        threading.Timer(0.2, provider.cancel, (77,)).start()
    result = must_not_run(Host(call_id=77, request_approval=approve), "cancelled")
    tap.equal(result["status"], "cancelled")


def test_cancel_from_inside_a_callback():
    """Whatever that callback then allows: no secret is read for it, no start is recorded, nothing runs."""
    class Cancelling(Host):
        read = 0

        def read_secret(self, *arguments):
            self.read += 1
            super().read_secret(*arguments)

    def cancelling(name):
        def callback(*arguments):
            getattr(Host, name)(host, *arguments)
            tap.equal(provider.cancel(78), ACCEPTED)
        host = Cancelling(SECRET_RIGHTS, secrets={"token": b"a-secret-of-some-length"}, call_id=78, **{name: callback})
        return host

    provider.use_policy(SECRET_POLICY)
    try:
        for name in ("check_capability", "request_approval"):
            host = cancelling(name)
            tap.equal(must_not_run(host, "cancelled", WITH_SECRET)["status"], "cancelled", name)
            tap.equal((host.read, [record["event"] for record in host.records]), (0, ["refused"]), name)
        for name, events in (("read_secret", ["refused"]), ("audit", ["start", "end"])):
            host = cancelling(name)
            code, result = provider.invoke(WITH_SECRET, host)
            tap.equal((code, result["status"], result["isolation"]["applied"], result["stdout"]), (NOT_RUN, "cancelled", [], ""), name)
            tap.equal([record["event"] for record in host.records], events, name)
        host = Cancelling(SECRET_RIGHTS, secrets={"token": b"a-secret-of-some-length"}, call_id=78)
        tap.equal((provider.invoke(WITH_SECRET, host)[0], host.read > 0), (OK, True), "not cancelled")
    finally:
        provider.reset()


def test_callbacks_run_on_the_calling_thread_only():
    threads = set()

    def note(*_):
        threads.add(threading.get_native_id())
    host = Host(on_output=note, log=note)
    provider.invoke(ECHO, host)
    tap.equal(threads, {threading.get_native_id()})
    sanitizers = int("libtsan" in os.environ.get("LD_PRELOAD", ""))  # has a thread of its own
    tap.equal(len(os.listdir("/proc/self/task")) - sanitizers, sum(t.is_alive() for t in threading.enumerate()),
              "the provider starts no thread")


def test_context_is_strict():
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    host = Host(context={"principal": "alice", "traceparent": trace})
    code, result = provider.invoke(ECHO, host)
    tap.equal((code, result["traceparent"]), (OK, trace))
    refused = must_not_run(Host(capabilities=(), context={"traceparent": trace}), "access_denied")
    tap.equal(refused["traceparent"], trace)
    tap.true("traceparent" not in provider.invoke(ECHO, Host())[1], "nobody named one")
    tap.equal({(record["principal"], record["traceparent"]) for record in host.records}, {("alice", trace)})
    junk = Host(context={"traceparent": "00-1-2-03"})
    code, result = provider.invoke(ECHO, junk)
    tap.equal(code, OK)
    tap.equal({record["traceparent"] for record in junk.records}, {None})
    tap.true("traceparent" not in result, "junk is not repeated")
    tap.true(any("traceparent" in note for note in result["notes"]), result["notes"])
    must_not_run(Host(context={"principle": "alice"}), "invalid_input")
    must_not_run(Host(context={"policy": {"principle": "alice"}}), "invalid_input")
    tap.equal(provider.invoke(ECHO, Host(context={"policy": {}}))[0], OK)


def test_bad_arguments():
    library = provider.library
    tap.equal(library.tool_invoke(b"code_execute", b"{}", None, None), -1, "no place for the output")
    for tool in (None, "", "code_execute ", "sandbox"):
        code, result = provider.invoke(ECHO, Host(), tool=tool)
        tap.equal((code, result["error"]["code"]), (NOT_RUN, "unknown_tool"), f"tool {tool!r}")
    code, result = provider.invoke(None, Host())
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "invalid_input"))
    library.tool_free(None)


def test_a_first_configuration_that_is_refused_is_not_replaced_by_a_default():
    provider.reset()
    tap.equal(provider.prepare(sandbox="dokcer")[0], NOT_RUN)
    must_not_run(Host(), "unknown_mode")
    tap.equal(provider.prepare(sandbox="process")[0], OK)
    tap.equal(provider.invoke(ECHO, Host())[0], OK)
    code, status = provider.prepare(policy_file="/nonexistent.json")
    tap.equal((code, status["error"]["code"]), (NOT_RUN, "invalid_policy"))
    tap.equal(provider.invoke(ECHO, Host())[0], OK, "the one before stays")
    provider.reset()


tap.run(globals())
