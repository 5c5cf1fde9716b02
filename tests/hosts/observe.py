# SPDX-License-Identifier: Apache-2.0
"""What a gateway on this host is told of the layers of its runs, and what programs see of them (inside.py): as one line of JSON from
the gateway's process (main), and compared layer by layer (check)."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys

import tap
from provider import Host, Provider

HERE = pathlib.Path(__file__).parent
NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")
LIMITS = {"wall_ms": 60000, "cpu_ms": 60000, "memory_bytes": 64 << 20, "processes": 10, "open_files": 40, "file_bytes": 2 << 20,
          "scratch_bytes": 1 << 20, "scratch_inodes": 256}
# Without these the policy's floor is not reached, whatever the machine.
OPTIONAL = {"cgroup", "landlock", "proc"}
IPC_CREAT, IPC_RMID = 0o1000, 0
# Each process is within the limit, all together are not: how many of them end by themselves.
HOGS = 4
HOG = f"""
import os, time
for _ in range({HOGS}):
    if os.fork() == 0:
        block = b"x" * (30 << 20)
        time.sleep(3)
        os._exit(0)
print(sum(os.wait()[1] == 0 for _ in range({HOGS})))
"""


def outside(segment_key):
    return {"namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}, "limits": LIMITS,
            "shared memory": segment_key, "owner of /usr": os.stat("/usr").st_uid, "device of /": os.stat("/").st_dev}


def run(provider, code):
    return provider.invoke({"language": "python", "code": code}, Host())[1]


def is_limited_as_a_tree(hog):
    """Version 2 kills all of it, version 1 some of its processes."""
    return (hog["status"], hog["cause"]) == ("killed", "memory_limit") or hog["stdout"] in [f"{number}\n" for number in range(HOGS)]


def look(provider):
    """What both runs tell, and what the same program sees without a sandbox."""
    libc, key = ctypes.CDLL(None, use_errno=True), 0x43000000 | os.getpid()
    segment = libc.shmget(key, 4096, IPC_CREAT | 0o666)
    try:
        code = f"OUTSIDE = {outside(key)!r}\n" + (HERE / "inside.py").read_text()
        provider.use_policy({"limits": {name: {"default": value, "max": value} for name, value in LIMITS.items()}})
        result, hog = run(provider, code), run(provider, HOG)
        bare = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    finally:
        libc.shmctl(segment, IPC_RMID, None)
        provider.reset()
    return {"result": result, "hog": hog, "bare": bare.stdout, "errors": bare.stderr}


def check(seen, expected_missing=None):
    """Every layer that is called applied is seen, and nothing is called so where it is not; what is missing is what may be."""
    result = seen["result"]
    tap.equal((result["status"], result["stderr"]), ("completed", ""), result)
    inside, bare, isolation = json.loads(result["stdout"]), json.loads(seen["bare"] or "{}"), result["isolation"]
    tap.equal([bare.get(layer) for layer in inside], [False] * len(inside), f"without a sandbox: {bare} {seen['errors']}")
    tap.equal(list(inside), isolation["requested"], "every layer is looked for")
    inside["cgroup"] = inside["cgroup"] and is_limited_as_a_tree(seen["hog"])
    unseen = {layer for layer, is_seen in inside.items() if is_seen is None}
    tap.true(unseen <= (set() if "proc" in isolation["applied"] else {"cgroup_namespace"}), f"looked for in vain: {unseen}")
    tap.equal([layer for layer in isolation["applied"] if inside[layer] is False], [], f"called applied, but not seen: {inside}")
    for layer in isolation["missing"]:
        if inside[layer]:
            print(f"# called missing, yet seen: {layer}")
    tap.true(set(isolation["missing"]) <= OPTIONAL, f"below the floor: {isolation}")
    tap.equal(sorted(isolation["applied"] + isolation["missing"]), sorted(isolation["requested"]))
    if expected_missing is not None:
        tap.equal(isolation["missing"], expected_missing)


if __name__ == "__main__":
    print(json.dumps(look(Provider())))
