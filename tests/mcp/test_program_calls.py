# SPDX-License-Identifier: Apache-2.0
"""The calls that a running program makes through toolhost: who allows them (the person at the terminal, toolhost approvals, a program, the
client's person), and which bytes the server gets. The provider is code_execute.so, whose program calls a server of ours."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "host"))

import tap
import tool_servers
from client import CODE_EXECUTE, PATIENCE, TOOLHOST, meta
from support import Terminal
from tool_host import RAW

QUESTION = "Call this tool? [y/N] "
FORM = {"elicitation": {}}
HOSTILE = "a\x1b[2Jb\u202ec\nQUESTION"
# The program's own words; it says what each call became.
CALLS = """
import tools
def call(text):
    try:
        print("got", tools.x_text(text=text), flush=True)
    except tools.ToolError as error:
        print(error.code, error, flush=True)
"""


class CallTest(tool_servers.ToolsTest):
    def setUp(self):
        super().setUp()
        self.policy = os.path.join(self.home, "policy.json")
        self.use_policy(wall_ms=30000)

    def use_policy(self, wall_ms, **tools):
        with open(self.policy, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "tools": {"allowed": ["x.*"], "call_timeout_ms": 600000, **tools}, "approval": {"default": "allow"},
                       "limits": {"wall_ms": {"default": wall_ms, "max": wall_ms}}}, file)

    def options(self, approval="ask"):
        return self.options_for(tool_servers.ours(approval={"*": approval}))

    def options_for(self, server):
        return ["--tools-from", self.configured({"x": server}), "--policy", self.policy, "--cap", "sandbox.exec.tools"]

    def run_arguments(self, code, *more, approval="ask"):
        return ["run", "--plugin", CODE_EXECUTE, "-l", "python", "-c", CALLS + code, "--set", 'tools=["x.text"]',
                "--audit", self.audit_file, *self.options(approval), *more]

    def calls(self):
        """Of the calls that were made, who allowed them."""
        return [record["approver"] for record in self.records() if record["event"] == "tool_call"]


class AtTheTerminal(CallTest):
    def ask(self, code, **more):
        terminal = Terminal(self, self.run_arguments(code, **more))
        terminal.wait_for(QUESTION, PATIENCE)
        return terminal

    def screen(self, terminal, count=1):
        """The rows of that question."""
        text = terminal.wait_for(QUESTION, PATIENCE, count)
        return text.split("toolhost: ")[count].replace("\r\n", "\n")

    def test_what_is_shown(self):
        terminal = self.ask(f"call({HOSTILE!r})")
        screen = self.screen(terminal)
        self.assertTrue(screen.startswith("a program that runs asks to call this tool\n"), screen)
        for row in (r"  tool          \| x\.text\n", r"  description \(1 line, 11 bytes\)\n      1 \| It is text\.\n",
                    r"  run           \| [0-9a-f-]{32,36}\n", r"  call number   \| 1\n", r"  asked by      \| the tool's definition\n",
                    r"  call sha256   \| [0-9a-f]{62}\n                \| [0-9a-f]{2}\n",
                    r"      2 \|   \"text\": \"a\\u001B\[2Jb<U\+202E>c\\nQUESTION\"\n",
                    "run:     yes, and all further calls of this tool in this run\n", "cancel:  no, and end the run\n"):
            self.assertRegex(screen, row)
        for hidden in ("\x1b", "\u202e", "allowed_decisions"):
            self.assertNotIn(hidden, screen)
        terminal.type("y\n")
        status, out, err = terminal.end(PATIENCE)
        self.assertEqual(status, 0, err)
        self.assertIn(b"got a\x1b[2Jb", out)
        self.assertRegex(self.calls()[0], "^terminal:")

    def test_long_arguments_are_cut_and_can_be_seen_whole(self):
        terminal = self.ask("call('x' * 100000 + 'end')")
        self.assertIn("not shown: answer a to see all", self.screen(terminal))
        terminal.type("a\n")
        self.assertIn("end", self.screen(terminal, 2).replace("\n        | ", ""))
        terminal.type("n\n")
        self.assertEqual(terminal.end(PATIENCE)[0], 0)

    def test_each_call_is_asked_about(self):
        terminal = self.ask("call('1'); call('2')")
        terminal.type("y\n")
        self.assertIn('"text": "2"', self.screen(terminal, 2))
        terminal.type("no\n")
        status, out, _ = terminal.end(PATIENCE)
        self.assertEqual(status, 0)
        self.assertRegex(out.decode(), "^got 1\napproval_denied x.text: the user at the terminal said no")

    def test_all_calls_of_the_run(self):
        terminal = self.ask("call('1'); call('2'); call('3')")
        terminal.type("run\n")
        self.assertEqual(terminal.end(PATIENCE)[:2], (0, b"got 1\ngot 2\ngot 3\n"))
        self.assertEqual(len(self.calls()), 3)

    def test_an_answer_from_before_a_flow_does_not_cover_it(self):
        self.use_policy(wall_ms=30000, flows=[{"after": ["x.text"], "then": ["x.text"], "decision": "ask"}])
        terminal = self.ask("call('1'); call('2'); call('3')")
        terminal.type("run\n")
        self.assertRegex(self.screen(terminal, 2), r"  called before *\| .*x\.text")
        terminal.type("run\n")
        self.assertEqual(terminal.end(PATIENCE)[:2], (0, b"got 1\ngot 2\ngot 3\n"))
        self.assertEqual(terminal.screen.count(QUESTION.encode()), 2)

    def test_questions_that_wait_behind_it_have_the_answer_too(self):
        terminal = self.ask("import asyncio\nasync def all(): print(await asyncio.gather(*(tools.aio.x_text(text=str(n)) for n in range(5))))\n"
                            "asyncio.run(all())")
        terminal.type("run\n")
        self.assertEqual(terminal.end(PATIENCE)[:2], (0, b"['0', '1', '2', '3', '4']\n"))
        self.assertEqual(terminal.screen.decode().count(QUESTION), 1)

    def test_always_ask_has_no_answer_for_all(self):
        terminal = self.ask("call('1')", approval="always_ask")
        self.assertNotIn("run:", self.screen(terminal))
        terminal.type("run\n")
        self.assertRegex(terminal.end(PATIENCE)[1], b"^approval_denied")
        self.assertEqual(self.calls(), [])

    def test_cancel_ends_the_run(self):
        terminal = self.ask("call('1'); print('never')")
        terminal.type("cancel\n")
        status, out, err = terminal.end(PATIENCE)
        self.assertEqual((status != 0, out), (True, b""), err)
        self.assertEqual(self.calls(), [])

    def test_an_interrupt_ends_question_and_run(self):
        terminal = self.ask("print('before', flush=True); call('1')")
        terminal.signal()
        status, out, _ = terminal.end(PATIENCE)
        self.assertEqual((status, out), (130, b"before\n"))

    def test_output_goes_on_and_no_time_passes(self):
        """The run has two seconds, and the person takes longer."""
        self.use_policy(wall_ms=2000)
        terminal = Terminal(self, self.run_arguments("print('before', flush=True); call('1')"))
        self.assertEqual(terminal.process.stdout.read(7), b"before\n")
        terminal.wait_for(QUESTION, PATIENCE)
        time.sleep(2.3)
        terminal.type("y\n")
        self.assertEqual(terminal.end(PATIENCE)[:2], (0, b"got 1\n"))


class FromElsewhere(CallTest):
    def approvals(self, *arguments, status=0):
        done = subprocess.run([TOOLHOST, "approvals", *arguments], capture_output=True, text=True, timeout=PATIENCE, env=self.environment())
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def waiting(self):
        rows = json.loads(self.approvals("list", "--open", "--json"))
        return rows[0]["id"] if rows else None

    def ask(self, code, approve="queue", approval="ask"):
        process = subprocess.Popen([TOOLHOST, *self.run_arguments(code, "--approve", approve, approval=approval)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(), start_new_session=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, self.next_question()

    def next_question(self, but=None):
        self.wait_until(lambda: self.waiting() not in (None, but), "the question")
        return self.waiting()

    def test_shown_and_allowed_for_the_run(self):
        for approve in ("queue", "pending"):  # there is no identical call that could fetch the answer
            process, question = self.ask(f"call({HOSTILE!r}); call('2')", approve)
            self.assertRegex(self.approvals("list"), r'call of x\.text: \{"text":"a\\u001B\[2Jb<U\+202E>c')
            shown = self.approvals("show", question)
            self.assertIn("  tool          | x.text\n", shown)
            self.assertIn('|   "text": "a\\u001B[2Jb<U+202E>c\\nQUESTION"\n', shown)
            self.assertIn("approval_not_offered", self.approvals("approve", question, "--always", status=1))
            self.assertIn("approval_not_offered", self.approvals("approve", question, "--cells", status=1))
            self.approvals("approve", question, "--whole-run")
            out, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, err)
            self.assertTrue(out.endswith(b"got 2\n"), out)
            self.assertRegex(self.calls()[0], "^queue:")
            os.remove(self.audit_file)

    def test_once_denied_and_cancelled(self):
        process, question = self.ask("call('1'); call('2'); call('3')")
        self.approvals("approve", question)
        question = self.next_question(but=question)
        self.approvals("deny", question, "--reason", "not that one")
        question = self.next_question(but=question)
        self.approvals("cancel", question)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertNotEqual(process.returncode, 0, err)
        self.assertRegex(out.decode(), "^got 1\napproval_denied x.text: not that one")
        self.assertEqual(len(self.calls()), 1)

    def test_always_ask(self):
        process, question = self.ask("call('1')", approval="always_ask")
        self.assertIn("approval_not_offered", self.approvals("approve", question, "--whole-run", status=1))
        self.assertIn("one at a time", self.approvals("approve", question, "--whole-run", "--cells", status=2))
        self.assertIn("one at a time", self.approvals("deny", question, "--whole-run", status=2))
        self.approvals("approve", question)
        self.assertEqual(process.communicate(timeout=PATIENCE)[0], b"got 1\n")

    def test_a_program_decides(self):
        program = os.path.join(self.home, "approver")
        seen = os.path.join(self.home, "seen")
        for word, expected in (("allow_run", "got 1\ngot 2\n"), ("allow_once", "got 1\ngot 2\n"), ("deny", "approval_denied"),
                               ("allow_cells", "approval_denied"), ("cancel", "")):
            with open(program, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\ncat >> {seen}; echo >> {seen}\necho '{{\"decision\": \"{word}\"}}'\n")
            os.chmod(program, 0o700)
            done = subprocess.run([TOOLHOST, *self.run_arguments("call('1'); call('2')", "--approve", f"cmd:{program}")], capture_output=True,
                                  text=True, timeout=PATIENCE, env=self.environment(), start_new_session=True)
            self.assertTrue(done.stdout.startswith(expected) and bool(done.stdout) == bool(expected), (word, done))
            with open(seen, encoding="utf-8") as file:
                requests = [json.loads(line) for line in file]
            self.assertEqual([request["arguments"]["text"] for request in requests],
                             ["1"] if word in ("allow_run", "cancel") else ["1", "2"], word)
            os.remove(seen)

    def test_decided_beforehand(self):
        for approve, expected in (("always", "got 1\n"), ("never", "approval_denied")):
            done = subprocess.run([TOOLHOST, *self.run_arguments("call('1')", "--approve", approve)], capture_output=True, text=True,
                                  timeout=PATIENCE, env=self.environment(), start_new_session=True)
            self.assertTrue(done.stdout.startswith(expected), done)


class ByTheClient(CallTest):
    def program(self, code, *more, approval="ask", modern=False, capabilities=FORM):
        wire = self.start("--result", "full", *self.options(approval), *more, plugin=CODE_EXECUTE)
        call = {"name": "code_execute", "arguments": {"language": "python", "code": CALLS + code, "tools": ["x.text"]}}
        if modern:
            call["_meta"] = meta(capabilities=capabilities)
        else:
            wire.handshake(capabilities=capabilities)
        return wire, wire.ask("tools/call", call)

    @staticmethod
    def asked(wire):
        return wire.until(lambda message: message.get("method") == "elicitation/create")

    @staticmethod
    def respond(wire, question, action, **content):
        wire.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action, "content": content}})

    def stdout(self, wire, id):
        return wire.answer_to(id)["result"]["structuredContent"]["stdout"]

    def test_each_call_is_asked_about(self):
        wire, id = self.program(f"call({HOSTILE!r}); call('2'); call('3')")
        first = self.asked(wire)
        self.assertIn("A program that runs asks to call this tool. Accept allows it once.\n", first["params"]["message"])
        self.assertIn('|   "text": "a\\u001B[2Jb<U+202E>c\\nQUESTION"\n', first["params"]["message"])
        self.assertEqual(first["params"]["requestedSchema"]["properties"], {})
        self.respond(wire, first, "accept")
        second = self.asked(wire)
        self.respond(wire, first, "accept")  # late, and no answer to this one
        self.respond(wire, second, "decline")
        self.respond(wire, self.asked(wire), "cancel")
        out = self.stdout(wire, id)
        self.assertEqual((out.count("got "), out.count("approval_denied x.text: ")), (1, 2), out)
        self.assertRegex(self.calls()[0], "^mcp-client:")

    def test_choices(self):
        for approval, offered, chosen, expected in (("ask", ["allow_once", "allow_run", "cancel"], "allow_run", "got 1\ngot 2\n"),
                                                    ("always_ask", ["allow_once", "cancel"], "cancel", "")):
            wire, id = self.program("call('1'); call('2')", "--elicitation-choice", approval=approval)
            question = self.asked(wire)
            self.assertEqual(question["params"]["requestedSchema"]["properties"]["decision"]["enum"], offered)
            self.respond(wire, question, "accept", decision=chosen)
            self.assertEqual(self.stdout(wire, id), expected)

    def test_cancelled_while_it_waits(self):
        wire, id = self.program("call('1')")
        question = self.asked(wire)
        wire.notify("notifications/cancelled", {"requestId": id})
        withdrawn = wire.until(lambda message: message.get("method") == "notifications/cancelled")
        self.assertEqual(withdrawn["params"]["requestId"], question["id"])
        wire.call("ping")
        self.process.stdin.close()
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertEqual(self.calls(), [])

    def test_the_run_ends_before_the_answer(self):
        """The program ends with the answer to its first question; the second one waits for nobody then."""
        wire, id = self.program("import os, threading\ndef work(text): call(text); os._exit(0)\n"
                                "threads = [threading.Thread(target=work, args=(text,)) for text in '12']\n"
                                "for thread in threads: thread.start()")
        self.respond(wire, self.asked(wire), "accept")
        self.assertRegex(self.stdout(wire, id), "^got [12]\n$")

    def test_clients_that_cannot_be_asked(self):
        for session, expected in (({"capabilities": {}}, "cannot ask its user"), ({"modern": True}, "while a program runs")):
            wire, id = self.program("call('1')", **session)
            self.assertRegex(self.stdout(wire, id), f"approval_denied .*{expected}")


class Bytes(CallTest):
    """The server gets the text whose hash was approved and recorded. The program speaks the frames itself."""

    def result(self, server, code):
        wire = self.started("--result", "full", *self.options_for(server), plugin=CODE_EXECUTE)
        arguments = {"language": "python", "code": code, "tools": ["x.*"]}
        return wire.call("tools/call", {"name": "code_execute", "arguments": arguments})["structuredContent"]

    def test_the_server_gets_what_was_hashed(self):
        texts = ['{"text":"a"}', '{"text": "\u00e9\U0001f600\u2028"}',
                 '{ "text" :"\\u0061\\/b","z":1.50E1,  "a": 100000000000000000,"}":[{"arguments":{}}]\t}']
        for modern in ([], ["modern"]):
            server = tool_servers.ours(*modern, approval={"*": "never"})
            code = RAW + f"for text in {texts!r}:\n    call(1, 'x.echo', text.encode()); print(answer()[1])\nprint(result(1, 'x.lines')[2].decode())"
            result = self.result(server, code)
            *forms, told = result["stdout"].removesuffix("\n").split("\n")
            self.assertEqual(forms, ["1"] * len(texts), result)
            sent = [line for line in json.loads(told)["lines"] if '"tools/call"' in line and '"echo"' in line]
            self.assertEqual(len(sent), len(texts))
            for row, text, line in zip(result["calls"], texts, sent):
                head = f"{result['run_id']}\n{row['seq']}\nx.echo\n"
                self.assertEqual(hashlib.sha256((head + text).encode()).hexdigest(), row["call_sha256"])
                self.assertTrue(line.endswith(f',"arguments":{text}}}}}\n'), line)
                self.assertEqual(json.loads(line)["params"]["arguments"], json.loads(text))

    def test_no_line_break_makes_a_message_of_its_own(self):
        """A server that takes each line for a message gets no call that nobody has judged."""
        smuggled = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "die", "arguments": {}}}
        text = '{"text":\n' + json.dumps(smuggled) + '\r\n,"b":"\\n"}'
        code = RAW + f"call(1, 'x.echo', {text!r}.encode()); print(answer()[2].decode())\nprint(result(1, 'x.lines')[2].decode())"
        result = self.result(tool_servers.ours(approval={"*": "never"}, tools=["echo", "lines"]), code)
        self.assertEqual([row["status"] for row in result["calls"]], ["ok", "ok"], result)
        echoed, told = map(json.loads, result["stdout"].splitlines())
        self.assertEqual(echoed, {"text": smuggled, "b": "\n"})
        lines = told["lines"]
        self.assertEqual([json.loads(line)["method"] for line in lines[-2:]], ["tools/call"] * 2)
        self.assertTrue(lines[-2].endswith(text.replace("\n", " ").replace("\r", " ") + "}}\n"), lines)


class Definitions(CallTest):
    def test_as_many_as_a_provider_takes(self):
        """With all of them, and the narrowing and files that a call may have beside them, the provider takes its context."""
        schema = {"type": "object", "description": "x" * 60000}
        tools = ({"name": f"x.large_{n}", "description": f"It is large_{n}.", "input_schema": schema, "approval": "never"} for n in range(60))
        sizes = [len(json.dumps(tool, separators=(",", ":"))) for tool in tools]
        fit = sum(sum(sizes[:count]) <= 3 << 20 for count in range(1, 61))
        files = [f"{number:0>125}/" + "f" * 125 for number in range(32)]
        for name in files:
            path = pathlib.Path(self.home, "place", name)
            path.parent.mkdir(parents=True)
            path.write_text("1", encoding="utf-8")
        narrow = os.path.join(self.home, "narrow.json")
        with open(narrow, "w", encoding="utf-8") as file:
            file.write(json.dumps({"limits": {"wall_ms": 20000}}).ljust(65536))
        wire = self.started("--result", "full", *self.options_for(tool_servers.ours("large", approval={"*": "never"})),
                            "--files-below", os.path.join(self.home, "place"), "--narrow", narrow, plugin=CODE_EXECUTE)
        code = f"import tools\nprint(len(tools.names()), tools.call('x.large_{fit - 1}', {{}}))"
        result = wire.call("tools/call", {"name": "code_execute", "arguments": {
            "language": "python", "code": code, "tools": ["x.*"],
            "files": [{"path": f"f{number}", "ref": name} for number, name in enumerate(files)]}})["structuredContent"]
        self.assertEqual(result["stdout"], f"{fit} It is large_{fit - 1}.\n", result["error"] or result)
        self.assertIn("more tools than a provider takes", self.said())


if __name__ == "__main__":
    tap.run_unittest()
