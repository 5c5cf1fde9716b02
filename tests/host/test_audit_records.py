# SPDX-License-Identifier: Apache-2.0
"""What the real provider's audit records hold: exactly what the table of docs/audit.md says, of each kind of event."""

import hashlib
import json
import os
import pathlib
import re

import tap
from support import HostTest

PROVIDER = os.environ.get("CODE_EXECUTE", "")
TABLE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "audit.md"
CANARY = "kJ7canary-value-2x9Q"

FORMS = {
    "string": lambda value: isinstance(value, str) and value != "",
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list) and all(isinstance(member, str) for member in value),
    "objects": lambda value: isinstance(value, list) and all(isinstance(member, dict) for member in value),
    "object": lambda value: isinstance(value, dict),
    "sha256": lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value),
    "time": lambda value: isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value),
}


def table():
    """{event: {member: form}}"""
    rows = re.findall(r"^\| `(\w+)` \| ([a-z, ]+) \| ([a-z0-9]+\??) \|", TABLE.read_text(), re.M)
    of_event = {"start": {}, "end": {}, "refused": {}}
    for member, events, form in rows:
        for event in of_event if events == "all" else events.split(", "):
            of_event[event][member] = form
    return of_event


class Records(HostTest):
    def setUp(self):
        super().setUp()
        self.needs_its_mode()

    def call(self, code, *options, approve="always", **more):
        done = self.toolhost("run", "-l", "sh", "-c", code, "--approve", approve, "--audit", self.audit_file, *options,
                             TOOLHOST_PLUGIN=PROVIDER, **more)
        with open(self.audit_file, encoding="utf-8") as file:
            records = [json.loads(line)["record"] for line in file]
        return done, records

    def expect(self, record, event, **members):
        self.assertEqual(record["event"], event)
        forms = table()[event]
        self.assertEqual(sorted(record), sorted(forms))
        for member, form in forms.items():
            fits = FORMS[form.rstrip("?")](record[member]) or (form.endswith("?") and record[member] is None)
            self.assertTrue(fits, (member, form, record[member]))
        for member, value in members.items():
            self.assertEqual(record[member], value, member)

    def test_the_table_is_there(self):
        self.assertGreater(min(map(len, table().values())), 15)
        self.assertEqual(table()["end"]["exit_code"], "integer?")

    def test_a_run(self):
        code = "echo said-by-the-program; exit 3"
        done, (start, end) = self.call(code, stdin=b"")
        self.assertEqual(done.returncode, 3)
        same = {"code_sha256": hashlib.sha256(code.encode()).hexdigest(), "run_id": start["run_id"], "network": False,
                "request_sha256": start["request_sha256"], "policy_sha256": start["policy_sha256"], "language": "sh"}
        self.assertIsNotNone(start["request_sha256"])
        self.expect(start, "start", **same)
        self.expect(end, "end", **same, status="completed", cause="exit", exit_code=3, signal=None, error=None, stdout_bytes=20)
        self.assertEqual((start["approval"]["approver"], start["approval"]["decision"]), ("flag:always", "allow_once"))
        self.assertGreater(start["limits"]["wall_ms"], 0)
        self.assertTrue(set(end["isolation"]["applied"]) <= set(end["isolation"]["requested"]))
        with open(self.audit_file, "rb") as file:
            self.assertNotIn(b"said-by", file.read())

    def test_a_killed_one_and_one_that_took_too_long(self):
        _, records = self.call("kill -9 $$")
        self.expect(records[1], "end", status="killed", cause="signal", exit_code=None, signal="SIGKILL")
        _, records = self.call("sleep 20", "--timeout-ms", "300")
        self.expect(records[3], "end", status="timeout", exit_code=None)

    def test_denied_by_the_approver(self):
        done, (refused,) = self.call("echo ran", approve="never")
        self.assertEqual(done.stdout, b"")
        self.expect(refused, "refused", error="approval_denied", status="denied")
        self.assertEqual((refused["approval"]["approver"], refused["approval"]["decision"]), ("flag:never", "deny"))

    def test_an_unavailable_approver_is_no_denial(self):
        """An approver who is not there is nobody's denial."""
        key = self.path("key", "k" * 32)
        closed = ["--approvals", "/dev/null/there/approvals.sqlite"]
        for approve, options, why in (("ask", [], "there is no terminal to ask on"),
                                      ("cmd:/nowhere/approver", [], "could not be started: No such file"),
                                      ("queue", closed, "Not a directory"), ("pending", closed, "Not a directory"),
                                      ("webhook:http://127.0.0.1:9/", ["--webhook-key", key], "")):
            done, records = self.call("echo ran", *options, approve=approve)
            self.expect(records[-1], "refused", error="approval_unavailable", status="denied")
            told = records[-1]["approval"]
            self.assertEqual((done.stdout, told["approver"], told["decision"]), (b"", None, "unavailable"), approve)
            self.assertIn(why, told["reason"])
            self.assertIn(b"approval_unavailable: approval is needed, and nobody could be asked: " + told["reason"].encode(), done.stderr)
        done, records = self.call("echo ran", approve="never")
        self.assertEqual(records[-1]["error"], "approval_denied", "control: somebody's word")

    def test_an_unanswered_request_is_recorded(self):
        policy = self.path("policy.json", json.dumps({"approval": {"timeout_ms": 300}}))
        _, records = self.call("echo ran", "--policy", policy, approve="queue")
        self.expect(records[-1], "refused", error="approval_timeout")
        self.assertIsNone(records[-1]["approval"]["approver"])

    def test_denied_by_policy_and_capability(self):
        _, records = self.call("echo ran", "--network")
        self.expect(records[0], "refused", error="policy_denied", network=True, request_sha256=None)
        _, records = self.call("echo ran", "--no-default-caps")
        self.expect(records[1], "refused", error="access_denied")

    def test_secrets_are_named_only(self):
        policy = self.path("policy.json", json.dumps({"secrets": {"allowed": ["TOKEN"]}}))
        secret = self.path("secret", CANARY)
        done, (start, end) = self.call("test -n \"$T\" && echo \"$T\" | wc -c", "--policy", policy, "--secret", f"TOKEN={secret}",
                                       "--use-secret", "T=TOKEN", "--cap", "sandbox.exec.secrets")
        self.assertEqual(done.stdout.strip(), str(len(CANARY) + 1).encode(), done.stderr)  # the program had it
        self.expect(start, "start", secrets=["TOKEN"])
        self.expect(end, "end", secrets=["TOKEN"])
        with open(self.audit_file, encoding="utf-8") as file:
            self.assertNotIn(CANARY, file.read())

    def test_shown_to_people(self):
        self.call("exit 4")
        self.call("echo ran", approve="never")
        shown = self.toolhost("audit", "show", self.audit_file).stdout.decode()
        self.assertRegex(shown, r"Z  completed  sh in mode \w+, exit status 4, \d+ ms")
        self.assertRegex(shown, r"Z  denied  sh in mode \w+, error approval_denied: ")


if __name__ == "__main__":
    tap.run_unittest()
