# SPDX-License-Identifier: Apache-2.0
"""A real worker with its configuration and certificates, and a gateway's end of its connection, all on loopback."""
import collections
import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

import tap
from servers import certificates

PROGRAM = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).parent / "code-execute-worker"
MESSAGES = os.environ.get("RUN_MESSAGES", "")
PATIENCE = 60 * tap.SLOW
MIB = 1 << 20
GATEWAY, WORKER = "gateway.example", "worker-1.example"

# plugin/backends/remote/link/remote_frame.h
HELLO, OFFER, ANSWER, DATAGRAM, DATA, END, RESET, TAKEN, PING, PONG, CAPACITY, DRAIN, BYE = range(1, 14)
NOTHING, CONTENT, OUTPUT, INPUT, DATAGRAMS, INTAKE = range(1, 7)
ACCEPTED, BUSY, DRAINING, REFUSED = range(1, 5)
LINK_VERSION = 1
WINDOW = 256 << 10
STARTED, ENDED = 1, 2
FAILURE_OF_BACKEND = 9


def need_program():
    if not PROGRAM.exists():
        tap.skip_all("the worker is not built here: it takes OpenSSL 3")


def protocol_version():
    return int(subprocess.run([MESSAGES, "version"], capture_output=True, check=True).stdout)


def describe(code, **members):
    """A run's description, as a gateway makes it, whose program is that code."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(code)
        file.flush()
        return subprocess.run([MESSAGES, "describe", file.name, *(f"{name}={value}" for name, value in members.items())],
                              capture_output=True, check=True).stdout


def decode_event(message):
    lines = subprocess.run([MESSAGES, "event"], input=message, capture_output=True, check=True).stdout.decode().splitlines()
    event = dict(line.partition(" ")[::2] for line in lines)
    return {name: int(value) if value.lstrip("-").isdigit() else value for name, value in event.items()}


def text(value):
    value = value.encode()
    return struct.pack("<I", len(value)) + value


class Texts:
    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def numbers(self, form):
        values = struct.unpack_from("<" + form, self.payload, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def text(self):
        [length] = self.numbers("I")
        self.at += length
        return self.payload[self.at - length:self.at].decode()


class Authorities:
    """The files of a worker and of gateways; made once a program."""

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.directory = directory
        self.ours = certificates.Authority(directory / "ours", "ours")
        self.other = certificates.Authority(directory / "other", "other")
        self.worker = self.ours.issue(directory / "worker", "worker", "serverAuth", f"DNS:{WORKER}")
        self.gateway = self.ours.issue(directory / "gateway", "gateway", "clientAuth", f"DNS:{GATEWAY}")
        self.stranger = self.ours.issue(directory / "stranger", "stranger", "clientAuth", "DNS:stranger.example")
        self.of_other = self.other.issue(directory / "of-other", "gateway", "clientAuth", f"DNS:{GATEWAY}", authority=self.ours)
        self.of_server = self.ours.issue(directory / "of-server", "gateway", "serverAuth", f"DNS:{GATEWAY}")

    def issue_dated(self, name, usage, alternative, begin, end):
        """A certificate that counts from begin to end, as YYYYMMDDHHMMSSZ: openssl ca sets the dates, which openssl x509 does not."""
        directory = self.directory / name
        directory.mkdir()
        database, ca = directory / "database", self.directory / "ours"
        database.mkdir()
        (database / "index.txt").touch()
        (database / "serial").write_text("1000\n")
        (database / "ca.cnf").write_text(
            f"[ca]\ndefault_ca=own\n[own]\ndatabase={database}/index.txt\nserial={database}/serial\nnew_certs_dir={database}\n"
            "default_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n"
            f"[extensions]\nextendedKeyUsage={usage}\nsubjectAltName={alternative}\n")
        certificates.openssl("req", *certificates.KEY, "-subj", "/CN=dated", "-keyout", directory / "key.pem",
                             "-out", database / "request")
        certificates.openssl("ca", "-batch", "-config", database / "ca.cnf", "-cert", ca / "ca.pem", "-keyfile", ca / "ca-key.pem",
                             "-startdate", begin, "-enddate", end, "-extensions", "extensions", "-notext",
                             "-in", database / "request", "-out", directory / "cert.pem")
        (directory / "ca.pem").write_bytes((ca / "ca.pem").read_bytes())
        return directory

    def issue_expired(self, name, usage, alternative):
        return self.issue_dated(name, usage, alternative, "20200101000000Z", "20200201000000Z")


def configuration_of(files, **members):
    """members: of the configuration; None takes one away."""
    whole = {
        "name": "worker-1", "listen": "127.0.0.1:0", "status_listen": "127.0.0.1:0",
        "tls": {"authority": str(files / "ca.pem"), "certificate": str(files / "cert.pem"), "key": str(files / "key.pem")},
        "gateways": [GATEWAY], "mode": "process", "max_runs": 8, "memory_total_bytes": 2048 * MIB, "drain_seconds": 60,
        # Interpreters that wait take memory, and tell nothing here.
        "pool": {"ready": 0, "most": 0},
    }
    whole.update(members)
    return {name: value for name, value in whole.items() if value is not None}


class Worker:
    """The program. Its lines are read as they come."""

    def __init__(self, directory, files, before=(), options=(), **members):
        """before: a command that starts it; options: of the program, beside its configuration."""
        self.path = pathlib.Path(directory) / f"worker-{time.monotonic_ns()}.json"
        self.path.write_text(json.dumps(configuration_of(files, **members)))
        self.lines, self.changed = [], threading.Condition()
        self.process = subprocess.Popen([*before, PROGRAM, "--config", self.path, *options], stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()

    def events(self, name):
        return [event for event in map(json.loads, list(self.lines)) if event["event"] == name]

    def await_event(self, name, count=1):
        with self.changed:
            found = self.changed.wait_for(lambda: len(self.events(name)) >= count, PATIENCE)
        tap.true(found, f"no {name}: {self.lines}")
        return self.events(name)[count - 1]

    @property
    def address(self):
        host, _, port = self.await_event("listening")["address"].rpartition(":")
        return host, int(port)

    def get(self, path, method="GET"):
        """The status and the text of an answer about its health."""
        address = self.await_event("status")["address"]
        try:
            with urllib.request.urlopen(urllib.request.Request(f"http://{address}{path}", method=method), timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, name):
        [value] = [line.split()[1] for line in self.get("/metrics")[1].splitlines() if line.split()[0] == f"code_execute_worker_{name}"]
        return float(value)

    def await_ready(self):
        self.await_event("ready")
        return self

    def backend(self, pid=None):
        """The pid of the backend program of the worker (of that pid), which is not its child."""
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and backend_of(entry, pid or self.process.pid):
                return int(entry.name)
        return None

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Its exit status, once it has ended by itself."""
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join(PATIENCE)
        self.process.stderr.close()


def children(pid):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
    return found


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def backend_of(entry, pid):
    """A backend holds a pidfd of its host. It is not dumpable, so that only root sees this."""
    try:
        if (entry / "comm").read_text() != "code-execute-pr\n":
            return False
        for info in (entry / "fdinfo").iterdir():
            if f"Pid:\t{pid}\n" in info.read_text():
                return True
    except OSError:
        pass
    return False


class Closed(Exception):
    """The worker has ended the connection; its words, where it had any."""


class Link:
    """A gateway's end, frame by frame. It answers pings, and gives room for what has come."""

    def __init__(self, address, files, name=WORKER, hello=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(files / "ca.pem")
        context.load_cert_chain(files / "cert.pem", files / "key.pem")
        raw = socket.create_connection(address, PATIENCE)
        try:
            self.socket = context.wrap_socket(raw, server_hostname=name)
        except BaseException:
            raw.close()
            raise
        self.channel, self.streams, self.events = 0, collections.defaultdict(bytearray), collections.defaultdict(list)
        self.ended, self.said, self.answers, self.capacities, self.drains, self.bye, self.room = set(), set(), {}, [], False, None, {}
        self.peer = None
        self.send(HELLO, 0, hello if hello is not None else self.hello())

    @staticmethod
    def hello(link=LINK_VERSION, protocol=None):
        protocol = protocol_version() if protocol is None else protocol
        return b"code-execute-remote" + struct.pack("<II", link, protocol) + text("test") + text("") + struct.pack("<QII", 0, 0, 0)

    def send(self, kind, channel, payload=b""):
        self.socket.sendall(struct.pack("<IBI", len(payload), kind, channel) + payload)

    def read(self, count):
        data = b""
        while len(data) < count:
            try:
                piece = self.socket.recv(count - len(data))
            except (ConnectionError, ssl.SSLError) as error:
                raise Closed(self.bye or str(error)) from error
            if not piece:
                raise Closed(self.bye or "")
            data += piece
        return data

    def take(self):
        """The next frame, noted where it belongs."""
        length, kind, channel = struct.unpack("<IBI", self.read(9))
        payload = self.read(length)
        if kind == HELLO:
            fields = Texts(payload[len(b"code-execute-remote"):])
            versions = fields.numbers("II")
            self.peer = {"versions": versions, "name": fields.text(), "mode": fields.text()}
            self.peer.update(zip(("memory_bytes", "processors", "slots"), fields.numbers("QII")))
        elif kind == ANSWER:
            fields = Texts(payload)
            verdict, retry = fields.numbers("IQ")
            self.answers[channel] = {"verdict": verdict, "retry_after_ms": retry, "reason": fields.text(), "remedy": fields.text()}
        elif kind == DATA:
            self.streams[channel] += payload
            self.send(TAKEN, channel, struct.pack("<I", length))
        elif kind == DATAGRAM:
            [count] = struct.unpack_from("<H", payload)
            self.events[channel].append(decode_event(payload[2 + 13 * count:]))
        elif kind in (END, RESET):
            self.ended.add(channel)
            self.say_end(channel, kind)
        elif kind == TAKEN:
            self.room[channel] = self.room.get(channel, 0) + struct.unpack("<I", payload)[0]
        elif kind == PING:
            self.send(PONG, 0)
        elif kind == CAPACITY:
            self.capacities.append(dict(zip(("runs", "slots", "memory_free"), struct.unpack("<IIQ", payload))))
        elif kind == DRAIN:
            self.drains = True
        elif kind == BYE:
            self.bye = payload.decode()
        return kind

    def say_end(self, channel, kind):
        """A channel is gone once both sides have said so."""
        if channel not in self.said:
            self.said.add(channel)
            self.send(kind, channel)

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            left = end - time.monotonic()
            tap.true(left > 0, f"not in time: {what}")
            if self.socket.pending() or select.select([self.socket], [], [], left)[0]:
                self.take()

    def await_end(self):
        """The worker's last words."""
        with contextlib.suppress(Closed):
            self.until(lambda: False, "the end of the connection")
        return self.bye

    def next_channel(self):
        self.channel += 1
        return self.channel

    def offer(self, memory_bytes=64 * MIB, purpose=0, session=0):
        """The channel and the answer."""
        channel = self.next_channel()
        self.send(OFFER, channel, struct.pack("<IIQQ", purpose, session, memory_bytes, 120000) + text("hash"))
        self.until(lambda: channel in self.answers, "an answer")
        return channel, self.answers[channel]

    def send_content(self, channel, content):
        """A file that comes with a datagram, as far as the worker gives room for it."""
        self.room[channel] = WINDOW
        while content:
            self.until(lambda: self.room[channel] > 0, "room for a file")
            piece = content[:min(self.room[channel], 65536)]
            self.room[channel] -= len(piece)
            self.send(DATA, channel, piece)
            content = content[len(piece):]
        self.say_end(channel, END)

    def send_run(self, channel, description, stdin=b"", results=False, files=False, between=None):
        """Hands a run over that was accepted; the numbers of its streams. between: what is done once it is described, before its standard
        input is whole."""
        numbers = {name: self.next_channel() for name in ("description", "stdin", "stdout", "stderr", "results", "files")}
        nothing = (NOTHING, 0, 0)
        attachments = [
            (CONTENT, numbers["description"], len(description)),
            (CONTENT, numbers["stdin"], len(stdin)) if stdin else nothing,
            (OUTPUT, numbers["stdout"], 0), (OUTPUT, numbers["stderr"], 0),
            (OUTPUT, numbers["results"], 0) if results else nothing,
            (OUTPUT, numbers["files"], 0) if files else nothing,
            nothing, nothing, nothing]
        payload = struct.pack("<H", len(attachments)) + b"".join(struct.pack("<BIQ", *one) for one in attachments) + b"r"
        self.send(DATAGRAM, channel, payload)
        self.send_content(numbers["description"], description)
        if between:
            between()
        if stdin:
            self.send_content(numbers["stdin"], stdin)
        return numbers

    def start(self, code, stdin=b"", memory_bytes=64 * MIB, results=False, files=False, **members):
        """Offers a run and hands it over: its channel, and the numbers of its streams."""
        channel, answer = self.offer(memory_bytes)
        tap.equal(answer["verdict"], ACCEPTED, answer)
        description = describe(code, memory_bytes=memory_bytes, results=int(results), **members)
        return channel, self.send_run(channel, description, stdin, results, files)

    def event(self, channel, kind):
        def found():
            return [event for event in self.events[channel] if event["type"] == kind]
        self.until(lambda: found() or channel in self.ended, "an event of the run")
        tap.true(found(), f"the run has ended without a word: {self.events[channel]}")
        return found()[0]

    def run(self, code, **how):
        """Its end, with its output."""
        channel, numbers = self.start(code, **how)
        ended = self.event(channel, ENDED)
        self.finish(channel)
        return {**ended, **{name: bytes(self.streams[number]) for name, number in numbers.items()}}

    def finish(self, channel):
        """As the plugin closes its end of a run's socket."""
        self.say_end(channel, RESET)
        self.until(lambda: channel in self.ended, "the end of the run on the link")

    def close(self):
        self.socket.close()

    def __enter__(self):
        self.until(lambda: self.peer, "the worker's greeting")
        return self

    def __exit__(self, *_):
        self.close()


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
