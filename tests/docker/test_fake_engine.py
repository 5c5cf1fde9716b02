# SPDX-License-Identifier: Apache-2.0
"""An engine that fails, lies, hangs or talks nonsense at each step: a clear error in bounded time, the container removed by its
name wherever it may exist, and the next call is served as if nothing had been."""
import json
import os
import pathlib
import random
import resource
import struct
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import guest
import tap
from engine_calls import (MEGABYTE, REQUEST, asked, backend_peak, call, directory, lift, measurable, provider, refusal, refused,
                          slow, socket_path, timed, use_engine, run)
from fake_engine import FakeEngine, REPORT, frame
from input_files import host_of
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


def shown(text):
    """A frame of a program's (docs/internals/run.md)."""
    payload = json.dumps({"role": "value", "data": {"text/plain": text}, "type_name": "str"}).encode()
    return struct.pack("<IB", len(payload), 1) + payload


def test_a_program_s_results_come_through_and_harm_nothing_else():
    """Garbage, and a flood beyond every budget, are the run's own affair."""
    python = {**REQUEST, "language": "python", "code": "'x'"}
    for results, rows in ((shown("'x'"), ["'x'"]), (b"", []), (os.urandom(300_000), []), (shown("'a'") + b"\xff" * 5_000_000, ["'a'"]),
                          (guest.ended(9) + guest.frame("stdout", b"forged"), [])):
        with FakeEngine(socket_path, results=results) as engine:
            code, output = call(engine, python, images={"sh": "example:1", "python": "example:1"})
            tap.equal((code, output["status"], output["stdout"], output["exit_code"]), (OK, "completed", "yes\n", 0), output)
            tap.equal([row["text"] for row in output["results"]], rows)


def test_files_come_through_behind_the_end():
    """In whatever cuts; behind a bad end, too."""
    sent = guest.file_frames("a", b"x" * 50000) + guest.file_frames("b", b"y") + guest.FILE_LAST
    for cut, statuses in ((1 << 16, (0,)), (7777, (0,)), (1 << 16, (0, 3))):
        with FakeEngine(socket_path, files=[sent[at:at + cut] for at in range(0, len(sent), cut)], statuses=statuses) as engine:
            code, output = call(engine)
            tap.equal((code, output["status"], output["stdout"], output["exit_code"]), (OK, "completed", "yes\n", statuses[-1]), output)
            tap.equal([(file["path"], file["content"]) for file in output["files"]], [("a", "x" * 50000), ("b", "y")])
            tap.equal(output["files_omitted"], None)


def test_a_guest_that_is_lost_among_the_files_loses_only_those():
    """The result is that of the program's end; what is missing is said."""
    whole = guest.file_frames("a", b"x" * 50000)
    for files, names in (((whole, whole[:-100]), ["a", "a"]), ((whole,), ["a"]), ((), [])):
        with FakeEngine(socket_path, files=files, collected=False) as engine:
            code, output = call(engine)
            tap.equal((code, output["status"], output["error"], output["stdout"]), (OK, "completed", None, "yes\n"), output)
            tap.equal([file["path"] for file in output["files"]][:1], names[:1])
            tap.equal(output["files_omitted"]["reason"] in ("killed", "lost"), True, output["files_omitted"])


def test_files_are_taken_behind_the_end_alone():
    """A program's bytes are no frames of files, and a guest that speaks out of turn has no run."""
    early = guest.frame("files", guest.file_frames("a", b"x") + guest.FILE_LAST) + guest.frame("collected")
    with FakeEngine(socket_path, results=early, output=early[:200]) as engine:
        _, output = call(engine, {**REQUEST, "language": "python", "code": "1"}, images={"sh": "example:1", "python": "example:1"})
        tap.equal((output["status"], output["files"]), ("completed", []))
    with FakeEngine(socket_path) as engine:
        engine.told += frame(1, early)
        refusal(engine, "backend_failed", "does not speak as it should")


def input_of(size):
    """A file of that size by reference: its request and the host that offers it."""
    path = pathlib.Path(directory.name) / f"input-{size}"
    path.write_bytes(b"i" * size)
    return {**REQUEST, "files": [{"path": "in", "ref": "r"}]}, host_of({"r": path})


def test_a_file_by_reference_comes_whole_over_a_connection_of_short_writes():
    request, host = input_of(3 * MEGABYTE)
    with FakeEngine(socket_path, reluctant=(50_000, 0.001)) as engine:
        code, output = call(engine, request, host)
        tap.equal((code, output["stdout"]), (OK, "yes\n"), output["error"])
        told = engine.messages[-1][1]
        tap.equal((told["paths"][1], told["contents"][1]), (b"in", b"i" * 3 * MEGABYTE))
        asked_for = [json.loads(body)["HostConfig"] for step, _, body in engine.requests if step == "create"][-1]
        limit = next(row["Hard"] for row in asked_for["Ulimits"] if row["Name"] == "fsize")
        tap.true(told["file_bytes"] == limit > 3 * MEGABYTE, f"the program's own limit: {told['file_bytes']} of {limit}")


@slow
def test_a_file_by_reference_takes_as_long_as_it_goes_on():
    """Longer than the plugin waits for a set-up."""
    request, host = input_of(4 * MEGABYTE)
    with FakeEngine(socket_path, reluctant=(MEGABYTE, 7)) as engine:
        begin = time.monotonic()
        code, output = call(engine, request, host)
        tap.equal((code, output["stdout"]), (OK, "yes\n"), output["error"])
        tap.true(time.monotonic() - begin > 25, "it took longer than a set-up may without a word")


@slow
def test_a_file_by_reference_that_nobody_takes_ends():
    request, host = input_of(4 * MEGABYTE)
    with FakeEngine(socket_path, reluctant=(MEGABYTE, 120)) as engine:
        refusal(engine, "backend_failed", "in time", request=request, caller=host)
        tap.equal(len(engine.messages), 1, "the trial's")


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


def test_a_memory_kill_that_the_program_survives_is_reported():
    killed = "a process of the run was killed because the memory limit"
    with FakeEngine(socket_path, starved=True) as engine:
        output = call(engine)[1]
        tap.equal((output["status"], output["cause"], output["stdout"], len(output["notes"])), ("completed", "exit", "yes\n", 1), output)
        tap.contains(output["notes"][0], killed)
    with FakeEngine(socket_path) as engine:
        tap.equal(call(engine)[1]["notes"], [], "control")
    for starved, cause in ((True, "memory_limit"), (False, "exit")):
        with FakeEngine(socket_path, starved=starved, statuses=(0, 3)) as engine:
            output = call(engine)[1]
            tap.equal((output["exit_code"], output["cause"]), (3, cause), "a bad end is for want of memory, as in process mode")
    with FakeEngine(socket_path, endless=2, starved=True) as engine:
        output = call(engine)[1]
        tap.equal((output["status"], output["cause"]), ("timeout", "wall_timeout"), output)
        tap.contains("\n".join(output["notes"]), killed)
        tap.contains(output["error"]["hint"], "use less memory")


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
def test_end_in_time_is_no_timeout():
    """However long the engine takes to report the reason."""
    for kind in ("hang", "drip"):
        with FakeEngine(socket_path, ("inspect", kind, 3), statuses=(0, 3)) as engine:
            output = call(engine)[1]
            tap.equal((output["status"], output["exit_code"], output["stdout"]), ("completed", 3, "yes\n"), kind)
            tap.true(asked(engine, "inspect") >= 3, "it was asked")


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


@slow
def test_a_run_without_a_reported_end_is_killed():
    with FakeEngine(socket_path, endless=2) as engine:
        output = call(engine)[1]
        tap.equal((output["status"], output["cause"], output["stdout"]), ("timeout", "wall_timeout", "yes\n"), output)
        tap.equal(output["files_omitted"], {"count": 0, "bytes": 0, "reason": "killed"}, "a guest that does not obey takes its files along")
        tap.equal(engine.containers, {})


def test_a_good_end_needs_no_word_of_the_engine():
    with FakeEngine(socket_path, ("wait", "hang")) as engine:
        output = call(engine)[1]
        tap.equal((output["status"], output["exit_code"], output["stdout"]), ("completed", 0, "yes\n"), output)


@slow
def test_a_bad_end_waits_for_the_engine_s_reason_until_its_time_is_over():
    with FakeEngine(socket_path, ("wait", "hang", 2), statuses=(0, 3)) as engine:
        output = call(engine)[1]
        tap.equal((output["status"], output["exit_code"], output["cause"], output["stdout"]), ("completed", 3, "exit", "yes\n"), output)


def test_ends_are_the_guest_s_word():
    for status, told in ((137, (None, "KILL", "signal")), (3, (3, None, "exit")), (159, (None, "SYS", "forbidden_syscall")), (152, (None, "XCPU", "cpu_limit"))):
        with FakeEngine(socket_path, statuses=(0, status)) as engine:
            output = call(engine)[1]
            tap.equal((output["exit_code"], output["signal"] and output["signal"].removeprefix("SIG"), output["cause"]), told, output)


def test_usage_is_the_guest_s_word():
    with FakeEngine(socket_path, used=(2_000_000, 3_000, 5 * MEGABYTE)) as engine:
        usage = call(engine)[1]["usage"]
        tap.equal((usage["user_ms"], usage["system_ms"], usage["peak_memory_bytes"]), (2000, 3, 5 * MEGABYTE))
    for used in ((1 << 63, 0, 0), (0, 1 << 63, 0), (0, 0, 1 << 63)):  # an engine's, in the guest's name
        with FakeEngine(socket_path, used=used) as engine:
            refusal(engine, "backend_failed", "unreadable message")


def test_a_first_process_that_ends_without_a_report_is_a_failure():
    """Unless it was killed, as the whole container is for want of memory."""
    for status in (0, 3, 143):
        with FakeEngine(socket_path, statuses=(0, status), unreported=2) as engine:
            error = call(engine)[1]["error"]
            tap.equal(error["code"], "backend_failed", error)
            tap.contains(error["message"], "without a report")
    with FakeEngine(socket_path, statuses=(0, 137), unreported=2) as engine:
        output = call(engine)[1]
        tap.equal((output["status"], output["signal"], output["cause"]), ("killed", "SIGKILL", "signal"), output)


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
