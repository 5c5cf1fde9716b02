# SPDX-License-Identifier: Apache-2.0
"""The container engine of the docker suite, as a test sees it from outside: DOCKER_HOST with the image
CODE_EXECUTE_TEST_IMAGE in it. scripts/with-engine gives both, or says in CODE_EXECUTE_TEST_NO_ENGINE why it cannot."""
import contextlib
import http.client
import io
import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.parse

import tap

HOST = os.environ.get("DOCKER_HOST", "")
IMAGE = os.environ.get("CODE_EXECUTE_TEST_IMAGE", "code-execute/sandbox:test")
# All of the engine's files, where it is the test's own.
DATA = os.environ.get("CODE_EXECUTE_TEST_ENGINE_DATA")
API = "/v1.41"


class Connection(http.client.HTTPConnection):
    def __init__(self, timeout=60):
        super().__init__("engine", timeout=timeout)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(HOST.removeprefix("unix://"))


def answer(path, method="GET", body=None, timeout=60):
    """The status and the body."""
    connection = Connection(timeout)
    text = json.dumps(body) if body is not None else None
    connection.request(method, API + path, text, {"Content-Type": "application/json"} if text else {})
    response = connection.getresponse()
    return response.status, response.read()


def ask(path, method="GET", body=None, timeout=60):
    return answer(path, method, body, timeout)[1]


def is_podman():
    return b"Podman Engine" in ask("/version")


def needed(podman=False):
    """Skips the whole program, with the reason, where there is no such engine to test on; podman None: of either kind."""
    backend = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).with_name("code-execute-docker")
    if not backend.exists():
        tap.skip_all("built without the docker backend (libcurl)")
    if not HOST:
        tap.skip_all(os.environ.get("CODE_EXECUTE_TEST_NO_ENGINE") or "DOCKER_HOST is not set; scripts/with-engine COMMAND sets it")
    if not HOST.startswith("unix://"):
        tap.skip_all(f"DOCKER_HOST is no unix socket: {HOST}")
    try:
        status = answer(f"/images/{IMAGE}/json")[0]
    except OSError as error:
        tap.skip_all(f"no engine answers at {HOST}: {error}")
    if podman not in (None, is_podman()):
        tap.skip_all("the engine is no podman (scripts/with-engine --podman gives one)" if podman else
                     "the engine is podman, which docker mode refuses (test_podman.py)")
    runtime = os.environ.get("CODE_EXECUTE_TEST_RUNTIME")
    if runtime and runtime not in runtimes():
        tap.skip_all(f"the engine at {HOST} has no runtime {runtime}")
    if status != 200:
        tap.skip_all(f"the engine at {HOST} does not have the image {IMAGE} (policies/image/build)")


def containers():
    """The ids of the containers that belong to runs, of whichever backend."""
    return [entry["Id"] for entry in json.loads(ask("/containers/json?all=1")) if "code-execute.boot" in (entry["Labels"] or {})]


def waiting(state="all=0"):
    """Those that were made ahead of need and run, whether they have a run by now or not; all=1: also those that do not run yet, or
    any more."""
    return [entry["Id"] for entry in json.loads(ask(f"/containers/json?{state}")) if (entry["Labels"] or {}).get("code-execute.run") == "waiting"]


def await_stillness(looks=3, apart_s=0.1, seconds=30):
    """Until no container is being made or removed: several looks alike, and none that is only created."""
    seen, end = [], time.monotonic() + seconds * tap.SLOW
    while time.monotonic() < end:
        states = sorted((entry["Id"], entry["State"]) for entry in json.loads(ask("/containers/json?all=1")))
        seen = [*seen, states] if all(state == "running" for _, state in states) and (not seen or states == seen[-1]) else []
        if len(seen) >= looks:
            return
        time.sleep(apart_s)
    raise AssertionError(f"containers come and go for {seconds} s")


def none_left(seconds=20):
    """Containers are removed behind the answer, and in their own time."""
    tap.eventually(lambda: containers() == [], "no container is left", seconds)


def running(command):
    """Does a container's process have that command line? One that has gone since the list has none."""
    return any(command.encode() in ask(f"/containers/{identity}/top") for identity in containers())


def default_runtime():
    return json.loads(ask("/info"))["DefaultRuntime"]


def runtimes():
    return set(json.loads(ask("/info"))["Runtimes"])


def has_user_namespaces():
    options = json.loads(ask("/info"))["SecurityOptions"]
    return any(option.split(",")[0] in ("name=userns", "name=rootless") for option in options)


def packed_files(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for place, content in files.items():
            entry = tarfile.TarInfo(place)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@contextlib.contextmanager
def image_of(files, path="/usr/bin:/bin"):
    """The name of an image with these files ({path without its slash: content}), which anybody may execute, and with nothing else, while
    the context lasts. path: its variable PATH."""
    name, packed = f"code-execute-test-{secrets.token_hex(4)}", packed_files(files)
    connection = Connection()
    query = urllib.parse.urlencode({"fromSrc": "-", "repo": name, "tag": "1", "changes": f"ENV PATH={path}"})
    connection.request("POST", f"{API}/images/create?{query}", packed, {"Content-Type": "application/x-tar"})
    response = connection.getresponse()
    tap.equal(response.status, 200, response.read())
    response.read()
    try:
        yield f"{name}:1"
    finally:
        ask(f"/images/{name}:1?force=1", "DELETE")


@contextlib.contextmanager
def image_with(files):
    """The same with all that the test's image has."""
    name, packed = f"code-execute-test-{secrets.token_hex(4)}", packed_files(files)
    container = json.loads(ask("/containers/create", "POST", {"Image": IMAGE, "Cmd": ["none"]}))["Id"]
    try:
        connection = Connection()
        connection.request("PUT", f"{API}/containers/{container}/archive?path=/", packed, {"Content-Type": "application/x-tar"})
        response = connection.getresponse()
        tap.equal(response.status, 200, response.read())
        status, said = answer(f"/commit?container={container}&repo={name}&tag=1", "POST", {})
        tap.equal(status, 201, said)
    finally:
        ask(f"/containers/{container}?force=1", "DELETE")
    try:
        yield f"{name}:1"
    finally:
        ask(f"/images/{name}:1?force=1", "DELETE")


def files_of(name, place=None):
    """A program of the machine's and its libraries, as files of an image; None: it has none in its own directories. name: a command, or a
    path; place: where it is in the image."""
    program = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
    if not program:
        return None
    libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout)
    return {place or f"usr/bin/{name}": pathlib.Path(program).read_bytes(), **{path[1:]: pathlib.Path(path).read_bytes() for path in libraries}}


def files_of_node():
    return files_of("node")


def files_of_git():
    """With what it fetches by HTTP with."""
    git = files_of("git")
    if not git:
        return None
    helpers = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    return {**git, **(files_of(f"{helpers}/git-remote-http", f"{helpers[1:]}/git-remote-http") or {})}


def image_variables():
    """The names of the variables that the image sets."""
    return {variable.split("=")[0] for variable in json.loads(ask(f"/images/{IMAGE}/json"))["Config"]["Env"] or ()}
