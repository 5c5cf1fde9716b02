# SPDX-License-Identifier: Apache-2.0
"""Calls of the gateway's tools by a program: what the host gets, what the program gets, and each way in which it can go wrong. The
programs speak the frames themselves (tool_host.py); the runners' modules have suites of their own."""
import ctypes
import hashlib
import json
import pathlib
import re
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import engine
import tap
from modes import MODE, own_processes, run_cases
from provider import ACCEPTED, INVALID, NOT_RUN, OK, PENDING, UNKNOWN, Host
from tool_calls import printed, provider, run, use
from tool_host import ALLOW, DENY, AtOnce, add_one, text, tool, value


def test_a_call_reaches_the_host_and_its_answer_the_program():
    use()
    host, result, out = printed("print(result(7, 'add', x=41))")
    tap.equal(out, "(7, 1, b'42')\n")
    [(_, call, bytes_of_call)] = host.calls
    tap.equal({name: call[name] for name in ("run_id", "seq", "name", "principal", "session", "arguments")},
              {"run_id": result["run_id"], "seq": 1, "name": "add", "principal": "ann", "session": None, "arguments": {"x": 41}})
    tap.true(0 < call["deadline_ms"] <= 60000, call)
    tap.true(bytes_of_call.endswith(b'"arguments":{"x": 41}}'), bytes_of_call)
    expected = hashlib.sha256(f"{result['run_id']}\n1\nadd\n".encode() + b'{"x": 41}').hexdigest()
    tap.equal(call["call_sha256"], expected)
    [row] = result["calls"]
    tap.equal({name: row[name] for name in ("seq", "tool", "status", "bytes_in", "bytes_out", "call_sha256")},
              {"seq": 1, "tool": "add", "status": "ok", "bytes_in": 9, "bytes_out": 2, "call_sha256": expected})
    events = [(record["event"], record.get("call_sha256")) for record in host.records]
    tap.equal(events, [("start", None), ("tool_call", expected), ("tool_call_end", expected), ("end", None)])
    tap.equal({record["run_id"] for record in host.records}, {result["run_id"]})
    tap.lacks(json.dumps(host.records), '"x"', "the audit has no arguments")
    tap.equal(host.replies, [ACCEPTED])


def test_the_records_of_a_call_are_those_of_the_page():
    use()
    host = printed("result(1, 'add')")[0]
    page = (pathlib.Path(__file__).parents[2] / "docs/audit.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (`tool_call[`a-z_, ]*) \|", page, re.M)
    tap.true(len(rows) > 10, rows)
    for event in "tool_call", "tool_call_end":
        [record] = [record for record in host.records if record["event"] == event]
        tap.equal(sorted(record), sorted(member for member, events in rows if f"`{event}`" in events), event)


def test_the_program_is_told_its_tools():
    use()
    tools = [tool("jira.find", title="Find", description="Finds issues."), tool("jira.close"), tool("mail")]
    out = printed("print(json.dumps([[t['name'], t['identifier'], t.get('title'), t.get('description')] for t in listed]))", tools=tools, wanted=["jira.*"])[2]
    tap.equal(json.loads(out), [["jira.find", "jira_find", "Find", "Finds issues."], ["jira.close", "jira_close", None, None]])


def test_a_later_answer_comes_from_another_thread():
    use()
    host, result, out = printed("print(result(1, 'add', x=1))", lambda host, token, call: host.reply_later(token, text("later"), 0.05))
    tap.equal(out, "(1, 2, b'later')\n")
    tap.true(result["calls"][0]["duration_ms"] >= 40, result)


def test_each_form_of_answer():
    use()
    replies = [text("hello"), value({"rows": [1, 2]}), value(None), {"content": [{"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}]},
               {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"content": [{"type": "text", "text": "bad"}], "is_error": True},
               {"content": [], "structuredContent": 3}, {"content": [{"type": "text", "text": "bad"}], "isError": True}]
    host, result, out = printed("for n in range(1, 9): print(*result(n, 'add')[1:])", lambda host, token, call: host.reply(token, replies[call["seq"] - 1]))
    tap.equal(out.splitlines()[:3], ["2 b'hello'", '1 b\'{"rows":[1,2]}\'', "1 b'null'"])
    tap.equal(out.splitlines()[3], "3 b'\\timage/pnghello'")
    tap.true(out.splitlines()[4].startswith("4 b'["), out)
    tap.equal([json.loads(line[4:-1])["code"] for line in out.splitlines() if line.startswith("5 ")], ["tool_error", "tool_error"])
    tap.equal([row["status"] for row in result["calls"]], ["ok"] * 5 + ["error", "ok", "error"])


def test_a_host_that_denies():
    use()
    for verdict in (DENY, ALLOW, 1, PENDING):
        host, result, out = printed("call(1, 'add', {})\nprint(code(answer()))", lambda host, token, call: verdict)
        tap.equal((out, result["calls"][0]["status"], result["calls"][0]["code"]), ("host_denied\n", "denied", "host_denied"), verdict)
        tap.equal(provider.reply_call(host.calls[0][0], value(1)), UNKNOWN)


def test_an_answer_from_inside_counts_whatever_the_verdict():
    use()

    def serve(host, token, call):
        host.reply(token, value(5))
        return DENY
    tap.equal(printed("print(result(1, 'add'))", serve)[2], "(1, 1, b'5')\n")


def test_a_second_answer_is_unknown():
    use()

    def serve(host, token, call):
        host.reply(token, value(1))
        host.reply(token, value(2))
    host, _, out = printed("print(result(1, 'add'))", serve)
    tap.equal((out, host.replies), ("(1, 1, b'1')\n", [ACCEPTED, UNKNOWN]))
    tap.equal([provider.reply_call(token, value(1)) for token in (0, 1, host.calls[0][0], 2 ** 64 - 1)], [UNKNOWN] * 4)


def test_answers_that_cannot_be_used():
    use(result_bytes=1 << 20)
    bad = [b"", b"nonsense", b"[]", b'{"content": 1}', b'{"content": [], "content": []}', b'{"content": [{"type": "text", "text": "\xff"}]}',
           b'{"content": [{"type": "image", "mimeType": "image/png", "data": "?"}]}']
    host, result, out = printed(f"for n in range(1, {len(bad) + 1}): print(code(result(n, 'add')))", lambda host, token, call: host.reply(token, bad[call["seq"] - 1]))
    tap.equal(out.split(), ["host_failed"] * len(bad))
    tap.equal(host.replies, [INVALID] + [ACCEPTED] * (len(bad) - 1))


def test_an_answer_of_a_hundred_mebibytes():
    use(result_bytes=1 << 20)
    host, result, out = printed("print(code(result(1, 'add')))\nprint(result(2, 'add')[1])",
                                lambda host, token, call: host.reply(token, b" " * (100 << 20) if call["seq"] == 1 else value("x" * ((1 << 20) - 100))))
    tap.equal((out, host.replies), ("host_failed\n1\n", [INVALID, ACCEPTED]))


def test_arguments_that_do_not_fit():
    use()
    host, result, out = printed("call(1, 'add', {'x': 'one'}); print(answer()[2].decode())\n"
                                "for bad in b'', b'1', b'{', b'{\"x\": 1, \"x\": 2}', b'{\"x\": \"\\xff\"}', b'{} {}':\n    call(2, 'add', bad); print(code(answer()))")
    first, *others = out.splitlines()
    tap.equal(json.loads(first)["code"], "invalid_arguments")
    tap.contains(json.loads(first)["message"], "/x")
    tap.equal((others, host.calls), (["invalid_arguments"] * 6, []))


def test_a_tool_that_the_run_does_not_have():
    use()
    host, _, out = printed("for name in 'mail', 'add ', 'code_execute', '': call(1, name, {}); print(code(answer()))", tools=("add", "mail"))
    tap.equal((out.split()[:3], host.calls), (["unknown_tool"] * 3, []))


def test_what_a_request_may_name():
    use(denied=["secret.*"], allowed=["add", "jira.*", "secret.*", "code_execute"])
    tools = ("add", "mail", "jira.find", "secret.read", "code_execute")
    for wanted, code in ((["mail"], "policy_denied"), (["secret.read"], "policy_denied"), (["code_execute"], "policy_denied"), (["nothing"], "invalid_input"), (["mai*"], "invalid_input"), ([""], "invalid_input"), (["a*b"], "invalid_input")):
        status, result = run("", tools=tools, wanted=wanted)[1:]
        tap.equal((status, result["error"]["code"]), (NOT_RUN, code), wanted)
    tap.equal(printed("print([t['name'] for t in listed])", tools=tools, wanted=["*"])[2], "['add', 'jira.find']\n")


def test_each_tool_needs_its_capability():
    use()
    host, status, result = run("", rights=("sandbox.exec",))
    tap.equal((status, result["error"]["code"], result["error"]["message"]), (NOT_RUN, "access_denied", "access denied: sandbox.exec.tools=add"))
    out = printed("print(result(1, 'add')[1])", rights=("sandbox.exec", "sandbox.exec.tools=add"))[2]
    tap.equal(out, "1\n")
    tap.equal(run("", tools=("add", "mail"), wanted=["*"], rights=("sandbox.exec", "sandbox.exec.tools=add"))[1], NOT_RUN)


def test_a_right_that_is_taken_away_meanwhile():
    use()

    def serve(host, token, call):
        host.capabilities.discard("sandbox.exec.tools")
        host.reply(token, value(1))
    host, result, out = printed("print(result(1, 'add')[1], code(result(2, 'add')))", serve)
    tap.equal((out, len(host.calls), result["calls"][1]["status"]), ("1 access_denied\n", 1, "denied"))


def test_without_tools_nothing_is_there():
    use()
    code = "import os\nfor fd in 62,:\n    try: os.fstat(fd); print('open')\n    except OSError: print('closed')"
    host, _, result = run(code, raw="", wanted=())
    tap.equal((result["stdout"], "calls" in result), ("closed\n", False), result)


def test_requests_that_cannot_have_tools():
    use()
    for request, host, code in (({"language": "perl", "code": "1"}, {}, "not_supported"), ({}, {"tools": ()}, "not_supported"), ({"session": "new"}, {}, "not_supported")):
        status, result = run("", request=request, **host)[1:]
        tap.true(status == NOT_RUN and result["error"]["code"] in (code, "access_denied"), result)
    host = Host(("sandbox.exec", "sandbox.exec.tools"), context={"tools": [tool("add")]})
    status, result = provider.invoke({"language": "python", "code": "1"}, host)
    tap.equal((status, result["error"]["code"]), (NOT_RUN, "invalid_host"), "a context with tools and no call_tool")
    tap.contains(result["error"]["message"], "call_tool is NULL")


def test_the_last_allowed_call_and_one_more():
    use(max_calls=3)
    host, result, out = printed("for n in range(1, 6):\n    a = result(n, 'add'); print(a[1] if a[1] == 1 else code(a))")
    tap.equal((out.split(), len(host.calls)), (["1", "1", "1", "limit_exceeded", "limit_exceeded"], 3))
    tap.equal([row["status"] for row in result["calls"]], ["ok"] * 3 + ["error"] * 2)


def test_no_more_are_in_flight_than_allowed_and_none_is_lost():
    use(max_in_flight=16)
    open_now, most = set(), []

    def serve(host, token, call):
        open_now.add(token)
        most.append(len(open_now))

        def answer():
            open_now.discard(token)
            host.reply(token, value(call["arguments"]["x"]))
        threading.Timer(0.05, answer).start()
    host, result, out = printed("for n in range(1, 101): call(n, 'add', {'x': n * 2})\nprint(sorted(answer()[::2] for _ in range(100)) == sorted((n, str(n * 2).encode()) for n in range(1, 101)))", serve)
    tap.equal((out, max(most), len(result["calls"])), ("True\n", 16, 100))


def test_behind_what_is_no_frame_calls_fail_at_once():
    """Whether the module has been used before or not; the call that is open then fails too, and the host hears so."""
    use()
    spoil = "import os\nos.write(63, b'\\xff' * 5)\n"
    codes = "def code(x):\n    try: return tools.add(x=x)\n    except tools.ToolError as error: return error.code\n"
    after = codes + "import tools\nprint(code(1), code(2))"
    tap.equal(printed(spoil + after, raw="")[2], "unavailable unavailable\n")
    host, result, out = printed("import tools\nprint(tools.add(x=1))\n" + spoil + after, raw="")
    tap.equal((out, len(host.calls)), ("2\nunavailable unavailable\n", 1))
    tap.true(any("not understood" in note for note in result["notes"]), result["notes"])
    open_call = codes + ("import threading, time, tools\nthread = threading.Thread(target=lambda: print(code(1), flush=True))\nthread.start()\n"
                         "while code(2) != 3: time.sleep(0.01)\n" + spoil + "thread.join()\nprint(code(3))")
    def serve(host, token, call):
        """Never the first; the second only once the first is there."""
        if call["arguments"]["x"] == 1:
            return
        if any(entry[1]["arguments"]["x"] == 1 for entry in host.calls):
            add_one(host, token, call)
        else:
            host.reply(token, value(0))
    host, result, out = printed(open_call, serve, raw="")
    tap.equal(out, "unavailable\nunavailable\n")
    [(token, _, _)] = [entry for entry in host.calls if entry[1]["arguments"]["x"] == 1]
    tap.equal((host.cancelled, {(row["status"], row.get("code")) for row in result["calls"]}), ([token], {("ok", None), ("error", "unavailable")}))


def test_the_module_keeps_to_what_the_policy_allows():
    """More than sixteen, where it says so; and where it says less, what is too much waits inside, however long its arguments are."""
    threads = ("import concurrent.futures, tools\nwith concurrent.futures.ThreadPoolExecutor(40) as pool:\n"
               "    print(sum(pool.map(lambda x: tools.add(x=x, y='y' * 3000), range(40))))")
    loop = ("import asyncio, tools\nasync def main():\n"
            "    print(sum(await asyncio.gather(*[tools.aio.add(x=x, y='y' * 3000) for x in range(40)])))\nasyncio.run(main())")
    for most in (2, 16, 40):
        use(max_in_flight=most, arguments_bytes=4096, call_timeout_ms=20000)
        for program in (threads, loop):
            at_once = AtOnce(most)
            host, result, out = printed(program, at_once.serve, raw="")
            tap.equal((out, at_once.most, {row["status"] for row in result["calls"]}), (f"{sum(range(1, 41))}\n", most, {"ok"}), program)


def test_answers_in_another_order():
    use()
    waiting = []

    def serve(host, token, call):
        waiting.append((token, call["seq"]))
        if len(waiting) == 3:
            for token, seq in reversed(waiting):
                host.reply(token, value(seq))
    tap.equal(printed("for n in 1, 2, 3: call(n, 'add', {})\nprint([answer()[0] for _ in range(3)])", serve)[2], "[3, 2, 1]\n")


def test_a_program_that_ends_with_calls_in_flight():
    use()
    host, result, _ = printed("call(1, 'add', {}); call(2, 'add', {}); import time\nwhile True:\n    try: os.stat('/proc/self'); time.sleep(0.2); break\n    finally: pass", lambda host, token, call: None)
    tap.equal(sorted(host.cancelled), sorted(token for token, *_ in host.calls))
    tap.equal([(row["status"], row["code"]) for row in result["calls"]], [("cancelled", "cancelled")] * 2)
    tap.equal([provider.reply_call(token, value(1)) for token in host.cancelled], [UNKNOWN] * 2)


def test_a_run_is_cancelled_while_the_host_works():
    use()

    def serve(host, token, call):
        threading.Timer(0.05, provider.cancel, (77,)).start()
    host, status, result = run("result(1, 'add')", serve, call_id=77)
    tap.equal((status, result["status"], host.cancelled, result["calls"][0]["status"]), (OK, "cancelled", [host.calls[0][0]], "cancelled"), result)


def test_an_answer_behind_its_deadline():
    use(call_timeout_ms=100)
    host, result, out = printed("print(code(result(1, 'add')))", lambda host, token, call: None)
    tap.equal((out, host.cancelled, result["calls"][0]["status"]), ("timeout\n", [host.calls[0][0]], "error"))
    tap.equal(provider.reply_call(host.calls[0][0], value(1)), UNKNOWN)


def test_a_call_that_is_not_recorded_is_not_made():
    use()

    def audit(record, verdict):
        verdict[0] = DENY if b'"event":"tool_call"' in record else ALLOW
    host, result, out = printed("print(code(result(1, 'add')))", audit=audit)
    tap.equal((out, host.calls), ("unavailable\n", []))


def test_waiting_is_no_computing():
    """The program's wall time is over while the host works; it goes on, because it has not computed."""
    use()
    host, result, out = printed("print(result(1, 'add', x=1))", lambda host, token, call: host.reply_later(token, value(2), 2.0), request={"timeout_ms": 700})
    tap.equal((out, result["status"]), ("(1, 1, b'2')\n", "completed"))


def test_computing_while_a_call_is_open_is_charged():
    use()
    host, status, result = run("call(1, 'add', {})\nwhile True: pass", lambda host, token, call: None, request={"timeout_ms": 700})
    tap.equal((result["status"], result["cause"], host.cancelled), ("timeout", "wall_timeout", [host.calls[0][0]]), result)
    tap.true(result["duration_ms"] < 10000, result)


def test_waiting_has_a_bound():
    use(wait_total_ms=500)
    host, status, result = run("result(1, 'add')", lambda host, token, call: None, request={"timeout_ms": 500})
    tap.equal((result["status"], result["cause"]), ("timeout", "wall_timeout"), result)
    tap.true(result["duration_ms"] >= 900, result)


def test_a_rate_holds_calls_up():
    use(rate_per_s=10)
    begun = time.monotonic()
    host, result, out = printed("print(all(result(n, 'add')[1] == 1 for n in range(1, 16)))")
    tap.equal((out, len(host.calls)), ("True\n", 15))
    tap.true(time.monotonic() - begun > 0.4, "five more than ten took no time")


def test_frames_that_are_none():
    use()
    host, result, out = printed("send(5, b''); send(5, b'\\0' * 6); send(5, struct.pack('<IH', 3, 500) + b'x')\nprint(answer()[0], result(9, 'add')[1])")
    tap.equal((out, len(host.calls)), ("3 1\n", 1))
    host, status, result = run("send(9, b'x')\nprint('on')")
    tap.equal((result["status"], result["stdout"], host.calls), ("completed", "on\n", []), result)


def test_a_program_that_never_reads():
    """The gateway's memory is bounded, whatever the program sends."""
    use(result_bytes=65536)
    host, result, out = printed("import sys\nfor n in range(1, 200001): call(n, 'nothing', {})\nprint('sent')")
    tap.equal((out, len(host.calls)), ("sent\n", 0))
    tap.equal(len(result["calls"]), 256)
    tap.true(any("calls of tools" in note for note in result["notes"]), result["notes"])


def test_a_call_while_many_answers_wait():
    """More of them than the gateway begins further calls with. The program makes one before it reads."""
    use(result_bytes=65536)
    large = value("x" * 60000)

    def serve(host, token, call):
        if call["seq"] >= 16:
            for token, *_ in host.calls if call["seq"] == 16 else host.calls[-1:]:
                host.reply(token, large)
    out = printed("import select\nfor n in range(1, 17): call(n, 'add', {})\nselect.select([62], [], [])\ncall(17, 'add', {}); call(18, 'mail', {})\nprint(sorted(answer()[0] for _ in range(18)))", serve)[2]
    tap.equal(out, f"{list(range(1, 19))}\n")


def test_an_answer_of_four_mebibytes():
    use(result_bytes=5 << 20)
    size = 4 << 20
    out = printed("import hashlib\n_, form, answered = result(1, 'add')\nprint(form, len(answered), hashlib.sha256(answered).hexdigest())",
                  lambda host, token, call: host.reply(token, text("abcdefg" * (size // 7))))[2]
    tap.equal(out, f"2 {size // 7 * 7} {hashlib.sha256(b'abcdefg' * (size // 7)).hexdigest()}\n")


# Sixteen answers, more than is kept anywhere on the way to a program that reads none of them.
UNREAD = "for n in range(1, 17): call(n, 'add', {})\n"


def answer_a_mebibyte(host, token, call):
    host.reply(token, text("x" * 1000000))


def test_answers_that_nobody_reads_hold_no_output_up():
    use(result_bytes=1 << 20)
    out = printed(UNREAD + "for _ in range(100): print('x' * 5000)\nprint('over')", answer_a_mebibyte)[2]
    tap.true(out.endswith("x\nover\n"), out[-100:])


def test_a_run_is_cancelled_while_answers_wait():
    """And its files come."""
    use(result_bytes=1 << 20)

    def on_output(stream, data, length):
        if stream == 1 and b"stuck" in ctypes.string_at(data, length):
            threading.Thread(target=provider.cancel, args=(78,)).start()
    code = UNREAD + "open('kept.txt', 'w').write('kept')\nprint('stuck', flush=True)\nwhile True: pass"
    host, status, result = run(code, answer_a_mebibyte, request={"outputs": ["*"]}, rights=("sandbox.exec", "sandbox.exec.tools", "sandbox.exec.files"), call_id=78, on_output=on_output)
    tap.equal((result["status"], [(file["path"], file["content"]) for file in result["files"]]), ("cancelled", [("kept.txt", "kept")]), result)


def test_a_program_that_closes_its_ends():
    use()
    host, result, out = printed("call(1, 'add', {})\nos.close(62)\nprint('closed')", lambda host, token, call: host.reply_later(token, value("x" * 300000), 0.05))
    tap.equal(out, "closed\n")


def test_a_host_that_runs_code_again():
    """From inside the call of a tool. It needs another place; where there is none it hears so at once."""
    for runs, expected in ((4, "completed"), (1, "error")):
        provider.reset()
        tap.equal(provider.use_policy({"tools": {"allowed": ["*"]}, "capabilities": ["sandbox.exec", "sandbox.exec.tools"], "max_runs": runs}), OK)
        inner = []

        def serve(host, token, call):
            inner.append(provider.invoke({"language": "python", "code": "print(1)"}, Host())[1])
            host.reply(token, value(1))
        begun = time.monotonic()
        printed("print(result(1, 'add')[1])", serve)
        tap.equal(inner[0]["status"], expected, inner)
        if runs == 1:
            tap.equal(inner[0]["error"]["code"], "too_many_requests", inner)
            tap.true(time.monotonic() - begun < 4, "it has not waited")


def test_a_child_that_calls_is_the_program():
    use()
    out = printed("if os.fork() == 0:\n    print(result(1, 'add')[1], flush=True); os._exit(0)\nos.wait()\nprint(result(2, 'add')[0])")[2]
    tap.equal(out, "1\n2\n")


if MODE == "docker":
    def test_no_descriptor_is_left_in_the_backend():
        """Containers that wait have connections, so their number is awaited first."""
        counts = []

        def settled(most=sys.maxsize):
            if len(engine.waiting()) != 2 or len(engine.containers()) != 2:
                return False
            counts.append(sum(len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir())) for pid in own_processes()))
            return counts[-1] < most
        use()
        printed("print(result(1, 'add')[1])")
        tap.eventually(settled, "two containers wait")
        before = counts[-1]
        for _ in range(6):
            printed("print(result(1, 'add')[1])")
        tap.eventually(lambda: settled(before + 6), f"as many descriptors as before, {before}")


def with_module(code, serve=add_one, **more):
    return printed("import tools\n" + code, serve, raw="", **more)


def test_the_module_of_python():
    use()
    host, result, out = with_module("rows = [tools.add(x=n) for n in range(5)]\nprint(sum(rows), tools.names())\nsum(rows)")
    tap.equal((out, len(host.calls)), ("15 ['add']\n", 5))
    tap.equal([row["text"] for row in result["results"] if "text" in row] or [result["results"][0]["data"]["text/plain"]], ["15"])


def test_the_module_calls_many_at_once():
    use()
    code = ("import asyncio\nasync def main():\n    return await asyncio.gather(*(tools.aio.add(x=n) for n in range(60)))\n"
            "print(asyncio.run(main()) == list(range(1, 61)))")
    host, result, out = with_module(code, lambda host, token, call: host.reply_later(token, value(call["arguments"]["x"] + 1), 0.01))
    tap.equal((out, len(host.calls)), ("True\n", 60))


def test_the_module_raises():
    use()
    code = "try: tools.add(x='one')\nexcept tools.ToolError as error: print(error.code, error.name)\ntry: tools.add()\nexcept tools.ToolError as error: print(error.code, error.message)"
    out = with_module(code, lambda host, token, call: host.reply(token, {"content": [{"type": "text", "text": "no luck"}], "isError": True}))[2]
    tap.equal(out, "invalid_arguments add\ntool_error no luck\n")
    error = run("import tools\ntools.add()", lambda host, token, call: DENY, raw="")[2]
    tap.equal((error["exception"]["name"].rpartition(".")[2], error["exit_code"]), ("ToolError", 1), error)


def test_a_program_may_have_a_module_of_that_name():
    use()
    host = Host(("sandbox.exec", "sandbox.exec.files"))
    result = provider.invoke({"language": "python", "code": "import tools\nprint(tools.mine)", "files": [{"path": "tools.py", "content": "mine = 1"}]}, host)[1]
    tap.true(result["stdout"] == "1\n" or (result["error"] or {}).get("code") == "access_denied", result)


# Those that the way between gateway and program decides. The others are about the gateway, which is the same in every mode.
CARRIED = ("a_call_reaches_the_host_and_its_answer_the_program", "the_program_is_told_its_tools", "without_tools_nothing_is_there",
           "no_more_are_in_flight_than_allowed_and_none_is_lost", "answers_in_another_order",
           "a_program_that_ends_with_calls_in_flight", "a_run_is_cancelled_while_the_host_works", "waiting_is_no_computing",
           "computing_while_a_call_is_open_is_charged", "waiting_has_a_bound", "frames_that_are_none", "behind_what_is_no_frame_calls_fail_at_once", "the_module_keeps_to_what_the_policy_allows",
           "a_program_that_never_reads",
           "an_answer_of_four_mebibytes", "answers_that_nobody_reads_hold_no_output_up", "a_run_is_cancelled_while_answers_wait",
           "a_program_that_closes_its_ends", "a_child_that_calls_is_the_program", "no_descriptor_is_left_in_the_backend", "the_module_of_python", "the_module_calls_many_at_once", "the_module_raises")
# Without namespaces: those that its own supervision, its user and its descriptors decide.
WITHOUT_NAMESPACES = ("a_call_reaches_the_host_and_its_answer_the_program", "without_tools_nothing_is_there", "a_program_that_ends_with_calls_in_flight",
                      "a_run_is_cancelled_while_the_host_works", "waiting_is_no_computing", "computing_while_a_call_is_open_is_charged",
                      "waiting_has_a_bound", "a_program_that_never_reads", "an_answer_of_four_mebibytes", "a_program_that_closes_its_ends",
                      "a_child_that_calls_is_the_program")
run_cases(globals(), CARRIED, WITHOUT_NAMESPACES)
