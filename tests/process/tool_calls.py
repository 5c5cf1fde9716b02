# SPDX-License-Identifier: Apache-2.0
"""What the tests of calls of tools share: a policy that allows them, and programs that make calls by frames (tool_host.py)."""
import tap
from modes import Provider, adopt_orphans
from provider import OK
from tool_host import RAW, ToolHost, add_one

AMPLE_MS = 120000
adopt_orphans()
provider = Provider()


def use(**tools):
    limits = {"wall_ms": {"default": 30000, "max": AMPLE_MS}}
    tap.equal(provider.change_policy({"tools": {"allowed": ["*"], "rate_per_s": 100000, **tools}, "capabilities": ["sandbox.exec", "sandbox.exec.tools", "sandbox.exec.files"], "limits": limits}), OK)


def run(code, serve=add_one, wanted=("add",), raw=RAW, request=None, **host):
    made = ToolHost(provider, serve, **host)
    status, result = provider.invoke({"language": "python", "code": raw + code, "tools": list(wanted), **(request or {})}, made)
    return made, status, result


def printed(code, serve=add_one, **more):
    """What a program prints that completes."""
    host, _, result = run(code, serve, **more)
    tap.equal((result["status"], result["exit_code"]), ("completed", 0), result)
    return host, result, result["stdout"]
