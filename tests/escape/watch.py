# SPDX-License-Identifier: Apache-2.0
"""What a container uses of the machine while it runs, measured on the host: the control groups of its first process, the
states of that process's children, the engine's log file, what changed in its own root.

Kinds of evidence found here:
  tasks   more processes and threads than its limit      memory   more memory than its limit
  cputime more processor time than its limit             cores    more processors at once than its limit
  zombies dead processes that nobody buries              disk     output that the engine keeps on disk
  rootfs  its root was written to
"""
import contextlib
import json
import os
import pathlib
import threading
import time

import gvisor
import tap
from engine_proxy import ask

LIMITS = {"wall_ms": 10000 * tap.SLOW, "cpu_ms": 1000 * tap.SLOW, "memory_bytes": 96 << 20, "processes": 32,
          "open_files": 64, "file_bytes": 16 << 20, "scratch_bytes": 32 << 20, "scratch_inodes": 512, "output_total_bytes": 4 << 20}
SLACK_S = 1.6 * tap.SLOW
ZOMBIES, UNBURIED_S = 8, 0.5  # so many that have been dead for so long: whatever ends is a zombie for a moment
GROUPS = pathlib.Path("/sys/fs/cgroup")
# In gVisor these are the sandbox's own (container_config.c); the program's processes are gVisor's to count.
TASKS = 128 + 4 * LIMITS["processes"] if gvisor.ON_GVISOR else LIMITS["processes"] + 4


def read_number(path):
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text().split()[0])
    return 0


def groups_of(pid):
    """Directories of the process's control groups by controller; version 2 has one of all, named ''."""
    found = {}
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            for name in names.split(","):
                found[name] = GROUPS / name / path[1:] if name else GROUPS / path[1:]
    return found


def files_below(folder):
    """os.walk() minds no directory that goes meanwhile, as the engine's own do while a container ends."""
    return [os.path.relpath(os.path.join(top, name), folder) for top, folders, files in os.walk(folder) for name in folders + files]


class Watch:
    def __init__(self, engine):
        self.engine = engine
        self.root = pathlib.Path(json.loads(ask(engine, "/info")[1])["DockerRootDir"])
        self.layers, self.overs = {}, {}  # of the containers there are, those that wait for a run among them
        self.given_runs = set()           # containers that were sent one
        self.lock = threading.Lock()      # a container is removed for one run: for the last, or for the next
        self.forget()

    def forget(self):
        with self.lock:
            self.forget_earlier()

    def forget_earlier(self):
        self.peak = {"tasks": 0, "memory": 0, "cpu": 0.0, "zombies": 0, "disk": 0}
        self.rate, self.changes = 0.0, []
        # Made for an earlier run and still to be removed: what it did is not the next one's. One that waits has no run yet.
        answer = json.loads(ask(self.engine, "/containers/json")[1])
        waiting = {entry["Id"] for entry in answer if (entry["Labels"] or {}).get("code-execute.run") == "waiting"}
        self.earlier = set(self.overs) - waiting

    def inspect(self, identity):
        return json.loads(ask(self.engine, f"/containers/{identity}/json")[1])

    def starting(self, identity):
        """Known from here on: a short run is over, and its container on its way out, before the engine says that it has started."""
        self.layers[identity] = (self.inspect(identity).get("GraphDriver", {}).get("Data") or {}).get("UpperDir")
        self.overs[identity] = threading.Event()

    def started(self, identity):
        over, pid = self.overs.get(identity), self.inspect(identity).get("State", {}).get("Pid")
        if over and pid:
            groups = groups_of(pid)
            if any(identity in str(path) for path in groups.values()):  # it has not ended yet
                threading.Thread(target=self.sample, args=(pid, identity, groups, over), daemon=True).start()

    def given(self, identity):
        self.given_runs.add(identity)

    def removing(self, identity):
        with self.lock:
            self.keep_changes(identity)

    def keep_changes(self, identity):
        if identity not in self.overs:
            return
        self.overs.pop(identity).set()
        if identity in self.earlier:
            self.layers.pop(identity, None)
            return
        if layer := self.layers.pop(identity, None):  # the engine itself would compare all of the image
            self.changes += files_below(layer)
        else:
            self.changes += [change["Path"][1:] for change in json.loads(ask(self.engine, f"/containers/{identity}/changes")[1]) or []]

    def sample(self, pid, identity, groups, over):
        unified = groups.get("", GROUPS)
        pids = groups.get("pids", unified) / "pids.current"
        used = (groups["memory"] / "memory.usage_in_bytes") if "memory" in groups else unified / "memory.current"
        last, last_cpu = time.monotonic(), 0.0
        died = {}
        while not over.wait(0.02):
            self.note("tasks", read_number(pids))
            self.note("memory", read_number(used))
            self.note("zombies", self.count_zombies(pid, died))
            self.note("disk", self.log_bytes(identity))
            cpu = self.processor_seconds(groups, unified)
            self.note("cpu", cpu)
            if time.monotonic() - last >= 0.5:
                self.rate = max(self.rate, (cpu - last_cpu) / (time.monotonic() - last))
                last, last_cpu = time.monotonic(), cpu

    def note(self, name, value):
        self.peak[name] = max(self.peak[name], value)

    @staticmethod
    def processor_seconds(groups, unified):
        if "cpuacct" in groups:
            return read_number(groups["cpuacct"] / "cpuacct.usage") / 1e9
        with contextlib.suppress(OSError):
            return int((unified / "cpu.stat").read_text().split()[1]) / 1e6
        return 0.0

    @staticmethod
    def count_zombies(pid, died):
        """Children of a container's first process that nobody has buried for a while; died has when each was first seen dead."""
        dead = set()
        with contextlib.suppress(OSError):
            for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                with contextlib.suppress(OSError):
                    if pathlib.Path(f"/proc/{child}/stat").read_text().rsplit(")")[-1].split()[0] == "Z":
                        dead.add(child)
        for buried in died.keys() - dead:
            del died[buried]
        now = time.monotonic()
        return sum(now - died.setdefault(child, now) >= UNBURIED_S for child in dead)

    def log_bytes(self, identity):
        with contextlib.suppress(OSError):
            return sum(path.stat().st_size for path in (self.root / "containers" / identity).rglob("*") if "log" in path.name)
        return 0

    def evidence(self):
        peak, found = self.peak, set()
        for kind, beyond in (("tasks", peak["tasks"] > TASKS), ("memory", peak["memory"] > 1.3 * LIMITS["memory_bytes"]),
                             ("cputime", peak["cpu"] > LIMITS["cpu_ms"] / 1000 + SLACK_S), ("cores", self.rate > 1.3),
                             ("zombies", peak["zombies"] > ZOMBIES), ("disk", peak["disk"] > 1 << 20),
                             ("rootfs", any(self.is_written(path) for path in self.changes))):
            if beyond:
                found.add(kind)
        return found

    @staticmethod
    def is_written(path):
        """The engine itself makes mount points there: everything an attack writes is named so that it can be told."""
        return "written" in path or path == "etc/passwd"
