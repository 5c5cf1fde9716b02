# SPDX-License-Identifier: Apache-2.0
"""A worker that is a script: it has a right certificate, greets as one, and answers a gateway with whatever a test wants. What it does
unless told otherwise is what an honest worker does, which is the control of each attack."""
import contextlib
import functools
import os
import pathlib
import select
import socket
import ssl
import struct
import subprocess
import threading
import types

import tap
from workers import (ACCEPTED, ANSWER, BYE, CONTENT, DATA, DATAGRAM, END, ENDED, HELLO, LINK_VERSION, MESSAGES, OFFER, PATIENCE, PING, PONG, RESET, STARTED,
                     TAKEN, WINDOW, Texts, protocol_version, text)

PROGRAM, TRIAL = 0, 1  # purposes
EVERY_LAYER = (1 << 17) - 1
VERSION = protocol_version()


class AT:
    """The places of a run's attachments."""
    DESCRIPTION, STDIN, STDOUT, STDERR, RESULTS, FILES, INPUTS, TOOLS, ENDPOINTS = range(9)


FILE_BEGIN, FILE_DATA, FILE_END, FILE_OMITTED, FILES_OMITTED, FILE_LAST = range(1, 7)


def event(**members):
    return subprocess.run([MESSAGES, "encode", *(f"{name}={value}" for name, value in members.items())], capture_output=True, check=True).stdout


STARTED_WELL = event(type=STARTED, applied=EVERY_LAYER)
ENDED_WELL = event(type=ENDED, applied=EVERY_LAYER)


def frame(kind, payload=b""):
    """Of results and of files."""
    return struct.pack("<IB", len(payload), kind) + payload


class Gone(Exception):
    """The gateway has ended the connection."""


class Run:
    """A run that the gateway has handed over: its channel, and the numbers of its streams by their places."""

    def __init__(self, connection, channel, attachments):
        self.connection, self.channel, self.attachments = connection, channel, attachments
        self.ended = set()

    def number(self, place):
        form, number, _ = self.attachments[place]
        return number if form not in (0, 1) else None

    def has(self, place):
        return self.number(place) is not None

    @property
    def description(self):
        return bytes(self.connection.contents[self.number(AT.DESCRIPTION)])

    def write(self, place, data):
        """As much as the gateway gives room for, until it has had all."""
        self.connection.stream(self.number(place), data)

    def end(self, place):
        if self.has(place) and place not in self.ended:
            self.ended.add(place)
            self.connection.say_end(self.number(place))

    def tell(self, message):
        self.connection.datagram(self.channel, message)

    def finish(self, ended=ENDED_WELL, files=b""):
        """As an honest worker ends a run whose outputs are written."""
        if self.has(AT.FILES):
            self.write(AT.FILES, files + frame(FILE_LAST))
        for place in (AT.STDOUT, AT.STDERR, AT.RESULTS, AT.FILES):
            self.end(place)
        self.tell(ended)
        self.connection.say_end(self.channel)


def honest(run, out=b"honest\n"):
    run.tell(STARTED_WELL)
    run.write(AT.STDOUT, out)
    run.finish()


class Connection:
    """One connection of a gateway, read by a thread of its own. Each run has a thread as well."""

    def __init__(self, raw, worker):
        self.worker, self.lock, self.changed = worker, threading.RLock(), threading.Condition()
        self.socket, self.over = raw, False
        raw.setblocking(False)
        self.offers, self.contents, self.said, self.room, self.heard = {}, {}, set(), {}, {}
        self.runs, self.counts, self.bye = [], {}, None
        self.frames, self.boundary = 0, None  # how many have gone in either direction; called with that number behind each

    # what it sends

    def send(self, kind, channel, payload=b"", length=None):
        """length: that is announced, where it is not the payload's."""
        self.raw(struct.pack("<IBI", len(payload) if length is None else length, kind, channel) + payload)
        self.count()

    def count(self):
        self.frames += 1
        if self.boundary:
            self.boundary(self.frames)

    def raw(self, data):
        left = memoryview(data)
        with self.lock:
            while left:
                try:
                    left = left[self.socket.send(left):]
                except ssl.SSLWantWriteError:
                    select.select([], [self.socket], [], PATIENCE)
                except (OSError, ssl.SSLError) as error:
                    raise Gone(str(error)) from error

    def datagram(self, channel, message, attachments=()):
        self.send(DATAGRAM, channel, struct.pack("<H", len(attachments)) + b"".join(struct.pack("<BIQ", *one) for one in attachments) + message)

    def stream(self, channel, data):
        while data:
            with self.changed:
                room = self.changed.wait_for(lambda: self.room.get(channel, WINDOW) > 0 or channel in self.heard or self.over, PATIENCE)
                if not room or self.over or channel in self.heard:
                    raise Gone("nobody takes it")
                piece = data[:min(self.room.setdefault(channel, WINDOW), 65536)]
                self.room[channel] -= len(piece)
            self.send(DATA, channel, piece)
            data = data[len(piece):]

    def say_end(self, channel, kind=END):
        with self.lock:
            if channel not in self.said:
                self.said.add(channel)
                self.send(kind, channel)

    def answer(self, channel, verdict=ACCEPTED, retry_after_ms=0, reason="", remedy=""):
        self.send(ANSWER, channel, struct.pack("<IQ", verdict, retry_after_ms) + text(reason) + text(remedy))

    # what comes

    def read(self, count):
        data = b""
        while len(data) < count:
            try:
                with self.lock:  # a connection of TLS is not for two threads at once
                    piece = self.socket.recv(count - len(data))
            except ssl.SSLWantReadError:
                with contextlib.suppress(OSError, ValueError):
                    select.select([self.socket], [], [], PATIENCE)
                continue
            except (OSError, ssl.SSLError) as error:
                raise Gone(str(error)) from error
            if not piece:
                raise Gone("")
            data += piece
        return data

    def greet(self):
        self.worker.script.greet(self)
        while True:
            length, kind, channel = struct.unpack("<IBI", self.read(9))
            self.take(kind, channel, self.read(length))

    def take(self, kind, channel, payload):
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.count()
        if kind == OFFER:
            fields = Texts(payload)
            purpose, session, memory, wall_ms = fields.numbers("IIQQ")
            self.offers[channel] = types.SimpleNamespace(purpose=purpose, session=session, memory=memory, wall_ms=wall_ms, payload=payload)
            self.worker.offers.append(self.offers[channel])
            self.worker.script.offered(self, channel, self.offers[channel])
        elif kind == DATAGRAM and channel in self.offers:
            self.begin(channel, payload)
        elif kind == DATA:
            self.contents.setdefault(channel, bytearray()).extend(payload)
            self.send(TAKEN, channel, struct.pack("<I", len(payload)))
        elif kind in (END, RESET):
            with self.changed:
                self.heard[channel] = kind
                self.changed.notify_all()
            if channel in self.contents or channel in self.offers:
                self.say_end(channel, kind)
        elif kind == TAKEN:
            with self.changed:
                self.room[channel] = self.room.get(channel, WINDOW) + struct.unpack("<I", payload)[0]
                self.changed.notify_all()
        elif kind == PING:
            self.send(PONG, 0)
        elif kind == BYE:
            self.bye = payload.decode(errors="replace")
            self.worker.byes.append(self.bye)

    def begin(self, channel, payload):
        [count] = struct.unpack_from("<H", payload)
        offer = self.offers[channel]
        if count == 0:
            offer.orders = [*getattr(offer, "orders", []), payload[2:]]  # of a run that is under way
            return
        run = Run(self, channel, [struct.unpack_from("<BIQ", payload, 2 + 13 * i) for i in range(count)])
        for form, number, size in run.attachments:
            if form == CONTENT:
                self.contents[number] = bytearray()
                run.size = size
        self.runs.append(run)
        self.worker.runs.append(run)
        script = self.worker.script
        threading.Thread(target=self.follow, args=(script.trial if offer.purpose == TRIAL else script.program, run), daemon=True).start()

    def follow(self, how, run):
        """The script of a run, once its description is there."""
        number = run.number(AT.DESCRIPTION)
        with self.changed:
            self.changed.wait_for(lambda: number in self.heard or self.over, PATIENCE)
        with contextlib.suppress(Gone):
            how(run)

    def serve(self):
        try:
            with contextlib.suppress(Gone):
                self.greet()
        finally:
            with self.changed:
                self.over = True
                self.changed.notify_all()
            with contextlib.suppress(OSError):
                self.socket.close()

    def cut(self):
        """Without a word."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


class Script:
    """What a worker does. Those that are not given are honest."""

    def __init__(self, program=honest, trial=honest, greet=None, offered=None, mode="process"):
        self.program, self.trial, self.mode = program, trial, mode
        self.greet = greet or self.greet_well
        self.offered = offered or (lambda connection, channel, offer: connection.answer(channel))

    def greet_well(self, connection):
        connection.send(HELLO, 0, hello(mode=self.mode))


def hello(link=LINK_VERSION, protocol=VERSION, name="scripted", mode="process", memory=1 << 40, processors=2, slots=64):
    return b"code-execute-remote" + struct.pack("<II", link, protocol) + text(name) + text(mode) + struct.pack("<QII", memory, processors, slots)


class ScriptedWorker:
    """Listens on loopback. Its script can be changed at any time: the next frame counts."""

    def __init__(self, files, script=None):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.num_tickets = 0
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.load_verify_locations(files / "ca.pem")
        self.context.load_cert_chain(files / "cert.pem", files / "key.pem")
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = self.listener.getsockname()
        self.script = script or Script()
        self.boundary = None  # of each connection from now on: see Connection
        self.connections, self.offers, self.runs, self.byes = [], [], [], []
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                raw, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(raw,), daemon=True).start()

    def serve(self, raw):
        try:
            connection = Connection(self.context.wrap_socket(raw, server_side=True), self)
        except (OSError, ssl.SSLError):
            raw.close()
            return
        connection.boundary = self.boundary and functools.partial(self.boundary, connection)
        self.connections.append(connection)
        connection.serve()

    def programs(self):
        return [run for run in self.runs if run.connection.offers[run.channel].purpose == PROGRAM]

    def await_ready(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # else its thread goes on, on whatever gets the descriptor's number next
        self.accepting.join(PATIENCE)
        self.listener.close()
        for connection in self.connections:
            connection.cut()


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def backend_of_gateway():
    """The pid of this program's code-execute-remote; None where there is none."""
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text() == "code-execute-re\n" and any(
                    f"Pid:\t{os.getpid()}\n" in info.read_text() for info in (entry / "fdinfo").iterdir()):
                return int(entry.name)
    return None


def need_backend():
    """Its pid. A backend is not dumpable, so that only root finds it."""
    if os.geteuid() != 0:
        raise tap.Skip("only root sees the gateway's backend")
    pid = backend_of_gateway()
    tap.true(pid, "the gateway has no backend of mode remote")
    return pid


def await_program(worker):
    tap.true(tap.within(worker.programs, PATIENCE), "no run has come")
    return worker.programs()[-1]
