# SPDX-License-Identifier: Apache-2.0
"""Podman's Docker-compatible socket: what docker mode asks of an engine is there, or nothing runs and the operator is told why.
Podman 4.3 takes no seccomp profile in a request, shows all of /sys and the machine's cgroups whatever is asked, and does not
tell that memory ended a container. By hand: scripts/with-engine --podman tests/docker/test_podman.py"""
import json
import os
import pathlib
import sys

os.environ.update({"CODE_EXECUTE_TEST_MODE": "docker", "CODE_EXECUTE_TEST_PODMAN": "1"})
ROOT = pathlib.Path(__file__).parents[2]
os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tap
from engine import ask, containers
from modes import Provider
from provider import NOT_RUN, OK, Host

provider = Provider()
LOOK = """
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print([status[key].strip() for key in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")], os.getuid())
print(os.listdir("/sys"), [line.split(":")[2] for line in open("/proc/self/cgroup") if line.strip() and line.split(":")[2] != "/\\n"])
"""


def test_nothing_runs_without_every_requested_member():
    host = Host()
    code, output = provider.invoke({"language": "python", "code": LOOK}, host)
    tap.equal(containers(), [], "containers left")
    if code == OK:
        tap.equal(output["stdout"], "['0000000000000000', '0000000000000000', '1', '2'] 65534\n[] []\n", output)
        tap.true(set(output["isolation"]["missing"]) <= {"user_namespace", "landlock"}, output["isolation"])
        return
    tap.equal((code, output["status"], output["stdout"]), (NOT_RUN, "error", ""), output)
    tap.equal(host.output, {1: b"", 2: b"", 3: b""}, "on_output")
    tap.equal((output["error"]["code"], output["error"]["retryable"]), ("sandbox_unavailable", False), output["error"])
    tap.contains(output["error"]["message"], "seccomp profile")
    tap.true(len(output["error"]["hint"]) > 10, "a hint")


def test_the_refusal_is_right():
    """Asks Podman itself for the members that docker mode needs. This fails once Podman honours them."""
    profile = json.dumps({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": []})
    answered = json.loads(ask("/containers/create", "POST", {
        "Image": json.loads(ask("/images/json"))[0]["Id"], "Cmd": ["true"], "HostConfig": {"SecurityOpt": ["seccomp=" + profile]}}))
    if "Id" in answered:
        ask(f"/containers/{answered['Id']}?force=1", "DELETE")
        raise tap.Skip(f"this podman takes a seccomp profile: {json.loads(ask('/version'))['Version']}")
    tap.contains(answered["message"], "seccomp profile")


tap.run(globals())
