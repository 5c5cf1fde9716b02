# SPDX-License-Identifier: Apache-2.0
"""Process mode inside a container with the engine's default profile: a clear refusal, of calls and of toolhost doctor, and what
opening that profile changes. The container has this machine's /usr and the tree, both read-only."""
import json
import os
import pathlib
import re

import engine
import observe
import tap

engine.needed(podman=None)
PODMAN = engine.is_podman()
HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).parents[1]
RUN = ("import json; from provider import Host, Provider\n"
       "print(json.dumps(Provider().invoke({'language': 'sh', 'code': 'echo ran'}, Host())[1]))")
OPEN = {"SecurityOpt": ["seccomp=unconfined", "apparmor=unconfined"]}
# What Docker's default profile allows nobody, or none but CAP_SYS_ADMIN. An ordinary clone() starts every container's processes.
KEPT = {"bpf", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree", "perf_event_open",
        "pivot_root", "quotactl", "setdomainname", "sethostname", "setns", "syslog", "umount", "umount2", "unshare"}
NEW_USER = 0x10000000  # CLONE_NEWUSER
LONG = os.environ.get("CODE_EXECUTE_TEST_LONG") == "1"
RUNS, STORMS = (500, 50) if LONG else (40, 3)
PATIENCE_S = 280  # of one container
# Cases of the mode that are run inside as well; in the long form all of these programs.
CASES = {"test_unprivileged.py": "test_what_the_same_user_can_reach_is_out_of_reach test_layers_are_told",
         "test_stray_directories.py": "test_what_the_dead_left_is_removed test_a_living_run_of_another_gateway_stays"}
# The programs of the suite modes that take this mode too (../process/meson.build); in the short form one of them. Not lifetime and canary: who
# has no capability cannot see which program a backend is. Not system_calls: the profile of the container answers many ahead of ours.
MODES = ("results", "languages", "output", "content", "files", "input_files", "notes", "result_frames") if LONG else ("results",)
# What is refused first: podman's profile lets a user namespace be made, and nothing be done in it.
REFUSED, HINTS = ("uts_namespace", ["the container or AppArmor profile around the gateway must allow it"]) if PODMAN else \
    ("user_namespace", ["seccomp profile that allows the calls named in docs/operations.md", "CODE_EXEC_SANDBOX=docker"])
# Podman asks for more by itself, which takes a privilege that the machine may lack.
OWN_LIMITS = {"Ulimits": [{"Name": name, "Soft": most, "Hard": most} for name, most in (("nofile", 1024), ("nproc", 4096))]} if PODMAN else {}
# An engine of another release has its own /usr in the machine's place (scripts/test-engine).
SOURCES = {"/usr": os.environ.get("CODE_EXECUTE_TEST_MACHINE_USR") or "/usr"}
PATHS = {path: f"{SOURCES.get(path, path)}:{path}:ro" for path in ("/usr", str(BUILD.resolve()), str(HERE.parents[1].resolve()))}


def inside(command, opened=None, user="0", **environment):
    """The exit code, standard output and standard error of the command in a container, with what of its configuration is opened."""
    names = ("CODE_EXECUTE_SO", "TOOLHOST", "PYTHONPATH")
    body = {"Image": engine.IMAGE, "Cmd": command, "Entrypoint": [], "User": user, "WorkingDir": "/",
            "Env": [f"{name}={value}" for name, value in {**{name: os.environ[name] for name in names}, **environment}.items()],
            "HostConfig": {"Binds": list(PATHS.values()), "NetworkMode": "none", **OWN_LIMITS, **(opened or {})}}
    status, answer = engine.answer("/containers/create", "POST", body)
    tap.equal(status, 201, answer)
    path = f"/containers/{json.loads(answer)['Id']}"
    try:
        status, said = engine.answer(f"{path}/start", "POST")
        tap.equal(status, 204, said)
        code = json.loads(engine.ask(f"{path}/wait", "POST", timeout=PATIENCE_S))["StatusCode"]
        return code, *(text(engine.ask(f"{path}/logs?{stream}=1")) for stream in ("stdout", "stderr"))
    finally:
        engine.ask(f"{path}?force=1", "DELETE")


def text(frames):
    """What an engine's log stream holds: eight bytes before each part, the last four its length."""
    parts = []
    while frames:
        end = 8 + int.from_bytes(frames[4:8], "big")
        parts.append(frames[8:end])
        frames = frames[end:]
    return b"".join(parts).decode()


def told(command, opened=None):
    code, out, errors = inside(["python3", *command], opened)
    tap.equal(code, 0, errors)
    return json.loads(out)


def layers(opened):
    """Those called applied, which are those that a program sees."""
    seen = told([str(HERE / "observe.py")], opened)
    observe.check(seen)
    return seen["result"]["isolation"]


def test_the_default_profile_refuses():
    result = told(["-c", RUN])
    tap.equal((result["status"], result["stdout"], result["error"]["code"]), ("error", "", "sandbox_unavailable"), result)
    tap.contains(result["error"]["message"], REFUSED)
    for hint in HINTS:
        tap.contains(result["error"]["hint"], hint)


def test_doctor_explains_it():
    code, report, errors = inside([os.environ["TOOLHOST"], "doctor", "--plugin", os.environ["CODE_EXECUTE_SO"]],
                                  CODE_EXEC_SANDBOX="process")
    tap.equal(code, 1, report + errors)
    tap.contains(report, "backend process: not available")
    tap.contains(report, "error sandbox_unavailable")
    tap.contains(report, REFUSED if PODMAN else "inside a container, the engine forbids user namespaces")
    tap.contains(report, "in place of process: unprivileged would be available")


# What a pod of the security standard "restricted" has: also no way to new privileges, and the engine's own seccomp profile.
RESTRICTED = {"CapDrop": ["ALL"], "ReadonlyRootfs": True}
POD = {**RESTRICTED, "SecurityOpt": ["no-new-privileges"], "PidsLimit": 128, "Memory": 512 << 20, "Tmpfs": {"/tmp": "size=128m,mode=1777,exec"}}
IN_CONTAINER = HERE.parents[1] / "policies" / "in-container.json"


def restricted(*arguments, user="65534", **opened):
    """toolhost as an ordinary user of a container that was asked for nothing, on a read-only root; its audit log is in memory."""
    return inside([os.environ["TOOLHOST"], *arguments], {**RESTRICTED, **opened}, user, XDG_STATE_HOME="/dev/shm")


def test_nothing_is_asked_for_without_namespaces():
    """Under the engine's own profile: as an ordinary user and as root, with limits of the container, with and without a /tmp."""
    run = ["--plugin", os.environ["CODE_EXECUTE_SO"], "--policy", str(IN_CONTAINER), "run", "--approve", "always", "--json", "-l", "python", "-c", "print(2**64)"]
    for user, opened in (("65534", {}), ("0", {}), ("65534", {"PidsLimit": 64, "Memory": 256 << 20}), ("65534", {"Tmpfs": {"/tmp": "size=64m,mode=1777"}}), ("65534", POD)):
        code, out, errors = restricted(*run, user=user, **opened)
        tap.equal(code, 0, f"{user} {opened}: {out} {errors}")
        result = json.loads(out)
        tap.equal((result["mode"], result["stdout"], result["stderr"], result["error"]), ("unprivileged", "18446744073709551616\n", "", None))
        tap.equal(set(result["isolation"]["applied"]) - {"cgroup"},
                  {"capabilities", "resource_limits", "no_new_privileges", "landlock", "seccomp"}, "every mandatory layer")
    code, out, errors = restricted("--plugin", os.environ["CODE_EXECUTE_SO"], "--sandbox", "process", "run", "--approve", "always", "-c", "print(1)")
    tap.true(code != 0 and out == "", "the built-in policy runs nothing there")
    tap.contains(errors, f"sandbox_unavailable: {REFUSED}")


def test_the_gateway_may_be_the_first_process():
    """And wait for nothing: no process of a run becomes its child, and no signal about one reaches it."""
    code, out, errors = inside(["python3", str(HERE / "first_process.py"), str(IN_CONTAINER), str(RUNS), str(STORMS)],
                               {**POD, "PidsLimit": 48}, "65534")
    tap.equal(code, 0, errors)
    tap.equal(json.loads(out), {"wrong": [], "directories": []}, errors)


def test_the_cases_of_the_mode_hold_in_a_pod():
    """Its attacks with their controls, and the ends of its trees; there the user owns nothing and there are no control groups."""
    for program, cases in CASES.items():
        chosen = {} if LONG else {"TEST_CASES": cases}
        code, out, errors = inside(["python3", str(HERE.parent / "process" / program)],
                                   POD, "65534", PROCESS_TEST_UID="65534", UNPRIVILEGED_TEST_DIRECTORY="/tmp", **chosen)
        tap.equal(code, 0, out + errors)
        tap.true("\nok 2" in out, out)


def test_the_suite_of_modes_holds_in_a_container():
    """Asked for nothing: as an ordinary user, and as root without capabilities."""
    for user in ("65534", "0") if LONG else ("65534",):
        for name in MODES:
            code, out, errors = inside(["python3", str(HERE.parent / "modes" / f"test_{name}.py")], POD, user,
                                       PROCESS_TEST_UID=user, CODE_EXECUTE_TEST_MODE="unprivileged", REFUSED_BY_THE_CONTAINER="reboot")
            tap.equal(code, 0, f"{user} {name}: {out} {errors}")
            tap.true("\nok 2" in out, out)


def test_an_open_profile_runs():
    """The hint is right: the same container has every mandatory layer without that profile (and AppArmor's, where there is one)."""
    tap.contains(layers(OPEN)["missing"], "proc")


def documented():
    """The calls that operations.md has a container's profile allow."""
    page = (HERE.parents[1] / "docs" / "operations.md").read_text(encoding="utf-8")
    return re.findall(r"`(\w+)`", re.search(r"seccomp profile that allows (.*?)\.", page, re.S).group(1))


def allowing(calls):
    if PODMAN:
        raise tap.Skip("podman takes no seccomp profile in a request")
    refuse = {"action": "SCMP_ACT_ERRNO"}
    rules = [{"names": sorted(KEPT - set(calls)), **refuse}, {"names": ["clone3"], "errnoRet": 38, **refuse}]
    if "clone" not in calls:
        flag = {"index": 0, "value": NEW_USER, "valueTwo": NEW_USER, "op": "SCMP_CMP_MASKED_EQ"}
        rules.append({"names": ["clone"], "args": [flag], **refuse})
    profile = json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules})
    return {"SecurityOpt": [f"seccomp={profile}", "apparmor=unconfined"]}


def test_the_calls_that_are_documented_are_enough():
    tap.contains(layers(allowing(documented()))["missing"], "proc")


def test_each_of_them_is_needed():
    for call in documented():
        result = told(["-c", RUN], allowing(set(documented()) - {call}))
        tap.equal((result["status"], result["stdout"], (result["error"] or {}).get("code")), ("error", "", "sandbox_unavailable"), call)


def test_an_unmasked_proc_is_given_on():
    if PODMAN:
        raise tap.Skip("podman takes no list of masked paths in a request")
    tap.contains(layers({**OPEN, "MaskedPaths": [], "ReadonlyPaths": []})["applied"], "proc")


tap.run(globals())
