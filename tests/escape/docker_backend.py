# SPDX-License-Identifier: Apache-2.0
"""Docker mode for the harness: an engine with the image, the proxy in front of it, a throw-away container that stands for other
containers, and what there is of the engine's to count."""
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import socket
import struct
import threading

import engine
import gvisor
import tap
from catalogue import LANGUAGES
from engine_proxy import EngineProxy, Plan, ask, engine_process
from knockouts import bare_guest, knockouts
from watch import Watch

POOL = int(os.environ.get("CODE_EXECUTE_TEST_POOL", "0"))
CLONE_NEWNET = 0x40000000
SIOCSIFADDR, SIOCSIFFLAGS, IFF_UP = 0x8916, 0x8914, 1


class OtherContainer:
    """Alive as long as its one program is; its network namespace is where controls find the addresses that nobody may reach."""

    def __init__(self, address):
        self.engine, self.id = address, None

    def start(self):
        body = {"Image": engine.IMAGE, "User": "65534:65534", "Entrypoint": ["/bin/sh", "-c", "sleep 86400 & wait"],
                "HostConfig": {"NetworkMode": "none", "IpcMode": "shareable", "PidsLimit": 200}}
        self.id = json.loads(ask(self.engine, "/containers/create", "POST", json.dumps(body))[1])["Id"]
        ask(self.engine, f"/containers/{self.id}/start", "POST")
        self.pid = self.state()["Pid"]

    def state(self):
        return json.loads(ask(self.engine, f"/containers/{self.id}/json")[1])["State"]

    def alive(self):
        return pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").exists() and self.state()["Running"]

    def remove(self):
        if self.id:
            ask(self.engine, f"/containers/{self.id}?force=1&v=1", "DELETE")

    def listen(self, canaries):
        """Addresses of a cloud's metadata, of docker's bridge and of a name server, in the throw-away network namespace."""
        failed = []

        def inside():
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                with open(f"/proc/{self.pid}/ns/net") as namespace:
                    if libc.setns(namespace.fileno(), CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), "setns")
                for index, address in enumerate(("127.0.0.1", "169.254.169.254", "172.17.0.1")):
                    name = f"lo:{index}".removesuffix(":0").encode()
                    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
                        request = struct.pack("16sHH4s8x8x", name, socket.AF_INET, 0, socket.inet_aton(address))
                        if index:
                            fcntl.ioctl(control, SIOCSIFADDR, request)
                        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name, IFF_UP))
                for kind, sort, address in (("tcp-metadata", socket.SOCK_STREAM, ("169.254.169.254", 80)),
                                            ("tcp-bridge", socket.SOCK_STREAM, ("172.17.0.1", 2375)),
                                            ("udp-names", socket.SOCK_DGRAM, ("127.0.0.1", 53))):
                    canaries.add_listener(kind, socket.socket(socket.AF_INET, sort), address)
            except OSError as error:
                failed.append(error)
        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        return failed


class DockerBackend:
    name = "docker"
    capabilities = []

    @staticmethod
    def not_stopped(attack):
        """In gVisor: what it finds there."""
        return gvisor.ATTACKS.get(attack.entry) if gvisor.ON_GVISOR else None

    def __init__(self, scratch):
        engine.needed()
        self.engine = engine.HOST.removeprefix("unix://")
        self.watch = Watch(self.engine)
        self.proxy = EngineProxy(str(scratch / "engine.sock"), self.engine, self.watch)
        self.other = OtherContainer(self.engine)
        self.other.start()
        self.address, self.pool = f"unix://{scratch}/engine.sock", POOL
        self.guests = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).resolve().parents[1] / "tests" / "escape"
        self.without_guests_layers = bare_guest(self.guests / "bare-guest")

    @property
    def policy(self):
        docker = {"host": self.address, "images": {name: engine.IMAGE for name in LANGUAGES.values()}}
        if gvisor.RUNTIME:
            docker["runtime"] = gvisor.RUNTIME
        return {"modes": {"default": "docker", "allowed": ["docker"]}, "pools": {"docker": {"ready": self.pool}}, "docker": docker}

    def keep_ready(self, wanted):
        """Where layers are taken away, what was made before has them still."""
        self.pool = POOL if wanted else 0

    def await_ready(self):
        if self.pool:
            tap.eventually(lambda: len(engine.waiting()) >= self.pool, f"{self.pool} ready", 30)

    def settling(self):
        """What it returns waits, after a run, until the run's container has gone: it is removed behind the answer, and what is seen of
        it is seen then."""
        self.watch.given_runs.clear()
        return lambda: tap.eventually(lambda: self.watch.given_runs.isdisjoint(engine.containers()), "the run's container has gone", 60)

    def prepare(self, canaries):
        self.known = knockouts(canaries.directory, canaries.token, self.other.id, self.guests / "knocked-out-guest")
        return self.other.listen(canaries)

    @staticmethod
    def lacks(attack, missing):
        return None

    def knows(self, word):
        return word in self.known

    def environment(self):
        return {}

    def take_away(self, names, stream=None):
        changes = [self.known[name] for name in names]
        if changes:
            changes.append(self.without_guests_layers)
        if POOL and (changes or stream):  # what would be made ready meanwhile would lack the layers in a later run
            engine.await_stillness()
        self.proxy.plan = Plan(changes, lie_inspect=bool(changes), lie_report=bool(changes), stream=stream)
        return None  # the plugin is the product's

    def restore(self, canaries):
        """After a control: what it may have ended is started again, what it sees is whole again."""
        self.proxy.plan = Plan()
        if not self.other.alive():
            self.other.remove()
            for kind in [kind for kind in canaries.listeners if "-" in kind]:
                canaries.listeners.pop(kind).close()
            self.other.start()
            self.prepare(canaries)

    def leftovers(self):
        """What the engine holds for containers: themselves and their mounts."""
        mounts = 0
        with contextlib.suppress(OSError):
            lines = pathlib.Path(f"/proc/{engine_process(self.engine)}/mountinfo").read_text().splitlines()
            mounts = sum(str(self.watch.root) in line for line in lines)
        ahead = engine.waiting("all=1")  # never the same ones for long, each with its mount: one that goes, one that is made
        spare = len(ahead) <= 2 * POOL
        return {"containers": sorted(set(engine.containers()) - set(ahead)) if spare else engine.containers(),
                "engine's mounts": mounts if not POOL else None}

    def backend_process(self):
        return "code-execute-docker"

    def close(self):
        with contextlib.suppress(OSError):
            self.other.remove()
        self.proxy.close()
