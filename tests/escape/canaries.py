# SPDX-License-Identifier: Apache-2.0
"""What an escape would touch, and what was touched. All of it is outside of the sandbox and belongs to the test: a directory
with a random token in its files, a process of the sandbox's own user, listeners that count, System V and /dev/shm memory.

Kinds of evidence found here:
  token  the token is in the output          file   the directory or a file in it was changed
  tcp    a TCP listener was connected to      udp    a datagram came
  unix   a path socket was reached           abstract  an abstract socket was connected to
  death  the process or the container of the test has died
And those of workspace_canaries.py.
"""
import contextlib
import ctypes
import fcntl
import os
import pathlib
import secrets
import select
import shutil
import signal
import socket
import subprocess

from workspace_canaries import WorkspaceCanaries

# As an ordinary user a gateway has no other user to give.
SANDBOX_USER = 65534 if os.geteuid() == 0 else os.geteuid()
SHM_RDONLY, IPC_CREAT, IPC_RMID, IPC_EXCL = 0o10000, 0o1000, 0, 0o2000
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p


def as_user(user):
    """For a process of that user; only root may choose one."""
    return {"user": user, "group": user, "extra_groups": []} if os.geteuid() == 0 else {}


class Canaries:
    def __init__(self, directory, token, sentinel_program, container=None):
        """`container` stands for other containers: it has .pid, .id and .alive()."""
        self.directory, self.token, self.container = pathlib.Path(directory), token, container
        self.program = sentinel_program
        self.shared = pathlib.Path("/dev/shm") / f"canary-{secrets.token_hex(8)}"
        self.key = int.from_bytes(secrets.token_bytes(3)) | 0x42000000
        self.listeners, self.sentinel = {}, None
        self.plant()
        self.workspace = WorkspaceCanaries(self.directory.parent / "workspace", token, self.directory / "for-root", SANDBOX_USER)

    def plant(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir()
        os.chmod(self.directory, 0o777)
        for name, mode in (("file", 0o666), ("for-root", 0o600)):
            path = self.directory / name
            path.write_text(self.token + "\n")
            path.chmod(mode)
        setuid = self.directory / "setuid"
        shutil.copy(self.program.parent / "read-as-owner", setuid)
        setuid.chmod(0o4755)
        if not self.listeners:
            self.listen()
            self.share()
        self.open_path_sockets()
        self.start_sentinel()
        self.before = self.look()

    def start_sentinel(self):
        if self.sentinel:
            self.sentinel.kill()
            self.sentinel.wait()
            self.sentinel.stdout.close()
        with open(self.directory / "file") as file:
            self.descriptor = fcntl.fcntl(file, fcntl.F_DUPFD, 100)
        self.sentinel = subprocess.Popen([self.program], env={"CANARY": self.token}, cwd=self.directory, stdout=subprocess.PIPE,
                                         pass_fds=[self.descriptor], **as_user(SANDBOX_USER))
        os.close(self.descriptor)
        self.address = int(self.sentinel.stdout.readline())

    def listen(self):
        self.name = f"canary-{secrets.token_hex(8)}"
        for kind, family, sort, address in (("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
                                            ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
                                            ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
                                            ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.name)):
            with contextlib.suppress(OSError):  # a machine without IPv6
                self.add_listener(kind, socket.socket(family, sort), address)

    def add_listener(self, kind, listener, address):
        listener.bind(address)
        if listener.type == socket.SOCK_STREAM:
            listener.listen(16)
        listener.setblocking(False)
        self.listeners[kind] = listener

    def open_path_sockets(self):
        for kind, sort, name in (("unix", socket.SOCK_STREAM, "socket"), ("unix-datagrams", socket.SOCK_DGRAM, "datagrams")):
            if old := self.listeners.pop(kind, None):
                old.close()
            path = self.directory / name
            self.add_listener(kind, socket.socket(socket.AF_UNIX, sort), str(path))
            path.chmod(0o777)

    def share(self):
        """Memory that every process of the machine's own IPC namespace may read."""
        self.segment = libc.shmget(self.key, 4096, IPC_CREAT | IPC_EXCL | 0o666)
        address = libc.shmat(self.segment, None, 0)
        text = self.token.encode() + b"\0"
        ctypes.memmove(address, text, len(text))
        libc.shmdt(ctypes.c_void_p(address))
        self.shared.write_text(self.token)
        self.shared.chmod(0o644)

    def environment(self):
        port = {kind: str(self.listeners[kind].getsockname()[1]) for kind in ("tcp", "tcp6", "udp") if kind in self.listeners}
        return {"CANARY_DIR": str(self.directory), "TCP_PORT": port["tcp"], "TCP6_PORT": port.get("tcp6", "1"), "UDP_PORT": port["udp"],
                "ABSTRACT": self.name, "SENTINEL": str(self.sentinel.pid), "ADDRESS": str(self.address), "SHM_KEY": str(self.key),
                "SHARED": str(self.shared), "DESCRIPTOR": str(self.descriptor)}

    def look(self):
        found = {}
        for path in [self.directory, *self.directory.rglob("*")]:
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (status.st_mode, status.st_uid, status.st_ino, content)
        return found

    def count(self, listener):
        hits = 0
        while select.select([listener], [], [], 0)[0]:
            if listener.type == socket.SOCK_STREAM:
                listener.accept()[0].close()
            else:
                listener.recv(2048)
            hits += 1
        return hits

    def evidence(self, output):
        found = self.workspace.evidence() | ({"token"} if self.token in output else set())
        for kind, listener in self.listeners.items():
            if self.count(listener):
                found.add(kind.split("6")[0].split("-")[0])
        if self.look() != self.before:
            found.add("file")
        if self.is_hit() or (self.container and not self.container.alive()):
            found.add("death")
        return found

    def is_hit(self):
        """Killed, though on a busy machine it may not have come to die of it yet."""
        with contextlib.suppress(OSError):
            lines = pathlib.Path(f"/proc/{self.sentinel.pid}/status").read_text().splitlines()
            if any(line.startswith(("SigPnd", "ShdPnd")) and int(line.split()[1], 16) for line in lines):
                return True
        return self.sentinel.poll() is not None

    def clear(self):
        self.workspace.clear()
        for listener in self.listeners.values():
            listener.close()
        if self.sentinel.poll() is None:
            self.sentinel.send_signal(signal.SIGKILL)
        self.sentinel.wait()
        libc.shmctl(self.segment, IPC_RMID, None)
        self.shared.unlink(missing_ok=True)
        shutil.rmtree(self.directory, ignore_errors=True)
