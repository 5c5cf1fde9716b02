# SPDX-License-Identifier: Apache-2.0
"""What one gateway of the virtual machine sees, as one line of JSON for in_vm.py: its own results, what the programs saw from inside,
and what the kernel's files said of a run's group while it ran.   gateway.py SUBTREE"""
import glob
import json
import os
import sys

from provider import Host, Provider

SUBTREE = sys.argv[1]
FILES = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "pids.peak", "cgroup.procs")
TIME = {"wall_ms": {"default": 60000, "max": 60000}}  # for a machine ten times slower
MEMORY = {"memory_bytes": {"default": 64 << 20, "max": 64 << 20}}
PROCESSES = {"processes": {"default": 10, "max": 10}}
INSIDE = "cat /proc/self/cgroup; id -u; find /sys/fs/cgroup -mindepth 1 2>/dev/null | wc -l; sleep 1"
# Each process is within the limit, all together are not.
HOG = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        block = b"x" * (30 << 20)
        time.sleep(3)
        os._exit(0)
for _ in range(4):
    os.wait()
print("all")
"""
BOMB = """
import os, signal
children = 0
try:
    while True:
        if os.fork() == 0:
            signal.pause()
        children += 1
except OSError as error:
    print(children, error.errno)
    raise
"""

provider = Provider()
groups = []


def look(stream, data, length):
    """While the run waits: the files of its group, as the kernel has them."""
    for group in glob.glob(f"{SUBTREE}/code-execute-*/*/"):
        texts = {name: open(group + name).read().split() for name in FILES if os.path.exists(group + name)}
        texts["names"] = sorted(open(f"/proc/{pid}/comm").read().strip() for pid in texts["cgroup.procs"])
        groups.append(texts)


def run(code, limits=None, language="sh", require=(), **callbacks):
    provider.use_policy({"limits": {**TIME, **(limits or {})}, "require": list(require)})
    return provider.invoke({"language": language, "code": code}, Host(**callbacks))[1]


seen = {
    "inside": run(INSIDE, on_output=look),
    "hog": run(HOG, MEMORY, "python"),
    "bomb": run(BOMB, PROCESSES, "python"),
    "required": run("echo ran", require=["cgroup"]),
    "groups": groups,
    "own": open("/proc/self/cgroup").read().strip(),
}
provider.reset()
seen["landlock"] = seen["inside"]["isolation"]["details"].get("landlock_abi")
print(json.dumps(seen))
