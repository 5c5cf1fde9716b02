# SPDX-License-Identifier: Apache-2.0
"""The real provider through toolhost: skipped where it has not been built."""

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

    def test_denied(self):
        done = self.real("run", "-l", "sh", "-c", "echo ran", "--approve", "never", "--audit", self.audit_file)
        self.assertEqual((done.returncode, done.stdout), (125, b""))


if __name__ == "__main__":
    tap.run_unittest()
