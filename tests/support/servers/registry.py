# SPDX-License-Identifier: Apache-2.0
"""An image registry for tests: Debian's docker-registry on the loopback, which engines take without TLS, behind a door that
counts what is asked of it and can be kept shut. Its data is in a directory of its own."""
import os
import shutil
import socket
import subprocess
import tempfile
import threading

import tap

CONFIGURATION = """version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {directory}/data}}, delete: {{enabled: true}}}}
http: {{addr: 127.0.0.1:{port}, secret: tests}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Registry:
    def __init__(self):
        if not shutil.which("docker-registry"):
            tap.skip_all("docker-registry is not installed (scripts/install-packages docker)")
        self.directory = tempfile.TemporaryDirectory(prefix="code-execute-registry-")
        self.inner = free_port()
        configuration = os.path.join(self.directory.name, "config.yml")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(directory=self.directory.name, port=self.inner))
        self.process = subprocess.Popen(["docker-registry", "serve", configuration], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.connections = 0
        self.open = threading.Event()
        self.open.set()
        self.door = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.door.getsockname()[1]}"
        tap.eventually(self.answers, "the registry answers", 20)
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.open.set()
        self.door.close()
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.inner), 1).close()
            return True
        except OSError:
            return False

    def accept(self):
        while True:
            try:
                outer, _ = self.door.accept()
            except OSError:
                return
            self.connections += 1
            inner = socket.create_connection(("127.0.0.1", self.inner))
            for source, target in ((outer, inner), (inner, outer)):
                threading.Thread(target=self.carry, args=(source, target), daemon=True).start()

    def carry(self, source, target):
        try:
            while data := source.recv(65536):
                self.open.wait()
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
