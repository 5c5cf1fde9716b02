# SPDX-License-Identifier: Apache-2.0
"""What a run needs of a real API server and kubelet, as a backend for pods would use it: attach with input by WebSocket (v4 and v5), what
comes when something is wrong, a warm pod that only one claims, the end of a pod by its deadline, watches.
By hand: scripts/check-cluster test_attach"""
import json
import pathlib
import sys
import threading
import time

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import api_server
from api_server import STATUS, STDERR, STDIN, STDOUT, Refused, Server, run_pod

if not api_server.DIRECTORY:
    tap.skip_all("no cluster (scripts/with-cluster)")

NAMESPACE = "attach"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
server = Server()
server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})


class Pod:
    """A pod that is there for one case, and has run before the case begins."""

    def __init__(self, name, command, wait="Running", **members):
        self.name, self.path, self.wait = name, f"{PODS}/{name}", wait
        self.asked = run_pod(name, command, **members)

    def __enter__(self):
        tap.eventually(self.is_made, f"{self.name} is made", 120)  # the namespace's account takes a moment
        if self.wait:
            self.until(self.wait)
        return self

    def is_made(self):
        status, answer = server.ask("POST", PODS, self.asked)
        return status == 201 or answer["reason"] == "Forbidden" and tap.lacks(answer["message"], "violates")

    def __exit__(self, *_):
        server.ask("DELETE", self.path + "?gracePeriodSeconds=0")

    def read(self):
        return server.ask("GET", self.path)[1]

    def until(self, phase, seconds=180):
        tap.eventually(lambda: self.read()["status"]["phase"] == phase, f"{self.name} is {phase}", seconds)
        return self.read()["status"]

    def attach(self, *arguments, **named):
        return server.attach(NAMESPACE, self.name, *arguments, **named)


def exit_code(status):
    return status["containerStatuses"][0]["state"]["terminated"]["exitCode"]


# Programs here wait when they have written: what one writes and then ends, containerd 1.6 has been seen to lose, from its log too.
def test_v5_ends_the_input():
    text = b"".join(b"%d\n" % number for number in range(20000))
    with Pod("v5", ["sh", "-c", "cat; echo all >&2; sleep 3600"]) as pod:
        with pod.attach("v5.channel.k8s.io") as channels:
            tap.equal(channels.protocol, "v5.channel.k8s.io", "protocol")
            for start in range(0, len(text), 32768):
                channels.send(STDIN, text[start:start + 32768])
            channels.until({STDOUT: text})
            channels.end_of_input()
            tap.equal(channels.until({STDERR: b"all\n"}), {STDERR: b"all\n"}, "what comes after the end of the input")


def test_v4_has_no_end_of_input_so_the_program_is_told_the_length():
    with Pod("v4", ["sh", "-c", "read length; head -c $length; echo all >&2; sleep 3600"]) as pod:
        with pod.attach("v4.channel.k8s.io") as channels:
            tap.equal(channels.protocol, "v4.channel.k8s.io", "protocol")
            channels.send(STDIN, b"5\n")
            channels.end_of_input()  # no more than a message to a channel that is not there
            channels.send(STDIN, b"abcde")
            channels.until({STDOUT: b"abcde", STDERR: b"all\n"})


def test_the_exit_status_is_the_pods_not_the_attachs():
    with Pod("seven", ["sh", "-c", "read line; exit 7"]) as pod:
        with pod.attach() as channels:
            channels.send(STDIN, b"go\n")
            got, _ = channels.rest()
        tap.equal(json.loads(got[STATUS])["status"], "Success", got)
        tap.equal(exit_code(pod.until("Failed")), 7, "exit status")


def test_refusals_come_before_the_websocket():
    def refused(protocol, pod, query="container=main&stdin=true&stdout=true", who=server):
        try:
            who.attach(NAMESPACE, pod, protocol, query)
        except Refused as refusal:
            return refusal.status, refusal.body
        raise AssertionError("attached")

    for protocol in ("v4.channel.k8s.io", "v5.channel.k8s.io"):
        status, body = refused(protocol, "nowhere")
        tap.equal((status, json.loads(body)["reason"]), (404, "NotFound"), body)
        status, body = refused(protocol, "nowhere", who=Server("nonsense"))
        tap.equal((status, json.loads(body)["reason"]), (401, "Unauthorized"), body)
        with Pod("waits", ["cat"]) as pod:
            status, body = refused(protocol, pod.name, "container=other&stdin=true")
            tap.equal((status, json.loads(body)["reason"]), (400, "BadRequest"), body)
        with Pod("unplaced", ["cat"], wait=None, nodeSelector={"no": "node"}) as pod:
            status, body = refused(protocol, pod.name)
            tap.equal((status, json.loads(body)["reason"]), (400, "BadRequest"), body)
    with Pod("waits", ["cat"]) as pod:
        status, body = refused("v9.channel.k8s.io", pod.name)
        tap.equal(status in (400, 403), True, (status, body))


def test_an_ended_pod_is_refused_on_either_protocol():
    with Pod("ended", ["true"], wait="Succeeded") as pod:
        for protocol in ("v4.channel.k8s.io", "v5.channel.k8s.io"):
            try:
                with pod.attach(protocol) as channels:
                    got, _ = channels.rest()
                    tap.equal(json.loads(got[STATUS])["status"], "Failure", got)
            except Refused as refusal:
                tap.equal(refusal.status >= 400, True, refusal)


def test_one_claim_of_many_gets_a_warm_pod():
    with Pod("warm", ["cat"]) as pod:
        server.ask("PATCH", pod.path, {"metadata": {"labels": {"state": "idle"}}}, "application/merge-patch+json")
        answers = []

        def claim(number):
            answers.append(Server().ask("PATCH", pod.path, [
                {"op": "test", "path": "/metadata/labels/state", "value": "idle"},
                {"op": "replace", "path": "/metadata/labels/state", "value": f"run-{number}"},
                {"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 3600}], "application/json-patch+json"))
        threads = [threading.Thread(target=claim, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        got = [answer for status, answer in answers if status == 200]
        tap.equal(len(got), 1, f"claims that got it: {[status for status, _ in answers]}")
        tap.equal({(status, answer["reason"]) for status, answer in answers if status != 200}, {(422, "Invalid")}, "the others")
        there = pod.read()
        tap.equal((there["metadata"]["labels"]["state"], there["spec"]["activeDeadlineSeconds"]),
                  (got[0]["metadata"]["labels"]["state"], 3600), "whose it is")


def test_the_deadline_ends_a_pod_whose_gateway_has_gone():
    with Pod("deadline", ["cat"]) as pod:
        with pod.attach() as channels:
            status, answer = server.ask("PATCH", pod.path, [{"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 1}],
                                        "application/json-patch+json")
            tap.equal(status, 200, answer)
            channels.rest()  # the connection ends with the pod
        ended = pod.until("Failed")
        tap.equal(ended["reason"], "DeadlineExceeded", ended)
    with Pod("in-time", ["cat"], activeDeadlineSeconds=3600) as pod:  # the positive control
        time.sleep(1)
        tap.equal(pod.read()["status"]["phase"], "Running", "a pod whose deadline is far")


def test_a_watch_tells_every_step():
    version = server.ask("GET", PODS)[1]["metadata"]["resourceVersion"]
    with Pod("watched", ["true"], wait="Succeeded"):
        phases = []
        for event in server.watch(f"{PODS}?watch=1&fieldSelector=metadata.name=watched&resourceVersion={version}&timeoutSeconds=60"):
            tap.equal(event["object"]["metadata"]["name"], "watched", "whose event")
            phases.append((event["type"], event["object"]["status"].get("phase")))
            if phases[-1][1] == "Succeeded":
                break
        tap.equal((phases[0], phases[-1]), (("ADDED", "Pending"), ("MODIFIED", "Succeeded")), phases)


tap.run(globals())
