# SPDX-License-Identifier: Apache-2.0
"""The image of deploy/worker.Dockerfile: what a worker needs of its container, as `--check` in it tells, with and without each. On the
manager of scripts/with-swarm, as any engine. By hand: scripts/check-cluster test_worker_image"""
import json
import os
import pathlib
import subprocess
import sys

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scale_page import User, commands

DIRECTORY = os.environ.get("CODE_EXECUTE_TEST_SWARM")
if not DIRECTORY:
    tap.skip_all("no engine (scripts/with-swarm)")

HOME = pathlib.Path(DIRECTORY, "image-home")
HOME.mkdir(mode=0o755)
user = User(HOME)
user.do(commands("An authority")[0] + commands("A service of Swarm")[1])
PLACE = HOME / "workers"
PLACE.chmod(0o755)
os.chown(PLACE / "worker-key.pem", 65534, 65534)
RESTRICTED = ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--tmpfs", "/tmp"]
# That of an engine as it is installed; the one of scripts/with-swarm has that of deploy/seccomp-profile.
DEFAULT = pathlib.Path("/usr/share/containers/seccomp.json")
OWN = ["--security-opt", f"seccomp={DEFAULT}"]


PROGRAMS = "/usr/local/lib/code-execute"


def check(mode, *options, **members):
    """The exit status and what --check says, in a container with these options and nothing else; members: of the configuration."""
    configuration = json.loads((PLACE / "worker.json").read_text())
    path = PLACE / f"{mode}.json"
    path.write_text(json.dumps({**configuration, "mode": mode, **members}))
    path.chmod(0o644)
    files = [argument for name in ("ca.pem", "worker.pem", "worker-key.pem") for argument in
             ("--volume", f"{PLACE / name}:/etc/code-execute-worker/{name}:ro")]
    done = subprocess.run(["docker", "run", "--rm", "--network", "none", *options, *files, "--volume", f"{path}:/etc/code-execute-worker/worker.json:ro",
                           "code-execute/worker", "--check", "--config", "/etc/code-execute-worker/worker.json"],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def layers(said):
    """{layer: state}"""
    return {line.split()[1].rstrip(":"): line.split(": ", 1)[1].split(",")[0] for line in said.splitlines() if line.startswith("layer ")}


def test_each_program_finds_its_libraries():
    script = f"cd {PROGRAMS} && find . -type f | while read -r file; do echo \"$file $(ldd \"$file\" 2>&1 | tr '\\n' ' ')\"; done"
    said = subprocess.run(["docker", "run", "--rm", "--network", "none", "--entrypoint", "sh", "code-execute/worker", "-c", script],
                          capture_output=True, text=True, check=True).stdout
    found = dict(line[2:].split(" ", 1) for line in said.splitlines())
    tap.equal([line for line in found.items() if "not found" in line[1]], [], "libraries that are missing")
    # What a worker starts and no more, and the control: ldd tells of each.
    for program, library in (("worker", "libssl"), ("process", "libseccomp"), ("docker", "libcurl"), ("guest", "statically linked")):
        tap.contains(found.pop(f"code-execute-{program}").replace("not a dynamic executable", "statically linked"), library)
    tap.equal([name for name in found if name.startswith(("code-execute-", "code_execute.so"))], [], "further programs")


DOCKER = {"docker": {"images": {"*": "code-execute/worker"}}}


def test_mode_docker_needs_the_socket_of_an_engine():
    status, said = check("docker", *RESTRICTED, **DOCKER)
    tap.equal(status, 1, said)
    tap.contains(said, "install Docker")


def test_mode_docker_has_it():
    socket = pathlib.Path(os.environ["DOCKER_HOST"].removeprefix("unix://"))
    status, said = check("docker", *RESTRICTED, "--volume", f"{socket}:/var/run/docker.sock", "--group-add", str(socket.stat().st_gid), **DOCKER)
    tap.equal(status, 0, said)
    tap.equal({layers(said)[name] for name in ("seccomp", "no_new_privileges", "network_namespace")}, {"applied"}, said)


def test_nothing_is_needed_without_namespaces():
    status, said = check("unprivileged", *RESTRICTED, *OWN)
    tap.equal(status, 0, said)
    found = layers(said)
    tap.equal(found.pop("cgroup"), "missing", said)
    tap.equal(set(found), {"capabilities", "resource_limits", "no_new_privileges", "landlock", "seccomp"}, said)
    tap.equal(set(found.values()), {"applied"}, said)


def test_a_profile_without_landlock_is_named():
    profile = json.loads(DEFAULT.read_text())
    for entry in profile["syscalls"]:
        entry["names"] = [name for name in entry["names"] if not name.startswith("landlock_")]
    path = PLACE / "no-landlock.json"
    path.write_text(json.dumps(profile))
    status, said = check("unprivileged", *RESTRICTED, "--security-opt", f"seccomp={path}")
    tap.equal(status, 1, said)
    tap.equal(layers(said)["landlock"], "failed", said)
    tap.contains(said, "the container's seccomp profile must allow its system calls")


def test_no_place_for_runs_is_named():
    status, said = check("unprivileged", "--cap-drop", "ALL", "--read-only", "--ipc", "none", *OWN)
    tap.equal(status, 1, said)
    tap.contains(said, "give it a /tmp, or name another in \"process.scratch_directory\"")


def test_a_profile_that_forbids_what_runs_do_with_namespaces_is_named():
    """That of podman lets one be made, and nothing be done in it."""
    status, said = check("process", *RESTRICTED, *OWN)
    tap.equal(status, 1, said)
    found = layers(said)
    tap.equal((found["user_namespace"], found["uts_namespace"], found["read_only_root"], found["seccomp"]),
              ("applied", "failed", "untested", "untested"), said)
    tap.contains(said, "the container or AppArmor profile around the gateway must allow it")


def test_a_masked_proc_is_named():
    status, said = check("process", *RESTRICTED)
    tap.equal(status, 0, said)
    tap.equal(layers(said)["proc"], "missing", said)
    tap.contains(said, "systempaths=unconfined")


def test_with_both_every_layer_is_there():
    status, said = check("process", *RESTRICTED, "--security-opt", "systempaths=unconfined")
    tap.equal(status, 0, said)
    found = layers(said)
    tap.equal(found.pop("cgroup"), "missing", said)
    tap.equal(set(found.values()), {"applied"}, said)


def test_a_key_that_others_read_is_named():
    (PLACE / "worker-key.pem").chmod(0o644)
    try:
        status, said = check("unprivileged", *RESTRICTED)
    finally:
        (PLACE / "worker-key.pem").chmod(0o600)
    tap.equal(status, 1, said)
    tap.contains(said, "missing  tls")


tap.run(globals())
