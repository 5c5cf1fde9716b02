# SPDX-License-Identifier: Apache-2.0
"""What only process mode has: names of other modes, its neighbour none, its own refusals, and the same layers for an ordinary user."""
import json
import os
import pathlib
import subprocess
import sys

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import golden
import tap
from modes import Provider, gateway, long_time, sleeps
from provider import NOT_RUN, OK, Host

provider = Provider()
check = golden.checker(provider, __file__)
ORDINARY_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def test_docker_asked_and_not_there():
    if not pathlib.Path(provider.path).with_name("code-execute-docker").exists():
        raise tap.Skip("built without the docker backend (libcurl)")
    provider.with_policy({"docker": {"host": "unix:///nowhere/docker.sock"}}, lambda: check(
        "docker_not_there", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, Host())), "docker")


def test_unknown_mode():
    provider.forget()
    provider.prepare(sandbox="dokcer")
    try:
        check("unknown_mode", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, Host()))
    finally:
        provider.reset()


def test_mode_none_refused_by_policy():
    provider.forget()
    tap.equal(provider.prepare(sandbox="none")[0], NOT_RUN)
    try:
        check("mode_none_policy", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, Host()))
    finally:
        provider.reset()


NONE_POLICY = {"modes": {"default": "none", "allowed": ["none"]},
               "capabilities": ["sandbox.exec", "sandbox.exec.mode.none"]}


def test_mode_none_refused_without_capability():
    provider.with_policy(NONE_POLICY, lambda: check(
        "mode_none_capability", NOT_RUN, provider.invoke({"language": "sh", "code": "echo no"}, Host())))


def test_mode_none():
    host = Host(("sandbox.exec", "sandbox.exec.mode.none"))
    provider.with_policy(NONE_POLICY, lambda: check(
        "mode_none", OK, provider.invoke({"language": "sh", "code": "echo yes"}, host)))


def test_none_mode_kills_what_left_its_group():
    sleep = f"sleep {long_time()}"
    code = f"setsid {sleep} & (setsid sh -c '{sleep} & {sleep}' &) ; {sleep}"
    request = {"language": "sh", "code": code, "timeout_ms": 500}
    host = Host(("sandbox.exec", "sandbox.exec.mode.none"))
    result = provider.with_policy(NONE_POLICY, lambda: provider.invoke(request, host))[1]
    tap.equal(result["status"], "timeout")
    tap.true(not sleeps(long_time()), "nothing is left behind")


def test_host_without_user_namespaces():
    """In a user namespace whose owner allows no further ones: the kernel's own refusal, without touching the machine."""
    script = ("import json, sys; sys.path.insert(0, sys.argv[1])\nfrom provider import Host, Provider\n"
              "print(json.dumps(Provider().invoke({'language': 'sh', 'code': 'echo no'}, Host())))")
    command = ("echo 0 > /proc/sys/user/max_user_namespaces && "
               f"exec {sys.executable} -c \"$0\" {SUPPORT}")
    run = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", command, script], capture_output=True,
                         text=True)
    if "unshare failed" in run.stderr:
        raise tap.Skip(f"this machine has no user namespaces at all: {run.stderr.strip()}")
    tap.equal(run.returncode, 0, run.stderr)
    check("no_user_namespaces", NOT_RUN, json.loads(run.stdout))


def as_ordinary_user(script):
    """The lines that a gateway of the user nobody prints."""
    if os.geteuid() != 0:
        raise tap.Skip("takes root, to become a user without any right")
    if subprocess.run([*ORDINARY_USER, "test", "-r", os.environ["CODE_EXECUTE_SO"]]).returncode:
        raise tap.Skip("the build directory cannot be read by an ordinary user")
    output, _ = gateway(script, before=ORDINARY_USER).communicate(timeout=30 * tap.SLOW)
    return [json.loads(line) for line in output.splitlines()]


def test_an_ordinary_user_gets_every_mandatory_layer():
    [[code, result]] = as_ordinary_user(
        "print(json.dumps(Provider().invoke({'language': 'python', 'code': 'import os; print(os.getuid(), 2**64)'}, Host())))")
    tap.equal((code, result["stdout"]), (OK, "1000 18446744073709551616\n"), result)
    mandatory = {layer["name"] for layer in provider.manifest()["layers"]} - golden.OPTIONAL_LAYERS
    tap.equal(mandatory - set(result["isolation"]["applied"]), set(), "mandatory layers not applied")
    tap.equal(result["isolation"]["details"]["outer_uid"], 65534)


def test_a_required_layer_that_is_missing_refuses():
    """As an ordinary user without a delegated cgroup, a policy that requires one runs nothing."""
    control, refused = as_ordinary_user(
        "p = Provider()\nfor policy in ({}, {'require': ['cgroup']}):\n    p.use_policy(policy)\n"
        "    print(json.dumps(p.invoke({'language': 'sh', 'code': 'echo ran'}, Host())))")
    if "cgroup" in control[1]["isolation"]["applied"]:
        raise tap.Skip("this machine delegates a cgroup to the user nobody")
    tap.equal((control[1]["stdout"], control[1]["isolation"]["missing"]), ("ran\n", ["cgroup"]))
    tap.equal((refused[1]["stdout"], refused[1]["error"]["code"]), ("", "sandbox_unavailable"))
    tap.contains(refused[1]["error"]["message"], "cgroup")
    tap.contains(refused[1]["error"]["hint"], "Delegate=yes")


tap.run(globals())
