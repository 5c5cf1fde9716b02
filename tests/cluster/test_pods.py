# SPDX-License-Identifier: Apache-2.0
"""The pods of mode kubernetes in the cluster of scripts/with-cluster, by hand: the client, the read-back, the claim, the attached stream
and the removal, without a run: by tests/kubernetes/pod_driver.c, of the build directory or as the argument says."""
import contextlib
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading

import api_server
import tap
from api_server import Server, kubectl

if not api_server.DIRECTORY:
    tap.skip_all("no cluster (scripts/with-cluster)")
ROOT = pathlib.Path(__file__).parents[2]
DRIVER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "tests" / "kubernetes" / "pod_driver")
if not DRIVER.exists():
    tap.skip_all("this build has no pod_driver")
OWNER = "0123456789abcdef0123456789abcdef"
NAMESPACE = "code-execute-runs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
PATIENCE = 180
server = Server()
kubectl("apply", "-k", str(ROOT / "deploy" / "kubernetes"))
TOKEN = kubectl("create", "token", "gateway", "--namespace", "code-execute").strip()
KUBECONFIG = pathlib.Path(api_server.DIRECTORY, "gateway.yaml")


def write_kubeconfig(token=TOKEN, address="https://127.0.0.1:6443", authority="certificates/ca.crt"):
    """As kubectl writes one."""
    KUBECONFIG.write_text("", encoding="utf-8")
    KUBECONFIG.chmod(0o600)
    for arguments in (("set-cluster", "here", f"--server={address}", f"--certificate-authority={api_server.DIRECTORY}/{authority}", "--embed-certs"),
                      ("set-credentials", "gateway", f"--token={token}"),
                      ("set-context", "runs", "--cluster=here", "--user=gateway", f"--namespace={NAMESPACE}"), ("use-context", "runs")):
        kubectl("config", f"--kubeconfig={KUBECONFIG}", *arguments)


class Driver:
    def __init__(self, command):
        self.process = subprocess.Popen([DRIVER, KUBECONFIG], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={
            **os.environ, "POD_DRIVER_IMAGE": "code-execute/shell:test", "POD_DRIVER_COMMAND": json.dumps(command)})
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put("the driver has ended")

    def order(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def next(self):
        return self.lines.get(timeout=PATIENCE * tap.SLOW)

    def expect(self, *lines):
        for line in lines:
            tap.equal(self.next(), line, "event")


@contextlib.contextmanager
def driver(*command):
    write_kubeconfig()
    running = Driver(command)
    running.expect("begins")
    yield running
    running.process.stdin.close()
    tap.equal(running.process.wait(60), 0, "the driver's exit status")


def make(running, order="make"):
    """The namespace's account takes a moment."""
    tap.eventually(lambda: kubectl("get", "serviceaccount", "run", "--namespace", NAMESPACE, check=False).returncode == 0, "the account")
    running.order(order)
    running.expect("made", "ready node-1")


def pods():
    return server.ask("GET", f"{PODS}?labelSelector=code-execute.owner={OWNER}")[1]["items"]


def test_a_pod_from_its_making_to_its_removal():
    with driver("sh", "-c", "printf \"got $(head -c 3)\"; sleep 1; exit 7") as running:
        make(running)
        [pod] = pods()
        tap.equal(pod["spec"]["securityContext"]["runAsUser"], 65534, "the user")
        running.order("attach")
        running.expect("attached v5")
        running.order("send abc")
        running.expect("sent")
        seen = [running.next() for _ in range(4)]
        tap.equal(sorted(seen), ["closed", "end ", "ended 7 Error", "stdout got abc"], "what comes")
        running.order("remove")
        running.expect("removed")
    tap.eventually(lambda: not pods(), "no pod is left", PATIENCE)


def test_a_claim_of_a_pod_that_waits():
    with driver("sh", "-c", "cat") as running:
        make(running, "make waiting")
        [pod] = pods()
        tap.lacks(pod["spec"], "activeDeadlineSeconds", "a pod that waits")
        running.order("claim")
        running.expect("claimed")
        [pod] = pods()
        tap.equal(pod["metadata"]["labels"]["code-execute.state"], "taken", "its label")
        tap.true(pod["spec"]["activeDeadlineSeconds"] > 130, pod["spec"])
        running.order("kill")
        running.expect("removed")
        tap.equal(pods(), [], "what is left of a killed pod")


def test_a_pod_that_is_altered_from_outside_is_refused():
    with driver("sh", "-c", "cat") as running:
        make(running)
        [pod] = pods()
        code, answer = server.ask("PATCH", f"{PODS}/{pod['metadata']['name']}", {"spec": {"containers": [{"name": "run", "image": "other:1"}]}},
                                  "application/strategic-merge-patch+json")
        tap.equal(code, 200, answer)
        line = running.next()
        tap.contains(line, "failed sandbox_unavailable")
        tap.contains(line, "spec.containers[0].image differs")
        running.order("remove")
        running.expect("removed")


def test_refusals_have_a_remedy():
    write_kubeconfig("nonsense")
    running = Driver(["true"])
    running.order("make")
    running.expect("begins", "made")
    line = running.next()
    tap.contains(line, "failed backend_unavailable")
    tap.contains(line, "kubectl create token")
    running.process.kill()
    write_kubeconfig(authority="certificates/admin.crt")
    running = Driver(["true"])
    running.order("make")
    running.expect("begins", "made")
    tap.contains(running.next(), "TLS with the API server failed")
    running.process.kill()


tap.run(globals())
