# SPDX-License-Identifier: Apache-2.0
"""toolhost top: one frame for programs, frames on a terminal, and what strange files make of it."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time

import tap
from support import TOOLHOST, HostTest

PATIENCE = 60  # seconds; only what hangs gets there


POOLS = {'pool_ready{backend="a",interpreter="x y"}': 3, 'pool_ready{backend="b"}': 4, 'pool_wanted{backend="a"}': 8,
         'pool_memory_bytes{backend="a"}': 3 << 20, 'pool_memory_bytes{backend="b"}': 1 << 19, 'calls_queued{backend="b"}': 77}


def metrics(run=0, running=0, provider="p", **more):
    values = {"ready": 1, "calls_under_way": 9, "calls_running": running, "calls_queued": 4, "calls_waiting_for_approval": 5,
              "calls_run_total": run, "calls_not_run_total": 7, "calls_too_many_total": 0, "sandboxes_ready_total": 11,
              "sandboxes_copied_total": 12, "sandboxes_new_total": 13, **POOLS, **more}
    labels = f'provider="{provider}",version="1.2",mode="process",policy_sha256="00"'
    return f"toolhost_info{{{labels}}} 1\n" + "".join(f"# HELP toolhost_{name} x\ntoolhost_{name} {value}\n" for name, value in values.items())


class Screen:
    """toolhost top whose standard output is a terminal."""

    def __init__(self, test, *arguments, rows=24):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, rows.to_bytes(2, "little") + (80).to_bytes(2, "little") + bytes(4))
        self.process = subprocess.Popen([TOOLHOST, "top", *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                                        start_new_session=True, env=test.environment())
        os.close(slave)
        self.seen = ""
        test.addCleanup(self.close)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)

    def next_frame(self, fits=lambda frame: True):
        """The first of the frames to come that fits."""
        deadline = time.monotonic() + PATIENCE
        while True:
            frame, end, rest = self.seen.partition("\033[?7h")
            if end:
                self.seen = rest
                if fits(frame):
                    return frame
                continue
            if not select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"no such frame; {self.seen!r}")
            self.seen += os.read(self.master, 65536).decode()


class Top(HostTest):
    def write(self, text, name="a.prom", age=0):
        """In one step, as whoever writes metrics does."""
        path = self.path(name)
        self.path(name + ".new", text)
        then = time.time() - age
        os.utime(path + ".new", (then, then))
        os.rename(path + ".new", path)
        return path

    def test_one_frame(self):
        done = self.toolhost("top", "--metrics", self.write(metrics(run=6, running=3)))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertNotIn(b"\033", done.stdout)
        text = done.stdout.decode()
        self.assertIn("a.prom  p  1.2  process  ready\n", text)
        self.assertIn("  now         under way 9  running 3  queued 4  waiting for approval 5\n"
                      "  calls       run 6  not run 7  too many 0\n"
                      "  sandboxes   ready 11  copied 12  new 13\n"
                      "  pools       waiting 7  of 8  memory 3.5 MiB\n", text)

    def test_several_files_and_what_is_missing(self):
        done = self.toolhost("top", "--once", "--metrics", self.write(metrics()), self.path("gone.prom"),
                             self.write(metrics(ready=0), "c.prom"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout.decode(), r"(?s)a\.prom .* ready\n.*gone\.prom\n  MISSING  .*No such file.*c\.prom .* NOT READY\n")

    def test_stale(self):
        done = self.toolhost("top", "--metrics", self.write(metrics(), age=3600))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout.decode(), r"STALE  nothing was written for 36\d\d s\n")

    def test_what_is_no_file_of_metrics(self):
        os.mkfifo(self.path("pipe"))
        for path in (self.home, self.path("pipe"), "/dev/zero", self.path("empty", ""), self.path("other", "toolhost_calls_run_total 1\n"),
                     self.path("junk", b"toolhost_ready -1\ntoolhost_ready 1e3\n\xff\0")):
            done = self.toolhost("top", "--metrics", path)
            self.assertEqual(done.returncode, 1, path)
            self.assertIn(b"MISSING", done.stdout, path)

    def test_without_counters(self):
        done = self.toolhost("top", "--metrics", self.path("few", "toolhost_ready 1\ntoolhost_calls_queued 99999999999999999999\n"))
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"few  -  -  -  ready\n  now         under way -  running -  queued -", done.stdout)
        self.assertIn(b"\n  pools       waiting -  of -  memory -\n", done.stdout)

    def test_pools_beyond_all_bounds(self):
        most = str(1 << 53)
        text = "toolhost_ready 1\n" + "".join(f'toolhost_pool_ready{{backend="{i}"}} {most}\n' for i in range(2000))
        text += 'toolhost_pool_wanted{backend="a"} -1\ntoolhost_pool_wanted{backend="a" 1\ntoolhost_pool_memory_bytes{\n'
        done = self.toolhost("top", "--metrics", self.path("many", text))
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"\n  pools       waiting {most}  of 1  memory -\n".encode(), done.stdout)

    def test_nothing_of_a_file_reaches_the_terminal(self):
        evil = '\033]0;x\007,mode=\\"none\\"\u202e'
        done = self.toolhost("top", "--metrics", self.write(metrics(provider=evil), "a\033[2J"))
        self.assertEqual(done.returncode, 0)
        self.assertNotIn(b"\033", done.stdout)
        self.assertIn(b"<U+001B>]0;x<U+0007>", done.stdout)
        self.assertIn(b'"none"<U+202E>  1.2  process  ready', done.stdout)

    def test_rates_between_frames(self):
        now = time.time()

        def write(run, then):
            path = self.write(metrics(run=run), age=time.time() - then)
            return path

        screen = Screen(self, "--metrics", write(100, now))
        self.assertIn("run 100  not run", screen.next_frame())
        write(140, now + 4)
        frame = screen.next_frame(lambda frame: "run 140" in frame)
        self.assertIn("run 140 (10.0/s)  not run 7 (0.0/s)", frame)
        self.assertIn("run 140 (10.0/s)", screen.next_frame(), "it stays until there is news")
        write(3, now + 6)
        self.assertIn("run 3  not run 7 (0.0/s)", screen.next_frame(lambda frame: "run 3 " in frame), "it has begun anew")
        os.unlink(self.path("a.prom"))
        screen.next_frame(lambda frame: "MISSING" in frame)
        write(5, now + 9)
        self.assertIn("run 5  not run 7  ", screen.next_frame(lambda frame: "run 5 " in frame))
        self.assertIsNone(screen.process.poll())

    def test_a_frame_fits_the_terminal(self):
        screen = Screen(self, "--metrics", *[self.write(metrics(), f"{i}.prom") for i in range(9)], rows=10)
        frame = screen.next_frame()
        self.assertTrue(frame.startswith("\033[?7l\033[Htoolhost top"), frame)
        self.assertEqual(frame.count("\n"), 9)
        self.assertTrue(frame.endswith("\033[J"), frame)

    def test_once_on_a_terminal(self):
        screen = Screen(self, "--once", "--metrics", self.write(metrics()))
        self.assertEqual(screen.process.wait(PATIENCE), 0)

    def test_usage(self):
        for arguments in ((), ("--json",), ("--metrics",), ("--policy", "x")):
            self.assertEqual(self.toolhost("top", *arguments).returncode, 2, arguments)


if __name__ == "__main__":
    tap.run_unittest()
