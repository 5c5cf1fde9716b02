# SPDX-License-Identifier: Apache-2.0
"""CONNECT to declared hosts: the name in the ClientHello must be the host's, and nothing else goes through."""
import socket
import ssl
import struct
import threading

import broker
import tap
from broker import Broker, Run, Upstream, answer

broker.need_program()


def tunnel(upstream, host="localhost", **more):
    return {"name": "files", "base_url": f"https://{host}:{upstream.port}", "tunnel": 1, "private": 1, **more}


class Scene:
    def __init__(self, respond=None, host="localhost", **more):
        self.upstream = Upstream(respond, broker.certificates_once().good)
        self.broker = Broker()
        self.run = Run(self.broker, [tunnel(self.upstream, host, **more), broker.endpoint(self.upstream)])
        tap.equal(self.run.answer["type"], "ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run.close()
        self.broker.close()
        self.upstream.close()

    def connect(self, authority=None, head=b""):
        """The connection behind CONNECT, and the head of the answer."""
        connection = self.run.connect()
        authority = authority or f"localhost:{self.upstream.port}"
        connection.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode() + head)
        got = b""
        while not got.endswith(b"\r\n\r\n"):
            part = connection.recv(1)
            if not part:
                break
            got += part
        return connection, got.decode()

    def talk(self, name="localhost", context=None):
        connection, head = self.connect()
        tap.contains(head, "HTTP/1.1 200")
        context = context or ssl.create_default_context(cadata=broker.certificates_once().ca.decode())
        with context.wrap_socket(connection, server_hostname=name) as secure:
            secure.sendall(b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return broker.read_all(secure)


def unchecked():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def test_a_tunnel_to_a_declared_host():
    with Scene(lambda _: closing(b"through")) as scene:
        tap.contains(scene.talk().decode(), "through")
        tap.contains(scene.talk("LOCALHOST").decode(), "through", "case")
        records, totals = scene.run.finish()
        tap.equal([(record["method"], record["path"], record["decision"], record["status"]) for record in records],
                  [("CONNECT", f"localhost:{scene.upstream.port}", "allowed", 200)] * 2)
        tap.true(records[0]["bytes_in"] > 500 and records[0]["bytes_out"] > 200, records[0])
        tap.equal(totals["bytes_in"], sum(record["bytes_in"] for record in records))


def closing(body):
    def end(connection):
        connection.sendall(answer(body, headers=["Connection: close"]))
        return False
    return end


def test_names_that_are_not_the_hosts():
    with Scene() as scene:
        for name in ("other.example", "localhost.", "xlocalhost", "ocalhost", None):
            try:
                got = scene.talk(name, unchecked())
            except (OSError, ssl.SSLError):
                got = b""
            tap.equal(got, b"", name)
        tap.equal(scene.upstream.requests, [])
        records, totals = scene.run.finish()
        tap.equal([(record["decision"], record["bytes_out"]) for record in records], [("denied", 0)] * 5)
        tap.equal(totals["denied"], 5)
        for record, reason in zip(records, ["names another server"] * 4 + ["names no server"]):
            tap.contains(record["reason"], reason)


def hello(extensions):
    body = b"\x03\x03" + b"r" * 32 + b"\0" + b"\0\x02\x13\x01" + b"\x01\0" + struct.pack(">H", len(extensions)) + extensions
    message = b"\x01" + struct.pack(">I", len(body))[1:] + body
    return b"\x16\x03\x01" + struct.pack(">H", len(message)) + message


def extension(kind, content):
    return struct.pack(">HH", kind, len(content)) + content


def server_name(name, kind=0):
    entry = bytes([kind]) + struct.pack(">H", len(name)) + name
    return extension(0, struct.pack(">H", len(entry)) + entry)


class Silent:
    """A listener that keeps what arrives."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.arrived = []
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.settimeout(broker.PATIENCE)
            with connection:
                self.arrived.append(broker.read_all(connection))

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


def test_bytes_that_are_no_good_hello():
    good = hello(server_name(b"localhost"))
    bad = [(b"GET / HTTP/1.1\r\n\r\n", "does not begin"), (b"SSH-2.0-x\r\n", "does not begin"), (good[:-1] + b"", "does not begin"), (b"", "does not begin"),
           (b"\x16\x03\x01\0\0", "does not begin"), (b"\x80" + good, "does not begin"), (b"\x17" + good[1:], "does not begin"), (good[:5] + b"\x02" + good[6:], "does not begin"),
           (hello(b""), "names no server"), (hello(extension(0, b"")), "names no server"), (hello(server_name(b"localhost", 1)), "names no server"),
           (hello(server_name(b"localhost") * 2), "names no server"), (hello(server_name(b"localhost\0")), "names another server"),
           (hello(server_name(b"localhost") + extension(0xfe0d, b"x" * 30)), "encrypted"), (hello(extension(0xffce, b"x") + server_name(b"localhost")), "encrypted"),
           (hello(server_name(b"other")), "names another server"), (hello(server_name(b"localhost") + b"\0"), "does not begin")]
    silent = Silent()
    with Broker() as program, Run(program, [tunnel(silent)]) as run:
        for content, _ in bad:
            with run.connect() as connection:
                connection.sendall(f"CONNECT localhost:{silent.port} HTTP/1.1\r\n\r\n".encode() + content)
                connection.shutdown(socket.SHUT_WR)
                broker.read_all(connection)
        pieces = [good[index:index + 1] for index in range(len(good))]
        with run.connect() as connection:
            connection.sendall(f"CONNECT localhost:{silent.port} HTTP/1.1\r\n\r\n".encode())
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces + [b"more"]:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            broker.read_all(connection)
        tap.eventually(lambda: len(silent.arrived) == len(bad) + 1, "all connections have ended")
        tap.equal(silent.arrived, [b""] * len(bad) + [good + b"more"], "what arrived")
        records, _ = run.finish()
        for record, (content, reason) in zip(records, bad):
            tap.equal(record["decision"], "denied", content)
            tap.contains(record["reason"], reason, repr(content))
        tap.equal(records[-1]["decision"], "allowed", "control: in pieces")
    silent.close()


def test_a_hello_in_many_records():
    whole = hello(server_name(b"localhost"))[5:]
    parts = b"".join(b"\x16\x03\x01\0\x01" + whole[index:index + 1] for index in range(len(whole)))
    silent = Silent()
    with Broker() as program, Run(program, [tunnel(silent)]) as run, run.connect() as connection:
        connection.sendall(f"CONNECT localhost:{silent.port} HTTP/1.1\r\n\r\n".encode() + parts)
        connection.shutdown(socket.SHUT_WR)
        broker.read_all(connection)
        tap.eventually(lambda: silent.arrived == [parts], "it arrives as it was sent")
    silent.close()


def test_hosts_that_are_not_declared():
    with Scene() as scene:
        port = scene.upstream.port
        for authority in (f"127.0.0.1:{port}", "localhost:443", f"localhost.:{port}", f"localhost:{port + 1}", f"[::1]:{port}", f"localhost:0{port}",
                          f"user@localhost:{port}", "localhost", f"https://localhost:{port}", f"localhost:{port}\0", "", f"api:{port}"):
            connection, head = scene.connect(authority or " ")
            tap.true(not head.startswith("HTTP/1.1 2"), f"{authority!r}: {head[:40]}")
            connection.close()
        tap.equal(scene.upstream.connections, 0)
        connection, head = scene.connect()
        tap.contains(head, "200", "control")
        connection.close()


def test_a_tunnel_is_no_endpoint_of_requests():
    with Scene() as scene:
        got = scene.run.ask("GET", "/files/x")
        tap.equal(got.status, 403)
        tap.contains(got.denial()["reason"], "CONNECT only")
        tap.equal(scene.run.ask("GET", "/api/x").status, 200, "control: an endpoint beside it")


def test_a_request_in_pieces_beside_a_tunnel():
    with Scene() as scene, scene.run.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"GET /api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":
            connection.sendall(bytes([byte]))
        tap.contains(broker.read_all(connection).decode(), "200 OK")
    with Scene() as scene, scene.run.connect() as connection:
        connection.sendall(b"GET")
        connection.shutdown(socket.SHUT_WR)
        broker.read_all(connection)
        tap.equal(scene.run.ask("GET", "/api/x").status, 200)


def test_addresses_of_tunnels():
    with Broker() as program, Upstream() as upstream:
        with Run(program, [tunnel(upstream, private=0)]) as run, run.connect() as connection:
            connection.sendall(f"CONNECT localhost:{upstream.port} HTTP/1.1\r\n\r\n".encode())
            tap.contains(broker.read_all(connection).decode(), "address_refused")
        tap.equal(upstream.connections, 0)


def test_limits_of_a_tunnel():
    with Scene(lambda _: closing(b"x" * 300000), limits={"requests": 2, "response_bytes": 100000, "timeout_ms": 20000}) as scene:
        tap.true(len(scene.talk()) < 300000, "cut")
        connection, head = scene.connect()
        tap.contains(head, "200")
        connection.close()
        connection, head = scene.connect()
        tap.contains(head, "429")
        connection.close()
        records, _ = scene.run.finish()
        tap.equal((records[0]["decision"], records[0]["status"]), ("budget_exhausted", 200))
        tap.contains(records[0]["reason"], "100000 bytes in")


def test_the_end_of_a_run_ends_its_tunnels():
    with Scene() as scene:
        connection, head = scene.connect()
        tap.contains(head, "200")
        records, _ = scene.run.finish()
        tap.equal(broker.read_all(connection), b"")
        tap.equal((records[0]["decision"], records[0]["reason"]), ("failed", "the run ended before the tunnel did"))
        connection.close()


def test_large_transfers():
    size = 8 << 20
    with Scene(lambda request: closing(request.body), limits={"request_bytes": 4 * size, "response_bytes": 4 * size}) as scene:
        connection, _ = scene.connect()
        context = ssl.create_default_context(cadata=broker.certificates_once().ca.decode())
        content = bytes(range(256)) * (size // 256)
        with context.wrap_socket(connection, server_hostname="localhost") as secure:
            secure.sendall(f"PUT /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode() + content)
            got = broker.read_all(secure)
        tap.true(got.endswith(content), f"{len(got)} bytes")


tap.run(globals())
