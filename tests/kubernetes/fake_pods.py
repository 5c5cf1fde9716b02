# SPDX-License-Identifier: Apache-2.0
"""Pods of the API server by plan (fake_server.py) whose guest speaks as code-execute-guest does: it is called, reports, waits for a run's
message, and is a program that prints "yes"."""
import contextlib
import hashlib
import os
import pathlib
import socket
import struct

import guest
from fake_server import FakeServer, frame, message

GUEST = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).with_name("code-execute-guest")
FACTS = ("Name:\tcode-execute-gu\nUid:\t65534\t65534\t65534\t65534\n" +
         "".join(f"{name}:\t0000000000000000\n" for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) + "NoNewPrivs:\t1\nSeccomp:\t2\n")
SUCCESS = b'{"metadata":{},"status":"Success"}'
TRIES = ("api-server", "dns-tcp", "dns-udp", "metadata", "pod")
LABEL_STATE, LABEL_RUN = "code-execute.state", "code-execute.run"


class Input:
    """What comes on a pod's standard input, as a file. heard: is told of what comes from then on."""

    def __init__(self, stream):
        self.stream, self.rest, self.heard = stream, b"", lambda data: None

    def read(self, length):
        while len(self.rest) < length:
            opcode, payload = self.stream.read()
            if opcode is None or opcode == 8:
                break
            if opcode == 2 and payload[:1] == b"\0":
                self.heard(payload[1:])
                self.rest += payload[1:]
        data, self.rest = self.rest[:length], self.rest[length:]
        return data


class FakePods(FakeServer):
    """messages: (name of the pod, message) as they come. log: what happened in its order: ("claim", name) when the answer to a claim goes
    out, ("heard", name) when a guest gets the first byte of a run. lost: numbers of pods whose guest ends with the message."""

    def __init__(self):
        super().__init__()
        digest = hashlib.sha256(GUEST.read_bytes()).hexdigest()
        self.facts = f"{FACTS}Guest:\t{digest}\nKernel:\tLinux\nLandlock:\t0\n".encode()
        self.messages, self.log, self.streams = [], [], {}
        self.before_claim = lambda name: None

    def waiting(self):
        """The names of the pods that wait for a run, whose guest says so."""
        with self.lock:
            return [name for name, pod in self.pods.items() if pod["metadata"]["labels"][LABEL_STATE] == "idle" and name in self.streams]

    def cut(self, name):
        """Its stream ends without a word."""
        with self.lock, contextlib.suppress(OSError):
            self.streams[name].handler.connection.shutdown(socket.SHUT_RDWR)

    def delete_pod(self, handler, name, query, body):
        answer = super().delete_pod(handler, name, query, body)
        if name in self.streams and name not in self.pods:
            self.cut(name)
        return answer

    def answer(self, handler, code, body, headers=()):
        if handler.command == "PATCH":
            with self.lock:
                self.log.append(("claim", handler.path.rpartition("/")[2]))
        super().answer(handler, code, body, headers)

    @staticmethod
    def take_call(reader):
        """The frames of its report, in a network that is closed; None: it was not called."""
        call = reader.read(1)
        if call == b"n":
            reader.read(reader.read(1)[0])
            return [guest.frame("network", b"".join(f"{name} timeout\n".encode() for name in TRIES) + b"control connected\n")]
        return [] if call == b"c" else None

    def get_attach(self, handler, name, _query, _body):
        name = name.partition("/")[0]
        stream = self.grant(handler)
        stream.write(message(1, b""))

        def heard(_data):
            with self.lock:
                self.log.append(("heard", name))

        def say(*said):
            stream.write(message(1, b"".join(said)))
        reader = Input(stream)
        tried = self.take_call(reader)
        if tried is None:
            return
        reader.heard = heard
        if reader.rest:
            heard(reader.rest)
        say(guest.frame("facts", self.facts), *tried, guest.frame("waiting"))
        with self.lock:
            self.streams[name] = stream
        told = guest.read_message(reader)
        if told is None:
            return
        with self.lock:
            self.messages.append((name, told))
        said = [guest.frame("started"), guest.ended(0)]
        if not told["trial"]:
            said.insert(1, guest.frame("stdout", b"yes\n"))
        if told["outputs"][0]:
            said += [guest.frame("files", guest.FILE_LAST), guest.frame("collected")]
        say(*said)
        while reader.read(1):  # until it is removed, or nobody is attached any more
            pass
        stream.write(message(3, SUCCESS) + frame(8, struct.pack("!H", 1000)))
