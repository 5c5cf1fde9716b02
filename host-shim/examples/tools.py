# SPDX-License-Identifier: Apache-2.0
"""A program that calls tools of the gateway in a loop:   CODE_EXEC_POLICY=tools.json python3 tools.py code_execute.so
Each call is answered by another thread, as one that takes its time would be. The rest of a host is in gateway.py."""
import concurrent.futures
import ctypes as c
import json
import sys

from files import CALLBACKS, ToolHost as HostOfBefore
from gateway import ALLOW, VERDICT, Host

LATER = 0x1A7E4001
CALL_TOOL = c.CFUNCTYPE(None, c.c_void_p, c.c_uint64, c.c_char_p, VERDICT)
CANCEL = c.CFUNCTYPE(None, c.c_void_p, c.c_uint64)
CALLBACKS = {**CALLBACKS, "call_tool": CALL_TOOL, "cancel_tool_call": CANCEL}
CODE = "import tools\nrows = [tools.query_database(month=month) for month in range(1, 13)]\nprint(sum(row['total'] for row in rows))"
SCHEMA = {"type": "object", "properties": {"month": {"type": "integer", "minimum": 1, "maximum": 12}}, "required": ["month"]}
CONTEXT = {"principal": "example", "tools": [
    {"name": "query_database", "description": "The sales of a month.", "input_schema": SCHEMA, "approval": "never"},
    {"name": "send_report", "input_schema": {}}]}


class ToolHost(c.Structure):
    _fields_ = [*HostOfBefore._fields_, ("call_tool", CALL_TOOL), ("cancel_tool_call", CANCEL)]


class ToolsHost(Host):
    def __init__(self, library, workers):
        self.library, self.workers = library, workers

    def check_capability(self, user, name, verdict):
        verdict[0] = ALLOW if name in (b"sandbox.exec", b"sandbox.exec.tools") else 0

    def call_tool(self, user, token, call, verdict):
        self.workers.submit(self.answer, token, json.loads(call))  # call is borrowed: it is read before this returns
        verdict[0] = LATER

    def cancel_tool_call(self, user, token):  # a host whose work can be stopped stops it
        pass

    def on_output(self, user, stream, data, length):
        if stream < 3:  # the third is progress: a line for each call
            super().on_output(user, stream, data, length)

    def answer(self, token, call):
        reply = json.dumps({"content": [], "structured_content": {"total": 100 * call["arguments"]["month"]}}).encode()
        self.library.tool_reply_call(c.c_uint64(token), reply, c.c_size_t(len(reply)))


if __name__ == "__main__":
    LIBRARY, RESULT = c.CDLL(sys.argv[1]), c.c_void_p()
    with concurrent.futures.ThreadPoolExecutor() as WORKERS:  # they end before the library goes
        HOST = ToolsHost(LIBRARY, WORKERS)
        GIVEN = [kind(getattr(HOST, name)) if hasattr(HOST, name) else kind() for name, kind in CALLBACKS.items()]
        FILLED = ToolHost(c.sizeof(ToolHost), 1 << 16 | 3, None, 1, json.dumps(CONTEXT).encode(), *GIVEN)
        CALL = {"language": "python", "code": CODE, "tools": ["query_database"]}
        STATUS = LIBRARY.tool_invoke(b"code_execute", json.dumps(CALL).encode(), c.byref(FILLED), c.byref(RESULT))
    print("result:", c.string_at(RESULT.value).decode())
    LIBRARY.tool_free(RESULT)
    sys.exit(STATUS)
