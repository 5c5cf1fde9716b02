# SPDX-License-Identifier: Apache-2.0
"""A Docker engine that misbehaves by plan: an HTTP server that runs nothing, on a unix socket or, without a path, on a port of the
loopback, with TLS where it is given a context for it (cut: it ends its stream without saying so). Without a fault it takes a
container from create to removal; a fault is (step, kind), and kind says what happens instead of that step's right answer."""
import json
import os
import socket
import struct
import threading

IMAGE = "sha256:" + "1" * 64
REPORT = ("=Uid: 65534\t65534\t65534\t65534\n" +
          "".join(f"={name}: 0000000000000000\n" for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) +
          "=NoNewPrivs: 1\n=Seccomp: 2\n")
INFO = {"SecurityOptions": ["name=seccomp,profile=default"], "MemoryLimit": True, "SwapLimit": True, "PidsLimit": True,
        "CpuCfsQuota": True, "CgroupVersion": "1"}
MARKS = (("version", "/version"), ("info", "/info"), ("image", "/images/"), ("create", "/containers/create"),
         ("list", "/containers/json"), ("attach", "/attach"), ("start", "/start"), ("wait", "/wait"))
HEAD = b"HTTP/1.1 200 OK\r\n"
PLAIN = {"close": b"", "garbage": b"\x00\xff not http at all\r\n\r\n", "short": HEAD + b"Content-Length: 100\r\n\r\n{",
         "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nnonsense", "html": HEAD + b"Content-Length: 6\r\n\r\n<html>",
         "404": b"HTTP/1.1 404 x\r\nContent-Length: 18\r\n\r\n{\"message\":\"plan\"}",
         "500": b"HTTP/1.1 500 x\r\nContent-Length: 18\r\n\r\n{\"message\":\"plan\"}"}
ENDLESS = {"headers": (HEAD, b"X-A: " + b"a" * 60000 + b"\r\n", 0), "drip": (HEAD + b"Content-Length: 99999\r\n\r\n", b" ", 0.2),
           "huge": (HEAD + b"Content-Length: 100000000\r\n\r\n", b" " * 65536, 0)}


def frame(stream, data):
    return struct.pack(">BxxxI", stream, len(data)) + data


class FakeEngine:
    def __init__(self, path, fault=(None, None), api="1.41", info=None, lie=None, warnings=None, output=b"yes\n",
                 report=REPORT + "+\n", stream=None, tls=None, cut=False):
        self.fault, self.api, self.lie, self.warnings = fault, api, lie, warnings
        self.tls, self.cut = tls, cut
        self.info = {**INFO, **(info or {})}
        self.stream = frame(2, b"early\n") + frame(2, b"+\nerr\n") + frame(1, report.encode()) + frame(1, output) if stream is None else stream
        self.containers, self.requests = {}, []
        self.started, self.stopped = threading.Event(), threading.Event()
        if path and os.path.exists(path):
            os.unlink(path)
        self.server = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.server.bind(path or ("127.0.0.1", 0))
        self.port = None if path else self.server.getsockname()[1]
        self.server.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as reader:
                while self.answer_one(connection, reader):
                    pass
                if self.tls and not self.cut:
                    connection.settimeout(5)
                    connection.unwrap()
        except OSError:
            pass

    def answer_one(self, connection, reader):
        first = reader.readline().decode().split()
        if len(first) < 3:
            return False
        length = 0
        while line := reader.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        body, (method, path) = reader.read(length), first[:2]
        step = next((step for step, mark in MARKS if mark in path), "remove" if method == "DELETE" else "inspect")
        self.requests.append((step, path, body))
        if self.fault[0] == step and not self.misbehave(connection, self.fault[1]):
            return False
        if step == "attach":
            return self.attach(connection)
        status, answer = self.right_answer(step, path, body)
        text = b"" if answer is None else json.dumps(answer).encode()
        connection.sendall(f"HTTP/1.1 {status} x\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        return True

    def right_answer(self, step, path, body):
        if step == "create":
            self.containers[path.split("name=")[1]] = json.loads(body)
            return 201, {"Id": "2" * 64, "Warnings": self.warnings}
        if step == "start":
            self.started.set()
            return 204, None
        if step == "remove":
            return (204, None) if self.containers.pop(path.split("/")[3].split("?")[0], None) else (404, {"message": "none"})
        return 200, {"version": {"ApiVersion": self.api, "MinAPIVersion": "1.12"}, "info": self.info, "list": [],
                     "image": {"Id": IMAGE, "Config": {"Volumes": None}}, "wait": {"StatusCode": 0}}.get(step) \
            if step != "inspect" else self.describe()

    def describe(self):
        asked = next(iter(self.containers.values()))
        made = {"Image": asked["Image"], "Mounts": [], "Config": {k: v for k, v in asked.items() if k != "HostConfig"},
                "HostConfig": dict(asked["HostConfig"]), "State": {"OOMKilled": False}}
        for path, value in (self.lie or {}).items():
            parent, _, name = path.rpartition(".")
            (made[parent] if parent else made)[name] = value
        return made

    def attach(self, connection):
        connection.sendall(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\n\r\n")
        if self.started.wait(5):
            connection.sendall(self.stream)
        return False

    def misbehave(self, connection, kind):
        """True: go on with the right answer after all."""
        if kind == "interim":
            connection.sendall(b"HTTP/1.1 102 Processing\r\n\r\n" * 3)
        elif kind == "hang":
            self.stopped.wait(60)
        elif kind in ENDLESS:
            head, more, pause = ENDLESS[kind]
            connection.sendall(head)
            while not self.stopped.wait(pause):
                connection.sendall(more)
        else:
            connection.sendall(PLAIN[kind])
        return kind == "interim"
