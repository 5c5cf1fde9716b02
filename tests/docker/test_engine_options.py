# SPDX-License-Identifier: Apache-2.0
"""What a policy settles about containers beside their image: the OCI runtime and the network; and the sweep that an operator
asks for. The network is a bridge of an engine that has one, in a network namespace without a way out."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import engine
import modes
import tap
from engine import ask, containers
from modes import Provider
from owner_labels import ended_pid, labels
from provider import NOT_RUN, Host

provider = Provider()
NETWORK = ("sandbox.exec", "sandbox.exec.network")
LISTENER = """
import socket
door = socket.create_server(("0.0.0.0", 0))
print(door.getsockname()[1], flush=True)
while True:
    visitor, _ = door.accept()
    visitor.sendall(b"reached")
    visitor.close()
    print("visit", flush=True)
"""


def run(code, policy=None, language="sh", host=None, **more):
    call = lambda: provider.invoke({"language": language, "code": code, **more}, host or Host())
    result = provider.with_policy(policy, call) if policy else call()
    engine.none_left()
    return result


def test_runtime_of_the_policy():
    if "crun" not in json.loads(ask("/info"))["Runtimes"]:
        raise tap.Skip("the engine has no runtime crun")
    seen = []
    for runtime in ("crun", "runc"):
        host = Host(on_output=lambda *_: seen.append(json.loads(ask(f"/containers/{containers()[0]}/json"))["HostConfig"]["Runtime"]))
        output = run("echo x; sleep 1", {"docker": {"runtime": runtime}}, host=host)[1]
        tap.equal((output["stdout"], output["isolation"]["details"]["runtime"]), ("x\n", runtime), output)
    tap.equal(seen, ["crun", "runc"], "what the engine says of the containers")


def test_limits_hold_in_the_other_runtime():
    if "crun" not in json.loads(ask("/info"))["Runtimes"]:
        raise tap.Skip("the engine has no runtime crun")
    policy = {"docker": {"runtime": "crun"}, "limits": {"memory_bytes": {"default": 64 << 20, "max": 64 << 20}}}
    output = run("b = []\nwhile True: b.append(bytearray(1 << 20))", policy, "python")[1]
    tap.equal((output["status"], output["cause"]), ("killed", "memory_limit"), output)
    output = run("sleep 60", policy, timeout_ms=500)[1]
    tap.equal((output["status"], output["cause"]), ("timeout", "wall_timeout"), output)


def test_runtime_that_is_not_there():
    code, output = run("echo x", {"docker": {"runtime": "no-such-runtime"}})
    tap.equal((code, output["error"]["code"]), (NOT_RUN, "backend_unavailable"), output)
    tap.contains(output["error"]["message"], "no OCI runtime no-such-runtime")
    tap.contains(output["error"]["hint"], "daemon.json")


def test_engine_without_a_bridge():
    if any(network["Name"] == "bridge" for network in json.loads(ask("/networks"))):
        raise tap.Skip("this engine has a bridge")
    code, output = run("echo x", {"network": {"allowed": True}}, host=Host(NETWORK), network=True)
    tap.equal((code, output["error"]["code"]), (NOT_RUN, "backend_unavailable"), output)
    tap.contains(output["error"]["message"], 'no network "bridge"')


class BridgeEngine:
    """Another engine with a bridge, and a server on that bridge that counts connections."""

    def __enter__(self):
        if os.geteuid() != 0:
            raise tap.Skip("an engine with a bridge of its own takes root")
        self.directory = tempfile.mkdtemp(prefix="ce-bridge-")
        started = subprocess.run([ROOT / "scripts/test-engine", "bridge-start", self.directory], capture_output=True, text=True)
        if started.returncode:
            raise tap.Skip(f"no engine with a bridge: {started.stderr.strip().splitlines()[-1:]}")
        self.host = started.stdout.strip().removeprefix("DOCKER_HOST=")
        subprocess.run([ROOT / "policies/image/build", "--variant", "minimal", "--tag", engine.IMAGE], check=True, capture_output=True,
                       env={**os.environ, "DOCKER_HOST": self.host})
        space = f"/proc/{pathlib.Path(self.directory, 'pid').read_text().strip()}/ns/net"
        self.listener = subprocess.Popen(["nsenter", f"--net={space}", sys.executable, "-c", LISTENER], stdout=subprocess.PIPE)
        self.port = int(self.listener.stdout.readline())
        return self

    def __exit__(self, *_):
        if hasattr(self, "listener"):
            self.listener.kill()
            self.listener.wait()
        subprocess.run([ROOT / "scripts/test-engine", "stop", self.directory], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)  # its log

    def visits(self):
        os.set_blocking(self.listener.stdout.fileno(), False)
        return (self.listener.stdout.read() or b"").count(b"visit")


def test_network_only_where_it_is_given():
    with BridgeEngine() as bridge:
        policy = {"docker": {"host": bridge.host}, "network": {"allowed": True}}
        code = f"exec 3<>/dev/tcp/172.17.0.1/{bridge.port}; cat <&3"
        code_and_result = run(code, policy, "bash", Host(NETWORK), network=True)
        tap.equal((code_and_result[1]["stdout"], bridge.visits()), ("reached", 1), code_and_result[1])
        tap.true("network_namespace" not in code_and_result[1]["isolation"]["applied"], "the layer is not claimed")
        tap.equal(code_and_result[1]["isolation"]["details"]["network"], True)
        tap.equal(run(code, policy, "bash", Host(NETWORK))[1]["stdout"], "", "not asked for")
        tap.equal(run(code, policy, "bash", Host(), network=True)[1]["error"]["code"], "access_denied", "not granted by the host")
        policy["network"] = {"allowed": False}
        tap.equal(run(code, policy, "bash", Host(NETWORK), network=True)[1]["error"]["code"], "policy_denied")
        tap.equal(bridge.visits(), 0, "visits from runs without a network")


def toolhost(*arguments):
    program = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).parents[1] / "host-shim" / "toolhost"
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({**modes.POLICIES["docker"], "only_languages": ["sh"]}, file)  # doctor tries each
        file.flush()
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        return subprocess.run([program, "--plugin", provider.path, "--policy", file.name, *arguments], capture_output=True,
                              text=True, env=environment, check=False)


def test_doctor_sweeps():
    for _ in range(3):
        ask("/containers/create", "POST", {"Image": engine.IMAGE, "Cmd": ["true"], "Labels": labels(ended_pid(), 1)})
    tap.equal(len(containers()), 3, "strays")
    done = toolhost("doctor", "--sweep", "--json")
    sweep = json.loads(done.stdout)["sweep"]
    tap.equal(sweep, [{"mode": "docker", "removed": 3, "left": 0, "error": None}], done.stderr)
    tap.equal(containers(), [])
    tap.contains(toolhost("doctor", "--sweep").stdout, "sweep docker: 0 removed, 0 left")


tap.run(globals())
