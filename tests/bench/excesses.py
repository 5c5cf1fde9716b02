# SPDX-License-Identifier: Apache-2.0
"""What a program has at the end beyond a limit that is supervised (process mode without namespaces, without control groups). It says itself
what it has, a byte for each unit, as fast as it can; what was said beyond the limit is the excess."""
import json
import os
import pathlib
import statistics
import subprocess
import sys

import cases
from gateway import Absent, Gateway

MIB = 1 << 20
ABSENT = 3  # exit status: the reason is on standard error
LIMITS = {"memory_bytes": 256 * MIB, "processes": 64, "scratch_bytes": 64 * MIB, "wall_ms": 20000}
# Of each: the unit, the cause that is expected, and the program. Several processes at once, as one alone has setrlimit(2) against it.
PROGRAMS = {
    "memory_bytes": (MIB, "memory_limit", """
import os, time
for i in range(8):
    if os.fork() == 0:
        kept = []
        while True:
            kept.append(b"x" * (1 << 20))
            os.write(1, b".")
time.sleep(15)"""),
    "processes": (1, "process_limit", """
import os, time
while True:
    if os.fork() == 0:
        os.write(1, b".")
        time.sleep(15)"""),
    "scratch_bytes": (MIB, "disk_full", """
import os
for i in range(4):
    if os.fork() == 0: break
file = open(f"f{os.getpid()}", "wb", 0)
for n in range(10000):
    if n % 15 == 0: file = open(f"f{os.getpid()}-{n}", "wb", 0)
    file.write(b"x" * (1 << 20))
    os.write(1, b".")"""),
}


def excess(gateway, name, rounds):
    """The most and the median, in units of the limit."""
    unit, cause, code = PROGRAMS[name]
    found = []
    for _ in range(rounds):
        result = gateway.order("invoke", request={"language": "python", "code": code})
        if result["cause"] != cause:
            raise Absent(f"{name}: the program ended by {result['cause']}: {result['error']}")
        if result["isolation"]["details"]["cgroup_memory"]:
            raise Absent("a control group holds the limits")
        found.append(result["truncated"]["stdout_bytes"] * unit - LIMITS[name])
    return {"limit": LIMITS[name], "median": statistics.median(found), "most": max(found)}


def measured(rounds):
    with Gateway() as gateway:
        gateway.use_policy(*({**policy, "limits": {name: {"default": value} for name, value in LIMITS.items()}} for policy in cases.UNPRIVILEGED_COLD))
        return {name: excess(gateway, name, rounds) for name in PROGRAMS}


def excesses(rounds=20):
    """Where no control groups are to be seen."""
    if os.geteuid() != 0:
        raise Absent("hiding the control groups takes root")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh", sys.executable,
                           pathlib.Path(__file__), str(rounds)], capture_output=True, text=True)
    if done.returncode == ABSENT or done.stderr.startswith(("unshare:", "mount:")):
        raise Absent(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def lines(told):
    for name, cost in told.get("excesses", {}).items():
        what = (lambda value: f"{value / MIB:.0f} MiB") if name.endswith("bytes") else (lambda value: f"{value:.0f}")
        yield f"excesses: {name} of {what(cost['limit'])}, supervised: beyond it {what(cost['median'])} (median), {what(cost['most'])} (most)"


if __name__ == "__main__":
    try:
        print(json.dumps(measured(int(sys.argv[1]))))
    except Absent as reason:
        print(reason, file=sys.stderr)
        sys.exit(ABSENT)
