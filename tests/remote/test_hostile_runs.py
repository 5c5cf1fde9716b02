# SPDX-License-Identifier: Apache-2.0
"""A hostile worker with a right certificate that keeps the rules of the connection, and lies about the run that it was given: layers, ends,
files, results, tools, endpoints, time. What it says counts for that run alone, within the bounds of what a program may say. What it can do
all the same is in docs/threat-model.md; tests/remote/scripted_worker.py is the worker, and honest unless told otherwise: the control."""
import hashlib
import json
import pathlib
import shutil
import struct
import tempfile
import threading

import tap
from provider import ALLOW, Host
from remote_gateway import FILES, LIMITS, RIGHTS, Call, call, completed, gateway, provider
from scripted_worker import (AT, EVERY_LAYER, FILE_BEGIN, FILE_DATA, FILE_END, FILE_LAST, FILE_OMITTED, FILES_OMITTED, STARTED_WELL, Gone, Script,
                             ScriptedWorker, event, frame)
from servers.upstream import Upstream
from workers import ENDED, FAILURE_OF_BACKEND, PATIENCE, STARTED, WORKER

MIB = 1 << 20
USER_NAMESPACE, SECCOMP = 1 << 0, 1 << 16
FORGED = b"forged\n"
CALL = 5  # its kind, among the frames of results


def scripted(**how):
    return ScriptedWorker(FILES.worker, Script(**how))


def saying(*messages):
    """A run of which the worker tells these, and has printed something."""
    def program(run):
        for message in messages:
            run.tell(message)
        run.write(AT.STDOUT, FORGED)
        run.finish()
    return program


def goes_on(worker):
    worker.script = Script()
    tap.true(tap.within(lambda: call("1")[1]["stdout"] == "honest\n", PATIENCE), "no call goes on")


def test_layers_that_it_does_not_have():
    """The control: with every layer it runs. That a worker can claim what it does not do is in the threat model, and in attested_by."""
    with scripted() as worker, gateway((worker, WORKER)):
        tap.equal(completed("1")["isolation"]["details"]["attested_by"], WORKER)
        for lacks in (USER_NAMESPACE, SECCOMP, EVERY_LAYER):
            worker.script = Script(program=saying(event(type=STARTED, applied=EVERY_LAYER & ~lacks)))
            _, result = call("1")
            tap.equal((result["status"], result["error"]["code"]), ("error", "sandbox_unavailable"), result)
        worker.script = Script(trial=lambda run: run.finish(event(type=ENDED, applied=0)))
        goes_on(worker)


LIES = {  # events of a run, and what the result must not have
    "an end without a beginning": (),
    "noise": (b"\0" * 100,),
    "an event of another version": (struct.pack("<I", 21) + STARTED_WELL[4:],),
    "half an event": (STARTED_WELL[:50],),
    "an event with more behind it": (STARTED_WELL + b"x",),
    "it has begun twice": (STARTED_WELL, STARTED_WELL),
    "a pid and groups of the gateway's": (event(type=STARTED, applied=EVERY_LAYER, first_pid=1, groups="/sys/fs/cgroup"),),
    "a cell was interrupted": (STARTED_WELL, event(type=4, cause=1)),
    "it was undone": (STARTED_WELL, event(type=5, exit_code=0)),
    "another interpreter": (STARTED_WELL, event(type=6)),
    "a branch sleeps": (STARTED_WELL, event(type=7)),
    "usage of no cell": (STARTED_WELL, event(type=8)),
    "words of progress without end": (*([event(type=3, message="\x1b[2Jwait")] * 200), STARTED_WELL),
    "somebody else's details": (event(type=STARTED, applied=EVERY_LAYER, details="other.example"),),
}


def test_events_with_lies():
    """Each run ends, as completed or as an error, and says who has attested it; nothing of it is this machine's."""
    with scripted() as worker, gateway((worker, WORKER)):
        for name, messages in LIES.items():
            worker.script = Script(program=saying(*messages))
            _, result = call("1")
            tap.true(result["status"] in ("completed", "error"), f"{name}: {result}")
            if result["status"] == "error":
                tap.true(result["error"]["code"] in ("backend_failed", "worker_lost"), f"{name}: {result['error']}")
                tap.true(result["error"]["hint"], name)
            else:
                tap.equal(result["isolation"]["details"].get("attested_by"), WORKER, name)
            tap.true("\x1b" not in json.dumps(result) and "other.example" not in json.dumps(result), name)
            goes_on(worker)


def test_progress_events_are_limited():
    """Each gives the worker more time. The first are passed on: the control."""
    with scripted(program=saying(*([event(type=3, message="\x1b[2Jwait")] * 200), STARTED_WELL)) as worker, gateway((worker, WORKER)):
        host = Host(RIGHTS)
        completed("1", host)
        tap.true(0 < host.output[3].count(b"wait") <= 20, host.output[3])
        tap.true(b"\x1b" not in host.output[3], host.output[3])


def test_ends_with_lies():
    """No code that would speak of the gateway, no time beyond the bound, no figure out of range. The first is the control."""
    with scripted() as worker, gateway((worker, WORKER)):
        ends = [(event(type=ENDED, applied=EVERY_LAYER, exit_code=3), "completed", None),
                (event(type=ENDED, applied=EVERY_LAYER, failure=FAILURE_OF_BACKEND, problem_code=1, message="\x1b[31mred", remedy="r" * 383), "error", None)]
        ends += [(event(type=ENDED, failure=FAILURE_OF_BACKEND, problem_code=code, retry_after_ms=(1 << 63) - 1, message="lie", remedy="lie"), "error", None)
                 for code in range(2, 60)]
        ends += [(event(type=ENDED, failure=failure, message="/etc/shadow", problem_code=1), "error", None) for failure in range(1, 11)]
        for message, status, _ in ends:
            if not message:
                continue  # a code that there is not: the encoder makes no such event
            worker.script = Script(program=lambda run, message=message: (run.tell(STARTED_WELL), run.finish(message)))
            _, result = call("1")
            tap.equal(result["status"], status, result)
            if not result["error"]:
                tap.equal(result["exit_code"], 3, result)
                continue
            error = result["error"]
            tap.true(error["code"] not in ("access_denied", "policy_denied", "approval_denied", "audit_failed", "internal_error", "invalid_policy",
                                           "secret_unavailable", "invalid_input"), error)
            tap.true((error["retry_after_ms"] or 0) <= 3600000, error)
            tap.true(all(" " <= character for character in error["message"] + error["hint"]), error)


def test_two_ends_and_none():
    """Of two ends the first counts. A run that never ends is ended by its time, and the worker's silence costs its grace and no more."""
    def twice(run):
        run.tell(STARTED_WELL)
        run.write(AT.STDOUT, FORGED)
        for place in (AT.STDOUT, AT.STDERR, AT.RESULTS, AT.FILES):
            run.end(place)
        run.tell(event(type=ENDED, applied=EVERY_LAYER, exit_code=3))
        run.tell(event(type=ENDED, applied=EVERY_LAYER, exit_code=4))
        run.connection.say_end(run.channel)
    with scripted(program=twice) as worker, gateway((worker, WORKER)):
        tap.equal(completed("1")["exit_code"], 3)
        worker.script = Script(program=lambda run: run.tell(STARTED_WELL))
        _, result = call("1", timeout_ms=500)
        tap.true(result["status"] in ("timeout", "error"), result)
        tap.true(result["duration_ms"] < 40000, result)
        goes_on(worker)


def test_output_without_end():
    """As long as somebody takes it. The run ends by the limit of its output, and the result has no more than its own."""
    def program(run):
        run.tell(STARTED_WELL)
        while True:
            run.write(AT.STDOUT, b"y" * 65536)
            run.write(AT.STDERR, b"n" * 65536)
    limits = {**LIMITS, "output_total_bytes": {"default": 8 * MIB, "max": 8 * MIB}}
    with scripted(program=program) as worker, gateway((worker, WORKER), limits=limits):
        _, result = call("1")
        # It was told to end the run, and does not: the time that it has for that is over.
        tap.equal((result["status"], result["error"] and result["error"]["code"]), ("error", "backend_failed"), {**result, "stdout": "", "stderr": ""})
        tap.true(len(result["stdout"]) <= 65536 + 200 and result["truncated"]["stdout"], len(result["stdout"]))
        tap.true(result["duration_ms"] < 60000, result["duration_ms"])
        goes_on(worker)


def a_file(path, content=b"content", size=None, digest=None, change=0):
    size = len(content) if size is None else size
    digest = hashlib.sha256(content).hexdigest().encode() if digest is None else digest
    return frame(FILE_BEGIN, struct.pack("<QBB", size, change, 0) + path) + frame(FILE_DATA, content) + frame(FILE_END, b"\0" + digest)


EVIL_FILES = {
    "above": a_file(b"../../etc/cron.d/evil"),
    "absolute": a_file(b"/etc/passwd"),
    "in the middle": a_file(b"a/../../b"),
    "a dot": a_file(b"."),
    "no name": a_file(b""),
    "a double slash": a_file(b"a//b"),
    "a NUL": a_file(b"a\0b"),
    "too long a name": a_file(b"n" * 1025),
    "another hash": a_file(b"a", digest=b"0" * 64),
    "no hash": a_file(b"a", digest=b""),
    "more than was announced": a_file(b"a", b"content", size=1),
    "less than was announced": a_file(b"a", b"content", size=1 << 40),
    "a size beyond all": a_file(b"a", b"content", size=(1 << 64) - 1),
    "another change": a_file(b"a", change=77),
    "data without a file": frame(FILE_DATA, b"x"),
    "an end without a file": frame(FILE_END, b"\0" + b"0" * 64),
    "two beginnings": frame(FILE_BEGIN, struct.pack("<QBB", 1, 0, 0) + b"a") * 2,
    "a frame of 4 GiB": struct.pack("<IB", 0xFFFFFFFF, FILE_DATA) + b"x" * 100,
    "a kind that is none": frame(99, b"x"),
    "a reason that is none": frame(FILE_OMITTED, struct.pack("<QBB", 1, 0, 200) + b"a"),
    "a number that is none": frame(FILES_OMITTED, struct.pack("<QQB", (1 << 64) - 1, (1 << 64) - 1, 3)) * 3,
    "too many": b"".join(a_file(b"f%d" % i) for i in range(3000)),
    "too many that are not there": b"".join(frame(FILE_OMITTED, struct.pack("<QBB", 1, 0, 1) + b"f%d" % i) for i in range(3000)),
    "last, and more": frame(FILE_LAST) + a_file(b"b"),
}


def test_files_with_evil_names_and_sizes():
    """The first is the control, and a good file ahead of each. No name leads out of the directory in which somebody may put the files."""
    def leaving(files):
        def program(run):
            run.tell(STARTED_WELL)
            try:
                run.finish(files=files)
            except Gone:  # nobody wants the rest
                run.end(AT.FILES)
                run.finish()
        return program
    with scripted() as worker, gateway((worker, WORKER)):
        worker.script = Script(program=leaving(a_file(b"good.txt")))
        tap.equal([(file["path"], file["content"]) for file in completed("1")["files"]], [("good.txt", "content")])
        for name, files in EVIL_FILES.items():
            worker.script = Script(program=leaving(a_file(b"good.txt") + files))
            _, result = call("1")
            paths = [file["path"] for file in result["files"]]
            tap.true(len(paths) <= 50, f"{name}: {len(paths)} files")
            for path in paths:
                parts = pathlib.PurePosixPath(path).parts
                tap.true(path and not path.startswith("/") and ".." not in parts and "\0" not in path, f"{name}: {path!r}")
            for file in result["files"]:
                if file.get("sha256") and file.get("encoding") == "utf-8":
                    tap.equal(file["sha256"], hashlib.sha256(file["content"].encode()).hexdigest(), f"{name}: {file}")
            goes_on(worker)


def test_tools_beyond_the_grant():
    """The host is asked for what the run may call, and for nothing else. The first call is the control."""
    calls, answers = [], []

    def serve(token, request, verdict):
        calls.append(json.loads(request)["name"])
        verdict[0] = ALLOW
        provider.reply_call(token, {"content": [{"type": "text", "text": "5"}]})

    def calling(*names):
        def program(run):
            run.tell(STARTED_WELL)
            for number, name in enumerate(names):
                run.write(AT.RESULTS, frame(CALL, struct.pack("<IH", number + 1, len(name)) + name + b"{}"))
            tap.within(lambda: len(run.connection.contents.get(run.number(AT.TOOLS), b"")) > 100, 3)
            answers.append(bytes(run.connection.contents.get(run.number(AT.TOOLS), b"")))
            run.write(AT.STDOUT, FORGED)
            run.finish()
        return program
    tool = {"name": "add", "description": "adds", "input_schema": {"type": "object"}}
    other = {"name": "transfer", "description": "moves money", "input_schema": {"type": "object"}}
    with scripted() as worker, gateway((worker, WORKER), tools={"allowed": ["*"], "max_calls": 5}):
        host = Host(RIGHTS, context={"tools": [tool, other]}, call_tool=serve)
        worker.script = Script(program=calling(b"add"))
        completed("1", host, tools=["add"])
        tap.equal(calls, ["add"], answers)
        for names in ((b"transfer",), (b"",), (b"add\0",), (b"../add",), (b"x" * 60000,)):
            calls.clear()
            worker.script = Script(program=calling(*names))
            call("1", host, tools=["add"])
            tap.equal(calls, [], f"{names[0][:20]}: {answers[-1]}")
        calls.clear()
        worker.script = Script(program=calling(*[b"add"] * 40))
        call("1", host, tools=["add"])
        tap.true(len(calls) <= 5, calls)
        calls.clear()
        # A run without tools has no way for answers, and its frames are none.
        worker.script = Script(program=lambda run: (run.tell(STARTED_WELL), run.has(AT.RESULTS) and run.write(
            AT.RESULTS, frame(CALL, struct.pack("<IH", 1, 3) + b"add" + b"{}")), run.finish()))
        call("1", host)
        tap.equal(calls, [], "a run without tools")


def relay(kind, number, payload=b""):
    return struct.pack("<IBI", len(payload), kind, number) + payload


def test_endpoints_that_the_run_may_not_have():
    """Only what this run may reach is there, by the rules of the policy. The control is its own endpoint."""
    directory = tempfile.mkdtemp(prefix="code-execute-hostile-")
    try:
        upstream = Upstream(directory)
        one = {"base_url": upstream.url, "private": True, "ca_file": upstream.ca, "approval": "never", "allow": [{"methods": ["GET"], "paths": ["/echo"]}]}
        policy = {"endpoints": {"mine": one, "other": {**one, "allow": [{"methods": ["GET"], "paths": ["/**"]}]}}}
        answers = {}

        def asking(lines):
            def program(run):
                run.tell(STARTED_WELL)
                way = run.number(AT.ENDPOINTS)
                for number, line in enumerate(lines, 1):
                    run.connection.stream(way, relay(1, number) + relay(2, number, line + b"\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n\r\n"))
                tap.within(lambda: run.connection.contents.get(way, b"").count(b"HTTP/1.1") >= len(lines), PATIENCE)
                answers["all"] = bytes(run.connection.contents.get(way, b""))
                run.write(AT.STDOUT, FORGED)
                run.finish()
            return program
        with scripted() as worker, gateway((worker, WORKER), **policy):
            worker.script = Script(program=asking([b"GET /mine/echo HTTP/1.1"]))
            completed("1", endpoints=["mine"])
            tap.equal([asked["path"] for asked in upstream.asked], ["/echo"], answers)
            upstream.asked.clear()
            lines = [b"GET /other/echo HTTP/1.1", b"GET /mine/repos HTTP/1.1", b"POST /mine/echo HTTP/1.1", b"GET /mine/../other/echo HTTP/1.1",
                     b"GET http://169.254.169.254/latest HTTP/1.1", b"CONNECT 169.254.169.254:80 HTTP/1.1", b"GET / HTTP/1.1"]
            worker.script = Script(program=asking(lines))
            completed("1", endpoints=["mine"])
            tap.equal(upstream.asked, [], answers)
            # Frames that are none end the relay, and nothing else.
            for noise in (b"\xff" * 100, relay(9, 1), relay(2, 77, b"x"), relay(1, 1) * 2, b"".join(relay(1, i) for i in range(200))):
                def program(run, noise=noise):
                    run.tell(STARTED_WELL)
                    try:
                        run.connection.stream(run.number(AT.ENDPOINTS), noise)
                    except Gone:
                        pass
                    run.write(AT.STDOUT, FORGED)
                    run.finish()
                worker.script = Script(program=program)
                tap.equal(call("1", endpoints=["mine"])[1]["status"], "completed")
            tap.equal(upstream.asked, [])
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def test_a_secret_is_read_once_and_goes_to_one_worker():
    """However the worker that has accepted the run drops it, and whatever it answers: nobody reads the secret again, and the other worker
    gets neither it nor the run. What the worker prints of it is redacted as a program's is."""
    canary = b"canary-" + hashlib.sha256(str(id(object())).encode()).hexdigest().encode()
    asked = []

    def read(name, buffer, capacity, length, verdict):
        asked.append(name)
        Host.read_secret(host, name, buffer, capacity, length, verdict)
    host = Host(RIGHTS, secrets={"canary": canary}, read_secret=read)
    files = FILES.ours.issue(FILES.directory / "other-worker", "other", "serverAuth", "DNS:worker-2.example")
    drops = {"it prints the secret": lambda run: (run.tell(STARTED_WELL), run.write(AT.STDOUT, b"it is " + canary + b"\n"), run.finish()),
             "it cuts the connection": lambda run: run.connection.cut(),
             "it resets the run": lambda run: run.connection.say_end(run.channel, 7),
             "it says busy behind its yes": lambda run: run.connection.answer(run.channel, 2, 1)}
    with scripted() as one, ScriptedWorker(files) as two, gateway((one, WORKER), (two, "worker-2.example")):
        for name, drop in drops.items():
            completed("1")
            asked.clear()
            one.runs.clear()
            two.runs.clear()
            one.script = two.script = Script(program=drop)
            _, result = call("import os", host, secrets={"KEY": "{{secret:canary}}"})
            tap.equal(len(asked), 1, f"{name}: {asked}")
            programs = [*one.programs(), *two.programs()]
            tap.equal(len(programs), 1, name)
            tap.true(canary in programs[0].description, "who runs it has it: the control")
            tap.true(canary.decode() not in json.dumps(result), name)
            tap.true(all(canary not in offer.payload for offer in [*one.offers, *two.offers]), "an offer has no secret")
            one.script = two.script = Script()
            tap.true(tap.within(lambda: call("1")[1]["stdout"] == "honest\n", PATIENCE), name)


def test_a_run_is_answered_on_its_own_channels_alone():
    """Two runs of two callers on one worker: an end of one on the channel of the other is the other's end, and what one has printed stays its own."""
    begun, both = [], threading.Event()

    def program(run):
        begun.append(run)
        run.tell(STARTED_WELL)
        run.write(AT.STDOUT, b"of %d\n" % len(begun))
        both.wait(PATIENCE)
        run.finish()
    with scripted(program=program) as worker, gateway((worker, WORKER)):
        first = Call("1", Host(RIGHTS, call_id=11, context={"principal": "one"})).await_begun()
        second = Call("2", Host(RIGHTS, call_id=12, context={"principal": "two"})).await_begun()
        tap.equal([first.host.output[1], second.host.output[1]], [b"of 1\n", b"of 2\n"], "the control")
        both.set()
        tap.equal([first.end()["stdout"], second.end()["stdout"]], ["of 1\n", "of 2\n"])
        tap.equal(len(worker.programs()), 2)


def test_a_trial_prints_nothing():
    """It comes ahead of any approval. The program's output is the control; a trial without end is refused."""
    def printing(run):
        run.tell(STARTED_WELL)
        run.write(AT.STDOUT, b"read this")
        run.finish()

    def flooding(run):
        run.tell(STARTED_WELL)
        while True:
            run.write(AT.STDOUT, b"y" * 65536)
    with scripted(trial=printing) as worker, gateway((worker, WORKER)):
        host = Host(RIGHTS)
        completed("1", host)
        tap.equal(host.output[1], b"honest\n")
    with scripted(trial=flooding) as worker, gateway((worker, WORKER)):
        host = Host(RIGHTS)
        _, result = call("1", host)
        tap.true(result["error"], result)
        tap.equal((host.output[1], worker.programs()), (b"", []))
        goes_on(worker)


def test_a_session_that_is_lost_says_so():
    """A worker that ends a session, or never answers its cell, loses that one; it cannot hand out another in its place."""
    with scripted(program=lambda run: run.tell(STARTED_WELL)) as worker, gateway((worker, WORKER)):
        def undoes(run):
            run.tell(STARTED_WELL)
            run.tell(event(type=5, exit_code=0))
            run.tell(event(type=7))
            run.connection.cut()
        for end in (lambda run: (run.tell(STARTED_WELL), run.connection.say_end(run.channel)), lambda run: run.connection.cut(), undoes):
            worker.script = Script(program=end)
            _, result = call("x = 1", session="new")
            if not result["error"]:  # the gateway may read that the cell was undone before it reads the cut
                tap.equal((end, result["session"]["state"]), (undoes, "restored"), result)
                _, result = call("x", session=result["session"]["id"])
            tap.true(result["error"], result)
            tap.true(result["error"]["hint"], result)
            goes_on(worker)
        _, result = call("x", session="s" * 22)
        tap.true(result["error"], "a session that there is not")


tap.run(globals())
