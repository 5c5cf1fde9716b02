# SPDX-License-Identifier: Apache-2.0
"""Runs in claimed pods of a warm pool, in the cluster of scripts/with-cluster: deploy/kubernetes/agent-sandbox with this build's image, and
a stand-in for agent-sandbox's controller (agent_sandbox.py, which says what it is). By hand: scripts/check-cluster test_claims"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import tap

import agent_sandbox
import kubernetes_mode as mode
from api_server import Server, kubectl
from kubernetes_mode import administrator
from provider import Host, Provider

POOL = "code-execute"
CLAIMS = f"/apis/{agent_sandbox.EXTENSIONS}/v1beta1/namespaces/{mode.NAMESPACE}/sandboxclaims"
TEMPLATES = f"/apis/{agent_sandbox.EXTENSIONS}/v1beta1/namespaces/{mode.NAMESPACE}/sandboxtemplates"
POOLS = f"/apis/{agent_sandbox.EXTENSIONS}/v1beta1/namespaces/{mode.NAMESPACE}/sandboxwarmpools"
EXAMPLE = mode.ROOT / "deploy" / "kubernetes" / "agent-sandbox"
EXAMPLE_IMAGE = "registry.example/code-execute/run@sha256:" + "0f1e2d3c4b5a69788796a5b4c3d2e1f0" * 2
provider = Provider()


def policy(pool=POOL, wall_ms=60000, **more):
    """The limits are the default ones, as in the example's template."""
    return mode.policy(kubernetes={"warm_pool": pool, "service_account": "run"}, limits={"wall_ms": {"default": wall_ms, "max": 300000}},
                       **more)


def run(code, language="sh", host=None, the_policy=None, **more):
    tap.equal(provider.use_policy(the_policy or policy()), 0, "policy")
    return provider.invoke({"language": language, "code": code, **more}, host or Host())[1]


def claims():
    return administrator.ask("GET", CLAIMS)[1]["items"]


def claims_of_runs():
    """A trial's is none."""
    return [claim for claim in claims() if claim["metadata"]["labels"]["code-execute.run"].strip("0")]


def waiting():
    """The pods of the pool that no run has had."""
    return [pod for pod in mode.pods() if "code-execute.run" not in pod["metadata"]["labels"] and agent_sandbox.is_ready(pod)]


def running():
    return [pod for pod in mode.pods() if pod["metadata"]["labels"].get("code-execute.run", "0").strip("0") and
            pod["status"]["phase"] == "Running"]


def none_left(seconds=120):
    tap.eventually(lambda: not claims() and len(mode.pods()) == len(waiting()) == 2, "no claim is left, and the pool is full", seconds)


def refused(output, *words):
    tap.equal((output["status"], output["stdout"]), ("error", ""), output)
    for part in words:
        tap.contains(output["error"]["message"] + output["error"].get("hint", ""), part)


def set_up():
    """As the page says, but for the image, a smaller pool and the stand-in."""
    agent_sandbox.install()
    example = kubectl("kustomize", str(EXAMPLE))
    tap.contains(example, EXAMPLE_IMAGE)
    kubectl("apply", "-f", "-", text=example.replace(EXAMPLE_IMAGE, mode.images()[0]).replace("replicas: 4", "replicas: 2"))


def take_down():
    """Other programs have this cluster next."""
    kubectl("delete", "--ignore-not-found", "-k", str(EXAMPLE))
    agent_sandbox.remove()
    tap.eventually(lambda: not mode.pods(), "no pod is left", 120)


def test_without_the_rights_to_claim_it_is_said_so():
    refused(without_rights, "the gateway's account may not \"create sandboxclaims\"", "deploy/kubernetes/agent-sandbox")


def test_a_cluster_without_agent_sandbox_is_said_so():
    refused(without_claims, "the cluster does not serve SandboxClaims", "install agent-sandbox")


def test_a_run_gets_a_pod_that_has_waited():
    output = run("import sys, os\nprint(sys.stdin.read(), os.getuid(), os.getcwd())\nsys.stderr.write('e')", "python", stdin="in")
    tap.equal((output["status"], output["stdout"], output["stderr"]), ("completed", "in 65534 /home/sandbox\n", "e"), output)
    details = output["isolation"]["details"]
    tap.equal(details["warm_pool"], POOL, details)
    tap.true(re.fullmatch(POOL + "-[0-9a-f]{6}", details["pod"]), "a pod that the pool has named")
    none_left()
    tap.lacks({pod["metadata"]["name"]: pod for pod in waiting()}, details["pod"], "it serves no other run")


def test_a_pod_has_its_deadline_and_its_run_while_it_runs():
    outputs = []
    thread = threading.Thread(target=lambda: outputs.append(run("echo begun; sleep 600", the_policy=policy(wall_ms=20000))))
    thread.start()
    tap.eventually(running, "it runs", 60)
    [pod] = running()
    [claim] = claims_of_runs()
    tap.equal(pod["metadata"]["labels"]["code-execute.run"], claim["metadata"]["labels"]["code-execute.run"], "whose it is")
    tap.true(0 < pod["spec"]["activeDeadlineSeconds"] < 3600, pod["spec"])
    tap.equal(claim["spec"]["lifecycle"]["shutdownPolicy"], "Delete", claim)
    thread.join()
    tap.equal((outputs[0]["timed_out"], outputs[0]["cause"]), (True, "wall_timeout"), outputs)
    none_left()


@contextlib.contextmanager
def pool_with(change):
    """Another one, of one pod, whose template is otherwise."""
    template = administrator.ask("GET", f"{TEMPLATES}/{POOL}")[1]
    spec = template["spec"]["podTemplate"]["spec"]
    change(spec)
    for path, kind, content in ((TEMPLATES, "SandboxTemplate", {"podTemplate": {"spec": spec}}),
                                (POOLS, "SandboxWarmPool", {"replicas": 1, "sandboxTemplateRef": {"name": "other"}})):
        other = {"apiVersion": template["apiVersion"], "kind": kind, "metadata": {"name": "other"}, "spec": content}
        tap.equal(administrator.ask("POST", path, other)[0], 201, path)
    try:
        yield policy("other")
    finally:
        for path in (POOLS, TEMPLATES):
            administrator.ask("DELETE", f"{path}/other")
        none_left()


def test_what_cannot_be_had_is_refused_by_name():
    refused(run("echo run", the_policy=policy("other")), "the warm pool other cannot be used: WarmPoolNotFound", "kubernetes.warm_pool")
    refused(run("x = 41", "python", Host(("sandbox.exec", "sandbox.exec.session")), policy(sessions={"max_total": 2}), session="new"),
            "pods of a warm pool serve no sessions")
    refused(run("echo run", memory_bytes=64 << 20, host=Host(("sandbox.exec", "sandbox.exec.limits.extended"))),
            "is not as this run needs it: spec.containers[0].resources differs", "agent-sandbox")
    administrator.ask("PATCH", f"{POOLS}/{POOL}", {"spec": {"sandboxTemplateRef": {"name": "none"}}}, agent_sandbox.MERGE)
    refused(run("echo run"), "TemplateNotFound")
    administrator.ask("PATCH", f"{POOLS}/{POOL}", {"spec": {"sandboxTemplateRef": {"name": POOL}}}, agent_sandbox.MERGE)
    none_left()


def test_a_template_that_gives_more_is_refused():
    """A host's path the server itself refuses in this namespace; what its standard allows is for the gateway to see."""
    with pool_with(lambda spec: spec.update(automountServiceAccountToken=True)) as the_policy:
        refused(run("echo run", the_policy=the_policy), "a pod of the warm pool other is not as this run needs it: spec.", " differs")
    with pool_with(lambda spec: spec["containers"].append({**spec["containers"][0], "name": "sidecar"})) as the_policy:
        refused(run("echo run", the_policy=the_policy), "spec.containers differs")


def test_the_gateway_may_claim_and_nothing_more():
    token = Server(kubectl("create", "token", "gateway", "--namespace", "code-execute").strip())
    tap.equal(token.ask("GET", CLAIMS)[0], 200, "its own claims")
    for method, path in (("GET", TEMPLATES), ("GET", POOLS), ("DELETE", f"{POOLS}/{POOL}"), ("DELETE", CLAIMS),
                         ("PATCH", f"{CLAIMS}/none")):
        code, answer = token.ask(method, path, {} if method == "PATCH" else None, agent_sandbox.MERGE)
        tap.equal((code, answer["reason"]), (403, "Forbidden"), f"{method} {path}")


GATEWAY = """
import json, sys
sys.path[:0] = ["tests/cluster", "tests/support"]
from provider import Host, Provider
provider = Provider()
assert provider.use_policy(json.loads(sys.argv[1])) == 0
print(json.dumps(provider.invoke({"language": "sh", "code": sys.argv[2]}, Host())[1]))
"""


def gateway(code):
    return subprocess.Popen([sys.executable, "-c", GATEWAY, json.dumps(policy()), code], cwd=mode.ROOT, stdout=subprocess.PIPE, text=True)


def result(process):
    return json.loads(process.communicate()[0].splitlines()[-1])


def test_two_gateways_get_a_pod_each():
    results = [result(process) for process in [gateway("echo first; sleep 1"), gateway("echo second; sleep 1")]]
    tap.equal([one["stdout"] for one in results], ["first\n", "second\n"], results)
    tap.equal(len({one["isolation"]["details"]["pod"] for one in results}), 2, "pods")
    none_left()


def kill_all(process):
    """The gateway and its backend at once: neither removes anything."""
    backends = [int(name) for name in os.listdir("/proc") if name.isdigit() and holds(name, process.pid)]
    tap.equal(len(backends), 1, "its backend")
    for pid in (*backends, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()


def holds(pid, parent):
    try:
        if not os.readlink(f"/proc/{pid}/exe").endswith("/code-execute-kubernetes"):
            return False
        return any(f"\nPid:\t{parent}\n" in pathlib.Path(f"/proc/{pid}/fdinfo/{fd}").read_text()
                   for fd in os.listdir(f"/proc/{pid}/fdinfo"))
    except OSError:
        return False


def test_the_next_gateway_sweeps_the_claim_of_a_killed_one():
    dead = gateway("sleep 600")
    tap.eventually(running, "it runs", 120)
    kill_all(dead)
    tap.equal(len(claims_of_runs()), 1, "what is left")
    tap.equal(result(gateway("true"))["status"], "completed")
    none_left()


def test_without_a_next_gateway_the_claim_ends_by_itself():
    dead = gateway("sleep 600")
    tap.eventually(running, "it runs", 120)
    kill_all(dead)
    tap.eventually(lambda: not running(), "its guest has ended with the connection", 60)
    tap.equal(len(claims_of_runs()), 1, "what is left")
    controller.hurry_s = 61
    none_left()
    controller.hurry_s = 0


without_rights = run("echo run")
kubectl("apply", "-f", str(EXAMPLE / "access.yaml"))
without_claims = run("echo run")
try:
    set_up()
    with agent_sandbox.Controller(mode.NAMESPACE) as controller:
        tap.eventually(lambda: len(waiting()) == 2, "the pool is full", 180)
        tap.run(globals())
finally:
    take_down()
