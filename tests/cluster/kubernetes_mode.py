# SPDX-License-Identifier: Apache-2.0
"""Mode kubernetes in the cluster of scripts/with-cluster: an image with this build's guest on its node, a namespace as deploy/kubernetes
makes it, and a gateway with the token that its page gives it."""
import functools
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import api_server
from api_server import Server, kubectl

if not api_server.DIRECTORY:
    tap.skip_all("no cluster (scripts/with-cluster)")

ROOT = pathlib.Path(__file__).parents[2]
PLUGIN = os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
if not pathlib.Path(PLUGIN).with_name("code-execute-kubernetes").exists():
    tap.skip_all("this build has no mode kubernetes")

LANGUAGES = ("python", "sh", "bash")
NAMESPACE = "code-execute-runs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
administrator = Server()


def add_guest(archive, content):
    """What deploy/image puts into an image, but for the commands that would install packages."""
    info = tarfile.TarInfo("./.code-execute-guest")
    info.mode, info.size = 0o755, len(content)
    archive.addfile(info, io.BytesIO(content))


def ctr(*arguments):
    return subprocess.run(["ctr", "--address", f"{api_server.DIRECTORY}/containerd.sock", "--namespace", "k8s.io", "images", *arguments],
                          check=True, capture_output=True, text=True).stdout


def import_image(name, root, guest):
    """Onto the node, without a registry: the files of that tar and the guest. Its name with its digest."""
    with tempfile.TemporaryDirectory() as directory:
        files, image = f"{directory}/root.tar", f"{directory}/image.tar"
        subprocess.run(["cp", root, files], check=True)
        with tarfile.open(files, "a") as archive:
            add_guest(archive, guest)
        subprocess.run([ROOT / "tests" / "cluster" / "make_image.py", name, image, "--root", files, "--", "/bin/sh"], check=True)
        ctr("import", image)
    tagged = f"docker.io/{name}"
    [digest] = [line.split()[2] for line in ctr("ls").splitlines() if line.split()[0] == tagged]
    pinned = f"{tagged.partition(':')[0]}@{digest}"
    ctr("tag", "--force", tagged, pinned)  # another program may have had it here
    return pinned


@functools.cache
def images():
    """The image of this build, and one with another guest."""
    root = subprocess.run([ROOT / "policies" / "image" / "build", "--variant", "minimal"], capture_output=True, text=True, check=True,
                          env={name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}).stdout.split()[-1]
    guest = pathlib.Path(PLUGIN).with_name("code-execute-guest").read_bytes()
    return import_image("code-execute/sandbox:test", root, guest), import_image("code-execute/other:test", root, guest + b"\0")


@functools.cache
def kubeconfig():
    """Its path: with the gateway's token."""
    kubectl("apply", "-k", str(ROOT / "deploy" / "kubernetes"))
    token = kubectl("create", "token", "gateway", "--namespace", "code-execute", "--duration", "24h").strip()
    path = pathlib.Path(api_server.DIRECTORY, "gateway.kubeconfig")
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "runs",
        "clusters": [{"name": "test", "cluster": {"server": "https://127.0.0.1:6443",
                                                  "certificate-authority": str(pathlib.Path(api_server.DIRECTORY, "certificates", "ca.crt"))}}],
        "users": [{"name": "gateway", "user": {"token": token}}],
        "contexts": [{"name": "runs", "context": {"cluster": "test", "user": "gateway", "namespace": NAMESPACE}}]}))
    path.chmod(0o600)
    return str(path)


def policy(image=None, **more):
    return {"modes": {"default": "kubernetes", "allowed": ["kubernetes"]}, "pools": {"kubernetes": {"ready": more.pop("ready", 0)}},
            "kubernetes": {"kubeconfig": kubeconfig(), "images": dict.fromkeys(LANGUAGES, image or images()[0]), **more.pop("kubernetes", {})},
            "limits": {name: {"default": 120000, "max": 300000} for name in ("wall_ms", "cpu_ms")}, **more}


def pods():
    return administrator.ask("GET", PODS)[1]["items"]


def running():
    """Those of programs: a trial is none."""
    return [pod for pod in pods() if pod["status"]["phase"] == "Running" and pod["metadata"]["labels"]["code-execute.state"] == "taken"
            and pod["metadata"]["labels"]["code-execute.run"].strip("0")]


def waiting():
    """The names of those that wait for a run."""
    return [pod["metadata"]["name"] for pod in pods() if pod["metadata"]["labels"]["code-execute.state"] == "idle"]


def none_left(seconds=60):
    tap.eventually(lambda: not pods(), "no pod is left", seconds)
