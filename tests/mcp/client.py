# SPDX-License-Identifier: Apache-2.0
"""A client of the Model Context Protocol that says exactly what a test wants said, and what the tests of toolhost mcp share."""

import json
import os
import queue
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest

TOOLHOST = os.environ["TOOLHOST"]
FIXTURES = os.environ["FIXTURES"]
CODE_EXECUTE = os.environ["CODE_EXECUTE"]

MODERN = "2026-07-28"
HANDSHAKE = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
PATIENCE = 60  # seconds; only what hangs gets there


def meta(revision=MODERN, capabilities=None, **more):
    return {"io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {} if capabilities is None else capabilities, **more}


class Wire:
    """Lines to and from a server; a thread of its own reads, so that no test blocks the server."""

    def __init__(self, read, write):
        self.write = write
        self.messages = queue.Queue()
        self.seen = []
        self.waiting = []
        self.last_id = 0
        self.reader = threading.Thread(target=self._read, args=(read,), daemon=True)
        self.reader.start()

    def _read(self, read):
        try:
            for line in read:
                self.messages.put(line)
        except (OSError, ValueError):
            pass  # the test has closed it
        self.messages.put(None)

    def send_line(self, line):
        self.write(line + b"\n")

    def send(self, message):
        self.send_line(json.dumps(message).encode())

    def ask(self, method, params=None, id=None):
        """Sends a request and returns its id."""
        if id is None:
            self.last_id += 1
            id = self.last_id
        self.send({"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})})
        return id

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def next(self, seconds=PATIENCE):
        """The next message, or None at the end."""
        line = self.messages.get(timeout=seconds)
        if line is None:
            self.messages.put(None)
            return None
        message = json.loads(line)
        self.seen.append(message)
        return message

    def until(self, fits, seconds=PATIENCE):
        """The first message that fits; others are kept for later."""
        for message in self.waiting:
            if fits(message):
                self.waiting.remove(message)
                return message
        deadline = time.monotonic() + seconds
        while True:
            message = self.next(max(0.01, deadline - time.monotonic()))
            if message is None:
                raise AssertionError("the server has ended")
            if fits(message):
                return message
            self.waiting.append(message)

    def answer_to(self, id):
        return self.until(lambda message: isinstance(message, dict) and message.get("id") == id and "method" not in message)

    def call(self, method, params=None):
        """A request's result."""
        answer = self.answer_to(self.ask(method, params))
        if "result" not in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def error(self, method, params=None):
        answer = self.answer_to(self.ask(method, params))
        if "error" not in answer:
            raise AssertionError(f"{method} was answered: {answer['result']}")
        return answer["error"]

    def handshake(self, revision=HANDSHAKE[0], capabilities=None):
        result = self.call("initialize", {"protocolVersion": revision, "capabilities": capabilities or {},
                                          "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")
        return result

    @staticmethod
    def tool_call(code, name="code_execute", language="sh", **more):
        return {"name": name, "arguments": {"language": language, "code": code}, **more}


class McpTest(unittest.TestCase):
    """A test with an empty home, and toolhost mcp to talk to."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="toolhost-mcp-")
        self.addCleanup(shutil.rmtree, self.home)
        self.audit_file = os.path.join(self.home, "audit.jsonl")

    def environment(self, **more):
        """What clients of the protocol give a server, and not more."""
        kept = {k: v for k, v in os.environ.items()
                if k in ("PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "LD_PRELOAD", "LD_LIBRARY_PATH")}
        return {**kept, "HOME": self.home, **more}

    def command(self, *arguments, plugin="none"):
        path = plugin if "/" in plugin else os.path.join(FIXTURES, f"fixture_{plugin}.so")
        return [TOOLHOST, "mcp", "--plugin", path, "--audit", self.audit_file, *arguments]

    def start(self, *arguments, plugin="none", **environment):
        """toolhost mcp over standard input and output; self.process is the program."""
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command(*arguments, plugin=plugin), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, start_new_session=True,
                                        env=self.environment(**environment), bufsize=0)
        process = self.process
        wire = Wire(process.stdout, process.stdin.write)
        self.addCleanup(self._end, process, self.errors, wire.reader)
        return wire

    @staticmethod
    def _end(process, errors, reader=None):
        if process.poll() is None:
            process.kill()
        process.wait()
        if reader:
            reader.join(PATIENCE)  # a descriptor closed under it may be the next test's when it reads
        process.stdin.close()
        process.stdout.close()
        if hasattr(errors, "close"):
            errors.close()

    def started(self, *arguments, approve="always", revision=HANDSHAKE[0], capabilities=None, **more):
        """The same, past the handshake; approve None: nobody but the client's person."""
        wire = self.start(*(["--approve", approve] if approve else []), *arguments, **more)
        wire.handshake(revision, capabilities)
        return wire

    def said(self):
        """Standard error so far."""
        return os.pread(self.errors.fileno(), 1 << 20, 0).decode()

    def records(self):
        try:
            with open(self.audit_file, encoding="utf-8") as file:
                return [json.loads(line)["record"] for line in file]
        except FileNotFoundError:
            return []

    def ran(self):
        return [record for record in self.records() if record["event"] == "start"]

    def wait_until(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"{what} never came")
            time.sleep(0.01)

    def connect(self, path):
        """Of a server whose socket is there."""
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.connect(path)
        return Wire(connection.makefile("rb"), connection.sendall), connection
