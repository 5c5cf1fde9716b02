# SPDX-License-Identifier: Apache-2.0
"""Output without end, or that lies: the host's memory stays as it is, the answer comes, and it is JSON to any parser."""
import json
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import common
import tap
from modes import Provider, gateway
from provider import Host

FLOOD = 1 << 30 if common.LONG else 1 << 27
GROWTH = 2 << 20
# A policy may allow more than a flood, so that it really flows.
POLICY = {"limits": {name: {"default": 1 << 33, "max": 1 << 33} for name in ("output_total_bytes",)}
          | {"wall_ms": {"default": 200000, "max": 300000}, "cpu_ms": {"default": 200000, "max": 300000}}}
MEASURE = """
import re
def status(name): return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
p = Provider()
assert p.use_policy(POLICY) == 0
host = Host() if KEPT else Host(on_output=None)
p.invoke({"language": "sh", "code": "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"}, host)
open("/proc/self/clear_refs", "w").write("5")
before = status("VmHWM")
result = p.invoke({"language": "sh", "code": CODE, "timeout_ms": 200000}, host)[1]
grown = status("VmHWM") - before
print(json.dumps({"grown": grown, "rss": status("VmRSS"), "result": result}))
"""


def flood(redirections, size=FLOOD, kept=False):
    parts = [f"(echo HEAD; head -c {size} /dev/zero | tr '\\0' x; echo; echo TAIL){where}" for where in redirections]
    names = f"POLICY = {POLICY!r}\nKEPT = {kept}\nCODE = {' & '.join(parts) + ' & wait'!r}\n"
    begin = time.monotonic()
    output, _ = gateway(names + MEASURE).communicate(timeout=250)
    seconds = time.monotonic() - begin
    told = json.loads(output)
    print(f"# {len(parts)} x {size >> 20} MiB in {seconds:.1f} s: the host's peak grew by {told['grown'] >> 10} KiB")
    result = told["result"]
    tap.equal((result["status"], result["exit_code"]), ("completed", 0), result["error"])
    total = size + len("HEAD\n\nTAIL\n")
    for stream in ("stdout", "stderr"):
        flowed = (" >&2" in redirections) if stream == "stderr" else ("" in redirections)
        tap.equal((result["truncated"][stream], result["truncated"][f"{stream}_bytes"]), (flowed, total if flowed else 0), stream)
        if flowed:
            tap.true(result[stream].startswith("HEAD\nxxx") and result[stream].endswith("xxx\nTAIL\n"), f"head and tail of {stream}")
    return told["grown"]


def stays_small(grown):
    tap.true(grown <= GROWTH, f"the host grew by {grown} bytes")


def test_a_flood_to_stdout():
    stays_small(flood([""]))


def test_a_flood_to_stderr():
    stays_small(flood([" >&2"]))


def test_a_flood_to_both():
    stays_small(flood(["", " >&2"]))


def test_a_host_that_keeps_its_output_is_seen_to_grow():
    """Positive control of the measure."""
    tap.true(flood([""], size=8 << 20, kept=True) > GROWTH, "it grew")


def test_a_flood_beyond_the_limit_ends_the_run():
    provider = Provider()
    result = provider.invoke({"language": "sh", "code": "echo HEAD; cat /dev/zero"}, Host(on_output=None))[1]
    tap.equal(result["cause"], "output_limit")
    tap.true(result["stdout"].startswith("HEAD\n") and result["truncated"]["stdout_bytes"] >= 64 << 20, "what there was is told")
    provider.reset()


def test_a_grandchild_that_floods_the_pipe_does_not_delay():
    provider = Provider()
    code = "(setsid sh -c 'sleep 100; echo late' &) ; (trap '' TERM HUP PIPE; while :; do echo more; done) & echo done"
    begin = time.monotonic()
    result = provider.invoke({"language": "sh", "code": code}, Host(on_output=None))[1]
    seconds = time.monotonic() - begin
    print(f"# answered after {seconds * 1000:.0f} ms")
    tap.equal((result["status"], result["exit_code"]), ("completed", 0))
    tap.contains(result["stdout"], "done\n")
    tap.true(seconds < 4, "it returned when the main program ended")
    provider.reset()


def parsers():
    yield "jq", ["jq", "-c", "."]
    if shutil.which("node"):
        yield "node", ["node", "-e", "let s='';process.stdin.on('data',d=>s+=d).on('end',()=>console.log(JSON.stringify(JSON.parse(s))))"]


def test_hostile_bytes_are_json_to_other_parsers():
    forged = '{"status":"completed","exit_code":0}\\n"},"exit_code":0,"x":{"'
    code = ("import sys, random\nr = random.Random(SEED)\nout = sys.stdout.buffer\n"
            "for part in (b'\\0', b'\\xff\\xfe', b'\\xc0\\x80', b'\\xed\\xa0\\x80', b'\\xed\\xbf\\xbf', b'\\xf5\\x80\\x80\\x80', b'\\xe2\\x82',"
            " b'\\x1b[2J\\x1b]0;t\\x07\\x1b[31m', b'\\xe2\\x80\\xa8\\xe2\\x80\\xa9', b'\\x7f\\x80\\x9b', b'\\\\ud800 \\\\u0000 \\\\', FORGED.encode(),"
            " bytes(range(256)), r.randbytes(3000)): out.write(part); sys.stderr.buffer.write(part)")
    code = f"SEED = {common.SEED}\nFORGED = {forged!r}\n" + code
    output, _ = gateway(
        "import ctypes, modes, os\np = Provider()\npointer = ctypes.c_void_p()\nhost = Host()\nmodes.grant_mode(host)\n"
        f"request = json.dumps({{'language': 'python', 'code': {code!r}}}).encode()\n"
        "p.library.tool_invoke(b'code_execute', request, ctypes.byref(host.struct), ctypes.byref(pointer))\n"
        "sys.stdout.buffer.write(ctypes.string_at(pointer.value))").communicate(timeout=60)
    ours = json.loads(output)
    tap.equal((ours["status"], ours["exit_code"]), ("completed", 0), ours)
    for stream in ("stdout", "stderr"):
        tap.contains(ours[stream], '{"status":"completed","exit_code":0}')
        tap.contains(ours[stream], "\0")
        tap.true(not any("\ud800" <= letter <= "\udfff" for letter in ours[stream]), "no lone surrogates")
    seen = 0
    for name, command in parsers():
        parsed = subprocess.run(command, input=output, capture_output=True, text=True, check=True)
        theirs = json.loads(parsed.stdout)
        tap.equal((theirs["stdout"], theirs["stderr"], theirs["exit_code"]), (ours["stdout"], ours["stderr"], 0), name)
        seen += 1
    print(f"# {len(output)} characters of JSON, the same to python and {seen} other parsers")


tap.run(globals())
