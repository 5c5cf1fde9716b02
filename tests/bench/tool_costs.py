# SPDX-License-Identifier: Apache-2.0
"""What calls of tools cost, in either mode: one after the other, sixteen at a time, and a run that makes none. And one task both ways, as
calls of a model and as a program's, with the bytes that the model writes and reads."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))  # behind the bench's own, which has an engine.py as well
import cases
import costs
import engine
from gateway import BUILD, ROOT, Absent, Gateway
from packages import node_packages

POLICY = {"tools": {"allowed": ["*"], "max_calls": 1000000, "rate_per_s": 1000000}, "files": {"out": {"max_files": 0}}}
# What a program measures is the whole way: schema, policy, capability, two audit records, the gateway's callback, and back.
ONE = """
import statistics, time, tools
def once():
    begin = time.perf_counter()
    tools.echo(text="a")
    return 1000 * (time.perf_counter() - begin)
for _ in range(50): once()
times = sorted(once() for _ in range({calls}))
print(statistics.median(times), times[len(times) * 99 // 100])
"""
# Sixteen threads, sixteen tasks of a loop, and frames without a module, as many as fit without waiting for an answer of an earlier one.
MANY = {"threads": """
import threading, time, tools
answers = []
def work():
    for _ in range({calls} // 16): answers.append(tools.echo(text="a"))
threads = [threading.Thread(target=work) for _ in range(16)]
begin = time.perf_counter()
for thread in threads: thread.start()
for thread in threads: thread.join()
took = time.perf_counter() - begin
assert answers == ["answer"] * ({calls} // 16 * 16), len(answers)
print(len(answers) / took)
""", "aio": """
import asyncio, time, tools
async def work(): return [await tools.aio.echo(text="a") for _ in range({calls} // 16)]
async def all(): return await asyncio.gather(*(work() for _ in range(16)))
begin = time.perf_counter()
answers = sum(asyncio.run(all()), [])
took = time.perf_counter() - begin
assert answers == ["answer"] * ({calls} // 16 * 16), len(answers)
print(len(answers) / took)
""", "frames": """
import os, struct, time
call = b'echo{{"text":"a"}}'
data = bytearray()
def answer():
    while len(data) < 5 or len(data) < 5 + struct.unpack_from("<I", data)[0]: data.extend(os.read(62, 65536))
    length, kind = struct.unpack_from("<IB", data)
    del data[:5 + length]
    return kind
def send(count):
    frame = struct.pack("<IBIH", 6 + len(call), 5, 1, 4) + call
    os.write(63, frame * count)
assert answer() == 1
begin = time.perf_counter()
send(16)
for n in range({calls}):
    assert answer() == 2
    if n + 16 < {calls}: send(1)
print({calls} / (time.perf_counter() - begin))
"""}


def printed(gateway, code, calls):
    """The numbers that such a program prints."""
    result = gateway.order("invoke", request={"language": "python", "code": code.format(calls=calls), "tools": ["echo"], "timeout_ms": 60000})
    if result["error"]:
        raise Absent(f"programs cannot call tools here: {result['error']['code']}: {result['error']['message']}")
    if result["exit_code"] != 0:
        raise Absent(f"the program failed: {result['stderr'][-300:]}")
    return [float(word) for word in result["stdout"].split()]


def measured(policies, calls, rounds):
    with Gateway() as gateway:
        gateway.use_policy(*({**policy, **POLICY} for policy in policies))
        gateway.order("offer_tool")
        one = [printed(gateway, ONE, calls) for _ in range(5)]
        rates = {name: [] for name in MANY}
        for _ in range(5):  # in turns
            for name, code in MANY.items():
                rates[name] += printed(gateway, code, calls)
        named = costs.medians(gateway.contest([costs.ours("named", "print(1)", tools=["echo"]), costs.ours("none", "print(1)")], expect="1\n",
                                              rounds=rounds, warm_up=5, pause_ms=10, budget_ms=40000))
    middle = sorted(one)[len(one) // 2]
    return {"p50_ms": middle[0], "p99_ms": middle[1], "calls_per_s": {name: sorted(each)[2] for name, each in rates.items()},
            "named_ms": named["named"], "none_ms": named["none"], "ratio": named["named"] / named["none"]}


def tools(calls=3000, rounds=300):
    return measured(cases.WARM, calls, rounds)


def docker_tools(calls=1000, rounds=40):
    with engine.engine(False) as host:
        return measured(engine.policies_of(host, cases.DOCKER_WARM), calls, rounds)


# One task, both ways: the prices of forty files of a server that reads files, added up.
FILES = 40
PROGRAM = """import tools
total = 0
for line in tools.files_list_directory(path={place!r})["content"].splitlines():
    rows = tools.files_read_text_file(path={place!r} + "/" + line.split()[1])["content"].splitlines()[1:]
    total += sum(int(row.split(",")[2]) for row in rows)
print(total)"""


class Client:
    """Messages to a server and back; of tools/call the bytes that a model would write (name and arguments) and read (the content)."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **more)
        self.number, self.written, self.read, self.calls = 0, 0, 0, 0
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "bench", "version": "1"})
        self.send({"method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.number and "method" not in message:
                return message["result"]

    def call(self, name, **arguments):
        result = self.ask("tools/call", name=name, arguments=arguments)
        if result.get("isError"):
            raise Absent(f"{name}: {result['content']}")
        text = "".join(block["text"] for block in result["content"])
        self.calls += 1
        self.written += len(name) + len(json.dumps(arguments))
        self.read += len(text.encode())
        return text

    def counted(self, total):
        return {"total": total, "calls": self.calls, "written_bytes": self.written, "read_bytes": self.read}


def definitions_of(client, *names):
    """The bytes of the definitions that the model has before it begins."""
    return sum(len(json.dumps(tool)) for tool in client.ask("tools/list")["tools"] if tool["name"] in names or not names)


def made_files(place):
    for number in range(FILES):
        rows = [f"{row},item {row} of {number},{(row * 7 + number * 13) % 1000}" for row in range(200)]
        (place / f"{number:02}.csv").write_text("\n".join(["id,name,price", *rows]) + "\n", encoding="utf-8")
    return sum((row * 7 + number * 13) % 1000 for number in range(FILES) for row in range(200))


def directly(command, place):
    """As a model does it that has the server's tools: it reads each file, and adds up what it has read."""
    with Client(command) as client:
        names = sorted(line.split()[1] for line in client.call("list_directory", path=str(place)).splitlines())
        total = sum(int(row.split(",")[2]) for name in names
                    for row in client.call("read_text_file", path=str(place / name)).splitlines()[1:])
        return {**client.counted(total), "definition_bytes": definitions_of(client, "list_directory", "read_text_file")}


def by_program(command, place, home):
    servers, policy = home / "servers.json", home / "policy.json"
    servers.write_text(json.dumps({"mcpServers": {"files": {"command": command[0], "args": command[1:], "tools": ["list_directory", "read_text_file"],
                                                            "approval": {"*": "never"}}}}))
    policy.write_text(json.dumps({"version": 1, "tools": {"allowed": ["files.*"]}, "approval": {"default": "allow"}}))
    for path in (servers, policy):
        path.chmod(0o600)
    words = [str(BUILD / "host-shim" / "toolhost"), "mcp", "--plugin", str(BUILD / "plugin" / "code_execute.so"), "--policy", str(policy), "--audit",
             str(home / "audit.jsonl"), "--cap", "sandbox.exec.tools", "--tools-from", str(servers)]
    with Client(words, env={**os.environ, "HOME": str(home)}) as client:
        text = client.call("code_execute", language="python", code=PROGRAM.format(place=str(place)), tools=["files.*"])
        return {**client.counted(int(text.split()[0])), "definition_bytes": definitions_of(client, "code_execute")}


def both_ways():
    try:
        packages = node_packages.install(ROOT / "tests" / "mcp" / "npm-servers", str(BUILD))
    except node_packages.Unavailable as reason:
        raise Absent(str(reason)) from reason
    with tempfile.TemporaryDirectory(prefix="bench-tools-") as directory:
        place, home = pathlib.Path(directory, "data"), pathlib.Path(directory, "home")
        place.mkdir()
        home.mkdir()
        expected = made_files(place)
        command = ["node", f"{packages}/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", str(place)]
        told = {"direct": directly(command, place), "program": by_program(command, place, home), "files": FILES}
    for way in ("direct", "program"):
        if told[way]["total"] != expected:
            raise SystemExit(f"bench: {way}: the sum is {told[way]['total']}, and not {expected}")
    return told


def lines(told):
    for name in ("tools", "docker-tools"):
        if name in told:
            cost = told[name]
            rates = ", ".join(f"{rate:.0f} by {way}" for way, rate in cost["calls_per_s"].items())
            yield (f"{name}: a call takes {cost['p50_ms']:.3f} ms (p99 {cost['p99_ms']:.3f}); with 16 in flight calls per second: {rates}; "
                   f"a run that names a tool and calls none takes {cost['named_ms']:.2f} ms, one that names none {cost['none_ms']:.2f} "
                   f"(ratio {cost['ratio']:.3f})")
    if "both-ways-tools" in told:
        for way, cost in ((way, told["both-ways-tools"][way]) for way in ("direct", "program")):
            yield (f"both ways, {way}: {cost['calls']} calls by the model, {cost['written_bytes']} bytes written, {cost['read_bytes']} bytes read; "
                   f"definitions of {cost['definition_bytes']} bytes")
