# SPDX-License-Identifier: Apache-2.0
"""Pods and their streams against an API server that misbehaves by plan: each answer that is not right is refused in words that tell
what to do. First a case in which all is right, with what was asked for."""
import contextlib
import json
import queue
import struct
import subprocess

import tap
from fake_server import CONTAINER, FakeServer, frame, message, put, status
from pod_driver import DRIVER, PATIENCE, driver


@contextlib.contextmanager
def ready():
    with FakeServer() as fake, driver(fake) as running:
        running.order("make")
        running.expect("made", "ready node-1")
        tap.eventually(lambda: fake.watchers, "the watch")  # the first list may have told of the pod
        yield fake, running


def test_a_pod_from_its_making_to_its_removal():
    with ready() as (fake, running):
        running.order("attach")
        running.expect("attached v5")
        running.order("send abc")
        line = [running.next(), running.next()]
        tap.equal(sorted(line), ["sent", "stdout heard abc"], "what comes")
        running.order("send end")
        tap.equal(sorted([running.next(), running.next(), running.next()]), ["closed", "end ", "sent"], "the end")
        fake.terminate(0, "Completed")
        running.expect("ended 0 Completed")
        running.order("remove")
        running.expect("removed")
    _, _, _, _, body, headers = fake.seen("POST", "pods")[0]
    tap.equal(headers["Authorization"], "Bearer a-token", "who asks")
    spec, container = body["spec"], body["spec"]["containers"][0]
    tap.equal((spec["automountServiceAccountToken"], spec["restartPolicy"], spec["activeDeadlineSeconds"], container["stdinOnce"]),
              (False, "Never", 90, True), "what is asked for")
    tap.equal(container["securityContext"]["capabilities"], {"drop": ["ALL"]}, "capabilities")
    tap.equal(fake.seen("GET", "list")[0][3]["labelSelector"], "code-execute.owner=0123456789abcdef0123456789abcdef", "one watch, for its own")
    tap.equal(len(fake.seen("GET", "watch")), 1, "watches")
    attach = fake.seen("GET", "attach")[0]
    tap.equal(attach[3], {"container": "run", "stdin": "true", "stdout": "true", "stderr": "true"}, "attach")
    tap.equal(attach[5]["Sec-WebSocket-Protocol"], "v5.channel.k8s.io, v4.channel.k8s.io", "protocols")
    deletion = fake.seen("DELETE", "pod")[0][4]
    tap.equal((deletion["gracePeriodSeconds"], deletion["preconditions"]), (0, {"uid": "uid-0"}), "removal")


ALTERED = {
    "spec.volumes": put(("spec",), volumes=[{"name": "home", "hostPath": {"path": "/"}}]),
    "spec.hostNetwork": put(("spec",), hostNetwork=True),
    "spec.hostPID": put(("spec",), hostPID=True),
    "spec.automountServiceAccountToken": put(("spec",), automountServiceAccountToken=True),
    "spec.initContainers": put(("spec",), initContainers=[{"name": "istio-init"}]),
    "spec.ephemeralContainers": put(("spec",), ephemeralContainers=[{"name": "debugger"}]),
    "spec.serviceAccountName": put(("spec",), serviceAccountName="admin"),
    "spec.containers differs": lambda pod: pod["spec"]["containers"].append({"name": "sidecar"}),
    "spec.containers[0].image": put(CONTAINER, image="registry.example/other@sha256:2"),
    "spec.containers[0].securityContext": put(CONTAINER, securityContext={"privileged": True}),
    "spec.containers[0].env": put(CONTAINER, env=[{"name": "LD_PRELOAD", "value": "/x.so"}]),
    "spec.containers[0].volumeMounts": lambda pod: pod["spec"]["containers"][0]["volumeMounts"].append({"name": "token", "mountPath": "/run/token"}),
    "spec.containers[0].lifecycle": put(CONTAINER, lifecycle={"postStart": {"exec": {"command": ["sh"]}}}),
    "spec.runtimeClassName": put(("spec",), runtimeClassName="runc"),
}


def test_a_pod_that_differs_from_the_request_is_refused_by_its_member():
    for field, change in ALTERED.items():
        with FakeServer() as fake, driver(fake) as running:
            fake.mutate = change
            running.order("make")
            running.expect("made")
            running.fails("failed sandbox_unavailable", "is not the one that was requested: ", field, "mutating webhook")


def test_a_pod_that_is_altered_later_is_refused():
    with ready() as (fake, running):
        fake.change(ALTERED["spec.ephemeralContainers"])
        running.fails("failed sandbox_unavailable", "spec.ephemeralContainers differs")


def test_a_claim_is_granted_once():
    with FakeServer() as fake, driver(fake) as running:
        running.order("make waiting")
        running.expect("made", "ready node-1")
        tap.lacks(json.dumps(fake.one()), "activeDeadlineSeconds", "a pod that waits")
        running.order("claim")
        running.expect("claimed")
        pod = fake.one()
        tap.equal((pod["metadata"]["labels"]["code-execute.state"], pod["metadata"]["labels"]["code-execute.run"]), ("taken", "feed" * 8), "labels")
        tap.true(130 < pod["spec"]["activeDeadlineSeconds"] < 130 + PATIENCE, f"age, time and margin: {pod['spec']}")
        fake.terminate(0, "Completed")
        running.expect("ended 0 Completed")
    with FakeServer() as fake, driver(fake) as running:
        running.order("make waiting")
        running.expect("made", "ready node-1")
        fake.plan["PATCH", "pod"] = [lambda handler: fake.change(put(("metadata", "labels"), **{"code-execute.state": "taken"}))]
        running.order("claim")
        line = running.next()  # by the answer, or by the watch's word on the other's claim
        tap.true("is already taken" in line or "metadata.labels.code-execute." in line, line)


def test_a_claim_whose_pod_is_another_is_refused():
    with FakeServer() as fake, driver(fake) as running:
        running.order("make waiting")
        running.expect("made", "ready node-1")
        pod = fake.one()
        lies = json.loads(json.dumps(pod))
        fake.plan["PATCH", "pod"] = [lambda handler: (200, lies)]
        running.order("claim")
        running.fails("failed sandbox_unavailable", "the pod that was claimed is not the one that was requested: metadata.labels.code-execute.state")


def test_refusals_have_a_remedy():
    quota = status(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: runs, requested: pods=1, used: pods=100, limited: pods=100')
    security = status(403, "Forbidden", 'pods "x" is forbidden: violates PodSecurity "restricted:latest": seccompProfile')
    rbac = status(403, "Forbidden", 'pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group "" in the '
                  'namespace "runs"')
    rows = [
        (rbac, "failed backend_unavailable", 'may not "create pods"', "deploy/kubernetes/access.yaml"),
        (quota, "failed too_many_requests", "exceeded quota", "limits.yaml"),
        (security, "failed backend_unavailable", "violates PodSecurity", "a rule of the cluster does not admit the pod"),
        (status(401, "Unauthorized", "Unauthorized"), "failed backend_unavailable", "kubectl create token"),
        (status(404, "NotFound", 'namespaces "runs" not found'), "failed backend_unavailable", "kubectl apply -k deploy/kubernetes"),
        (status(500, "", "etcdserver: request timed out"), "failed backend_failed", "etcdserver: request timed out"),
        ((200, b"<html>"), "failed backend_failed", "is not a JSON object"),
        ((201, {"kind": "Pod", "metadata": {"name": "other", "uid": "1", "resourceVersion": "1"}}), "failed backend_failed", "is not that pod"),
        ((429, b"", {"Retry-After": "60"}), "failed too_many_requests 60000"),
        ((503, b"", {"Retry-After": "30"}), "failed too_many_requests 30000"),
    ]
    for answer, *parts in rows:
        with FakeServer() as fake, driver(fake) as running:
            fake.plan["POST", "pods"] = [lambda handler, answer=answer: answer]
            running.order("make")
            running.expect("made")
            running.fails(*parts)


def test_a_forbidden_watch_fails_at_once():
    with FakeServer() as fake, driver(fake) as running:
        fake.runs = False
        fake.plan["GET", "list"] = [lambda handler: status(403, "Forbidden", 'pods is forbidden: User "x" cannot list resource "pods"')]
        running.order("make")
        running.expect("made")
        running.fails("failed backend_unavailable", 'may not "list pods"', "access.yaml")


def test_a_busy_server_is_asked_again():
    with FakeServer() as fake, driver(fake) as running:
        fake.plan["POST", "pods"] = [lambda handler: (429, b"busy", {"Retry-After": "1"})]
        running.order("make")
        running.expect("made", "ready node-1")
        tap.equal(len(fake.seen("POST", "pods")), 2, "requests")


def test_a_conflict_with_the_quota_is_no_pod_that_is_there():
    conflict = status(409, "Conflict", 'Operation cannot be fulfilled on resourcequotas "runs": the object has been modified')
    with FakeServer() as fake, driver(fake) as running:
        fake.plan["POST", "pods"] = [lambda handler: conflict] * 2
        running.order("make")
        running.expect("made", "ready node-1")
        tap.equal((len(fake.seen("POST", "pods")), fake.seen("GET", "pod")), (3, []), "requests")
    with FakeServer() as fake, driver(fake) as running:
        fake.plan["POST", "pods"] = [lambda handler: conflict] * 99
        running.order("make")
        running.expect("made")
        running.fails("failed backend_failed", "resourcequotas")
        tap.equal(len(fake.seen("POST", "pods")), 11, "an end of it")


def test_what_was_not_made_is_not_removed():
    """Not where a try before the refusal may have made it."""
    refusal = status(403, "Forbidden", 'User "gateway" cannot create resource "pods" in API group ""')
    busy = (503, b"", {"Retry-After": "1"})
    for answers, deletions in (([refusal], 0), ([busy, refusal], 1), ([status(500, "InternalError", "etcd")], 1)):
        with FakeServer() as fake, driver(fake) as running:
            fake.plan["POST", "pods"] = [lambda handler, answer=answer: answer for answer in answers]
            running.order("make")
            running.expect("made")
            running.fails("failed backend_")
            running.order("kill")
            running.expect("removed")
            tap.equal(len(fake.seen("DELETE", "pod")), deletions, answers)
    asked = []

    def slowly(_handler):
        tap.eventually(lambda: asked, "the order to remove it")
        return refusal
    with FakeServer() as fake, driver(fake) as running:
        fake.plan["POST", "pods"] = [slowly]
        running.order("make")
        running.expect("made")
        running.order("remove")
        running.order("sweep")
        tap.eventually(lambda: len(fake.seen("GET", "list")) == 2, "the order is read")
        asked.append(True)
        tap.equal(sorted([running.next(), running.next()]), ["removed", "swept 0 0"], "by the answer")
        tap.equal(fake.seen("DELETE", "pod"), [], "removals")


def test_a_pod_whose_first_answer_was_lost_is_found():
    with FakeServer() as fake, driver(fake) as running:
        def make_and_lose(handler):
            fake.post_pods(handler, "", {}, fake.requests[-1][4])
            return status(409, "AlreadyExists", "already exists")
        fake.plan["POST", "pods"] = [make_and_lose]
        running.order("make")
        running.expect("made", "ready node-1")


def test_a_watch_goes_on_where_it_was_cut():
    with ready() as (fake, running):
        fake.raw(b'{"type":"MODIFIED","object":{"metadata":{"name":')
        fake.end_watches()
        tap.eventually(lambda: len(fake.seen("GET", "watch")) == 2, "a second watch")
        tap.equal(len(fake.seen("GET", "list")), 1, "lists")
        fake.terminate(7)
        running.expect("ended 7 Error")


def test_a_watch_that_is_outdated_lists_again():
    outdated = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "The resourceVersion for the provided watch is too old."}}
    for line in (json.dumps(outdated).encode() + b"\n", b"no JSON\n", b'{"type":"ADDED","object":{}}\n'):
        with ready() as (fake, running):
            with fake.lock:
                fake.raw(line)
                fake.end_watches()
                fake.watchers.clear()
            tap.eventually(lambda: len(fake.seen("GET", "list")) == 2, "a second list")
            fake.terminate(7)
            running.expect("ended 7 Error")
    with ready() as (fake, running):
        fake.plan["GET", "watch"] = [lambda handler: status(410, "Expired", "too old")]
        fake.end_watches()
        tap.eventually(lambda: len(fake.seen("GET", "list")) == 2, "a second list")
        fake.terminate(7)
        running.expect("ended 7 Error")


def test_a_pod_that_is_not_in_a_list_any_more_is_lost():
    with ready() as (fake, running):
        with fake.lock:
            fake.drop(tells=False)
            fake.raw(b"no JSON\n")
            fake.end_watches()
        running.expect("ended -1 Deleted")


def test_ends_have_their_reason():
    for arguments, members, line in (((137, "OOMKilled"), {}, "ended 137 OOMKilled memory"), ((3,), {}, "ended 3 Error"),
                                     ((137,), {"reason": "DeadlineExceeded"}, "ended 137 DeadlineExceeded deadline"),
                                     ((137,), {"reason": "Evicted"}, "ended 137 Evicted")):
        with ready() as (fake, running):
            fake.terminate(*arguments, **members)
            running.expect(line)
    with ready() as (fake, running):
        fake.drop()
        running.expect("ended -1 Deleted")


def test_a_pod_that_does_not_start_says_why():
    rows = [
        ({"waiting": {"reason": "ErrImagePull", "message": "not found"}}, "failed backend_unavailable", "ErrImagePull: not found", "registry"),
        ({"waiting": {"reason": "CreateContainerError", "message": "no command"}}, "failed backend_unavailable", "no command", "deploy/image"),
    ]
    for state, *parts in rows:
        with FakeServer() as fake, driver(fake) as running:
            fake.runs = False
            running.order("make")
            running.expect("made")
            tap.eventually(lambda fake=fake: fake.pods, "the pod")
            fake.set_state(state, "Pending")
            running.fails(*parts)
    with FakeServer() as fake, driver(fake) as running:
        fake.runs = False
        running.order("make")
        running.expect("made")
        tap.eventually(lambda: fake.pods, "the pod")
        fake.change(put(("status",), conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]))
        fake.drop()
        running.fails("failed backend_failed", "was deleted from outside")


def test_a_killed_pod_is_removed_when_its_node_says_so():
    with ready() as (fake, running):
        fake.confirms = False
        running.order("kill")
        tap.eventually(lambda: fake.seen("DELETE", "pod"), "the request")
        tap.equal(fake.seen("DELETE", "pod")[0][4]["gracePeriodSeconds"], 1, "grace")
        tap.eventually(lambda: fake.seen("GET", "pod"), "a look")
        tap.true(running.lines.empty(), "nothing is said of a pod that is there")
        fake.drop(tells=False)
        running.expect("removed")


def refused_attach(answer, *parts):
    with ready() as (fake, running):
        fake.plan["GET", "attach"] = [lambda handler: answer]
        running.order("attach")
        running.fails(*parts)


def test_an_attach_that_is_refused_says_why():
    refused_attach(status(403, "Forbidden", 'pods "x" is forbidden: User "y" cannot get resource "pods/attach" in API group ""'),
                   "broken backend_unavailable", 'may not "get pods/attach"', "access.yaml")
    refused_attach(status(404, "NotFound", 'pods "x" not found'), "broken backend_failed", "not found")
    refused_attach((500, b"container main not found in pod x"), "broken backend_failed", "container main not found in pod x")
    refused_attach((403, b""), "broken backend_unavailable", "(403)")
    refused_attach((200, b"{}"), "broken backend_failed", "(200)")


def stream(*pieces, ends=True, **grant):
    """An attach whose server says just this."""
    def attach(fake, handler):
        connection = fake.grant(handler, **grant)
        for piece in pieces:
            connection.write(piece)
        if not ends:
            connection.read()
        return ()
    return attach


@contextlib.contextmanager
def attached(attach):
    with ready() as (fake, running):
        fake.plan["GET", "attach"] = [lambda handler: attach(fake, handler)]
        running.order("attach")
        yield running


CLOSE = frame(8, struct.pack("!H", 1000))


def test_an_answer_that_is_no_websocket_is_refused():
    for attach in (stream(accept="AAAA"), stream(protocol="v9.channel.k8s.io"), stream(headers=[("Sec-WebSocket-Extensions", "x")]),
                   stream(headers=[("Sec-WebSocket-Protocol", "v4.channel.k8s.io")])):
        with attached(attach) as running:
            running.fails("broken backend_failed", "is not that of a WebSocket")


def test_a_stream_in_any_fragments():
    content = bytes(range(97, 123)) * 20
    for size in (1, 2, 125, 126, 1000):
        with attached(stream(message(1, b""), message(1, content, size), message(2, b"oh", 1), frame(10, b"pong"), CLOSE, protocol="v4.channel.k8s.io",
                             ends=False)) as running:
            running.expect("attached v4")
            got = {"stdout": "", "stderr": ""}
            while (line := running.next()) != "end ":
                kind, _, text = line.partition(" ")
                got[kind] += text
            tap.equal(got, {"stdout": content.decode(), "stderr": "oh"}, f"fragments of {size}")


def test_a_ping_is_answered():
    answers = queue.Queue()

    def attach(fake, handler):
        connection = fake.grant(handler)
        connection.write(frame(9, b"who is there"))
        answers.put(connection.read())
        connection.write(CLOSE)
        return ()
    with attached(attach) as running:
        running.expect("attached v5", "end ")
        tap.equal(answers.get(timeout=PATIENCE), (10, b"who is there"), "pong")


def test_a_failure_on_the_last_channel_is_reported():
    failure = b'{"metadata":{},"status":"Failure","message":"Internal error occurred: container run not found","reason":"InternalError","code":500}'
    with attached(stream(message(1, b""), message(3, failure, 50), CLOSE)) as running:
        running.expect("attached v5")
        running.fails("broken backend_failed", "container run not found")


def test_a_stream_that_is_cut_is_not_whole():
    with attached(stream(message(1, b"some"))) as running:
        running.expect("attached v5", "stdout some", "cut")


def test_broken_frames_end_the_stream():
    for broken in (b"\x82\x81abcd.", b"\xc2\x01\x01", b"\x83\x01\x01", b"\x80\x01\x01", b"\x82\x7e\x00\x01\x01", b"\x09\x01a", frame(2, b""),
                   message(0, b"to us"), b"\x88\x7e\x00\x7e" + b"a" * 126):
        with attached(stream(broken, ends=False)) as running:
            running.expect("attached v5")
            running.fails("broken backend_failed", "is no frame of an API server")


def test_strays_are_swept():
    with FakeServer() as fake, driver(fake) as running:
        def add(name, marks, **metadata):
            fake.pods[name] = {"metadata": {"name": name, "uid": name, "resourceVersion": "5", "annotations": marks, **metadata}}
        old = {"code-execute.boot": "b", "code-execute.space": "s", "code-execute.pid": "1", "code-execute.start": "1", "code-execute.latest": "1000"}
        add("old", old)
        add("young", {**old, "code-execute.latest": "99999999999"})
        add("foreign", {})
        add("going", old, deletionTimestamp="now")
        running.order("sweep")
        running.expect("swept 1 0")
        tap.equal(sorted(fake.pods), ["foreign", "going", "young"], "what is left")
        tap.equal(fake.seen("GET", "list")[0][3]["labelSelector"], "app.kubernetes.io/managed-by=code-execute", "whose pods")


def test_a_kubeconfig_with_exec_is_refused():
    with FakeServer() as fake:
        fake.write_kubeconfig("    exec:\n      command: aws\n      args:\n      - eks\n")
        done = subprocess.run([DRIVER, fake.kubeconfig], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        tap.equal(done.returncode, 1, done.stdout)
        tap.contains(done.stdout, "exec: aws")
        tap.contains(done.stdout, "kubectl create token")


def test_a_missing_server_is_reported():
    fake = FakeServer()
    fake.server.server_close()
    with driver(fake) as running:
        running.order("make")
        running.expect("made")
        running.fails("failed backend_unavailable", "the API server is not reached", "kubectl cluster-info")
    fake.directory.cleanup()


tap.run(globals())
