# SPDX-License-Identifier: Apache-2.0
"""What the fault tests share: rounds of the short and the long form, a seed that is printed, and what may be left of runs."""
import contextlib
import ctypes
import os
import pathlib
import random
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import modes
import tap

LONG = modes.LONG
SEED = int(os.environ.get("FAULTS_SEED") or time.time_ns() % 1000000)
PROGRAM = str(pathlib.Path(os.environ["CODE_EXECUTE_SO"]).resolve().parent / "code-execute-process")

BASE = re.compile(r"/sys/fs/cgroup/.*/code-execute-\d+(\.\d+)?$")


def keep_mounts_apart():
    """Other programs of this machine mount as well: this process, and what it starts, sees its own mounts only. Where that is not
    permitted, all are seen."""
    new_namespace, private, recursive = 0x20000, 1 << 18, 1 << 14  # CLONE_NEWNS, MS_PRIVATE, MS_REC
    libc = ctypes.CDLL(None)
    if libc.unshare(new_namespace) == 0:
        tap.equal(libc.mount(None, b"/", None, recursive | private, None), 0, "mount(MS_PRIVATE)")


keep_mounts_apart()


def generator(name):
    print(f"# seed {SEED} (FAULTS_SEED)")
    return random.Random(f"{name} {SEED}")


def links(pid):
    """What the descriptors of a process lead to; none where nobody may look."""
    found = set()
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


def bases(supervisor):
    """Its directories among the control groups: it holds a lock on each. Their names would not do: a supervisor in another pid namespace
    may have the same number."""
    return sorted(link for link in links(supervisor) if BASE.match(link))


def identity(path):
    """Of a directory, whatever has its name later; None: there is none."""
    try:
        facts = os.stat(path)
        return facts.st_dev, facts.st_ino
    except FileNotFoundError:
        return None


def of_our_pids(names, pids):
    return [name for name in names if any(f"-{pid}-" in name for pid in pids)]


class Traces:
    """Supervisors that were seen, and what is left of them: processes, control groups, directories, mounts."""

    def __init__(self):
        self.supervisors, self.mounts = {}, self.mount_count()

    @staticmethod
    def mount_count():
        return len(pathlib.Path("/proc/self/mountinfo").read_text().splitlines())

    def see(self, pid):
        self.supervisors[pid] = {path: identity(path) for path in bases(pid)}

    def more_mounts(self):
        """Fewer are the new measure: a mount of another program goes from here too when that program removes its directory."""
        now = self.mount_count()
        self.mounts = min(self.mounts, now)
        return now - self.mounts

    def left(self, living=()):
        pids = self.supervisors.keys() - set(living)
        directories = [path.name for path in pathlib.Path("/tmp").glob("code-execute-*")]
        groups = sorted(path for pid in pids for path, made in self.supervisors[pid].items() if identity(path) == made is not None)
        return groups, of_our_pids(directories, pids), self.more_mounts(), sorted(pid for pid in pids if alive(pid))

    def expect_none(self, living=()):
        try:
            tap.eventually(lambda: self.left(living) == ([], [], 0, []), "nothing is left", 10)
        except AssertionError as failure:
            raise AssertionError(f"{failure}: {self.left(living)}") from failure


def alive(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe") == PROGRAM
    except OSError:
        return False


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def supervisors_of(host):
    """The supervisors whose host is that process: they hold a pidfd of it."""
    found = []
    for pid, parent in modes.processes().items():
        if parent == 1 or not alive(parent):
            try:
                folder = f"/proc/{pid}/fdinfo"
                if any(f"\nPid:\t{host}\n" in pathlib.Path(folder, fd).read_text() for fd in os.listdir(folder)):
                    found.append(pid)
            except OSError:
                continue
    return sorted(set(found))


def settled_descriptors(supervisor, quiet_s=0.5):
    """How many it has open once that has not changed for a while: what it makes ahead of need comes after the answers. None where
    nobody may look."""
    folder = f"/proc/{supervisor}/fd"
    if not os.access(folder, os.R_OK):
        return None
    seen, since = len(os.listdir(folder)), time.monotonic()
    while time.monotonic() - since < quiet_s:
        time.sleep(quiet_s / 10)
        now = len(os.listdir(folder))
        if now != seen:
            seen, since = now, time.monotonic()
    return seen


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
