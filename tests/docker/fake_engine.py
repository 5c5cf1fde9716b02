# SPDX-License-Identifier: Apache-2.0
"""A Docker engine that misbehaves by plan: an HTTP server that runs nothing, on a unix socket or, without a path, on a port of the
loopback, with TLS where it is given a context for it (cut: it resets its connections). Without a fault it takes a
container from create to removal; a fault is (step, kind) or (step, kind, n), and kind says what happens instead of that step's
right answer, from the n-th time on that it is asked for."""
import collections
import fcntl
import hashlib
import itertools
import json
import os
import platform
import socket
import struct
import termios
import threading
import time
import urllib.parse

import guest

IMAGE = "sha256:" + "1" * 64
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
LAYERS = ["sha256:" + "b" * 64]
REPORT = ("Name:\tcode-execute-gu\nUid:\t65534\t65534\t65534\t65534\n" +
          "".join(f"{name}:\t0000000000000000\n" for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) +
          "NoNewPrivs:\t1\nSeccomp:\t2\n")
INFO = {"SecurityOptions": ["name=seccomp,profile=default"], "MemoryLimit": True, "SwapLimit": True, "PidsLimit": True,
        "CpuCfsQuota": True, "CgroupVersion": "1"}
MARKS = (("version", "/version"), ("info", "/info"), ("network", "/networks/bridge"), ("pull", "/images/create"),
         ("images", "/images/json"), ("archive", "/archive?"), ("commit", "/commit?"),
         ("image", "/images/"), ("create", "/containers/create"),
         ("list", "/containers/json"), ("events", "/events?"), ("attach", "/attach"), ("start", "/start"), ("wait", "/wait"))
HEAD = b"HTTP/1.1 200 OK\r\n"
PULL = [{"status": "Pulling from example", "id": "1"}, {"status": "Pulling fs layer", "progressDetail": {}, "id": "aaaa"},
        {"status": "Downloading", "progressDetail": {"current": 500000, "total": 2000000}, "id": "aaaa"},
        {"status": "Already exists", "progressDetail": {}, "id": "bbbb"}, {"status": "Pull complete", "progressDetail": {}, "id": "aaaa"}]
PLAIN = {"close": b"", "garbage": b"\x00\xff not http at all\r\n\r\n", "short": HEAD + b"Content-Length: 100\r\n\r\n{",
         "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nnonsense", "html": HEAD + b"Content-Length: 6\r\n\r\n<html>",
         "404": b"HTTP/1.1 404 x\r\nContent-Length: 18\r\n\r\n{\"message\":\"plan\"}",
         "500": b"HTTP/1.1 500 x\r\nContent-Length: 18\r\n\r\n{\"message\":\"plan\"}"}
ENDLESS = {"headers": (HEAD, b"X-A: " + b"a" * 60000 + b"\r\n", 0), "drip": (HEAD + b"Content-Length: 99999\r\n\r\n", b" ", 0.2),
           "huge": (HEAD + b"Content-Length: 100000000\r\n\r\n", b" " * 65536, 0)}


def frame(stream, data):
    return struct.pack(">BxxxI", stream, len(data)) + data


class Life:
    """The state of one container."""

    def __init__(self):
        self.started, self.ended, self.connection, self.waited, self.spoken = threading.Event(), threading.Event(), None, False, False
        self.status = 137  # of the first process, where it is killed


class Reluctant:
    """Reads from that reader, with a pause behind each so many bytes of a piece."""

    def __init__(self, reader, size, pause, stopped):
        self.reader, self.size, self.pause, self.stopped = reader, size, pause, stopped

    def read(self, length):
        data = b""
        while len(data) < length:
            piece = self.reader.read(min(self.size, length - len(data)))
            if not piece:
                break
            data += piece
            if len(piece) == self.size:
                self.stopped.wait(self.pause)
        return data


class FakeEngine:
    """has_image: before a pull; ids: the image's, one a question, the last for all that follow; pull: the lines of its report;
    report: what the kernel says of the guest; word: the guest's after its message; statuses: of the programs' ends, as a shell has them,
    one a program, the last for all that follow; unreported: from the n-th container on
    the guest ends with its program, and does not tell of it;
    lost: what becomes of the n-th container when it gets its message, {n: "dropped" or "silent"};
    hasty: it tells of a program's end before it sends its output; honest: so many containers are described as they are, before the lie begins;
    pieces: sizes of the writes, over and over, instead of whole answers; flood: output without an end
    from the n-th container on, and endless: a program without an end; others: containers that are there already, {id: labels};
    starved: it tells that a process of each container was killed for memory;
    base: more of the image's description; images: derived images that are there already, {id: description}; derived_lie: what is wrong
    with those that it makes, {member: value}; foreign: it writes layers in bytes of its own; results: what a program writes there;
    files: the bytes that come behind the end, in parts; collected: the guest says that they are all, or else has ended then;
    reluctant: (bytes, seconds), it takes so many bytes of a file at once, and pauses behind them;
    used: the guest's figures of a program, (user us, system us, peak bytes)."""

    def __init__(self, path, fault=(None, None), api="1.41", version="20.10", info=None, lie=None, warnings=None, output=b"yes\n",
                 report=REPORT, word="started", stream=None, has_image=True, ids=(IMAGE,), digests=(), pull=PULL, pieces=None, flood=0,
                 tls=None, cut=False, statuses=(0,), unreported=0, endless=0, lost=None, honest=0, hasty=False, others=None, starved=False,
                 base=None, images=None, derived_lie=None, foreign=False, results=b"",
                 files=(guest.FILE_LAST,), collected=True, reluctant=None, used=(0, 0, 0)):
        self.fault, self.api, self.version, self.lie, self.warnings = fault, api, version, lie, warnings
        self.tls, self.cut = tls, cut
        self.has_image, self.ids, self.digests, self.pull = has_image, list(ids), list(digests), pull
        self.pieces, self.flood = itertools.cycle(pieces) if pieces else None, flood
        self.info = {**INFO, **(info or {})}
        self.facts = frame(2, b"early\n") + frame(1, guest.frame("facts", report.encode()) + guest.frame("waiting"))
        self.told = frame(1, guest.frame(word))
        if word == "started":
            said = guest.frame("stderr", b"err\n") + b"".join(guest.frame("stdout", output[at:at + 65536]) for at in range(0, len(output), 65536))
            said += b"".join(guest.frame("results", results[at:at + 65536]) for at in range(0, len(results), 65536))
            self.told += frame(1, said[:-3]) + frame(1, said[-3:])
        self.files, self.collected = b"".join(frame(1, guest.frame("files", part)) for part in files), collected
        self.files += frame(1, guest.frame("collected")) if collected else b""
        self.word, self.stream, self.statuses, self.unreported = word, stream, list(statuses), unreported
        self.endless, self.reluctant, self.used = endless, reluctant, used
        self.lost, self.honest, self.hasty, self.others = lost or {}, honest, hasty, dict(others or {})
        self.lives = collections.defaultdict(Life)
        self.containers, self.names, self.requests, self.messages, self.lock = {}, [], [], [], threading.Lock()
        self.base, self.images, self.derived_lie, self.foreign = base or {}, dict(images or {}), derived_lie or {}, foreign
        self.numbers = itertools.count(len(self.images))
        self.helpers = {}  # containers that become an image, by name
        self.starved, self.listeners, self.heard = starved, [], threading.Event()
        self.stopped = threading.Event()
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
                if self.cut:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                elif self.tls:
                    connection.settimeout(5)
                    connection.unwrap()
        except OSError:
            pass

    def answer_one(self, connection, reader):
        first = reader.readline().decode().split()
        if len(first) < 3:
            return False
        length, chunked = 0, False
        while line := reader.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
            chunked |= name.lower() == b"transfer-encoding"
        body, (method, path) = self.read_chunks(reader) if chunked else reader.read(length), first[:2]
        step = self.step_of(method, path, body)
        self.requests.append((step, path, body))
        if self.is_faulty(step) and not self.misbehave(connection, self.fault[1]):
            return False
        if step == "attach":
            return self.attach(connection, reader, self.life(path))
        if step == "pull":
            return self.report_pull(connection)
        if step == "events":
            return self.be_listened_to(connection)
        status, answer = self.right_answer(step, path, body)
        text = b"" if answer is None else json.dumps(answer).encode()
        self.send(connection, f"HTTP/1.1 {status} x\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        return True

    @staticmethod
    def read_chunks(reader):
        pieces = []
        while size := int(reader.readline() or b"0", 16):
            pieces.append(reader.read(size))
            reader.readline()
        reader.readline()
        return b"".join(pieces)

    @staticmethod
    def step_of(method, path, body):
        """derive, archive, commit, look and dismiss are about an image with the guest, discard about its end."""
        if method == "DELETE":
            return "discard" if "/images/" in path else "dismiss" if "/code-execute-image-" in path else "remove"
        step = next((step for step, mark in MARKS if mark in path), "inspect")
        if step == "create" and json.loads(body)["Labels"]["code-execute.run"] == "image":
            return "derive"
        return "look" if step == "image" and "sha256:d" in path else step

    def is_faulty(self, step):
        first = self.fault[2] if len(self.fault) > 2 else 1
        return self.fault[0] == step and sum(request[0] == step for request in self.requests) >= first

    def send(self, connection, data):
        begin = 0
        while begin < len(data):
            with self.lock:
                end = begin + next(self.pieces) if self.pieces else len(data)
            connection.sendall(data[begin:end])
            begin = end

    def be_listened_to(self, connection):
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        self.listeners.append(connection)
        self.heard.set()
        self.stopped.wait()
        return False

    def tell_kill(self, number):
        """Sends an event to all listeners and waits until they have read it; the first listener may still be connecting."""
        self.heard.wait(10)
        line = json.dumps({"Type": "container", "Action": "oom", "Actor": {"ID": f"{number:064x}"}}).encode() + b"\n"
        for listener in self.listeners:
            listener.sendall(b"%x\r\n" % len(line) + line + b"\r\n")
            while self.is_unread(listener) and not self.stopped.wait(0.001):
                pass

    @staticmethod
    def is_unread(connection):
        return struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))[0] > 0

    def report_pull(self, connection):
        """Sends chunks, as engines do. A line of bytes is sent unchanged; a number is a pause."""
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for line in self.pull:
            if isinstance(line, float):
                self.stopped.wait(line)
                continue
            data = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
            self.send(connection, b"%x\r\n" % len(data) + data + b"\r\n")
        self.has_image = True
        connection.sendall(b"0\r\n\r\n")
        return True

    def right_answer(self, step, path, body):
        if step in ("images", "derive", "archive", "commit", "look", "dismiss", "discard"):
            with self.lock:
                return getattr(self, f"answer_{step}")(path, body)
        if step == "create":
            name = path.split("name=")[1]
            with self.lock:
                if json.loads(body)["Image"] not in self.images:
                    return 404, {"message": "No such image"}
                self.containers[name] = json.loads(body)
                self.names.append(name)
                return 201, {"Id": f"{len(self.names):064x}", "Warnings": self.warnings}
        if step == "start":
            self.life(path).started.set()
            return 204, None
        if step == "wait":
            self.life(path).waited = True
            while not self.life(path).ended.wait(0.05) and not self.stopped.is_set():
                pass
            return 200, {"StatusCode": self.life(path).status}
        if step == "remove":
            name = path.split("/")[3].split("?")[0]
            with self.lock:
                known = self.containers.pop(name, None)
                other = self.others.pop(name, None)
            if other:
                return 204, None
            if known:
                self.end(self.lives[f"{self.names.index(name) + 1:064x}"])
            return (204, None) if known else (404, {"message": "none"})
        if step == "image":
            if not self.has_image:
                return 404, {"message": "no such image"}
            with self.lock:
                identity = self.ids.pop(0) if len(self.ids) > 1 else self.ids[0]
            return 200, self.describe_base(identity)
        if step == "inspect":
            number = int(path.split("/")[3], 16)
            return 200, self.describe(self.containers[self.names[number - 1]], number > self.honest)
        return 200, {"version": {"Version": self.version, "ApiVersion": self.api, "MinAPIVersion": "1.12"}, "info": self.info,
                     "list": [{"Id": name, "Labels": labels} for name, labels in self.others.items()],
                     "network": {"Name": "bridge"}}[step]

    def describe_base(self, identity):
        return {"Id": identity, "RepoTags": ["example:1"], "RepoDigests": self.digests, "Config": {"Volumes": None},
                "Architecture": ARCHITECTURE, "Os": "linux", "RootFS": {"Type": "layers", "Layers": LAYERS}, **self.base}

    def base_of(self, identity):
        return self.images[identity]["Config"]["Labels"]["code-execute.base"]

    def answer_images(self, path, _):
        filters = json.loads(urllib.parse.unquote(path.split("filters=")[1]))["label"]
        wanted = [label.partition("=") for label in filters]
        found = {identity: image["Config"]["Labels"] for identity, image in self.images.items()}
        return 200, [{"Id": identity, "Labels": labels, "Created": self.images[identity].get("Created", int(time.time())),
                      "RepoTags": self.images[identity].get("RepoTags", ["<none>:<none>"]), "RepoDigests": ["<none>@<none>"]}
                     for identity, labels in found.items()
                     if all(name in labels and value in ("", labels[name]) for name, _, value in wanted)]

    def answer_derive(self, path, body):
        name = path.split("name=")[1]
        self.helpers[name] = {"asked": json.loads(body)}
        return 201, {"Id": f"e{len(self.helpers):063x}", "Warnings": []}

    def answer_archive(self, path, body):
        self.helpers[path.split("/")[3]]["archive"] = body
        return 200, None

    def answer_commit(self, path, body):
        """As engines do: what the body leaves empty is the container's."""
        helper = self.helpers[path.split("container=")[1].split("&")[0]]
        config = json.loads(body)
        identity = f"sha256:d{next(self.numbers):063x}"
        layer = hashlib.sha256(b"foreign" * self.foreign + helper.get("archive", b"")).hexdigest()
        base = self.images.get(helper["asked"]["Image"]) or self.describe_base(helper["asked"]["Image"])
        self.images[identity] = {**base, "Id": identity, "RepoTags": [], "RepoDigests": [],
                                 "Config": {**config, "Labels": {**helper["asked"]["Labels"], **config["Labels"]}},
                                 "RootFS": {"Type": "layers", "Layers": [*base["RootFS"]["Layers"], f"sha256:{layer}"]}, **self.derived_lie}
        return 201, {"Id": identity}

    def answer_look(self, path, _):
        image = self.images.get(path.split("/")[3])
        return (200, image) if image else (404, {"message": "No such image"})

    def answer_dismiss(self, path, _):
        return (204, None) if self.helpers.pop(path.split("/")[3].split("?")[0], None) else (404, {"message": "none"})

    def answer_discard(self, path, _):
        return (200, []) if self.images.pop(path.split("/")[3].split("?")[0], None) else (404, {"message": "none"})

    def describe(self, asked, lies):
        mounts = [{"Type": mount["Type"], "Source": mount["Source"], "Destination": mount["Target"], "RW": False}
                  for mount in asked["HostConfig"]["Mounts"]]
        made = {"Image": asked["Image"], "Mounts": mounts, "Config": {k: v for k, v in asked.items() if k != "HostConfig"},
                "HostConfig": dict(asked["HostConfig"]), "State": {"OOMKilled": False}}
        for path, value in (self.lie or {}).items() if lies else ():
            parent, _, name = path.rpartition(".")
            (made[parent] if parent else made)[name] = value
        return made

    def life(self, path):
        with self.lock:
            return self.lives[path.split("/")[3]]

    def drop(self):
        """Every container's process ends, as when the engine restarts."""
        with self.lock:
            lives = list(self.lives.values())
        for life in lives:
            self.end(life)

    def waiting(self):
        """The numbers of the containers that wait in their guest; they were made without a run."""
        with self.lock:
            told = {number for number, _ in self.messages}
            lives = {number: self.lives[f"{number:064x}"] for number, name in enumerate(self.names, 1) if name in self.containers}
            return [number for number, life in lives.items() if number not in told and life.waited and life.spoken]

    @staticmethod
    def end(life):
        """The container's process is killed: its stream ends and the engine reports the exit."""
        life.ended.set()
        if life.connection:
            try:
                life.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def attach(self, connection, reader, life):
        self.send(connection, b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\n\r\n")
        number = self.count_attached()
        try:
            if not life.started.wait(5):
                return False
            if self.stream is not None:
                self.send(connection, self.stream)
            else:
                life.connection = connection
                self.send(connection, self.facts)
                life.spoken = True
                self.be_program(connection, reader)
            while 0 < self.flood <= number and not life.ended.is_set() and not self.stopped.is_set():
                connection.sendall(frame(1, guest.frame("stdout", b"0123456789abcde\n" * 2048)))
        finally:
            life.ended.set()
        return False

    def be_program(self, connection, reader):
        """Waits for the message, as the guest does, and is the program."""
        told = guest.read_message(Reluctant(reader, *self.reluctant, self.stopped) if self.reluctant else reader)
        if told is None:
            return
        with self.lock:
            number = next(int(name, 16) for name, life in self.lives.items() if life.connection is connection)
            self.messages.append((number, told))
            status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        life = self.lives[f"{number:064x}"]
        if number in self.lost:
            while self.lost[number] == "silent" and not life.ended.wait(0.05) and not self.stopped.is_set():
                pass
            return
        if self.starved:
            self.tell_kill(number)
        if self.hasty:
            life.status = status
            life.ended.set()
            self.stopped.wait(0.3)
        # A trial has no program that could print much.
        self.send(connection, frame(1, guest.frame(self.word)) if told["trial"] and len(self.told) > 65536 else self.told)
        if 0 < self.endless <= number:
            while not life.ended.wait(0.05) and not self.stopped.is_set():
                pass
            return
        if self.word != "started" or 0 < self.flood <= number:
            return
        life.status = status
        if 0 < self.unreported <= number:
            return
        self.send(connection, frame(1, guest.ended(guest.wait_status(status), *self.used)))
        if told["outputs"][0]:
            self.send(connection, self.files)
            if not self.collected:
                return
        while status == 0 and not life.ended.wait(0.05) and not self.stopped.is_set():
            pass

    def count_attached(self):
        return sum(request[0] == "attach" for request in self.requests)

    def misbehave(self, connection, kind):
        """True: the right answer follows after all."""
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
