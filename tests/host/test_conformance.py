# SPDX-License-Identifier: Apache-2.0
"""toolhost conformance sees every fault that a fixture has, and none where there is none."""

import json
import os

import tap
from support import HostTest, fixture

FAULTS = json.loads(os.environ["FAULTS"])


class Conformance(HostTest):
    def hold(self, name, *more):
        return self.toolhost("conformance", fixture(name), *more, timeout=300)

    def test_a_good_provider_passes_all(self):
        done = self.hold("none")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, rb"# \d\d passed, 0 failed, 0 skipped\n$")

    def test_each_fault_is_seen_by_its_case(self):
        for fault, case in FAULTS.items():
            if not case:
                continue
            with self.subTest(fault):
                done = self.hold(fault, "--case", case, "--timeout-ms", "3000" if fault == "hangs" else "60000")
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(f"not ok 1 - {case}\n# ".encode(), done.stdout)
                self.assertTrue(done.stdout.endswith(b"# 0 passed, 1 failed, 0 skipped\n"))

    def test_a_file_that_is_no_provider_fails(self):
        junk = self.path("junk.so", b"\x7fELF and no more")
        done = self.toolhost("conformance", junk, timeout=300)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"# 0 passed", done.stdout)
        self.assertEqual(self.toolhost("conformance", self.path("absent.so")).returncode, 2)
        self.assertEqual(self.hold("none", "--case", "no-such-case").returncode, 2)


if __name__ == "__main__":
    tap.run_unittest()
