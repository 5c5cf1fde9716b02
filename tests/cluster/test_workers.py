# SPDX-License-Identifier: Apache-2.0
"""Workers as a Deployment on a real cluster, as docs/scale.md says: admitted by the standard "restricted", found by the name of their
headless service, drained by a rollout, killed in mid-run. By hand: scripts/check-cluster test_workers"""
import json
import pathlib
import re
import subprocess
import sys
import time

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import api_server
from api_server import Server, kubectl
from cluster_names import Names
from scale_page import User, commands, install

if not api_server.DIRECTORY:
    tap.skip_all("no cluster (scripts/with-cluster)")

PATIENCE = 300
SPACE = ("--namespace", "code-execute-workers")
HOME = pathlib.Path(api_server.DIRECTORY, "home")
HOME.mkdir(mode=0o700)
install()
user = User(HOME)
user.do(commands("An authority")[0])
APPLY, CALL = commands("A Deployment of Kubernetes")
names = Names(Server(), api_server.DIRECTORY)


def reach_pods():
    """For probes and the gateway the node has an address on the pods' bridge, which is there with the first pod."""
    def is_there():
        added = subprocess.run(["ip", "address", "replace", "10.244.0.254/24", "dev", "pods0"], capture_output=True, check=False)
        return added.returncode == 0
    tap.eventually(is_there, "the pods' bridge", PATIENCE)


def told():
    return kubectl("get", "pods", *SPACE, "-o", "wide") + kubectl("get", "events", *SPACE, "--sort-by", ".lastTimestamp", check=False).stdout[-3000:] + \
        kubectl("logs", *SPACE, "--selector", "app=code-execute-worker", "--tail", "20", check=False).stdout


def until(condition, what):
    try:
        tap.eventually(condition, what, PATIENCE)
    except AssertionError as failure:
        raise AssertionError(f"{failure}\n{told()}") from failure


def pods():
    """{name: address} of those that are ready and not about to end."""
    listed = json.loads(kubectl("get", "pods", *SPACE, "--selector", "app=code-execute-worker", "-o", "json"))["items"]
    return {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in listed if "deletionTimestamp" not in pod["metadata"]
            and any(condition["type"] == "Ready" and condition["status"] == "True" for condition in pod["status"].get("conditions", []))}


def usable():
    """{pod: runs under way there}, as `toolhost status` tells it."""
    status = user.do("toolhost --policy ~/workers/policy.json status || true")
    listed = dict(re.findall(r"usable +worker\.example: ([\d.]+):7443, mode process, (\d+) of 8 runs", status))
    return {name: int(listed[address]) for name, address in pods().items() if address in listed}


def two_are_usable():
    until(lambda: len(pods()) == 2 and len(usable()) == 2, "two workers are usable")
    return set(pods())


def pod_of_run(run):
    busy = []

    def is_one():
        busy[:] = [pod for pod, runs in usable().items() if runs]
        return len(busy) == 1 or run.poll() is not None
    until(is_one, "one worker has the run")
    tap.equal(run.poll(), None, f"its run; workers with one: {busy}")
    return busy[0]


def completed():
    """The pod that a call ran in."""
    result = user.call("print(2**64)")
    tap.equal((result["status"], result["error"], result["stdout"]), ("completed", None, "18446744073709551616\n"), result)
    return result["isolation"]["details"]["worker"]


def test_the_page():
    with user.start(APPLY) as shell:
        reach_pods()
        out, errors = shell.communicate()
    tap.equal(shell.returncode, 0, f"{out}{errors}\n{told()}")
    said = user.do(CALL)
    tap.equal(len(re.findall(r"^  usable  worker\.example: 10\.244\.0\.\d+:7443, mode process", said, re.M)), 2, said)
    tap.contains(said, "18446744073709551616")
    both = two_are_usable()
    seen = set()
    until(lambda: seen.add(completed()) or seen == both, "both are used, and results name them")


def test_pods_have_no_more_than_the_standard_restricted():
    """The server has admitted them. What it has admitted is what they have."""
    for name in pods():
        status = kubectl("exec", *SPACE, name, "--", "sh", "-c", "cat /proc/1/status; id; ls /var/run/secrets; echo no > /etc/x", check=False)
        text = status.stdout + status.stderr
        for part in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "uid=65534", "Read-only file system"):
            tap.contains(text, part)
        tap.contains(text, "/var/run/secrets': No such file")


def test_a_pod_that_is_killed_in_mid_run():
    before = two_are_usable()
    run = user.begin(3600)
    pod = pod_of_run(run)
    kubectl("delete", "pod", *SPACE, pod, "--grace-period=0", "--force")
    tap.contains(run.communicate()[1], "worker_lost")
    tap.true(completed() != pod, "the next call has another")
    after = two_are_usable()
    tap.equal(len(after & before), 1, f"{before} {after}")


def test_a_pod_that_is_told_to_end_lets_its_run_end():
    before = two_are_usable()
    run = user.begin(30)
    pod = pod_of_run(run)
    kubectl("delete", "pod", *SPACE, pod, "--wait=false")
    tap.equal((pod in pods(), run.poll()), (False, None), "it is about to end, and its run goes on")
    tap.true(completed() in before - {pod} | set(pods()), "the next call has another")
    tap.equal((*run.communicate(), run.returncode), ("to its end\n", "", 0), "the run's end")
    tap.lacks(two_are_usable(), pod, "workers")


def test_a_rollout():
    before = two_are_usable()
    kubectl("rollout", "restart", *SPACE, "deployment/worker")
    kubectl("rollout", "status", *SPACE, "deployment/worker", "--timeout", f"{PATIENCE}s")
    until(lambda: two_are_usable() & before == set(), "all are new")
    completed()


def test_a_pod_in_which_something_is_missing_is_not_ready():
    """The same pod with the runtime's own profile."""
    spec = json.loads(kubectl("get", "deployment", *SPACE, "worker", "-o", "json"))["spec"]["template"]["spec"]
    spec["securityContext"]["seccompProfile"] = {"type": "RuntimeDefault"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other", "namespace": SPACE[1]}, "spec": spec}
    kubectl("apply", "-f", "-", text=json.dumps(pod))
    try:
        def said():
            return kubectl("logs", *SPACE, "other", check=False).stdout
        until(lambda: '"not_ready"' in said(), "it says that it is not ready")
        tap.contains(said(), "user_namespace")
        checked = kubectl("exec", *SPACE, "other", "--", "/usr/local/lib/code-execute/code-execute-worker", "--check", "--config",
                          "/etc/code-execute-worker/worker.json", check=False).stdout
        tap.contains(checked, "layer    user_namespace: failed")
        tap.contains(checked, "seccomp profile that allows the calls named in docs/operations.md")
        time.sleep(6)  # more than a period of the probe
        ready = kubectl("get", "pod", *SPACE, "other", "-o", 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')
        tap.equal(ready, "False")
    finally:
        kubectl("delete", "pod", *SPACE, "other", "--grace-period=0", "--force")


tap.run(globals())
