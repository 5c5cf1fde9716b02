# SPDX-License-Identifier: Apache-2.0
"""A hostile pod that keeps the rules of its stream, and lies about the run: its end, its figures, files, tools, cells and time.
What it says counts for that run alone, within the bounds of what a program may say. tests/kubernetes/scripted_pods.py is the pod, and
honest unless told otherwise: the control."""
import json
import os
import pathlib
import struct

import guest
import tap
from fake_server import frame, message
from provider import ALLOW, Host
from scripted_pods import (PATIENCE, RIGHTS, Pod, ScriptedPods, backend, call, gateway, goes_on, header, honest, provider, resident_bytes,
                           victim)

MIB = 1 << 20
CALL = 5  # its kind, among the frames of results
TOOL = {"name": "add", "description": "adds", "input_schema": {"type": "object"}}
ROUNDS = 10
OTHER = {"name": "transfer", "description": "moves money", "input_schema": {"type": "object"}}


def test_ends_with_lies():
    """Its figures are its own word, and no number is another than one."""
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        for status in (0xFFFFFFFF, 0x7F, 0x80, 0xFFFF, 1 << 31):
            lie = guest.ended(status, *[(1 << 64) - 1] * 3)
            fake.program = lambda pod, lie=lie: (pod.say("started"), pod.bytes(lie), pod.await_end())
            output = call()
            tap.true(output["status"] in ("completed", "killed", "error"), output)
            tap.true(all(value is None or 0 <= value < 1 << 63 for value in output["usage"].values()), output["usage"])
            goes_on(fake, hex(status))


def test_a_pod_claims_no_other_s_end():
    """It prints what an end of the run beside would be; its bytes are its own."""
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        names = [pod.name for pod in fake.programs()]
        fake.program = lambda pod: (pod.say("started"), [pod.print(name.encode() + guest.ended()) for name in names],
                                    pod.channel(1, guest.ended(guest.wait_status(4)) + guest.ended()), pod.await_end())
        output = call()
        tap.equal(output["error"] and output["error"]["code"], "backend_failed", output)  # two ends in one piece
        goes_on(fake, "two ends")


def test_a_pod_that_never_ends_and_one_that_is_slow():
    """The run's own time ends it. A guest that speaks a byte at a time is understood: the control."""
    def drips(pod):
        for byte in guest.frame("started") + guest.frame("stdout", b"honest\n") + guest.ended():
            pod.channel(1, bytes([byte]))
        pod.await_end()

    def floods(pod):
        pod.say("started")
        while pod.print(b"x" * 60000):
            pass

    def hangs_in_a_frame(pod):
        pod.say("started")
        pod.bytes(header("stdout", 60000) + b"x")
        pod.await_end()
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        fake.program = drips
        output = call()
        tap.equal((output["status"], output["stdout"]), ("completed", "honest\n"), output)
        silent = (lambda pod: (pod.say("started"), pod.await_end()))
        for name, program in (("silence", silent), ("a flood", floods), ("half a frame", hangs_in_a_frame)):
            fake.program = program
            output = call(timeout_ms=1000)
            tap.equal((output["status"], output["timed_out"]), ("timeout", True), f"{name}: {output}")
            tap.true(len(output["stdout"]) <= output["limits"]["stdout_bytes"] + 200, name)
            goes_on(fake, name)


def test_files_with_lies():
    """Names, sizes and hashes: what is none of the run's is not kept, and the run's end stands."""
    data = struct.Struct("<QBB")
    lies = {
        "a way out": guest.file_frames("../../etc/passwd", b"x") + guest.FILE_LAST,
        "an absolute path": guest.file_frames("/etc/passwd", b"x") + guest.FILE_LAST,
        "an escape": guest.file_frames("\x1b[2J", b"x") + guest.FILE_LAST,
        "a hash of other bytes": guest.file_frames("a", b"x").replace(b"x", b"y") + guest.FILE_LAST,
        "a size without bytes": guest.HEADER.pack(data.size + 1, 1) + data.pack(1 << 63, 0, 0) + b"a" + guest.FILE_LAST,
        "a frame that is none": guest.HEADER.pack(4, 99) + b"xxxx",
        "noise": os.urandom(60000),
        "no end": guest.file_frames("a", b"x"),
    }
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        for name, files in {"the control": guest.file_frames("a", b"x") + guest.FILE_LAST, **lies}.items():
            def program(pod, files=files):
                pod.say("started")
                pod.bytes(guest.ended())
                for at in range(0, len(files), 60000):
                    pod.say("files", files[at:at + 60000])
                pod.say("collected")
                pod.await_end()
            fake.program = program
            output = call()
            tap.equal(output["status"], "completed", f"{name}: {output}")
            kept = [file["path"] for file in output["files"]]
            tap.true(name != "the control" or kept == ["a"], output["files"])
            tap.true(all(not path.startswith(("/", "..")) and "\x1b" not in path for path in kept), f"{name}: {kept}")
            goes_on(fake, name)


def a_call(number, name):
    payload = struct.pack("<IH", number, len(name)) + name + b"{}"
    return struct.pack("<IB", len(payload), CALL) + payload


def answers(pod, count):
    """So many bytes of the answers to its calls, or those that come before the end."""
    heard = b""
    while len(heard) < count:
        if pod.read(1) != b"a":
            continue
        piece = pod.read(*struct.unpack("<I", pod.read(4)))
        heard += piece
        pod.say("answers_taken", struct.pack("<I", len(piece)))
    return heard


def test_tools_beyond_the_grant():
    """The host is asked for what the run may call, and for nothing else. The first call is the control."""
    asked = []

    def serve(token, request, verdict):
        asked.append(json.loads(request)["name"])
        verdict[0] = ALLOW
        provider.reply_call(token, {"content": [{"type": "text", "text": "5"}]})

    def calling(*frames):
        def program(pod):
            pod.say("started")
            for each in frames:
                pod.say("results", each)
            if frames == (a_call(1, b"add"),):
                answers(pod, 100)
            pod.finish()
        return program
    host = Host(RIGHTS, context={"tools": [TOOL, OTHER]}, call_tool=serve)
    with ScriptedPods() as fake, gateway(fake, tools={"allowed": ["*"], "max_calls": 5}), victim(fake):
        fake.program = calling(a_call(1, b"add"))
        tap.equal((call(host=host, tools=["add"])["status"], asked), ("completed", ["add"]))
        forged = {
            "another tool": a_call(1, b"transfer"), "no name": a_call(1, b""), "a NUL": a_call(1, b"add\0"),
            "a long name": a_call(1, b"x" * 60000), "number 0": a_call(0, b"add"), "half a call": a_call(1, b"add")[:-1],
            "a length beyond it": struct.pack("<IBIH", 9, CALL, 1, 60000) + b"add",
            "4 GiB": struct.pack("<IB", 0xFFFFFFFF, CALL) + b"x" * 1000,
        }
        for name, data in forged.items():
            asked.clear()
            fake.program = calling(data)
            output = call(host=host, tools=["add"])
            tap.equal((output["status"], asked), ("completed", []), f"{name}: {output}")
            goes_on(fake, name)
        asked.clear()
        fake.program = calling(*[a_call(7, b"add")] * 40)
        tap.equal(call(host=host, tools=["add"])["status"], "completed", "one number for all")
        tap.true(len(asked) <= 5, asked)
        asked.clear()
        fake.program = calling(a_call(1, b"add"))
        fake.program = lambda pod: (pod.say("started"), pod.say("results", a_call(1, b"add")), pod.finish())
        call(host=host)
        tap.equal(asked, [], "a run without tools")
        goes_on(fake, "a run without tools")


TAKEN = {
    "more than was sent": lambda pod: pod.say("answers_taken", struct.pack("<I", 0xFFFFFFFF)),
    "more than was sent, twice": lambda pod: [pod.say("answers_taken", struct.pack("<I", 1 << 20)) for _ in range(2)],
    "half a number": lambda pod: pod.say("answers_taken", b"\0"),
}


def test_room_for_answers_that_there_is_not():
    """It would have the backend send more than a guest has room for. The control is a run that takes nothing and says nothing."""
    host = Host(RIGHTS, context={"tools": [TOOL]}, call_tool=lambda *_: None)
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        fake.program = honest
        tap.equal(call(host=host, tools=["add"])["status"], "completed")
        for name, lie in TAKEN.items():
            fake.program = lambda pod, lie=lie: (pod.say("started"), lie(pod), pod.await_end())
            output = call(host=host, tools=["add"])
            tap.equal((output["status"], output["error"] and output["error"]["code"]), ("error", "backend_failed"), f"{name}: {output}")
            goes_on(fake, name)


def test_sessions_with_lies():
    """Frames out of turn end no cell: they end the session, or are dropped. An interpreter that has ended is its own word. The control is
    a cell without an end."""
    def kept(*lies):
        def program(pod):
            pod.say("started")
            for kind, payload in lies:
                pod.say(kind, payload)
            pod.await_end()
        return program
    lies = {
        "not undone": ("not_restored", b""), "a branch sleeps": ("parked", b"\0"), "a branch of another number": ("parked", b"\xff" * 9),
        "facts": ("facts", b"x"), "files": ("files", b"x"), "a network": ("network", b"control connected\n"),
    }
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        fake.program = kept()
        output = call(session="new", timeout_ms=2000)
        tap.equal(output["status"], "timeout", output)
        for name, lie in lies.items():
            fake.program = kept(lie)
            output = call(session="new", timeout_ms=3000)
            outcome = output["error"]["code"] if output["error"] else output["status"]
            tap.true(outcome in ("timeout", "backend_failed"), f"{name}: {output}")
            tap.true((output["session"] or {}).get("state") != "kept", f"{name}: {output}")
            goes_on(fake, name)


def flood(pod):
    pod.say("started")
    for _ in range(60):
        pod.channel(2, os.urandom(16000))
        pod.channel(1, b"")
        pod.write(frame(9, b"x" * 125))
        pod.print(b"x" * 65536)
        pod.say("results", b"\xff" * 65536)
    pod.bytes(header("stdout", 0xFFFFFFFF) + b"x" * 60000)
    pod.await_end()


def test_nothing_of_the_backend_s_grows():
    """Floods, fragments and lies without end: its memory after the first is the measure. The bound is far below what has come."""
    def fragments(pod):
        pod.say("started")
        whole = message(1, guest.frame("stdout", b"y" * 60000), size=7)
        for _ in range(20):
            pod.write(whole)
        pod.write(frame(2, b"\1", final=False))
        for _ in range(2000):
            pod.write(frame(0, b"", final=False))
        pod.close()
    with ScriptedPods() as fake, gateway(fake):
        goes_on(fake, "control")
        pid = backend()
        pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0])
        if pages > 1 << 28:  # no other program has a terabyte
            raise tap.Skip("a sanitizer's own memory would be measured")
        before = None
        for number in range(ROUNDS):
            for attack in (flood, fragments):
                fake.program, fake.before = attack, Pod.report
                tap.equal(call()["status"], "error", attack.__name__)
            if number == 1:
                before = resident_bytes(pid)
        after = resident_bytes(pid)
        tap.true(after < before + 4 * MIB, f"{before} bytes have become {after}, of {ROUNDS * 60 * 2 * 65536} that came")
        goes_on(fake, "behind it")
        tap.equal(backend(), pid, "the same backend")
        tap.eventually(lambda: not fake.used(), "no pod is left of a run", PATIENCE)


tap.run(globals())
