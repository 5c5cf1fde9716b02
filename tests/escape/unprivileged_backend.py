# SPDX-License-Identifier: Apache-2.0
"""Process mode without namespaces for the harness: every attack on process mode, each in one language, without a control group. What
ends otherwise here, what is not stopped and which control differs is in the tables; the rest is as the headers say."""
import os
import pathlib
import subprocess

import alone
import modes
import tap
from catalogue import PREFERRED
from process_backend import ProcessBackend
from process_knockouts import UNPRIVILEGED_STEPS
from process_watch import own_children

OWN = "unprivileged"  # among the backends of an attack
PROGRAM_CAPABILITY = "sandbox.exec.mode.unprivileged"
# Each has to get through here as well, or the list says too much. docs/threat-model.md says the same.
NOT_STOPPED = {
    "C40-see-processes": "/proc is the machine's, and Landlock holds opening and not looking: existence of processes, by name of their directory",
    "C60-node-name": "uname() shows the name of the gateway's machine or container, which takes a namespace to change",
}
# Nothing that it could be tried on.
NOT_THERE = {
    "C43-workspace": "there is no workspace: a request for one is refused",
    "A3-node-descriptors": "it reads /proc, which no rule opens; A3-inherited-descriptor.c tries the numbers",
    "C56-blind-first-process": "without a filter the first process of the machine would be attacked, which is not the run's",
}
# The init counts and ends the run, where a control group would refuse. tests/process/test_unprivileged.py has programs within each limit.
SUPERVISED = {
    "A15-fill-scratch": "killed disk_full",
    "A16-many-files": "killed disk_full",
    "B20-fork-bomb": "killed process_limit",
    "B21-thread-bomb": "killed process_limit|completed exit",
    "B24-deaf-spinner": "killed cpu_limit|killed signal",
    "D61-memory-bomb": "killed memory_limit|killed signal",
    "D61-memory-by-children": "killed memory_limit",
}
# What the call would have got cannot be had here.
ENDINGS = {
    "D62-memory-files": "completed exit",
    "D62-shared-memory": "completed exit",
}
# The supervisor's alone, whatever the sandbox is made of: test_attacks.py tries them in process mode with namespaces.
OF_SUPERVISOR = {"time", "json", "result", "secret"}
TO_THE_MACHINE = "without that layer it would be done to the machine itself, which has no other namespace in between"
# Words of the header's control that are about a run and not about a layer.
OF_RUNS = ("timeout=", "limit:", "naive", "plain-secret", "bare", "impossible", "none")
CONTROLS = {
    "A2-write-view": "impossible it would leave files on the machine",
    "A3-inherited-descriptor": "leaked-descriptor enter_inner_domain",
    "A3-python-descriptors": "leaked-descriptor enter_inner_domain",
    "C55-message-queue": "none",
    "B31-slow-first-process": f"impossible {TO_THE_MACHINE}",
    "C56-limit-first-process": f"impossible {TO_THE_MACHINE}",
    "D62-memory-files": "impossible supervised: the knock-outs of their groups show it",
    "D62-shared-memory": "impossible supervised: the knock-outs of their groups show it",
}


def control_of(attack):
    """What is taken away for it here. Where process mode has a namespace or a mount in front of it, mode none has neither."""
    words = attack.words("control process")
    if attack.entry in CONTROLS:
        return CONTROLS[attack.entry]
    if OWN in attack.backends:
        return attack.fields["control process"]
    if attack.entry in SUPERVISED:
        return "impossible supervised: tests/process/test_unprivileged.py has what is within the limit"
    if not words or any(word.startswith(OF_RUNS) for word in words):
        return attack.fields.get("control process", "")
    if "capabilities" in words:
        return f"impossible {TO_THE_MACHINE}"
    if words == ["seccomp"] or {"seccomp", "disable_nested_namespaces"} >= set(words):
        return "seccomp"
    if any(word.startswith("rlimit-") for word in words):
        return " ".join(word for word in words if word.startswith("rlimit-"))
    return "none"


def prepared(attack):
    fields = {**attack.fields, "control unprivileged": control_of(attack)}
    if OWN in attack.backends:
        fields["given unprivileged"] = fields.get("given process", "")
    else:
        fields["layers"] = "the blueprint without namespaces"
    if attack.entry in SUPERVISED | ENDINGS:
        fields["expect"] = (SUPERVISED | ENDINGS)[attack.entry]
    attack.fields = fields
    return attack


def attacks_without_namespaces(found):
    first = {}
    for attack in sorted(found, key=lambda attack: PREFERRED.index(attack.path.suffix)):
        if attack.backends & {"process", OWN} and not attack.evidence <= OF_SUPERVISOR:
            first.setdefault(attack.entry, attack)
    return [prepared(attack) for attack in found if first.get(attack.entry) is attack]


class UnprivilegedBackend(ProcessBackend):
    name = "unprivileged"
    capabilities = [PROGRAM_CAPABILITY]

    def __init__(self, scratch):
        super().__init__(scratch)
        self.policy = {**self.policy, "process": {"isolation": "unprivileged"}}

    def check_machine(self):
        """Nobody else's control groups either."""
        if os.geteuid() == 0:
            alone.become_alone()
            subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/fs/cgroup"], check=True)

    def prepare(self, canaries):
        super().prepare(canaries)
        self.known.update({name: [f"step {name}"] for name in UNPRIVILEGED_STEPS})
        self.known.update({"dying-init": ["init dies"], "spared-orphans": ["orphans spared"],
                           "pairs of connected sockets": ["seccomp pairs of connected sockets"]})
        return []

    def lacks(self, attack, missing):
        for entry, reason in NOT_THERE.items():
            if attack.entry.startswith(entry):
                return reason
        if "landlock" in missing:
            tap.skip_all("this machine's kernel has no Landlock scopes")
        return None

    def not_stopped(self, attack):
        return NOT_STOPPED.get(attack.entry)

    def leftovers(self):
        """The directories of runs, by the supervisor in their names."""
        found = []
        for path in (path for place in ("/tmp", "/dev/shm") for path in pathlib.Path(place).glob("code-execute-*-*")):
            number = path.name.split("-")[2]
            if number.isdigit() and (modes.hosts_of(int(number)) or set()) & own_children():
                found.append(str(path))
        return {"directories of runs": sorted(found)}
