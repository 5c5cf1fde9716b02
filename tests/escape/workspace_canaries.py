# SPDX-License-Identifier: Apache-2.0
"""What a run could reach through its workspace: sockets whose owner gives a descriptor of a secret file to everybody who connects,
one that only its owner may connect to, one that is made anew all the time, and a FIFO with the token in it.

Kinds of evidence found here: unix, a socket was connected to; fifo, the FIFO was read or written."""
import array
import contextlib
import os
import pathlib
import socket
import threading

PERIOD_S = 0.05
LATE_PERIODS = 10


class WorkspaceCanaries:
    def __init__(self, directory, token, secret, owner):
        """`secret` is the path of the file whose descriptor is given away; `owner` owns the socket of mode 0600."""
        self.directory, self.token, self.secret = pathlib.Path(directory), token.encode(), secret
        self.late, self.hits = self.directory / "late", set()
        self.lock, self.over = threading.Lock(), threading.Event()
        self.late.mkdir(parents=True)
        for path in (self.directory, self.late):
            path.chmod(0o755)
        self.listeners = [self.listen(self.directory / "socket", 0o777), self.listen(self.directory / "own-socket", 0o600)]
        if os.geteuid() == 0:
            os.chown(self.directory / "own-socket", owner, owner)
        fifo = self.directory / "fifo"
        os.mkfifo(fifo)
        fifo.chmod(0o666)
        self.fifo = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.fill()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    @staticmethod
    def listen(path, mode):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        path.chmod(mode)
        listener.listen(16)
        listener.setblocking(False)
        return listener

    def give(self, listener):
        with contextlib.suppress(OSError):
            peer = listener.accept()[0]
            self.hits.add("unix")
            with peer, open(self.secret, "rb") as file:
                peer.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file.fileno()]))])

    def look_at_fifo(self):
        """What lies in it is the token as often as it was put there, and nobody else's doing."""
        content = b""
        with contextlib.suppress(BlockingIOError):
            content = os.read(self.fifo, 65536)
        if content != self.expected:
            self.hits.add("fifo")
        self.fill()

    def fill(self):
        self.expected = self.token + b"\n"
        os.write(self.fifo, self.expected)

    def serve(self):
        """Each late socket is there for some periods, under a name of its own."""
        number, late = 0, []
        while not self.over.wait(PERIOD_S):
            number += 1
            late.append((self.late / str(number), self.listen(self.late / str(number), 0o777)))
            with self.lock:
                for listener in self.listeners + [listener for _, listener in late]:
                    self.give(listener)
            if len(late) == LATE_PERIODS:
                path, listener = late.pop(0)
                path.unlink()
                listener.close()
        for _, listener in late:
            listener.close()

    def evidence(self):
        with self.lock:
            for listener in self.listeners:
                self.give(listener)
            self.look_at_fifo()
            found, self.hits = self.hits, set()
        return found

    def clear(self):
        self.over.set()
        self.thread.join()
        for listener in self.listeners:
            listener.close()
        os.close(self.fifo)
