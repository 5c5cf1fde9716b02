# SPDX-License-Identifier: Apache-2.0
"""A proxy between docker mode and a real engine that takes layers away: a plan changes the body of create. Truthful, it passes
everything else on, so that the read-back sees what was made. Lying, it answers the inspection with what was asked for, and
the guest's report with what the plugin wants to hear, so that the program runs without the layer."""
import contextlib
import functools
import http.client
import json
import os
import re
import socket
import struct
import threading

import guest

CREATED = re.compile(r"/containers/create\?")
CONTAINER = re.compile(r"/containers/([^/?]+)(/[a-z]+)?(\?|$)")
LIES = ((re.compile(rb"(?m)^Cap([A-Z][a-z]+):\t[0-9a-f]{16}$"), rb"Cap\1:\t0000000000000000"),
        (re.compile(rb"(?m)^NoNewPrivs:\t.$"), b"NoNewPrivs:\t1"), (re.compile(rb"(?m)^Seccomp:\t.$"), b"Seccomp:\t2"),
        (re.compile(rb"(?m)^Uid:\t0\t0\t0\t0$"), b"Uid:\t1\t1\t1\t1"))
STARTED = guest.frame("started")


class Plan:
    """What happens to the next container: `changes` are functions of the create body; `stream` is None, "unframed" (what the
    program prints loses the engine's and the guest's framing) or "late" (the guest's frame of the program's start is held back,
    and what the program prints loses the guest's framing, so that it is read as the guest's)."""

    def __init__(self, changes=(), lie_inspect=False, lie_report=False, stream=None):
        self.changes, self.lie_inspect, self.lie_report, self.stream = changes, lie_inspect, lie_report, stream


class Connection(http.client.HTTPConnection):
    def __init__(self, engine):
        super().__init__("engine")
        self.engine = engine

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.engine)


def ask(engine, target, method="GET", body=None):
    """One question to the engine: the status and the answer's bytes."""
    connection = Connection(engine)
    try:
        connection.request(method, target, body, {"Content-Type": "application/json"} if body is not None else {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def engine_frame(stream, data):
    return struct.pack(">BxxxI", stream, len(data)) + data


def unframed(frame):
    """A frame of the guest's as the backend gets it; what the program printed, without any frame."""
    kind, payload = frame
    return payload if kind == "stdout" else engine_frame(1, guest.frame(kind, payload))


class EngineProxy:
    def __init__(self, path, engine, observer):
        """The observer's starting(id), started(id), given(id) (its run is sent to it) and removing(id) are called at these moments."""
        self.engine, self.observer = engine, observer
        self.plan, self.asked, self.made, self.names = Plan(), {}, 0, {}
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(path)
        self.server.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
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
        with contextlib.suppress(OSError, http.client.HTTPException), connection, connection.makefile("rb") as reader:
            while self.answer_one(connection, reader):
                pass

    def answer_one(self, connection, reader):
        head = [reader.readline()]
        while head[-1].strip():
            head.append(reader.readline())
        first = head[0].decode().split()
        if len(first) < 3:
            return False
        length = next((int(line.split(b":")[1]) for line in head if line.lower().startswith(b"content-length:")), 0)
        method, target, body = first[0], first[1], reader.read(length)
        if "/attach?" in target:
            self.relay(connection, reader, b"".join(head) + body)
            return False
        status, answer = self.exchange(method, target, body)
        connection.sendall(f"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer)
        return True

    def exchange(self, method, target, body):
        if "/events?" in target:
            return 404, b"{}"  # an answer without an end; nothing depends on it
        if CREATED.search(target):
            return self.create(target, body)
        container = CONTAINER.search(target)
        if method == "DELETE" and container:
            self.observer.removing(self.names.get(container[1], container[1]))
        starts = bool(container) and container[2] == "/start"
        if starts:
            self.observer.starting(container[1])
        status, answer = ask(self.engine, target, method, body or None)
        if starts and status == 204:
            self.observer.started(container[1])
        if container and container[2] == "/json" and self.plan.lie_inspect and status == 200:
            answer = self.lie(container[1], answer)
        return status, answer

    def create(self, target, body):
        asked, changed = json.loads(body), json.loads(body)
        for change in self.plan.changes:
            change(changed)
        status, answer = ask(self.engine, target, "POST", json.dumps(changed) if self.plan.changes else body)
        if status == 201:
            self.made += 1
            identity = json.loads(answer)["Id"]
            self.asked[identity] = asked
            self.names[target.split("name=")[-1].split("&")[0]] = identity
            if self.plan.lie_inspect:
                answer = json.dumps({**json.loads(answer), "Warnings": []}).encode()
        return status, answer

    def lie(self, identity, answer):
        made, asked = json.loads(answer), self.asked.get(identity)
        if asked is None:
            return answer
        config = {name: value for name, value in asked.items() if name != "HostConfig"}
        made.update(Image=asked["Image"], Mounts=[], ExecIDs=None, HostConfig=asked["HostConfig"], Config={**made["Config"], **config})
        return json.dumps(made).encode()

    def relay(self, connection, reader, request):
        """The attached stream, both ways."""
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(self.engine)
            engine.sendall(request)
            name = CONTAINER.search(request.split(b"\r\n")[0].decode().split()[1])[1]
            given = functools.partial(self.observer.given, self.names.get(name, name))
            threading.Thread(target=self.forward, args=(reader, engine, given), daemon=True).start()
            answer = engine.makefile("rb")
            while line := answer.readline():
                connection.sendall(line)
                if not line.strip():
                    break
            if self.plan.lie_report or self.plan.stream:
                self.retell(answer, connection)
            else:
                self.pump(answer, connection)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)

    @staticmethod
    def forward(reader, engine, given):
        """What comes is the run."""
        with contextlib.suppress(OSError, ValueError):
            if data := reader.read1(65536):
                given()
                engine.sendall(data)
            EngineProxy.pump(reader, engine)
            engine.shutdown(socket.SHUT_WR)

    @staticmethod
    def pump(source, target):
        while data := source.read1(65536):
            target.sendall(data)

    def retell(self, answer, connection):
        """The engine's frames, with what is in them changed. The guest writes its report in one piece, whose length no lie changes, and the
        program's start in another one."""
        ready = False
        while len(head := answer.read(8)) == 8:
            stream, length = struct.unpack(">BxxxI", head)
            data = answer.read(length)
            if ready and stream == 1 and self.plan.stream == "unframed":
                connection.sendall(b"".join(map(unframed, guest.frames(data))))
                continue
            if not ready and stream == 1 and self.plan.lie_report:
                for truth, told in LIES:
                    data = truth.sub(told, data)
            if ready and stream == 1 and self.plan.stream == "late":
                data = b"".join(payload for _, payload in guest.frames(data))
            if stream == 1 and STARTED in data and not ready:
                ready = True
                if self.plan.stream == "late":
                    data = data.replace(STARTED, b"", 1)
            connection.sendall(engine_frame(stream, data))


def engine_process(engine):
    """The process that listens there, for its mounts and descriptors."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(engine)
        pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid if os.path.exists(f"/proc/{pid}") else None
