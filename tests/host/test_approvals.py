# SPDX-License-Identifier: Apache-2.0
"""Grants and requests in the store, with code_execute behind: answered from elsewhere, used once, by many processes at a time."""

import hashlib
import json
import os
import signal
import sqlite3
import subprocess

import tap
from approval_store import ASKED, PATIENCE, QUESTION, StoreTest
from support import TOOLHOST, Terminal


class Queue(StoreTest):
    def test_another_terminal_approves(self):
        process = self.start("echo ran", "queue")
        request = self.wait_for_request()[0]
        shown = self.approvals("show", request["id"]).stdout.decode()
        self.assertIn("1 | echo ran", shown)
        self.assertIn(request["request_sha256"], shown)
        self.approvals("approve", request["id"], "--reason", "fine")
        self.assertEqual(process.communicate(timeout=PATIENCE)[0], b"ran\n")
        records = [line["record"] for line in self.records() if "approval" in line.get("record", {})]
        self.assertEqual({record["approval"]["decision"] for record in records}, {"allow_once"})
        self.assertRegex(records[0]["approval"]["approver"], "^queue:")

    def test_another_terminal_denies(self):
        process = self.start("echo ran", "queue")
        self.approvals("deny", self.wait_for_request()[0]["id"], "--reason", "not on a Friday")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (125, b""))
        self.assertIn(b"not on a Friday", err)

    def test_it_is_taken_away(self):
        process = self.start("echo ran", "queue")
        self.approvals("revoke", self.wait_for_request()[0]["id"])
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (125, b""))
        self.assertIn(b"revoked", err)

    def test_a_call_that_is_cancelled_leaves_no_question(self):
        process = self.start("echo ran", "queue")
        request = self.wait_for_request()[0]
        process.terminate()
        self.assertEqual(process.wait(timeout=PATIENCE), 130)
        self.assertEqual(self.open_requests(), [])
        self.approvals("approve", request["id"], status=1)

    def test_an_unanswered_request_is_denied(self):
        policy = self.path("policy.json", '{"approval": {"timeout_ms": 300}}')
        done = self.run_with("echo ran", "queue", "--policy", policy)
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertEqual(self.open_requests(), [])

    def test_the_request_is_open_for_as_long_as_the_call_waits(self):
        """The store counts whole seconds: one that has begun is not one that is left."""
        for wait_ms, seconds in ((300, 2), (1000, 2), (1200, 3)):
            policy = self.path("policy.json", json.dumps({"approval": {"timeout_ms": wait_ms}}))
            done = self.run_with("echo ran", "queue", "--policy", policy)
            self.assertIn(b"approval_timeout", done.stderr)
            with sqlite3.connect(self.store) as database:
                opened = database.execute("SELECT expires - created FROM requests ORDER BY rowid DESC LIMIT 1").fetchone()
            database.close()
            self.assertEqual(opened, (seconds,), wait_ms)

    def test_an_expired_request_names_no_approver(self):
        process = self.start("echo ran", "queue")
        self.wait_for_request()
        self.change("UPDATE requests SET expires = 1")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (125, b""))
        self.assertIn(b"approval_unavailable: approval is needed, and nobody could be asked: nobody answered in time", err)

    def test_one_answer_counts(self):
        process = self.start("echo ran", "queue")
        request = self.wait_for_request()[0]["id"]
        self.approvals("deny", request)
        self.assertIn(b"approval_replayed", self.approvals("approve", request, status=1).stderr)
        self.assertEqual(process.wait(timeout=PATIENCE), 125)
        self.assertIn(b"approval_unknown", self.approvals("approve", "0" * 16, status=1).stderr)

    def test_an_answer_that_comes_too_late(self):
        process = self.start("echo ran", "queue")
        request = self.wait_for_request()[0]["id"]
        process.send_signal(signal.SIGSTOP)  # or it sees that too, and takes its request back
        self.change("UPDATE requests SET expires = 1")
        self.assertIn(b"approval_expired", self.approvals("approve", request, status=1).stderr)

    def change(self, statement):
        with sqlite3.connect(self.store) as database:
            database.execute(statement)
        database.close()

    def test_usage(self):
        for words in (("list", "x"), ("show",), ("approve",), ("grant", "0" * 16), ("show", "0" * 16, "--open")):
            self.approvals(*words, status=2)
        self.assertEqual(self.toolhost("approvals").returncode, 2)


    def test_no_place_for_the_file(self):
        for home, words in (("", b"no directory for the approvals"), ("/dev/null", b"cannot make directory /dev/null/.local: Not a directory")):
            done = self.run_code("echo ran", approve="queue", HOME=home)
            self.assertEqual((done.returncode, done.stdout), (125, b""))
            self.assertIn(b"no approver could be asked: " + words, done.stderr)
            self.assertIn(b"or give --approvals FILE", done.stderr)


class Pending(StoreTest):
    def test_an_identical_call_uses_the_answer_once(self):
        first = self.run_with("echo ran", "pending")
        self.assertEqual((first.returncode, first.stdout), (125, b""))
        self.assertIn(b"approval_pending", first.stderr)
        again = self.run_with("echo ran", "pending")
        self.assertIn(b"approval_pending", again.stderr)
        requests = self.open_requests()
        self.assertEqual(len(requests), 1, "it is asked about once")
        self.approvals("approve", requests[0]["id"])
        self.assertIn(b"approval_pending", self.run_with("echo other", "pending").stderr)
        self.assertEqual(self.run_with("echo ran", "pending").stdout, b"ran\n")
        self.assertIn(b"approval_pending", self.run_with("echo ran", "pending").stderr)

    def test_of_many_that_race_for_it_one_runs(self):
        self.run_with("echo ran", "pending")
        self.approvals("approve", self.open_requests()[0]["id"])
        racers = [self.start("echo ran", "pending") for _ in range(8)]
        ends = [racer.communicate(timeout=PATIENCE) for racer in racers]
        self.assertEqual(sorted(out for out, _ in ends), [b""] * 7 + [b"ran\n"])
        for out, err in ends:
            self.assertTrue(out or b"approval_pending" in err, err)


class OneId(StoreTest):
    """The id of a result's approval is the one that toolhost approvals takes, from the question to the revocation."""

    def result(self, code, approve, *options, stdin=b""):
        request = json.dumps({"language": "sh", "code": code}).encode()
        process = subprocess.Popen([TOOLHOST, "invoke", "-", "--approve", approve, "--approvals", self.store,
                                    "--audit", self.audit_file, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True, env=self.environment())
        self.addCleanup(self.end, process)
        process.stdin.write(request)
        process.stdin.close()
        process.stdin = None
        return process

    def id_of(self, process):
        out, err = process.communicate(timeout=PATIENCE)
        result = json.loads(out)
        self.assertIsNone(result["error"], err)
        return result["approval"]["id"]

    def test_from_the_question_to_the_revocation(self):
        first = self.result("echo once", "queue")
        asked = self.wait_for_request()[0]["id"]
        self.approvals("approve", asked, "--always")
        self.assertEqual(self.id_of(first), asked)
        self.assertEqual([grant["id"] for grant in self.grants()], [asked])
        self.assertEqual(self.id_of(self.result("echo once", ASKED)), asked, "a later call by the grant")
        ids = {line["record"]["approval"]["id"] for line in self.records() if "approval" in line.get("record", {})}
        self.assertEqual(ids, {asked}, "audit")
        self.approvals("revoke", asked)
        self.assertEqual(self.grants(), [])
        self.assertEqual(self.run_with("echo once", ASKED).returncode, 125)
        self.assertIn(b"approval_unknown", self.approvals("revoke", asked, status=1).stderr)

    def test_of_a_pending_request(self):
        self.run_with("echo later", "pending")
        asked = self.open_requests()[0]["id"]
        self.approvals("approve", asked, "--always")
        self.assertEqual(self.id_of(self.result("echo later", "pending")), asked)
        self.approvals("revoke", asked)
        self.assertEqual(self.grants(), [])

    def test_of_a_second_call_while_the_first_request_waits(self):
        ids = []
        for _ in range(2):
            process = self.result("echo twice", "pending")
            out, err = process.communicate(timeout=PATIENCE)
            result = json.loads(out)
            self.assertEqual(result["error"]["code"], "approval_pending", err)
            ids.append(result["approval"]["id"])
            self.assertIn(ids[-1], result["error"]["message"])
            self.assertIn(ids[-1].encode(), err)
        self.assertEqual(ids, [row["id"] for row in self.open_requests()] * 2)
        told = {line["record"]["approval"]["id"] for line in self.records() if "approval" in line.get("record", {})}
        self.assertEqual(told, set(ids), "audit")
        self.approvals("approve", ids[1], "--always")
        self.assertEqual(self.id_of(self.result("echo twice", "pending")), ids[0])
        self.approvals("revoke", ids[1])
        self.assertEqual(self.grants(), [])

    def test_of_the_terminal(self):
        terminal = Terminal(self, self.arguments("echo asked", "ask"))
        terminal.wait_for(QUESTION, seconds=PATIENCE)
        terminal.type("always\n")
        self.assertEqual(terminal.end()[:2], (0, b"asked\n"))
        told = [line["record"]["approval"]["id"] for line in self.records() if "approval" in line.get("record", {})][-1]
        self.approvals("revoke", told)
        self.assertEqual(self.run_with("echo asked", ASKED).returncode, 125)

    def test_a_grant_of_before(self):
        """Of an earlier toolhost, which gave it a name of its own."""
        grant = self.grant()
        with sqlite3.connect(self.store) as database:
            database.execute("UPDATE grants SET id = '0123456789abcdef'")
        database.close()
        self.approvals("revoke", grant["id"])
        self.assertEqual(self.grants(), [])


class ManyProcesses(StoreTest):
    def test_each_request_gets_its_own_answer_once(self):
        calls = {f"echo {number}": self.start(f"echo {number}", "queue") for number in range(10)}
        requests = self.wait_for_request(len(calls))
        answers = [subprocess.Popen([TOOLHOST, "approvals", "approve" if number % 2 else "deny", request["id"], "--approvals",
                                     self.store], stderr=subprocess.PIPE, env=self.environment())
                   for request in requests for number in (0, 1)]
        accepted = 0
        for answer in answers:
            _, err = answer.communicate(timeout=PATIENCE)
            accepted += answer.returncode == 0
            self.assertTrue(answer.returncode == 0 or b"approval_replayed" in err, err)
        self.assertEqual(accepted, len(calls))
        words = {}
        for code, call in calls.items():
            out, _ = call.communicate(timeout=PATIENCE)
            words[hashlib.sha256(code.encode()).hexdigest()] = bool(out)
            self.assertIn(out, (b"", code.removeprefix("echo ").encode() + b"\n"))
        decided = {line["record"]["code_sha256"]: line["record"]["approval"]["decision"] == "allow_once"
                   for line in self.records() if line.get("record", {}).get("event") in ("start", "refused")}
        self.assertEqual(decided, words)

    def test_a_grant_serves_many_at_once(self):
        self.grant()
        calls = [self.start("echo granted", ASKED) for _ in range(8)]
        for call in calls:
            out, err = call.communicate(timeout=PATIENCE)
            self.assertEqual(out, b"granted\n", err)
        self.assertEqual(self.grants()[0]["uses"], 8)


class Cells(StoreTest):
    """approve --cells: an answer for the session that the request is of, and no grant in the store."""

    def test_further_cells_are_not_asked_about(self):
        self.needs_its_mode()
        policy = self.path("policy.json", json.dumps({"sessions": {"max_total": 2}, "approval": {"decisions": ["once", "cells"]}}))
        process = subprocess.Popen([TOOLHOST, "session", "-l", "sh", "--policy", policy, "--approve", "queue", "--approvals", self.store,
                                    "--audit", self.audit_file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, env=self.environment())
        self.addCleanup(self.end, process)
        process.stdin.write(b"x=40\necho $((x + 2))\n")
        process.stdin.close()
        process.stdin = None
        self.approvals("approve", self.wait_for_request()[0]["id"], "--cells")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (0, b"42\n"), err)
        self.assertEqual(self.grants(), [])
        told = [line["record"]["approval"] for line in self.records() if line.get("record", {}).get("event") == "start"]
        self.assertEqual([one["decision"] for one in told], ["allow_cells"] * 2)
        self.assertEqual(told[0], told[1])
        self.assertRegex(told[0]["approver"], "^queue:")

    def test_where_it_is_not_offered_the_request_waits_on(self):
        process = self.start("echo ran", "queue")
        request = self.wait_for_request()[0]["id"]
        self.assertIn(b"approval_not_offered", self.approvals("approve", request, "--cells", status=1).stderr)
        for arguments in (("approve", request, "--cells", "--always"), ("deny", request, "--cells")):
            self.assertIn(b"are for approve, one at a time", self.approvals(*arguments, status=2).stderr)
        self.approvals("approve", request)
        self.assertEqual(process.communicate(timeout=PATIENCE)[0], b"ran\n")


class Grants(StoreTest):
    def test_it_stands_for_the_identical_request_alone(self):
        grant = self.grant("echo granted", "--days", "2")
        self.assertAlmostEqual(grant["expires"] - grant["created"], 2 * 86400, delta=60)
        done = self.run_with("echo granted", ASKED, "-v")
        self.assertEqual(done.stdout, b"granted\n", done.stderr)
        records = [line["record"] for line in self.records() if "approval" in line.get("record", {})]
        self.assertEqual(records[-1]["approval"]["decision"], "allow_always")
        self.assertRegex(records[-1]["approval"]["approver"], f"^grant:{grant['id']} by queue:")
        for code, options in (("echo granted ", ()), ("echo granted", ("--timeout-ms", "9999")),
                              ("echo granted", ("--env", "A=b")), ("echo granted", ("--", "argument"))):
            done = self.run_with(code, ASKED, *options)
            self.assertEqual((done.returncode, done.stdout), (125, b""), (code, options))

    def test_a_revoked_grant_is_asked_about_again(self):
        self.approvals("revoke", self.grant()["id"])
        self.assertEqual(self.run_with("echo granted", ASKED).returncode, 125)
        self.assertIn(b"approval_unknown", self.approvals("revoke", "0" * 16, status=1).stderr)

    def test_it_expires(self):
        self.grant()
        with sqlite3.connect(self.store) as database:
            database.execute("UPDATE grants SET expires = strftime('%s', 'now')")
        database.close()
        self.assertEqual(self.run_with("echo granted", ASKED).returncode, 125)

    def test_it_serves_its_principal(self):
        self.grant()
        with sqlite3.connect(self.store) as database:
            database.execute("UPDATE grants SET principal = 'somebody else'")
        database.close()
        self.assertEqual(self.run_with("echo granted", ASKED).returncode, 125)

    def test_never_is_not_changed_by_a_file(self):
        self.grant()
        self.assertEqual(self.run_with("echo granted", "never").returncode, 125)

    def test_the_policy_can_forbid_them(self):
        self.grant()
        policy = self.path("policy.json", '{"approval": {"decisions": ["once"]}}')
        self.assertEqual(self.run_with("echo granted", ASKED, "--policy", policy).returncode, 125)

    def test_none_with_a_workspace(self):
        """What it holds is not in the hash: nobody is offered a grant, and one that is in the file serves nothing."""
        os.chmod(self.home, 0o755)
        workspace = os.path.realpath(os.path.join(self.home, "workspace"))
        os.mkdir(workspace, 0o755)
        options = ("--workspace", workspace, "--policy", self.path("policy.json", json.dumps({"workspace": {"below": [workspace]}})))
        process = self.start("echo granted", "queue", *options)
        asked = self.wait_for_request()[0]
        self.assertIn(b"approval_not_offered", self.approvals("approve", asked["id"], "--always", status=1).stderr)
        self.approvals("approve", asked["id"])
        self.assertEqual(process.communicate(timeout=PATIENCE)[0], b"granted\n", "control: once")
        with sqlite3.connect(self.store) as database:
            database.execute("INSERT INTO grants (id, request_sha256, principal, approver, summary, created, expires) VALUES"
                             " ('0123456789abcdef', ?, ?, 'ann', '', 1, 4000000000)", (asked["request_sha256"], asked["principal"]))
        database.close()
        self.assertEqual(self.run_with("echo granted", ASKED, *options).returncode, 125)
        self.assertEqual(self.grants()[0]["uses"], 0)

    def test_a_file_that_others_could_have_written_grants_nothing(self):
        self.grant()
        self.assertEqual(self.run_with("echo granted", ASKED).returncode, 0, "positive control")

        def refuses(what):
            done = self.run_with("echo granted", ASKED)
            self.assertEqual((done.returncode, done.stdout), (125, b""), what)
            self.assertIn(b"standing grants cannot be read", done.stderr)
            self.assertEqual(self.toolhost("approvals", "list", "--approvals", self.store).returncode, 1)
        os.chmod(self.store, 0o660)
        refuses("a file that its group can write")
        os.chmod(self.store, 0o600)
        os.chmod(self.home, 0o777)
        refuses("a directory that everybody can write")
        os.chmod(self.home, 0o700)
        real = self.path("real.sqlite")
        os.rename(self.store, real)
        os.symlink(real, self.store)
        refuses("a symbolic link")
        os.unlink(self.store)
        self.path("approvals.sqlite", "no database at all, but long enough to be looked at" * 20)
        refuses("no database")
        if os.getuid() == 0:
            os.unlink(self.store)
            os.rename(real, self.store)
            os.chown(self.store, 65534, -1)
            refuses("another user's file")

    def test_the_queue_needs_its_file(self):
        os.chmod(self.home, 0o777)
        done = self.run_with("echo ran", "queue")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"other users can write to it", done.stderr)

    def test_a_list_shows_nothing_that_a_terminal_obeys(self):
        process = self.start("echo \x1b[2J\u202e", "queue")
        request = self.wait_for_request()[0]["id"]
        for shown in (self.approvals("list").stdout, self.approvals("show", request).stdout):
            self.assertIn(b"<U+001B>[2J<U+202E>", shown)
            self.assertNotIn(b"\x1b", shown)
        self.approvals("deny", request)
        process.wait(timeout=PATIENCE)


if __name__ == "__main__":
    tap.run_unittest()
