# SPDX-License-Identifier: Apache-2.0
"""What the tests of toolhost share: where the programs are, a home of its own, a terminal."""

import fcntl
import functools
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import termios
import time
import unittest

TOOLHOST = os.environ["TOOLHOST"]
FIXTURES = os.environ["FIXTURES"]


def fixture(name="none"):
    return os.path.join(FIXTURES, f"fixture_{name}.so")


@functools.cache
def mode_is_there():
    """Can the real provider run programs on this machine? Of one language, because doctor starts every interpreter, and Python's with
    all that it prepares."""
    with tempfile.TemporaryDirectory(prefix="toolhost-test-") as home:
        environment = {**inherited(), "HOME": home, "TOOLHOST_PLUGIN": os.environ["CODE_EXECUTE"]}
        policy = pathlib.Path(home, "policy.json")
        policy.write_text('{"only_languages": ["sh"]}')
        return subprocess.run([TOOLHOST, "doctor", "--policy", policy], capture_output=True, timeout=60, start_new_session=True,
                              env=environment).returncode == 0


def inherited():
    return {k: v for k, v in os.environ.items() if k in ("PATH", "ASAN_OPTIONS", "LD_PRELOAD", "LD_LIBRARY_PATH")}


class HostTest(unittest.TestCase):
    """A test with an empty home, and toolhost to run."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="toolhost-test-")
        self.addCleanup(shutil.rmtree, self.home)
        self.audit_file = os.path.join(self.home, "audit.jsonl")

    def environment(self, **more):
        return {**inherited(), "HOME": self.home, "TOOLHOST_PLUGIN": fixture(), **more}

    def needs_its_mode(self):
        if not mode_is_there():
            self.skipTest("process mode is not available on this machine")

    def path(self, name, content=None, mode=0o600):
        path = os.path.join(self.home, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
            os.chmod(path, mode)
        return path

    def toolhost(self, *arguments, stdin=b"", plugin="none", timeout=60, **environment):
        """Runs toolhost in a session of its own, so that no test meets the tester's terminal."""
        return subprocess.run([TOOLHOST, *arguments], input=stdin, capture_output=True, timeout=timeout,
                              start_new_session=True,
                              env=self.environment(**{"TOOLHOST_PLUGIN": fixture(plugin), **environment}))

    def run_code(self, code, *options, approve="always", **more):
        return self.toolhost("run", "-l", "sh", "-c", code, "--approve", approve, "--audit", self.audit_file,
                             *options, **more)

    def records(self):
        with open(self.audit_file, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


class Terminal:
    """toolhost with a controlling terminal that the test types at."""

    def __init__(self, test, arguments, stdin=subprocess.DEVNULL, columns=80, whole=False, **environment):
        """whole: the terminal is the standard streams, too."""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, (24).to_bytes(2, "little") + columns.to_bytes(2, "little") + bytes(4))
        self.process = subprocess.Popen(
            [TOOLHOST, *arguments], stdin=slave if whole else stdin, stdout=slave if whole else subprocess.PIPE,
            stderr=slave if whole else subprocess.PIPE,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0),
            pass_fds=(slave,), env=test.environment(**environment))
        os.close(slave)
        self.screen = b""
        test.addCleanup(self.close)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
        os.close(self.master)

    def wait_for(self, text, seconds=10, count=1):
        """Reads the screen until text is there count times."""
        deadline = time.monotonic() + seconds
        while self.screen.count(text.encode()) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"{text!r} never came; the screen has {self.screen!r}")
            try:
                self.screen += os.read(self.master, 65536)
            except OSError as error:
                raise AssertionError(f"{text!r} never came; the screen has {self.screen!r}") from error
        return self.screen.decode()

    def drain(self, seconds=60):
        """Reads the screen to its end, which comes when nothing has the terminal open."""
        deadline = time.monotonic() + seconds
        while select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
            try:
                self.screen += os.read(self.master, 65536)
            except OSError:
                return
        raise AssertionError(f"the terminal is still open; the screen has {self.screen!r}")

    def type(self, text):
        os.write(self.master, text.encode())

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def end(self, seconds=15):
        """(exit status, stdout, stderr)"""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err
