# SPDX-License-Identifier: Apache-2.0
"""Libraries of PyPI for tests, as a committed list names them with their hashes, installed below the build directory."""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess

PYTHON = "/usr/bin/python3"  # whose version a sandbox has
VERSIONS = ("3.11", "3.13")  # of which the list has the hashes
# What pip says where PyPI cannot be reached: no defect of ours.
UNREACHABLE = ("Failed to establish a new connection", "Temporary failure in name resolution", "Name or service not known",
               "Network is unreachable", "No route to host", "Connection refused", "Connection reset", "timed out", "SSLError",
               "CERTIFICATE_VERIFY_FAILED", "ProxyError")

OWN = ("LD_PRELOAD", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")  # variables of a test that are not for other programs


class Unavailable(Exception):
    """There are no libraries here; the text says why."""


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False,
                          env={name: value for name, value in os.environ.items() if name not in OWN})
    if done.returncode == 0:
        return done.stdout
    message = done.stdout + done.stderr
    if any(word in message for word in UNREACHABLE):
        raise Unavailable("PyPI cannot be reached")
    raise RuntimeError(f"{' '.join(map(str, command))}: {message}")


def check_interpreter():
    if not os.access(PYTHON, os.X_OK):
        raise Unavailable(f"there is no {PYTHON}")
    version = run(PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    if version not in VERSIONS:
        raise Unavailable(f"{PYTHON} is of version {version}; libraries are named for {' and '.join(VERSIONS)}")
    if subprocess.run([PYTHON, "-c", "import pip, venv"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Unavailable(f"{PYTHON} cannot make environments (Debian: python3-pip, python3-venv)")


def install(listed, build, modules=None):
    """The directory of a virtual environment that has the libraries of the list, and no others. No package's script is run. modules: those
    that are used, of which alone there is bytecode then; to compile all takes as long as to unpack it."""
    listed = pathlib.Path(listed)
    check_interpreter()
    target = pathlib.Path(build) / "python" / hashlib.sha256(listed.read_bytes()).hexdigest()[:16]
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / (target.name + ".lock"), "w", encoding="utf-8") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if (target / "installed").exists():
            return target
        shutil.rmtree(target, ignore_errors=True)
        try:
            run(PYTHON, "-m", "venv", "--without-pip", target)
            run(PYTHON, "-m", "pip", "--python", target / "bin/python", "install", "--quiet", "--disable-pip-version-check",
                "--no-cache-dir", "--only-binary=:all:", "--require-hashes", "--retries=1", "--timeout=20", *(["--no-compile"] if modules else []),
                "--requirement", listed)
            if modules:
                run(target / "bin/python", "-c", f"import {', '.join(modules)}")
        except subprocess.TimeoutExpired as error:
            raise Unavailable("PyPI does not answer in time") from error
        (target / "installed").touch()
    return target


def is_open_to_others(directory):
    return all(part.stat().st_mode & 0o001 for part in (directory, *directory.parents))


def site_packages(environment):
    """The directory that Python finds the libraries in."""
    [found] = pathlib.Path(environment).glob("lib/python*/site-packages")
    return found
