# SPDX-License-Identifier: Apache-2.0
"""Docker mode's containers that are made ahead of need, on an engine by plan (fake_engine.py): each is used once, none is shown to a
caller when it is lost, none stays; and the answer that does not wait for a removal."""
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from engine_calls import REQUEST, asked, lift, provider, refused, slow, socket_path, timed, use_engine, run
import fake_engine
from fake_engine import IMAGE
from modes import gateway
from provider import Host

OTHER_IMAGE = "sha256:" + "2" * 64
# The first calls make these containers, in this order: the trial's, the run's, and the one that is kept ready.
TRIAL, COLD, READY = 1, 2, 3


class FakeEngine(fake_engine.FakeEngine):
    """A failed case must not leave a backend to the next case, whose engine has the same socket."""

    def __exit__(self, *_):
        provider.reset()
        super().__exit__()


def keep(ready=1, idle_ms=60000, more=None, **docker):
    use_engine(more={"pools": {"docker": {"ready": ready, "idle_ms": idle_ms}}, **(more or {})}, **docker)


def completes(request=REQUEST, caller=None):
    output = timed(request, caller)[1]
    tap.equal((output["status"], output["stdout"]), ("completed", "yes\n"), output["error"])
    return output


def await_waiting(engine, numbers):
    tap.eventually(lambda: engine.waiting() == numbers, f"{numbers} wait: {engine.waiting()}", 60)


def await_ready(engine, numbers):
    await_waiting(engine, numbers)
    tap.eventually(lambda: sum(row["ready"] for row in provider.pool("docker")[1].values()) == len(numbers), "the backend knows of them")


def begin(engine, **policy):
    """Waits until a container is ready."""
    keep(**policy)
    completes()
    await_ready(engine, [READY])


def end(engine):
    """No container is left when the backend has ended."""
    provider.reset()
    tap.equal(engine.containers, {}, "containers left")


def served_by(engine):
    return [number for number, _ in engine.messages]


def test_one_is_made_ready_and_used_once():
    with FakeEngine(socket_path) as engine:
        begin(engine)
        made = asked(engine, "create")
        completes()
        tap.equal(served_by(engine), [TRIAL, COLD, READY], "who served")
        await_ready(engine, [READY + 1])
        tap.equal(asked(engine, "create"), made + 1, "one for one")
        tap.eventually(lambda: len(engine.containers) == 1, "the used one is removed", 20)
        completes()
        tap.equal(served_by(engine)[-1], READY + 1)
        end(engine)


def test_nothing_of_a_run_is_in_its_configuration():
    with FakeEngine(socket_path) as engine:
        begin(engine)
        completes({**REQUEST, "env": {"A": "canary"}})
        tap.true(b"A=canary" in engine.messages[-1][1]["environment"], "it was sent to the guest")
        bodies = [body for step, _, body in engine.requests if step == "create"]
        tap.true(all(b"canary" not in body for body in bodies), "it is in no configuration")
        runs = [json.loads(body)["Labels"]["code-execute.run"] for body in bodies]
        tap.equal(runs[READY - 1], "waiting")
        tap.equal(len(runs[COLD - 1]), 32, "positive control: a cold one has its run's id")
        end(engine)


def test_a_pool_of_zero_is_emptied():
    with FakeEngine(socket_path) as engine:
        begin(engine)
        keep(ready=0)
        completes()
        tap.true(READY not in served_by(engine), "a cold one served")
        tap.eventually(lambda: engine.containers == {}, "what waits is taken away", 20)
        end(engine)


def test_the_policy_s_number_is_kept_ready():
    with FakeEngine(socket_path) as engine:
        keep(ready=3)
        completes()
        waiting = [READY, READY + 1, READY + 2]
        await_ready(engine, waiting)
        completes()
        served = served_by(engine)[-1]
        tap.true(served in waiting, f"one of those that waited: {served}")  # the first to say so, not the first to be made
        await_ready(engine, sorted({*waiting, READY + 3} - {served}))
        end(engine)


def test_a_name_with_another_image_gets_another_container():
    with FakeEngine(socket_path, ids=(IMAGE, IMAGE, OTHER_IMAGE)) as engine:
        begin(engine)
        refused(*timed(), "backend_unavailable", "has become another image since the run was prepared")
        completes()
        tap.true(READY not in served_by(engine), "what was made of the other image serves nobody")
        bodies = [json.loads(body) for step, _, body in engine.requests if step == "create"]
        tap.equal([engine.base_of(body["Image"]) for body in bodies[:READY + 1]], [IMAGE] * READY + [OTHER_IMAGE])
        end(engine)


def test_other_limits_are_another_template():
    with FakeEngine(socket_path) as engine:
        begin(engine)
        keep(more={"limits": {"memory_bytes": {"default": 64 << 20}}})
        completes()
        tap.true(READY not in served_by(engine), "a cold one served")
        end(engine)


def test_another_time_limit_is_the_same_template():
    with FakeEngine(socket_path) as engine:
        begin(engine)
        completes({**REQUEST, "timeout_ms": 3000})
        tap.equal(served_by(engine)[-1], READY)
        end(engine)


def test_a_run_with_a_network_gets_a_new_container():
    with FakeEngine(socket_path) as engine:
        begin(engine, more={"network": {"allowed": True}})
        completes({**REQUEST, "network": True}, Host(("sandbox.exec", "sandbox.exec.network")))
        tap.true(READY not in served_by(engine), "a cold one served")
        completes()
        tap.equal(served_by(engine)[-1], READY, "which was there all the time")
        end(engine)


def test_a_waiting_container_that_ends_fails_no_run():
    with FakeEngine(socket_path) as engine:
        begin(engine)
        engine.drop()
        completes()
        tap.true(READY not in served_by(engine), "a cold one served")
        end(engine)


def test_a_container_lost_with_its_message_is_replaced():
    with FakeEngine(socket_path, lost={READY: "dropped"}) as engine:
        begin(engine)
        completes()
        tap.equal(served_by(engine), [TRIAL, COLD, READY, READY + 1], "the same message once more, on the cold road")
        tap.true(engine.messages[-1][1] == engine.messages[-2][1], "the same message")
        end(engine)


def test_an_end_reported_before_the_output_is_an_end():
    with FakeEngine(socket_path, hasty=True) as engine:
        begin(engine)
        completes()
        tap.equal(served_by(engine), [TRIAL, COLD, READY], "each message once")
        end(engine)


@slow
def test_a_silent_container_is_replaced():
    with FakeEngine(socket_path, lost={READY: "silent"}) as engine:
        begin(engine)
        completes()
        *served, last = served_by(engine)
        tap.equal(served, [TRIAL, COLD, READY])
        tap.true(last > READY, "and one that was made for it")
        end(engine)


def test_a_lost_new_container_fails_its_run():
    """Only a waiting container is replaced."""
    with FakeEngine(socket_path, lost={COLD: "dropped"}) as engine:
        keep()
        refused(*timed(), "backend_failed", "the container's set-up ended")
        end(engine)


def test_an_altered_waiting_container_refuses_no_run():
    with FakeEngine(socket_path, lie={"HostConfig.Privileged": True}, honest=COLD) as engine:
        keep()
        completes()
        tap.eventually(lambda: len(engine.names) == READY and engine.containers == {}, "it was made and thrown away", 20)
        tap.equal(asked(engine, "start"), COLD, "and never started")
        refused(*timed(), "sandbox_unavailable", "HostConfig.Privileged differs")
        end(engine)


def test_an_unused_pool_is_given_up():
    with FakeEngine(socket_path) as engine:
        keep(idle_ms=700)
        completes()
        tap.eventually(lambda: len(engine.names) == READY and engine.containers == {}, "it was made, and removed", 20)
        completes()
        end(engine)


def told():
    """How many containers are ready and how many are wanted, by interpreter, as the backend reports; False: it has not in time."""
    state, rows = provider.pool("docker")
    return state == "answered" and {kind: (row["ready"], row["wanted"]) for kind, row in rows.items()}


def test_the_status_reports_the_pool_of_this_moment():
    with FakeEngine(socket_path) as engine:
        keep(ready=2, idle_ms=6000)
        tap.equal(provider.pool("docker")[0], "stopped")
        completes()
        tap.eventually(lambda: told() == {"none": (2, 2), "python": (0, 0), "node": (0, 0)}, "two of two", 20)
        tap.equal(len(engine.waiting()), 2)
        tap.equal([row["memory_bytes"] for row in provider.pool("docker")[1].values()], [None, 0, 0], "which no engine is asked for")
        tap.eventually(lambda: told() == dict.fromkeys(("none", "python", "node"), (0, 0)), "nobody asks for them any more", 20)
        tap.eventually(lambda: engine.containers == {}, "they are gone", 20)
        end(engine)
        tap.equal(provider.pool("docker")[0], "stopped")


def test_an_engine_that_hangs_does_not_keep_the_question_waiting():
    with FakeEngine(socket_path, ("start", "hang", READY)) as engine:
        keep()
        completes()
        tap.eventually(lambda: asked(engine, "start") == READY, "one is being made", 20)
        tap.eventually(lambda: told() and told()["none"] == (0, 1), "none is ready", 20)
        end(engine)


def test_shutdown_leaves_none():
    for ready in (1, 4):
        with FakeEngine(socket_path) as engine:
            keep(ready=ready)
            completes()
            tap.eventually(lambda: len(engine.waiting()) == ready, "they wait", 20)
            end(engine)


def test_shutdown_during_a_creation_leaves_none():
    for step in ("create", "inspect", "attach", "start"):
        with FakeEngine(socket_path, (step, "hang", READY)) as engine:
            keep()
            completes()
            tap.eventually(lambda: asked(engine, step) == READY, f"one is being made: {step}", 20)
            if step == "create":
                provider.reset()  # which is not known to be there
                continue
            end(engine)


def test_none_outlives_the_gateway():
    with FakeEngine(socket_path) as engine:
        policy = {"modes": {"default": "docker", "allowed": ["docker"]}, "pools": {"docker": {"ready": 2}},
                  "docker": {"host": f"unix://{socket_path}", "images": {"sh": "example:1"}}}
        host = gateway(f"p = Provider(); p.use_policy({policy!r}); p.invoke({{'language': 'sh', 'code': 'true'}}, Host()); "
                       "print('done', flush=True); sys.stdin.read()", stdin=-1)
        tap.equal(host.stdout.readline(), "done\n")
        await_waiting(engine, [READY, READY + 1])
        host.kill()
        host.wait()
        tap.eventually(lambda: engine.containers == {}, "none is left", 20)


def test_many_at_once():
    with FakeEngine(socket_path) as engine:
        keep(ready=2)
        completes()
        outputs = []
        threads = [threading.Thread(target=lambda: outputs.append(timed()[1]["stdout"])) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tap.equal(outputs, ["yes\n"] * 12)
        tap.equal(len(set(served_by(engine))), len(engine.messages), "each once")
        end(engine)


def test_an_end_that_the_guest_reports_does_not_wait_for_the_engine():
    """The guest waits for the removal of its container."""
    with FakeEngine(socket_path) as engine:
        keep(ready=0)
        output = completes()
        tap.equal((output["exit_code"], output["stderr"]), (0, "err\n"), output)
        tap.eventually(lambda: engine.containers == {}, "it is removed", 20)
        end(engine)


@slow
def test_answer_does_not_wait_for_the_removal():
    with FakeEngine(socket_path, ("remove", "500", 2)) as engine:
        keep(ready=0)
        completes()
        [left] = engine.containers
        tap.eventually(lambda: asked(engine, "remove") > 50, "it was tried often", 20)
        refused(*timed(), "backend_failed", f"does not remove the container {left}")
        tap.equal(list(engine.containers), [left], "no other one is made as long as it stays")
        lift(engine)
        tap.eventually(lambda: engine.containers == {}, "removed as soon as the engine can", 20)
        end(engine)


run(globals())
