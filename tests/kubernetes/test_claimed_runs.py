# SPDX-License-Identifier: Apache-2.0
"""Runs in claimed pods of agent-sandbox, through a whole gateway: the claims are those of fake_claims.py, the guests those of
scripted_pods.py. What a pod does between its attached stream and the answer that binds it must neither get it a run nor end the backend."""
import contextlib
import copy
import select
import threading

import tap
from fake_claims import FakeClaims
from fake_server import status
from scripted_pods import IMAGE, PATIENCE, Pod, ScriptedPods, call, gateway

TAKEN = status(422, "Invalid", "the server rejected our request due to an error in our request", details={})


class EarlyPod(Pod):
    def take_call(self):
        self.fake.early(self)
        super().take_call()


class ClaimedPods(ScriptedPods, FakeClaims):
    """spec: of each pod of the pool. early: what a guest does before it is called."""

    kind = EarlyPod

    def __init__(self, spec):
        super().__init__()
        self.early = lambda pod: None
        self.template = lambda pod: pod.update(spec=copy.deepcopy(spec))


def members(fake, **more):
    return {"kubeconfig": str(fake.kubeconfig), "images": IMAGE, **more}


def spec_of_a_run():
    """As the gateway makes a pod for such a run, and a template has to be."""
    with ScriptedPods() as fake, gateway(fake, kubernetes=members(fake)):
        tap.equal(call()["stdout"], "honest\n")
        spec = fake.seen("POST", "pods")[-1][4]["spec"]
    del spec["activeDeadlineSeconds"]
    spec.update(terminationGracePeriodSeconds=1, nodeName="node-1", serviceAccount="run")
    return spec


SPEC = spec_of_a_run()


@contextlib.contextmanager
def claimed():
    """Behind a trial and a run that were served: the control of what comes."""
    with ClaimedPods(SPEC) as fake, gateway(fake, kubernetes=members(fake, warm_pool="warm")):
        output = call()
        tap.equal((output["status"], output["stdout"]), ("completed", "honest\n"), output)
        tap.equal(output["isolation"]["details"]["pod"], "warm-1")
        fake.pods.clear()  # as the cluster's garbage collection does
        yield fake


def test_a_pod_that_speaks_uncalled_gets_no_run():
    """Whether the claim is granted then, or was another's."""
    for granted in (False, True):
        with claimed() as fake:
            came, heard = [], threading.Event()

            def early(pod, came=came, heard=heard):
                pod.report()
                connection = pod.stream.handler.connection
                came += select.select([connection], [], [], 2 * tap.SLOW)[0]
                heard.set()

            def bind(handler, granted=granted, heard=heard):
                tap.true(heard.wait(PATIENCE), "the guest has not spoken")
                return None if granted else TAKEN
            fake.early = early
            fake.plan["PATCH", "pod"] = [bind]
            served = len(fake.programs())
            output = call()
            tap.equal((output["status"], output["stdout"]), ("error", ""), output)
            tap.equal((came, len(fake.programs())), ([], served), "nothing of the run has come")
            if granted:
                tap.contains(output["error"]["message"], "before it was called")


def test_a_stream_that_ends_before_the_claim_is_granted_ends_no_backend():
    with claimed() as fake:
        closed = threading.Event()

        def early(pod):
            pod.close()
            pod.await_end()
            closed.set()

        def bind(_handler):
            tap.true(closed.wait(PATIENCE), "the stream is still open")
        fake.early = early
        fake.plan["PATCH", "pod"] = [bind]
        output = call()
        tap.equal(output["status"], "error", output)
        tap.contains(output["error"]["message"], "stream has ended")


tap.run(globals())
