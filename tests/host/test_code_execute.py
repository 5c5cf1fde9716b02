# SPDX-License-Identifier: Apache-2.0
"""The real provider through toolhost: skipped where it has not been built."""

import json
import os
import unittest

import tap
from support import HostTest

PROVIDER = os.environ.get("CODE_EXECUTE", "")


class CodeExecute(HostTest):
    def real(self, *arguments, **more):
        return self.toolhost(*arguments, TOOLHOST_PLUGIN=PROVIDER, **more)

    def test_conformance(self):
        policy = self.path("policy.json", b'{"secrets": {"allowed": ["conformance"]}}')
        done = self.toolhost("conformance", PROVIDER, timeout=600, CODE_EXEC_POLICY=policy)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        self.assertIn(b" - secret-kept\n", done.stdout, "secrets are given under that policy")

    def test_run(self):
        if self.real("doctor").returncode != 0:
            self.skipTest("its mode is not available on this machine")
        done = self.real("run", "-l", "sh", "-c", "echo out; echo err >&2; exit 3", "--approve", "always",
                         "--audit", self.audit_file)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"out\n", b"err\n"))
        self.assertEqual(self.toolhost("audit", "verify", self.audit_file).returncode, 0)

    def test_narrowed(self):
        """One policy, and less of it for these calls."""
        if self.real("doctor").returncode != 0:
            self.skipTest("its mode is not available on this machine")
        asked = ("run", "-l", "sh", "-c", "echo ran", "--approve", "always", "--audit", self.audit_file)
        for narrowing, expected, part in (('{"languages": ["sh"], "limits": {"wall_ms": 5000}}', (0, b"ran\n"), b""),
                                          ('{"languages": ["python"]}', (125, b""), b"does not offer this caller the language sh"),
                                          ('{"network": true}', (125, b""), b"/policy/network: the policy allows no network"),
                                          ('{"modes": 1}', (125, b""), b"/policy/modes: unknown member"),
                                          ("{", (125, b""), b"narrowing.json: line 1: ")):
            done = self.real(*asked, "--narrow", self.path("narrowing.json", narrowing))
            self.assertEqual((done.returncode, done.stdout), expected, done.stderr)
            self.assertIn(part, done.stderr)
        self.assertEqual(self.real(*asked, "--narrow", "/nowhere").returncode, 125)
        with open(self.audit_file, encoding="utf-8") as file:
            first = json.loads(file.readline())["record"]
        self.assertEqual((first["narrowing"]["languages"], first["limits"]["wall_ms"]), (["sh"], 5000))

    def test_denied(self):
        done = self.real("run", "-l", "sh", "-c", "echo ran", "--approve", "never", "--audit", self.audit_file)
        self.assertEqual((done.returncode, done.stdout), (125, b""))


if __name__ == "__main__":
    tap.run_unittest()
