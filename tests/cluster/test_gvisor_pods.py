# SPDX-License-Identifier: Apache-2.0
"""Mode kubernetes with a RuntimeClass of gVisor, on a real cluster: containerd starts those pods by gVisor's shim. By hand:
scripts/check-cluster test_gvisor_pods"""
import json
import os
import pathlib
import shutil
import sys

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import kubernetes_mode as mode
from api_server import kubectl, run_pod
from provider import Host, Provider

if not shutil.which("containerd-shim-runsc-v1"):
    tap.skip_all("no shim of gVisor (scripts/with-cluster --with gvisor)")
CLASS = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "gvisor"}, "handler": "runsc"}
RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.session")
IN_GVISOR = {"kubernetes": {"runtime_class": "gvisor"}}
kubectl("apply", "-f", "-", text=json.dumps(CLASS))
provider = Provider()


def use(**more):
    tap.equal(provider.use_policy(mode.policy(**more)), 0, "policy")


def run(code, language="python", **more):
    return provider.invoke({"language": language, "code": code, **more}, Host(RIGHTS))[1]


def printed(code, language="python", **more):
    output = run(code, language, **more)
    tap.equal((output["status"], output["error"]), ("completed", None), output)
    return output["stdout"]


def test_the_handler_starts_pods():
    """Without the product."""
    pod = run_pod("by-hand", ["cat", "/proc/version"], runtimeClassName="gvisor")
    kubectl("apply", "-f", "-", text=json.dumps(pod))
    try:
        def phase():
            return mode.administrator.ask("GET", "/api/v1/namespaces/default/pods/by-hand")[1]["status"]["phase"]
        tap.eventually(lambda: phase() == "Succeeded", "it has ended", 60)
        tap.lacks(kubectl("logs", "by-hand"), os.uname().release, "the machine's kernel")
    finally:
        kubectl("delete", "pod", "by-hand", "--now")


def test_programs_run_on_gvisors_kernel():
    """The same in a pod of the cluster's default class is the control."""
    version = "print(open('/proc/version').read().split()[2])"
    use()
    tap.equal(printed(version), f"{os.uname().release}\n", "the control")
    use(**IN_GVISOR)
    output = run(version)
    tap.equal((output["status"], output["error"]), ("completed", None), output)
    tap.true(output["stdout"].strip() != os.uname().release, output)
    details = output["isolation"]["details"]
    tap.equal((details["runtime_class"], details["kernel"]), ("gvisor", "gVisor"), output)
    tap.equal({"seccomp", "no_new_privileges", "capabilities"} - set(output["isolation"]["applied"]), set(), output)
    tap.equal(printed("cat; uname -r", "sh", stdin="in\n").split()[0], "in")
    tap.equal(printed("x=(a b); echo ${#x[@]}", "bash"), "2\n")


def test_the_pod_has_that_class():
    use(sessions={"max_total": 1}, **IN_GVISOR)
    first = run("x = 41", session="new")
    tap.equal(first["session"]["state"], "kept", first)
    try:
        [pod] = mode.running()
        tap.equal(pod["spec"]["runtimeClassName"], "gvisor")
        tap.equal(printed("print(x + 1)", session=first["session"]["id"]), "42\n")
    finally:
        run("0", session=first["session"]["id"], session_action="end")
    mode.none_left()


def test_a_class_that_is_not_there_is_refused():
    use(kubernetes={"runtime_class": "absent"})
    output = run("print(1)")
    tap.equal((output["status"], output["stdout"]), ("error", ""), output)
    tap.contains(output["error"]["message"], "absent")


ATTACKS = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    return "done" if getattr(libc, name)(*arguments) >= 0 else errno.errorcode[ctypes.get_errno()]
def attempt(what):
    try:
        what()
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]
print("mount", call("mount", b"none", b"/tmp", b"tmpfs", 0, None))
print("unshare", call("unshare", 0x10000000))
print("setuid", attempt(lambda: os.setuid(0)))
print("chroot", attempt(lambda: os.chroot("/tmp")))
print("inet", attempt(lambda: socket.socket()))
print("packet", attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)))
print("memory of init", attempt(lambda: open("/proc/1/mem", "rb")))
print("root", attempt(lambda: open("/written", "w")))
print("sysrq", attempt(lambda: open("/proc/sysrq-trigger", "w")))
print("token", attempt(lambda: open("/var/run/secrets/kubernetes.io/serviceaccount/token")))
print("ptrace", call("ptrace", 16, 1, None, None))
"""


def test_attacks_get_nothing():
    use(**IN_GVISOR)
    outcomes = dict(line.rsplit(" ", 1) for line in printed(ATTACKS).splitlines())
    tap.equal(len(outcomes), 11, outcomes)
    tap.equal([name for name, outcome in outcomes.items() if outcome == "done"], [], outcomes)


def test_a_program_that_kills_the_first_process_ends_its_own_run():
    """Linux protects a namespace's first process from inside; gVisor does not."""
    use(**IN_GVISOR)
    output = run("import os, time\nos.kill(1, 9)\ntime.sleep(60)")
    tap.equal((output["status"], output["cause"], output["signal"]), ("killed", "signal", "SIGKILL"), output)
    tap.equal(printed("print(1)"), "1\n", "the next run")


def test_limits_hold():
    use(**IN_GVISOR)
    output = run("x = bytearray(b'x') * (1 << 30)\nprint(len(x))")
    tap.true(output["status"] != "completed" or output["exit_code"] != 0, output)
    tap.equal(output["stdout"], "", output)
    use(limits={"wall_ms": {"default": 5000, "max": 300000}, "cpu_ms": {"default": 120000, "max": 300000}}, **IN_GVISOR)
    output = run("while True: pass")
    tap.equal((output["timed_out"], output["cause"]), (True, "wall_timeout"), output)
    mode.none_left()


tap.run(globals())
