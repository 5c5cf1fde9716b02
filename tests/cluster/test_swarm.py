# SPDX-License-Identifier: Apache-2.0
"""Workers that a real Swarm of two engines places, as docs/scale.md says, in the image that `docker build` has made.
By hand: scripts/check-cluster test_swarm"""
import contextlib
import os
import pathlib
import re
import subprocess
import sys

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scale_page import User, commands, install

DIRECTORY = os.environ.get("CODE_EXECUTE_TEST_SWARM")
if not DIRECTORY:
    tap.skip_all("no Swarm (scripts/with-swarm)")

PATIENCE = 180
HOSTS = {"node-1": os.environ["DOCKER_HOST"], "node-2": os.environ["CODE_EXECUTE_TEST_SWARM_NODE_2"]}
HOME = pathlib.Path(DIRECTORY, "home")
HOME.mkdir(mode=0o700)
install()
user = User(HOME)
user.do(commands("An authority")[0])
BUILD, PREPARE, DEPLOY, CALL = commands("A service of Swarm")
user.do(PREPARE)
# What BUILD has made is in both engines (scripts/build-worker-image).
tap.contains(BUILD, "docker build -t code-execute/worker -f deploy/worker.Dockerfile .")


def docker(node, *arguments, check=True):
    ended = subprocess.run(["docker", "--host", HOSTS[node], *arguments], capture_output=True, text=True, check=False)
    if check:
        tap.equal(ended.returncode, 0, f"docker {arguments}: {ended.stderr}")
    return ended.stdout


def containers(node):
    return docker(node, "ps", "--quiet", "--filter", "label=com.docker.stack.namespace=code-execute").split()


def usable():
    """{node: runs under way there}, as `toolhost status` tells it."""
    status = user.do("toolhost --policy ~/workers/policy.json status || true")
    return {node: int(runs) for node, runs in re.findall(r"usable +worker\.example: (node-\d):7443, mode process, (\d+) of 4 runs", status)}


def told():
    return docker("node-1", "service", "ps", "--no-trunc", "--format", "{{.Node}} {{.CurrentState}} {{.Error}}", "code-execute_worker", check=False) + \
        docker("node-1", "service", "logs", "--tail", "20", "code-execute_worker", check=False)


def until(condition, what):
    try:
        tap.eventually(condition, what, PATIENCE)
    except AssertionError as failure:
        raise AssertionError(f"{failure}; {told()}") from failure


@contextlib.contextmanager
def stack():
    user.do(DEPLOY)
    try:
        until(lambda: set(usable()) == set(HOSTS), "both workers are usable")
        yield
    finally:
        user.do("docker stack rm code-execute")
        until(lambda: not any(left_behind().values()), "nothing is left")


def left_behind():
    own = ("--quiet", "--filter", "label=com.docker.stack.namespace=code-execute")
    left = {kind: docker("node-1", kind, "ls", *own) for kind in ("service", "config", "secret", "network")}
    return {**left, **{node: docker(node, "ps", "--all", *own) for node in HOSTS},
            **{f"volumes of {node}": docker(node, "volume", "ls", "--quiet") for node in HOSTS}}


def completed():
    """The node that a call ran on."""
    result = user.call("print(2**64)")
    tap.equal((result["status"], result["error"], result["stdout"]), ("completed", None, "18446744073709551616\n"), result)
    return result["isolation"]["details"]["worker"]


def test_the_page():
    with stack():
        said = user.do(CALL)
        tap.equal(len(re.findall(r"^  usable  worker\.example: node-[12]:7443, mode process", said, re.M)), 2, said)
        tap.contains(said, "18446744073709551616")
        until(lambda: completed() == "node-1", "one of them is used")
        until(lambda: completed() == "node-2", "the other is used")
    tap.equal({kind: text for kind, text in left_behind().items() if text}, {}, "left behind")


def test_the_container_has_no_more_than_the_page_says():
    with stack():
        for node in HOSTS:
            [container] = containers(node)
            process, user_id = docker(node, "inspect", "--format", "{{.State.Pid}} {{.Config.User}}", container).split()
            tap.equal(user_id, "65534:65534")
            status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines())
            tap.equal(status["CapEff"], "0" * 16, "capabilities")
            tap.equal(status["CapBnd"], "0" * 16, "capabilities to be had")
            tap.equal(status["Seccomp"], "2", "a profile")
            tap.equal(docker(node, "inspect", "--format", "{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.SecurityOpt}} {{.HostConfig.Privileged}}",
                             container).strip(), "true [] false")


def node_of_run(run):
    busy = []

    def is_one():
        busy[:] = [node for node, runs in usable().items() if runs]
        return len(busy) == 1 or run.poll() is not None
    until(is_one, "one worker has the run")
    tap.equal(run.poll(), None, f"its run; workers with one: {busy}")
    return busy[0]


def test_a_container_that_is_killed_in_mid_run():
    with stack():
        run = user.begin(3600)
        node = node_of_run(run)
        [container] = containers(node)
        docker(node, "kill", container)
        tap.contains(run.communicate()[1], "worker_lost")
        tap.true(completed() in HOSTS, "the next call goes on")
        until(lambda: set(usable()) == set(HOSTS), "Swarm has started another")
        tap.lacks(containers(node), container, "containers")
        until(lambda: completed() == node, "which is used")


tap.run(globals())
