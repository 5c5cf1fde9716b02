# SPDX-License-Identifier: Apache-2.0
"""Further versions of Python on this machine, beside the distribution's: in PATH, of pyenv, of uv."""
import glob
import os
import pathlib
import shutil
import subprocess

TELL = "import sys; print(*sys.version_info[:2], sys.base_prefix)"
# What no program of a test wants, and is most of an installation. Compiled modules stay: no sandbox could write them, and each start would
# compile its modules anew.
LEFT_OUT = shutil.ignore_patterns("test", "tests", "site-packages", "*.opt-?.pyc", "config-*", "idlelib", "ensurepip", "include", "*.a")


def ask(path):
    """Its major and minor version as texts, and where it is installed; empty texts where it does not start."""
    told = subprocess.run([path, "-I", "-c", TELL], capture_output=True, text=True, check=False)
    return (told.stdout.strip().split(" ", 2) if told.returncode == 0 else ["", "", ""])


def minors():
    """Those that there should be, without the distribution's."""
    _, own, _ = ask("/usr/bin/python3")
    return [minor for minor in range(9, 15) if str(minor) != own]


def candidates(minor):
    name = f"python3.{minor}"
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    yield shutil.which(name)
    yield from glob.glob(f"{pyenv}/versions/3.{minor}.*/bin/{name}")
    yield from glob.glob(os.path.expanduser(f"~/.local/share/uv/python/*/bin/{name}"))


def prefix_of(minor):
    """Where that version is installed; None: it is not there."""
    for path in filter(None, candidates(minor)):
        major, found, prefix = ask(path)
        if (major, found) == ("3", str(minor)):
            return pathlib.Path(prefix)
    return None


def copy(minor, prefix, place):
    """The path of that Python in a copy below `place`: its own may be where another user cannot look. The copy finds its library there."""
    for part in ("bin", "lib"):
        shutil.copytree(prefix / part, place / part, symlinks=True, ignore=LEFT_OUT, ignore_dangling_symlinks=True, dirs_exist_ok=True)
    python = place / "bin" / f"python3.{minor}"
    subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/../lib", python], check=True)
    return python
