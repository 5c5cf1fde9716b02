# SPDX-License-Identifier: Apache-2.0
"""The gateway's end of a program's tools, played by a test (docs/internals/tools-inside.md): a real interpreter, begun with the parts that
a run has, with pipes as descriptors 62 and 63. The test decides what is answered, when, and in which pieces."""
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).parents[2]
PARTS = ROOT / "plugin" / "interpreter"
REPLIES_FD, RESULTS_FD = 62, 63
CALL = 5
LISTING, ANSWER = 1, 2
JSON, TEXT, BYTES, CONTENT, ERROR = 1, 2, 3, 4, 5
HEAD = struct.Struct("<IB")
SECONDS = 60  # for what never takes long
IN_FLIGHT = 16  # calls that may be open, where a case says no other number

ECHO = {"name": "echo", "identifier": "echo", "input_schema": {"type": "object"}}
QUERY = {"name": "query_database", "identifier": "query_database", "title": "Query the database",
         "description": "Returns the rows of a statement.",
         "input_schema": {"type": "object", "required": ["sql"], "properties": {
             "sql": {"type": "string", "description": "The statement"},
             "limit": {"type": "integer", "default": 100},
             "order": {"enum": ["up", "down"]}}}}
ISSUES = {"name": "jira.search", "identifier": "jira_search", "description": "Finds issues by words.",
          "input_schema": {"type": "object", "properties": {"from": {"type": "string"}, "arguments": {}}, "additionalProperties": True}}
TOOLS = [ECHO, QUERY, ISSUES]

# As sitecustomize.py begins a program, but for its own files and an extension.
BEGIN = """
import sys
class Runner:
    RESULTS_FD, TOOLS_FD = 63, 62
    has_tools = {has_tools}
    def __init__(self):
        import os
        self.parts, self.pipe = {{}}, (os.fstat(63), os.getpid())
    def load(self, part):
        if part not in self.parts:
            names = self.parts[part] = {{"__name__": part, "load": self.load}}
            with open({directory!r} + "/" + part + ".py", "rb") as file:
                exec(compile(file.read(), part + ".py", "exec"), names)
        return self.parts[part]
    def results(self):
        results = self.load("results")
        results["channel"].use(self.RESULTS_FD, self.pipe)
        return results
runner = Runner()
runner.load("imports")["watch"](runner)
{more}
"""


def frame(kind, payload):
    return HEAD.pack(len(payload), kind) + payload


def listing(tools=TOOLS, most=IN_FLIGHT):
    return frame(LISTING, struct.pack("<I", most) + json.dumps(tools).encode())


def answer(number, form, data):
    return frame(ANSWER, struct.pack("<IB", number, form) + data)


def of_json(number, value):
    return answer(number, JSON, json.dumps(value).encode())


def of_text(number, text):
    return answer(number, TEXT, text.encode())


def of_bytes(number, mime_type, data):
    return answer(number, BYTES, bytes((len(mime_type),)) + mime_type.encode() + data)


def of_content(number, blocks):
    return answer(number, CONTENT, json.dumps(blocks).encode())


def of_error(number, code, message="no", retryable=False):
    return answer(number, ERROR, json.dumps({"code": code, "message": message, "retryable": retryable}).encode())


def base64_of(data):
    return base64.b64encode(data).decode()


FLAG = "has_tools = False"


def begin_of_container(start):
    """The runner of a container, whose run has tools."""
    script = start / "script"
    parts = sorted((PARTS / "python").glob("*.py"))
    subprocess.run([ROOT / "scripts/generate/join-scripts", script, ROOT / "plugin/guest/program/guest_python.py", *parts], check=True)
    (start / "sitecustomize.py").write_text(with_tools(script.read_text(encoding="utf-8")), encoding="utf-8")
    script.unlink()


def begin_of_process_mode(start):
    """The runner of process mode, whose run has tools."""
    built = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).resolve().parent / "interpreter"
    for path in [*built.glob("*.py"), built / "code_execute_python.so"]:
        shutil.copy(path, start)
    (start / "sitecustomize.py").write_text(with_tools((built / "sitecustomize.py").read_text(encoding="utf-8")), encoding="utf-8")


def with_tools(script):
    assert script.count(FLAG) == 1, "the runner has no flag"
    return script.replace(FLAG, "has_tools = True")


class Call:
    def __init__(self, payload):
        self.number, length = struct.unpack_from("<IH", payload)
        self.name, self.text = payload[6:6 + length].decode(), payload[6 + length:]
        self.arguments = json.loads(self.text)


class Peer:
    """A program in Python under way, with its pipes. Use as a context. tools: None where the run has none. begin: writes the runner of a
    backend, which is not ours then."""

    def __init__(self, program, python=sys.executable, tools=TOOLS, files=None, more="", arguments=(), begin=None, most=IN_FLIGHT):
        self.most = most
        start = self.write({"main.py": program, **(files or {})}, tools)
        if begin is not None:
            begin(start)
            self.variables = {"CODE_EXECUTE_INTERPRETER": "begin"}
        else:
            own = BEGIN.format(has_tools=tools is not None, directory=str(PARTS / "python"), more=more)
            (start / "sitecustomize.py").write_text(own)
        self.command = [python, "main.py", *arguments]

    def write(self, files, tools):
        """The directory for what begins the program."""
        self.directory = tempfile.TemporaryDirectory(prefix="ce-tools-")
        self.tools, self.frames, self.variables = tools, [], {}
        self.home, self.start_directory = pathlib.Path(self.directory.name, "home"), pathlib.Path(self.directory.name, "start")
        for directory in self.home, self.start_directory:
            directory.mkdir()
        for name, content in files.items():
            (self.home / name).write_text(content)
        return self.start_directory

    def __enter__(self):
        results, replies = os.pipe(), self.replies_pair()
        self.results, self.replies = high(results[0]), high(replies[1])
        self.errors = tempfile.TemporaryFile()
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.of_descriptors(results[1], replies[0]), cwd=self.home, stdin=subprocess.DEVNULL,
                                        stdout=self.output, stderr=self.errors, pass_fds=(results[1], replies[0]), env=self.environment())
        os.close(results[1])
        os.close(replies[0])
        self.guard = threading.Timer(SECONDS, self.process.kill)  # a program that hangs fails the case
        self.guard.daemon = True
        self.guard.start()
        if isinstance(self.tools, list):
            self.send(listing(self.tools, self.most))
        return self

    @staticmethod
    def replies_pair():
        """The program's end and ours."""
        return os.pipe()

    def of_descriptors(self, results, replies):
        """With those numbers, and no other ones."""
        move = f"exec {RESULTS_FD}>&{results} {REPLIES_FD}<&{replies} {results}>&- {replies}<&-; exec \"$@\""
        return ["bash", "-c", move, "bash", *self.command]

    def environment(self):
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.start_directory), "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8",
                **self.variables}

    def __exit__(self, kind, *_):
        self.guard.cancel()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for fd in self.results, self.replies:
            if fd >= 0:
                os.close(fd)
        if kind is not None:
            print("# " + self.read(self.errors).replace("\n", "\n# "))
        self.errors.close()
        self.output.close()
        self.directory.cleanup()

    @staticmethod
    def read(file):
        """All of it so far. The program writes where the file's place is, which is the same for both: it stays where it is."""
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")

    def send(self, data):
        """All of it, or none where nobody reads any more."""
        with contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(self.replies, data):]

    def close_replies(self):
        os.close(self.replies)
        self.replies = -1

    def take(self, length):
        pieces = []
        while length:
            piece = os.read(self.results, length)
            if not piece:
                raise EOFError
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)

    def next_call(self):
        """EOFError at the program's end. Other frames are kept in self.frames."""
        while True:
            length, kind = HEAD.unpack(self.take(HEAD.size))
            assert length < 1 << 26 and 1 <= kind <= CALL, (length, kind)
            payload = self.take(length)
            if kind == CALL:
                return Call(payload)
            self.frames.append((kind, payload))

    def calls(self, count):
        return [self.next_call() for _ in range(count)]

    def serve(self, respond):
        """Answers each call with what respond() makes of it, until the program has ended; returns how many there were."""
        count = 0
        with contextlib.suppress(EOFError):
            while True:
                call = self.next_call()
                count += 1
                self.send(respond(call))
        return count

    def end(self, status=0):
        """The output of the program, which has ended well."""
        with contextlib.suppress(EOFError):
            while True:
                raise AssertionError(f"one more call: {self.next_call().text[:100]}")
        found = self.process.wait(SECONDS)
        errors = self.read(self.errors)
        assert found == status, f"status {found} instead of {status}: {errors}"
        return self.read(self.output)


class NodePeer(Peer):
    """A program in JavaScript. NODE_UNDER_TEST of the environment: another Node. name: of the program's file."""

    def __init__(self, program, tools=TOOLS, files=None, name="main.js", most=IN_FLIGHT):
        self.most = most
        start = self.write({name: program, **(files or {})}, tools)
        (start / "begin.js").write_text(f"require({json.dumps(str(PARTS / 'node/results.js'))}).begin();")
        self.command = [os.environ.get("NODE_UNDER_TEST", "node"), "--require", str(start / "begin.js"), name]

    def replies_pair(self):
        if self.tools is None:  # the descriptor is another file then
            return os.pipe()
        program, ours = socket.socketpair()
        program.shutdown(socket.SHUT_WR)
        return program.detach(), ours.detach()


def high(fd):
    """Out of the way of the descriptors that a program gets."""
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(fd)
    return copy


def echo(call):
    return of_json(call.number, call.arguments)


def run(program, respond=echo, kind=Peer, **how):
    """The output of a program whose calls are answered at once."""
    with kind(program, **how) as peer:
        peer.serve(respond)
        return peer.end()
