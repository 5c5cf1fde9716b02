# SPDX-License-Identifier: Apache-2.0
"""The audit log's chain under load and under attack: writers killed at random moments, many at once, and every way in which one record
can be tampered with. CODE_EXECUTE_TEST_LONG=1: 500 kills, and more of everything."""

import glob
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import tap
from support import HostTest

WRITER = os.environ["AUDIT_WRITER"]
PROVIDER = os.environ.get("CODE_EXECUTE", "")
LONG = os.environ.get("CODE_EXECUTE_TEST_LONG") == "1"


def memory_directory():
    """Where waiting for the disk takes no time: it is not the disk that is tested here."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Chain(HostTest):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="audit-chain-", dir=memory_directory())
        self.addCleanup(shutil.rmtree, self.home)
        self.audit_file = os.path.join(self.home, "audit.jsonl")
        self.told_file = os.path.join(self.home, "told")
        self.seed = int(os.environ.get("TEST_SEED", "1"))
        self.random = random.Random(self.seed)

    def writer(self, count, max_bytes, longest=300, key=None):
        self.seed += 1
        return subprocess.Popen([WRITER, self.audit_file, self.told_file, str(count), str(max_bytes), str(longest), str(self.seed),
                                 *([key] if key else [])], stderr=subprocess.PIPE)

    def write(self, count, max_bytes, **more):
        process = self.writer(count, max_bytes, **more)
        self.assertEqual(process.communicate()[1], b"")
        self.assertEqual(process.returncode, 0)

    def files(self):
        return sorted(glob.glob(self.audit_file + ".*-*")) + [self.audit_file]

    def lines(self):
        """[(file, line number in it, bytes)]"""
        found = []
        for path in self.files():
            with open(path, "rb") as file:
                found += [(path, number, line) for number, line in enumerate(file, 1)]
        return found

    def verify(self, *more):
        return self.toolhost("audit", "verify", self.audit_file, *more, timeout=300)

    def recorded(self):
        names = []
        for _, _, line in self.lines():
            if b'"run_id":"' in line and line.endswith(b'"}\n'):
                try:
                    names.append(json.loads(line)["record"]["run_id"])
                except ValueError:
                    pass  # a torn line
        return names

    def told(self):
        with open(self.told_file, encoding="ascii") as file:
            return file.read().splitlines()


class Load(Chain):
    def test_many_writers(self):
        """Sixteen processes, fifty records each, while the log is rotated every few of them."""
        writers = [self.writer(50, 16384) for _ in range(16)]
        for process in writers:
            self.assertEqual((process.communicate(timeout=300)[1], process.returncode), (b"", 0))
        done = self.verify()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(self.files()), 5)
        recorded = self.recorded()
        self.assertEqual(len(recorded), 800)
        self.assertEqual(sorted(recorded), sorted(self.told()))
        for process in writers:
            own = [name for name in recorded if name.startswith(f"{process.pid}-")]
            self.assertEqual(own, [f"{process.pid}-{i}" for i in range(50)])

    def kill_round(self):
        writers = [self.writer(0, 1 << 20, longest=60000) for _ in range(3)]
        time.sleep(self.random.uniform(0.004, 0.05))
        for process in self.random.sample(writers, len(writers)):
            process.send_signal(signal.SIGKILL)
            if self.random.random() < 0.5:
                time.sleep(self.random.uniform(0, 0.004))
        for process in writers:
            self.assertEqual(process.communicate()[1], b"")
            self.assertEqual(process.returncode, -signal.SIGKILL)

    def test_writers_killed_at_random_moments(self):
        """The chain is whole up to its last whole line at any time, and whoever was told that a record is stored finds it there."""
        rounds = 500 if LONG else 60
        for number in range(1, rounds + 1):
            self.kill_round()
            if number % 20 == 0:
                done = self.verify()
                self.assertTrue(done.returncode == 0 or b"is incomplete" in done.stderr, done.stderr)
        self.write(1, 0)  # mends what the last round has left
        done = self.verify()
        self.assertEqual(done.returncode, 0, done.stderr)
        told, recorded = self.told(), self.recorded()
        print(f"# seed {self.seed}: {rounds} rounds, {len(recorded)} records in {len(self.files())} files, {len(told)} confirmed; "
              + done.stdout.decode().replace("\n", "; "))
        self.assertGreater(len(told), rounds)
        self.assertEqual(len(set(recorded)), len(recorded))
        self.assertEqual(set(told) - set(recorded), set())
        # Positive control: one that is missing is found by both.
        victim = self.random.choice([line for line in self.lines() if told[len(told) // 2].encode() + b'"' in line[2]])
        with open(victim[0], "rb") as file:
            kept = [line for line in file if line != victim[2]]
        with open(victim[0], "wb") as file:
            file.writelines(kept)
        self.assertEqual(self.verify().returncode, 1)
        self.assertEqual(set(told) - set(self.recorded()), {told[len(told) // 2]})

    def test_every_run_that_started_is_there(self):
        """The whole thing: toolhost with the real provider is killed; a program that has printed has its start in the log."""
        self.needs_its_mode()
        ran = 0
        rounds = 150 if LONG else 25
        for number in range(rounds):
            code = f"echo begun-{number}; sleep 0.05; echo more"
            process = subprocess.Popen(
                [os.environ["TOOLHOST"], "run", "-l", "sh", "-c", code, "--approve", "always", "--audit", self.audit_file,
                 "--audit-max-bytes", "8192"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=self.environment(TOOLHOST_PLUGIN=PROVIDER))
            if number % 2:
                time.sleep(self.random.uniform(0, 0.15))
            else:
                process.stdout.read(1)  # in the middle of the run for certain
            process.kill()
            rest = process.communicate()[0]
            if number % 2 == 0 or rest:
                ran += 1
                digest = hashlib.sha256(code.encode()).hexdigest().encode()
                self.assertTrue(any(b'"start"' in line and digest in line for _, _, line in self.lines()), code)
        self.assertGreaterEqual(ran, rounds // 2)
        self.write(1, 0)
        self.assertEqual(self.verify().returncode, 0)


class Tampering(Chain):
    """Each single thing that can be done to a log of three files is found, and named by its file, its line and what it was."""
    KEY = b"0123456789abcdef0123456789abcdef"

    def make(self, key=None):
        self.write(5, 0, key=key)
        for _ in range(2):
            done = self.toolhost("audit", "rotate", self.audit_file, *(["--audit-key", key] if key else []))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.write(4, 0, key=key)
        self.original = self.lines()
        self.head = json.loads(self.original[-1][2])["sha256"]
        self.assertEqual(len(self.original), 15)

    def put(self, lines):
        """lines: [(file, bytes)]"""
        for path in {path for path, _, _ in self.original}:
            with open(path, "wb") as file:
                file.writelines(line for where, line in lines if where == path)

    def expect(self, place, *patterns, more=()):
        done = self.verify("--head", self.head, *more)
        text = done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("audit_broken", text)
        if place:
            self.assertIn(f"{place[0]}: line {place[1]} ", text, place)
        for pattern in patterns:
            self.assertRegex(text, pattern)

    def pairs(self):
        return [(path, line) for path, _, line in self.original]

    def where(self, lines, index):
        """File and line number of lines[index]."""
        path = lines[index][0]
        return path, 1 + sum(1 for other, _ in lines[:index] if other == path)

    def test_nothing_done(self):
        self.make()
        self.put(self.pairs())
        self.assertEqual(self.verify("--head", self.head).returncode, 0)

    def test_changed(self):
        self.make()
        for index, (path, number, line) in enumerate(self.original):
            for _ in range(40 if LONG else 5):
                changed = bytearray(line)
                changed[self.random.randrange(len(line))] ^= 1 << self.random.randrange(8)
                lines = self.pairs()
                lines[index] = (path, bytes(changed))
                self.put(lines)
                self.expect((path, number), "was changed|is incomplete")

    def test_changed_and_given_a_hash(self):
        self.make()
        for index, (path, number, line) in enumerate(self.original):
            body = line[:line.rindex(b',"sha256"')].replace(b'"time":"2', b'"time":"3')
            lines = self.pairs()
            lines[index] = (path, body + b',"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n')
            self.put(lines)
            if index == len(lines) - 1:
                self.expect(None, f"the log has no record with sha256 {self.head}")
            else:
                self.expect(self.original[index + 1][:2], f"record {index + 1} before it")

    def test_made_anew_without_the_key(self):
        """Who can write to the log and does not have its key can give all lines new hashes, and yet is found."""
        key = self.path("key", self.KEY)
        self.make(key)
        more = ("--audit-key", key)
        self.assertEqual(self.verify(*more).returncode, 0)
        for index, (path, number, _) in enumerate(self.original):
            previous, lines = "0" * 64, []
            for place, (where, line) in enumerate(self.pairs()):
                body = re.sub(rb'"prev_sha256":"\w+"', b'"prev_sha256":"' + previous.encode() + b'"', line[:line.rindex(b',"sha256"')])
                if place == index:
                    body = body.replace(b'"time":"2', b'"time":"3')
                previous = hashlib.sha256(body).hexdigest()
                lines.append((where, body + b',"sha256":"' + previous.encode() + b'"}\n'))
            self.put(lines)
            self.head = previous
            self.assertEqual(self.verify("--head", previous).returncode, 0, "the chain by itself says nothing")
            self.expect((path, number), "its key did not sign it", more=more)
        # Nor by leaving the signatures out.
        previous, lines = "0" * 64, []
        for where, line in self.pairs():
            body = re.sub(rb'"prev_sha256":"\w+"', b'"prev_sha256":"' + previous.encode() + b'"', line[:line.rindex(b',"key"')])
            previous = hashlib.sha256(body).hexdigest()
            lines.append((where, body + b',"sha256":"' + previous.encode() + b'"}\n'))
        self.put(lines)
        self.head = previous
        self.expect(None, "is not signed by the key", more=more)

    def test_removed(self):
        self.make()
        for index in range(len(self.original)):
            lines = self.pairs()
            del lines[index]
            self.put(lines)
            if index == len(self.original) - 1:
                self.expect(None, f"the log has no record with sha256 {self.head}")
            else:
                self.expect(self.where(lines, index), f"has record {index + 2} where {index + 1} belongs: that was removed")

    def test_reordered(self):
        self.make()
        for first in range(len(self.original)):
            for second in range(first + 1, len(self.original)):
                lines = self.pairs()
                lines[first], lines[second] = ((lines[first][0], lines[second][1]), (lines[second][0], lines[first][1]))
                self.put(lines)
                if self.original[first][1] == self.original[second][1] == 1:
                    self.expect(None)  # which files there are is told by their first lines: found, and named later than it was
                    continue
                later = "" if lines[first][0] == lines[second][0] else " of a later file"
                self.expect(self.where(lines, first), f"has record {second + 1} where {first + 1} belongs: they were reordered, that one "
                            f"is at line {self.where(lines, second)[1]}{later}")

    def test_added_again(self):
        self.make()
        for _ in range(10):
            index, place = self.random.randrange(15), self.random.randrange(15)
            lines = self.pairs()
            lines.insert(max(index, place) + 1, (lines[max(index, place)][0], lines[min(index, place)][1]))
            self.put(lines)
            self.expect(self.where(lines, max(index, place) + 1), f"has record {min(index, place) + 1} where")

    def test_cut(self):
        self.make()
        for path in self.files():
            of_file = [(number, line) for where, number, line in self.original if where == path]
            size = sum(len(line) for _, line in of_file)
            others = [(where, line) for where, line in self.pairs() if where != path]
            cuts = {self.random.randrange(1, size) for _ in range(10)}
            cuts |= {sum(len(line) for _, line in of_file[:count]) for count in range(len(of_file))}
            for cut in sorted(cuts):
                self.put(others + [(path, b"".join(line for _, line in of_file)[:cut])])
                whole = b"".join(line for _, line in of_file)[:cut].count(b"\n")
                if cut == sum(len(line) for _, line in of_file[:whole]):
                    self.expect(None, "that was removed|has no record")
                else:
                    self.expect((path, whole + 1), "is incomplete")

    def test_a_file_removed(self):
        self.make()
        for path in self.files()[:-1]:
            kept = [(where, line) for where, line in self.pairs() if where != path]
            self.put(kept)
            os.unlink(path)
            self.expect(None, "which is missing: the records before")
        self.put(self.pairs())
        os.unlink(self.files()[0])
        done = self.verify("--partial")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"the records before 6 are missing", done.stdout)


if __name__ == "__main__":
    tap.run_unittest()
