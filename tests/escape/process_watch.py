# SPDX-License-Identifier: Apache-2.0
"""What a run of process mode uses of the machine, measured on the host in the control groups that its supervisor has made. The kinds
of evidence are those of watch.py: tasks, memory, cputime."""
import contextlib
import os
import pathlib
import threading

import modes
import tap
from watch import LIMITS, SLACK_S, groups_of, read_number

PREFIX = "code-execute-"
TICKS = os.sysconf("SC_CLK_TCK")
PAUSE_S = 0.02 * tap.SLOW


def own_children():
    """Whichever thread has started them."""
    return {int(pid) for path in pathlib.Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


class ProcessWatch:
    def __init__(self, programs):
        """`programs` are the executables whose runs are meant, where a child of this process is their gateway: others may be under way
        on the machine."""
        groups = groups_of("self")
        unified = groups.get("", None)
        self.version1 = "pids" in groups
        self.places = {kind: [place for place in (groups.get(kind, unified),) for place in (place, place.parent) if place]
                       for kind in ("pids", "memory")}
        self.programs = {str(program) for program in programs}
        self.over = threading.Event()
        self.forget()

    def forget(self):
        self.over.set()
        self.peak, self.over = {"tasks": 0, "memory": 0, "cpu": 0.0}, threading.Event()
        threading.Thread(target=self.sample, args=(self.peak, self.over), daemon=True).start()

    def is_ours(self, base):
        pid = base.name.removeprefix(PREFIX).split(".")[0]
        with contextlib.suppress(OSError):
            if os.geteuid() != 0:  # which program it is cannot be seen then
                return base.stat().st_uid == os.geteuid()
            return os.readlink(f"/proc/{pid}/exe") in self.programs and bool(modes.hosts_of(pid) & own_children())
        return False

    def groups(self, kind):
        for place in self.places[kind]:
            with contextlib.suppress(OSError):
                for base in filter(self.is_ours, (pathlib.Path(entry) for entry in os.scandir(place) if entry.name.startswith(PREFIX))):
                    yield from (pathlib.Path(entry) for entry in os.scandir(base) if entry.is_dir())

    def sample(self, peak, over):
        used = "memory.usage_in_bytes" if self.version1 else "memory.current"
        while not over.wait(PAUSE_S):
            for group in self.groups("memory"):
                peak["memory"] = max(peak["memory"], read_number(group / used))
            for group in self.groups("pids"):
                peak["tasks"] = max(peak["tasks"], read_number(group / "pids.current"))
                with contextlib.suppress(OSError):
                    peak["cpu"] = max(peak["cpu"], sum(map(self.processor_seconds, (group / "cgroup.procs").read_text().split())))

    @staticmethod
    def processor_seconds(pid):
        with contextlib.suppress(OSError, IndexError):
            return sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[11:13])) / TICKS
        return 0.0

    def evidence(self):
        self.over.set()
        peak = self.peak
        return {kind for kind, beyond in (("tasks", peak["tasks"] > LIMITS["processes"] + 4),
                                          ("memory", peak["memory"] > 1.3 * LIMITS["memory_bytes"]),
                                          ("cputime", peak["cpu"] > LIMITS["cpu_ms"] / 1000 + SLACK_S)) if beyond}
