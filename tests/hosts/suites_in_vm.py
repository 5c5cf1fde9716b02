# SPDX-License-Identifier: Apache-2.0
"""The programs of other suites in the virtual machine, each as root and as an ordinary user, in subtrees of control groups that are
theirs (test_vm.py, long form).   suites_in_vm.py backend|modes|escape"""
import collections
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import tap
from vm import HERE, in_leaf, open_the_way

SLOW = "4"  # how many times longer the tests wait
PATIENCE_S = 2400  # for one program
BACKEND = ("programs", "attacks", "limits", "lifetime", "refusal", "container")
MODES = ("modes/test_results.py", "modes/test_languages.py", "modes/test_output.py", "modes/test_lifetime.py",
         "process/test_workspace.py", "process/test_process_mode.py")
FOR_ROOT = "modes/test_lifetime.py"  # an ordinary user cannot see which program a backend is (it is not dumpable)
IDENTITIES = ("root", "user")


def run(identity, command, output):
    """The status, None where it was not done in time. Its output is a file: no process that is left can keep the end from us."""
    environment = {**os.environ, "HARNESS_SLOW": SLOW, "CODE_EXECUTE_TEST_LONG": "0", "ESCAPE_BACKEND": "process"}
    environment.pop("TEST_CASES", None)  # names programs here, not their cases
    process = subprocess.Popen(in_leaf(identity, command), stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                               env=environment)
    try:
        return process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def print_counts(title, lines, seconds):
    """How many cases passed, why others were skipped, and all that else was printed."""
    reasons = collections.Counter(line.split("# SKIP ", 1)[1] for line in lines if line.startswith("ok ") and "# SKIP " in line)
    counts = {"passed": sum(line.startswith("ok ") and "# SKIP" not in line for line in lines),
              "failed": sum(line.startswith("not ok ") for line in lines), "skipped": reasons.total()}
    print(f"# {title}: {', '.join(f'{count} {name}' for name, count in counts.items())}, {seconds:.0f} s")
    for reason, count in reasons.items():
        print(f"#   skipped {count}: {reason}")
    for line in lines:
        if not line.startswith("ok "):
            print(f"#   {line}")
    return counts


def all_pass(identity, name, command):
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        status = run(identity, command, output)
        output.seek(0)
        lines = output.read().splitlines()
    counts = print_counts(f"{identity}: {name}", lines, time.monotonic() - begin)
    tap.true(status is not None, f"not done within {PATIENCE_S} s")
    tap.equal((status, counts["failed"]), (0, 0), "status and failed cases")
    tap.true(counts["passed"] > 0, "nothing passed")


def programs(part):
    """(identity, name, command) of each."""
    python = [sys.executable]
    if part == "backend":
        commands = {name: [f"{os.environ['PROCESS_TESTS']}/process_test_{name}"] for name in BACKEND}
    elif part == "modes":
        commands = {name: python + [str(HERE.parent / name)] for name in MODES}
    else:
        commands = {"escape": python + [str(HERE.parent / "escape" / "test_attacks.py")]}
    return [(identity, name, command) for identity in IDENTITIES for name, command in commands.items()
            if identity == "root" or name != FOR_ROOT]


def main(part):
    cases = {f"test_{identity}-{pathlib.Path(name).stem.removeprefix('test_')}":
             lambda identity=identity, name=name, command=command: all_pass(identity, name, command)
             for identity, name, command in programs(part)}
    open_the_way()
    tap.run(cases)


main(sys.argv[1])
