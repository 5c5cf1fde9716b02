# SPDX-License-Identifier: Apache-2.0
"""What docker mode does otherwise in gVisor (docs/docker.md): cases of test programs that are skipped there, by program and name, and
attacks that get what is gVisor's own. Each with its reason; nothing else is skipped."""
import os

RUNTIME = os.environ.get("CODE_EXECUTE_TEST_RUNTIME", "")
ON_GVISOR = "runsc" in RUNTIME

INODES = "gVisor's tmpfs counts no inodes"
DEVICES = "a node leads to a device of gVisor's own, or nowhere"
CASES = {
    "test_files.py": {"device_nodes_are_named_and_never_opened": DEVICES},
    "test_results.py": {
        "memory_limit": "the machine's kernel ends one of the sandbox's processes: the cause is told where the engine tells of it in time",
        "memory_that_is_asked_for": "gVisor's kernel has its part of the memory",
        "files_used_up": INODES,
    },
}

# Attack: what it finds. The canaries are the machine's, and none of these shows one.
OWN_FILES = "/proc and /sys are gVisor's own, and tell of nothing else: no mask is needed"
ATTACKS = {
    "A9-make-device": DEVICES,
    "A9-make-disk": DEVICES,
    "A9-other-devices": DEVICES,
    "A10-uncovered": OWN_FILES,
    "A11-cgroup-path": "gVisor shows the container's path: the result has cgroup_namespace as missing",
    "A11-sysfs": OWN_FILES,
    "A12-uncovered": OWN_FILES,
    "A16-many-files": INODES,
    "B31-more-priority": "gVisor keeps the number, which gives nothing on the machine",
}

# How a run may end besides, where that end is asked for: the machine's kernel ends any one of the sandbox's processes.
ENDINGS = {("killed", "memory_limit"): {("completed", "memory_limit"), ("completed", "exit"), ("killed", "signal"), ("error", "infrastructure")}}


def endings(listed):
    """Those and what gVisor has in their place."""
    return {ending for one in listed for ending in (one, *(ENDINGS.get(one, ()) if ON_GVISOR else ()))}


def skipped(program):
    """The cases of that program and why."""
    return CASES.get(os.path.basename(program), {}) if ON_GVISOR else {}
