# SPDX-License-Identifier: Apache-2.0
"""pod_driver.c with orders and events as lines; the argument of the test is its path."""
import contextlib
import os
import queue
import subprocess
import sys
import threading

import tap

DRIVER = sys.argv[1]
PATIENCE = 60


class Driver:
    def __init__(self, fake, **environment):
        self.process = subprocess.Popen([DRIVER, fake.kubeconfig], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        tap.equal(self.process.wait(PATIENCE), 0, "the driver's exit status")

    def order(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def next(self):
        line = self.lines.get(timeout=PATIENCE * tap.SLOW)
        if line is None:
            raise AssertionError("the driver has ended")
        return line

    def expect(self, *lines):
        for line in lines:
            tap.equal(self.next(), line, "event")

    def fails(self, *parts):
        line = self.next()
        for part in parts:
            tap.contains(line, part, "failure")


@contextlib.contextmanager
def driver(fake, **environment):
    with Driver(fake, **environment) as running:
        running.expect("begins")
        yield running
