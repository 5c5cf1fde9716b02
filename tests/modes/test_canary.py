# SPDX-License-Identifier: Apache-2.0
"""A secret is nowhere but in the program: searched for during and after many runs, with what is found where it was put on purpose.

The gateway is a process of its own, which never has the value: a provider of the policy has it.
"""
import hashlib
import json
import os
import pathlib
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import engine
import modes
import tap
import traces

RUNS = {"process": 1000 if modes.LONG else 100, "unprivileged": 1000 if modes.LONG else 20, "docker": 1000 if modes.LONG else 20}[modes.MODE]
RIGHTS = ("sandbox.exec", "sandbox.exec.secrets")
GATEWAY = f"""
import ctypes, json, sys
sys.path.insert(0, {str(SUPPORT)!r})
from modes import Provider
from provider import Host
provider = Provider()
print(provider.use_policy(json.loads(sys.stdin.readline())), flush=True)
kept = []
for line in sys.stdin:
    order = json.loads(line)
    if "leak" in order:
        kept.append(bytes.fromhex(order["leak"]))
        print("{{}}", flush=True)
        continue
    host = Host({RIGHTS!r}, read_secret=None)
    status, result = provider.invoke(order, host)
    print(json.dumps({{"status": status, "result": result, "records": host.records, "requests": host.requests, "logs": host.logs,
                      "output": {{stream: data.decode() for stream, data in host.output.items()}}}}), flush=True)
"""
OF_FILES = modes.MODE != "unprivileged"  # elsewhere one is a file, which this mode does not have
CAT, READ = ('cat "$KEY"', "open(os.environ['KEY']).read()") if OF_FILES else ('printf %s "$KEY"', "os.environ['KEY']")
HASH = f'printf %s "$TOKEN" | sha256sum; {CAT} | sha256sum; '
# What programs do with it, and how they end.
PROGRAMS = [
    ("sh", HASH + f'echo "$TOKEN"; {CAT}'),
    ("sh", HASH + "exit 3"),
    ("sh", HASH + "kill -SEGV $$"),
    ("sh", HASH + f'{CAT} | base64 -w0; printf %s "$TOKEN" >&2; echo "$TOKEN" >copy; (sleep 0.1; cat copy) & wait'),
    ("python", f"import hashlib, os\nk = {READ}; t = os.environ['TOKEN']\n"
               "for v in (t, k): print(hashlib.sha256(v.encode()).hexdigest())\nprint(t, k, repr(t), t.encode().hex())"),
    ("python", f"import hashlib, os\nk = {READ}; t = os.environ['TOKEN']\n"
               "for v in (t, k): print(hashlib.sha256(v.encode()).hexdigest())\nraise RuntimeError(t + k)"),
]


class Gateway:
    """With two secrets that nobody else has: one is a variable, one a file where there are such."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="canary-"))
        self.work = self.folder / "gateway"
        self.work.mkdir()
        vault = self.folder / "vault"
        vault.mkdir(0o700)
        self.values = ["canary-" + secrets.token_hex(12) + '/"' + secrets.token_hex(4) for _ in range(2)]
        for name, value in zip(("token", "key"), self.values):
            (vault / name).write_text(value)
            (vault / name).chmod(0o400)
        self.policy = {"secrets": {"allowed": ["*"], "delivery": {"key": "file"} if OF_FILES else {}, "providers": [{"type": "files", "directory": str(vault)}]},
                       "limits": {"wall_ms": {"default": 300000, "max": 300000}}}

    def __enter__(self):
        environment = {**os.environ, "TMPDIR": str(self.work), "CODE_EXECUTE_TEST_MODE": modes.MODE}
        self.process = subprocess.Popen([sys.executable, "-c", GATEWAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        cwd=self.work, env=environment,
                                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
        tap.equal(self.tell(self.policy), 0, "the policy")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder)

    def tell(self, order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else None  # it was killed

    def run(self, language, code):
        return self.tell({"language": language, "code": code, "reason": "the canary", "secrets":
                          {"TOKEN": "{{secret:token}}", "KEY": "{{secret:key}}"}})

    def own_files(self):
        """What is left of it on disks: its own directory, and the engine's."""
        return [path for directory in (self.work, engine.DATA if modes.MODE == "docker" else None) if directory
                for path in traces.in_files(directory, self.values)]


def root_needed():
    if os.geteuid() != 0:
        raise tap.Skip("only root sees the variables and the memory of every process")


def inspected(values):
    """A look at what the engine shows of every container."""
    def look():
        for container in engine.containers():
            if traces.in_text(engine.ask(f"/containers/{container}/json"), values):
                yield "container", container
    return look


def expect_hashes(told, values):
    wanted = [hashlib.sha256(value.encode()).hexdigest() for value in values]
    lines = told["result"]["stdout"].split()
    tap.equal([line for line in lines if line in wanted], wanted, f"the program had its secrets: {told['result']}")


def test_a_secret_is_nowhere_but_in_the_program():
    root_needed()
    with Gateway() as gateway:
        looks = [inspected(gateway.values)] if modes.MODE == "docker" else []
        with traces.Watch(gateway.values, *looks) as watch:
            for number in range(RUNS):
                language, code = PROGRAMS[number % len(PROGRAMS)]
                told = gateway.run(language, code)
                expect_hashes(told, gateway.values)
                tap.equal(traces.in_text(json.dumps(told), gateway.values), [], f"run {number}: what the host was told: {told}")
        tap.equal(watch.found, set(), "arguments, variables, containers")
        tap.true(watch.rounds > 3, "it looked")
        tap.equal(traces.in_memory(gateway.process.pid, gateway.values), [], "the gateway's memory")
        backend = modes.descendants(gateway.process.pid)
        tap.true(backend, "the backend is there")
        for pid in backend:
            # Docker mode's knows of a container until the engine has removed it.
            tap.true(tap.within(lambda pid=pid: not traces.in_memory(pid, gateway.values), 60),
                     f"memory of the backend: {pid}: {traces.in_memory(pid, gateway.values)}")
        tap.equal(gateway.own_files(), [], "files")
        print(f"# {RUNS} runs, {watch.rounds} looks, {len(watch.programs)} programs seen with it")


def held(gateway):
    """A run that has its secrets and waits; the thread that waits for its answer."""
    call = threading.Thread(target=lambda: gateway.run("sh", "sleep 300"))
    call.start()
    watch = traces.Watch(gateway.values)
    with watch:
        tap.true(tap.within(lambda: watch.programs, 60), "the program has it: the search finds what is there")
    tap.equal(watch.found, set())
    return call


def test_a_core_dump_of_the_gateway_has_no_secret():
    root_needed()
    with Gateway() as gateway:
        call = held(gateway)
        holding = traces.in_memory(gateway.process.pid, gateway.values)
        tap.true(holding, "to find it in output it has to be known: a search that finds nothing would be a bad one")
        for name, flags in holding:
            tap.true("dd" in flags, f"{name} would be dumped: {flags}")
            tap.true("wf" in flags, f"{name} would be in a fork: {flags}")
        os.kill(gateway.process.pid, signal.SIGABRT)
        gateway.process.wait()
        call.join()
        cores = list(gateway.work.glob("core*"))
        if not cores:
            raise tap.Skip(f"this machine writes no core here: {pathlib.Path('/proc/sys/kernel/core_pattern').read_text().strip()}; the flags hold")
        tap.equal(traces.in_files(gateway.work, gateway.values), [])


def test_a_planted_secret_is_found():
    root_needed()
    with Gateway() as gateway:
        value = gateway.values[0]
        gateway.tell({"leak": value.encode().hex()})
        tap.true(traces.in_memory(gateway.process.pid, [value]), "in the gateway's memory")
        (gateway.work / "log").write_text(f"x{value}x")
        tap.equal(gateway.own_files(), [str(gateway.work / "log")])
        if modes.MODE == "docker" and engine.DATA:
            path = pathlib.Path(engine.DATA, "canary")
            path.write_text(value)
            tap.contains(gateway.own_files(), str(path))
            path.unlink()
        for arguments, variables, kind in ((["sh", "-c", "sleep 300; :", value], {}, "cmdline"),
                                           (["sh", "-c", "sleep 300; :"], {"X": value}, "environ")):
            with traces.Watch(gateway.values) as watch:
                child = subprocess.Popen(arguments, env={**os.environ, **variables}, start_new_session=True)
                tap.true(tap.within(lambda: any(found[0] == kind for found in watch.found), 60), kind)
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        told = gateway.tell({"language": "sh", "code": f"echo '{value}'", "env": {"PLAIN": value}})
        tap.equal(traces.in_text(json.dumps(told["result"]["stdout"]), gateway.values), [value])
        tap.equal(traces.in_text(json.dumps(told["requests"]), gateway.values), [value])
        call = threading.Thread(target=lambda: gateway.tell({"language": "sh", "code": "sleep 300", "env": {"PLAIN": value}}))
        call.start()
        with traces.Watch(gateway.values) as watch:
            tap.true(tap.within(lambda: watch.programs, 60), "in a program's variables")
        os.kill(gateway.process.pid, signal.SIGABRT)
        gateway.process.wait()
        call.join()
        cores = list(gateway.work.glob("core*"))
        if cores:
            tap.true(set(map(str, cores)) <= set(traces.in_files(gateway.work, gateway.values)), "in a core dump")


tap.run(globals())
