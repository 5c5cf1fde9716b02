# SPDX-License-Identifier: Apache-2.0
"""What the tests of --tools-from share: toolhost with the servers of a file, of which ours is tests/fixtures/tool_server.py, and a client that
has its provider call their tools. The provider is a fixture whose one tool calls what its input says."""

import json
import os

from client import McpTest

PROVIDER = os.environ["CALLING_PROVIDER"]
SERVER = os.environ["TOOL_SERVER"]
PYTHON = "/usr/bin/python3"


def ours(*words, tools=("*",), **more):
    return {"command": PYTHON, "args": [SERVER, *words], "tools": list(tools), **more}


def call(name, deadline_ms=None, cancel_after_ms=None, **arguments):
    return {"name": name, "arguments": arguments, **({"deadline_ms": deadline_ms} if deadline_ms else {}),
            **({"cancel_after_ms": cancel_after_ms} if cancel_after_ms else {})}


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def group_is_there(group):
    """Has the process group a process that runs?"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                state, _, its_group = file.read().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


class ToolsTest(McpTest):
    def configured(self, servers, mode=0o600):
        path = os.path.join(self.home, "servers.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(servers if isinstance(servers, str) else json.dumps({"mcpServers": servers}))
        os.chmod(path, mode)
        return path

    def served(self, **servers):
        """The wire of toolhost mcp with those servers."""
        return self.started("--tools-from", self.configured(servers), "--result", "full", plugin=PROVIDER)

    @staticmethod
    def run_calls(wire, *calls, **more):
        return wire.call("tools/call", {"name": "call_tools", "arguments": {"calls": list(calls), **more}})["structuredContent"]

    def answer(self, wire, name, **more):
        """The answer to one call."""
        return self.run_calls(wire, call(name, **more))["answers"][0]

    def value(self, wire, name, **more):
        return self.answer(wire, name, **more)["reply"]["structured_content"]

    def process_of(self, wire, server="x"):
        return self.value(wire, f"{server}.environment")["pid"]

    def fails(self, wire, name, expected, **more):
        """The call is a tool's error with such a text."""
        answer = self.answer(wire, name, **more)
        self.assertEqual(answer["outcome"], "answered", answer)
        self.assertTrue(answer["reply"]["is_error"], answer)
        self.assertRegex(answer["reply"]["content"][0]["text"], expected)

    def names(self, wire):
        return [tool["name"] for tool in self.run_calls(wire).get("tools", [])]
