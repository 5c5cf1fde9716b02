# SPDX-License-Identifier: Apache-2.0
"""Gateways and providers that were made with the headers of 1.0, 1.1 and 1.2 work with those of this version."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from provider import OK, Host, ToolHost

SIZES = {"1_0": (0, 80), "1_1": (1, 88), "1_2": (2, 104)}  # a version: its minor number, and the size of its struct


def run_host(version, request):
    done = subprocess.run([os.environ[f"OLD_HOST_{version}"], os.environ["CODE_EXECUTE_SO"], json.dumps(request)],
                          capture_output=True, text=True, timeout=60)
    tap.equal((done.returncode, done.stderr), (0, ""), version)
    size, code, result = done.stdout.split(" ", 2)
    return int(size), int(code), json.loads(result)


def test_gateways_of_before_run_programs():
    for version, (_, size) in SIZES.items():
        told, code, result = run_host(version, {"language": "sh", "code": "echo ran"})
        tap.equal((told, code, result["stdout"], result["error"]), (size, OK, "ran\n", None), version)


def never(*_):
    raise AssertionError("a provider of before called what it cannot know")


def test_providers_of_before_run():
    for version, (minor, size) in SIZES.items():
        library = ctypes.CDLL(os.environ[f"OLD_PROVIDER_{version}"])
        tap.equal((library.tool_abi_version(), ctypes.sizeof(ToolHost)), (1 << 16 | minor, 120))
        host, output = Host(check_content=never, open_file=never, store_file=never, call_tool=never, cancel_tool_call=never), ctypes.c_char_p()
        library.tool_invoke.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
        tap.equal(library.tool_invoke(b"t", b"{}", ctypes.byref(host.struct), ctypes.byref(output)), OK)
        tap.equal((json.loads(output.value), host.logs), ({"granted": True, "size": size}, [(3, "as ever")]), version)


tap.run(globals())
