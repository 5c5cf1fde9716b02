# SPDX-License-Identifier: Apache-2.0
"""The gateway under attack: a process of its own that loads the plugin and takes one order a line, JSON in and JSON out. Its
environment, working directory and home are canaries; its descriptors and threads are counted from outside."""
import json
import sys
import time

from provider import ON_OUTPUT, Host, Provider

GRANTED = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.secrets", "sandbox.exec.limits.extended",
           "sandbox.exec.mode.none", "sandbox.exec.mode.unprivileged")


def invoke(provider, order):
    host = Host(GRANTED, {name: value.encode() for name, value in order.get("secrets", {}).items()}, context=order.get("context"))
    begin = time.monotonic()

    def on_output(stream, data, length):
        nonlocal begin
        if not any(host.output.values()):
            begin = time.monotonic()
        host.on_output(stream, data, length)

    host.struct.on_output = ON_OUTPUT(lambda user, *rest: on_output(*rest))
    try:
        result = provider.invoke(order["request"], host)[1]
    except ValueError as error:
        result = {"status": "no JSON", "error": {"code": "json", "message": str(error)}}
    raw = {stream: host.output[number].decode("latin-1")[:65536] for stream, number in (("stdout", 1), ("stderr", 2))}
    return {"result": result, "raw": raw, "seconds": time.monotonic() - begin}  # from the first output on: an engine may be slow to start


provider = Provider()
print("{}", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    if "reset" in order:  # the next run starts the backend anew
        provider.reset()
        answer = {}
    elif "pool" in order:
        answer = provider.pool(order["pool"])[1]
    else:
        answer = {"prepared": provider.use_policy(order["policy"])} if "policy" in order else invoke(provider, order)
    print(json.dumps(answer), flush=True)
provider.reset()
