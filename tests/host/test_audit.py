# SPDX-License-Identifier: Apache-2.0
"""The audit log: its chain, its verifier, many writers, and what a broken one stops."""

import hashlib
import json
import os
import resource
import stat
import subprocess

import tap
from support import TOOLHOST, HostTest


class Log(HostTest):
    def write(self, calls=3):
        for _ in range(calls):
            self.assertEqual(self.run_code("echo x").returncode, 0)

    def verify(self, *more):
        return self.toolhost("audit", "verify", self.audit_file, *more)

    def lines(self):
        with open(self.audit_file, "rb") as file:
            return file.read().splitlines(keepends=True)

    def rewrite(self, lines):
        with open(self.audit_file, "wb") as file:
            file.writelines(lines)
        os.chmod(self.audit_file, 0o600)

    def assert_broken(self, line, *more):
        done = self.verify(*more)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(f"line {line} ".encode(), done.stderr)

    def test_form(self):
        self.write()
        previous = "0" * 64
        for number, line in enumerate(self.lines(), 1):
            record = json.loads(line)
            self.assertEqual(list(record), ["seq", "time", "prev_sha256", "record", "sha256"])
            self.assertEqual((record["seq"], record["prev_sha256"]), (number, previous))
            previous = hashlib.sha256(line[:line.rindex(b',"sha256"')]).hexdigest()
            self.assertEqual(record["sha256"], previous)
        self.assertEqual(self.verify().returncode, 0)
        self.assertIn(previous.encode(), self.verify().stdout)

    def test_every_byte_counts(self):
        self.write(2)
        lines = self.lines()
        victim = lines[1]
        for place in range(len(victim)):
            for flip in (0x01, 0x20, 0x80):
                changed = bytearray(victim)
                changed[place] ^= flip
                self.rewrite([lines[0], bytes(changed), *lines[2:]])
                done = self.verify()
                self.assertEqual(done.returncode, 1, (place, flip, bytes(changed)))
                self.assertRegex(done.stderr, rb"line [23] ")

    def test_removed_swapped_and_added(self):
        self.write()
        lines = self.lines()
        for changed, first_bad in (
                (lines[1:], 1), (lines[:2] + lines[3:], 3), ([lines[1], lines[0], *lines[2:]], 1),
                (lines[:3] + [lines[2]] + lines[3:], 4), (lines + [b"\n"], 7), (lines + [b"{}\n"], 7)):
            self.rewrite(changed)
            self.assert_broken(first_bad)

    def test_a_record_forged_with_its_own_hash_breaks_the_next(self):
        self.write()
        lines = self.lines()
        text = lines[2][:lines[2].rindex(b',"sha256"')].replace(b"start", b"STOPS")
        lines[2] = text + b',"sha256":"' + hashlib.sha256(text).hexdigest().encode() + b'"}\n'
        self.rewrite(lines)
        self.assert_broken(4)

    def test_cut(self):
        self.write()
        lines = self.lines()
        self.rewrite([*lines[:-1], lines[-1][:-1]])
        self.assert_broken(6)
        self.rewrite([*lines[:-1], lines[-1][:40]])
        self.assert_broken(6)
        # Whole lines cut off at the end leave a chain that is whole: only a head that was kept tells.
        head = json.loads(lines[-1])["sha256"]
        self.rewrite(lines[:-1])
        self.assertEqual(self.verify().returncode, 0)
        done = self.verify("--head", head)
        self.assertEqual(done.returncode, 1)
        self.assertIn(head.encode(), done.stderr)

    def test_a_changed_end_stops_everything(self):
        self.write()
        whole = self.lines()
        for end in (whole[-1].replace(b"end", b"END"), b"nonsense\n", b"\n", b"nonsense"):
            self.rewrite([*whole[:-1], end])
            before = self.lines()
            done = self.run_code("echo ran")
            self.assertEqual((done.returncode, done.stdout), (125, b""), end)
            self.assertIn(b"audit_unavailable", done.stderr)
            self.assertIn(b"audit verify", done.stderr)
            self.assertEqual(self.lines(), before)

    def test_a_torn_end_is_mended_and_stays_visible(self):
        self.write()
        whole = self.lines()
        last = whole[-1]
        for torn in (last[:-2], last[:40], last[:1], b"\0" * 50, last[:40] + b"\n" + last[:60]):
            self.rewrite([*whole[:-1], torn])
            self.assertEqual(self.verify().returncode, 1, torn)
            self.assertEqual(self.run_code("echo ran").stdout, b"ran\n", torn)
            done = self.verify()
            self.assertIn(b"1 incomplete line repaired", done.stdout, (torn, done.stderr))
            lines = self.lines()
            self.assertEqual(b"".join(lines[:-3]), b"".join(whole[:-1]) + torn + b"\n")
            mended = json.loads(lines[-3])
            self.assertEqual(mended["log"], {"event": "mended", "torn_bytes": len(torn),
                                             "torn_sha256": hashlib.sha256(torn).hexdigest()})
            self.assertEqual(mended["seq"], 6)
            # What was torn cannot be changed or taken away, and nothing else be passed off as torn.
            for changed in (lines[:-4] + lines[-3:], lines[:-3] + [b"x\n"] + lines[-3:],
                            lines[:-4] + [b"y" + lines[-4][1:]] + lines[-3:], lines[:-3] + lines[-2:],
                            lines[:4] + lines[-4:]):
                self.rewrite(changed)
                self.assertEqual(self.verify().returncode, 1, changed)

    def test_a_last_line_without_its_break_is_continued(self):
        self.write()
        whole = self.lines()
        self.rewrite([*whole[:-1], whole[-1][:-1]])
        self.assertEqual(self.run_code("echo ran").stdout, b"ran\n")
        self.assertEqual(self.lines()[:6], whole)
        self.assertIn(b"intact: 8 records", self.verify().stdout)

    def test_a_first_line_that_is_torn(self):
        self.rewrite([b'{"se'])
        self.assertEqual(self.run_code("echo ran").stdout, b"ran\n")
        self.assertIn(b"intact: 3 records", self.verify().stdout)

    def test_a_log_that_cannot_be_written_stops_everything(self):
        os.mkfifo(self.path("fifo"))
        os.symlink("real", self.path("link"))
        shared = self.path("shared", "", 0o640)
        for path in (self.home, self.path("no/such/directory/log"), self.path("fifo"), "/dev/full", self.path("link"), shared):
            done = self.toolhost("run", "-l", "sh", "-c", "echo ran", "--approve", "always", "--audit", path)
            self.assertEqual((done.returncode, done.stdout), (125, b""), path)
            self.assertIn(b"audit_unavailable", done.stderr)

    def test_a_log_of_somebody_else_stops_everything(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a file away")
        self.write(1)
        os.chown(self.audit_file, 12345, 12345)
        done = self.run_code("echo ran")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"is owned by user 12345", done.stderr)
        os.chown(self.audit_file, 0, 0)
        self.assertEqual(self.run_code("echo ran").returncode, 0)

    def test_a_full_disk_leaves_no_half_line(self):
        self.write(1)
        size = os.path.getsize(self.audit_file)
        before = self.lines()
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, size + 50))
        done = subprocess.run(["sh", "-c", 'trap "" XFSZ; exec "$0" "$@"', TOOLHOST, "run", "-l", "sh", "-c",
                               "echo ran", "--approve", "always", "--audit", self.audit_file], capture_output=True,
                              preexec_fn=limit, env=self.environment(), timeout=30)
        self.assertEqual((done.returncode, done.stdout), (125, b""), done.stderr)
        self.assertEqual(self.lines(), before)

    def test_dev_null_opts_out(self):
        done = self.toolhost("run", "-l", "sh", "-c", "echo ran", "--approve", "always", "--audit", "/dev/null")
        self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"))

    def test_default_place(self):
        for environment, place in (({}, ".local/state/toolhost"), ({"XDG_STATE_HOME": self.path("state")}, "state/toolhost")):
            done = self.toolhost("run", "-l", "sh", "-c", "echo x", "--approve", "always", **environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            directory = self.path(place)
            self.assertEqual(stat.S_IMODE(os.stat(directory).st_mode), 0o700)
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(directory, "audit.jsonl")).st_mode), 0o600)

    def test_eight_writers(self):
        code = 'for i in 1 2 3 4 5 6 7 8 9 10; do "$0" "$@" || exit 1; done'
        writers = [subprocess.Popen(["sh", "-c", code, TOOLHOST, "run", "-l", "sh", "-c", "echo x", "--approve", "always",
                                     "--audit", self.audit_file], stdout=subprocess.DEVNULL, env=self.environment())
                   for _ in range(8)]
        self.assertEqual([writer.wait(timeout=120) for writer in writers], [0] * 8)
        done = self.verify()
        self.assertIn(b"intact: 160 records", done.stdout, done.stderr)

    def test_empty_and_absent(self):
        self.rewrite([])
        self.assertEqual(self.verify().stdout, b"intact: no records\n")
        os.unlink(self.audit_file)
        self.assertEqual(self.verify().returncode, 1)


if __name__ == "__main__":
    tap.run_unittest()
