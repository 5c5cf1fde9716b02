# SPDX-License-Identifier: Apache-2.0
"""toolhost mcp --metrics: the file that the server writes while it lives, and toolhost top on it."""

import os
import re
import stat
import subprocess

import tap
from client import CODE_EXECUTE, PATIENCE, TOOLHOST, McpTest


class Metrics(McpTest):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.home, "toolhost.prom")

    def values(self):
        with open(self.file, encoding="utf-8") as file:
            return {name: int(value) for name, value in re.findall(r"(?m)^toolhost_(\w+) (\d+)$", file.read())}

    def value(self, name):
        return self.values().get(name)

    def test_counts_the_calls_of_the_server(self):
        wire = self.started("--metrics", self.file, "--mode", "process", plugin=CODE_EXECUTE)
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o644)
        self.assertEqual((self.value("calls_run_total"), self.value("calls_not_run_total")), (0, 0))
        with open(self.file, encoding="utf-8") as file:
            self.assertIn(',mode="process",', file.read())
        wire.call("tools/call", wire.tool_call("x", language="cobol"))
        self.wait_until(lambda: self.value("calls_not_run_total") == 1, "the call in the file")
        first = os.stat(self.file).st_mtime_ns
        self.wait_until(lambda: os.stat(self.file).st_mtime_ns > first, "a newer file")
        shown = subprocess.run([TOOLHOST, "top", "--metrics", self.file], capture_output=True, env=self.environment(), timeout=PATIENCE)
        self.assertIn(b"not run 1  too many 0", shown.stdout)
        self.process.stdin.close()
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertEqual([name for name in os.listdir(self.home) if name.startswith("toolhost.prom")], [], "it ends with the server")

    def test_a_provider_that_tells_no_counters(self):
        self.started("--metrics", self.file, plugin=os.environ["CONFORMANCE_PROVIDER"])
        self.assertEqual(self.values().keys(), {"ready"})
        shown = subprocess.run([TOOLHOST, "top", "--metrics", self.file], capture_output=True, env=self.environment(), timeout=PATIENCE)
        self.assertIn(b"running -", shown.stdout)

    def test_a_file_that_cannot_be_written(self):
        self.start("--metrics", os.path.join(self.home, "no", "such", "place"))
        self.assertEqual(self.process.wait(PATIENCE), 1)
        self.assertIn("unwritable_file", self.said())

    def test_a_file_that_cannot_be_written_any_more(self):
        place = os.path.join(self.home, "place")
        os.mkdir(place)
        self.file = os.path.join(place, "toolhost.prom")
        wire = self.started("--metrics", self.file)
        os.rename(place, place + ".gone")
        self.wait_until(lambda: "toolhost.prom" in self.said(), "a notice")
        self.assertIn("tools", wire.call("tools/list"))
        os.rename(place + ".gone", place)
        before = os.stat(self.file).st_mtime_ns
        self.wait_until(lambda: os.stat(self.file).st_mtime_ns > before, "a newer file")
        self.assertEqual(self.said().count("toolhost.prom"), 1, "it is told once")


if __name__ == "__main__":
    tap.run_unittest()
