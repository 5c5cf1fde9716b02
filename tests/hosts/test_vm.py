# SPDX-License-Identifier: Apache-2.0
"""Process mode on another kernel, with cgroup version 2: the cases of in_vm.py, in one virtual machine, where it is asked for
(CODE_EXECUTE_TEST_VM=1, and in the long form). Skipped, with the reason, where there is none to be had."""
import os
import pathlib
import subprocess
import sys

import tap

HERE = pathlib.Path(__file__).parent
TEST_VM = HERE.parents[1] / "scripts" / "test-vm"
LONG = os.environ.get("CODE_EXECUTE_TEST_LONG") == "1"

if not LONG and os.environ.get("CODE_EXECUTE_TEST_VM") != "1":
    tap.skip_all("a minute of an emulated machine: CODE_EXECUTE_TEST_VM=1 asks for it")
if os.geteuid() != 0:
    tap.skip_all("takes root, or the machine inside cannot read all of this machine's files")
prepared = subprocess.run([TEST_VM, "--prepare"], capture_output=True, text=True)
if prepared.returncode:
    reason = (prepared.stderr.strip().splitlines() or ["no reason given"])[-1]
    tap.skip_all(f"no virtual machine: {reason}")
os.execv(TEST_VM, [TEST_VM, "--timeout", "5400" if LONG else "600", sys.executable, HERE / "in_vm.py"])
