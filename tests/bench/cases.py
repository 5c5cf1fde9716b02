# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench measures: each case with its program, its policy and the commands it is measured beside."""
import dataclasses
import os
import shutil
import subprocess

from gateway import NAMESPACES, OURS, Absent

RUNC = "runc"
LOCAL = "without a worker"

# The policies, as merge patches on the built-in one. Of several the first that the provider takes.
WARM = [{"pools": {"process": {"ready": 4, "idle_ms": 60000}}}]
WARM_NUMPY = [{"pools": {"process": {"ready": 4, "idle_ms": 60000}}, "languages": {"python": {"prepare": {"import": ["numpy"], "import_named": None}}}}]
WARM_MANY = [{"pools": {"process": {"ready": 8, "idle_ms": 60000}}}]
COLD = [{"pools": {"process": {"ready": 0}}}]
# With the directories of runs in memory, where namespaces have theirs, and on the disk of /tmp.
ON_DISK = {"process": {"isolation": "unprivileged"}, "capabilities": ["sandbox.exec", "sandbox.exec.mode.unprivileged"]}
UNPRIVILEGED = {**ON_DISK, "process": {"isolation": "unprivileged", "scratch_directory": "/dev/shm"}}
UNPRIVILEGED_WARM, UNPRIVILEGED_WARM_MANY, UNPRIVILEGED_COLD = ([{**UNPRIVILEGED, **policy[0]}] for policy in (WARM, WARM_MANY, COLD))
ON_DISK_WARM, ON_DISK_WARM_MANY = ([{**ON_DISK, **policy[0]}] for policy in (WARM, WARM_MANY))
DOCKER = {"modes": {"default": "docker", "allowed": ["docker"]}}
DOCKER_WARM = [{**DOCKER, "pools": {"docker": {"ready": 4, "idle_ms": 60000}}}]
DOCKER_COLD = [{**DOCKER, "pools": {"docker": {"ready": 0}}}, DOCKER]
REMOTE_WARM = [{"pools": {"remote": {"ready": 4, "most": 4, "idle_ms": 60000}}}]
REMOTE_COLD = [{"pools": {"remote": {"ready": 0, "most": 0}}}]
GVISOR_WARM, GVISOR_COLD = ([{**policy[0], "docker": {"runtime": "runsc"}}] for policy in (DOCKER_WARM, DOCKER_COLD))

# The view, namespaces, environment and dropped rights of process mode; seccomp, Landlock, cgroup and rlimits only ours has.
BWRAP = ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL",
         "--hostname", "sandbox", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib",
         "/lib", "--symlink", "usr/lib64", "/lib64", "--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache",
         "--ro-bind", "/etc/alternatives", "/etc/alternatives", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
         "--tmpfs", "/home/sandbox", "--chdir", "/home/sandbox", "--setenv", "PATH", "/usr/bin:/bin"]

# What stands beside process mode without namespaces: sandlock has Landlock, a filter and a supervisor as well, for each command anew.
SANDLOCK = ["run", "--clean-env", "--max-memory", "512M", "--max-processes", "64", *(part for path in
            ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives") for part in ("--fs-read", path)), "--"]


@dataclasses.dataclass(frozen=True)
class Program:
    language: str
    code: str
    prints: str
    command: tuple  # the same bare; the code is its last argument
    module: str = ""  # of python, that it needs


SH = Program("sh", "echo hi", "hi\n", ("/bin/sh", "-c", "echo hi"))
PYTHON = Program("python", "print(2**64)", f"{2**64}\n", ("/usr/bin/python3", "-c", "print(2**64)"))
NUMPY_CODE = "import numpy; print(int(numpy.arange(10).sum()))"
NUMPY = Program("python", NUMPY_CODE, "45\n", ("/usr/bin/python3", "-c", NUMPY_CODE), "numpy")
JAVASCRIPT = Program("javascript", "console.log(1)", "1\n", ("/usr/bin/node", "-e", "console.log(1)"))


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    program: Program
    policies: list
    seconds: float = 20  # no round begins after them
    quick_seconds: float = 0  # 0: not in the quick form
    callers: int = 1
    each: int = 1  # runs of each caller in a turn
    pause_ms: int = 10  # before each turn of anybody
    beside: list | None = None  # the policies of a second gateway that takes turns with ours
    beside_name: str = NAMESPACES  # what it is called: with namespaces, where ours has none

    @property
    def is_docker(self):
        return self.name.startswith("docker-")

    @property
    def is_remote(self):
        return self.name.startswith("remote-")


def at_once():
    """One, eight and sixty-four callers, of threads of one gateway."""
    for name, program, policies in (("process-sh-warm", SH, WARM), ("process-sh-cold", SH, COLD),
                                    ("process-python-warm", PYTHON, WARM), ("process-python-cold", PYTHON, COLD)):
        for callers, each in ((1, 8), (8, 4), (64, 1)):
            yield Case(f"{name}-{callers}-at-once", program, policies, seconds=6, callers=callers, each=each)
    for name, policies in (("docker-python-warm", DOCKER_WARM), ("docker-python-cold", DOCKER_COLD)):
        for callers in (1, 8, 64):
            yield Case(f"{name}-{callers}-at-once", PYTHON, policies, seconds=30, callers=callers)


CASES = [
    Case("process-sh-warm", SH, WARM, quick_seconds=1.5),
    Case("process-sh-cold", SH, COLD, quick_seconds=1.5),
    Case("process-python-warm", PYTHON, WARM, quick_seconds=2.5),
    Case("process-python-cold", PYTHON, COLD),
    Case("process-numpy-warm", NUMPY, WARM_NUMPY, quick_seconds=2),
    Case("process-numpy-cold", NUMPY, COLD),
    Case("process-javascript-warm", JAVASCRIPT, WARM, quick_seconds=2.5),
    Case("process-javascript-cold", JAVASCRIPT, COLD),
    Case("process-python-throughput", PYTHON, WARM_MANY, quick_seconds=3.5, callers=8, each=4),
    Case("process-python-cold-throughput", PYTHON, COLD, callers=8, each=4),
    # Beside a gateway with namespaces. The pause of many callers lets both make ready what was used.
    Case("unprivileged-sh-warm", SH, UNPRIVILEGED_WARM, beside=WARM),
    Case("unprivileged-sh-cold", SH, UNPRIVILEGED_COLD, beside=COLD),
    Case("unprivileged-python-warm", PYTHON, UNPRIVILEGED_WARM, seconds=40, beside=WARM),
    Case("unprivileged-python-cold", PYTHON, UNPRIVILEGED_COLD, beside=COLD),
    Case("unprivileged-python-throughput", PYTHON, UNPRIVILEGED_WARM_MANY, seconds=60, callers=8, each=8, pause_ms=200, beside=WARM_MANY),
    Case("unprivileged-python-cold-throughput", PYTHON, UNPRIVILEGED_COLD, callers=8, each=4, pause_ms=200, beside=COLD),
    Case("unprivileged-disk-python-warm", PYTHON, ON_DISK_WARM, beside=WARM),
    Case("unprivileged-disk-python-throughput", PYTHON, ON_DISK_WARM_MANY, seconds=30, callers=8, each=8, pause_ms=200, beside=WARM_MANY),
    # Through a worker on this machine, beside a gateway that runs the same itself.
    Case("remote-sh-warm", SH, REMOTE_WARM, beside=WARM, beside_name=LOCAL),
    Case("remote-python-warm", PYTHON, REMOTE_WARM, seconds=40, beside=WARM, beside_name=LOCAL),
    Case("remote-python-cold", PYTHON, REMOTE_COLD, beside=COLD, beside_name=LOCAL),
    Case("remote-python-throughput", PYTHON, REMOTE_WARM, callers=8, each=4, pause_ms=200, beside=WARM_MANY, beside_name=LOCAL),
    # The pause lets the engine make ready what was used, so that its work for us is in nobody's figures.
    Case("docker-python-warm", PYTHON, DOCKER_WARM, seconds=60, quick_seconds=3, pause_ms=500),
    Case("docker-python-cold", PYTHON, DOCKER_COLD, seconds=60, quick_seconds=3),
    # In gVisor, beside a gateway whose containers are runc's. The pause is as long as a start there.
    Case("docker-gvisor-python-warm", PYTHON, GVISOR_WARM, seconds=120, pause_ms=1500, beside=DOCKER_WARM, beside_name=RUNC),
    Case("docker-gvisor-python-cold", PYTHON, GVISOR_COLD, seconds=60, beside=DOCKER_COLD, beside_name=RUNC),
    *at_once(),
]


def others(case):
    """Of each: its name, its program, the arguments before the command, and the reason where there is no program."""
    if case.is_remote:
        return
    yield "bwrap", shutil.which("bwrap", path="/usr/bin"), BWRAP[1:], "bwrap is not installed"
    if case.beside:
        yield "sandlock", shutil.which("sandlock"), SANDLOCK, "sandlock is not in PATH (cargo install sandlock-cli)"


def process_contestants(case):
    """The contestants of a case of process mode or of a worker, and why those that are missing are."""
    command = list(case.program.command)
    if not os.access(command[0], os.X_OK):
        raise Absent(f"{command[0]} is not installed")
    if case.program.module and subprocess.run([command[0], "-c", f"import {case.program.module}"],
                                              stderr=subprocess.DEVNULL).returncode:
        raise Absent(f"{command[0]} has no module {case.program.module}")
    request = {"language": case.program.language, "code": case.program.code}
    contestants = [{"name": OURS, "request": request}]
    if case.beside:
        contestants.append({"name": case.beside_name, "request": request})
    contestants.append({"name": "bare", "argv": command})
    absent = {}
    for name, program, arguments, missing in others(case):
        if program:
            contestants.append({"name": name, "argv": [program, *arguments, *command]})
        else:
            absent[name] = missing
    return contestants, absent
