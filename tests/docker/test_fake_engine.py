# SPDX-License-Identifier: Apache-2.0
"""An engine that fails, lies, hangs or talks nonsense at each step: a clear error in bounded time, the container removed by its
name wherever it may exist, and the next call is served as if nothing had been. What comes of the run itself: test_fake_runs.py."""
import json
import os
import pathlib
import random
import resource
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import guest
import tap
from engine_calls import (MEGABYTE, REQUEST, asked, backend_peak, call, directory, lift, measurable, provider, refusal, refused,
                          slow, socket_path, timed, use_engine, run)
from fake_engine import FakeEngine, REPORT, frame
from provider import NOT_RUN, OK, Host

STEPS = ("version", "info", "image", "create", "inspect", "attach", "start", "wait")
# The same steps of the run itself, behind its trial: (step, which time).
RUN_STEPS = tuple((step, 2) for step in STEPS[2:])
QUICK = ("close", "garbage", "short", "chunks", "headers", "huge", "404", "500", "html")
CODES = ("backend_failed", "backend_unavailable", "sandbox_unavailable")


def test_right_engine():
    with FakeEngine(socket_path) as engine:
        code, output = call(engine)
        tap.equal((code, output["status"], output["stdout"], output["exit_code"]), (OK, "completed", "yes\n", 0), output)
        tap.equal(output["stderr"], "err\n", "the guest's frame, not what comes on the container's own standard error")
        tap.equal(output["isolation"]["missing"], ["user_namespace", "landlock"])
        bodies = [body for step, _, body in engine.requests if step == "create"]
        tap.true(bodies and all(b"echo yes" not in body for body in bodies), "the code is in no configuration")


def test_each_step_each_fault():
    for step in STEPS:
        for kind in QUICK:
            with FakeEngine(socket_path, (step, kind), endless=step == "wait") as engine:
                status, output = call(engine)
                what = f"{step} {kind}: {output['status']} {output['error']}"
                tap.true(status == NOT_RUN and output["error"], what)
                tap.true(output["error"]["code"] in CODES, what)


def test_each_step_of_the_run_each_fault():
    for step, number in RUN_STEPS:
        for kind in QUICK:
            if step == "wait":  # nobody waits for the answer about a program that has ended well
                number = 1
            with FakeEngine(socket_path, (step, kind, number), endless=2 if step == "wait" else 0) as engine:
                output = call(engine, {**REQUEST, "timeout_ms": 10000})[1]  # time for a long answer to be found too long
                what = f"{step} {number} {kind}: {output['status']} {output['error']}"
                tap.true(output["status"] == "error" and output["error"]["code"] in CODES, what)
                tap.true(len(output["error"]["hint"]) > 10, what)


def test_an_end_that_cannot_be_read_back_is_an_end():
    for kind in QUICK:
        with FakeEngine(socket_path, ("inspect", kind, 3), statuses=(0, 3)) as engine:
            output = call(engine)[1]
            tap.equal((output["status"], output["exit_code"]), ("completed", 3), kind)
            tap.true(asked(engine, "inspect") >= 3, "it was asked how that came about")


def test_a_failed_sweep_fails_no_run():
    for kind in (*QUICK, "hang", "drip"):
        with FakeEngine(socket_path, ("list", kind)) as engine:
            tap.equal(call(engine)[1]["status"], "completed", kind)


def test_a_requested_sweep_reports_its_outcome():
    for kind in QUICK:
        with FakeEngine(socket_path, ("list", kind)) as engine:
            use_engine()
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump({"modes": {"default": "docker", "allowed": ["docker"]}, "docker": {"host": f"unix://{socket_path}"}}, file)
                file.flush()
                status = provider.prepare(policy_file=file.name, sweep=True)[1]
            provider.reset()
            swept = status["sweep"][0]
            tap.true(swept["error"]["message"], f"{kind}: {swept}")
            tap.true(asked(engine, "list") > 0, kind)


def test_an_engine_without_events_runs_programs():
    for kind in (*QUICK, "hang", "drip"):
        with FakeEngine(socket_path, ("events", kind)) as engine:
            output = call(engine)[1]
            tap.equal((output["status"], output["notes"]), ("completed", []), kind)
            tap.true(asked(engine, "events") > 0, "it was asked")


def test_interim_answers_are_skipped():
    for step in STEPS:
        with FakeEngine(socket_path, (step, "interim")) as engine:
            tap.equal(call(engine)[1]["status"], "completed", step)


def test_short_writes():
    """The right answers in single bytes and in pieces of 1 to 7."""
    for pieces in ([1], [1, 2, 3, 4, 5, 6, 7], [random.Random(5).randint(1, 7) for _ in range(1000)]):
        with FakeEngine(socket_path, pieces=pieces, has_image=False) as engine:
            output = call(engine, pull="missing")[1]
            tap.equal((output["status"], output["stdout"], output["stderr"]), ("completed", "yes\n", "err\n"), output["error"])


@slow
def test_create_that_hangs_ends():
    with FakeEngine(socket_path, ("create", "hang")) as engine:
        refusal(engine, "backend_failed", "in time")


@slow
def test_start_that_drips_ends():
    with FakeEngine(socket_path, ("start", "drip")) as engine:
        refusal(engine, "backend_failed", "in time")


@slow
def test_a_trial_without_a_reported_end_is_refused():
    for options, cause in (({"endless": 1}, "wall_timeout"), ({"flood": 1}, "output_limit")):
        with FakeEngine(socket_path, **options) as engine:
            use_engine()
            refused(*timed(), "backend_failed", f"the trial of the sandbox did not end by itself: {cause}")
            engine.flood = engine.endless = 0
            lift(engine)
            provider.reset()
            tap.equal(engine.containers, {})


def unremoved(kind):
    """It is reported by its name, and removed as soon as the engine can do so again."""
    with FakeEngine(socket_path, ("remove", kind)) as engine:
        use_engine()
        status, output = timed()
        refused(status, output, "backend_failed", "")
        left = next(iter(engine.containers))
        lift(engine)
        provider.reset()
        return output["error"]["message"], left


@slow
def test_a_container_that_stays_is_reported():
    for kind in ("500", "close", "garbage", "short"):
        message, left = unremoved(kind)
        tap.contains(message, f"does not remove the container {left}")


@slow
def test_removal_that_hangs_ends():
    tap.contains(unremoved("hang")[0], "in time")


@slow
def test_removal_in_endless_answers_ends():
    for kind in ("headers", "huge"):
        unremoved(kind)


def test_every_false_member_is_named():
    lies = {"HostConfig.Privileged": True, "HostConfig.NetworkMode": "host", "HostConfig.CapDrop": None,
            "HostConfig.CapAdd": ["SYS_ADMIN"], "HostConfig.Binds": ["/:/host"], "HostConfig.ReadonlyRootfs": False,
            "HostConfig.SecurityOpt": ["seccomp=unconfined"], "HostConfig.PidMode": "host", "HostConfig.Memory": 0,
            "HostConfig.PidsLimit": 0, "HostConfig.MaskedPaths": [], "HostConfig.Devices": [{"PathOnHost": "/dev/sda"}],
            "HostConfig.Tomorrow": "new", "HostConfig.Mounts": [{"Type": "bind", "Source": "/", "Target": "/host"}],
            "Config.User": "0:0", "Config.Entrypoint": ["/bin/evil"], "Mounts": [{"Type": "bind"}]}
    for path, value in lies.items():
        with FakeEngine(socket_path, lie={path: value}) as engine:
            refusal(engine, "sandbox_unavailable", f"{path} differs")
            tap.true("start" not in [request[0] for request in engine.requests], f"{path}: never started")


def test_a_process_that_reports_privileges_is_refused():
    for right, wrong in (("NoNewPrivs:\t1", "NoNewPrivs:\t0"), ("Seccomp:\t2", "Seccomp:\t0"), ("CapBnd:\t0000", "CapBnd:\ta804")):
        with FakeEngine(socket_path, report=REPORT.replace(right, wrong)) as engine:
            refusal(engine, "sandbox_unavailable", "must not have")
            tap.equal(engine.messages, [], f"{wrong}: it gets no run")


def test_gvisors_runtime_has_gvisors_kernel():
    info = {"Runtimes": {"runc": {"path": "runc"}, "strong": {"path": "/usr/bin/runsc"}}}
    report = REPORT.replace("Seccomp:\t2", "Seccomp:\t0") + "Kernel:\tgVisor\n"
    with FakeEngine(socket_path, info=info, report=REPORT + "Kernel:\tLinux\n") as engine:
        refusal(engine, "sandbox_unavailable", "the container's kernel is not", runtime="strong")
        tap.equal(engine.messages, [], "it gets no run")
        tap.equal(call(engine)[1]["isolation"]["details"]["kernel"], "Linux")
    with FakeEngine(socket_path, info=info, report=report) as engine:
        isolation = call(engine, runtime="strong")[1]["isolation"]
        tap.equal((isolation["details"]["runtime"], isolation["details"]["kernel"]), ("strong", "gVisor"))
        tap.equal(isolation["missing"], ["user_namespace", "cgroup_namespace", "landlock"])
    with FakeEngine(socket_path, info=info, report=report) as engine:  # else a missing filter would be excused
        refusal(engine, "sandbox_unavailable", "its runtime is not by name and path", runtime="runc")
        tap.equal(engine.messages, [], "it gets no run")


def test_landlock_is_there_where_the_guest_says_so():
    with FakeEngine(socket_path, report=REPORT + "Landlock:\t5\n") as engine:
        isolation = call(engine)[1]["isolation"]
        tap.equal((isolation["missing"], isolation["details"]["landlock_abi"]), (["user_namespace"], 5))
        tap.equal(call(engine, more={"require": ["landlock"]})[1]["status"], "completed")
    with FakeEngine(socket_path, report=REPORT + "Landlock:\t0\n") as engine:
        tap.equal(call(engine)[1]["status"], "completed")
        told = len(engine.messages)
        error = call(engine, more={"require": ["landlock"]})[1]["error"]
        tap.equal((error["code"], len(engine.messages)), ("sandbox_unavailable", told), "refused before the guest has the run")
        tap.contains(error["message"], "landlock")


def test_missing_runtime():
    with FakeEngine(socket_path, word="missing") as engine:
        refusal(engine, "runtime_not_found", "runtime not found: sh")


def test_broken_streams():
    facts, waiting, started = guest.frame("facts", REPORT.encode()), guest.frame("waiting"), guest.frame("started")
    spoilt = (b"hello, I am the program\n", guest.frame("stdout", b"early"), facts + started, facts + waiting + waiting, facts + waiting + facts,
              facts + waiting + started + started, facts + waiting + started + guest.ended() + guest.frame("stdout", b"late"),
              facts + waiting + started + guest.frame("ended", b"short"), guest.HEADER.pack(9000, 1) + b"x" * 9000, guest.HEADER.pack(1 << 20, 6))
    for stream in (b"", b"\x01\x00", frame(1, facts + waiting + started) + b"\x07garbage", b"\x01\0\0\0\xff\xff\xff\xff", *(frame(1, said) for said in spoilt)):
        with FakeEngine(socket_path, stream=stream) as engine:
            status, output = call(engine)
            tap.true(status == NOT_RUN and output["status"] == "error", f"{stream[-40:]}: {output['status']}")


def test_unsuitable_engines_are_refused():
    for options, code, text in (({"api": "1.40"}, "backend_unavailable", "too old"),
                                ({"info": {"SecurityOptions": []}}, "sandbox_unavailable", "no seccomp"),
                                ({"info": {"PidsLimit": False}}, "sandbox_unavailable", "PidsLimit"),
                                ({"warnings": ["no swap limit"]}, "sandbox_unavailable", "no swap limit"),
                                ({"fault": ("image", "404")}, "backend_unavailable", "does not have the image example:1")):
        with FakeEngine(socket_path, **options) as engine:
            refusal(engine, code, text)
    with FakeEngine(socket_path) as engine:
        refusal(engine, "backend_unavailable", "pinned by digest", require_digest=True)
        tap.equal(engine.requests, [], "asked nothing")


def test_runtime_that_the_engine_lacks():
    with FakeEngine(socket_path, info={"Runtimes": {"runc": {"path": "runc"}}}) as engine:
        refusal(engine, "backend_unavailable", "no OCI runtime kata", runtime="kata")
        tap.equal(asked(engine, "create"), 0, "created")
        tap.equal(provider.use_policy({}), OK)


def test_names_from_an_engine_become_text():
    with FakeEngine(socket_path, version="20.10-" + "\u00e9" * 60, info={"DefaultRuntime": "\u65e5\r\n" * 60}) as engine:
        output = call(engine)[1]
        tap.equal(output["status"], "completed", output["error"])


def test_messages_from_an_engine_become_text():
    """They are cut where the buffer ends, but never inside a character."""
    for length in range(60, 64):
        with FakeEngine(socket_path, lie={"HostConfig." + "a" * length + "\u00e9\u65e5" * 30: 1}) as engine:
            refusal(engine, "sandbox_unavailable", "HostConfig.aaaa")
        with FakeEngine(socket_path, warnings=["w" * length + "\u00e9\u65e5\x07\r\n" * 30]) as engine:
            refusal(engine, "sandbox_unavailable", "wwww")
    with FakeEngine(socket_path, stream=frame(1, guest.frame("failed", b"\xff\xe9\n"))) as engine:
        refusal(engine, "backend_failed", "the backend failed")


def network(engine, code, text):
    refusal(engine, code, text, request={**REQUEST, "network": True}, more={"network": {"allowed": True}},
            caller=Host(("sandbox.exec", "sandbox.exec.network")))
    tap.true(asked(engine, "network") > 0, "asked for the network")


def test_network_that_the_engine_lacks():
    with FakeEngine(socket_path, ("network", "404")) as engine:
        network(engine, "backend_unavailable", "no network \"bridge\"")
    for kind in ("500", "garbage", "html", "close"):
        with FakeEngine(socket_path, ("network", kind)) as engine:
            network(engine, "backend_failed", "docker")


def test_no_workspace():
    """A bind mount would show the machine's sockets: a workspace is refused before any request to an engine."""
    workspace = os.path.realpath(directory.name)
    with FakeEngine(socket_path) as engine:
        _, result = call(engine, more={"workspace": {"below": [workspace]}}, caller=Host(context={"workspace": workspace}))
        tap.equal((result["status"], result["error"]["code"]), ("error", "not_supported"), result)
        tap.contains(result["error"]["message"], "mode docker cannot show it without the machine's sockets and FIFOs")
        tap.equal(engine.requests, [], "requests to the engine")


def test_an_unrequested_mount_is_refused():
    for mount in ({"Type": "bind", "Source": "/", "Destination": "/work", "RW": False}, {"Type": "volume", "Destination": "/data"}):
        with FakeEngine(socket_path, lie={"Mounts": [mount]}) as engine:
            refusal(engine, "sandbox_unavailable", "Mounts differs")


def test_memory_does_not_grow_with_an_answer():
    measurable()
    usual = None
    for fault in ((None, None), ("version", "huge"), ("info", "huge"), ("inspect", "huge"), ("image", "headers"), ("list", "huge")):
        with FakeEngine(socket_path, fault):
            use_engine()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            timed()
            peak = backend_peak()
            provider.reset()
            usual = usual or peak
            tap.true(peak - usual < 16 * MEGABYTE, f"{fault}: the backend's memory grew by {peak - usual} bytes")
            tap.true(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024, f"{fault}: the host's memory")


def test_memory_does_not_grow_with_output():
    measurable()
    with FakeEngine(socket_path, flood=2) as engine:
        use_engine(more={"limits": {"output_total_bytes": {"default": 64 * MEGABYTE, "max": 64 * MEGABYTE}}})
        output = timed({**REQUEST, "timeout_ms": 10000}, Host(on_output=None))[1]
        peak = backend_peak()
        provider.reset()
        tap.equal((output["status"], output["cause"]), ("killed", "output_limit"), output["error"])
        tap.true(peak < 64 * MEGABYTE, f"the backend's memory: {peak}")
        tap.equal(engine.containers, {})


def test_image_only_of_the_list():
    with FakeEngine(socket_path) as engine:
        use_engine()
        host = Host(("sandbox.exec", "sandbox.exec.image"))
        output = provider.invoke({**REQUEST, "image": "evil:1"}, host)[1]
        tap.equal((output["status"], output["error"]["code"]), ("denied", "policy_denied"))
        tap.equal(provider.invoke({**REQUEST, "image": "example:1"}, host)[1]["status"], "completed")
        output = provider.invoke({"language": "python", "code": "print(1)"}, host)[1]
        tap.equal(output["error"]["code"], "language_not_allowed")
        provider.reset()
        tap.equal(engine.containers, {})


run(globals())
