# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes, applied as its page says: what a gateway may do with its account's token, what the server refuses it, and what the
pods of runs are given. By hand: scripts/check-cluster test_deploy"""
import pathlib
import re
import sys

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import api_server
from api_server import Server, kubectl, run_pod

if not api_server.DIRECTORY:
    tap.skip_all("no cluster (scripts/with-cluster)")

ROOT = pathlib.Path(__file__).parents[2]
RUNS = "/api/v1/namespaces/code-execute-runs/pods"
GATEWAY = "system:serviceaccount:code-execute:gateway"
kubectl("apply", "-k", str(ROOT / "deploy" / "kubernetes"))
administrator = Server()
gateway = Server(kubectl("create", "token", "gateway", "--namespace", "code-execute").strip())


def rights(account, namespace):
    """{resource or path: verbs}"""
    table = kubectl("auth", "can-i", "--list", "--no-headers", "--as", account, "--namespace", namespace)
    listed = {}
    for line in table.splitlines():
        resource, verbs = re.match(r"(\S*)\s.*\[([^\]]*)\]$", line).groups()
        path = re.search(r"\[(/[^\]]*)\]", line)
        name = resource or path.group(1)
        listed[name] = listed.get(name, set()) | set(verbs.split())
    return listed


def begin(name, pod=None):
    """The pod, run to its end, and deleted."""
    status, answer = gateway.ask("POST", RUNS, pod or run_pod(name, ["true"]))
    tap.equal(status, 201, answer)
    try:
        return wait_for(name, ("Succeeded", "Failed"))
    finally:
        gateway.ask("DELETE", f"{RUNS}/{name}?gracePeriodSeconds=0")


def wait_for(name, phases):
    got = {}

    def is_there():
        got.update(gateway.ask("GET", f"{RUNS}/{name}")[1])
        return got["status"]["phase"] in phases
    tap.eventually(is_there, f"{name} in {phases}: {got.get('status')}", 120)
    return got


def test_it_can_be_applied_again():
    again = kubectl("apply", "-k", str(ROOT / "deploy" / "kubernetes"))
    tap.equal([line for line in again.splitlines() if not line.endswith(" unchanged")], [], "what changes")


def test_the_gateway_has_these_rights_and_no_others():
    everyone = rights("system:serviceaccount:code-execute-runs:run", "code-execute-runs")
    own = rights(GATEWAY, "code-execute-runs")
    tap.equal({name: verbs for name, verbs in own.items() if everyone.get(name) != verbs}, {
        "pods": {"create", "get", "list", "watch", "patch", "delete"}, "pods/attach": {"get", "create"}}, "rights among the runs")
    for namespace in ("code-execute", "default", "kube-system"):
        tap.equal(rights(GATEWAY, namespace), everyone, f"rights in {namespace}")
    # What everyone may: ask for their own rights, and read the server's descriptions of itself.
    tap.equal({name for name in everyone if not name.startswith("/") and not name.startswith("self")}, set(), "rights of everyone")


def test_the_token_has_no_further_rights():
    tap.equal(gateway.ask("GET", RUNS)[0], 200, "its own pods")
    for method, path, body in (
            ("GET", "/api/v1/namespaces/default/pods", None), ("GET", "/api/v1/pods", None), ("GET", "/api/v1/nodes", None),
            ("POST", "/api/v1/namespaces/default/pods", run_pod("elsewhere", ["true"])),
            ("POST", "/api/v1/namespaces/code-execute/pods", run_pod("elsewhere", ["true"])),
            ("GET", "/api/v1/namespaces/code-execute-runs/secrets", None),
            ("DELETE", RUNS, None), ("PUT", f"{RUNS}/none", run_pod("none", ["true"])),
            ("GET", f"{RUNS}/none/exec?command=id&stdout=true", None), ("GET", f"{RUNS}/none/log", None),
            ("POST", "/api/v1/namespaces/code-execute-runs/serviceaccounts/run/token", {"kind": "TokenRequest"}),
            ("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/code-execute-runs/rolebindings", {"kind": "RoleBinding"})):
        status, answer = gateway.ask(method, path, body)
        tap.equal((status, answer["reason"]), (403, "Forbidden"), f"{method} {path}")
        tap.contains(answer["message"], GATEWAY)
    tap.equal(Server("nonsense").ask("GET", RUNS)[0], 401, "a token of nobody")


def test_a_run_ends_and_has_no_token():
    look = run_pod("token", ["sh", "-c", "! [ -e /var/run/secrets ] && [ $(id -u) = 65534 ]"])
    ended = begin("token", look)
    tap.equal(ended["status"]["phase"], "Succeeded", ended["status"])
    # The positive control: what a pod has that asks for a token.
    asking = run_pod("token", ["sh", "-c", "[ -e /var/run/secrets/kubernetes.io/serviceaccount/token ]"])
    asking["spec"]["automountServiceAccountToken"] = True
    ended = begin("token", asking)
    tap.equal(ended["status"]["phase"], "Succeeded", ended["status"])


def test_a_pod_with_the_account_of_runs_gets_no_token_by_itself():
    pod = run_pod("account", ["sh", "-c", "! [ -e /var/run/secrets ]"], serviceAccountName="run")
    del pod["spec"]["automountServiceAccountToken"]
    ended = begin("account", pod)
    tap.equal((ended["status"]["phase"], ended["spec"].get("volumes", [])), ("Succeeded", []), ended["status"])


def test_a_pod_that_asks_for_more_is_refused():
    def refused(pod, words):
        status, answer = gateway.ask("POST", RUNS, pod)
        tap.equal((status, answer["reason"]), (403, "Forbidden"), answer)
        tap.contains(answer["message"], words)

    def container(**members):
        pod = run_pod("more", ["true"])
        pod["spec"]["containers"][0].update(members)
        return pod

    refused(run_pod("more", ["true"], hostNetwork=True), "violates PodSecurity")
    refused(run_pod("more", ["true"], volumes=[{"name": "root", "hostPath": {"path": "/"}}]), "violates PodSecurity")
    refused(container(securityContext={"privileged": True}), "violates PodSecurity")
    refused(container(securityContext={}), "violates PodSecurity")
    refused(run_pod("more", ["true"], securityContext={}), "violates PodSecurity")
    refused(container(resources={"limits": {"memory": "9Gi"}}), "maximum memory usage per Container is 8Gi")
    refused(container(resources={"requests": {"cpu": "5"}, "limits": {"cpu": "5"}}), "maximum cpu usage per Container is 4")
    status, answer = gateway.ask("POST", RUNS + "?dryRun=All", container())
    tap.equal(status, 201, answer)
    tap.equal(answer["spec"]["containers"][0]["resources"]["limits"], {"cpu": "1", "memory": "512Mi", "ephemeral-storage": "512Mi"},
              "the limits of a pod that names none")


def test_all_pods_together_have_a_quota():
    quota = "/api/v1/namespaces/code-execute-runs/resourcequotas/runs"
    before = administrator.ask("GET", quota)[1]["spec"]["hard"]["pods"]
    change = "application/merge-patch+json"
    administrator.ask("PATCH", quota, {"spec": {"hard": {"pods": "0"}}}, change)
    try:
        tap.eventually(lambda: administrator.ask("GET", quota)[1]["status"]["hard"]["pods"] == "0", "the quota is in force", 60)
        status, answer = gateway.ask("POST", RUNS + "?dryRun=All", run_pod("many", ["true"]))
        tap.equal((status, answer["reason"]), (403, "Forbidden"), answer)
        tap.contains(answer["message"], "exceeded quota: runs")
    finally:
        administrator.ask("PATCH", quota, {"spec": {"hard": {"pods": before}}}, change)


def test_the_network_policy_selects_every_pod():
    """Whether it is kept to depends on the network plugin: that of scripts/with-cluster does not."""
    spec = administrator.ask("GET", "/apis/networking.k8s.io/v1/namespaces/code-execute-runs/networkpolicies/no-network")[1]["spec"]
    tap.equal(spec, {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}, "the policy")


tap.run(globals())
