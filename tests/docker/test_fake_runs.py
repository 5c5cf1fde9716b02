# SPDX-License-Identifier: Apache-2.0
"""What comes of a run between an engine by plan and a gateway: its files and results come whole, its end and usage are the guest's word,
and an engine that says nothing of an end, or something else, changes none of it."""
import json
import os
import pathlib
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import guest
import tap
from engine_calls import MEGABYTE, REQUEST, asked, call, directory, refusal, run, slow, socket_path
from fake_engine import FakeEngine, frame
from input_files import host_of
from provider import OK


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


@slow
def test_end_in_time_is_no_timeout():
    """However long the engine takes to report the reason."""
    for kind in ("hang", "drip"):
        with FakeEngine(socket_path, ("inspect", kind, 3), statuses=(0, 3)) as engine:
            output = call(engine)[1]
            tap.equal((output["status"], output["exit_code"], output["stdout"]), ("completed", 3, "yes\n"), kind)
            tap.true(asked(engine, "inspect") >= 3, "it was asked")


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


run(globals())
