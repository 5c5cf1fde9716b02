# SPDX-License-Identifier: Apache-2.0
"""What only process mode has: names of other modes, its neighbour none, its own refusals, and the same layers for an ordinary user."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import golden
import tap
from modes import ALL_THE_TIME, Provider, gateway, long_time, sleeps
from provider import NOT_RUN, OK, Host

provider = Provider({})
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


MOUNTS = {  # options, and what the file system itself was told
    "/": ({"ro", "nosuid", "nodev"}, {"nr_inodes=8192"}), "/tmp": ({"rw", "nosuid", "nodev"}, {"size=65536k"}),
    "/home/sandbox": ({"rw", "nosuid", "nodev"}, {"size=65536k"}), "/dev/shm": ({"rw", "nosuid", "nodev"}, {"size=65536k"}),
    "/usr": ({"ro", "nosuid", "nodev"}, set()), "/work": ({"ro", "nosuid", "nodev"}, set()),
    "/dev/null": ({"rw", "nosuid", "noexec"}, set()), "/proc": ({"ro", "nosuid", "nodev", "noexec"}, {"hidepid=invisible", "subset=pid"}),
}


def test_each_mount_has_its_options():
    """What one of them lets through another layer holds, so that no attack shows it."""
    with tempfile.TemporaryDirectory() as workspace:
        os.chmod(workspace, 0o755)
        policy = {"workspace": {"below": [workspace]}, "limits": {**ALL_THE_TIME["limits"], "scratch_bytes": {"default": 64 << 20}}}
        result = provider.with_policy(policy, lambda: provider.invoke(
            {"language": "sh", "code": "cat /proc/self/mountinfo"}, Host(context={"workspace": workspace})))[1]
    if "proc" in result["isolation"]["missing"]:
        raise tap.Skip("there is no /proc to ask")
    found = {}
    for line in result["stdout"].splitlines():
        mount, system = line.split(" - ")
        found[mount.split()[4]] = (set(mount.split()[5].split(",")), set(system.split()[2].split(",")))
    for path, (options, of_system) in MOUNTS.items():
        tap.true(options <= found[path][0] and of_system <= found[path][1], f"{path}: {found[path]}")
    others = {path: options for path, (options, _) in found.items() if path not in MOUNTS and not path.startswith("/dev/")}
    tap.equal({path: options for path, options in others.items() if not {"ro", "nosuid", "nodev"} <= options}, {}, "what else is shown")


LIMITS = {"CORE": 1, "MEMLOCK": 65536, "SIGPENDING": 1024, "MSGQUEUE": 0, "RTPRIO": 0, "NICE": 0, "NOFILE": 77, "FSIZE": 1 << 20}


def test_each_resource_limit_is_set():
    code = f"import resource\nprint({{n: resource.getrlimit(getattr(resource, 'RLIMIT_' + n)) for n in {list(LIMITS)}}})"
    policy = {"limits": {**ALL_THE_TIME["limits"], "open_files": {"default": LIMITS["NOFILE"]},
                         "file_bytes": {"default": LIMITS["FSIZE"]}}}
    result = provider.with_policy(policy, lambda: provider.invoke({"language": "python", "code": code}, Host()))[1]
    tap.equal(result["stdout"], f"{({name: (value, value) for name, value in LIMITS.items()})}\n", result["stderr"])


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
    output, _ = gateway(script, before=ORDINARY_USER).communicate(timeout=300 * tap.SLOW)
    return [json.loads(line) for line in output.splitlines()]


def test_an_ordinary_user_gets_every_mandatory_layer():
    [[code, result]] = as_ordinary_user(
        "print(json.dumps(Provider().invoke({'language': 'python', 'code': 'import os; print(os.getuid(), 2**64)'}, Host())))")
    tap.equal((code, result["stdout"]), (OK, "1000 18446744073709551616\n"), result)
    of_some_runs = {"endpoint_broker"}
    mandatory = {layer["name"] for layer in provider.manifest()["layers"]} - golden.OPTIONAL_LAYERS - of_some_runs
    tap.equal(mandatory - set(result["isolation"]["applied"]), set(), "mandatory layers not applied")
    tap.equal(result["isolation"]["details"]["outer_uid"], 65534)


PRECEDENCE = {"processor": ["nice", "-n", "-5"], "real time": ["chrt", "--rr", "1"], "disk": ["ionice", "-c", "1"],
              "lack of memory": ["choom", "-n", "-500", "--"]}


def shown_precedence(before):
    """Of a gateway that is started by that command, and of its program: two texts."""
    code = "nice; ionice -p $$; chrt -p $$ | sed 's/^[^:]*//'; cat /proc/$$/oom_score_adj"
    output, _ = gateway(f"import subprocess\nprint(subprocess.run(['sh', '-c', {code!r}], capture_output=True, text=True).stdout)\n"
                        f"print('---' + Provider().invoke({{'language': 'sh', 'code': {code!r}}}, Host())[1]['stdout'])",
                        before=before).communicate(timeout=300 * tap.SLOW)
    return [text.strip() for text in output.split("---")]


def ordinary_precedence():
    """What brings a gateway back to it from where this test is run, such as behind everything else."""
    return [*(["chrt", "--other", "0"] if os.sched_getscheduler(0) != os.SCHED_OTHER else []),
            *(["nice", "-n", str(-os.nice(0))] if os.nice(0) else [])]


def is_permitted(before):
    """nice complains and runs the program nevertheless."""
    tried = subprocess.run([*before, "true"], capture_output=True)
    return tried.returncode == 0 and not tried.stderr


def test_a_gateways_precedence_is_not_its_programs():
    ordinary = ordinary_precedence()
    usual = shown_precedence(ordinary)
    if not usual[0] or usual[0] != usual[1] or usual[0].split()[0] != "0":
        raise tap.Skip(f"this test is not run as usual, and this user may not change that: {usual}")
    tried = [name for name, before in PRECEDENCE.items() if is_permitted(before)]
    if not tried:
        raise tap.Skip("this machine gives this user no precedence")
    for name in tried:
        own, programs = shown_precedence([*ordinary, *PRECEDENCE[name]])
        tap.true(own != usual[0], f"{name}: the gateway has some")
        tap.equal(programs, usual[0], name)


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
