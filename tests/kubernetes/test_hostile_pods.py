# SPDX-License-Identifier: Apache-2.0
"""A hostile pod: what it says in its attached stream, when the guest in it is somebody else's. Whatever it says counts for its own run
alone: that run ends, as an error where a rule is broken, nothing of the backend's grows, a run beside it is unharmed, and the next one
works. tests/kubernetes/scripted_pods.py is the pod, and honest unless told otherwise: the control of each attack."""
import os
import struct

import guest
import tap
from fake_server import frame
from scripted_pods import FACTS, ScriptedPods, call, gateway, goes_on, header, refused, victim

LIE = b"forged\n"


def websocket(opcode, payload=b"", length=None, first=0x80, mask=0):
    """A frame of the stream's, with the length that it claims."""
    size = len(payload) if length is None else length
    return bytes([first | opcode, mask | 127]) + struct.pack("!Q", size) + payload


# In the place of the report.
REPORTS = {
    "nothing, and the end": lambda pod: pod.close(),
    "facts of another guest": lambda pod: (pod.say("facts", FACTS.replace(b"Guest:\t", b"Guest:\tx")), pod.say("waiting")),
    "facts without a digest": lambda pod: (pod.say("facts", FACTS.partition(b"Guest:")[0]), pod.say("waiting")),
    "a digest in the middle of a line": lambda pod: (pod.say("facts", FACTS.replace(b"\nGuest:", b" Guest:")), pod.say("waiting")),
    "no facts": lambda pod: pod.say("waiting"),
    "root": lambda pod: (pod.say("facts", FACTS.replace(b"Uid:\t65534", b"Uid:\t0")), pod.say("waiting")),
    "a capability": lambda pod: (pod.say("facts", FACTS.replace(b"CapEff:\t00", b"CapEff:\t10")), pod.say("waiting")),
    "without a filter": lambda pod: (pod.say("facts", FACTS.replace(b"Seccomp:\t2", b"Seccomp:\t0")), pod.say("waiting")),
    "it waits twice": lambda pod: (pod.report(), pod.say("waiting")),
    "other facts behind": lambda pod: (pod.report(), pod.say("facts", FACTS)),
    "a network that nobody has asked about": lambda pod: (pod.say("network", b"control connected\n"), pod.report()),
    "started ahead of all": lambda pod: (pod.say("started"), pod.report()),
    "output ahead of all": lambda pod: (pod.print(LIE), pod.report()),
    "an end ahead of all": lambda pod: (pod.bytes(guest.ended()), pod.report()),
    "files ahead of all": lambda pod: (pod.say("files", guest.FILE_LAST), pod.report()),
    "a failure with an escape": lambda pod: pod.say("failed", b"\x1b[2J\0\xff" + b"x" * 8000),
    "a program that is missing, ahead of its message": lambda pod: pod.say("missing"),
}


def test_reports_with_lies():
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        for name, attack in REPORTS.items():
            fake.before = attack
            refused(fake, name)


# Behind the start of the program, and some output. Each breaks a rule.
FORBIDDEN = {
    "a kind that is none": lambda pod: pod.bytes(struct.pack("<IB", 1, 99) + b"x"),
    "a kind that is none, and more than any frame holds": lambda pod: pod.bytes(struct.pack("<IB", 0xFFFFFFFF, 99) + b"\xff" * 3000000),
    "kind 0": lambda pod: pod.bytes(struct.pack("<IB", 0, 0)),
    "a frame that is too long": lambda pod: pod.bytes(header("stdout", 65537)),
    "a frame of 4 GiB": lambda pod: pod.bytes(header("stdout", 0xFFFFFFFF)),
    "a long frame of control": lambda pod: pod.bytes(header("ended", 8193)),
    "noise": lambda pod: pod.bytes(b"\xff" + os.urandom(60000)),
    "started again": lambda pod: pod.say("started"),
    "other facts": lambda pod: pod.say("facts", FACTS),
    "it waits again": lambda pod: pod.say("waiting"),
    "a network": lambda pod: pod.say("network", b"control connected\n"),
    "it is missing after all": lambda pod: pod.say("missing"),
    "it has failed after all": lambda pod: pod.say("failed", b"\x1b[2J"),
    "an end that is cut": lambda pod: pod.say("ended", b"\0"),
    "an end with more behind it": lambda pod: pod.say("ended", guest.ended()[5:] + b"x"),
    "files ahead of the end": lambda pod: pod.say("files", guest.FILE_LAST),
    "all files ahead of the end": lambda pod: pod.say("collected"),
    "a cell of no session": lambda pod: pod.say("cell"),
    "cells of no session were undone": lambda pod: pod.say("restored", guest.ended()[5:]),
    "nothing was undone": lambda pod: pod.say("not_restored"),
    "a branch of no session": lambda pod: pod.say("parked", b"\0"),
    "a time that nobody has asked for": lambda pod: pod.say("measured", b"\0" * 32),
    "answers that nobody has sent": lambda pod: pod.say("answers_taken", struct.pack("<I", 1)),
    "answers without a number": lambda pod: pod.say("answers_taken", b"1"),
    "a channel that there is not": lambda pod: pod.channel(7, b"x"),
    "the channel of input": lambda pod: pod.channel(0, b"x"),
    "an error": lambda pod: (pod.channel(3, b'{"status":"Failure","message":"\\u001b[2Jgone"}'), pod.cut()),
    "an error that is no object": lambda pod: (pod.channel(3, b"[]" * 30000), pod.cut()),
    "a message without a channel": lambda pod: pod.write(frame(2, b"")),
    "a frame of 8 EiB": lambda pod: pod.write(websocket(2, length=(1 << 63) - 1) + b"\1" + b"x" * 65536),
    "a negative length": lambda pod: pod.write(websocket(2, length=1 << 63)),
    "a frame that is masked": lambda pod: pod.write(websocket(2, b"\1x", mask=0x80)),
    "a reserved bit": lambda pod: pod.write(websocket(2, b"\1x", first=0xC0)),
    "an opcode that there is not": lambda pod: pod.write(websocket(3, b"\1x")),
    "a rest of no message": lambda pod: pod.write(websocket(0, b"x")),
    "a message within a message": lambda pod: pod.write(frame(2, b"\1", final=False) + frame(2, b"\1x")),
    "a ping of many bytes": lambda pod: pod.write(websocket(9, b"x" * 126)),
    "half a ping": lambda pod: pod.write(websocket(9, b"x", first=0)),
    "the end of the connection": lambda pod: pod.cut(),
}


def test_frames_that_break_a_rule():
    """The control is the run beside, and that the program has begun."""
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        for name, attack in FORBIDDEN.items():
            def program(pod, attack=attack):
                pod.say("started")
                pod.print(b"begun\n")
                attack(pod)
                pod.await_end()
            fake.program = program
            output = refused(fake, name)
            tap.equal(output["stdout"][:6], "begun\n", f"{name}: {output}")


# What is odd and allowed, or comes too late to matter: the run ends as it would have.
HARMLESS = {
    "nothing": (lambda pod: None, lambda pod: None),
    "pings": (lambda pod: [pod.write(frame(9, b"x" * 125)) for _ in range(2000)], lambda pod: None),
    "pongs": (lambda pod: [pod.write(frame(10, b"")) for _ in range(2000)], lambda pod: None),
    "empty messages": (lambda pod: [pod.channel(1, b"") for _ in range(2000)], lambda pod: None),
    "words of the standard error": (lambda pod: [pod.channel(2, b"\x1b[2J" * 4000) for _ in range(100)], lambda pod: None),
    "empty output": (lambda pod: [pod.print(b"") for _ in range(2000)], lambda pod: None),
    "a second end": (lambda pod: None, lambda pod: pod.bytes(guest.ended(guest.wait_status(9)))),
    "output behind the end": (lambda pod: None, lambda pod: pod.print(LIE)),
    "another start behind the end": (lambda pod: None, lambda pod: pod.say("started")),
    "a flood behind the end": (lambda pod: None, lambda pod: [pod.print(b"x" * 65536) for _ in range(200)]),
    "noise behind the end": (lambda pod: None, lambda pod: pod.bytes(os.urandom(100000))),
    "a failure behind the end": (lambda pod: None, lambda pod: pod.channel(3, b'{"status":"Failure","message":"gone"}')),
}


BEHIND = [name for name in HARMLESS if name.endswith("the end") or name == "a second end"]


def test_frames_that_are_odd_and_no_more():
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        for name, (before, behind) in HARMLESS.items():
            def program(pod, before=before, behind=behind):
                pod.say("started")
                before(pod)
                pod.print(b"honest\n")
                pod.bytes(guest.ended(guest.wait_status(3)))
                behind(pod)
                pod.await_end()
            fake.program = program
            output = call()
            if output["error"]:  # what broke a rule came ahead of the answer, and of all that was read
                tap.equal(output["error"]["code"], "backend_failed", f"{name}: {output}")
                tap.true(name in BEHIND, f"{name}: {output}")
            else:
                end = (output["status"], output["exit_code"], output["stdout"])
                tap.equal(end, ("completed", 3, "honest\n"), f"{name}: {output}")
            goes_on(fake, name)


def test_a_stream_that_ends_in_order_and_a_program_that_does_not():
    """The pod goes on without its stream. Where it then ends, or its time is over, the run does; one that has not begun has seconds."""
    def closes(pod, last=frame(8, struct.pack("!H", 1000))):
        pod.say("started")
        pod.print(b"begun\n")
        pod.write(last)
        pod.stream.read()
    with ScriptedPods() as fake, gateway(fake), victim(fake):
        for last in (frame(8, struct.pack("!H", 1000)), frame(8, b"x"), frame(8, struct.pack("!H", 1011) + b"\x1b[2J\xff" * 10)):
            fake.program = lambda pod, last=last: closes(pod, last)
            output = call(timeout_ms=2000)
            tap.equal((output["status"], output["stdout"]), ("timeout", "begun\n"), output)
            goes_on(fake, "it goes on")

        def closes_and_ends(pod):
            closes(pod)
            with fake.lock:
                found = fake.pods[pod.name]
                state = {"terminated": {"exitCode": 3, "reason": "Error"}}
                found["status"] = {"phase": "Failed", "containerStatuses": [{"name": "run", "state": state}]}
                fake.tell("MODIFIED", found)
        fake.program = closes_and_ends
        refused(fake, "it ends")


tap.run(globals())
