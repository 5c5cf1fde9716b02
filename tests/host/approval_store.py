# SPDX-License-Identifier: Apache-2.0
"""What the tests of approvals share: runs that ask, and a store of requests and grants."""

import json
import os
import subprocess
import time

from support import TOOLHOST, HostTest

PLUGIN = os.environ["CODE_EXECUTE"]
QUESTION = "Run this? [y/N] "
ASKED = "cmd:/bin/false"  # who is asked at all is denied
PATIENCE = 60


class StoreTest(HostTest):
    def setUp(self):
        super().setUp()
        self.store = self.path("approvals.sqlite")

    def environment(self, **more):
        return super().environment(**{**more, "TOOLHOST_PLUGIN": PLUGIN})

    def arguments(self, code, approve, *options):
        return ["run", "-l", "sh", "-c", code, "--approve", approve, "--approvals", self.store, "--audit", self.audit_file,
                *options]

    def run_with(self, code, approve, *options, **more):
        return self.toolhost(*self.arguments(code, approve, *options), **more)

    def start(self, code, approve, *options):
        process = subprocess.Popen([TOOLHOST, *self.arguments(code, approve, *options)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                   env=self.environment())
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()

    def approvals(self, *arguments, status=0):
        done = self.toolhost("approvals", *arguments, "--approvals", self.store)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def rows(self):
        return json.loads(self.approvals("list", "--json").stdout)

    def open_requests(self):
        return [row for row in self.rows() if row["state"] == "open"]

    def wait_for_request(self, number=1):
        deadline = time.monotonic() + PATIENCE
        while len(found := self.open_requests()) < number:
            self.assertLess(time.monotonic(), deadline, "nobody asked")
            time.sleep(0.05)
        return found

    def grants(self):
        return [row for row in self.rows() if row["kind"] == "grant"]

    def grant(self, code="echo granted", *options):
        process = self.start(code, "queue")
        request = self.wait_for_request()[0]
        self.approvals("approve", request["id"], "--always", *options)
        self.assertEqual(process.communicate(timeout=PATIENCE)[0], code.removeprefix("echo ").encode() + b"\n")
        return self.grants()[-1]
