# SPDX-License-Identifier: Apache-2.0
"""Another architecture: an arm64 machine, emulated, with Debian's kernel and packages. Long form; skipped, with the reason, where there is
none to be had.

  test_arm64.py quickstart      scripts/quickstart, which compiles everything there
  test_arm64.py backend|modes   these programs (suites_in_vm.py), cross-built here
"""
import os
import pathlib
import signal
import subprocess
import sys

import tap

ROOT = pathlib.Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
BUILD = ROOT / "build-arm64"
SECONDS = {"quickstart": 6000, "backend": 3600, "modes": 3600}
ELSEWHERE = {  # of tests/hosts/meson.build's environment, as the cross build has it
    "CODE_EXECUTE_SO": BUILD / "plugin" / "code_execute.so",
    "CODE_EXECUTE_PROCESS": BUILD / "plugin" / "code-execute-process",
    "ESCAPE_KNOCK_OUT": BUILD / "tests" / "escape" / "knock-out",
    "PROCESS_TESTS": BUILD / "tests" / "process",
    "TOOLHOST": BUILD / "host-shim" / "toolhost",
}
# A copy, because a build directory of this machine's architecture may be in the checkout. The exit status is quickstart's.
QUICKSTART = r"""
mkdir /tmp/source && tar -c -C "$1" --exclude='./build*' --exclude=./.git . | tar -x -C /tmp/source && cd /tmp/source &&
scripts/quickstart >/tmp/quickstart.log 2>&1
status=$?
tail -n 5 /tmp/quickstart.log | sed 's/^/# /'
[ $status = 0 ] && grep -q '^18446744073709551616$' /tmp/quickstart.log && echo 'ok 1 - quickstart' || echo 'not ok 1 - quickstart'
echo 1..1
"""


def prepare(*command):
    """Skips everything with the last line that was said, where a command says that something cannot be had."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines() or ["no reason given"]
    if done.returncode in (77, 125):
        tap.skip_all(lines[-1])
    if done.returncode:
        print("\n".join(f"# {line}" for line in lines[-20:]))
        sys.exit(f"{command[0]} failed")


def main(part):
    if os.environ.get("CODE_EXECUTE_TEST_LONG") != "1":
        tap.skip_all("takes long on an emulated machine: CODE_EXECUTE_TEST_LONG=1")
    if os.geteuid() != 0:
        tap.skip_all("takes root, or the machine inside cannot read all of this machine's files")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the runner's patience has an end: the machine goes with it
    prepare(SCRIPTS / "test-vm", "--arm64", "--prepare")
    if part == "quickstart":
        command = ["sh", "-c", QUICKSTART, "sh", str(ROOT)]
    else:
        prepare(SCRIPTS / "cross-build")
        command = ["/usr/bin/python3", str(ROOT / "tests" / "hosts" / "suites_in_vm.py"), part]
    environment = {**os.environ, **{name: str(path) for name, path in ELSEWHERE.items()}}
    machine = subprocess.Popen([SCRIPTS / "test-vm", "--arm64", "--timeout", str(SECONDS[part]), *command], cwd=ROOT, env=environment)
    try:
        sys.exit(machine.wait())
    finally:
        machine.terminate()
        machine.wait()


main(sys.argv[1])
