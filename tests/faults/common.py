# SPDX-License-Identifier: Apache-2.0
"""What the fault tests share: rounds of the short and the long form, a seed that is printed, and what may be left of runs."""
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import modes
import tap

LONG = modes.LONG
SEED = int(os.environ.get("FAULTS_SEED") or time.time_ns() % 1000000)
PROGRAM = str(pathlib.Path(os.environ["CODE_EXECUTE_SO"]).resolve().parent / "code-execute-process")


def generator(name):
    print(f"# seed {SEED} (FAULTS_SEED)")
    return random.Random(f"{name} {SEED}")


def groups():
    """Directories of supervisors; os.walk() minds none that vanishes."""
    return sorted(f"{top}/{name}" for top, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith("code-execute-"))


def of_our_pids(names, pids):
    return [name for name in names if any(name.endswith(f"-{pid}") or f"-{pid}-" in name for pid in pids)]


class Traces:
    """Supervisors that were seen, and what is left of them: processes, control groups, directories, mounts."""

    def __init__(self):
        self.supervisors, self.mounts = set(), self.mount_count()

    @staticmethod
    def mount_count():
        return len(pathlib.Path("/proc/self/mountinfo").read_text().splitlines())

    def see(self, pid):
        self.supervisors.add(pid)

    def left(self, living=()):
        pids = self.supervisors - set(living)
        directories = [path.name for path in pathlib.Path("/tmp").glob("code-execute-*")]
        return (of_our_pids(groups(), pids), of_our_pids(directories, pids), self.mount_count() - self.mounts,
                sorted(pid for pid in pids if alive(pid)))

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
