# SPDX-License-Identifier: Apache-2.0
"""What a result's notes say of runs that went wrong in ways an agent cannot see, and that they say nothing of ordinary ones."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import modes
import tap
from modes import Provider
from provider import OK, Host

provider = Provider()
GROW = "blocks = []\nwhile True: blocks.append(bytearray(1 << 20))"


def run(language, code, **more):
    return_code, output = provider.invoke({"language": language, "code": code, **more}, Host())
    tap.equal(return_code, OK, output)
    return output


def limited(case, **limits):
    return provider.with_policy({"limits": {name: {"default": value, "max": value} for name, value in limits.items()}}, case)


def kills_of_children(output):
    """Which mode tells of them: elsewhere the case skips with the reason."""
    details = output["isolation"]["details"]
    if modes.MODE == "docker":
        raise tap.Skip("the docker backend does not tell of processes that were killed within a container")
    if not details["cgroup_memory"]:
        raise tap.Skip("no writable memory cgroup here: an allocation fails, and nobody is killed")
    if details["cgroup_version"] == 2:  # memory.oom.group: the whole run was killed
        tap.equal((output["status"], output["cause"]), ("killed", "memory_limit"), output)
        raise tap.Skip("the kernel kills a run of cgroup v2 as a whole")


def test_an_ordinary_run_has_no_notes():
    for language, code in (("python", "print(2**64)"), ("sh", "echo out; echo err >&2; exit 7"), ("python", "import sys\nsys.exit(1)")):
        tap.equal(run(language, code)["notes"], [], code)


def test_a_child_killed_for_memory():
    code = f"import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', {GROW!r}]).returncode)"

    def case():
        output = run("python", code)
        kills_of_children(output)
        tap.equal((output["status"], output["stdout"]), ("completed", "-9\n"), output)
        tap.equal(output["notes"], ["a process of the run was killed because the memory limit of 67108864 bytes was reached; "
                                    "the program went on without it"])
    limited(case, memory_bytes=64 << 20)


def test_a_program_that_waits_for_a_child_killed_for_memory():
    code = f"import os, signal\nif os.fork() == 0:\n    {GROW.replace(chr(10), chr(10) + '    ')}\nsignal.pause()"

    def case():
        output = run("python", code, timeout_ms=2000)
        kills_of_children(output)
        tap.equal((output["status"], output["cause"]), ("timeout", "wall_timeout"), output)
        tap.equal(len(output["notes"]), 1, output["notes"])
        tap.contains(output["notes"][0], "was killed because the memory limit of 67108864 bytes was reached")
        tap.contains(output["error"]["hint"], "use less memory")
        tap.true("timeout_ms" not in output["error"]["hint"], "more time would change nothing")
    limited(case, memory_bytes=64 << 20)


def test_a_timeout_without_a_kill_keeps_its_hint():
    output = run("sh", "sleep 30", timeout_ms=300)
    tap.equal((output["status"], output["notes"]), ("timeout", []), output)
    tap.contains(output["error"]["hint"], "timeout_ms")


tap.run(globals())
