# SPDX-License-Identifier: Apache-2.0
"""A file in by reference, a chart and a table out:   CODE_EXEC_POLICY=files.json python3 files.py code_execute.so data.csv
The rest of a host (approval, secrets, streaming) is in gateway.py."""
import ctypes as c
import json
import os
import sys

from gateway import ALLOW, CALLBACKS, VERDICT, Host

OPEN = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.POINTER(c.c_int32), c.POINTER(c.c_uint64), VERDICT)
STORE = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_int32, c.c_void_p, c.c_size_t, c.POINTER(c.c_size_t), VERDICT)
CALLBACKS = {**CALLBACKS, "log": c.c_void_p, "check_content": c.c_void_p, "open_file": OPEN, "store_file": STORE}
CODE = "import pandas\nframe = pandas.read_csv('data.csv')\nframe.plot().figure.savefig('chart.png')\nframe.describe()"


class ToolHost(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("abi_version", c.c_uint32), ("user", c.c_void_p), ("call_id", c.c_uint64),
                ("context_json", c.c_char_p), *CALLBACKS.items()]


class FileHost(Host):
    def __init__(self, path):
        self.path, self.kept = path, 0
        self.listed = [{"ref": "data", "name": os.path.basename(path), "size": os.path.getsize(path)}]

    def check_capability(self, user, name, verdict):
        verdict[0] = ALLOW if name in (b"sandbox.exec", b"sandbox.exec.files") else 0

    def open_file(self, user, ref, descriptor, size, verdict):  # only for a ref that is listed
        with open(self.path, "rb") as file:
            size[0] = os.fstat(file.fileno()).st_size
            descriptor[0] = os.dup(file.fileno())  # the provider's own: `file` closes the other one
        verdict[0] = ALLOW

    def store_file(self, user, file, descriptor, uri, capacity, length, verdict):
        self.kept += 1
        name = f"kept-{self.kept}".encode()  # the file's "path" is the program's word
        content = os.pread(descriptor, json.loads(file)["size"], 0)  # lent: open(descriptor) would close it
        with open(name, "wb") as copy:
            copy.write(content)
        length[0] = len(name)
        c.memmove(uri, name, len(name))
        verdict[0] = ALLOW


if __name__ == "__main__":
    LIBRARY, HOST, RESULT = c.CDLL(sys.argv[1]), FileHost(sys.argv[2]), c.c_void_p()
    CALL = {"language": "python", "code": CODE, "files": [{"path": "data.csv", "ref": "data"}]}
    GIVEN = [kind(getattr(HOST, name)) if hasattr(HOST, name) else None for name, kind in CALLBACKS.items()]
    FILLED = ToolHost(c.sizeof(ToolHost), 1 << 16 | 2, None, 1, json.dumps({"files": HOST.listed}).encode(), *GIVEN)
    STATUS = LIBRARY.tool_invoke(b"code_execute", json.dumps(CALL).encode(), c.byref(FILLED), c.byref(RESULT))
    print("result:", c.string_at(RESULT.value).decode())
    LIBRARY.tool_free(RESULT)
    sys.exit(STATUS)
