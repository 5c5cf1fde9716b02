# SPDX-License-Identifier: Apache-2.0
"""Claims of agent-sandbox against a stand-in for it that misbehaves by plan (fake_claims.py): no pod gets a run but the one that the
claim's own sandbox keeps, as it must be, and each other end is told in words that say what to do."""
import contextlib
import datetime

import tap
from fake_claims import FakeClaims, keeper, ready
from fake_server import CONTAINER, put, status
from pod_driver import driver

OWNER = "0123456789abcdef0123456789abcdef"


def at(*changes):
    def change(thing):
        for one in changes:
            one(thing)
    return change


def forbidden(verb, resource):
    return status(403, "Forbidden", f'User "gateway" cannot {verb} resource "{resource}" in API group')


@contextlib.contextmanager
def claiming(**members):
    with FakeClaims() as fake, driver(fake) as running:
        for name, value in members.items():
            setattr(fake, name, value)
        running.order("claim of a pool")
        running.expect("claims")
        yield fake, running


@contextlib.contextmanager
def bound(**members):
    with claiming(**members) as (fake, running):
        running.expect("ready node-1")
        running.order("attach")
        running.expect("attached v5")
        running.order("bind")
        running.expect("claimed")
        yield fake, running


def test_a_claim_from_its_making_to_its_removal():
    with bound() as (fake, running):
        pod = fake.one()
        running.order("send end")
        tap.equal(sorted([running.next(), running.next(), running.next()]), ["closed", "end ", "sent"], "the end")
        fake.terminate(0, "Completed")
        running.expect("ended 0 Completed")
        running.order("remove")
        running.expect("removed")
        tap.equal(fake.claims, {}, "claims")
    claim = fake.seen("POST", "claims")[0][4]
    tap.equal(claim["spec"]["warmPoolRef"], {"name": "warm"}, "its pool")
    latest = datetime.datetime.fromisoformat(claim["spec"]["lifecycle"].pop("shutdownTime").replace("Z", "+00:00"))
    tap.true(550 < (latest - datetime.datetime.now(datetime.timezone.utc)).total_seconds() <= 600, latest)
    tap.equal(claim["spec"]["lifecycle"], {"shutdownPolicy": "Delete", "ttlSecondsAfterFinished": 60}, "its end")
    tap.equal(claim["metadata"]["labels"], {"app.kubernetes.io/managed-by": "code-execute", "code-execute.owner": OWNER,
                                            "code-execute.run": OWNER}, "its labels")
    tap.equal(sorted(claim["metadata"]["annotations"]),
              [f"code-execute.{name}" for name in ("boot", "latest", "pid", "run", "space", "start")])
    tap.equal(fake.seen("GET", "claim watch")[0][3]["fieldSelector"], "metadata.name=" + claim["metadata"]["name"], "its watch")
    order = [f"{request[0]} {request[1]}" for request in fake.requests if request[1] in ("claims", "sandbox", "attach", "pod", "claim")]
    tap.equal(order, ["POST claims", "GET sandbox", "GET pod", "GET attach", "PATCH pod", "DELETE claim"], "in this order")
    tap.equal(pod["metadata"]["labels"]["code-execute.owner"], OWNER, "the pod's label")
    # 100 s before the claim, 2 for what is less than a second and is not known, 60 for the run, 30 as margin.
    tap.true(190 <= pod["spec"]["activeDeadlineSeconds"] <= 200, pod["spec"])


def test_a_pod_that_may_run_still_is_ended_by_its_node():
    with bound() as (fake, running):
        fake.confirms = False
        running.order("kill")
        tap.eventually(lambda: fake.seen("DELETE", "pod"), "its removal")
        tap.equal(fake.claims, {}, "first its claim")
        fake.drop()
        running.expect("removed")
    tap.equal(fake.seen("DELETE", "pod")[0][4]["gracePeriodSeconds"], 1, "the node's answer is waited for")


REFUSED = {
    "metadata.labels.code-execute.run": put(("metadata", "labels"), **{"code-execute.run": "another"}),
    "spec.automountServiceAccountToken": put(("spec",), automountServiceAccountToken=True),
    "spec.terminationGracePeriodSeconds": put(("spec",), terminationGracePeriodSeconds=0),
    "spec.activeDeadlineSeconds": put(("spec",), activeDeadlineSeconds=30),
    "spec.restartPolicy": put(("spec",), restartPolicy="Always"),
    "spec.dnsConfig": put(("spec",), dnsConfig={"nameservers": ["8.8.8.8"]}),
    "spec.hostNetwork": put(("spec",), hostNetwork=True),
    "spec.hostPID": put(("spec",), hostPID=True),
    "spec.runtimeClassName": put(("spec",), runtimeClassName="runc"),
    "spec.serviceAccountName": put(("spec",), serviceAccountName="admin"),
    "spec.securityContext": put(("spec",), securityContext={}),
    "spec.initContainers": put(("spec",), initContainers=[{"name": "fetch"}]),
    "spec.ephemeralContainers": put(("spec",), ephemeralContainers=[{"name": "debugger"}]),
    "spec.containers differs": lambda pod: pod["spec"]["containers"].append({"name": "sidecar"}),
    "spec.volumes": at(lambda pod: pod["spec"]["volumes"].append({"name": "host", "hostPath": {"path": "/"}})),
    "spec.volumes ": put(("spec", "volumes", 1, "emptyDir"), medium=""),
    "spec.volumes  ": put(("spec", "volumes", 1, "emptyDir"), sizeLimit="2Mi"),
    "spec.volumes   ": put(("spec", "volumes", 0, "emptyDir"), sizeLimit="1000k"),
    "spec.containers[0].image": put(CONTAINER, image="registry.example/run:1"),
    "spec.containers[0].command": put(CONTAINER, command=["sleep", "1"]),
    "spec.containers[0].securityContext": put(CONTAINER, securityContext={"privileged": True}),
    "spec.containers[0].env": put(CONTAINER, env=[{"name": "LD_PRELOAD", "value": "/x.so"}]),
    "spec.containers[0].stdinOnce": put(CONTAINER, stdinOnce=False),
    "spec.containers[0].lifecycle": put(CONTAINER, lifecycle={"postStart": {"exec": {"command": ["sh"]}}}),
    "spec.containers[0].volumeMounts": lambda pod: pod["spec"]["containers"][0]["volumeMounts"].append(
        {"name": "tmp", "mountPath": "/etc"}),
    "spec.containers[0].resources": put((*CONTAINER, "resources", "limits"), memory="256Mi"),
    "spec.containers[0].resources ": put((*CONTAINER, "resources", "limits"), **{"example.com/gpu": "1"}),
    "spec.containers[0].resources  ": lambda pod: pod["spec"]["containers"][0]["resources"]["limits"].pop("cpu"),
    "spec.containers[0].resources   ": put((*CONTAINER, "resources"), claims=[{"name": "device"}]),
}


def test_a_pod_that_is_not_fit_is_refused_by_the_member():
    for field, change in REFUSED.items():
        with claiming(template=change) as (fake, running):
            running.fails("failed sandbox_unavailable", "a pod of the warm pool warm is not as this run needs it: ", field.strip(),
                          "deploy/kubernetes/agent-sandbox")
            running.order("remove")
            running.expect("removed")
            tap.equal((fake.claims, fake.seen("GET", "attach"), fake.seen("PATCH", "pod")), ({}, [], []), "left, and sent")


def test_what_cannot_weaken_the_isolation_is_the_operators():
    change = at(put(("spec",), nodeSelector={"runs": "yes"}, imagePullSecrets=[{"name": "registry"}], priorityClassName="low"),
                put(("spec", "volumes", 0, "emptyDir"), sizeLimit="64Mi"), put(("metadata", "labels"), team="a"),
                put((*CONTAINER, "resources", "limits"), cpu="500m", memory="256000k"))
    with bound(template=change):
        pass


def test_a_pod_that_is_changed_afterwards_ends_its_run():
    with bound() as (fake, running):
        fake.change(put(CONTAINER, image="registry.example/other@sha256:2"))
        running.fails("failed sandbox_unavailable", "spec.containers[0].image differs")


def test_a_pod_that_another_takes_ends_its_run():
    with bound() as (fake, running):
        fake.change(put(("metadata", "labels"), **{"code-execute.run": "another"}))
        running.fails("failed sandbox_unavailable", "metadata.labels.code-execute.run differs")


def test_a_pod_in_the_place_of_the_one_that_was_read_gets_no_run():
    """Its sandbox makes it anew under the same name, between the look at it and the attach."""
    with claiming() as (fake, running):
        running.expect("ready node-1")
        fake.one()["metadata"]["uid"] = "uid-other"
        running.order("attach")
        running.expect("attached v5")
        running.order("bind")
        running.fails("failed backend_failed", "the pod warm-1 is already taken")


def test_a_sandbox_of_another_claim_is_refused():
    extensions = "extensions.agents.x-k8s.io"
    for owner in (keeper("SandboxClaim", extensions, "uid-other"), keeper("SandboxWarmPool", extensions, "uid-claim"),
                  keeper("SandboxClaim", "example.com", "uid-claim"), []):
        def sandbox(_handler, owner=owner):
            return 200, {"metadata": {"name": "warm-1", "uid": "uid-sandbox", "ownerReferences": owner}}
        with claiming(plan={("GET", "sandbox"): [sandbox]}) as (_, running):
            running.fails("failed backend_failed", "the sandbox warm-1 that the claim names is not that claim's")


def test_a_pod_of_another_sandbox_is_refused():
    change = put(("metadata",), ownerReferences=keeper("Sandbox", "agents.x-k8s.io", "uid-other"))
    with claiming(template=change) as (_, running):
        running.fails("failed backend_failed", "the pod warm-1 is not that of the claim's sandbox")


def test_a_pod_that_does_not_run_yet_is_waited_for():
    """agent-sandbox has bound claims to such pods (kubernetes-sigs/agent-sandbox#519)."""
    with claiming(template=put(("status",), containerStatuses=[])) as (fake, running):
        tap.eventually(lambda: len(fake.seen("GET", "pod")) > 1, "looks")
        running.order("explain")
        running.fails("waits backend_unavailable", "has a sandbox whose pod does not run")
        fake.one()["status"]["containerStatuses"] = [{"name": "run", "state": {"running": {}}}]
        running.expect("ready node-1")


def test_a_pod_that_cannot_run_is_said_so():
    state = {"waiting": {"reason": "CreateContainerError", "message": "no such file"}}
    with claiming(template=put(("status",), containerStatuses=[{"name": "run", "state": state}])) as (_, running):
        running.fails("failed backend_unavailable", "the claim's pod does not run: CreateContainerError: no such file")


def test_a_claim_that_gets_no_pod_says_why():
    with claiming(binds=False) as (fake, running):
        tap.eventually(lambda: fake.claim_watchers, "the watch")
        running.order("explain")
        running.fails("waits backend_unavailable", "no controller has answered the claim of the warm pool warm", "controller runs")
        for reason in ("SandboxNotReady", "AdoptionConflict", "ReconcilerError"):
            fake.say(ready("False", reason, "a word"))
        fake.say(ready("False", "DependenciesNotReady", "Pod is Pending"), sandbox={"name": "warm-1"})

        def says():
            running.order("explain")
            return "DependenciesNotReady: Pod is Pending" in running.next()
        tap.eventually(says, "its reason")
        fake.bind()
        running.expect("ready node-1")


def test_a_claim_that_is_refused_ends_at_once():
    for reason, words in (("WarmPoolNotFound", "deploy/kubernetes/agent-sandbox"), ("TemplateNotFound", "kubernetes.warm_pool"),
                          ("ClaimExpired", "controller runs"), ("InvalidMetadata", "controller runs")):
        with claiming(binds=False) as (fake, running):
            tap.eventually(lambda fake=fake: fake.claims, "the claim")
            fake.say(ready("False", reason, "a word"))
            running.fails("failed backend_unavailable", f"{reason}: a word", words)


def test_a_claim_that_comes_back_otherwise_is_refused():
    for field, change in (("spec.lifecycle", lambda claim: claim["spec"].pop("lifecycle")),
                          ("spec.lifecycle", put(("spec", "lifecycle"), shutdownPolicy="Retain")),
                          ("spec.warmPoolRef", put(("spec",), warmPoolRef={"name": "other"})),
                          ("spec.env", put(("spec",), env=[{"name": "A", "value": "b"}]))):
        with claiming(binds=False, mutate=change) as (_, running):
            running.fails("failed sandbox_unavailable", "the claim that the cluster made is not ", f"requested: {field} differs")


def test_a_claim_that_somebody_deletes_is_lost():
    with claiming(binds=False) as (fake, running):
        tap.eventually(lambda: fake.claim_watchers, "the watch")
        claim = fake.claims.pop(fake.claim()["metadata"]["name"])
        fake.tell_claim(claim, "DELETED")
        running.fails("failed backend_failed", "was deleted from outside")


def test_a_watch_that_breaks_is_begun_anew():
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}}
    for broken in (b"{ no line\n", gone, {"type": "MODIFIED", "object": {}}):
        with claiming(binds=False) as (fake, running):
            tap.eventually(lambda fake=fake: fake.claim_watchers, "the watch")
            fake.claim_watchers.pop().put(broken)
            fake.bind()  # nobody hears of it by that watch
            running.expect("ready node-1")
            tap.equal(len(fake.seen("GET", "claim")), 1, "looks")


def test_watches_that_are_refused_or_fail():
    with claiming(plan={("GET", "claim watch"): [lambda _: forbidden("watch", "sandboxclaims")]}, binds=False) as (_, running):
        running.fails("failed backend_unavailable", 'may not "watch sandboxclaims"', "deploy/kubernetes/agent-sandbox")
    failing = [lambda _: status(500, "InternalError", "etcd")] * 2
    with claiming(plan={("GET", "claim watch"): failing[:], ("GET", "claim"): failing[:]}) as (_, running):
        running.expect("ready node-1")


def test_an_answer_that_was_lost_is_asked_for():
    def lose(handler):
        fake.post_claims(None, None, None, fake.requests[-1][4])
        handler.close_connection = True
        return status(409, "AlreadyExists", "it is there")
    with FakeClaims() as fake, driver(fake) as running:
        fake.plan = {("POST", "claims"): [lose]}
        running.order("claim of a pool")
        running.expect("claims", "ready node-1")
        tap.equal(len(fake.seen("GET", "claim")), 1, "looks")


def test_a_cluster_without_agent_sandbox_is_said_so():
    for answer in ((404, b"404 page not found\n"), status(404, "NotFound", "the server could not find the requested resource")):
        with claiming(plan={("POST", "claims"): [lambda _, answer=answer: answer]}) as (_, running):
            running.fails("failed backend_unavailable", "does not serve SandboxClaims (extensions.agents.x-k8s.io/v1beta1)",
                          "install agent-sandbox")
    with claiming(plan={("POST", "claims"): [lambda _: status(404, "NotFound", 'namespaces "runs" not found')]}) as (_, running):
        running.fails("failed backend_unavailable", 'namespaces "runs" not found', "kubernetes.namespace")
    with claiming(plan={("POST", "claims"): [lambda _: forbidden("create", "sandboxclaims")]}) as (_, running):
        running.fails("failed backend_unavailable", 'may not "create sandboxclaims"', "deploy/kubernetes/agent-sandbox")


def test_a_conflict_with_the_quota_is_no_claim_that_is_there():
    conflict = status(409, "Conflict", 'Operation cannot be fulfilled on resourcequotas "runs": the object has been modified')
    with claiming(plan={("POST", "claims"): [lambda _: conflict] * 2}) as (fake, running):
        running.expect("ready node-1")
        tap.equal((len(fake.seen("POST", "claims")), fake.seen("GET", "claim")), (3, []), "requests")


def test_a_claim_that_was_not_made_is_not_removed():
    for answer, deletions in ((forbidden("create", "sandboxclaims"), 0), (status(500, "InternalError", "etcd"), 1)):
        with claiming(plan={("POST", "claims"): [lambda _, answer=answer: answer]}) as (fake, running):
            running.fails("failed backend_")
            running.order("kill")
            running.expect("removed")
            tap.equal(len(fake.seen("DELETE", "claim")), deletions, answer)


def test_answers_of_other_things_are_none():
    other = {"metadata": {"name": "other", "uid": "u", "resourceVersion": "1"}}
    for method, kind, answer, words in (
            ("GET", "sandbox", forbidden("get", "sandboxes"), "get sandboxes"), ("GET", "sandbox", (200, b"[]"), "not a JSON object"),
            ("GET", "pod", (200, other), "is not that pod"), ("POST", "claims", (201, other), "is not that claim")):
        with claiming(plan={(method, kind): [lambda _, answer=answer: answer]}) as (_, running):
            running.fails("failed backend_", words)


def test_a_claim_is_removed_at_any_step():
    def slowly(_handler):
        tap.eventually(lambda: removed, "the order to remove it")

    removed = []
    with claiming(plan={("POST", "claims"): [slowly]}, binds=False) as (fake, running):
        running.order("remove")
        removed.append(True)
        running.expect("removed")
        tap.equal((fake.claims, len(fake.seen("DELETE", "claim"))), ({}, 1), "removed by the answer")
    with claiming(binds=False) as (fake, running):
        tap.eventually(lambda: fake.claim_watchers, "the watch")
        running.order("kill")
        running.expect("removed")
        tap.equal(fake.claims, {}, "claims")


def test_a_removal_that_is_refused_is_told_and_the_pod_is_ended_all_the_same():
    with bound() as (fake, running):
        fake.plan = {("DELETE", "claim"): [lambda _: forbidden("delete", "sandboxclaims")]}
        running.order("kill")
        running.fails("not removed", 'may not "delete sandboxclaims"')
        tap.equal(len(fake.seen("DELETE", "pod")), 1, "its pod")


def test_claims_of_dead_gateways_are_swept():
    with FakeClaims() as fake, driver(fake) as running:
        old = {f"code-execute.{name}": value for name, value in
               (("boot", "b"), ("space", "s"), ("pid", "1"), ("start", "1"), ("latest", "1000"))}
        for name, marks in (("old", old), ("young", {**old, "code-execute.latest": "99999999999"}), ("foreign", {})):
            fake.claims[name] = {"metadata": {"name": name, "uid": name, "resourceVersion": "5", "annotations": marks}}
        running.order("sweep claims")
        running.expect("swept 1 0")
        tap.equal(sorted(fake.claims), ["foreign", "young"], "what is left")
        tap.equal(fake.seen("GET", "claims")[0][3]["labelSelector"], "app.kubernetes.io/managed-by=code-execute", "whose claims")


tap.run(globals())
