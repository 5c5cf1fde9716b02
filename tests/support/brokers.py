# SPDX-License-Identifier: Apache-2.0
"""The brokers of endpoints of this process, which is a gateway: it holds a pidfd of each program that it has started."""
import contextlib
import pathlib


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return None


def brokers():
    pids = []
    for entry in pathlib.Path("/proc/self/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            pids += [int(line.split()[1]) for line in entry.read_text().splitlines() if line.startswith("Pid:")]
    return [pid for pid in pids if name_of(pid) == "code-execute-eg"]
