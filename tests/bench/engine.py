# SPDX-License-Identifier: Apache-2.0
"""Docker mode: an engine, and "docker run" of the container that ours is."""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

from cases import DOCKER_COLD
from gateway import OURS, ROOT, Absent, Gateway

IMAGE = os.environ.get("CODE_EXECUTE_TEST_IMAGE", "code-execute/sandbox:bench")


def own_engine(directory, quick):
    """DOCKER_HOST of an engine of its own with the minimal image."""
    if os.geteuid() != 0:
        raise Absent("DOCKER_HOST is not set, and an engine of the bench's own takes root")
    if quick and not shutil.which("dockerd"):
        raise Absent("DOCKER_HOST is not set, dockerd is not installed, and the quick form installs none")
    if quick and not list(pathlib.Path("~/.cache/code-execute").expanduser().glob("image-minimal-*.tar")):
        raise Absent("DOCKER_HOST is not set, and the quick form makes no image (policies/image/build)")
    if not quick:
        subprocess.run([ROOT / "scripts" / "install-packages", "docker"], stdout=subprocess.DEVNULL, check=False)
    started = subprocess.run([ROOT / "scripts" / "test-engine", "start", directory], capture_output=True, text=True, check=False)
    if started.returncode != 0:
        raise Absent(f"no engine could be started: {started.stderr.strip().splitlines()[-1:]}")
    host = started.stdout.strip().removeprefix("DOCKER_HOST=")
    made = subprocess.run([ROOT / "policies" / "image" / "build", "--variant", "minimal", "--tag", IMAGE], check=False,
                          env={**os.environ, "DOCKER_HOST": host}, capture_output=True, text=True)
    if made.returncode != 0:
        raise Absent(f"the image could not be made: {made.stderr.strip().splitlines()[-1:]}")
    return host


@contextlib.contextmanager
def engine(quick):
    """The engine at DOCKER_HOST with the image CODE_EXECUTE_TEST_IMAGE, or one of its own; Absent where there is none."""
    if os.environ.get("DOCKER_HOST"):
        yield os.environ["DOCKER_HOST"]
        return
    directory = tempfile.mkdtemp(prefix="ce-bench-")
    try:
        yield own_engine(directory, quick)
    finally:
        if os.path.exists(os.path.join(directory, "pid")):
            subprocess.run([ROOT / "scripts" / "test-engine", "stop", directory], check=True)
        shutil.rmtree(directory)


class EngineConnection(http.client.HTTPConnection):
    def __init__(self, host):
        super().__init__("engine")
        self.path = host.removeprefix("unix://")

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def ask(host, path):
    connection = EngineConnection(host)
    connection.request("GET", "/v1.41" + path)
    return json.loads(connection.getresponse().read())


def policies_of(host, policies):
    """The same with the engine and its image named."""
    own = {"host": host, "images": {"python": IMAGE, "sh": IMAGE}}
    return [{**policy, "docker": {**policy.get("docker", {}), **own}} for policy in policies]


def describe_ours(host):
    """The container of a run of ours, in the engine's words, while it runs."""
    with Gateway() as gateway:
        gateway.use_policy(*policies_of(host, DOCKER_COLD))
        gateway.send("contest", contestants=[{"name": OURS, "request": {"language": "sh", "code": "sleep 1"}}], rounds=1, expect="")
        found = []
        while not found and gateway.process.poll() is None:
            found = [entry for entry in ask(host, "/containers/json") if "code-execute.run" in entry["Labels"]]
        described = ask(host, f"/containers/{found[0]['Id']}/json")
        told = gateway.receive()
        if told["reason"]:
            raise Absent(f"docker mode does not run here: {told['reason']}")
        return described


def flags_of(described, profile):
    """The options of "docker run" for everything that our container has: what is asked of it is what the engine says of ours."""
    ours, config = described["HostConfig"], described["Config"]
    flags = ["--rm", "--pull", "never", "--init", "--read-only", "--network", ours["NetworkMode"], "--ipc", ours["IpcMode"],
             "--cgroupns", ours["CgroupnsMode"], "--user", config["User"], "--hostname", config["Hostname"],
             "--workdir", config["WorkingDir"], "--memory", str(ours["Memory"]), "--memory-swap", str(ours["MemorySwap"]),
             "--pids-limit", str(ours["PidsLimit"]), "--cpus", str(ours["NanoCpus"] / 1e9),
             "--log-driver", ours["LogConfig"]["Type"], "--no-healthcheck"]
    flags += [part for name in ours["CapDrop"] for part in ("--cap-drop", name)]
    flags += [part for path, options in ours["Tmpfs"].items() for part in ("--tmpfs", f"{path}:{options}")]
    flags += [part for limit in ours["Ulimits"] for part in ("--ulimit", f"{limit['Name']}={limit['Soft']}:{limit['Hard']}")]
    for option in ours["SecurityOpt"]:
        if option.startswith("seccomp="):
            profile.write_text(option.removeprefix("seccomp="))
            option = f"seccomp={profile}"
        flags += ["--security-opt", option]
    return flags


def why_no_podman():
    if not shutil.which("podman", path="/usr/bin:/bin"):
        return "podman is not installed"
    return "its run cannot be given the container that ours is: podman refuses nr_inodes of a tmpfs (seen with 4.3)"


def contestants_of(host, directory):
    """A function from a case to its contestants and the reasons of those that are missing."""
    docker = shutil.which("docker", path="/usr/local/bin:/usr/bin:/bin")
    flags = flags_of(describe_ours(host), pathlib.Path(directory) / "seccomp.json")

    def contestants(case):
        ours = {"name": OURS, "request": {"language": case.program.language, "code": case.program.code}}
        if case.beside:  # another runtime
            if "runsc" not in ask(host, "/info")["Runtimes"]:
                raise Absent("the engine has no runtime runsc (scripts/install-packages gvisor)")
            return [ours, {**ours, "name": case.beside_name}], {}
        absent = {"podman-run": why_no_podman()}
        if not docker:
            return [ours], {**absent, "docker-run": "the docker command is not installed"}
        program, *arguments = case.program.command
        command = [docker, "--host", host, "run", *flags, IMAGE, os.path.basename(program), *arguments]
        return [ours, {"name": "docker-run", "argv": command}], absent
    return contestants
