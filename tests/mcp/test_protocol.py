# SPDX-License-Identifier: Apache-2.0
"""toolhost mcp on the wire: both eras, errors, many calls, cancelling, progress."""

import json
import os
import pathlib
import re
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

import tap
from client import CODE_EXECUTE, HANDSHAKE, MODERN, McpTest, meta


class Handshake(McpTest):
    def test_each_revision_is_spoken_and_an_unknown_one_gets_the_latest(self):
        for revision in HANDSHAKE:
            with self.subTest(revision):
                self.assertEqual(self.start().handshake(revision)["protocolVersion"], revision)
        for unknown in ("1999-01-01", MODERN):
            self.assertEqual(self.start().handshake(unknown)["protocolVersion"], HANDSHAKE[0])

    def test_discover_names_the_server(self):
        result = self.start().handshake()
        self.assertEqual(result["serverInfo"], {"name": "fixture", "version": "1.0.0"})
        self.assertIn("tools", result["capabilities"])

    def test_ping_before_and_after(self):
        wire = self.start()
        self.assertEqual(wire.call("ping"), {})
        wire.handshake()
        self.assertEqual(wire.call("ping"), {})

    def test_nothing_else_before_it(self):
        wire = self.start()
        for method in ("tools/list", "tools/call", "logging/setLevel"):
            self.assertEqual(wire.error(method, {})["code"], -32602)

    def test_without_protocol_version(self):
        error = self.start().error("initialize", {})
        self.assertEqual(error["code"], -32602)
        self.assertEqual(error["data"]["supported"], [MODERN, *HANDSHAKE])

    def test_logging_level(self):
        wire = self.started()
        self.assertEqual(wire.call("logging/setLevel", {"level": "debug"}), {})
        self.assertEqual(wire.error("logging/setLevel", {"level": "loud"})["code"], -32602)

    def test_results_have_nothing_of_the_later_era(self):
        wire = self.started()
        for result in (wire.call("tools/list"), wire.call("tools/call", wire.tool_call("echo x"))):
            self.assertFalse({"resultType", "ttlMs", "cacheScope", "requestState"} & set(result))


class Modern(McpTest):
    def test_discover(self):
        result = self.start().call("server/discover", {"_meta": meta()})
        self.assertEqual(result["supportedVersions"], [MODERN, *HANDSHAKE])
        self.assertEqual(result["resultType"], "complete")
        self.assertIsInstance(result["ttlMs"], int)
        self.assertIn(result["cacheScope"], ("public", "private"))
        self.assertEqual(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fixture")

    def test_list_and_call_without_anything_before(self):
        wire = self.start("--approve", "always")
        tools = wire.call("tools/list", {"_meta": meta()})
        self.assertEqual([tool["name"] for tool in tools["tools"]], ["code_execute"])
        self.assertIn("ttlMs", tools)
        result = wire.call("tools/call", {**wire.tool_call("echo $((6*7))"), "_meta": meta()})
        self.assertEqual((result["resultType"], result["isError"]), ("complete", False))
        self.assertEqual(result["structuredContent"]["stdout"], "42\n")

    def test_a_missing_member_is_named(self):
        wire = self.start()
        for left_out in ("protocolVersion", "clientCapabilities"):
            given = {k: v for k, v in meta().items() if not k.endswith(left_out)}
            error = wire.error("tools/list", {"_meta": given})
            self.assertEqual(error["code"], -32602)
            self.assertIn(left_out, error["message"])
        self.assertEqual(wire.error("tools/list")["code"], -32602)
        self.assertEqual(wire.error("tools/list", {"_meta": meta(capabilities=7)})["code"], -32602)

    def test_unsupported_revision(self):
        error = self.start().error("tools/list", {"_meta": meta("2031-01-01")})
        self.assertEqual(error["code"], -32022)
        self.assertEqual(error["data"]["requested"], "2031-01-01")
        self.assertIn(MODERN, error["data"]["supported"])

    def test_removed_methods_are_unknown(self):
        wire = self.start()
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "nonsense"):
            self.assertEqual(wire.error(method, {"_meta": meta()})["code"], -32601, method)

    def test_both_eras_in_one_process(self):
        wire = self.start("--approve", "always")
        self.assertIn("supportedVersions", wire.call("server/discover", {"_meta": meta()}))
        wire.handshake()
        self.assertNotIn("resultType", wire.call("tools/list"))
        self.assertIn("resultType", wire.call("tools/list", {"_meta": meta()}))
        self.assertEqual(wire.error("server/discover")["code"], -32601)

    def test_trace_reaches_the_provider_and_nonsense_does_not(self):
        wire = self.start("--approve", "always", plugin=CODE_EXECUTE)
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        for given in (trace, "00-XYZ", "x" * 10000):
            result = wire.call("tools/call", {**wire.tool_call("true"), "_meta": meta(traceparent=given)})
            self.assertEqual(result["structuredContent"].get("traceparent"), trace if given == trace else None)
        records = [json.dumps(record) for record in self.records()]
        self.assertTrue(any(trace in record for record in records))
        self.assertFalse(any("XYZ" in record or "xxxx" in record for record in records))


class Errors(McpTest):
    def test_protocol_errors(self):
        wire = self.started()
        self.assertEqual(wire.error("nonsense")["code"], -32601)
        error = wire.error("tools/call", {"name": "no_such_tool", "arguments": {}})
        self.assertEqual((error["code"], error["message"]), (-32602, "Unknown tool: no_such_tool"))
        self.assertEqual(wire.error("tools/call", {"arguments": {}})["code"], -32602)
        self.assertEqual(wire.error("tools/call", {"name": "code_execute", "arguments": 7})["code"], -32602)
        self.assertEqual(wire.error("tools/call", {"name": "code_execute\0x", "arguments": {}})["code"], -32602)
        for method in ("tools/list", "resources/list", "resources/templates/list"):
            wire.call(method)
            self.assertEqual(wire.error(method, {"cursor": "x"})["code"], -32602)

    def test_tool_errors(self):
        wire = self.started()
        result = wire.call("tools/call", {"name": "code_execute", "arguments": {"language": "sh"}})
        self.assertTrue(result["isError"])
        self.assertTrue(result["content"][0]["text"].startswith("invalid_input: "))
        wire = self.started(approve="never")
        result = wire.call("tools/call", wire.tool_call("echo x"))
        self.assertTrue(result["isError"])
        self.assertTrue(result["content"][0]["text"].startswith("approval_denied: "))
        self.assertIn("hint: ", result["content"][0]["text"])
        self.assertEqual(self.ran(), [])

    def test_a_program_that_fails_is_no_tool_error(self):
        wire = self.started()
        result = wire.call("tools/call", wire.tool_call("exit 3"))
        self.assertEqual((result["isError"], result["structuredContent"]["exit_code"]), (False, 3))

    def test_a_result_that_cannot_be_read(self):
        wire = self.started(plugin="result_junk")
        result = wire.call("tools/call", wire.tool_call("echo x"))
        self.assertTrue(result["isError"])
        self.assertNotIn("structuredContent", result)

    def test_lines_that_are_no_message(self):
        wire = self.started()
        for line, code in ((b"{", -32700), (b"nonsense", -32700), (b"\xff\xfe", -32700), (b'{"a":1,"a":2}', -32700),
                           (b"[" * 100000, -32700), (b"7", -32600), (b"[]", -32600), (b"{}", -32600),
                           (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
                           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600)):
            with self.subTest(line[:60]):
                wire.send_line(line)
                self.assertEqual(wire.next()["error"]["code"], code)
        wire.send_line(b"")
        wire.send_line(b" \r")
        self.assertEqual(wire.call("ping"), {})

    def test_an_unreadable_request_is_answered_under_its_own_id(self):
        wire = self.started()
        half = json.dumps({"jsonrpc": "2.0", "method": "tools/call", "params": wire.tool_call("echo \ud83d"), "id": 7})
        wire.send_line(half.encode())
        error = wire.answer_to(7)["error"]
        self.assertEqual(error["code"], -32700)
        self.assertIn("it has an escape that is not a Unicode character, at line 1, byte", error["message"])
        self.assertNotIn("ud83d", error["message"].lower())  # the library's words repeat the text

    def test_parse_errors_have_our_own_words(self):
        wire = self.started()
        for line, words in ((b"{", "it ends too early"), (b"nonsense", "it is not JSON"), (b'{"canary":1 "x":2}', "it is not JSON"),
                            (b'{"a":1,"a":2}', "it has a member twice"), (b"{} canary", "there is more after its value"),
                            (b'{"a":"\xff"}', "it is not UTF-8"), (b'{"a":1e999}', "it has a number out of range")):
            wire.send_line(line)
            message = wire.next()["error"]["message"]
            self.assertIn(f"the line cannot be read as JSON: {words}, at line 1, byte ", message)
            for part in ("canary", "near", "expected", "token"):
                self.assertNotIn(part, message)

    def test_a_line_that_is_too_long_is_refused_and_the_next_is_read(self):
        wire = self.started()
        wire.send_line(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (17 << 20) + b'"}}')
        self.assertEqual(wire.next()["error"]["code"], -32600)
        self.assertEqual(wire.call("ping"), {})

    def test_input_with_every_character(self):
        wire = self.started()
        text = "a\u0000\u2028\U0001f600\"\\\n"
        wire.send_line(json.dumps({"jsonrpc": "2.0", "id": text, "method": "ping"}, ensure_ascii=False).encode())
        self.assertEqual(wire.next()["id"], text)


class Batches(McpTest):
    def test_an_array_is_answered_with_an_array_in_the_one_revision_that_has_them(self):
        wire = self.started(revision="2025-03-26")
        wire.send([{"jsonrpc": "2.0", "id": 11, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"},
                   {"jsonrpc": "2.0", "id": 12, "method": "tools/call", "params": wire.tool_call("echo x")},
                   {"jsonrpc": "2.0", "id": 13, "method": "nonsense"}, 7])
        answers = wire.next()
        self.assertEqual({answer.get("id") for answer in answers}, {11, 12, 13, None})
        wire.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
        self.assertEqual(wire.call("ping"), {})

    def test_an_array_has_so_many_messages_and_no_more(self):
        wire = self.started(revision="2025-03-26")
        wire.send([7] * 256)
        self.assertEqual([answer["error"]["code"] for answer in wire.next()], [-32600] * 256)
        wire.send([7] * 257)
        self.assertEqual(wire.next()["error"]["code"], -32600)
        wire.send_line(b"[" + b",".join([b"{}"] * 4_000_000) + b"]")
        self.assertIn("values", wire.next()["error"]["message"])
        self.assertEqual(wire.call("ping"), {})

    def test_not_in_others(self):
        for revision in HANDSHAKE:
            if revision == "2025-03-26":
                continue
            wire = self.started(revision=revision)
            wire.send([{"jsonrpc": "2.0", "id": 11, "method": "ping"}])
            self.assertEqual(wire.next()["error"]["code"], -32600)


class Calls(McpTest):
    def test_the_list_is_the_manifests(self):
        wire = self.started(plugin=CODE_EXECUTE)
        tool = wire.call("tools/list")["tools"][0]
        self.assertEqual(tool["name"], "code_execute")
        self.assertEqual(tool["title"], "Run code in a sandbox")
        self.assertEqual(tool["inputSchema"]["required"], ["language", "code"])
        self.assertEqual(tool["outputSchema"]["type"], "object")
        self.assertEqual(tool["annotations"], {"readOnlyHint": False, "destructiveHint": True,
                                               "idempotentHint": False, "openWorldHint": False})

    def test_annotations_follow_the_policy(self):
        for allowed in (False, True):
            policy = os.path.join(self.home, "policy.json")
            with open(policy, "w", encoding="utf-8") as file:
                json.dump({"network": {"allowed": allowed}}, file)
            os.chmod(policy, 0o600)
            wire = self.started("--policy", policy, "--mode", "process", plugin=CODE_EXECUTE)
            self.assertIs(wire.call("tools/list")["tools"][0]["annotations"]["openWorldHint"], allowed)

    def test_many_at_once(self):
        wire = self.started()
        ids = [wire.ask("tools/call", wire.tool_call(f"echo {n}")) for n in range(24)]
        for n, id in enumerate(ids):
            self.assertEqual(wire.answer_to(id)["result"]["structuredContent"]["stdout"], f"{n}\n")

    def test_not_more_than_there_is_room_for(self):
        wire = self.started("--max-calls", "2")
        running = [wire.ask("tools/call", wire.tool_call("sleep 60")) for _ in range(2)]
        result = wire.call("tools/call", wire.tool_call("echo x"))
        self.assertTrue(result["isError"])
        self.assertTrue(result["content"][0]["text"].startswith("too_many_requests: "))
        self.assertEqual(wire.call("ping"), {})
        for id in running:
            wire.notify("notifications/cancelled", {"requestId": id})
        self.wait_until(lambda: not wire.call("tools/call", wire.tool_call("echo x"))["isError"], "room")

    def test_an_identifier_serves_one_request_at_a_time(self):
        wire = self.started()
        id = wire.ask("tools/call", wire.tool_call("sleep 60"))
        wire.ask("tools/call", wire.tool_call("echo x"), id=id)
        self.assertEqual(wire.answer_to(id)["error"]["code"], -32600)

    def test_cancelling_ends_the_run_and_nothing_answers(self):
        wire = self.started()
        id = wire.ask("tools/call", wire.tool_call("sleep 60"))
        self.wait_until(self.ran, "the run")
        wire.notify("notifications/cancelled", {"requestId": id, "reason": "test"})
        self.wait_until(lambda: any(record["event"] == "end" for record in self.records()), "its end")
        wire.notify("notifications/cancelled", {"requestId": "no such"})
        wire.call("tools/call", wire.tool_call("echo x"))
        self.assertFalse([message for message in wire.seen if message.get("id") == id])

    def test_cancelling_at_once(self):
        wire = self.started()
        for _ in range(20):
            id = wire.ask("tools/call", wire.tool_call("sleep 60"))
            wire.notify("notifications/cancelled", {"requestId": id})
        self.wait_until(lambda: len([r for r in self.records() if r["event"] == "end"]) == len(self.ran()), "all ends")
        result = wire.call("tools/call", wire.tool_call("echo x"))
        self.assertEqual(result["structuredContent"]["stdout"], "x\n")

    def test_output_comes_as_progress_only_where_it_is_wanted(self):
        wire = self.started()
        id = wire.ask("tools/call", {**wire.tool_call("echo first\nsleep 300\necho second\nraw"),
                                     "_meta": {"progressToken": "token"}})
        answer = wire.answer_to(id)
        progress = [message["params"] for message in wire.seen if message.get("method") == "notifications/progress"]
        self.assertTrue(progress)
        self.assertEqual({params["progressToken"] for params in progress}, {"token"})
        self.assertTrue(progress[0]["message"].startswith("first"))
        steps = [params["progress"] for params in progress]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual(wire.seen[-1], answer)
        wire.call("tools/call", wire.tool_call("echo first"))
        self.assertNotEqual(wire.seen[-2].get("method"), "notifications/progress")

    def test_a_denied_capability_is_named_with_its_option(self):
        wire = self.started("--no-default-caps")
        result = wire.call("tools/call", wire.tool_call("echo x"))
        self.assertTrue(result["isError"])
        self.assertIn("with toolhost: --cap sandbox.exec", result["content"][0]["text"])
        self.assertEqual(self.ran(), [])

    def test_nul_bytes_of_a_program_come_back(self):
        wire = self.started()
        for code, out in (("raw", "?\0?\n"), (r"printf 'a\000b'", "a\0b"), (r"printf '\000'", "\0")):
            result = wire.call("tools/call", {**wire.tool_call(code), "_meta": {"progressToken": code}})
            self.assertEqual((result["isError"], result["structuredContent"]["stdout"]), (False, out))

    def test_a_name_is_not_cut_at_a_nul(self):
        """What a client sends may hold NUL where it is a program's text, and nowhere else."""
        wire = self.started()
        self.assertEqual(wire.error("tools/call\0x", wire.tool_call("echo x"))["code"], -32600)
        self.assertIn("Unknown tool", wire.error("tools/call", wire.tool_call("echo x", name="code_execute\0x"))["message"])
        self.assertEqual(wire.error("logging/setLevel", {"level": "debug\0x"})["code"], -32602)
        self.assertEqual(self.ran(), [])

    def test_progress_is_sent_a_line_at_a_time(self):
        wire = self.started()
        answer = wire.call("tools/call", {**wire.tool_call("note pulling\nnote 50 %\nnote 100 %\nsleep 0.3\necho out\nsleep 0.3"),
                                          "_meta": {"progressToken": 7}})
        told = "".join(message["params"]["message"] for message in wire.seen if message.get("method") == "notifications/progress")
        self.assertEqual(told, "pulling\n50 %\n100 %\nout\n")
        self.assertEqual(answer["structuredContent"]["stdout"], "out\n")

    def test_a_provider_s_prints_stay_off_the_wire(self):
        wire = self.started(plugin="prints_to_stdout")
        result = wire.call("tools/call", wire.tool_call("echo mine"))
        self.assertEqual(result["structuredContent"]["stdout"], "mine\n")
        self.wait_until(lambda: "a provider that prints" in self.said(), "the provider's print")

    def test_nul_bytes_of_the_real_provider(self):
        wire = self.started("--mode", "process", plugin=CODE_EXECUTE)
        result = wire.call("tools/call", wire.tool_call(r"printf 'a\000b'; exit 3"))
        if result["isError"] and "sandbox_unavailable" in result["content"][0]["text"]:
            self.skipTest(result["content"][0]["text"])
        self.assertEqual((result["structuredContent"]["stdout"], result["structuredContent"]["exit_code"]), ("a\0b", 3))

    def test_a_run_of_the_real_provider(self):
        wire = self.started("--mode", "process", plugin=CODE_EXECUTE)
        result = wire.call("tools/call", wire.tool_call("read line; echo $((6*7)) $line"))
        if result["isError"] and "sandbox_unavailable" in result["content"][0]["text"]:
            self.skipTest(result["content"][0]["text"])
        self.assertEqual(result["content"], [{"type": "text", "text": "42\n"}])
        self.assertEqual(result["structuredContent"], {"status": "completed", "stdout": "42\n", "stderr": "", "exit_code": 0})

    def real(self, *options):
        wire = self.started("--mode", "process", *options, plugin=CODE_EXECUTE)
        return wire, wire.call("tools/list", {})["tools"][0]["outputSchema"]

    def test_a_result_is_what_a_model_needs(self):
        wire, schema = self.real()
        checker = jsonschema.Draft202012Validator(schema) if jsonschema else None
        for code, text, structured in (
                ("echo $((6*7))", "42\n", {"stdout": "42\n", "exit_code": 0}),
                ("printf no-newline", "no-newline\n", {"stdout": "no-newline"}),
                ("echo out; echo why >&2; exit 3", "out\nstderr: why\nexit_code: 3\n", {"stderr": "why\n", "exit_code": 3}),
                ("kill -SEGV $$", "signal: SIGSEGV\n", {"signal": "SIGSEGV"})):
            result = wire.call("tools/call", wire.tool_call(code))
            if result["isError"] and "sandbox_unavailable" in result["content"][0]["text"]:
                self.skipTest(result["content"][0]["text"])
            self.assertIn(text, result["content"][-1]["text"])
            for name, value in structured.items():
                self.assertEqual(result["structuredContent"][name], value)
            self.assertLessEqual(set(result["structuredContent"]), set(schema["properties"]))
            self.assertLessEqual(set(schema["required"]), set(result["structuredContent"]))
            if checker:
                checker.validate(result["structuredContent"])
        result = wire.call("tools/call", wire.tool_call("echo $((6*7))"))
        size = len(json.dumps({name: result[name] for name in ("content", "structuredContent")}))
        self.assertLess(size, 300, "bytes of the result of 42")
        nothing = wire.call("tools/call", wire.tool_call("true"))
        self.assertEqual(json.loads(nothing["content"][0]["text"]), nothing["structuredContent"])

    def test_a_result_is_whole_where_the_operator_wants_it(self):
        wire, schema = self.real("--result", "full")
        result = wire.call("tools/call", wire.tool_call("echo $((6*7))"))
        if result["isError"] and "sandbox_unavailable" in result["content"][0]["text"]:
            self.skipTest(result["content"][0]["text"])
        self.assertEqual(result["content"], [{"type": "text", "text": "42\n"}])
        self.assertLessEqual({"isolation", "limits", "usage", "policy_sha256"}, set(result["structuredContent"]))
        self.assertLessEqual(set(schema["required"]), set(result["structuredContent"]))
        if jsonschema:
            jsonschema.Draft202012Validator(schema).validate(result["structuredContent"])

    def test_the_configuration_of_the_manual_for_clients_that_cannot_ask(self):
        page = (pathlib.Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
        text = re.search(r"^```json\n(\{\"approval\".*?)^```$", page, re.S | re.M)[1]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as policy:
            policy.write(text)
            policy.flush()
            wire = self.started("--mode", "process", "--policy", policy.name, approve="never", plugin=CODE_EXECUTE, capabilities={})
            result = wire.call("tools/call", wire.tool_call("echo $((6*7))"))
            if result["isError"] and "sandbox_unavailable" in result["content"][0]["text"]:
                self.skipTest(result["content"][0]["text"])
            self.assertEqual(result["structuredContent"]["stdout"], "42\n")
            # The control: what no rule allows is asked about, and here nobody says yes.
            asked = wire.call("tools/call", {"name": "code_execute", "arguments": {"language": "perl", "code": "print 1"}})
            self.assertIn("approval_denied", asked["content"][0]["text"])

    def offered(self, *options, mode="process", **policy):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(policy, file)
            file.flush()
            wire = self.started("--mode", mode, "--policy", file.name, *options, plugin=CODE_EXECUTE)
            return wire.call("tools/list", {})["tools"][0]["inputSchema"]["properties"]

    def test_the_schema_offers_what_the_policy_allows(self):
        usual = self.offered()
        for name in ("network", "secrets", "image", "session"):
            self.assertNotIn(name, usual)
        self.assertLessEqual({"language", "code", "stdin", "files", "timeout_ms", "reason"}, set(usual))
        self.assertEqual(usual["timeout_ms"]["maximum"], 300000)
        wide = self.offered("--cap", "sandbox.exec.network", "--cap", "sandbox.exec.secrets", network={"allowed": True}, secrets={"allowed": ["a"]}, only_languages=["python", "sh"],
                            limits={"wall_ms": {"default": 1000, "max": 2000}, "sandbox_exec_wall_ms": {"default": 1000, "max": 2000}})
        self.assertLessEqual({"network", "secrets"}, set(wide))
        self.assertEqual(sorted(wide["language"]["enum"]), ["python", "sh"])
        self.assertEqual(wide["timeout_ms"]["maximum"], 2000)
        self.assertNotIn("files", self.offered(capabilities=["sandbox.exec"]))

    def test_descriptions_fit_the_offered_schema(self):
        usual = self.offered()
        self.assertIn("py", re.findall(r"\w+", usual["language"]["description"]), "the control: an alias of what is offered")
        self.assertEqual(usual["timeout_ms"]["description"], "Wall-clock time for the run in milliseconds: 10000 where it is left out, at most 300000.")
        few = self.offered(only_languages=["sh", "lua"], limits={"wall_ms": {"default": 1000, "max": 2000}, "sandbox_exec_wall_ms": {"default": 1000, "max": 2000}})
        self.assertNotIn("py", re.findall(r"\w+", few["language"]["description"]))
        self.assertIn("shell", few["language"]["description"])
        self.assertEqual(few["timeout_ms"]["description"], "Wall-clock time for the run in milliseconds: 1000 where it is left out, at most 2000.")
        plain = self.offered(only_languages=["lua"])
        self.assertNotIn("accepted", plain["language"]["description"], "no list without a name in it")
        mixed = self.offered(only_languages=["sh", "lua"], languages={"lua": {"limits": {"wall_ms": {"default": 20000}}}})
        self.assertEqual(mixed["timeout_ms"]["description"],
                         "Wall-clock time for the run in milliseconds: 10000 to 20000, by language, where it is left out, at most 300000.")

    def test_the_schema_offers_what_the_host_grants(self):
        wide = {"network": {"allowed": True}, "secrets": {"allowed": ["a"]}}
        for name, grant in (("network", "sandbox.exec.network"), ("secrets", "sandbox.exec.secrets"), ("secrets", "sandbox.exec.secrets=a")):
            self.assertNotIn(name, self.offered(**wide))
            self.assertIn(name, self.offered("--cap", grant, **wide))
        self.assertNotIn("secrets", self.offered("--cap", "sandbox.exec.secrets=b", **wide))
        none = self.offered("--no-default-caps", "--cap", "sandbox.exec")
        self.assertNotIn("files", none)
        self.assertEqual(none["timeout_ms"]["maximum"], 10000)  # the default is all there is
        self.assertIn("files", self.offered())
        self.assertNotIn("files", self.offered("--cap", "!sandbox.exec.files"))

    def test_the_schema_offers_what_the_context_leaves(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"languages": ["sh"], "limits": {"wall_ms": 2000}}, file)
            file.flush()
            narrowed = self.offered("--narrow", file.name)
        self.assertEqual(narrowed["language"]["enum"], ["sh"])
        self.assertEqual(narrowed["timeout_ms"]["maximum"], 2000)

    def test_an_image_is_offered_where_there_is_a_choice(self):
        grant = ("--cap", "sandbox.exec.image")
        no_images = dict.fromkeys(("javascript", "typescript", "sh", "bash", "zsh", "ruby", "php", "perl", "lua", "r", "python"))
        unsettled = {"require_digest": True, "images": {**no_images, "python": "debian:12"}, "offered": []}
        for docker in ({"images": no_images, "offered": []}, unsettled):
            self.assertNotIn("image", self.offered(*grant, mode="docker", docker=docker), docker)
        choice = {"require_digest": False, "images": {**no_images, "python": "debian:12"}, "offered": ["debian:13"]}
        self.assertNotIn("image", self.offered(mode="docker", docker=choice))
        offered = self.offered(*grant, mode="docker", docker=choice)
        self.assertEqual(offered["image"]["enum"], ["debian:12", "debian:13", None])
        self.assertEqual(self.offered(mode="docker", docker=choice)["language"]["enum"], ["python"])

    def test_instructions(self):
        wire = self.start("--mode", "process", plugin=CODE_EXECUTE)
        answer = wire.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}})
        self.assertIn("code_execute", answer["instructions"])
        modern = self.start("--mode", "process", plugin=CODE_EXECUTE).call("server/discover", {"_meta": meta()})
        self.assertEqual(modern["instructions"], answer["instructions"])


if __name__ == "__main__":
    tap.run_unittest()
