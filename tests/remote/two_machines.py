# SPDX-License-Identifier: Apache-2.0
"""Two machines on one: this program, and with it the gateway, is in a network namespace of its own, and the worker in another. A pair of
virtual Ethernet devices is all that there is between them, and can be cut or made slow. Nothing of it outlives this program."""
import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess

import tap

NEW_NETWORK = 0x40000000
GATEWAY, WORKER = "10.77.0.1", "10.77.0.2"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Machines:
    """Made before anything else of the program has a thread or a socket: they would stay behind."""

    def __init__(self):
        for tool in ("ip", "unshare", "nsenter"):
            if not shutil.which(tool):
                tap.skip_all(f"{tool} is not here")
        if os.geteuid() != 0:
            tap.skip_all("network namespaces take root")
        if ctypes.CDLL(None, use_errno=True).unshare(NEW_NETWORK) != 0:
            tap.skip_all(f"no network namespace: {os.strerror(ctypes.get_errno())}")
        mine = os.readlink("/proc/thread-self/ns/net")
        self.other = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        tap.true(tap.within(lambda: os.readlink(f"/proc/{self.other.pid}/ns/net") != mine and
                            pathlib.Path(f"/proc/{self.other.pid}/comm").read_text() == "sleep\n", 60), "no other machine")
        try:
            run("ip", "link", "set", "lo", "up")
            run("ip", "link", "add", "name", "toworker", "type", "veth", "peer", "name", "togateway", "netns", str(self.other.pid))
            run("ip", "addr", "add", f"{GATEWAY}/24", "dev", "toworker")
            run("ip", "link", "set", "toworker", "up")
            self.there("ip", "link", "set", "lo", "up")
            self.there("ip", "addr", "add", f"{WORKER}/24", "dev", "togateway")
            self.there("ip", "link", "set", "togateway", "up")
        except subprocess.CalledProcessError as error:
            self.end()
            tap.skip_all(f"no network between two namespaces here: {error.stderr.strip()}")

    @property
    def before(self):
        """What begins a command that is to run on the other machine."""
        return ["nsenter", "--target", str(self.other.pid), "--net"]

    def there(self, *command):
        return run(*self.before, *command)

    @contextlib.contextmanager
    def cut(self):
        """Nothing goes through, in either direction, and nobody is told."""
        for direction in ("INPUT", "OUTPUT"):
            run("iptables", "-I", direction, "!", "-i" if direction == "INPUT" else "-o", "lo", "-j", "DROP")
        try:
            yield
        finally:
            run("iptables", "-F")

    @contextlib.contextmanager
    def losing(self, share):
        """Of the packets to this machine that share is lost."""
        run("iptables", "-I", "INPUT", "!", "-i", "lo", "-m", "statistic", "--mode", "random", "--probability", str(share), "-j", "DROP")
        try:
            yield
        finally:
            run("iptables", "-F")

    @contextlib.contextmanager
    def slow(self, rate):
        """What the worker sends comes at that rate, such as 4mbit."""
        self.there("tc", "qdisc", "add", "dev", "togateway", "root", "tbf", "rate", rate, "burst", "16kb", "latency", "400ms")
        try:
            yield
        finally:
            self.there("tc", "qdisc", "del", "dev", "togateway", "root")

    def end(self):
        self.other.kill()
        self.other.wait()


def needed(tool, *trial):
    """Skips the case where the kernel does not have it."""
    if not shutil.which(tool):
        raise tap.Skip(f"{tool} is not here")
    done = subprocess.run([tool, *trial], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise tap.Skip(f"{tool}: {done.stderr.strip()}")
