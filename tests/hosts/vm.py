# SPDX-License-Identifier: Apache-2.0
"""The virtual machine from inside, for what root runs in it: control groups, and commands as root or as an ordinary user in them."""
import functools
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
CGROUPS = pathlib.Path("/sys/fs/cgroup")
USER = 1000


def open_the_way():
    """A checkout may be in a directory of root's own: here, and in the machine's own overlay only, the user can walk to it."""
    for place in HERE.parents:
        os.chmod(place, place.stat().st_mode | 0o055)


@functools.cache
def subtree(name):
    """A subtree with a leaf for the gateway: "root" has systemd's mark, "user" is the user's, "nobody" is nobody's."""
    directory = CGROUPS / name
    leaf = directory / "leaf"
    leaf.mkdir(parents=True)
    if name == "root":
        os.setxattr(directory, "trusted.delegate", b"1")
    if name == "user":
        files = [place / f"cgroup.{name}" for place in (directory, leaf) for name in ("procs", "threads", "subtree_control")]
        for path in (directory, leaf, *files):
            os.chown(path, USER, USER)
    return directory


def in_leaf(identity, command, group=None):
    """The command as root or as the ordinary user, in the leaf of its subtree or of another's."""
    leaf = subtree(group or identity) / "leaf" / "cgroup.procs"
    become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if identity == "user" else []
    return ["sh", "-c", f'echo $$ > {leaf} && exec "$@"', "sh", *become, *command]


def start(identity, command, group=None, **environment):
    return subprocess.run(in_leaf(identity, command, group), capture_output=True, text=True, env={**os.environ, **environment})
