# SPDX-License-Identifier: Apache-2.0
"""A further interpreter of a session without namespaces, in a backend that holds it until its init has looked at the tree several times
(held_beginning.c). It is ours until it is in its own domain, and nobody may look into it: that is not taken for a program that hides its
files."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support")]
import alone
import provider as abi
import tap
from provider import OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.mode.unprivileged")
POLICY = json.loads((ROOT / "policies" / "in-container.json").read_text()) | {"sessions": {"max_total": 8, "max_per_principal": 8}}
BUILT = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).resolve()
if os.geteuid() == 0:  # an ordinary user has no control groups here
    alone.become_alone()
    subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/fs/cgroup"], check=True)


def second_language(is_spared):
    """What comes of the second cell, in another language than the first."""
    with tempfile.TemporaryDirectory(prefix="beginning-test-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        plugin = shutil.copy(BUILT, folder)
        shutil.copy(os.environ["HELD_BEGINNING"], folder / "code-execute-process")
        (folder / "interpreter").symlink_to(BUILT.parent / "interpreter")
        if not is_spared:
            (folder / "not-spared").touch()
        provider = abi.Provider(plugin)
        try:
            tap.equal(provider.use_policy(POLICY), OK)
            first = provider.invoke({"language": "sh", "code": "echo 1", "session": "new"}, Host(RIGHTS))[1]
            tap.equal((first["stdout"], first["session"]["state"]), ("1\n", "kept"), first)
            return provider.invoke({"language": "bash", "code": "echo 2", "session": first["session"]["id"]}, Host(RIGHTS))[1]
        finally:
            provider.library.tool_shutdown()


def test_one_that_begins_hides_nothing():
    result = second_language(True)
    tap.equal((result["status"], result["stdout"], result["session"]["state"]), ("completed", "2\n", "kept"), result)


def test_one_that_the_init_does_not_know_would():
    """The control: each time."""
    result = second_language(False)
    tap.equal((result["status"], result["stdout"]), ("error", ""), result)
    tap.contains(result["error"]["message"], "the session has exceeded a limit", result)


tap.run(globals())
