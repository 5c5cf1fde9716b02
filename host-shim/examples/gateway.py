# SPDX-License-Identifier: Apache-2.0
"""A gateway in Python, with ctypes:   API_KEY=... CODE_EXEC_POLICY=policy.json python3 gateway.py code_execute.so"""
import ctypes as c
import json
import os
import sys

ALLOW, PENDING = 0x600DCA11, 0x9E4D0001
VERDICT = c.POINTER(c.c_uint32)
CALLBACKS = {
    "check_capability": c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, VERDICT),
    "request_approval": c.CFUNCTYPE(None, c.c_void_p, c.c_uint64, c.c_char_p, VERDICT),
    "read_secret": c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_void_p, c.c_size_t, c.POINTER(c.c_size_t), VERDICT),
    "audit": c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, VERDICT),
    "on_output": c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, c.c_void_p, c.c_size_t)}


class ToolHost(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("abi_version", c.c_uint32), ("user", c.c_void_p), ("call_id", c.c_uint64),
                ("context_json", c.c_char_p), *CALLBACKS.items()]


class Host:
    """What is granted. A callback that raises has written no verdict, and so denies."""

    def check_capability(self, user, name, verdict):
        verdict[0] = ALLOW if name in (b"sandbox.exec", b"sandbox.exec.secrets") else 0

    def request_approval(self, user, token, request, verdict):
        verdict[0] = ALLOW if input(f"{request.decode()}\nRun this? [y/N] ") == "y" else 0

    def read_secret(self, user, name, buffer, capacity, length, verdict):
        value = {b"api-key": os.environb[b"API_KEY"]}[name]
        length[0] = len(value)  # where it is more than capacity, it is asked for again with a larger buffer
        c.memmove(buffer, value, min(len(value), capacity))
        verdict[0] = ALLOW

    def audit(self, user, record, verdict):  # what is not stored does not run
        print("audit:", record.decode(), file=sys.stderr)
        verdict[0] = ALLOW

    def on_output(self, user, stream, data, length):
        os.write(1 if stream == 1 else 2, c.string_at(data, length))


def invoke(library, call, host):
    callbacks = [kind(getattr(host, name)) for name, kind in CALLBACKS.items()]
    filled, result = ToolHost(c.sizeof(ToolHost), 1 << 16, None, 1, None, *callbacks), c.c_void_p()
    library.tool_invoke(b"code_execute", json.dumps(call).encode(), c.byref(filled), c.byref(result))
    text = c.string_at(result.value)
    library.tool_free(result)
    return json.loads(text)


if __name__ == "__main__":
    CALL = {"language": "sh", "code": "echo length ${#KEY}; echo $KEY", "secrets": {"KEY": "{{secret:api-key}}"}}
    RESULT = invoke(c.CDLL(sys.argv[1]), CALL, Host())
    print("result:", json.dumps(RESULT))
    sys.exit(RESULT["status"] != "completed")
