# SPDX-License-Identifier: Apache-2.0
"""npm packages for tests, as a committed lock file names them, installed below the build directory."""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess

# What npm says where the registry cannot be reached: no defect of ours.
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH",
               "ERR_SOCKET_TIMEOUT", "ENOTCACHED", "SELF_SIGNED_CERT", "UNABLE_TO_GET_ISSUER_CERT")


class Unavailable(Exception):
    """There are no packages here; the text says why."""


def install(source, build):
    """The directory that has the node_modules of source/package-lock.json. No package's script is run."""
    source = pathlib.Path(source)
    if not shutil.which("node") or not shutil.which("npm"):
        raise Unavailable("there is no node or no npm")
    lock = (source / "package-lock.json").read_bytes()
    name = hashlib.sha256(lock).hexdigest()[:16]
    target = pathlib.Path(build) / "node" / name
    target.mkdir(parents=True, exist_ok=True)
    with open(target / ".lock", "w", encoding="utf-8") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if (target / "installed").exists():
            return target
        for file in ("package.json", "package-lock.json"):
            shutil.copy(source / file, target)
        try:
            done = subprocess.run(
                ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1",
                 "--fetch-retry-mintimeout=1000", "--fetch-timeout=20000", f"--cache={target / 'cache'}"],
                cwd=target, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240,
                env={**{k: v for k, v in os.environ.items() if k != "LD_PRELOAD"},
                     "npm_config_update_notifier": "false"})
        except subprocess.TimeoutExpired as error:
            raise Unavailable("npm's registry does not answer in time") from error
        if done.returncode != 0:
            if any(word in done.stderr for word in UNREACHABLE):
                raise Unavailable("npm's registry cannot be reached")
            raise RuntimeError(f"npm ci in {source}: {done.stderr}")
        (target / "installed").touch()
    return target
