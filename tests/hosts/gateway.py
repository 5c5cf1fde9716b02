# SPDX-License-Identifier: Apache-2.0
"""What one gateway of the virtual machine sees, as one line of JSON for in_vm.py: what it is told of layers and what programs see of
them (observe.py), its own results, and what the kernel's files said of a run's group while it ran.   gateway.py SUBTREE"""
import glob
import json
import os
import sys
import threading

import observe
from provider import Host, Provider

SUBTREE = sys.argv[1]
FILES = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "pids.peak", "cgroup.procs")
TIME = {"wall_ms": {"default": 60000, "max": 60000}}  # for a machine ten times slower
PROCESSES = {"processes": {"default": 10, "max": 10}}
CALL = 1
# It ends when it has been looked at, and not before: it is cancelled then.
INSIDE = "cat /proc/self/cgroup; id -u; find /sys/fs/cgroup -mindepth 1 2>/dev/null | wc -l; echo ready; exec sleep 600"
CELLS = ("x = 7", "y = bytearray(1 << 30)", "print(x)")
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


def groups():
    """The files of every run's group, as the kernel has them."""
    found = []
    for group in glob.glob(f"{SUBTREE}/code-execute-*/*/"):
        texts = {name: open(group + name).read().split() for name in FILES if os.path.exists(group + name)}
        texts["names"] = sorted(open(f"/proc/{pid}/comm").read().strip() for pid in texts["cgroup.procs"])
        found.append(texts)
    return found


def run(code, limits=None, language="sh", require=(), **callbacks):
    provider.use_policy({"limits": {**TIME, **(limits or {})}, "require": list(require)})
    return provider.invoke({"language": language, "code": code}, Host(**callbacks))[1]


def run_and_look():
    """The result of a run, and its groups at a moment at which it waits."""
    ready, host, results = threading.Event(), Host(), []

    def on_output(stream, data, length):
        host.on_output(stream, data, length)
        if b"ready\n" in host.output[1]:
            ready.set()

    def invoke():
        results.append(run(INSIDE, call_id=CALL, on_output=on_output))
        ready.set()  # also where it never came so far

    thread = threading.Thread(target=invoke)
    thread.start()
    ready.wait()
    try:
        found = groups()
    finally:
        provider.cancel(CALL)
        thread.join()
    return results[0], found


def cells():
    """How each cell of a session with checkpoints has ended."""
    provider.use_policy({"limits": TIME, "sessions": {"max_total": 1, "checkpoints": 1}})
    session, found = "new", []
    for code in CELLS:
        result = provider.invoke({"language": "python", "code": code, "session": session}, Host(("sandbox.exec", "sandbox.exec.session")))[1]
        session = (result["session"] or {}).get("id", session)
        found.append([result["cause"], (result["session"] or result["error"]).get("state"), result["stdout"]])
    return found


layers = observe.look(provider)
inside, found = run_and_look()
seen = {
    "layers": layers,
    "inside": inside,
    "groups": found,
    "hog": layers["hog"],
    "bomb": run(BOMB, PROCESSES, "python"),
    "cells": cells(),
    "required": run("echo ran", require=["cgroup"]),
    "own": open("/proc/self/cgroup").read().strip(),
}
provider.reset()
seen["landlock"] = seen["inside"]["isolation"]["details"].get("landlock_abi")
print(json.dumps(seen))
