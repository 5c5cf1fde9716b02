# SPDX-License-Identifier: Apache-2.0
"""Process mode on this machine: as whoever runs the tests, as an ordinary user without a control group, and with user namespaces
forbidden. What is told of layers is what programs see of them."""
import json
import os
import pathlib
import re
import subprocess
import sys

import observe
import ordinary_user
import tap

HERE = pathlib.Path(__file__).parent
DOCTOR = [os.environ["TOOLHOST"], "doctor", "--plugin", os.environ["CODE_EXECUTE_SO"]]
RUN = ("import json; from provider import Host, Provider\n"
       "print(json.dumps(Provider().invoke({'language': 'sh', 'code': 'echo ran'}, Host())[1]))")
# The setting is that of a namespace of its own: the machine's stays as it is.
FORBID = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CODE_EXEC_SANDBOX": "process"})


def told(done):
    tap.equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def has_layer(report, state, layer):
    tap.contains(report, f"  {state}  {layer}: ", "doctor")


def test_the_user_of_the_tests():
    seen = told(run([sys.executable, HERE / "observe.py"]))
    observe.check(seen)
    doctor = run(DOCTOR)
    tap.equal(doctor.returncode, 0, doctor.stdout)
    for state in ("applied", "missing"):
        for layer in seen["result"]["isolation"][state]:
            has_layer(doctor.stdout, state, layer)
    if "cgroup" in seen["result"]["isolation"]["applied"]:
        tap.true(re.search(r"cgroup: version [12]: memory pids, below /sys/fs/cgroup", doctor.stdout), doctor.stdout)


def test_an_ordinary_user_without_control_groups():
    copies = ordinary_user.Copies("hosts")
    try:
        seen = told(copies.run([sys.executable, copies.directory / "tests" / "hosts" / "observe.py"]))
        doctor = copies.run([copies.add(os.environ["TOOLHOST"]), "doctor", "--plugin", copies.plugin], CODE_EXEC_SANDBOX="process")
    finally:
        copies.close()
    observe.check(seen, ["cgroup"])
    tap.equal(seen["hog"]["stdout"], "4\n", "memory is limited for each process alone")
    tap.equal(doctor.returncode, 0, doctor.stdout)
    has_layer(doctor.stdout, "missing", "cgroup")
    tap.contains(doctor.stdout, "Delegate=yes")


def test_user_namespaces_forbidden():
    result = told(run([*FORBID, sys.executable, "-c", RUN]))
    tap.equal((result["status"], result["stdout"], result["error"]["code"]), ("error", "", "sandbox_unavailable"), result)
    tap.contains(result["error"]["message"], "user_namespace")
    tap.contains(result["error"]["hint"], "sysctl -w user.max_user_namespaces=")
    doctor = run([*FORBID, *DOCTOR])
    tap.equal(doctor.returncode, 1, doctor.stdout)
    has_layer(doctor.stdout, "failed", "user_namespace")
    tap.contains(doctor.stdout, "sysctl -w user.max_user_namespaces=")


tap.run(globals())
