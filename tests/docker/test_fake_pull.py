# SPDX-License-Identifier: Apache-2.0
"""Images that are missing or not the right ones, and pulls by an engine that fails, hangs or sends nonsense."""
import json
import pathlib
import resource
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from engine_calls import (MEGABYTE, REQUEST, asked, backend_peak, call, lift, measurable, provider, refusal, refused, slow,
                          socket_path, timed, use_engine, run)
from fake_engine import IMAGE, PULL, FakeEngine
from provider import Host


def pull(engine, policy="missing", host=None):
    use_engine(pull=policy)
    result = timed(host=host)
    provider.reset()
    tap.equal(engine.containers, {}, "containers left")
    return result


def test_missing_image_is_pulled_where_the_policy_says_so():
    for policy, has_image, pulls in (("never", False, 0), ("never", True, 0), ("missing", True, 0), ("missing", False, 1),
                                     ("always", True, 1), ("always", False, 1)):
        with FakeEngine(socket_path, has_image=has_image) as engine:
            host, what = Host(), f"{policy} {has_image}"
            status, output = pull(engine, policy, host)
            tap.equal(asked(engine, "pull"), pulls, what)
            if policy == "never" and not has_image:
                refused(status, output, "backend_unavailable", "does not have the image example:1")
            else:
                tap.equal(output["status"], "completed", f"{what}: {output['error']}")
            tap.true(host.output[3].startswith(b"pulling example:1") if pulls else host.output[3] == b"", f"{what}: {host.output[3]}")


def test_a_pull_reports_its_progress():
    with FakeEngine(socket_path, has_image=False, pull=PULL[:3] + [2.5] + PULL[3:]) as engine:
        host = Host()
        tap.equal(pull(engine, host=host)[1]["status"], "completed")
        tap.contains(host.output[3].decode(), "pulling example:1: 0 of 1 layers, 0.5 of 2.0 MB")


@slow
def test_a_long_pull_is_waited_for():
    """A line a second, for longer than any other answer may take."""
    with FakeEngine(socket_path, has_image=False, pull=[part for _ in range(25) for part in (PULL[2], 1.0)]):
        use_engine(pull="missing")
        output = provider.invoke(REQUEST, Host())[1]
        provider.reset()
        tap.equal(output["status"], "completed", output["error"])


def test_refused_pulls():
    no = {"errorDetail": {"message": "x"}, "error": "toomanyrequests: \u00e9\r\n"}
    for faults, text in (({"pull": PULL[:2] + [no]}, "toomanyrequests"), ({"fault": ("pull", "404")}, "plan"),
                         ({"fault": ("pull", "500")}, "plan")):
        with FakeEngine(socket_path, has_image=False, **faults) as engine:
            refused(*pull(engine), "backend_unavailable", f"pull refused: example:1: {text}")
            tap.equal(asked(engine, "create"), 0, "created")


def test_broken_pulls():
    for kind in ("close", "garbage", "short", "chunks", "headers"):
        with FakeEngine(socket_path, ("pull", kind), has_image=False) as engine:
            use_engine(pull="missing")
            refused(*timed(), "backend_failed", "docker")
            lift(engine, kind)
            provider.reset()
            tap.equal(engine.containers, {})
    with FakeEngine(socket_path, ("pull", "html"), has_image=False) as engine:
        refused(*pull(engine), "backend_unavailable", "does not have the image example:1")
        tap.equal(asked(engine, "pull"), 1, "not again and again")


def test_pull_of_nonsense():
    nonsense = [b"not json\n", b"\xff\x00\n", b"[]\n", b"{\"id\":1}\n", b"\n\n",
                b"{\"status\":\"Downloading\",\"id\":\"x\",\"progressDetail\":7}\n"]
    with FakeEngine(socket_path, has_image=False, pull=nonsense) as engine:
        tap.equal(pull(engine)[1]["status"], "completed")


def test_pull_of_a_million_lines():
    measurable()
    line = json.dumps(PULL[2]).encode() + b"\n"
    with FakeEngine(socket_path, has_image=False, pull=[line * 10000] * 100):
        use_engine(pull="missing")
        begin, output = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, timed()[1]
        peak = backend_peak()
        provider.reset()
        tap.equal(output["status"], "completed", output["error"])
        tap.true(peak < 64 * MEGABYTE, f"the backend's memory: {peak}")
        tap.true(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin < 32 * 1024, "the host's memory")


def test_pull_of_one_line_without_an_end():
    measurable()
    with FakeEngine(socket_path, has_image=False, pull=[b"{" + b" " * (10 * MEGABYTE)]):
        use_engine(pull="missing")
        status, output = timed()
        peak = backend_peak()
        provider.reset()
        refused(status, output, "backend_failed", "longer than")
        tap.true(peak < 64 * MEGABYTE, f"the backend's memory: {peak}")


def silent_pull(kind):
    with FakeEngine(socket_path, ("pull", kind), has_image=False) as engine:
        use_engine(pull="missing")
        status, output = provider.invoke(REQUEST, Host())
        refused(status, output, "backend_failed", "did not report the result of pulling example:1")
        lift(engine, kind)
        provider.reset()


@slow
def test_pull_that_hangs_ends():
    silent_pull("hang")


@slow
def test_pull_that_drips_without_a_line_ends():
    silent_pull("drip")


def test_pull_can_be_cancelled():
    with FakeEngine(socket_path, ("pull", "hang"), has_image=False) as engine:
        use_engine(pull="missing")
        host = Host(call_id=5)
        thread = threading.Thread(target=lambda: (tap.eventually(lambda: asked(engine, "pull"), "a pull", 20), provider.cancel(5)))
        thread.start()
        output = timed(host=host)[1]
        thread.join()
        tap.equal((output["status"], output["error"]["code"]), ("cancelled", "cancelled"), output)
        lift(engine)
        provider.reset()


def test_another_image_than_the_digest():
    pinned = "example@sha256:" + "2" * 64
    images = {"sh": pinned}
    with FakeEngine(socket_path, digests=["example@sha256:" + "3" * 64]) as engine:
        refusal(engine, "backend_unavailable", "digest mismatch", images=images)
        tap.equal(asked(engine, "create"), 0, "created")
    for digests in (["example@sha256:" + "3" * 64, pinned], [pinned]):
        with FakeEngine(socket_path, digests=digests) as engine:
            tap.equal(call(engine, images=images, require_digest=True)[1]["status"], "completed")


def test_image_that_changes_between_trial_and_run():
    other = "sha256:" + "4" * 64
    with FakeEngine(socket_path, ids=(IMAGE, other)) as engine:
        use_engine()
        refused(*timed(), "backend_unavailable", "example:1 has become another image since the run was prepared")
        tap.equal(asked(engine, "create"), 1, "the trial's container alone")
        lift(engine)
        provider.reset()
        tap.equal(engine.containers, {})


run(globals())
