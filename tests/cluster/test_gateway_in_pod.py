# SPDX-License-Identifier: Apache-2.0
"""A gateway without namespaces in a pod of the standard "restricted", as docs/operations.md has it: the page's own pod, admitted by a real
server, with an image that has this build. By hand: scripts/check-cluster test_gateway_in_pod"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import api_server
from api_server import kubectl
from make_image import libraries

if not api_server.DIRECTORY:
    tap.skip_all("no cluster (scripts/with-cluster)")
INSTALLED = os.environ.get("CODE_EXECUTE_TEST_INSTALLED")
if not INSTALLED:
    tap.skip_all("CODE_EXECUTE_TEST_INSTALLED is not set: scripts/check-cluster sets it")

ROOT = pathlib.Path(__file__).parents[2]
SPACE = ("--namespace", "restricted")
IMAGE = "docker.io/code-execute/gateway:test"
PATIENCE = 180


def add_installation(archive):
    """What `meson install` has put below /usr/local, and the libraries that its programs load."""
    archive.add(f"{INSTALLED}/usr/local", "./usr/local")
    programs = [path for path in pathlib.Path(INSTALLED, "usr/local").rglob("*")
                if path.name in ("toolhost", "code_execute.so", "code-execute-process", "code-execute-secret")]
    tap.true(len(programs) >= 3, f"programs: {programs}")
    for library in {library for program in programs for library in libraries(program)}:
        if not library.startswith("/usr/local"):
            archive.add(os.path.realpath(library), f"./usr/lib/{os.uname().machine}-linux-gnu/{os.path.basename(library)}")


def import_image():
    root = subprocess.run([ROOT / "policies" / "image" / "build", "--variant", "minimal"], capture_output=True, text=True, check=True,
                          env={name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}).stdout.split()[-1]
    with tempfile.TemporaryDirectory() as directory:
        files, image = f"{directory}/root.tar", f"{directory}/image.tar"
        subprocess.run(["cp", root, files], check=True)
        with tarfile.open(files, "a") as archive:
            add_installation(archive)
        subprocess.run([ROOT / "tests" / "cluster" / "make_image.py", IMAGE, image, "--root", files, "--", "/bin/sh"], check=True)
        subprocess.run(["ctr", "--address", f"{api_server.DIRECTORY}/containerd.sock", "--namespace", "k8s.io", "images", "import", image],
                       check=True, capture_output=True)


def pod_of_the_page():
    page = (ROOT / "docs" / "operations.md").read_text()
    [block] = re.findall(r"`restricted` security standard.*?^```yaml\n(spec:.*?)^```", page, re.S | re.M)
    container = f"  - name: gateway\n    image: {IMAGE}\n    imagePullPolicy: Never\n    command: [sleep, '3600']\n"
    tap.contains(block, "  - name: gateway\n")
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: gateway}\n" + block.replace("  - name: gateway\n", container)


def in_pod(*command, text=None, check=True):
    return kubectl("exec", *(["-i"] if text else []), *SPACE, "gateway", "--", *command, text=text, check=check)


def call(request):
    return json.loads(in_pod("toolhost", "invoke", "--approve", "always", text=json.dumps(request), check=False).stdout)


def test_the_pages_pod_is_admitted_and_runs():
    import_image()
    kubectl("create", "namespace", "restricted")
    kubectl("label", "namespace", "restricted", "pod-security.kubernetes.io/enforce=restricted")
    kubectl("apply", *SPACE, "-f", "-", text=pod_of_the_page())
    kubectl("wait", *SPACE, "--for=condition=Ready", "pod/gateway", f"--timeout={PATIENCE}s")
    tap.equal(in_pod("toolhost", "run", "--approve", "always", "-c", "print(2**64)"), "18446744073709551616\n", "its output")


def test_the_standard_refuses_more():
    """The control: what the server admits is checked."""
    refused = kubectl("apply", *SPACE, "-f", "-", text=pod_of_the_page().replace("name: gateway}", "name: more}").replace("drop: [ALL]", "drop: []"), check=False)
    tap.true(refused.returncode != 0, "a pod with capabilities")
    tap.contains(refused.stderr, "violates PodSecurity")


def test_a_result_says_what_is_missing():
    result = call({"language": "python", "code": "open('/proc/1/environ')"})
    tap.equal((result["status"], result["mode"]), ("completed", "unprivileged"), result)
    for layer in ("user_namespace", "pid_namespace", "mount_namespace"):
        tap.contains(json.dumps(result["isolation"]["missing"]), layer)
    for layer in ("landlock", "seccomp"):
        tap.contains(json.dumps(result["isolation"]["applied"]), layer)
    tap.contains(result["stderr"], "PermissionError")


def test_a_mode_with_namespaces_is_refused_there():
    refused = in_pod("env", "-u", "CODE_EXEC_POLICY", "toolhost", "run", "--approve", "always", "-c", "print(1)", check=False)
    tap.true(refused.returncode != 0, refused.stdout)
    tap.contains(refused.stderr, "sandbox_unavailable")


tap.run(globals())
