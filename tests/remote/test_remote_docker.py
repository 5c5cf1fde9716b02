# SPDX-License-Identifier: Apache-2.0
"""A gateway whose programs run in containers of a worker's engine: the layers are those of mode docker, and the images the worker's."""
import engine
import tap
from provider import OK
from remote_gateway import SLEEP, Call, a_worker, call, completed, place, policy_of, provider, refused
from workers import PATIENCE, WORKER

engine.needed()
# Docker mode has no run without these, and an engine that runs as root adds no user namespace.
LAYERS = {"pid_namespace", "mount_namespace", "network_namespace", "cgroup", "read_only_root", "capabilities", "no_new_privileges", "seccomp"}
IMAGES = {"python3": engine.IMAGE, "sh": engine.IMAGE}


def a_docker_worker(images=None):
    return a_worker(mode="docker", docker={"host": engine.HOST, "images": images or IMAGES})


def use(worker, mode="docker"):
    policy = policy_of([place(worker.await_ready().address)])
    policy["remote"]["mode"] = mode
    tap.equal(provider.use_policy(policy), OK, "prepare")


def test_calls_are_containers_of_the_worker():
    with a_docker_worker() as worker:
        use(worker)
        result = completed("import sys\nprint(open('in.txt').read() + sys.stdin.read())\nopen('out.txt', 'w').write('left')",
                           stdin="from afar", files=[{"path": "in.txt", "content": "here "}], outputs=["*.txt"])
        details, applied = result["isolation"]["details"], set(result["isolation"]["applied"])
        tap.equal((result["stdout"], result["mode"]), ("here from afar\n", "remote"), result)
        tap.equal((details["worker"], details["worker_mode"], details["attested_by"]), ("worker-1", "docker", WORKER), details)
        tap.true(LAYERS <= applied, applied)
        tap.contains([(file["path"], file["content"]) for file in result["files"]], ("out.txt", "left"), result)
        provider.reset()
        tap.equal(worker.metric("backend_starts_total"), 1)


def test_sessions_cancellation_and_time():
    with a_docker_worker() as worker:
        use(worker)
        session = completed("x = 41", session="new")["session"]["id"]
        tap.equal(completed("x += 1\nprint(x)", session=session)["stdout"], "42\n")
        completed("0", session=session, session_action="end")
        running = Call(SLEEP).await_begun()
        provider.cancel(running.host.struct.call_id)
        tap.equal(running.end()["status"], "cancelled")
        tap.equal(call(SLEEP, timeout_ms=3000)[1]["status"], "timeout")
        tap.true(tap.within(lambda: worker.metric("runs") == 0, PATIENCE), "the worker has runs left")
        provider.reset()


def test_a_program_without_an_image_names_the_workers_operator():
    with a_docker_worker({"sh": engine.IMAGE}) as worker:
        use(worker)
        result = refused("1", "runtime_not_found")
        tap.contains(result["error"]["message"] + result["error"]["hint"], "docker.images")
        provider.reset()


def test_a_worker_of_docker_is_not_used_for_a_policy_of_process():
    with a_docker_worker() as worker:
        use(worker, "process")
        tap.contains(refused("1", "backend_unavailable")["error"]["message"], "the worker's mode is docker, and the policy wants process")
        use(worker)
        completed("1")
        provider.reset()


tap.run(globals())
