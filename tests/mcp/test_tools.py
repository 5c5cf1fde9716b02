# SPDX-License-Identifier: Apache-2.0
"""toolhost --tools-from: programs call the tools of other MCP servers. These are one of ours, in which everything goes wrong that can, and two
of other people."""

import json
import os
import signal
import subprocess

import tap
from client import CODE_EXECUTE, PATIENCE, TOOLHOST, meta
from packages import node_packages
from tool_servers import PROVIDER, ToolsTest, call, group_is_there, is_there, ours

HERE = os.path.dirname(os.path.abspath(__file__))
CODE = "invalid_tools_file"


class Offered(ToolsTest):
    """What of a server's tools a provider is told."""

    def test_nothing_is_allowed_by_default(self):
        server = ours()
        del server["tools"]
        wire = self.served(x=server, y=ours(tools=[]), z=ours(tools=["echo"]))
        self.assertEqual(self.names(wire), ["z.echo"])
        self.assertEqual(self.answer(wire, "x.echo")["outcome"], "denied")
        self.assertEqual(self.answer(wire, "y.echo")["outcome"], "denied")
        self.assertEqual(self.answer(wire, "z.text", text="")["outcome"], "denied")
        self.assertEqual(self.answer(wire, "z.echo")["outcome"], "answered")

    def test_names_and_patterns(self):
        wire = self.served(x=ours(tools=["echo", "error_*", "not there", "si*", "sl*"]))
        self.assertEqual(self.names(wire), ["x.echo", "x.error_result", "x.sleep", "x.silent"])

    def test_definitions(self):
        wire = self.served(x=ours(tools=["e*", "text", "rpc_error"], approval={"*": "always_ask", "e*": "never", "text": "ask"}))
        tools = {tool["name"]: tool for tool in self.run_calls(wire)["tools"]}
        self.assertEqual(tools["x.echo"], {
            "name": "x.echo", "title": "Echo", "description": "It is echo.", "input_schema": {"type": "object"},
            "output_schema": {"type": "object"}, "annotations": {"readOnlyHint": True}, "approval": "never"})
        self.assertEqual({name: tool["approval"] for name, tool in tools.items()},
                         {"x.echo": "never", "x.error_result": "never", "x.environment": "never", "x.text": "ask",
                          "x.rpc_error": "always_ask"})

    def test_approval_is_asked_for_by_default(self):
        tools = self.run_calls(self.served(x=ours(tools=["echo"])))["tools"]
        self.assertEqual(tools[0]["approval"], "ask")

    def test_left_out(self):
        wire = self.served(x=ours())
        names = self.names(wire)
        self.assertIn("x.echo", names)
        for name, why in (("call_tools", "the provider's own tool"), ("bad name", "characters"), ("huge_schema", "more than 64 KiB"),
                          ("deep", "too deeply"), ("nul", "NUL"), ("no_schema", "no input schema")):
            self.assertNotIn(f"x.{name}", names)
            self.assertRegex(self.said(), f"tool server x: {name} is left out: .*{why}")
        self.assertEqual(self.answer(wire, "x.call_tools")["outcome"], "denied")

    def test_no_more_than_a_provider_takes(self):
        wire = self.served(x=ours("many"), y=ours())
        self.assertEqual(len(self.names(wire)), 256)
        self.assertIn("too many tools", self.said())
        self.assertIn("more tools than a provider takes", self.said())

    def test_a_list_that_changes(self):
        wire = self.served(x=ours())
        self.assertIn("x.text", self.names(wire))
        self.answer(wire, "x.change", tools=["echo", "later"])
        self.wait_until(lambda: self.names(wire) == ["x.echo", "x.later"], "the new list")
        self.assertEqual(self.answer(wire, "x.text", text="a")["outcome"], "denied")
        self.assertEqual(self.answer(wire, "x.later")["outcome"], "answered")


class Called(ToolsTest):
    """Calls, and what becomes of them."""

    def test_answers(self):
        wire = self.served(x=ours())
        arguments = {"number": 1.5, "text": "a\u0000\n\"\u00e9\U0001f600", "list": [None, True, {}]}
        reply = self.answer(wire, "x.echo", **arguments)["reply"]
        self.assertEqual(reply["structured_content"], arguments)
        self.assertFalse(reply["is_error"])
        reply = self.answer(wire, "x.text", text="plain")["reply"]
        self.assertEqual(reply, {"content": [{"type": "text", "text": "plain"}], "is_error": False})

    def test_many_at_once(self):
        wire = self.served(x=ours())
        calls = [call("x.sleep", ms=600), call("x.sleep", ms=10)] + [call("x.echo", number=i) for i in range(30)]
        answers = self.run_calls(wire, *calls)["answers"]
        self.assertEqual([one["reply"]["structured_content"] for one in answers[2:]], [{"number": i} for i in range(30)])
        self.assertEqual([one["reply"]["content"][0]["text"] for one in answers[:2]], ["slept 600", "slept 10"])
        self.assertGreater(answers[0]["ms"], max(one["ms"] for one in answers[1:]))

    def test_several_runs_at_once(self):
        wire = self.served(x=ours(), y=ours())
        asked = [wire.ask("tools/call", {"name": "call_tools", "arguments": {"calls": [
            call(f"{server}.echo", number=number, server=server) for number in range(10)]}}) for server in ("x", "y") * 5]
        for place, id in enumerate(asked):
            answers = wire.answer_to(id)["result"]["structuredContent"]["answers"]
            self.assertEqual([one["reply"]["structured_content"] for one in answers],
                             [{"number": number, "server": ("x", "y")[place % 2]} for number in range(10)])

    def test_errors_of_tools(self):
        wire = self.served(x=ours())
        process = self.process_of(wire)
        for name, expected in (("error_result", "it did not work"), ("rpc_error", "refused the call: no such thing"),
                               ("no_content", "content is no array"), ("input_required", "wants more from its client"),
                               ("neither", "cannot be used: neither a request nor a response"),
                               ("not_json", "cannot be used: .*not JSON"), ("invalid_utf8", "cannot be used: .*not UTF-8"),
                               ("duplicate_keys", "cannot be used: .*a member twice")):
            with self.subTest(name):
                self.fails(wire, f"x.{name}", expected)
        self.assertEqual(self.process_of(wire), process)

    def test_a_long_answer(self):
        wire = self.served(x=ours())
        process = self.process_of(wire)
        for first in (True, False):
            answer = self.answer(wire, "x.huge", bytes=(4 << 20) - 1000, first=first)
            self.assertEqual(answer["outcome"], "answered")
            self.assertGreater(answer["bytes"], (4 << 20) - 1000)
            self.fails(wire, "x.huge", "more than 4 MiB", bytes=(4 << 20) + 100000, first=first)
            self.fails(wire, "x.huge", "more than 4 MiB", bytes=100 << 20, first=first)
        self.assertEqual(self.process_of(wire), process)

    def test_a_long_answer_costs_no_memory(self):
        wire = self.served(x=ours())
        self.fails(wire, "x.huge", "more than 4 MiB", bytes=4 << 20, first=True)
        before = self.peak()
        self.fails(wire, "x.huge", "more than 4 MiB", bytes=200 << 20, first=False)
        self.assertLess(self.peak() - before, 32 << 20)

    def peak(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return 1024 * int(next(line.split()[1] for line in file if line.startswith("VmHWM")))

    def test_silence(self):
        wire = self.served(x=ours())
        self.fails(wire, "x.silent", "has not answered in time", deadline_ms=100)
        self.fails(wire, "x.wrong_id", "has not answered in time", deadline_ms=100)
        self.assertEqual(len(self.value(wire, "x.cancelled")["ids"]), 2)

    def test_cancelled_by_the_provider(self):
        wire = self.served(x=ours())
        answers = self.run_calls(wire, call("x.silent", cancel_after_ms=100), call("x.sleep", ms=300, cancel_after_ms=50),
                                 call("x.echo"))["answers"]
        self.assertEqual([one["outcome"] for one in answers], ["cancelled", "cancelled", "answered"])
        self.wait_until(lambda: len(self.value(wire, "x.cancelled")["ids"]) == 2, "the cancellation at the server")
        self.answer(wire, "x.sleep", ms=400)  # the late answer has come by then
        self.assertEqual(self.value(wire, "x.echo", after=1), {"after": 1})

    def test_cancelled_by_the_client(self):
        wire = self.served(x=ours())
        id = wire.ask("tools/call", {"name": "call_tools", "arguments": {"calls": [call("x.silent")]}})
        self.wait_until(lambda: "silent" in self.value(wire, "x.seen")["names"], "the call at the server")
        wire.notify("notifications/cancelled", {"requestId": id})
        self.wait_until(lambda: len(self.value(wire, "x.cancelled")["ids"]) == 1, "the cancellation at the server")

    def test_what_a_server_asks(self):
        wire = self.served(x=ours())
        self.assertEqual(self.value(wire, "x.asks"), {"ping": {}, "sampling/createMessage": -32601, "roots/list": -32601,
                                                      "elicitation/create": -32601})

    def test_unknown_names(self):
        wire = self.served(x=ours())
        for name in ("x.unknown", "unknown.echo", "echo", "x", ".echo", "x.", "", "xx.echo"):
            self.assertEqual(self.answer(wire, name)["outcome"], "denied", name)


class Ended(ToolsTest):
    """Servers that end, and the end of all."""

    def test_it_dies_during_a_call(self):
        wire = self.served(x=ours())
        before = self.process_of(wire)
        answers = self.run_calls(wire, call("x.silent"), call("x.die"))["answers"]
        self.assertEqual([one["reply"]["is_error"] for one in answers], [True, True])
        self.assertRegex(answers[0]["reply"]["content"][0]["text"], "tool server x: it has (ended|closed its output)")
        after = self.process_of(wire)
        self.assertNotEqual(before, after)
        self.assertFalse(is_there(before))

    def test_its_children_die_with_it(self):
        wire = self.served(x=ours())
        group = self.value(wire, "x.environment")["group"]
        self.assertTrue(group_is_there(group))
        self.fails(wire, "x.die_with_children", "it has ended")
        self.wait_until(lambda: not group_is_there(group), "the end of its children, which were killed by then")

    def test_it_is_not_started_for_ever(self):
        wire = self.served(x=ours(), y=ours())
        for _ in range(5):
            self.fails(wire, "x.die", "it has (ended|closed its output)")
        self.fails(wire, "x.die", "cannot be used: it has been started 5 times within 60 seconds")
        self.assertEqual(self.value(wire, "y.echo", a=1), {"a": 1})

    def test_servers_that_do_not_start(self):
        wire = self.served(x=ours("dies"), y={"command": "/no/such/program", "tools": ["*"]}, z=ours("old"), w=ours("list-fails"),
                           good=ours(tools=["echo"]))
        self.assertEqual(self.names(wire), ["good.echo"])
        self.assertEqual(self.value(wire, "good.echo", a=1), {"a": 1})
        for expected in ("tool server x: it has (ended|closed its output)", "tool server y: cannot start /no/such/program: No such file",
                         "tool server z: it speaks revision 1999-01-01", "tool server w: it refuses tools/list"):
            self.assertRegex(self.said(), expected)

    def test_a_server_that_says_nothing_keeps_nobody(self):
        wire = self.served(x=ours("mute"), good=ours(tools=["echo"]))
        self.assertEqual(self.names(wire), ["good.echo"])

    def test_noise_before_the_first_answer(self):
        self.assertEqual(self.value(self.served(x=ours("noise")), "x.echo", a=1), {"a": 1})

    def test_a_server_without_a_handshake(self):
        self.assertEqual(self.value(self.served(x=ours("modern")), "x.echo", a=1), {"a": 1})

    def both(self):
        """The wire and the processes of two servers, of which one does not end by itself."""
        wire = self.served(x=ours(), y=ours("stubborn"))
        processes = [self.process_of(wire, name) for name in ("x", "y")]
        self.assertTrue(all(map(is_there, processes)))
        return wire, processes

    def nothing_is_left(self, processes):
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertEqual([pid for pid in processes if is_there(pid)], [])

    def test_the_end_of_input(self):
        _, processes = self.both()
        self.process.stdin.close()
        self.nothing_is_left(processes)

    def test_a_signal_ends_it(self):
        _, processes = self.both()
        self.process.send_signal(signal.SIGTERM)
        self.nothing_is_left(processes)

    def test_the_end_while_calls_are_open(self):
        wire, processes = self.both()
        wire.ask("tools/call", {"name": "call_tools", "arguments": {"calls": [call("x.silent"), call("y.silent")]}})
        self.process.stdin.close()
        self.nothing_is_left(processes)


class Started(ToolsTest):
    """What a server has, and which files are refused."""

    def test_environment(self):
        os.mkdir(os.path.join(self.home, "place"))
        server = ours(env={"TOKEN": "t", "LANG": "xx"}, cwd=os.path.join(self.home, "place"))
        path = self.configured({"x": server})
        wire = self.started("--tools-from", path, "--result", "full", plugin=PROVIDER, SECRET_OF_TOOLHOST="s", LANG="yy", TZ="UTC")
        has = self.value(wire, "x.environment")
        self.assertEqual({name: has["environment"].get(name) for name in ("TOKEN", "LANG", "TZ", "HOME", "SECRET_OF_TOOLHOST")},
                         {"TOKEN": "t", "LANG": "xx", "TZ": "UTC", "HOME": self.home, "SECRET_OF_TOOLHOST": None})
        self.assertLessEqual(set(has["environment"]), {"HOME", "PATH", "TZ", "LANG", "LC_CTYPE", "TOKEN", "TOOLHOST_TOOL_SERVER"})
        self.assertEqual(has["directory"], os.path.join(self.home, "place"))
        self.assertEqual((has["group"], has["descriptors"], has["blocked"]), (has["pid"], [0, 1, 2], []))

    def test_its_errors_are_in_the_log(self):
        wire = self.served(x=ours())
        self.wait_until(lambda: "tool server x: it begins <U+001B>[31m" in self.said(), "the line of the log")
        self.assertEqual(self.value(wire, "x.echo", a=1), {"a": 1})

    def refused(self, path, plugin=PROVIDER, **environment):
        done = subprocess.run(self.command("--tools-from", path, plugin=plugin), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env=self.environment(**environment))
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_files_that_are_refused(self):
        for servers, expected in (
                ({"x": ours(url="http://x")}, "server x: unknown member url"),
                ({"x": ours(type="http")}, 'server x: type must be "stdio"'),
                ({"x": {"tools": []}}, "server x: command is missing"),
                ({"x": {"command": ""}}, "server x: command must be"),
                ({"x": ours(tools=["a*b"])}, "server x: tools must be"),
                ({"x": ours(tools=[""])}, "server x: tools must be"),
                ({"x": {"command": "a", "tools": "*"}}, "server x: tools must be"),
                ({"x": ours(approval={"echo": "always"})}, "server x: approval must be"),
                ({"x": ours(env={"A=B": "c"})}, "server x: env must be"),
                ({"x": ours(env={"A": 1})}, "server x: env must be"),
                ({"x": {"command": "a", "args": [1]}}, "server x: args must be"),
                ({"x": 1}, "server x must be an object"),
                ({"x.y": ours()}, "x.y cannot be the name"),
                ({"": ours()}, "cannot be the name"),
                ({f"x{i}": ours() for i in range(17)}, "more than 16 servers"),
                ('{"mcpServers": {}, "more": 1}', "must be"),
                ('{"mcpServers": {"x": {"command": "a"}, "x": {"command": "b"}}}', "a member twice"),
                ("{", "cannot be read"),
                ("[]", "must be")):
            with self.subTest(expected):
                self.assertIn(f"{CODE}: ", self.refused(self.configured(servers)))
                self.assertIn(expected, self.refused(self.configured(servers)))

    def test_a_file_that_others_can_read(self):
        self.assertIn("has mode 0640", self.refused(self.configured({}, mode=0o640)))
        self.assertIn("No such file", self.refused(os.path.join(self.home, "none")))

    def test_a_provider_that_cannot(self):
        path = os.environ["CONFORMANCE_PROVIDER"]
        self.assertIn("does not support --tools-from", self.refused(self.configured({}), plugin=path))

    def test_a_server_of_its_own(self):
        self.assertIn("recursive_tools", self.refused(self.configured({}), TOOLHOST_TOOL_SERVER="1"))
        path = self.configured({"x": {"command": TOOLHOST, "args": self.command("--tools-from", "servers.json", plugin=PROVIDER)[1:],
                                      "cwd": self.home, "tools": ["*"]}})
        wire = self.started("--tools-from", path, plugin=PROVIDER)
        self.assertEqual(self.names(wire), [])
        self.assertIn("tool server x: toolhost: recursive_tools", self.said())

    def test_invoke(self):
        path = self.configured({"x": ours(), "y": ours("stubborn")})
        done = subprocess.run([TOOLHOST, "invoke", "--plugin", PROVIDER, "--tool", "call_tools", "--audit", self.audit_file,
                               "--tools-from", path], capture_output=True, text=True, timeout=PATIENCE, env=self.environment(),
                              input=json.dumps({"calls": [call("x.environment"), call("y.environment")]}))
        self.assertEqual(done.returncode, 0, done.stderr)
        processes = [one["reply"]["structured_content"]["pid"] for one in json.loads(done.stdout)["answers"]]
        self.assertEqual([pid for pid in processes if is_there(pid)], [])


class Programs(ToolsTest):
    """Of code_execute.so: they run in their sandbox, and call with the module of their language."""

    def program_server(self, servers, allowed, *more):
        policy = os.path.join(self.home, "policy.json")
        with open(policy, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "tools": {"allowed": allowed}, "approval": {"default": "allow"}}, file)
        return self.started("--tools-from", self.configured(servers), "--policy", policy, "--cap", "sandbox.exec.tools", *more, plugin=CODE_EXECUTE)

    def ran_program(self, wire, code, *tools):
        """Its result, as the client's model gets it."""
        return wire.call("tools/call", {"name": "code_execute", "arguments": {"language": "python", "code": code, "tools": list(tools)}})

    def test_a_program_calls(self):
        wire = self.program_server({"x": ours(approval={"*": "never"})}, ["x.*"])
        result = self.ran_program(wire, "import tools\nprint([tools.x_text(text=str(n)) for n in range(3)])", "x.text")["structuredContent"]
        self.assertEqual((result["status"], result["stdout"]), ("completed", "['0', '1', '2']\n"), result)
        self.assertEqual([(call["tool"], call["status"]) for call in result["calls"]], [("x.text", "ok")] * 3)
        events = [record["event"] for record in self.records()]
        self.assertEqual(events, ["start"] + ["tool_call", "tool_call_end"] * 3 + ["end"])

    @staticmethod
    def offered(wire, **params):
        """What a model hears of the tools that its programs may call; None: nothing."""
        [tool] = [tool for tool in wire.call("tools/list", params)["tools"] if tool["name"] == "code_execute"]
        return tool["inputSchema"]["properties"].get("tools", {}).get("description")

    def test_a_server_that_comes_late_is_offered_when_it_is_there(self):
        """Later than toolhost waits for it at its start. Who has listed the tools before is told; once."""
        ready = os.path.join(self.home, "ready")
        wire = self.program_server({"x": ours(tools=["text"], env={"SLOW_UNTIL": ready}), "y": ours(tools=["echo"])}, ["*"])
        [answer] = [message for message in wire.seen if "result" in message]
        self.assertEqual(answer["result"]["capabilities"]["tools"], {"listChanged": True})
        before = self.offered(wire)
        self.assertIn("y.echo", before)
        self.assertNotIn("x.text", before)
        with open(ready, "w", encoding="utf-8"):
            pass
        wire.until(lambda message: message.get("method") == "notifications/tools/list_changed")
        self.assertIn("x.text", self.offered(wire))
        self.assertEqual(self.offered(wire), self.offered(wire, _meta=meta()), "in the revision that tells nobody of changes")
        self.assertEqual([message for message in wire.waiting if "method" in message], [])

    def test_a_client_that_has_not_listed_is_told_of_no_change(self):
        ready = os.path.join(self.home, "ready")
        wire = self.program_server({"x": ours(tools=["text"], env={"SLOW_UNTIL": ready})}, ["*"])
        with open(ready, "w", encoding="utf-8"):
            pass
        self.wait_until(lambda: (wire.call("ping"), self.said())[1].count("it begins") == 1 and self.offered(wire, _meta=meta()), "the offer")
        self.assertEqual([message for message in wire.seen if message.get("method")], [])
        self.assertIsNotNone(self.offered(wire))
        listed = wire.call("tools/list", {"_meta": meta()})
        self.assertEqual(listed["ttlMs"], 1000, listed)

    def test_without_other_servers_the_list_does_not_change(self):
        wire = self.start("--approve", "always", plugin=CODE_EXECUTE)
        self.assertEqual(wire.handshake()["capabilities"]["tools"], {})

    def test_a_tool_that_fails_raises(self):
        wire = self.program_server({"x": ours(approval={"*": "never"})}, ["x.*"])
        code = "import tools\ntry: tools.x_error_result()\nexcept tools.ToolError as error: print(error.code)"
        self.assertEqual(self.ran_program(wire, code, "x.error_result")["structuredContent"]["stdout"], "tool_error\n")

    def test_nothing_is_allowed_unless_the_policy_says_so(self):
        wire = self.program_server({"x": ours()}, [])
        result = self.ran_program(wire, "1", "x.text")["structuredContent"]
        self.assertIn(result["error"]["code"], ("policy_denied", "invalid_input"), result)


class OtherPeoples(Programs):
    test_a_program_calls = test_a_tool_that_fails_raises = test_nothing_is_allowed_unless_the_policy_says_so = None  # once is enough
    test_a_server_that_comes_late_is_offered_when_it_is_there = test_a_client_that_has_not_listed_is_told_of_no_change = None
    test_without_other_servers_the_list_does_not_change = None

    """Two servers of the npm registry."""

    def setUp(self):
        super().setUp()
        try:
            self.packages = str(node_packages.install(os.path.join(HERE, "npm-servers"), os.environ["BUILD"]))
        except node_packages.Unavailable as reason:
            self.skipTest(str(reason))

    def package(self, name, *arguments, **more):
        return {"command": "node", "args": [f"{self.packages}/node_modules/@modelcontextprotocol/{name}/dist/index.js", *arguments], **more}

    def text(self, wire, name, **arguments):
        reply = self.answer(wire, name, **arguments)["reply"]
        self.assertFalse(reply["is_error"], reply)
        return reply["content"][0]["text"]

    def test_files(self):
        place = os.path.join(self.home, "place")
        os.mkdir(place)
        with open(os.path.join(place, "a.txt"), "w", encoding="utf-8") as file:
            file.write("text of a")
        with open(os.path.join(self.home, "secret.txt"), "w", encoding="utf-8") as file:
            file.write("no")
        wire = self.served(files=self.package("server-filesystem", place, tools=["read_text_file", "list_*"]))
        self.wait_until(lambda: "files.read_text_file" in self.names(wire), "the list of tools")
        self.assertNotIn("files.write_file", self.names(wire))
        self.assertIn("a.txt", self.text(wire, "files.list_directory", path=place))
        self.assertEqual(self.text(wire, "files.read_text_file", path=os.path.join(place, "a.txt")), "text of a")
        self.fails(wire, "files.read_text_file", "(?i)access denied|outside", path=os.path.join(self.home, "secret.txt"))
        self.assertEqual(self.answer(wire, "files.write_file", path=os.path.join(place, "b"), content="")["outcome"], "denied")
        self.assertEqual(os.listdir(place), ["a.txt"])

    def test_a_program_reads_many_files(self):
        """The model gets the sum, and not what was read for it."""
        place = os.path.join(self.home, "place")
        os.mkdir(place)
        for number in range(20):
            with open(os.path.join(place, f"{number}.txt"), "w", encoding="utf-8") as file:
                file.write("word " * number + "x" * 1000)
        wire = self.program_server({"files": self.package("server-filesystem", place, tools=["read_text_file", "list_directory"], approval={"*": "never"})}, ["files.*"])
        code = ("import tools\ntext = lambda value: value if isinstance(value, str) else value['content']\n"
                f"names = [line.split()[1] for line in text(tools.files_list_directory(path={place!r})).splitlines()]\n"
                f"print(sum(text(tools.files_read_text_file(path={place!r} + '/' + name)).count('word') for name in names))")
        result = self.ran_program(wire, code, "files.*")
        self.assertEqual(result["structuredContent"]["stdout"], "190\n", result)
        self.assertEqual(len(result["structuredContent"]["calls"]), 21)
        self.assertLess(len(result["content"][0]["text"]), 200, result["content"])

    def test_memory(self):
        store = os.path.join(self.home, "memory.jsonl")
        wire = self.served(memory=self.package("server-memory", tools=["create_entities", "read_graph"], env={"MEMORY_FILE_PATH": store}))
        self.wait_until(lambda: "memory.read_graph" in self.names(wire), "the list of tools")
        entity = {"name": "toolhost", "entityType": "program", "observations": ["calls tools"]}
        self.assertFalse(self.answer(wire, "memory.create_entities", entities=[entity])["reply"]["is_error"])
        self.assertEqual(self.value(wire, "memory.read_graph")["entities"], [entity])


if __name__ == "__main__":
    tap.run_unittest()
