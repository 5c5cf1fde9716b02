# SPDX-License-Identifier: Apache-2.0
"""The broker of endpoints as its gateway and a run's backend drive it, an upstream with TLS, and a client inside. All on loopback."""
import array
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import select
import signal
import socket
import ssl
import struct
import tempfile
import threading

import egress_wire as wire
import tap
from servers import certificates

PROGRAM = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).parent / "code-execute-egress"
SANITIZERS = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
F_ADD_SEALS, ALL_SEALS = 1033, 0xF
PATIENCE = 30 * tap.SLOW


def need_program():
    if not PROGRAM.exists():
        tap.skip_all("the broker of endpoints is not built here: it takes libmicrohttpd and libcurl")


def send_fds(sock, byte, fds):
    sock.sendmsg([byte], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])


def pair():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE)
    return ours, theirs


class Broker:
    """The program, as backend_program_start() starts it. Its standard error is the test's."""

    def __init__(self, environment=None):
        self.control, theirs = pair()
        child = os.posix_spawn(PROGRAM, [str(PROGRAM)], {**SANITIZERS, **(environment or {})}, file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 3)])
        theirs.close()
        hello = self.control.recv(64)
        os.waitpid(child, 0)
        assert hello, "the broker did not start"
        version, self.pid = struct.unpack("<Ii", hello)
        tap.equal(version, wire.PROTOCOL_VERSION, "version")
        self.pidfd = os.pidfd_open(self.pid)

    def has_ended(self, seconds=PATIENCE):
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def kill(self):
        signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self):
        self.control.close()
        ended = self.has_ended()
        if not ended:
            self.kill()
        os.close(self.pidfd)
        assert ended, "the broker did not end with its control socket"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def sealed_order(message):
    fd = os.memfd_create("order", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, message)
    fcntl.fcntl(fd, F_ADD_SEALS, ALL_SEALS)
    return fd


class Run:
    """One run: its order, its listener (the port is what a sandbox sees) and what comes back at its end."""

    def __init__(self, broker, endpoints, message=None, **order):
        self.events, events = pair()
        self.intake, intake = pair()
        memfd = sealed_order(wire.encode_order(endpoints, **order) if message is None else message)
        send_fds(broker.control, b"e", [events.fileno(), memfd, intake.fileno()])
        for end in (events, intake):
            end.close()
        os.close(memfd)
        self.answer = self.event()
        self.port = None
        if self.answer["type"] == "ready":
            self.listen()

    def listen(self):
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
            self.port = listener.getsockname()[1]
            send_fds(self.intake, b"L", [listener.fileno()])

    def event(self):
        message = self.events.recv(8192)
        return wire.decode_event(message) if message else None

    def finish(self):
        """The records and the totals, as the gateway gets them at the run's end."""
        self.events.shutdown(socket.SHUT_WR)
        records = []
        while (event := self.event()) and event["type"] == "record":
            records.append(event["record"])
        assert event and event["type"] == "closed", event
        tap.equal(self.event(), None, "behind the last event")
        self.close()
        return records, event["totals"]

    def close(self):
        self.events.close()
        self.intake.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def http(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, target, body=None, headers=None, **more):
        """Status, headers and body of one request by a client that is as others are."""
        with contextlib.closing(self.http()) as connection:
            connection.request(method, target, body=body, headers=headers or {}, **more)
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())

    def raw(self, *parts):
        """All that comes back on a connection on which exactly these bytes were sent, until it is closed or an answer is whole."""
        with self.connect() as connection:
            for part in parts:
                connection.sendall(part)
            return read_all(connection)


def memory_of(pid):
    """All that the process can write to, read by root."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            place, rights, *_ = line.split()
            if "w" not in rights or "[vvar]" in line or "[vsyscall]" in line:
                continue
            begin, end = (int(number, 16) for number in place.split("-"))
            if end - begin > 1 << 36:
                raise tap.Skip("the memory of a sanitizer cannot be searched")
            with contextlib.suppress(OSError):
                yield os.pread(memory.fileno(), end - begin, begin)


def holds(program, *texts):
    return [text for part in memory_of(program.pid) for text in texts if text in part]


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, {name.lower(): value for name, value in headers}, body

    def denial(self):
        return json.loads(self.body)


def read_all(connection):
    """Until the other side has closed; a reset counts as that."""
    whole = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            whole += part
    return whole


class Request:
    def __init__(self, method, target, version, headers, body, connection):
        self.method, self.target, self.version, self.headers, self.body, self.connection = method, target, version, headers, body, connection

    def values(self, name):
        return [value for key, value in self.headers if key.lower() == name]


def read_head(stream):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline(65537)
        if not line:
            return None
        head += line
    return head


def read_chunks(stream):
    body = b""
    while length := int(stream.readline().split(b";")[0], 16):
        body += stream.read(length)
        stream.readline()
    stream.readline()
    return body


class Upstream:
    """An HTTP/1.1 server whose answers are a function of the request: bytes that are sent as they are, None to close, or a function
    that gets the connection. It keeps the requests."""

    def __init__(self, respond=None, context=None, host="127.0.0.1"):
        self.respond = respond or (lambda request: answer(b"hello"))
        self.context, self.requests, self.connections, self.threads = context, [], 0, []
        self.listener = socket.create_server((host, 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.open = set()
        self.lock = threading.Lock()
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                number = self.connections
                self.open.add(connection)
            threading.Thread(target=self.serve, args=(connection, number), daemon=True).start()

    def serve(self, plain, number):
        connection = plain
        with contextlib.suppress(OSError, ValueError):
            plain.settimeout(PATIENCE)
            if self.context:
                connection = self.context.wrap_socket(plain, server_side=True)
            stream = connection.makefile("rb")
            while self.exchange(connection, stream, number):
                pass
        with contextlib.suppress(OSError):
            connection.close()
        with self.lock:
            self.open.discard(plain)

    def exchange(self, connection, stream, number):
        head = read_head(stream)
        if head is None:
            return False
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, target, version = first.split(" ")
        headers = [tuple(line.split(": ", 1)) for line in lines]
        request = Request(method, target, version, headers, b"", number)
        early = self.early(request) if hasattr(self, "early") else None
        if early is not None:
            with self.lock:
                self.requests.append(request)
            return early(connection, stream)
        if request.values("transfer-encoding"):
            request.body = read_chunks(stream)
        else:
            request.body = stream.read(int((request.values("content-length") or ["0"])[0]))
        with self.lock:
            self.requests.append(request)
        reply = self.respond(request)
        if callable(reply):
            return reply(connection)
        if reply is None:
            return False
        connection.sendall(reply)
        return True

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.accepting.join()
        with self.lock:
            left = list(self.open)
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def answer(body=b"", status="200 OK", headers=()):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class Certificates:
    """An authority that endpoints trust, and one that they do not."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="egress-")
        place = pathlib.Path(self.directory.name)
        self.ours, self.other = certificates.Authority(place / "ours", "ours"), certificates.Authority(place / "other", "other")
        self.ca = self.ours.certificate.read_bytes()
        self.good = self.context(self.ours.issue(place / "good", "upstream", "serverAuth", "IP:127.0.0.1,DNS:localhost,DNS:upstream.example"))
        self.place = place

    @staticmethod
    def context(directory):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / "cert.pem", directory / "key.pem")
        return context


_certificates = None


def certificates_once():
    global _certificates
    _certificates = _certificates or Certificates()
    return _certificates


def endpoint(upstream, name="api", methods=("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"), paths=("/**",), path="", **more):
    """An endpoint for that upstream, whose loopback address takes "private"."""
    scheme = "https" if upstream.context else "http"
    made = {"name": name, "base_url": f"{scheme}://127.0.0.1:{upstream.port}{path}", "rules": [wire.rule(methods, paths)], "private": 1}
    if upstream.context:
        made["ca"] = certificates_once().ca
    made.update(more)
    return made


TOKEN = "tok3n-which-must+not/leak=&\"x"


def with_token(upstream, **more):
    return endpoint(upstream, auth="bearer", credential=TOKEN, **more)


@contextlib.contextmanager
def scene(respond=None, make=endpoint, tls=True, **more):
    """A broker, an upstream and a run with one endpoint of it."""
    context = certificates_once().good if tls else None
    with Upstream(respond, context) as upstream, Broker() as broker, Run(broker, [make(upstream, **more)]) as run:
        tap.equal(run.answer["type"], "ready", "answer to the order")
        yield broker, upstream, run
