# SPDX-License-Identifier: Apache-2.0
"""Whether pods have a network, as their guests have tried it: what a report is taken for, which runs are tried, and what becomes of the pod
that is tried. The guests are scripts; tests/cluster has real ones."""
import tap
from fake_server import status
from scripted_pods import CLOSED, PATIENCE, TRIES, Call, Pod, ScriptedPods, call, gateway, provider

QUOTA = status(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: runs')
REQUIRED = {"require": ["network_namespace"]}


def network_of(output):
    isolation = output["isolation"]
    return "network_namespace" in isolation["applied"], isolation["details"]["network_tried"], isolation["details"]["network_reason"]


def tried(fake):
    return [pod.peer for pod in fake.served if pod.peer is not None]


def test_a_network_that_is_closed_is_a_layer():
    with ScriptedPods() as fake, gateway(fake, **REQUIRED):
        for _ in range(3):
            output = call()
            tap.equal((output["status"], output["stdout"]), ("completed", "honest\n"), output)
            tap.equal(network_of(output), (True, "closed", None), output["isolation"])
        tap.equal(len(tried(fake)), 1, "the trial alone: its verdict holds for the node")
        made = [body for _, _, _, _, body, _ in fake.seen("POST", "pods")]
        peers = [body for body in made if body["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "50m"]
        tap.equal(len(peers), 1, "other pods")
        tap.eventually(lambda: not fake.used(), "no pod is left of a run", PATIENCE)
        tap.true(tried(fake)[0].startswith("10.0.0."), tried(fake))
        run = next(body for body in made if body not in peers)
        for member in ("securityContext", "volumes", "automountServiceAccountToken", "dnsPolicy"):
            tap.equal(peers[0]["spec"].get(member), run["spec"].get(member), f"{member}: it is as the pods of runs are")


def test_a_network_that_answers_refuses_the_run_before_it_begins():
    """The control is above. Each target by itself, by a connection or by a refusal of it."""
    for target in TRIES:
        for outcome in ("connected", "111"):
            with ScriptedPods() as fake:
                fake.tries = lambda pod, target=target, outcome=outcome: CLOSED | {target: outcome}
                with gateway(fake, **REQUIRED):
                    output = call()
                    tap.equal((output["status"], output["stdout"]), ("error", ""), output)
                    tap.equal(output["error"]["code"], "sandbox_unavailable", output)
                    tap.contains(output["error"]["message"], "network_namespace")
                    tap.contains(output["error"]["message"], f"{target} answered")
                    tap.contains(output["error"]["hint"], "deploy/kubernetes/network.yaml")
                    tap.equal(fake.programs(), [], "no run has begun")


def test_without_the_requirement_it_is_told_as_missing():
    with ScriptedPods() as fake:
        fake.tries = lambda pod: CLOSED | {"pod": "connected"}
        with gateway(fake):
            output = call()
            tap.equal((output["status"], network_of(output)), ("completed", (False, "open", "pod answered")), output)
            [backend] = [row for row in provider.status()[1]["backends"] if row["name"] == "kubernetes"]
            [layer] = [row for row in backend["layers"] if row["name"] == "network_namespace"]
            tap.equal((layer["state"], layer["detail"]), ("missing", "tried from inside of a pod: open, pod answered"), "what doctor shows")
            cluster = backend["cluster"]
            tap.equal((cluster["network_tried"], cluster["network_reason"]), ("open", "pod answered"), cluster)


WORTHLESS = {
    "nothing was reached, and nothing can be": (CLOSED | {"control": "111"}, "open"),
    "a filter": (dict.fromkeys(CLOSED, "97"), "not tried"),
    "no listener": (dict.fromkeys(TRIES, "timeout"), "cannot connect at all"),
    "one is missing": ({name: CLOSED[name] for name in CLOSED if name != "api-server"}, "api-server was not tried"),
    "an empty report": ({}, "was not tried"),
    "no report": (None, "not tried"),
    "an outcome that is none": (CLOSED | {"pod": "perhaps"}, "pod was not tried"),
    "a line twice": ({**CLOSED, "pod timeout\npod": "timeout"}, "pod was not tried"),
}


def test_a_report_that_proves_nothing_gives_no_layer():
    for name, (outcomes, why) in WORTHLESS.items():
        with ScriptedPods() as fake:
            fake.tries = lambda pod, outcomes=outcomes: outcomes
            with gateway(fake, **REQUIRED):
                output = call()
                tap.equal((output["status"], fake.programs()), ("error", []), f"{name}: {output}")
                tap.contains(output["error"]["message"], "" if why == "open" else why, name)


def test_a_report_that_nobody_has_asked_for_ends_the_run():
    """A guest that would claim the layer by itself; the control is that an honest one runs."""
    def unasked(pod):
        if pod.peer is None:
            pod.say("network", "".join(f"{name} {outcome}\n" for name, outcome in CLOSED.items()).encode())
        Pod.report(pod)
    with ScriptedPods() as fake:
        fake.tries = lambda pod: CLOSED | {"pod": "connected"}
        with gateway(fake):
            tap.equal(call()["status"], "completed", "control")
            fake.before = unasked
            output = call()
            tap.equal((output["status"], output["error"]["code"]), ("error", "backend_failed"), output)
            tap.contains(output["error"]["message"], "does not speak as it should")


def test_without_another_pod_nothing_is_proven():
    """Quota lets no second pod be made; the one that is tried ends meanwhile."""
    with ScriptedPods() as fake:
        fake.plan["POST", "pods"] = [lambda handler: None, lambda handler: QUOTA]
        with gateway(fake, **REQUIRED):
            output = call()
            tap.equal((output["status"], fake.programs()), ("error", []), output)
            tap.contains(output["error"]["message"], "no other pod to try")
            tap.contains(output["error"]["message"], "exceeded quota")
        tap.eventually(lambda: not fake.used(), "no pod is left of a run", PATIENCE)

    def end_peer(pod):
        with fake.lock:
            name = next(name for name, found in fake.pods.items() if found["status"].get("podIP") == pod.peer)
            fake.tell("DELETED", fake.pods.pop(name))
        # The word of its end comes on another connection than the report: the report waits for what follows from that word.
        tap.eventually(lambda: len(fake.told_ends()) > 0, "the end is told", PATIENCE)
        return CLOSED
    with ScriptedPods() as fake:
        fake.told_ends = lambda: [event for _, event in fake.history if event["type"] == "DELETED"]
        fake.tries = end_peer
        fake.before = honest_after_watch
        with gateway(fake, **REQUIRED):
            output = call()
            tap.equal((output["status"], fake.programs()), ("error", []), output)
            tap.contains(output["error"]["message"], "has ended")


class WithoutPeers(ScriptedPods):
    """Its quota has no room for another pod to try."""

    def post_pods(self, handler, name, query, body):
        if body["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "50m":
            return QUOTA
        return super().post_pods(handler, name, query, body)


def test_without_another_pod_a_run_that_does_not_require_the_layer_is_told_why():
    """As is who asks for the status, which tries anew."""
    with WithoutPeers() as fake:
        with gateway(fake):
            output = call()
            applied, proof, why = network_of(output)
            tap.equal((output["status"], applied, proof), ("completed", False, "not_proven"), output)
            [backend] = [row for row in provider.status()[1]["backends"] if row["name"] == "kubernetes"]
            [layer] = [row for row in backend["layers"] if row["name"] == "network_namespace"]
            tap.equal((layer["state"], backend["cluster"]["network_tried"]), ("missing", "not_proven"), backend)
            tap.contains(layer["detail"], "not_proven, no other pod to try: the API server refused")
            tap.contains(backend["cluster"]["network_reason"], "no other pod to try: the API server refused")
            tap.equal((why, tried(fake)), ("not tried", []), "the run itself is not tried, and no trial had another pod")


def honest_after_watch(pod):
    """The report, once the backend has begun another watch: so it has read all of the one before."""
    fake = pod.fake
    outcomes = fake.tries(pod) if pod.peer is not None else None
    if outcomes is not None:
        seen = len(fake.seen("GET", "watch"))
        fake.end_watches()
        tap.eventually(lambda: len(fake.seen("GET", "watch")) > seen, "another watch", PATIENCE)
    fake.tries, tries = (lambda _: outcomes), fake.tries
    Pod.report(pod)
    fake.tries = tries


def test_runs_that_wait_for_a_verdict_share_the_other_pod():
    """The trial's holds for its node alone. While one tries, the next use the pod that is there."""
    with ScriptedPods() as fake, gateway(fake, **REQUIRED):
        tap.equal(call()["status"], "completed", "control: one try, on the first node")
        fake.node = "node-2"

        def together(_):
            tap.eventually(lambda: len(tried(fake)) == 4, "all three", PATIENCE)
            return CLOSED
        fake.tries = together
        calls = [Call() for _ in range(3)]
        for running in calls:
            output = running.end()
            tap.equal((output["status"], network_of(output)), ("completed", (True, "closed", None)), output)
        tap.equal(len(set(tried(fake))), 2, "other pods: one a node")
        tap.equal((call()["status"], len(tried(fake))), ("completed", 4), "a verdict holds for the next run")
        tap.eventually(lambda: not fake.used(), "no pod is left of a run", PATIENCE)


def test_pods_that_wait_are_tried_where_the_layer_is_required():
    """By their own guests: the run that claims one is on a node of which nothing else is known."""
    with ScriptedPods() as fake, gateway(fake, pools={"kubernetes": {"ready": 1}}, **REQUIRED):
        tap.equal(call()["status"], "completed", "control")
        tap.eventually(lambda: len([pod for pod in fake.served if pod.told is None]) > 0, "one waits", PATIENCE)
        fake.node = "node-2"
        for _ in range(3):
            output = call()
            tap.equal((output["status"], network_of(output)), ("completed", (True, "closed", None)), output)
        tap.true(len(tried(fake)) >= 2, "the trial's, and one on the other node")
    tap.eventually(lambda: not fake.pods, "no pod is left", PATIENCE)


def test_a_run_without_the_requirement_on_another_node_is_not_tried():
    with ScriptedPods() as fake, gateway(fake):
        tap.equal(network_of(call()), (True, "closed", None), "control")
        fake.node = "node-2"
        output = call()
        tap.equal((output["status"], network_of(output)), ("completed", (False, "not_proven", "not tried")), output["isolation"])
        tap.equal(len(tried(fake)), 1, "tries")


tap.run(globals())
