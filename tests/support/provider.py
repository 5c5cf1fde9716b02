# SPDX-License-Identifier: Apache-2.0
"""The tool-provider ABI through ctypes, as a Python gateway would load it, and a host whose every callback can be replaced.

The path of code_execute.so comes from the environment variable CODE_EXECUTE_SO.
"""
import ctypes
import json
import os
import tempfile

ALLOW = 0x600DCA11
DENY = 0
LATER = 0x1A7E4001
PENDING = 0x9E4D0001
ABSENT = 0xAB5E4701
OK, NOT_RUN, FAILED = 0, 1, -1
ACCEPTED, UNKNOWN, INVALID = 0, 1, 2
ABI_VERSION = 1 << 16 | 3

VERDICT = ctypes.POINTER(ctypes.c_uint32)
CHECK_CAPABILITY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, VERDICT)
REQUEST_APPROVAL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, VERDICT)
READ_SECRET = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t,
                               ctypes.POINTER(ctypes.c_size_t), VERDICT)
AUDIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, VERDICT)
ON_OUTPUT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t)
LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p)
CHECK_CONTENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t,
                                 ctypes.POINTER(ctypes.c_size_t), VERDICT)
OPEN_FILE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_uint64), VERDICT)
STORE_FILE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t,
                              ctypes.POINTER(ctypes.c_size_t), VERDICT)
CALL_TOOL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, VERDICT)
CANCEL_TOOL_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)
CALLBACK_TYPES = {"check_capability": CHECK_CAPABILITY, "request_approval": REQUEST_APPROVAL,
                  "read_secret": READ_SECRET, "audit": AUDIT, "on_output": ON_OUTPUT, "log": LOG, "check_content": CHECK_CONTENT,
                  "open_file": OPEN_FILE, "store_file": STORE_FILE, "call_tool": CALL_TOOL, "cancel_tool_call": CANCEL_TOOL_CALL}


class ToolHost(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("abi_version", ctypes.c_uint32), ("user", ctypes.c_void_p),
                ("call_id", ctypes.c_uint64), ("context_json", ctypes.c_char_p),
                ("check_capability", CHECK_CAPABILITY), ("request_approval", REQUEST_APPROVAL),
                ("read_secret", READ_SECRET), ("audit", AUDIT), ("on_output", ON_OUTPUT), ("log", LOG),
                ("check_content", CHECK_CONTENT), ("open_file", OPEN_FILE), ("store_file", STORE_FILE),
                ("call_tool", CALL_TOOL), ("cancel_tool_call", CANCEL_TOOL_CALL)]


class Host:
    """Grants the given capabilities, approves, keeps the audit records; each callback can be overridden by a function of
    the same arguments without `user`, or left out with None."""

    def __init__(self, capabilities=("sandbox.exec",), secrets=None, call_id=0, context=None, **callbacks):
        self.capabilities = set(capabilities)
        self.secrets = secrets or {}
        self.records, self.requests, self.logs = [], [], []
        self.output = {1: b"", 2: b"", 3: b""}
        self.struct = ToolHost(struct_size=ctypes.sizeof(ToolHost), abi_version=ABI_VERSION, call_id=call_id,
                               context_json=json.dumps(context).encode() if context is not None else None)
        for name, kind in CALLBACK_TYPES.items():
            function = callbacks.get(name, getattr(self, name))
            if function is None:
                setattr(self.struct, name, kind())
            else:
                setattr(self.struct, name, kind(lambda user, *rest, call=function: call(*rest)))

    check_content = open_file = store_file = call_tool = cancel_tool_call = None  # not offered, unless they are given

    def check_capability(self, capability, verdict):
        verdict[0] = ALLOW if capability.decode() in self.capabilities else DENY

    def request_approval(self, token, request, verdict):
        self.requests.append(json.loads(request))
        verdict[0] = ALLOW

    def read_secret(self, name, buffer, capacity, length, verdict):
        value = self.secrets.get(name.decode())
        if value is None:
            return
        length[0] = len(value)
        if len(value) <= capacity:
            ctypes.memmove(buffer, value, len(value))
        verdict[0] = ALLOW

    def audit(self, record, verdict):
        self.records.append(json.loads(record))
        verdict[0] = ALLOW

    def on_output(self, stream, data, length):
        self.output[stream] += ctypes.string_at(data, length)

    def log(self, level, message):
        self.logs.append((level, message.decode()))


class Provider:
    def __init__(self, path=None):
        self.path = path or os.environ["CODE_EXECUTE_SO"]
        self.library = ctypes.CDLL(self.path)
        self.library.tool_abi_version.restype = ctypes.c_uint32
        self.library.tool_manifest.restype = ctypes.c_char_p
        self.library.tool_free.argtypes = [ctypes.c_void_p]
        self.library.tool_free.restype = None
        self.library.tool_invoke.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p,
                                             ctypes.POINTER(ctypes.c_void_p)]
        self.library.tool_cancel.argtypes = [ctypes.c_uint64]
        self.library.tool_reply_approval.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
        self.library.tool_prepare.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
        self.library.tool_status.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self.library.tool_shutdown.restype = None

    def take(self, pointer):
        if not pointer.value:
            return None
        text = ctypes.string_at(pointer.value)
        self.library.tool_free(pointer)
        return json.loads(text)

    def manifest(self):
        return json.loads(self.library.tool_manifest())

    def invoke(self, request, host=None, tool="code_execute"):
        """The return code and the result; request is a dict, or bytes as they are, or None."""
        text = json.dumps(request).encode() if isinstance(request, dict) else request
        pointer = ctypes.c_void_p()
        struct = ctypes.byref(host.struct) if isinstance(host, Host) else host
        code = self.library.tool_invoke(tool.encode() if tool is not None else None, text, struct,
                                        ctypes.byref(pointer))
        return code, self.take(pointer)

    def prepare(self, **configuration):
        pointer = ctypes.c_void_p()
        text = json.dumps(configuration).encode() if configuration else None
        code = self.library.tool_prepare(text, ctypes.byref(pointer))
        return code, self.take(pointer)

    def use_policy(self, policy, sandbox=None):
        """Puts a policy (a merge patch on the built-in one, as a dict) in force."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(policy, file)
            file.flush()
            configuration = {"policy_file": file.name}
            if sandbox is not None:
                configuration["sandbox"] = sandbox
            code = self.library.tool_prepare(json.dumps(configuration).encode(), None)
        return code

    def reset(self):
        """Back to the state after loading: no configuration, no backend."""
        self.library.tool_shutdown()

    def status(self):
        pointer = ctypes.c_void_p()
        code = self.library.tool_status(ctypes.byref(pointer))
        return code, self.take(pointer)

    def counters(self):
        """Those of tool_status(), which tries every backend and language besides."""
        return self.prepare(counters=True)[1]["counters"]

    def pool(self, backend="process"):
        """What that backend has ready, as it says itself: its state, and a row for each interpreter that can wait."""
        [pool] = [pool for pool in self.prepare(counters=True)[1]["pools"] if pool["backend"] == backend]
        return pool["state"], {row["interpreter"]: row for row in pool["sandboxes"]}

    def cancel(self, call_id):
        return self.library.tool_cancel(call_id)

    def reply(self, token, decision):
        text = json.dumps(decision).encode() if isinstance(decision, dict) else decision
        return self.library.tool_reply_approval(token, text)

    def reply_call(self, token, reply):
        """Answers a call of a tool: with an object, or bytes as they are."""
        text = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        return self.library.tool_reply_call(ctypes.c_uint64(token), text, ctypes.c_size_t(len(text)))
