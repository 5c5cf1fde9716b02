# SPDX-License-Identifier: Apache-2.0
"""toolhost mcp: files that a model names, and files and results as a client gets them."""

import json
import os

import tap
from client import McpTest

PROVIDER = os.environ["FILE_PROVIDER"]


class FilesTest(McpTest):
    def called(self, wire, code=None, files=None):
        arguments = {"code": json.dumps(code or {}), **({"files": files} if files else {})}
        return wire.call("tools/call", {"name": "code_execute", "arguments": arguments})


class Named(FilesTest):
    def test_a_file_below_the_directory(self):
        directory = os.path.join(self.home, "data")
        os.mkdir(directory)
        for name, content in (("data/a.csv", "1,2\n"), ("secret", "beside")):
            with open(os.path.join(self.home, name), "w", encoding="utf-8") as file:
                file.write(content)
        files = [{"path": "x", "ref": "a.csv"}, {"path": "y", "ref": "../secret"}]
        opened = self.called(self.started("--files-below", directory, plugin=PROVIDER), files=files)["structuredContent"]["opened"]
        self.assertEqual((opened["a.csv"]["content"], opened["../secret"]), ("1,2\n", None))
        opened = self.called(self.started(plugin=PROVIDER), files=files)["structuredContent"]["opened"]
        self.assertEqual(opened, {"a.csv": None, "../secret": None})


if __name__ == "__main__":
    tap.run_unittest()
