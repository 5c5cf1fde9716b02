# SPDX-License-Identifier: Apache-2.0
"""A host whose tools programs may call, and a client in a program that speaks the frames itself: what the module of the runner would
never send can be sent by it."""
import json
import threading

from provider import ALLOW, DENY, LATER, Host

# In the program: call() sends a frame, answer() waits for the next one. The tools' own frame is read first.
RAW = """
import json, os, struct
def send(kind, payload): os.write(63, struct.pack("<IB", len(payload), kind) + payload)
def exactly(count):
    data = b""
    while len(data) < count:
        more = os.read(62, count - len(data))
        if not more: raise EOFError
        data += more
    return data
def frame():
    length, kind = struct.unpack("<IB", exactly(5))
    return kind, exactly(length)
def call(number, name, arguments):
    text = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
    send(5, struct.pack("<IH", number, len(name.encode())) + name.encode() + text)
def answer():
    kind, payload = frame()
    assert kind == 2, kind
    number, form = struct.unpack("<IB", payload[:5])
    return number, form, payload[5:]
def result(number, name, **arguments):
    call(number, name, arguments)
    return answer()
def code(answered): return json.loads(answered[2])["code"]
kind, listed = frame()
assert kind == 1, kind
most, listed = int.from_bytes(listed[:4], "little"), json.loads(listed[4:])
"""
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": True}


def tool(name, approval="never", **more):
    return {"name": name, "input_schema": SCHEMA, "approval": approval, **more}


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def value(thing):
    return {"content": [], "structured_content": thing}


class ToolHost(Host):
    """serve(host, token, call) answers each call of a tool; what it returns is the verdict, None is LATER. What came is kept."""

    def __init__(self, provider, serve, tools=("add",), rights=("sandbox.exec", "sandbox.exec.tools"), context=None, **more):
        self.provider, self.serve = provider, serve
        self.calls, self.cancelled, self.replies = [], [], []
        self.lock = threading.Lock()
        listed = [entry if isinstance(entry, dict) else tool(entry) for entry in tools]
        super().__init__(rights, context={"principal": "ann", "tools": listed, **(context or {})}, **more)

    def call_tool(self, token, text, verdict):
        call = json.loads(text)
        with self.lock:
            self.calls.append((token, call, text))
        said = self.serve(self, token, call)
        verdict[0] = LATER if said is None else said

    def cancel_tool_call(self, token):
        self.cancelled.append(token)

    def reply(self, token, reply):
        self.replies.append(self.provider.reply_call(token, reply))

    def reply_later(self, token, reply, seconds=0.0):
        threading.Timer(seconds, self.reply, (token, reply)).start()


class AtOnce:
    """Answers with one more than x, as add_one(), but none before so many calls are open, or have been. most: as many as were."""

    def __init__(self, count):
        self.count, self.most, self.open = count, 0, []

    def serve(self, host, token, call):
        with host.lock:
            self.open.append((token, value(call["arguments"]["x"] + 1)))
            self.most = max(self.most, len(self.open))
            ready = self.open[:] if self.most >= self.count else []
            del self.open[:len(ready)]
        for held, reply in ready:
            host.reply_later(held, reply, 0.01)


class Held:
    """The tools of a test that says in which order things happen: an answer to `slow` waits until `release` is called, and one to `wait`
    until so many calls of `slow` are there."""

    tools = ("slow", "wait", "release", "add")

    def __init__(self, count=1):
        self.count, self.slow, self.waiting = count, [], None

    def serve(self, host, token, call):
        if call["name"] == "slow":
            self.slow.append((token, call["arguments"].get("x", 0)))
        elif call["name"] == "wait":
            self.waiting = token
        elif call["name"] == "release":
            for held, x in reversed(self.slow):
                host.reply(held, value({"slow": x}))
            host.reply(token, value("released"))
        else:
            add_one(host, token, call)
        if self.waiting and len(self.slow) >= self.count:
            host.reply(self.waiting, value("all are there"))
            self.waiting = None


def add_one(host, token, call):
    """Answers at once: one more than the argument x."""
    host.reply(token, value(call["arguments"].get("x", 0) + 1))


__all__ = ["ALLOW", "DENY", "LATER", "RAW", "AtOnce", "Held", "ToolHost", "add_one", "text", "tool", "value"]
