# SPDX-License-Identifier: Apache-2.0
"""Pods that wait for a run, in a cluster by plan: each is claimed before it gets anything of a run, serves one, and gives way to runs; a
claim that is not granted in full costs the pod and not the run."""
import copy
import json
import pathlib
import subprocess
import sys
import threading
import time

import tap
from fake_pods import LABEL_RUN, LABEL_STATE, FakePods, says_yes
from fake_server import frame, status
from provider import OK, Host
from scripted_pods import IMAGE, LIMITS, provider

REQUEST = {"language": "sh", "code": "echo yes"}
SMALL = {**REQUEST, "memory_bytes": 128 << 20}  # whose pod is another one
RIGHTS = ("sandbox.exec", "sandbox.exec.limits.extended", "sandbox.exec.env")
QUOTA = status(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: runs, requested: pods=1, used: pods=1, limited: pods=1')
PATIENCE = 60
SLOW_CLAIM_S = 4.5  # more than CLAIM_SLOW_US of kubernetes_pool.c
GATEWAY = """
import json, sys
sys.path.insert(0, "../support")
from provider import Host, Provider
provider = Provider()
provider.use_policy(json.loads(sys.argv[1]))
print(provider.invoke(json.loads(sys.argv[2]), Host(("sandbox.exec", "sandbox.exec.limits.extended")))[1]["status"])
provider.reset()
"""


class Cluster(FakePods):
    """A failed case must not leave a backend to the next one."""

    def __exit__(self, *arguments):
        provider.reset()
        super().__exit__(*arguments)


def policy(cluster, ready=1, idle_ms=60000, **more):
    return {"modes": {"default": "kubernetes", "allowed": ["kubernetes"]}, "approval": {"default": "allow"},
            "kubernetes": {"kubeconfig": str(cluster.kubeconfig), "images": {"sh": IMAGE, "python": IMAGE}},
            "pools": {"kubernetes": {"ready": ready, "idle_ms": idle_ms}}, **more}


def keep(cluster, **arguments):
    tap.equal(provider.use_policy(policy(cluster, **arguments)), OK, "policy")


def completes(request=REQUEST):
    output = provider.invoke(request, Host(RIGHTS))[1]
    tap.equal((output["status"], output["stdout"]), ("completed", "yes\n"), output["error"])
    return output


def ready_pods():
    return sum(row["ready"] for row in provider.pool("kubernetes")[1].values())


def await_ready(cluster, count=1):
    tap.eventually(lambda: ready_pods() == count and len(cluster.waiting()) == count, f"{count} wait: {cluster.waiting()}", PATIENCE)


def begin(cluster, count=1, **arguments):
    """Waits until a pod is ready. Its name, or their names."""
    keep(cluster, ready=count, **arguments)
    completes()
    await_ready(cluster, count)
    return cluster.waiting()[0] if count == 1 else cluster.waiting()


def end(cluster):
    """No pod is left when the backend has ended."""
    provider.reset()
    tap.equal(cluster.pods, {}, "pods left")


def served_by(cluster):
    return cluster.messages[-1][0]


def check_order(cluster):
    """Nothing of a run comes to a pod that waited before the answer to its claim is given."""
    claimed = {path for method, kind, path, *_ in cluster.requests if (method, kind) == ("PATCH", "pod")}
    for name in (path.rpartition("/")[2] for path in claimed):
        events = [event for event, of in cluster.log if of == name]
        tap.true("heard" not in events or events.index("claim") < events.index("heard"), f"{name}: {events}")


def test_one_is_made_ahead_claimed_and_used_once():
    with Cluster() as cluster:
        name = begin(cluster)
        waits = copy.deepcopy(cluster.pods[name])
        tap.equal((waits["metadata"]["labels"][LABEL_STATE], waits["metadata"]["labels"][LABEL_RUN]), ("idle", "waiting"))
        tap.true(3600 < waits["spec"]["activeDeadlineSeconds"] < 3 * 3600, f"it ends by itself: {waits['spec']['activeDeadlineSeconds']}")
        output = completes()
        tap.equal((served_by(cluster), output["isolation"]["details"]["pod"]), (name, name), "who served")
        patch = cluster.seen("PATCH", "pod")[0][4]
        tap.equal([step["op"] for step in patch[:2]], ["test", "test"], patch)
        deadline = patch[-1]["value"]
        tap.true(10 + 30 <= deadline < 120, f"age, the run's time and a margin: {deadline}")
        tap.equal(output["run_id"], [step["value"] for step in patch if step["path"].endswith("labels/" + LABEL_RUN)][0])
        check_order(cluster)
        await_ready(cluster)
        completes()
        tap.true(served_by(cluster) != name, "another one")
        end(cluster)


def test_nothing_of_a_run_is_in_its_configuration():
    with Cluster() as cluster:
        begin(cluster)
        completes({**REQUEST, "env": {"A": "canary"}})
        tap.true(b"A=canary" in cluster.messages[-1][1]["environment"], "it was sent to the guest")
        bodies = [json.dumps(request[4]) for request in cluster.requests if request[0] in ("POST", "PATCH")]
        tap.true(all("canary" not in body for body in bodies), "it is in no request to the API server")
        end(cluster)


def test_a_message_waits_for_the_answer_to_the_claim():
    with Cluster() as cluster:
        name = begin(cluster)
        asked, go_on = threading.Event(), threading.Event()

        def wait(_handler):
            asked.set()
            go_on.wait(PATIENCE)
        cluster.plan["PATCH", "pod"] = [wait]
        outputs = []
        thread = threading.Thread(target=lambda: outputs.append(completes()))
        thread.start()
        tap.true(asked.wait(PATIENCE), "the claim")
        time.sleep(0.5)  # anything that were sent would be there by now
        tap.equal([event for event in cluster.log if event[1] == name], [], "nothing is sent")
        go_on.set()
        thread.join()
        tap.equal((len(outputs), served_by(cluster)), (1, name))
        check_order(cluster)
        end(cluster)


def granted(cluster, change):
    """A claim that is granted, and whose answer is another."""
    def answer(handler):
        name = handler.path.rpartition("/")[2]
        code, pod = cluster.patch_pod(handler, name, {}, cluster.seen("PATCH", "pod")[-1][4])
        change(pod)
        return code, pod
    return answer


REFUSALS = {
    "taken": lambda cluster: lambda handler: status(422, "Invalid", "the server rejected our request due to an error in our request", details={}),
    "conflict": lambda cluster: lambda handler: status(409, "Conflict", "the object has been modified"),
    "gone": lambda cluster: lambda handler: status(404, "NotFound", "pods not found"),
    "invalid": lambda cluster: lambda handler: status(422, "Invalid", "activeDeadlineSeconds must be less", details={"causes": []}),
    "forbidden": lambda cluster: lambda handler: status(403, "Forbidden", 'User "x" cannot patch resource "pods"'),
    "broken": lambda cluster: lambda handler: (200, b"<html>"),
    "failed": lambda cluster: lambda handler: status(500, "", "etcdserver: request timed out"),
    "another pod": lambda cluster: granted(cluster, lambda pod: pod["metadata"].update(name="other")),
    "another uid": lambda cluster: granted(cluster, lambda pod: pod["metadata"].update(uid="other")),
    "not taken": lambda cluster: granted(cluster, lambda pod: pod["metadata"]["labels"].update({LABEL_STATE: "idle"})),
    "another run": lambda cluster: granted(cluster, lambda pod: pod["metadata"]["labels"].update({LABEL_RUN: "0" * 32})),
    "a container more": lambda cluster: granted(cluster, lambda pod: pod["spec"]["containers"].append({"name": "sidecar"})),
    "a debugger": lambda cluster: granted(cluster, lambda pod: pod["spec"].update(ephemeralContainers=[{"name": "debugger"}])),
    "another image": lambda cluster: granted(cluster, lambda pod: pod["spec"]["containers"][0].update(image="other@sha256:1")),
    "a longer life": lambda cluster: granted(cluster, lambda pod: pod["spec"].update(activeDeadlineSeconds=99999)),
    "ending": lambda cluster: granted(cluster, lambda pod: pod["metadata"].update(deletionTimestamp="now")),
    "ended": lambda cluster: granted(cluster, lambda pod: pod["status"].update(phase="Failed", containerStatuses=[])),
}


def test_a_claim_that_is_not_granted_in_full_costs_the_pod_and_not_the_run():
    for what, refusal in REFUSALS.items():
        with Cluster() as cluster:
            name = begin(cluster)
            cluster.plan["PATCH", "pod"] = [refusal(cluster)]
            output = completes()
            tap.true(served_by(cluster) != name, f"{what}: another one served")
            tap.true(("heard", name) not in cluster.log, f"{what}: it got nothing of a run")
            tap.equal(output["isolation"]["details"]["pod"], served_by(cluster), what)
            tap.eventually(lambda cluster=cluster, name=name: name not in cluster.pods, f"{what}: it is removed", PATIENCE)
            end(cluster)


def test_a_pod_that_is_claimed_before_its_creation_is_answered_is_removed():
    """The watch tells of a pod as soon as it is there."""
    for refusals in ((), (REFUSALS["conflict"],)):
        with Cluster() as cluster:
            late = threading.Event()

            def slow(handler, cluster=cluster, late=late):
                answer = cluster.post_pods(handler, "", {}, cluster.seen("POST", "pods")[-1][4])
                late.wait(PATIENCE * 2)
                return answer
            cluster.plan["POST", "pods"] = [lambda handler: None] * 3 + [slow]  # behind a trial, the pod that it tries, and a run
            name = begin(cluster)
            cluster.plan["PATCH", "pod"] = [refusal(cluster) for refusal in refusals]
            completes()
            tap.equal(served_by(cluster) == name, not refusals, "it served")
            tap.eventually(lambda cluster=cluster, name=name: name not in cluster.pods, "it is removed", PATIENCE)
            late.set()
            end(cluster)


def test_a_claim_without_an_answer_is_given_up():
    """And the next run does not wait for one."""
    with Cluster() as cluster:
        names = begin(cluster, count=2)
        cluster.plan["PATCH", "pod"] = [lambda handler: handler.rfile.read(1) and None]  # until the client goes
        for _ in range(2):
            completes()
            tap.true(served_by(cluster) not in names, "a cold one served")
        tap.true(not {("heard", name) for name in names} & set(cluster.log), "they got nothing")
        tap.equal(len(cluster.seen("PATCH", "pod")), 1, "claims")
        end(cluster)


def test_what_is_slow_behind_a_granted_claim_is_no_slow_claim():
    """The guest ends after a while without having begun: the run goes on in the next pod that waits."""
    with Cluster() as cluster:
        names = begin(cluster, count=2)

        def ends_unbegun(pod):
            cluster.program = says_yes
            time.sleep(SLOW_CLAIM_S)
            pod.cut()
        cluster.program = ends_unbegun
        completes()
        claims = [request[2].rpartition("/")[2] for request in cluster.seen("PATCH", "pod")]
        tap.equal((sorted(claims), served_by(cluster)), (sorted(names), claims[-1]), "both were claimed")
        end(cluster)


def test_a_run_whose_claim_is_refused_takes_another_that_waits():
    with Cluster() as cluster:
        names = begin(cluster, count=2)
        cluster.plan["PATCH", "pod"] = [REFUSALS["taken"](cluster)]
        completes()
        claims = [request[2].rpartition("/")[2] for request in cluster.seen("PATCH", "pod")]
        tap.equal((sorted(claims), served_by(cluster)), (sorted(names), claims[1]), "one after the other")
        tap.true(("heard", claims[0]) not in cluster.log, "the first got nothing")
        end(cluster)


def test_where_claims_are_refused_no_pod_waits():
    with Cluster() as cluster:
        begin(cluster, count=2)
        cluster.plan["PATCH", "pod"] = [REFUSALS["forbidden"](cluster)]
        made = len(cluster.seen("POST", "pods"))
        for _ in range(3):
            completes()
        tap.equal(len(cluster.seen("PATCH", "pod")), 1, "claims")
        tap.equal(len(cluster.seen("POST", "pods")), made + 3, "a pod for each run, and none that waits")
        end(cluster)


def test_one_that_is_lost_is_dropped_and_fails_no_run():
    def evict(cluster, name):
        with cluster.lock:
            pod = cluster.pods[name]
            pod["status"] = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}
            cluster.tell("MODIFIED", pod)

    def delete(cluster, name):
        with cluster.lock:
            cluster.tell("DELETED", cluster.pods.pop(name))

    def alter(cluster, name):
        with cluster.lock:
            pod = cluster.pods[name]
            pod["spec"]["ephemeralContainers"] = [{"name": "debugger"}]
            cluster.tell("MODIFIED", pod)
    for lose in (evict, delete, alter, Cluster.cut):
        with Cluster() as cluster:
            name = begin(cluster)
            lose(cluster, name)
            tap.eventually(lambda: ready_pods() == 0, f"{lose.__name__}: the backend knows", PATIENCE)
            completes()
            tap.true(served_by(cluster) != name and ("heard", name) not in cluster.log, lose.__name__)
            tap.eventually(lambda cluster=cluster, name=name: name not in cluster.pods, f"{lose.__name__}: it is removed", PATIENCE)
            end(cluster)


def test_one_that_is_being_removed_is_not_claimed():
    with Cluster() as cluster:
        name = begin(cluster)
        with cluster.lock:
            pod = cluster.pods[name]
            pod["metadata"]["deletionTimestamp"] = "now"
            cluster.tell("MODIFIED", pod)
        cluster.end_watches()  # the next watch is asked for when what was told is read
        tap.eventually(lambda: len(cluster.seen("GET", "watch")) == 2, "it is heard of", PATIENCE)
        completes()
        tap.true(served_by(cluster) != name, "a cold one served")
        end(cluster)


def test_a_run_goes_before_a_pod_that_waits():
    """The quota is of one pod, and that one waits."""
    with Cluster() as cluster:
        name = begin(cluster)
        refused = []

        def quota(handler):
            if cluster.pods:
                refused.append(sorted(cluster.pods))
                return QUOTA
            return None
        cluster.plan["POST", "pods"] = [quota] * 8
        completes(SMALL)
        tap.equal(refused[0], [name], "what was in the way")
        tap.true(name not in cluster.pods, "it is removed")
        end(cluster)


def test_a_run_goes_before_a_pod_that_waits_where_no_node_has_room():
    with Cluster() as cluster:
        name = begin(cluster)
        cluster.runs = False
        outputs = []
        thread = threading.Thread(target=lambda: outputs.append(completes(SMALL)))
        thread.start()

        def is_pending(pod):
            return pod["metadata"]["labels"][LABEL_STATE] == "taken" and pod["status"]["phase"] == "Pending"
        tap.eventually(lambda: any(is_pending(pod) for pod in list(cluster.pods.values())), "its pod", PATIENCE)
        with cluster.lock:
            [pod] = [pod for pod in cluster.pods.values() if is_pending(pod)]
            pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]
            cluster.tell("MODIFIED", pod)
        tap.eventually(lambda: name not in cluster.pods, "the one that waits gives way", PATIENCE)
        with cluster.lock:
            pod["status"] = {"phase": "Running", "containerStatuses": [{"name": "run", "state": {"running": {}}}]}
            cluster.tell("MODIFIED", pod)
        thread.join()
        tap.equal(len(outputs), 1, "it completes")
        end(cluster)


def test_a_quota_that_runs_have_used_up_is_said():
    with Cluster() as cluster:
        keep(cluster)
        completes()
        await_ready(cluster)
        cluster.plan["POST", "pods"] = [lambda handler: QUOTA] * 8
        code, output = provider.invoke(SMALL, Host(RIGHTS))
        tap.equal(output["error"]["code"], "too_many_requests", (code, output["error"]))
        end(cluster)


def test_a_pool_that_cannot_be_filled_waits_longer_each_time():
    with Cluster() as cluster:
        keep(cluster)
        cluster.plan["POST", "pods"] = [lambda handler: None] * 3 + [lambda handler: QUOTA] * 100  # a trial, the pod that it tries, a run
        completes()
        tap.eventually(lambda: len(cluster.seen("POST", "pods")) == 5, "a second try", PATIENCE)
        begun = time.monotonic()
        tap.eventually(lambda: len(cluster.seen("POST", "pods")) == 6, "a third", PATIENCE)
        tap.true(time.monotonic() - begun > 8, f"later than the second: {time.monotonic() - begun:.1f} s")
        end(cluster)


def test_a_pool_of_zero_makes_none():
    with Cluster() as cluster:
        keep(cluster, ready=0)
        for _ in range(2):
            completes()
        tap.equal(cluster.seen("PATCH", "pod"), [], "claims")
        tap.equal({request[4]["metadata"]["labels"][LABEL_STATE] for request in cluster.seen("POST", "pods")}, {"taken"}, "pods")
        end(cluster)


def test_what_is_not_used_is_removed():
    with Cluster() as cluster:
        begin(cluster)
        keep(cluster, idle_ms=1000)
        completes()
        tap.eventually(lambda: cluster.pods == {}, "none is left", PATIENCE)
        end(cluster)


def test_other_limits_and_sessions_have_pods_of_their_own():
    with Cluster() as cluster:
        name = begin(cluster)
        completes(SMALL)
        tap.true(served_by(cluster) != name, "a cold one served")
        completes({**REQUEST, "timeout_ms": 9000})
        tap.equal(served_by(cluster), name, "another time is no other pod")
        end(cluster)


def test_a_second_gateway_takes_none_of_the_first():
    with Cluster() as cluster:
        name = begin(cluster)
        owner = cluster.pods[name]["metadata"]["labels"]["code-execute.owner"]
        done = subprocess.run([sys.executable, "-c", GATEWAY, json.dumps(policy(cluster)), json.dumps(REQUEST)], capture_output=True, text=True,
                              timeout=PATIENCE, check=True, cwd=pathlib.Path(__file__).parent)
        tap.equal(done.stdout.strip(), "completed", done.stderr)
        owners = {request[4]["metadata"]["labels"]["code-execute.owner"] for request in cluster.seen("POST", "pods")}
        tap.equal(len(owners - {owner}), 1, "another owner")
        tap.true(served_by(cluster) != name and ("heard", name) not in cluster.log, "the first one's got nothing")
        tap.equal(cluster.seen("PATCH", "pod"), [], "claims")
        completes()
        tap.equal(served_by(cluster), name, "it still waits for its own")
        end(cluster)


def pinged(stream):
    """Waits for a ping, and answers it as a server does. False: the stream has ended before."""
    opcode = 0
    while opcode not in (9, None):
        opcode, payload = stream.read()
    if opcode == 9:
        stream.write(frame(10, payload))
    return opcode == 9


def test_idle_streams_are_pinged():
    """That of a run whose program says nothing, and that of a pod that waits: load balancers cut idle connections."""
    with Cluster() as cluster:
        first, waiting_pinged = begin(cluster, limits=LIMITS), threading.Event()

        def silent(pod):
            pod.say("started")
            pod.print(b"yes\n" if pinged(pod.stream) else b"no ping\n")
            pod.finish()

        def report(pod):
            cluster.report(pod)
            if pinged(pod.stream):
                waiting_pinged.set()
        cluster.before, cluster.program = report, silent
        completes()
        tap.equal(served_by(cluster), first, "the run was in the pod that waited")
        tap.true(waiting_pinged.wait(PATIENCE), "no ping to the pod that waits now")
        cluster.program = says_yes
        await_ready(cluster)
        completes()


tap.run(globals())
