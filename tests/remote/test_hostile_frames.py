# SPDX-License-Identifier: Apache-2.0
"""A hostile worker with a right certificate, frame by frame: whatever breaks the rules of the connection ends it with a reason, the call
ends with an error of its own, nothing of the gateway's grows, and the next call goes on. tests/remote/scripted_worker.py is the worker;
what it does unless told otherwise is the control."""
import os
import pathlib
import struct

import tap
from remote_gateway import FILES, Call, call, completed, gateway
from scripted_worker import AT, PROGRAM, STARTED_WELL, Script, ScriptedWorker, await_program, hello, need_backend, resident_bytes
from workers import (ANSWER, BUSY, BYE, CAPACITY, CONTENT, DATA, DATAGRAM, DRAIN, END, HELLO, OFFER, OUTPUT, PATIENCE, PING, PONG, RESET, TAKEN, WINDOW, WORKER,
                     protocol_version, text)

MIB = 1 << 20


def scripted(**how):
    return ScriptedWorker(FILES.worker, Script(**how))


def goes_on(worker):
    """The gateway is whole: an honest worker of the same name is used again."""
    worker.script = Script()
    tap.true(tap.within(lambda: call("1")[1]["stdout"] == "honest\n", PATIENCE), "no call goes on")


def stdout(run):
    return run.number(AT.STDOUT)


# What breaks a connection. Each comes when the run has begun and has printed something.
FORBIDDEN = {
    "a kind that is none": lambda run: run.connection.send(99, run.channel, b"x"),
    "kind 0": lambda run: run.connection.send(0, 0),
    "a frame that is too long": lambda run: run.connection.send(DATA, stdout(run), b"x", length=65537),
    "a frame of 4 GiB": lambda run: run.connection.send(DATA, stdout(run), b"x", length=0xFFFFFFFF),
    "a frame that is too short": lambda run: run.connection.send(TAKEN, stdout(run), b"x"),
    "data without a byte": lambda run: run.connection.send(DATA, stdout(run)),
    "data of a channel that nobody has": lambda run: run.connection.send(DATA, 4000000, b"x"),
    "data of channel 0": lambda run: run.connection.send(DATA, 0, b"x"),
    "data of the run's own channel": lambda run: run.connection.send(DATA, run.channel, b"x"),
    "data of the description": lambda run: run.connection.send(DATA, run.number(AT.DESCRIPTION), b"x"),
    "data behind its end": lambda run: (run.connection.say_end(stdout(run)), run.connection.send(DATA, stdout(run), b"x")),
    "two ends": lambda run: (run.connection.send(END, stdout(run)), run.connection.send(END, stdout(run))),
    "an end of a channel that nobody has": lambda run: run.connection.send(END, 4000000),
    "a reset of a channel that nobody has": lambda run: run.connection.send(RESET, 4000000),
    "more than the window": lambda run: [run.connection.send(DATA, stdout(run), b"x" * 65536) for _ in range(1 + WINDOW // 65536)] and
    [run.connection.send(DATA, stdout(run), b"x" * 65536) for _ in range(400)],
    "a datagram on a stream": lambda run: run.connection.datagram(stdout(run), STARTED_WELL),
    "a datagram of a channel that nobody has": lambda run: run.connection.datagram(4000000, STARTED_WELL),
    "a datagram that is too long": lambda run: run.connection.datagram(run.channel, b"x" * 8193),
    "a datagram without a byte": lambda run: run.connection.datagram(run.channel, b""),
    "a datagram with a descriptor": lambda run: run.connection.datagram(run.channel, STARTED_WELL, [(OUTPUT, 70000, 0)]),
    "a datagram with a file": lambda run: run.connection.datagram(run.channel, STARTED_WELL, [(CONTENT, 70000, 1 << 40)]),
    "a datagram with more attachments than it has": lambda run: run.connection.send(DATAGRAM, run.channel, struct.pack("<H", 60000) + b"x"),
    "more room than there is": lambda run: run.connection.send(TAKEN, run.channel, struct.pack("<I", 0xFFFFFFFF)),
    "room for what nobody sends": lambda run: run.connection.send(TAKEN, 4000000, struct.pack("<I", 1)),
    "an offer": lambda run: run.connection.send(OFFER, 70001, struct.pack("<IIQQ", PROGRAM, 0, MIB, 1000) + text("hash")),
    "an answer that nobody has asked for": lambda run: run.connection.answer(4000000),
    "an answer that was given": lambda run: run.connection.answer(run.channel),
    "an answer to a stream": lambda run: run.connection.answer(stdout(run)),
    "another greeting": lambda run: run.connection.send(HELLO, 0, hello()),
    "capacity that is cut": lambda run: run.connection.send(CAPACITY, 0, b"xxxx"),
    "capacity on a channel": lambda run: run.connection.send(CAPACITY, run.channel, struct.pack("<IIQ", 0, 8, 0)),
    "a ping with a payload": lambda run: run.connection.send(PING, 0, b"x"),
    "half a frame": lambda run: (run.connection.raw(b"\5\0"), run.connection.cut()),
    "noise": lambda run: run.connection.raw(os.urandom(65536)),
    "the end of the connection": lambda run: run.connection.cut(),
    "its last words": lambda run: run.connection.send(BYE, 0, b"no more"),
    "last words that are no text": lambda run: run.connection.send(BYE, 0, b"\xff\x1b[2J\0" * 100),
}


def test_frames_that_break_the_connection():
    """The control is that the run goes on while nothing is sent: it has printed, and not ended."""
    with scripted() as worker, gateway((worker, WORKER)):
        for name, attack in FORBIDDEN.items():
            def program(run, attack=attack):
                run.tell(STARTED_WELL)
                run.write(AT.STDOUT, b"begun\n")
                run.go = True
                tap.within(lambda: getattr(run, "attacked", False), PATIENCE)
                attack(run)
            worker.runs.clear()
            worker.script = Script(program=program)
            running = Call("1").await_begun()
            tap.true(running.is_alive(), f"{name}: it has ended by itself")
            await_program(worker).attacked = True
            result = running.end()
            tap.equal((result["status"], result["error"] and result["error"]["code"]), ("error", "worker_lost"), f"{name}: {result}")
            tap.equal(result["stdout"][:6], "begun\n", name)
            tap.true(all(" " <= character for character in result["error"]["message"]), result["error"])
            goes_on(worker)


# What is odd and allowed, or comes too late to matter: the run ends as it would have.
HARMLESS = {
    "nothing": lambda run: None,
    "pings": lambda run: [run.connection.send(PING, 0) for _ in range(2000)],
    "pongs": lambda run: [run.connection.send(PONG, 0) for _ in range(2000)],
    "capacities": lambda run: [run.connection.send(CAPACITY, 0, struct.pack("<IIQ", i, 0xFFFFFFFF, 1 << 63)) for i in range(2000)],
    "it drains": lambda run: [run.connection.send(DRAIN, 0) for _ in range(100)],
    "room": lambda run: None if run.number(AT.STDIN) is None else run.connection.send(TAKEN, run.number(AT.STDIN), struct.pack("<I", 0)),
    "an end of stderr": lambda run: run.end(AT.STDERR),
    "a reset of stderr": lambda run: run.connection.say_end(run.number(AT.STDERR), RESET),
}


def test_frames_that_are_odd_and_no_more():
    with scripted() as worker, gateway((worker, WORKER)):
        for name, attack in HARMLESS.items():
            def program(run, attack=attack):
                run.tell(STARTED_WELL)
                attack(run)
                run.write(AT.STDOUT, b"honest\n")
                run.finish()
            worker.script = Script(program=program)
            result = completed("1")
            tap.equal(result["stdout"], "honest\n", name)
            if name == "it drains":
                worker.connections[-1].cut()  # a worker that drains for ever is one that is not there
            goes_on(worker)


GREETINGS = {
    "another version of the link": (hello(link=2), "speaks"),
    "another version of the protocol": (hello(protocol=protocol_version() + 1), "speaks"),
    "another mode": (hello(mode="none"), "the worker's mode is none"),
    "no greeting": (b"GET / HTTP/1.1\r\n\r\n", ""),
    "a greeting with more behind it": (hello() + b"x", ""),
    "a name with an escape": (hello(name="\x1b[2J"), ""),
    "a name that is too long": (hello(name="n" * 128), ""),
}


def test_greetings_that_are_refused():
    with scripted() as worker, gateway((worker, WORKER)):
        for name, (payload, why) in GREETINGS.items():
            worker.script = Script(greet=lambda connection, payload=payload: connection.send(HELLO, 0, payload))
            for connection in worker.connections:
                connection.cut()
            tap.true(tap.within(lambda: call("1")[1]["error"], PATIENCE), f"{name}: it is used")
            _, result = call("1")
            tap.equal(result["error"] and result["error"]["code"], "backend_unavailable", f"{name}: {result}")
            tap.contains(result["error"]["message"], why, name)
            tap.equal(worker.programs(), [], f"{name}: a run has come")
        goes_on(worker)


def test_a_worker_that_greets_and_says_nothing():
    """It does not answer offers: the other one gets the run."""
    second = FILES.ours.issue(FILES.directory / "silent", "silent", "serverAuth", "DNS:silent.example")
    with scripted() as worker, ScriptedWorker(second, Script(offered=lambda *_: None)) as silent:
        with gateway((worker, WORKER), (silent, "silent.example")):
            for _ in range(3):
                tap.equal(completed("1")["stdout"], "honest\n")
        tap.equal(silent.programs(), [])


def test_answers_with_lies():
    """A time to come again is bounded, and so is what else is in it. The first call is the control."""
    forever = (1 << 64) - 1

    def busy(connection, channel, offer):
        if offer.purpose == PROGRAM:
            connection.answer(channel, BUSY, forever, "r" * 255, "m" * 383)
        else:
            connection.answer(channel)
    with scripted() as worker, gateway((worker, WORKER)):
        goes_on(worker)
        worker.script = Script(offered=busy)
        _, result = call("1")
        tap.equal(result["error"]["code"], "too_many_requests", result)
        tap.true(0 < result["error"]["retry_after_ms"] <= 3600000, result["error"])
        for verdict, payload in ((0, None), (77, None), (4, b"\xff\xfe"), (4, b"\x1b[2J"), (4, b"\0")):
            def answer(connection, channel, offer, verdict=verdict, payload=payload):
                reason = struct.pack("<I", len(payload)) + payload if payload else text("")
                connection.send(ANSWER, channel, struct.pack("<IQ", verdict, 0) + reason + text(""))
            worker.script = Script(offered=answer)
            _, result = call("1")
            tap.true(result["error"], f"{verdict}: {result}")
            tap.true(result["error"]["code"] in ("backend_unavailable", "backend_failed"), result["error"])
            tap.true(all(" " <= character for character in result["error"]["message"]), result["error"])
            goes_on(worker)


def test_nothing_of_the_gateways_grows():
    """Connections, offers, frames and lies without end. Its memory after the tenth part is the measure."""
    def program(run):
        run.tell(STARTED_WELL)
        for _ in range(50):
            run.connection.send(PING, 0)
            run.connection.send(CAPACITY, 0, struct.pack("<IIQ", 0, 64, 0))
            run.tell(STARTED_WELL)
        run.connection.send(99, 1, os.urandom(60000))
    with scripted() as worker, gateway((worker, WORKER)):
        completed("1")
        if int(pathlib.Path(f"/proc/{need_backend()}/statm").read_text().split()[0]) > 1 << 28:  # pages: no other program has a terabyte
            raise tap.Skip("a sanitizer's own memory would be measured")
        measured = []
        for i in range(60):
            worker.script = Script(program=program)
            call("1")
            worker.script = Script()
            tap.within(lambda: call("1")[1]["stdout"] == "honest\n", PATIENCE)
            if i in (10, 59):
                measured.append(resident_bytes(need_backend()))
        tap.true(measured[1] - measured[0] < 4 * MIB, f"from {measured[0]} to {measured[1]} bytes")


tap.run(globals())
