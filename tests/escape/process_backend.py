# SPDX-License-Identifier: Apache-2.0
"""Process mode for the harness. Where layers are taken away, a second gateway loads a copy of the plugin that finds the backend of
knock_out.c beside itself; the attacks themselves meet the product's own."""
import ctypes
import os
import pathlib
import shutil

import tap
from process_knockouts import knockouts
from process_watch import ProcessWatch

CLONE_NEWUSER = 0x10000000
COUNTED = {"tasks", "memory", "cputime", "cores"}  # where no control group is, nobody counts them
TAKE_ROOT = {"root-user"}
PROGRAM = "code-execute-process"


def may_make_namespaces():
    pid = os.fork()
    if pid == 0:
        os._exit(ctypes.CDLL(None).unshare(CLONE_NEWUSER) != 0)
    return os.waitpid(pid, 0)[1] == 0


class ProcessBackend:
    name = "process"
    capabilities = []  # of the policy, beyond those of every backend

    def __init__(self, scratch):
        self.check_machine()
        self.other, self.shown = None, scratch / "shown"
        self.shown.mkdir()
        (self.shown / "file").touch()
        self.shown.chmod(0o777)
        (self.shown / "file").chmod(0o666)
        self.kept = ("sh", "python", "javascript") if "CODE_EXECUTE_TEST_POOL" in os.environ else ()
        pool = int(os.environ.get("CODE_EXECUTE_TEST_POOL", "0"))
        self.policy = {"modes": {"default": "process", "allowed": ["process"]}, "pools": {"process": {"ready": pool, "most": pool, "idle_ms": 3600000}}, "languages": {"sh": {"read_only": [str(self.shown)]}}}
        plugin = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).resolve()
        built = pathlib.Path(os.environ.get("ESCAPE_KNOCK_OUT", plugin.parents[1] / "tests" / "escape" / "knock-out"))
        self.directory, self.missing = scratch / "knocked-out", not built.exists()
        self.directory.mkdir()
        if not self.missing:
            shutil.copy(built, self.directory / PROGRAM)
        self.plugin = self.directory / plugin.name
        shutil.copy(plugin, self.plugin)
        self.watch = ProcessWatch([plugin.parent / PROGRAM, self.directory / PROGRAM])

    def check_machine(self):
        if not may_make_namespaces():
            tap.skip_all("this machine lets this user make no user namespace")

    def keep_ready(self, wanted):
        """The knocked-out program is one of its own, with a pool of its own."""

    def settling(self):
        """A run is gone when it is answered."""
        return lambda: None

    def await_ready(self):
        """Its supervisor is quick to make one."""

    def prepare(self, canaries):
        self.known = knockouts(canaries)
        return []

    def lacks(self, attack, missing):
        """Why the attack is none here, with what the result calls missing."""
        if "cgroup" in missing and attack.evidence <= COUNTED:
            return "no control group may be written here, and the result says so: nothing counts the tree"
        if os.geteuid() != 0 and TAKE_ROOT & set(attack.words("control process")):
            return "takes root: an ordinary user's programs are that user outside"
        return None

    def not_stopped(self, attack):
        """Why it gets through, where that is known and said."""

    def knows(self, word):
        return word in self.known

    def environment(self):
        return {"SHOWN": str(self.shown)}

    def take_away(self, names, stream=None):
        """The plugin to load for it; None is the product's own."""
        return self.take_away_lines([line for name in names for line in self.known[name]])

    def take_away_lines(self, lines):
        if not lines:
            return None
        if self.missing:
            raise tap.Skip("the backend of knock_out.c is not built")
        (self.directory / "knock-out").write_text("".join(line + "\n" for line in lines))
        return self.plugin

    def restore(self, canaries):
        pass

    def leftovers(self):
        return {}

    def backend_process(self):
        return PROGRAM

    def close(self):
        self.watch.over.set()
