# SPDX-License-Identifier: Apache-2.0
"""The labels by which a container names its owner, as owner.c writes them."""
import os
import pathlib
import subprocess
import time

BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def space():
    """Linux has time namespaces since 5.6."""
    links = [os.readlink("/proc/self/ns/pid")]
    if os.path.exists("/proc/self/ns/time"):
        links.append(os.readlink("/proc/self/ns/time"))
    return " ".join(links)


def start_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[19]


def labels(pid, start, boot=BOOT, latest=3600, namespaces=None):
    return {"code-execute.boot": boot, "code-execute.space": namespaces or space(), "code-execute.pid": str(pid),
            "code-execute.start": str(start), "code-execute.run": "0", "code-execute.latest": str(int(time.time()) + latest)}


def ended_pid():
    with subprocess.Popen(["true"]) as process:
        process.wait()
        return process.pid
