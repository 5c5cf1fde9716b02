# SPDX-License-Identifier: Apache-2.0
"""Docker mode on a real engine that is reached over TCP with TLS: a dockerd of the suite's own, which takes root, with
certificates that last as long as the suite. Skipped, with the reason, where it cannot be had."""
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tap
from provider import NOT_RUN, OK, Host, Provider
from servers.certificates import Certificates

IMAGE = "code-execute/sandbox:remote"
VARIABLES = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY")
for variable in VARIABLES:
    os.environ.pop(variable, None)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stop_engine(directory):
    subprocess.run([ROOT / "scripts" / "test-engine", "stop", directory], check=False)
    shutil.rmtree(directory)


def start_engine(directory, server, port):
    """Its unix socket, over which the test loads the image and inspects."""
    started = subprocess.run([ROOT / "scripts" / "test-engine", "start", directory, "--host", f"tcp://127.0.0.1:{port}", "--tlsverify",
                              "--tlscacert", server / "ca.pem", "--tlscert", server / "cert.pem", "--tlskey", server / "key.pem"],
                             capture_output=True, text=True)
    unix = started.stdout.strip().removeprefix("DOCKER_HOST=")
    if started.returncode == 0:
        built = subprocess.run([ROOT / "policies" / "image" / "build", "--variant", "minimal", "--tag", IMAGE], capture_output=True,
                               text=True, env={**os.environ, "DOCKER_HOST": unix})
        if built.returncode == 0:
            return unix.removeprefix("unix://")
        started = built
    stop_engine(directory)
    tap.skip_all(f"no engine to be had here: {started.stderr.strip().splitlines()[-1:]}")


if not pathlib.Path(os.environ["CODE_EXECUTE_SO"]).with_name("code-execute-docker").exists():
    tap.skip_all("built without the docker backend (libcurl)")
if os.geteuid() != 0:
    tap.skip_all("an engine of its own takes root")
if not shutil.which("openssl"):
    tap.skip_all("no openssl, which makes the certificates")
scratch = tempfile.TemporaryDirectory(prefix="ce-remote-")
files = Certificates(pathlib.Path(scratch.name) / "certificates")
PORT = free_port()
HOST = f"tcp://127.0.0.1:{PORT}"
ENGINE = tempfile.mkdtemp(prefix="ce-engine-")
SOCKET = start_engine(ENGINE, files.server, PORT)
provider = Provider()


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


def containers():
    connection = Connection("engine")
    connection.request("GET", "/v1.41/containers/json?all=1")
    return [entry["Id"] for entry in json.loads(connection.getresponse().read())]


def policy_of(certificates=files.client, host=HOST, **docker):
    docker = {"images": {language: IMAGE for language in ("python", "sh")}, **docker}
    docker.update({"host": host} if host else {}, **({"certificates": str(certificates)} if certificates else {}))
    return {"modes": {"default": "docker", "allowed": ["docker"]}, "approval": {"default": "allow"}, "docker": docker,
            "pools": {"docker": {"ready": 0}}}


in_force = None


def end():
    global in_force
    provider.reset()
    in_force = None


def use(policy):
    """A policy that is in force stays, with its backend: the next run needs no trial."""
    global in_force
    if policy != in_force:
        end()
        tap.equal(provider.use_policy(policy), OK, "prepare")
        in_force = policy


def none_left():
    """Containers are removed behind the answer."""
    tap.eventually(lambda: containers() == [], "no container is left")


def run(code, language="sh", policy=None, host=None, **more):
    use(policy or policy_of())
    status, output = provider.invoke({"language": language, "code": code, **more}, host or Host())
    none_left()
    return status, output


def completes(code, language="sh", policy=None, **more):
    status, output = run(code, language, policy, **more)
    tap.equal((status, output["status"], output["exit_code"]), (OK, "completed", 0), output)
    return output


def refuses(text, policy):
    status, output = run("echo yes", policy=policy)
    tap.equal((status, output["status"]), (NOT_RUN, "error"), output)
    tap.equal(output["error"]["code"], "backend_unavailable", output["error"])
    tap.contains(output["error"]["message"], text)
    tap.true(len(output["error"]["hint"]) > 10, "a hint")


def test_output_and_exit_code():
    status, output = run("echo out; echo err >&2; exit 7")
    tap.equal((status, output["status"], output["exit_code"], output["stdout"], output["stderr"], output["mode"]),
              (OK, "completed", 7, "out\n", "err\n", "docker"), output)


def test_much_output_comes_whole():
    digits = "".join(f"{number:099d}\n" for number in range(50000))
    limits = {"limits": {"stdout_bytes": {"default": 8 << 20, "max": 8 << 20}}}
    output = completes("for i in range(50000): print('%099d' % i)", "python", {**policy_of(), **limits})
    tap.true(output["stdout"] == digits, f"{len(output['stdout'])} bytes, as printed")


def test_output_in_many_small_pieces():
    output = completes("import sys\nfor i in range(20000): sys.stdout.write('x'); sys.stdout.flush()", "python")
    tap.equal(output["stdout"], "x" * 20000)


def test_lines_come_while_the_program_runs():
    """The last bytes that TLS holds arrive before anything follows them."""
    arrived = []
    host = Host(on_output=lambda stream, data, length: arrived.append(time.monotonic()))
    output = completes("for i in 1 2 3; do echo $i; sleep 0.3; done", host=host)
    tap.equal(output["stdout"], "1\n2\n3\n")
    tap.true(arrived[-1] - arrived[0] > 0.3, f"one after the other: {arrived}")


def test_input():
    text = "0123456789abcdef" * 20000
    output = completes("import sys, hashlib\nprint(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())", "python", stdin=text)
    tap.equal(output["stdout"], hashlib.sha256(text.encode()).hexdigest() + "\n")


def test_program_that_ends_before_its_input():
    completes("exit 0", stdin="y" * 300000)


def test_cancel():
    host = Host(call_id=78)
    started = threading.Event()
    host.struct.on_output = type(host.struct.on_output)(lambda *_: started.set())
    thread = threading.Thread(target=lambda: (started.wait(20), provider.cancel(78)))
    thread.start()
    _, output = run("echo before; sleep 60", host=host)
    thread.join()
    tap.equal((output["status"], output["cause"], output["stdout"]), ("cancelled", "cancelled", "before\n"), output)


def test_timeout():
    _, output = run("echo before; sleep 60", timeout_ms=500)
    tap.equal((output["status"], output["cause"], output["stdout"]), ("timeout", "wall_timeout", "before\n"), output)


def test_output_limit():
    limits = {"limits": {"output_total_bytes": {"default": 1 << 20, "max": 1 << 20}}}
    _, output = run("yes 0123456789", policy={**policy_of(), **limits})
    tap.equal((output["status"], output["cause"]), ("killed", "output_limit"), output)


def test_eight_at_once():
    use(policy_of())
    outputs = [None] * 8

    def one(index):
        outputs[index] = provider.invoke({"language": "sh", "code": f"echo {index}; sleep 0.2"}, Host())[1]
    threads = [threading.Thread(target=one, args=(index,)) for index in range(len(outputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.equal([output["stdout"] for output in outputs], [f"{index}\n" for index in range(len(outputs))], outputs[0]["error"])
    none_left()


def test_certificates_that_are_refused():
    for certificates, text in ((files.trusts_other, "is not trusted by"), (files.anonymous, "requires a client certificate"),
                               (files.of_other, "refuses the client certificate"), (files.no_key, "key.pem: No such file"),
                               (files.no_ca, "ca.pem: No such file"), (files.bad_ca, "there is no certificate in"),
                               (files.other_key, "cannot be used"), (files.locked_key, "cannot be used")):
        refuses(text, policy_of(certificates))


def test_certificate_for_another_name():
    refuses("is not valid for the host", policy_of(host=f"tcp://localhost:{PORT}"))


def test_addresses_without_an_engine_are_reported():
    refuses("docker is not running: cannot connect to the Docker daemon at", policy_of(host=f"tcp://127.0.0.1:{free_port()}"))
    refuses("no such host", policy_of(host="tcp://engine.invalid:2376"))
    refuses("unencrypted", policy_of(None, host="tcp://192.0.2.1:2375"))


def with_variables(variables, policy):
    """The environment is read where a gateway begins."""
    end()
    os.environ.update(variables)
    try:
        return completes("echo yes", policy=policy)
    finally:
        end()
        for name in variables:
            del os.environ[name]


def test_engine_of_the_environment():
    output = with_variables({"DOCKER_HOST": HOST, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(files.client)}, policy_of(None, None))
    tap.equal(output["stdout"], "yes\n")


def docker_command(config, *arguments):
    subprocess.run(["docker", "--config", config, *arguments], capture_output=True, check=True)


def test_contexts():
    """docker's own command makes them and reads them."""
    if not shutil.which("docker"):
        raise tap.Skip("no docker command, which makes the contexts")
    config = pathlib.Path(scratch.name) / "config"
    pair = {name: f"host={HOST},ca={directory}/ca.pem,cert={directory}/cert.pem,key={directory}/key.pem"
            for name, directory in (("remote", files.client), ("stranger", files.trusts_other))}
    for name, endpoint in {**pair, "plain": "host=tcp://192.0.2.1:2375", "far": "host=ssh://nobody@192.0.2.1",
                           "careless": pair["remote"] + ",skip-tls-verify=true"}.items():
        docker_command(config, "context", "create", name, "--docker", endpoint)
    os.environ["DOCKER_CONFIG"] = str(config)
    try:
        completes("echo yes", policy=policy_of(None, None, context="remote"))
        with_variables({"DOCKER_CONTEXT": "remote"}, policy_of(None, None))
        docker_command(config, "context", "use", "remote")
        completes("echo yes", policy=policy_of(None, None))
        for name, text in (("stranger", "is not trusted by"), ("plain", "unencrypted"), ("far", "ssh addresses are not supported"),
                           ("careless", "SkipTLSVerify"), ("absent", "no docker context absent")):
            refuses(text, policy_of(None, None, context=name))
    finally:
        del os.environ["DOCKER_CONFIG"]


try:
    tap.run(globals())
finally:
    stop_engine(ENGINE)
    scratch.cleanup()
