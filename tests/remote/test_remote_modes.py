# SPDX-License-Identifier: Apache-2.0
"""Workers of another mode than process: the policy names it, a run has its layers and no others, and a worker whose mode is not the
policy's gets nothing."""
import contextlib
import json
import tempfile

import tap
from provider import OK, Host
from remote_gateway import RIGHTS, a_worker, call, completed, gateway, place, policy_of, provider, refused
from workers import PATIENCE, WORKER

UNPRIVILEGED = {"capabilities", "resource_limits", "no_new_privileges", "landlock", "seccomp"}
NAMESPACES = {"user_namespace", "pid_namespace", "mount_namespace", "network_namespace"}
RIGHT = "sandbox.exec.mode.unprivileged"


@contextlib.contextmanager
def unprivileged_worker():
    with tempfile.TemporaryDirectory(prefix="code-execute-scratch-", dir="/tmp") as scratch:
        with a_worker(mode="unprivileged", process={"scratch_directory": scratch}) as worker:
            tap.true(tap.within(lambda: worker.events("ready") or worker.events("not_ready"), PATIENCE), worker.lines)
            if not worker.events("ready"):
                raise tap.Skip(f"no mode unprivileged here: {worker.events('not_ready')[0]['reason']}")
            yield worker


def policy_for(worker, mode, capabilities=None, **members):
    policy = policy_of([place(worker.await_ready().address)], **members)
    policy["remote"]["mode"] = mode
    if capabilities:
        policy["capabilities"] = capabilities
    return policy


@contextlib.contextmanager
def gateway_for(worker, mode, **members):
    tap.equal(provider.use_policy(policy_for(worker, mode, **members)), OK, "prepare")
    try:
        yield
    finally:
        provider.reset()


def rights_in_policy():
    return [*RIGHTS, RIGHT]


def host(**how):
    return Host((*RIGHTS, RIGHT), **how)


def test_a_worker_without_namespaces():
    kept = {"max_total": 4, "checkpoints": 2}
    with unprivileged_worker() as worker, gateway_for(worker, "unprivileged", capabilities=rights_in_policy(), sessions=kept):
        result = completed("print(6 * 7)", host())
        details, applied = result["isolation"]["details"], set(result["isolation"]["applied"])
        tap.equal((result["stdout"], details["attested_by"], details["worker_mode"]), ("42\n", WORKER, "unprivileged"), details)
        tap.true(UNPRIVILEGED <= applied and not NAMESPACES & applied, applied)
        tap.true(set(result["isolation"]["missing"]) >= NAMESPACES, result["isolation"])
        # As in a local run: what no kernel enforces there.
        counted = {"memory_bytes": details["cgroup_memory"], "processes": details["cgroup_pids"]}
        tap.equal(details["supervised"], [name for name, held in counted.items() if not held] + ["scratch_bytes", "scratch_inodes", "cpu_ms"])
        first = completed("x = 41", host(), session="new")
        again = completed("x += 1\nprint(x)", host(), session=first["session"]["id"])
        tap.equal((again["stdout"], again["session"]["checkpoint"]), ("42\n", "taken"))
        undone = completed("print(x)", host(), session=first["session"]["id"], session_action="undo")
        tap.equal(undone["stdout"], "41\n", "what was there before the last cell")
        completed("0", host(), session=first["session"]["id"], session_action="end")


def test_the_capability_of_the_mode_is_required():
    """The first call is the control."""
    with unprivileged_worker() as worker:
        with gateway_for(worker, "unprivileged", capabilities=rights_in_policy()):
            completed("1", host())
            result = refused("1", "access_denied", Host(RIGHTS))
            tap.contains(result["error"]["message"], RIGHT)
        with gateway_for(worker, "unprivileged", capabilities=[*RIGHTS]):
            tap.contains(refused("1", "access_denied", host())["error"]["hint"], "capabilities")
        tap.equal(worker.metric("runs"), 0)


def test_what_the_mode_does_not_have_is_refused_before_anything_is_sent():
    endpoint = {"one": {"base_url": "https://one.example", "allow": [{"methods": ["GET"], "paths": ["/*"]}]}}
    with unprivileged_worker() as worker:
        with gateway_for(worker, "unprivileged", capabilities=rights_in_policy(), endpoints=endpoint):
            result = refused("1", "not_supported", host(), endpoints=["one"])
            tap.contains(result["error"]["message"], "endpoints")
        with gateway_for(worker, "unprivileged", capabilities=rights_in_policy(), require=["mount_namespace"]):
            result = refused("1", "sandbox_unavailable", host())
            tap.contains(json.dumps(result["error"]), "mount_namespace")
        tap.equal(worker.metric("runs"), 0)


def test_a_caller_that_wants_namespaces_is_refused():
    """The first call is the control; a narrowing never gives less."""
    with unprivileged_worker() as worker, gateway_for(worker, "unprivileged", capabilities=rights_in_policy()):
        completed("1", host())
        result = refused("1", "sandbox_unavailable", host(context={"policy": {"process": {"isolation": "namespaces"}}}))
        tap.contains(result["error"]["message"], "wants namespaces")


def test_a_worker_of_another_mode_gets_nothing():
    """Both ways round: neither a weaker nor a stronger one than the policy names. The first call of each is the control."""
    with unprivileged_worker() as weak, a_worker() as strong:
        with gateway_for(strong, "process"):
            details = completed("1")["isolation"]["details"]
            tap.equal((details["worker_mode"], "supervised" in details), ("process", False), details)
        with gateway_for(weak, "process"):
            result = refused("1", "backend_unavailable")
            tap.contains(result["error"]["message"], "the worker's mode is unprivileged, and the policy wants process")
            _, status = provider.status()
            [part] = [part for backend in status["backends"] if backend["name"] == "remote" for part in backend["parts"]]
            tap.contains(part["remedy"], "remote.mode", part)
        with gateway_for(strong, "unprivileged", capabilities=rights_in_policy()):
            result = refused("1", "backend_unavailable", host())
            tap.contains(result["error"]["message"], "the worker's mode is process, and the policy wants unprivileged")
        tap.equal((weak.metric("offers_total{answer=\"accepted\"}"), weak.metric("runs")), (0, 0))


def test_an_unknown_mode_refuses_the_policy():
    with a_worker() as worker:
        tap.true(provider.use_policy(policy_for(worker, "vm")) != OK, "a mode that no worker has")
        provider.reset()


def test_a_layer_that_the_policy_requires_adds_to_those_of_the_mode():
    with a_worker() as worker, gateway((worker, WORKER), require=["landlock"]):
        _, result = call("1")
        if result["status"] == "completed":
            tap.true("landlock" in result["isolation"]["applied"], result["isolation"])
        else:
            tap.contains(json.dumps(result["error"]), "landlock")


tap.run(globals())
