# SPDX-License-Identifier: Apache-2.0
"""Programs as an ordinary user, from copies of the checkout's parts that it can reach, wherever the checkout is."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tap

TESTS = pathlib.Path(__file__).parents[1]
UID = 64999  # nobody's, so that no other process of it is in the way


def become(uid):
    """From here on the whole test is that user's, where it began as root's; by execve, because a process that has changed its user is not
    readable to itself. 0: it stays."""
    if not uid or os.geteuid() != 0:
        return
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    os.environ["HOME"] = "/nonexistent"
    if not os.access(os.environ["CODE_EXECUTE_SO"], os.R_OK):
        tap.skip_all("an ordinary user does not reach the build directory")
    os.execv(sys.executable, [sys.executable, *sys.argv])


class Copies:
    """A directory for everybody with the plugin, its backend and the tests of these folders; gone with close()."""

    def __init__(self, *folders):
        if os.geteuid() != 0:
            raise tap.Skip("takes root to become another user")
        plugin = pathlib.Path(os.environ["CODE_EXECUTE_SO"])
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ordinary-user-"))
        self.directory.chmod(0o755)
        for program in (plugin, plugin.with_name("code-execute-process")):
            shutil.copy(program, self.directory)
        for folder in ("support", *folders):
            shutil.copytree(TESTS / folder, self.directory / "tests" / folder, ignore=shutil.ignore_patterns("__pycache__"))
        self.home = self.directory / "home"
        self.home.mkdir()
        os.chown(self.home, UID, UID)
        self.plugin = self.directory / plugin.name

    def add(self, program):
        return pathlib.Path(shutil.copy(program, self.directory))

    def environment(self):
        return {**os.environ, "CODE_EXECUTE_SO": str(self.plugin), "PYTHONPATH": str(self.directory / "tests" / "support"),
                "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(self.home), "TMPDIR": str(self.home)}

    def run(self, command, **environment):
        with self.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **environment) as process:
            output, errors = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def start(self, command, stdout=None, stderr=None, **environment):
        become = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
        return subprocess.Popen([*become, *command], stdout=stdout, stderr=stderr, text=True, cwd=self.home,
                                env={**self.environment(), **environment})

    def close(self):
        shutil.rmtree(self.directory)
