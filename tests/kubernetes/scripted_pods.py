# SPDX-License-Identifier: Apache-2.0
"""A gateway with mode kubernetes in this process, and pods whose guest is a script, behind the API server of fake_server.py. What a guest
does unless told otherwise is what an honest one does, which is the control of each attack."""
import contextlib
import hashlib
import os
import pathlib
import socket
import struct
import threading

import guest
import tap
from fake_server import FakeServer, frame, message
from provider import OK, Host, Provider

GUEST = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).with_name("code-execute-guest")
if not GUEST.with_name("code-execute-kubernetes").exists():
    tap.skip_all("this build has no mode kubernetes")
PATIENCE = 60 * tap.SLOW
AMPLE_MS = 300000
LIMITS = {name: {"default": AMPLE_MS, "max": AMPLE_MS} for name in ("wall_ms", "cpu_ms")}
BROKEN = ("backend_failed", "sandbox_unavailable", "backend_unavailable")
RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.session", "sandbox.exec.tools")
IMAGE = "registry.example/run@sha256:" + "1" * 64
FACTS = ("Name:\tcode-execute-gu\nUid:\t65534\t65534\t65534\t65534\n" +
         "".join(f"{name}:\t0000000000000000\n" for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) +
         f"NoNewPrivs:\t1\nSeccomp:\t2\nGuest:\t{hashlib.sha256(GUEST.read_bytes()).hexdigest()}\nKernel:\tLinux\nLandlock:\t4\n").encode()
TRIES = ("api-server", "dns-tcp", "dns-udp", "metadata", "pod")
CLOSED = dict.fromkeys(("control",), "connected") | dict.fromkeys(TRIES, "timeout")
SUCCESS = b'{"metadata":{},"status":"Success"}'
provider = Provider()


class Gone(Exception):
    """The backend has ended the stream."""


class Pod:
    """The attached stream of one, from the pod's end. told: the run's message; peer: the address that its guest was to try."""

    def __init__(self, fake, stream, name):
        self.fake, self.stream, self.name = fake, stream, name
        self.unread, self.told, self.peer = b"", None, None
        self.go = threading.Event()  # set by a test: its attack may begin

    def read(self, length):
        """So many bytes of the standard input."""
        while len(self.unread) < length:
            opcode, payload = self.stream.read()
            if opcode is None or opcode == 8:
                raise Gone
            if opcode == 2 and payload[:1] == b"\0":
                self.unread += payload[1:]
                self.heard()
        taken, self.unread = self.unread[:length], self.unread[length:]
        return taken

    def heard(self):
        """Something has come."""

    def write(self, data):
        """As it is."""
        with contextlib.suppress(OSError):
            self.stream.handler.wfile.write(data)
            self.stream.handler.wfile.flush()
            return True
        return False

    def channel(self, number, content):
        return self.write(message(number, content))

    def bytes(self, data):
        """Of the standard output, in messages of a usual size."""
        return all([self.channel(1, data[at:at + 16384]) for at in range(0, len(data), 16384)])

    def say(self, kind, payload=b""):
        return self.bytes(guest.frame(kind, payload))

    def print(self, text):
        return self.say("stdout", text)

    def await_end(self):
        with contextlib.suppress(Gone, OSError):
            while True:
                self.read(1)

    def take_call(self):
        call = self.read(1)
        if call == b"n":
            self.peer = self.read(self.read(1)[0]).decode()

    def report(self):
        """What an honest guest says before it hears of a run."""
        self.say("facts", FACTS)
        if self.peer is not None:
            outcomes = self.fake.tries(self)
            if outcomes is not None:
                self.say("network", "".join(f"{name} {outcome}\n" for name, outcome in outcomes.items()).encode())
        self.say("waiting")

    def finish(self, status=0, **figures):
        """The program's end; then nothing, until the backend has gone."""
        self.bytes(guest.ended(guest.wait_status(status), **figures))
        if self.told and self.told["outputs"] != (0, 0, 0):
            self.say("files", guest.FILE_LAST)
            self.say("collected")
        self.await_end()

    def cut(self):
        with contextlib.suppress(OSError):
            self.stream.handler.connection.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.write(message(3, SUCCESS) + frame(8, struct.pack("!H", 1000)))


def honest(pod):
    pod.say("started")
    pod.print(b"honest\n")
    pod.finish()


class ScriptedPods(FakeServer):
    """program: what the guest of a run does once it has its message; before: what it does in the place of its report; tries: what comes of
    its tries of the network, {target: outcome}, None for no report."""

    kind = Pod

    def __init__(self):
        super().__init__()
        self.program, self.before, self.tries = honest, Pod.report, lambda pod: CLOSED
        self.served = []

    def get_attach(self, handler, name, _query, _body):
        pod = self.kind(self, self.grant(handler), name.partition("/")[0])
        pod.write(message(1, b""))
        with contextlib.suppress(Gone, OSError, EOFError, struct.error):
            pod.take_call()
            self.served.append(pod)
            self.before(pod)
            pod.told = guest.read_message(pod)
            if pod.told:
                self.take_message(pod)
        pod.close()
        pod.cut()

    def delete_pod(self, handler, name, query, body):
        """With the pod ends its stream."""
        answer = super().delete_pod(handler, name, query, body)
        for pod in self.served:
            if pod.name == name:
                pod.cut()
        return answer

    def take_message(self, pod):
        if pod.told["trial"]:
            pod.say("started")
            pod.finish()
        else:
            self.program(pod)

    def used(self):
        """The names of the pods that do not wait for a run: a gateway keeps one ready for the next."""
        with self.lock:
            return [name for name, pod in self.pods.items() if pod["metadata"]["labels"].get("code-execute.state") != "idle"]

    def programs(self):
        return [pod for pod in self.served if pod.told and not pod.told["trial"]]


@contextlib.contextmanager
def gateway(fake, **members):
    """With that server in its policy."""
    policy = {"modes": {"default": "kubernetes", "allowed": ["kubernetes"]}, "limits": LIMITS, "approval": {"default": "allow"},
              "kubernetes": {"kubeconfig": str(fake.kubeconfig), "images": dict.fromkeys(("python", "sh"), IMAGE)},
              "tools": {"allowed": ["*"]}, "sessions": {"max_total": 4}, **members}
    tap.equal(provider.use_policy(policy), OK, "prepare")
    try:
        yield
    finally:
        provider.reset()


def call(code="1", host=None, language="python", **members):
    return provider.invoke({"language": language, "code": code, **members}, host or Host(RIGHTS))[1]


class Call(threading.Thread):
    """A call on a thread of its own."""

    def __init__(self, host=None, **members):
        super().__init__(daemon=True)
        self.host, self.members, self.output = host or Host(RIGHTS), members, None
        self.start()

    def run(self):
        self.output = call(host=self.host, **self.members)

    def end(self):
        self.join(PATIENCE * 3)
        tap.true(self.output, "the call does not end")
        return self.output


def backend():
    """The pid of this program's code-execute-kubernetes. It is not dumpable, so that only root finds it."""
    if os.geteuid() != 0:
        raise tap.Skip("only root sees the gateway's backend")
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text().startswith("code-execute-ku") and any(
                    f"Pid:\t{os.getpid()}\n" in info.read_text() for info in (entry / "fdinfo").iterdir()):
                return int(entry.name)
    raise AssertionError("the gateway has no backend of mode kubernetes")


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def is_plain(error):
    """Nothing of what it has said steers a terminal."""
    return all(" " <= character for character in error["message"] + error["hint"])


@contextlib.contextmanager
def victim(fake):
    """A run beside the attacks: it has begun before them, and ends as it would have."""
    go, begun = threading.Event(), threading.Event()

    def waits(pod):
        pod.say("started")
        pod.print(b"begun\n")
        begun.set()
        go.wait(PATIENCE * 10)
        pod.print(b"unharmed\n")
        pod.finish()
    fake.program = waits
    running = Call()
    tap.true(begun.wait(PATIENCE), "the run beside has not begun")
    fake.program = honest
    yield
    tap.true(running.is_alive(), f"the run beside has ended: {running.output}")
    go.set()
    output = running.end()
    tap.equal((output["status"], output["stdout"]), ("completed", "begun\nunharmed\n"), output)


def goes_on(fake, name):
    fake.program, fake.before = honest, Pod.report
    output = call()
    tap.equal((output["status"], output["stdout"]), ("completed", "honest\n"), f"{name}: {output}")


def refused(fake, name, **members):
    output = call(**members)
    tap.equal(output["status"], "error", f"{name}: {output}")
    tap.true(output["error"]["code"] in BROKEN, f"{name}: {output['error']}")
    tap.true(is_plain(output["error"]), f"{name}: {output['error']}")
    goes_on(fake, name)
    return output


def header(kind, length):
    """Of a frame of the guest's, whatever its length."""
    return struct.pack("<IB", length, guest.KINDS.index(kind) + 1)
