# SPDX-License-Identifier: Apache-2.0
"""docs/scale.md, followed literally: the commands of its sections, with this build as what is installed. The set-ups of tests
(scripts/with-slurm, scripts/with-swarm, scripts/with-cluster) give namespaces in which that is seen by nobody else."""
import json
import os
import pathlib
import re
import subprocess

import tap

ROOT = pathlib.Path(__file__).parents[2]
INSTALLED = os.environ.get("CODE_EXECUTE_TEST_INSTALLED")


def install():
    """What check-cluster has installed into a directory is what /usr/local has, in this mount namespace. It must be a private one."""
    tap.true(INSTALLED, "CODE_EXECUTE_TEST_INSTALLED is not set: scripts/check-cluster sets it")
    subprocess.run(["mount", "-t", "overlay", "-o", f"lowerdir={INSTALLED}/usr/local:/usr/local", "overlay", "/usr/local"], check=True)


def commands(heading):
    """The blocks of commands below that heading, each as text."""
    page = (ROOT / "docs" / "scale.md").read_text()
    section = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", page, re.S | re.M)
    tap.true(section, f"docs/scale.md has no section {heading!r}")
    return re.findall(r"^```sh\n(.*?)^```", section.group(2), re.S | re.M)


class User:
    """Who follows the page, in a shell of theirs for each block."""

    def __init__(self, home, before=()):
        """before: a command that becomes the user."""
        self.before, self.environment = before, {**os.environ, "HOME": str(home), "USER": "", "LANG": "C"}

    def start(self, script, **how):
        return subprocess.Popen([*self.before, "bash", "-euc", script], cwd=ROOT, env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)

    def do(self, script):
        """Its output; a failure is one of the page."""
        with self.start(script) as shell:
            out, errors = shell.communicate()
        tap.equal(shell.returncode, 0, f"{script}\n{out}{errors}")
        return out

    def run(self, *options):
        """`toolhost run` under way, of the policy that the page has written."""
        script = 'exec toolhost --policy ~/workers/policy.json run --approve always --language python "$@"'
        return subprocess.Popen([*self.before, "bash", "-c", script, "bash", *options], cwd=ROOT, env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def begin(self, seconds):
        """A run whose program has begun, and sleeps for so long."""
        run = self.run("-c", f"import time\nprint('begun', flush=True)\ntime.sleep({seconds})\nprint('to its end')", "--timeout", "300s")
        if run.stdout.readline() != "begun\n":
            raise AssertionError(f"it has not begun: {run.communicate()}")
        return run

    def call(self, code):
        return self.result(self.run("--json", "-c", code))

    @staticmethod
    def result(run):
        out, errors = run.communicate(timeout=300)
        tap.true(out, f"no result: {errors}")
        return json.loads(out)
