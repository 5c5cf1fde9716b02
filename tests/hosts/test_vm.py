# SPDX-License-Identifier: Apache-2.0
"""Process mode on another kernel, with cgroup version 2, in a virtual machine. Skipped, with the reason, where there is none to be had.

  test_vm.py hosts                  the cases of in_vm.py, where they are asked for (CODE_EXECUTE_TEST_VM=1, and in the long form)
  test_vm.py backend|modes|escape   these programs in it (suites_in_vm.py), in the long form
  TEST_CASES in the environment names some of the cases, as everywhere; of the second form, programs: test_user-escape.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import tap

HERE = pathlib.Path(__file__).parent
TEST_VM = HERE.parents[1] / "scripts" / "test-vm"
LONG = os.environ.get("CODE_EXECUTE_TEST_LONG") == "1"
SECONDS = {"hosts": 900, "backend": 2400, "modes": 2400, "escape": 5000}


def needed(part):
    if not LONG and part != "hosts":
        tap.skip_all("takes long on an emulated machine: CODE_EXECUTE_TEST_LONG=1")
    if not LONG and os.environ.get("CODE_EXECUTE_TEST_VM") != "1":
        tap.skip_all("a minute of an emulated machine: CODE_EXECUTE_TEST_VM=1 asks for it")
    if os.geteuid() != 0:
        tap.skip_all("takes root, or the machine inside cannot read all of this machine's files")
    prepared = subprocess.run([TEST_VM, "--prepare"], capture_output=True, text=True)
    if prepared.returncode:
        reason = (prepared.stderr.strip().splitlines() or ["no reason given"])[-1]
        tap.skip_all(f"no virtual machine: {reason}")


def compile_attacks(directory):
    """Outside, where it does not take ten times as long."""
    os.chmod(directory, 0o755)
    subprocess.run([sys.executable, HERE.parent / "escape" / "catalogue.py", directory], check=True)


def main(part):
    needed(part)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the runner's patience has an end: the machine goes with it
    program = [HERE / "in_vm.py"] if part == "hosts" else [HERE / "suites_in_vm.py", part]
    with tempfile.TemporaryDirectory(prefix="ce-attacks-") as directory:
        if part == "escape":
            compile_attacks(directory)
        machine = subprocess.Popen([TEST_VM, "--timeout", str(SECONDS[part]), sys.executable, *program],
                                   env={**os.environ, "ESCAPE_PROGRAMS": directory})
        try:
            sys.exit(machine.wait())
        finally:
            machine.terminate()
            machine.wait()


main(sys.argv[1])
