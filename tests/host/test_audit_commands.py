# SPDX-License-Identifier: Apache-2.0
"""toolhost audit: keys, rotation, what is shown to people, and logs that a second implementation of the format has written."""

import ctypes
import hashlib
import hmac
import json
import os
import resource
import subprocess
import tempfile

import tap
from support import TOOLHOST, HostTest

KEY, OTHER_KEY = b"0123456789abcdef0123456789abcdef", b"fedcba9876543210fedcba9876543210"
MS_NOSUID, MNT_DETACH = 2, 2


def key_id(key):
    return hmac.new(key, b"key id", hashlib.sha256).hexdigest()[:16]


class Sealed:
    """The format once more, from docs/audit.md."""

    def __init__(self, key=None):
        self.seq, self.previous, self.key, self.lines = 0, "0" * 64, key, []

    def add(self, record=None, log=None, time="2026-01-31T12:00:00.000Z"):
        self.seq += 1
        line = {"seq": self.seq, "time": time, "prev_sha256": self.previous}
        line |= {"record": record} if log is None else {"log": log}
        if self.key:
            line["key"] = key_id(self.key)
        text = json.dumps(line, separators=(",", ":"))[:-1]
        if self.key:
            text += f',"hmac_sha256":"{hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()}"'
        self.previous = hashlib.sha256(text.encode()).hexdigest()
        self.lines.append(f'{text},"sha256":"{self.previous}"}}\n')
        return self

    def text(self):
        return "".join(self.lines)


class Commands(HostTest):
    def audit(self, action, *more, **others):
        return self.toolhost("audit", action, *more, **others)

    def put(self, sealed):
        return self.path("audit.jsonl", sealed.text())

    def refused(self, done, *parts):
        self.assertEqual(done.returncode, 1, done.stdout)
        for part in parts:
            self.assertIn(part, done.stderr)

    def run_with(self, *options):
        return self.run_code("echo ran", *options)

    def assert_stopped(self, done, *parts):
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        for part in (b"audit_unavailable", *parts):
            self.assertIn(part, done.stderr)

    def two_keys(self):
        return self.path("key", KEY), self.path("other", OTHER_KEY)


class Keys(Commands):
    def test_a_log_keeps_its_key(self):
        key, other = self.two_keys()
        self.assertEqual(self.run_with("--audit-key", key).returncode, 0)
        self.assert_stopped(self.run_with(), b"is signed by key " + key_id(KEY).encode(), b"--previous-key")
        self.assert_stopped(self.run_with("--audit-key", other), b"is signed by key")
        self.assertEqual(self.run_with("--audit-key", key).returncode, 0)
        done = self.audit("verify", self.audit_file, "--audit-key", key)
        self.assertIn(b"intact: 4 records", done.stdout)
        self.assertIn(b"signed by key " + key_id(KEY).encode(), done.stdout)
        self.assertIn(b"not checked", self.audit("verify", self.audit_file).stdout)
        self.refused(self.audit("verify", self.audit_file, "--audit-key", other), b"keys that were not given")

    def test_a_last_line_that_is_forged_stops_everything(self):
        key, _ = self.two_keys()
        sealed = Sealed(KEY).add({"a": 1})
        forged = Sealed(OTHER_KEY).add({"a": 2}).text().replace(key_id(OTHER_KEY), key_id(KEY))
        body = forged[:forged.rindex(',"sha256"')]
        self.path("audit.jsonl", f'{body},"sha256":"{hashlib.sha256(body.encode()).hexdigest()}"}}\n')
        self.assert_stopped(self.run_with("--audit-key", key), b"its key did not sign it")
        self.put(sealed)
        self.assertEqual(self.run_with("--audit-key", key).returncode, 0)

    def test_keys_change_by_a_line_of_the_old_one(self):
        key, other = self.two_keys()
        log = self.audit_file
        self.assertEqual(self.run_with().returncode, 0)
        self.assert_stopped(self.run_with("--audit-key", key), b"has not been signed so far")
        self.refused(self.audit("rotate", log, "--audit-key", key, "--previous-key", other), b"has not been signed so far")
        self.assertEqual(self.audit("rotate", log, "--audit-key", key).returncode, 0)
        self.refused(self.audit("rotate", log, "--audit-key", other), b"is signed by key")
        self.assertEqual(self.audit("rotate", log, "--audit-key", other, "--previous-key", key).returncode, 0)
        self.assertEqual(self.run_with("--audit-key", other).returncode, 0)
        done = self.audit("verify", log, "--audit-key", key, "--audit-key", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"in 3 files", done.stdout)
        self.refused(self.audit("verify", log, "--audit-key", other), b"2 records are signed by keys that were not given")
        self.assertEqual(self.audit("rotate", log, "--previous-key", other).returncode, 0)  # no longer
        self.assertEqual(self.run_with().returncode, 0)
        self.assertEqual(self.audit("verify", log).returncode, 0)
        self.refused(self.audit("verify", log, "--audit-key", key, "--audit-key", other), b"is not signed by the key")

    def test_a_change_that_was_interrupted_is_gone_on_from(self):
        key, other = self.two_keys()
        sealed = Sealed(KEY).add({"a": 1}).add(log={"event": "key_changed", "key": key_id(OTHER_KEY)})
        self.put(sealed)
        self.assert_stopped(self.run_with("--audit-key", key), b"is signed by key")
        self.assertEqual(self.run_with("--audit-key", other).returncode, 0)
        self.assertEqual(self.audit("verify", self.audit_file, "--audit-key", key, "--audit-key", other).returncode, 0)
        self.put(sealed)
        self.assertEqual(self.audit("rotate", self.audit_file, "--audit-key", other).returncode, 0)
        self.assertEqual(self.audit("verify", self.audit_file, "--audit-key", key, "--audit-key", other).returncode, 0)

    def test_the_signing_key_is_part_of_the_chain(self):
        for first, second, said in ((KEY, None, b"is signed by nobody where key " + key_id(KEY).encode() + b" belongs"),
                                    (None, KEY, b"is signed by key " + key_id(KEY).encode() + b" where key none belongs")):
            sealed = Sealed(first).add({"a": 1})
            sealed.key = second
            self.put(sealed.add({"a": 2}))
            self.refused(self.audit("verify", self.audit_file), b"line 2 ", said)

    def test_keys_that_are_none(self):
        key, other = self.two_keys()
        shared = self.path("shared", KEY, 0o644)
        self.assertEqual(self.run_with("--audit-key", key).returncode, 0)
        for bad in (shared, self.path("short", b"short"), self.path("absent"), self.home):
            done = self.run_with("--audit-key", bad)
            self.assertEqual((done.returncode, done.stdout), (125, b""))
            self.assertIn(b"audit_key_unusable", done.stderr)
            self.refused(self.audit("verify", self.audit_file, "--audit-key", bad), b"audit_key_unusable")
            self.refused(self.audit("rotate", self.audit_file, "--audit-key", key, "--previous-key", bad), b"audit_key_unusable")
        for done in (self.run_with("--audit-key", key, "--audit-key", other),
                     self.audit("rotate", self.audit_file, "--audit-key", key, "--audit-key", other)):
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(b"only one --audit-key can sign", done.stderr)


class Files(Commands):
    def test_usage(self):
        log = self.put(Sealed().add({"a": 1}))
        for words in (("audit",), ("audit", "burn"), ("audit", "head", log, log), ("audit", "rotate", log, log),
                      ("audit", "verify", log, "--head", "12"), ("audit", "show", log, "--since", "yesterday"),
                      ("audit", "show", log, "--until", "2026-01-31T12:00:00.000Z0"), ("audit", "verify", log, "--sandbox", "none"),
                      ("run", "-c", "x", "--audit-max-bytes", "7"), ("run", "-c", "x", "--audit-max-bytes", "-1")):
            done = self.toolhost(*words)
            self.assertEqual(done.returncode, 2, words)

    def test_no_place_for_a_log(self):
        for environment in ({"HOME": ""}, {"HOME": "relative", "XDG_STATE_HOME": "relative"}):
            for action in ("verify", "show", "head", "rotate"):
                self.refused(self.audit(action, **environment), b"no directory for the audit log", b"--audit FILE")
        done = subprocess.run([TOOLHOST, "audit", "head"], env={}, capture_output=True, timeout=60)
        self.refused(done, b"no directory for the audit log")

    def test_the_default_log(self):
        self.assertEqual(self.toolhost("run", "-l", "sh", "-c", "echo x", "--approve", "always").returncode, 0)
        self.assertIn(b"intact: 2 records", self.audit("verify").stdout)
        self.assertEqual(self.audit("head").stdout.split()[1], b"2")
        self.assertEqual(self.audit("rotate").returncode, 0)
        self.assertIn(b"in 2 files", self.audit("verify").stdout)

    def test_head(self):
        sealed = Sealed().add({"a": 1}).add({"a": 2})
        log = self.put(sealed)
        self.assertEqual(self.audit("head", log).stdout.decode(), f"{sealed.previous} 2\n")
        self.assertEqual(self.audit("verify", log, "--head", sealed.previous).returncode, 0)
        head = sealed.previous
        self.put(sealed.add({"a": 3}))
        self.assertEqual(self.audit("verify", log, "--head", head).returncode, 0)  # grown since
        self.path("audit.jsonl", "".join(sealed.lines[:1]))
        self.refused(self.audit("verify", log, "--head", head), b"its last record is 1")
        self.path("audit.jsonl", sealed.text() + '{"seq":4')
        done = self.audit("head", log)
        self.assertEqual(done.stdout.decode(), f"{sealed.previous} 3\n")
        self.assertIn(b"incomplete", done.stderr)
        self.refused(self.audit("head", self.path("absent")), b"absent")
        self.refused(self.audit("head", self.path("other", "nothing of ours\n")), b"audit verify")
        self.refused(self.audit("head", self.path("shared", sealed.text(), 0o644)), b"mode 0644")

    def test_rotate(self):
        self.refused(self.audit("rotate", "/dev/null"), b"no records")
        self.refused(self.audit("rotate", self.path("empty", "")), b"no records")
        self.put(Sealed().add({"a": 1}))
        for _ in range(2):  # by a name without a directory, too
            done = subprocess.run([TOOLHOST, "audit", "rotate", "audit.jsonl"], cwd=self.home, env=self.environment(),
                                  capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.exists(self.path(done.stdout.decode().strip())))
        done = subprocess.run([TOOLHOST, "audit", "verify", "audit.jsonl"], cwd=self.home, env=self.environment(),
                              capture_output=True, timeout=60)
        self.assertIn(b"in 3 files", done.stdout)

    def test_files_in_their_order(self):
        self.put(Sealed().add({"a": 1}))
        names = [self.audit("rotate", self.audit_file).stdout.decode().strip() for _ in range(2)]
        done = self.audit("verify", *names, self.audit_file)
        self.assertIn(b"intact: 3 records", done.stdout)
        self.assertEqual(self.audit("verify", names[1]).returncode, 0)
        self.refused(self.audit("verify", names[1], names[0]), b"audit_broken")
        os.unlink(names[0])
        self.refused(self.audit("verify", self.audit_file), b"which is missing", b"--partial")
        self.assertIn(b"the records before 2 are missing", self.audit("verify", self.audit_file, "--partial").stdout)
        self.assertIn(b"intact: 1 record,", self.audit("verify", self.put(Sealed().add({})), "--partial").stdout)

    def test_long_lines(self):
        """One that is longer than what is looked at first, and one that is longer than any."""
        sealed = Sealed().add({"filling": "x" * 300000})
        self.put(sealed)
        self.assertEqual(self.run_with().returncode, 0)
        self.assertIn(b"intact: 3 records", self.audit("verify", self.audit_file).stdout)
        self.path("audit.jsonl", sealed.text() + '{"seq":2' + "x" * 4000000)
        self.assert_stopped(self.run_with(), b"is longer than any record")
        self.refused(self.audit("verify", self.audit_file), b"line 2 was changed: it is longer than any record")

    def test_garbage_behind_a_gap(self):
        sealed = Sealed().add({"a": 1}).add({"a": 2}).add({"a": 3})
        self.path("audit.jsonl", sealed.lines[0] + sealed.lines[2] + "garbage\n")
        self.refused(self.audit("verify", self.audit_file), b"line 2 has record 3 where 2 belongs: that was removed")

    def small_disk(self):
        """A file system of 64 KiB with a full log on it; skipped where nothing can be mounted."""
        libc = ctypes.CDLL(None, use_errno=True)
        directory = tempfile.mkdtemp(prefix="audit-disk-")
        self.addCleanup(os.rmdir, directory)
        if libc.mount(b"none", directory.encode(), b"tmpfs", MS_NOSUID, b"size=64k") != 0:
            self.skipTest(f"no file system can be mounted: {os.strerror(ctypes.get_errno())}")
        self.addCleanup(libc.umount2, directory.encode(), MNT_DETACH)
        return directory

    def test_a_full_disk(self):
        directory = self.small_disk()
        self.audit_file = os.path.join(directory, "audit.jsonl")
        self.assertEqual(self.run_with().returncode, 0)
        filling = os.path.join(directory, "filling")
        with open(filling, "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 512):
                    pass
            except OSError:
                pass
        for _ in range(40):  # until the page is full that the log still has
            done = self.run_with()
            if done.returncode != 0:
                break
        self.assert_stopped(done, b"No space left on device", b"free some space")
        self.assertEqual(self.audit("verify", self.audit_file).returncode, 0)
        os.unlink(filling)
        self.assertEqual(self.run_with().returncode, 0)
        self.assertEqual(self.audit("verify", self.audit_file).returncode, 0)

    def test_a_read_only_file_system(self):
        libc = ctypes.CDLL(None, use_errno=True)
        directory = self.small_disk()
        self.audit_file = os.path.join(directory, "audit.jsonl")
        self.assertEqual(self.run_with().returncode, 0)
        if libc.mount(b"none", directory.encode(), None, 32 | 1, None) != 0:  # MS_REMOUNT | MS_RDONLY
            self.skipTest("the file system cannot be remounted")
        self.assert_stopped(self.run_with(), b"Read-only file system", b"--audit FILE")


class Shown(Commands):
    def show(self, *options, status=0):
        done = self.audit("show", self.audit_file, *options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode()

    def put_runs(self):
        base = {"language": "py", "mode": "process", "network": True, "code_sha256": "c0de", "request_sha256": "beef",
                "policy_sha256": "f00d", "traceparent": "00-1-2-01", "image_id": "sha256:1", "secrets": ["TOKEN", 7], "endpoints": ["github", "\x1b"], "session": "s1",
                "approval": {"decision": "allow_once", "approver": "cmd:\x1b[2Jx"}}
        a, b, c = ({**base, "principal": who, "run_id": run} for who, run in (("ann", "r1"), ("bob", "r2"), ("ann\u202eevil", "r3")))
        self.put(Sealed()
                 .add({**a, "event": "start"}, time="2026-01-01T00:00:00.000Z")
                 .add({**b, "event": "start", "content_findings_more": 9, "content_findings": [
                     {"rule": "forbidden_\x1bmodule", "line": 3, "column": 1, "file": "a.py"}, {"rule": "eval", "line": 4, "column": 2, "file": None}, 5]},
                     time="2026-01-02T00:00:00.000Z")
                 .add({**a, "event": "end", "status": "completed", "exit_code": 3, "duration_ms": 12,
                       "isolation": {"applied": ["seccomp", "cgroup"], "missing": ["landlock"]}}, time="2026-01-02T00:00:01.000Z")
                 .add({**c, "event": "refused", "status": "denied", "error": "approval_denied", "message": "no\nno"},
                      time="2026-01-03T00:00:00.000Z")
                 .add({"event": "end", "run_id": "lost", "exit_code": None, "signal": "SIGKILL"}, time="2026-01-04T00:00:00.000Z")
                 .add({}, time="2026-01-05T00:00:00.000Z")
                 .add({"event": "start"}, time="2026-01-06T00:00:00.000Z")
                 .add(log={"event": "key_changed", "key": None}, time="2026-01-07T00:00:00.000Z"))

    def test_blocks(self):
        self.put_runs()
        shown = self.show()
        self.assertIn("2026-01-01T00:00:00.000Z  completed  py in mode process with network, exit status 3, 12 ms\n"
                      "  run r1 of ann, session s1\n"
                      "  approval allow_once by cmd:<U+001B>[2Jx\n"
                      "  code    c0de\n  request beef\n  image   sha256:1\n  policy  f00d\n  trace   00-1-2-01\n"
                      "  secrets TOKEN, ?\n  endpoints github, <U+001B>\n  layers  seccomp, cgroup\n  missing landlock\n", shown)
        self.assertIn("2026-01-02T00:00:00.000Z  unended  py", shown)
        self.assertIn("\n  finding forbidden_<U+001B>module at line 3, column 1 of a.py\n  finding eval at line 4, column 2\n  finding ?\n"
                      "  finding and 9 more\n", shown)
        self.assertIn("denied  py in mode process with network, error approval_denied: no<U+000A>no\n  run r3 of ann<U+202E>evil", shown)
        self.assertIn("2026-01-07T00:00:00.000Z  log key_changed\n", shown)
        self.assertIn("2026-01-04T00:00:00.000Z  end, SIGKILL\n  run lost\n", shown)
        self.assertEqual(shown.count("2026-"), 7)
        self.assertNotIn("\x1b", shown)

    def test_nul_is_shown_and_hides_nothing(self):
        record = {"event": "start", "run_id": "r\0x", "principal": "ann\0evil", "secrets": ["T\0N"]}
        self.put(Sealed().add(record).add({**record, "event": "end", "message": "a\0b"}))
        self.assertEqual(self.audit("verify", self.audit_file).returncode, 0)
        shown = self.show()
        for part in ("run r<U+0000>x of ann<U+0000>evil", "secrets T<U+0000>N", ": a<U+0000>b"):
            self.assertIn(part, shown)
        self.assertEqual(self.show("--principal", "ann"), "", "another person")

    def test_filters(self):
        self.put_runs()
        for options, found in ((("--run", "r1"), "1"), (("--principal", "ann"), "1"), (("--principal", "bob"), "2"), (("--status", "denied"), "3"),
                               (("--status", "unended", "--principal", "bob"), "2"), (("--until", "2026-01-01"), "1"),
                               (("--since", "2026-01-03", "--until", "2026-01-04"), "34"), (("--since", "2026-01-05T00:00:01"), "67"),
                               (("--run", "r9"), "")):
            days = "".join(sorted(line[9] for line in self.show(*options).splitlines() if line.startswith("2026-")))
            self.assertEqual(days, found, options)

    def test_nothing_found_is_said(self):
        self.put_runs()
        words = b"no record of the log matches"
        self.assertIn(words, self.audit("show", self.audit_file, "--status", "compelted").stderr)
        self.assertNotIn(words, self.audit("show", self.audit_file, "--status", "completed").stderr)
        self.assertNotIn(words, self.audit("show", self.audit_file, "--since", "2026-01-07").stderr, "a line of the log's own")

    def test_up_to_the_broken_place(self):
        self.put_runs()
        with open(self.audit_file, "r+b") as file:
            lines = file.read().splitlines(keepends=True)
            file.seek(0)
            file.truncate()
            file.writelines([*lines[:3], lines[3].replace(b"denied", b"DENIED"), *lines[4:]])
        self.assertIn("2026-01-01T00:00:00.000Z  completed", self.show(status=1))
        self.assertNotIn("DENIED", self.show(status=1))

    def test_nowhere_to_print(self):
        """toolhost's own descriptor is the last there is."""
        self.put_runs()
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
        done = subprocess.run([TOOLHOST, "audit", "show", self.audit_file], preexec_fn=limit, env=self.environment(),
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (1, b""))


if __name__ == "__main__":
    tap.run_unittest()
