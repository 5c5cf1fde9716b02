# SPDX-License-Identifier: Apache-2.0
"""toolhost mcp and other people's programs: the official clients, the official conformance suite, the inspector's command line,
and the official schema for every line. They are installed by name below the build directory; where they cannot be, this is
skipped."""

import glob
import json
import os
import subprocess
import warnings

import jsonschema

import tap
from client import CODE_EXECUTE, HANDSHAKE, MODERN, PATIENCE, McpTest, meta
from packages import node_packages

HERE = os.path.dirname(os.path.abspath(__file__))
PROVIDER = os.environ["CONFORMANCE_PROVIDER"]
LIMIT = 4 * PATIENCE


class ClientTest(McpTest):
    def node(self, *arguments, **environment):
        return subprocess.run(["node", *arguments], capture_output=True, timeout=LIMIT, text=True, cwd=self.home,
                              env=self.environment(MCP_CLIENTS=CLIENTS, **environment))


class OfficialClients(ClientTest):
    def outcome(self, kind):
        done = self.node(os.path.join(HERE, "official_client.mjs"), kind, *self.command(plugin=PROVIDER))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_sdk(self):
        self.hold(self.outcome("sdk"), None)

    def test_client_by_default(self):
        self.hold(self.outcome("default"), HANDSHAKE[0])

    def test_client_that_negotiates(self):
        self.hold(self.outcome("auto"), MODERN)

    def hold(self, outcome, revision):
        self.assertEqual(outcome.get("revision"), revision)
        self.assertEqual(outcome["server"]["name"], "conformance")
        self.assertIn("test_structured", outcome["tools"])
        self.assertEqual(outcome["test_structured"]["structuredContent"], {"answer": 42})
        self.assertEqual([block["type"] for block in outcome["test_multiple_content_types"]["content"]],
                         ["text", "image", "resource"])
        self.assertEqual(outcome["test_image_content"]["content"][0]["mimeType"], "image/png")
        self.assertTrue(outcome["test_error_handling"]["isError"])
        link = next(block for block in outcome["test_files"]["content"] if block["type"] == "resource_link" and block["name"] != "note.txt")
        self.assertEqual((link["name"], link["size"]), ("a b/large.bin", 150000))
        self.assertEqual(outcome["read"], [{"uri": True, "length": 200000}])
        self.assertEqual(outcome["no such tool"]["code"], -32602)
        steps = [one["progress"] for one in outcome["progress"]]
        self.assertGreaterEqual(len(steps), 2)
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual(outcome["accepted"]["content"][0]["text"], "state-ok")
        self.assertTrue(outcome["declined"]["isError"])
        self.assertEqual(len(outcome["asked"]), 2)
        self.assertIn("enough", outcome["cancelled"]["thrown"])
        self.assertFalse(outcome["after"]["isError"])


class Conformance(ClientTest):
    """The suite speaks HTTP: bridge.mjs stands between. What is expected to fail is in the baseline, with its reason."""

    def test_latest(self):
        self.hold(MODERN)

    def test_latest_with_a_handshake(self):
        self.hold(HANDSHAKE[0])

    def hold(self, revision):
        bridge = subprocess.Popen(["node", os.path.join(HERE, "bridge.mjs"), *self.command(plugin=PROVIDER)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  env=self.environment())
        self.addCleanup(bridge.stdout.close)
        self.addCleanup(bridge.wait, PATIENCE)
        self.addCleanup(bridge.stdin.close)
        url = bridge.stdout.readline().strip()
        results = os.path.join(self.home, "results")
        done = self.node("--import", os.path.join(HERE, "glob_sync.mjs"), SUITE, "server", "--url", url, "--requirements",
                         revision, "--expected-failures", os.path.join(HERE, "conformance-baseline.yml"), "-o", results)
        checks = [check for path in glob.glob(os.path.join(results, "*", "checks.json")) for check in self.load(path)]
        passed = [check["id"] for check in checks if check["status"] == "SUCCESS"]
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-2000:])
        self.assertGreater(len(passed), 30)
        self.assertIn("wire-schema-valid", passed)

    @staticmethod
    def load(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)


class Inspector(ClientTest):
    def inspect(self, *arguments, plugin):
        done = self.node(INSPECTOR, "--cli", *self.command("--approve", "always", plugin=plugin), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_list(self):
        tools = self.inspect("--method", "tools/list", plugin=CODE_EXECUTE)["tools"]
        self.assertEqual([tool["name"] for tool in tools], ["code_execute"])

    def test_call(self):
        result = self.inspect("--method", "tools/call", "--tool-name", "code_execute", "--tool-arg", "language=sh",
                              "--tool-arg", "code=echo $((6*7))", plugin="none")
        self.assertEqual(result["structuredContent"]["stdout"], "42\n")


class Schema(ClientTest):
    """Every line against the schema of its revision."""

    RESULTS = {"initialize": "InitializeResult", "server/discover": "DiscoverResult", "tools/list": "ListToolsResult",
               "tools/call": "CallToolResult", "resources/list": "ListResourcesResult", "resources/read": "ReadResourceResult",
               "resources/templates/list": "ListResourceTemplatesResult", "ping": "EmptyResult", "logging/setLevel": "EmptyResult"}

    def setUp(self):
        super().setUp()
        done = self.node(os.path.join(HERE, "official_schemas.mjs"), SUITE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.schemas = json.loads(done.stdout)

    def validator(self, revision, name):
        schema = self.schemas[revision]
        place = "$defs" if "$defs" in schema else "definitions"
        if name not in schema[place]:
            self.fail(f"{revision} defines no {name}")
        kind = jsonschema.Draft202012Validator if place == "$defs" else jsonschema.Draft7Validator
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind({place: schema[place], "$ref": f"#/{place}/{name}"})

    def hold(self, revision, name, value):
        problems = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"[:300]
                    for error in self.validator(revision, name).iter_errors(value)]
        self.assertEqual(problems, [], f"{revision} {name}: {json.dumps(value)[:600]}")

    def test_it_finds_planted_violations(self):
        good = {"resultType": "complete", "content": [{"type": "text", "text": "x"}]}
        for wrong in ({**good, "content": [{"type": "text"}]}, {**good, "resultType": 7}, {**good, "isError": "no"}):
            self.hold(MODERN, "CallToolResult", good)
            with self.assertRaises(AssertionError):
                self.hold(MODERN, "CallToolResult", wrong)

    def converse(self, revision, wire, extra):
        """Asks everything there is to ask; returns the method of each id."""
        asked = {}

        def ask(method, **params):
            given = {**params, "_meta": {**extra.get("_meta", {}), "progressToken": len(asked)}} if params or extra else {}
            asked[wire.ask(method, given)] = method

        for method in ("tools/list", "resources/list", "resources/templates/list", "ping", "nonsense", "server/discover"):
            ask(method)
        ask("resources/read", uri="toolhost://run/none")
        ask("logging/setLevel", level="info")
        for tool in wire.call("tools/list", extra)["tools"]:
            ask("tools/call", name=tool["name"], arguments={})
        ask("tools/call", name="no such tool", arguments={})
        wire.send_line(b"nonsense")
        wire.send_line(b"{}")
        for id in list(asked):
            wire.answer_to(id)
        link = next(block for message in wire.seen for block in message.get("result", {}).get("content", [])
                    if block["type"] in ("resource_link", "text") and "toolhost://" in json.dumps(block))
        uri = link.get("uri") or link["text"].split()[-1]
        ask("resources/read", uri=uri)
        wire.answer_to(wire.last_id)
        return asked

    def test_each_revision(self):
        self.assertEqual(set(self.schemas) - {"unknown"}, {MODERN, *HANDSHAKE[:3]})
        for revision in (MODERN, *HANDSHAKE[:3]):
            with self.subTest(revision):
                wire = self.start(plugin=PROVIDER)
                extra = {"_meta": meta(capabilities={"elicitation": {}})} if revision == MODERN else {}
                asked = {} if revision == MODERN else {1: "initialize"}
                if revision != MODERN:
                    wire.handshake(revision)
                asked.update(self.converse(revision, wire, extra))
                kinds = {self.hold_message(revision, asked, message) for message in wire.seen}
                self.assertLessEqual({"CallToolResult", "ListToolsResult", "ReadResourceResult", "error",
                                      "notifications/progress"} | ({"InputRequiredResult"} if extra else set()), kinds)

    def hold_message(self, revision, asked, message):
        """What it was held against."""
        if "error" in message and "id" not in message and revision < "2025-11-25":
            return "error"  # those revisions have no word for an error to nothing that can be named
        self.hold(revision, "JSONRPCMessage", message)
        if "method" in message:
            if message["method"] == "notifications/progress":
                self.hold(revision, "ProgressNotification", message)
            return message["method"]
        if "error" in message:
            self.hold(revision, "JSONRPCErrorResponse" if revision >= "2025-11-25" else "JSONRPCError", message)
            return "error"
        name = self.RESULTS[asked.get(message["id"], "tools/list")]
        if message["result"].get("resultType") == "input_required":
            name = "InputRequiredResult"
        self.hold(revision, name, message["result"])
        return name


def clients():
    """Where they are installed; ends the program where they cannot be."""
    try:
        place = str(node_packages.install(os.path.join(HERE, "npm"), os.environ["BUILD"]))
    except node_packages.Unavailable as reason:
        tap.skip_all(reason)
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version[1:].split(".")[0]) < 20:
        tap.skip_all(f"the official clients want node 20 or newer, this is {version}")
    # The inspector's command line reads this file of the package around it, which it is not installed with here.
    with open(os.path.join(place, "node_modules/@modelcontextprotocol/package.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "@modelcontextprotocol/inspector", "version": "1.0.3"}, file)
    return place


if __name__ == "__main__":
    CLIENTS = clients()
    SUITE = os.path.join(CLIENTS, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
    INSPECTOR = os.path.join(CLIENTS, "node_modules/@modelcontextprotocol/inspector-cli/build/cli.js")
    tap.run_unittest()
