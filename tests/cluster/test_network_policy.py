# SPDX-License-Identifier: Apache-2.0
"""The deny-all policy of deploy/kubernetes on a real cluster, without a program that enforces it and with one: kube-router's controller of
NetworkPolicies (iptables and ipset). What a run's guest finds of the network, and what that means for runs. By hand:
scripts/check-cluster test_network_policy"""
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import api_server
import kubernetes_mode as mode
from api_server import kubectl, run_pod
from provider import Host, Provider

if not shutil.which("kube-router"):
    tap.skip_all("no kube-router (scripts/with-cluster --with kube-router)")
POLICY = mode.ROOT / "deploy" / "kubernetes" / "network.yaml"
REFUSED = "ConnectionRefusedError"
provider = Provider()


def use(**more):
    tap.equal(provider.use_policy(mode.policy(**more)), 0, "policy")


def run():
    return provider.invoke({"language": "python", "code": "print(1)"}, Host())[1]


def network():
    """As doctor tells it, which tries each time."""
    [backend] = [row for row in provider.status()[1]["backends"] if row["name"] == "kubernetes"]
    [layer] = [row for row in backend["layers"] if row["name"] == "network_namespace"] or [{}]
    return layer.get("state"), layer.get("detail")


@contextlib.contextmanager
def enforcement():
    """kube-router's policies alone: no routes, no services. Its rules are in the cluster's own network namespace, and go with it."""
    log = pathlib.Path(api_server.DIRECTORY, "kube-router.log")
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            ["kube-router", "--kubeconfig", f"{api_server.DIRECTORY}/admin.kubeconfig", "--hostname-override", "node-1",
             "--run-router=false", "--run-service-proxy=false", "--run-firewall=true", "--service-cluster-ip-range", "10.96.0.0/24",
             "--health-port", "0", "--enable-cni=false"], stdout=file, stderr=file)
    try:
        yield
        tap.equal(process.poll(), None, log.read_text(encoding="utf-8")[-2000:])
    finally:
        process.terminate()
        process.wait()
        for command in (["iptables", "--flush"], ["iptables", "--delete-chain"], ["ipset", "destroy"]):
            subprocess.run(command, check=True)


def start(namespace, name, program):
    pod = run_pod(name, ["python3", "-c", program], mode.images()[0])
    pod["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "100m", "memory": "64Mi"}}
    kubectl("apply", "--namespace", namespace, "-f", "-", text=json.dumps(pod))


def status(namespace, name):
    return mode.administrator.ask("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")[1]["status"]


CALL = """
import socket
try:
    socket.create_connection(({address!r}, 9), 3)
except OSError as error:
    print(type(error).__name__)
"""


def answer(address):
    """What a pod of another namespace hears from a port at which nobody listens: a refusal, or nothing."""
    start("default", "caller", CALL.format(address=address))
    try:
        tap.eventually(lambda: status("default", "caller")["phase"] == "Succeeded", "the caller has ended", 120)
        return kubectl("logs", "--namespace", "default", "caller").strip()
    finally:
        kubectl("delete", "pod", "--namespace", "default", "caller", "--now")


@contextlib.contextmanager
def called():
    """The addresses of a pod where runs are, and of one where no policy is."""
    places = ((mode.NAMESPACE, "called"), ("default", "called"))
    for namespace, name in places:
        start(namespace, name, "import time; time.sleep(600)")
    try:
        tap.eventually(lambda: all(status(*place).get("podIP") for place in places), "they run", 120)
        yield [status(*place)["podIP"] for place in places]
    finally:
        for namespace, name in places:
            kubectl("delete", "pod", "--namespace", namespace, name, "--now")


def test_the_policy_is_enforced_for_pods_of_runs_alone():
    """By pods of the tests: nothing of the product has a part in it."""
    mode.kubeconfig()
    with called() as (of_runs, other):
        tap.equal((answer(of_runs), answer(other)), (REFUSED, REFUSED), "nobody enforces it: the control")
        with enforcement():
            tap.eventually(lambda: answer(of_runs) == "TimeoutError", "it is enforced", 120)
            tap.equal(answer(other), REFUSED, "where no policy is")


def test_the_network_is_a_layer_only_where_the_policy_is_enforced():
    use()
    tap.equal(network(), ("missing", "tried from inside of a pod: open, pod answered"))
    output = run()
    isolation = output["isolation"]
    tap.equal((isolation["details"]["network_tried"], "network_namespace" in isolation["missing"]), ("open", True), output)
    use(require=["network_namespace"])
    output = run()
    tap.equal((output["status"], output["error"]["code"], output["stdout"]), ("error", "sandbox_unavailable", ""), output)
    tap.contains(output["error"]["message"], "pod answered")
    with enforcement():
        use()
        tap.eventually(lambda: network()[0] == "applied", "it is enforced", 120)
        use(require=["network_namespace"])
        output = run()
        tap.equal((output["stdout"], output["isolation"]["details"]["network_tried"]), ("1\n", "closed"), output)
        tap.true("network_namespace" in output["isolation"]["applied"], output["isolation"])
        use()
        kubectl("delete", "-f", str(POLICY))
        try:
            tap.eventually(lambda: network()[0] == "missing", "without the policy it is open", 120)
        finally:
            kubectl("apply", "-f", str(POLICY))
        tap.eventually(lambda: network()[0] == "applied", "with it, it is closed again", 120)
    tap.eventually(lambda: network()[0] == "missing", "nobody enforces it any more", 120)
    mode.none_left()


tap.run(globals())
