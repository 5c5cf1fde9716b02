#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The policy's process.isolation: who chooses process mode without namespaces, what a call is called then, which rules count for it, what it
cannot have, and that nothing but the policy leads to it. No program has to run here.

test_isolation.py TOOLHOST POLICY_DIRECTORY
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import tap
from provider import ALLOW, NOT_RUN, OK, Host, Provider

TOOLHOST, POLICIES = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1)).resolve()
provider = Provider()
NAME = "sandbox.exec.mode.unprivileged"
RIGHTS = ["sandbox.exec", "sandbox.exec.network", "sandbox.exec.secrets", "sandbox.exec.files", "sandbox.exec.image", "sandbox.exec.session",
          "sandbox.exec.tools", NAME]
SH = {"language": "sh", "code": "true"}
UNPRIVILEGED = {"process": {"isolation": "unprivileged"}, "capabilities": RIGHTS}
NAMESPACES = {"capabilities": RIGHTS}
HAD = ["capabilities", "resource_limits", "no_new_privileges", "landlock", "seccomp"]
NEVER = ["user_namespace", "pid_namespace", "mount_namespace", "network_namespace", "ipc_namespace", "uts_namespace", "cgroup_namespace",
         "read_only_root", "scratch", "proc"]


def use(policy, sandbox="process"):
    tap.equal(provider.use_policy(policy, sandbox), OK, json.dumps(policy))


def refusal(policy, sandbox=None):
    """Of a policy that cannot be put in force."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(policy, file)
        file.flush()
        code, answer = provider.prepare(policy_file=file.name, check=True, **({"sandbox": sandbox} if sandbox else {}))
    tap.equal(code, NOT_RUN, f"{policy} {sandbox}: {answer}")
    return answer["error"]


def explain(request, narrowing=None):
    context = {} if narrowing is None else {"policy": narrowing}
    code, answer = provider.prepare(explain={"input_json": json.dumps(request), "context_json": json.dumps(context)})
    tap.equal((code, answer["error"]), (OK, None))
    return answer["explanation"]


def call(request, rights=RIGHTS, **host):
    """A call that stores no start, so nothing runs: its result and its host."""
    def audit(record, verdict):
        made.records.append(json.loads(record))
        if made.records[-1]["event"] != "start":
            verdict[0] = ALLOW

    made = Host(rights, audit=audit, **host)
    return provider.invoke(request, made)[1], made


def test_the_policy_chooses_it():
    for policy, sandbox, mode in ((NAMESPACES, "process", "process"), (UNPRIVILEGED, "process", "unprivileged"), (UNPRIVILEGED, None, "unprivileged"),
                                  ({**UNPRIVILEGED, "modes": {"default": "docker"}}, "process", "unprivileged"),
                                  ({**UNPRIVILEGED, "modes": {"default": "docker"}}, None, "docker"), (UNPRIVILEGED, "docker", "docker"),
                                  ({**UNPRIVILEGED, "process": {"isolation": "namespaces"}}, None, "process")):
        use(policy, sandbox)
        tap.equal(explain(SH)["mode"], mode, f"{policy} {sandbox}")


def test_the_environment_cannot_choose_it():
    for policy in (NAMESPACES, UNPRIVILEGED):
        error = refusal(policy, "unprivileged")
        tap.equal((error["code"], error["message"]), ("unknown_mode", "mode unprivileged cannot be chosen by its name"))
        tap.contains(error["hint"], 'set "process.isolation" to "unprivileged" in the policy, and CODE_EXEC_SANDBOX to process')
    with tempfile.TemporaryDirectory() as folder:
        policy = pathlib.Path(folder) / "policy.json"
        policy.write_text(json.dumps(UNPRIVILEGED))
        done = subprocess.run([TOOLHOST, "--policy", policy, "run", "-c", "print(1)"], env={**os.environ, "CODE_EXEC_SANDBOX": "unprivileged"},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        tap.true(done.returncode != 0, done.stdout)
        tap.contains(done.stderr, 'set "process.isolation" to "unprivileged" in the policy')
        done = subprocess.run([TOOLHOST, "--policy", policy, "--sandbox", "unprivileged", "run", "-c", "print(1)"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)
        tap.true(done.returncode != 0 and "docker, kubernetes, process, remote or none" in done.stderr, done.stderr)


def test_a_policy_does_not_name_it_among_its_modes():
    for modes in ({"allowed": ["unprivileged"]}, {"default": "unprivileged"}, {"default": "unprivileged", "allowed": ["unprivileged"]}):
        error = refusal({**UNPRIVILEGED, "modes": modes})
        tap.equal(error["code"], "invalid_policy")
        tap.contains(error["message"], 'is mode process with another isolation: name "process" here, and set "process.isolation" to "unprivileged"')
    error = refusal({"modes": {"allowed": ["process", "vm"]}})
    tap.contains(error["message"], "must be docker, kubernetes, process, remote or none")


def test_no_other_isolation_is_known():
    for isolation in ("process", "none", "docker", "Unprivileged", "", None, True, 1, ["unprivileged"]):
        tap.contains(refusal({"process": {"isolation": isolation}})["message"], "/process/isolation: ")
    for path in ("tmp", "/a/../b", "/a/", "//a", None, 1):
        tap.contains(refusal({"process": {"scratch_directory": path}})["message"], "/process/scratch_directory: ")
    for path in ("", "/tmp", "/var/lib/runs"):
        use({"process": {"scratch_directory": path}})
    tap.contains(refusal({"process": {"surplus": 1}})["message"], "/process/surplus: unknown member")
    tap.contains(refusal({"unprivileged": {}})["message"], "/unprivileged: unknown member")


def test_it_requires_its_own_layers():
    use(UNPRIVILEGED)
    tap.equal(sorted(explain(SH)["required"]), sorted(HAD))
    for name in [*HAD, "cgroup"]:
        use({**UNPRIVILEGED, "require": [name]})
        tap.equal(sorted(explain(SH)["required"]), sorted({*HAD, name}))
    for name in NEVER:
        error = refusal({**UNPRIVILEGED, "require": ["landlock", name]})
        tap.contains(error["message"], f'/require/1: {name} cannot be had with "process.isolation" "unprivileged"')
        use({**NAMESPACES, "require": ["landlock", name]})
        use({**UNPRIVILEGED, "require": [name], "modes": {"default": "docker", "allowed": ["docker"]}}, None)


def test_it_needs_a_capability_of_policy_and_host():
    use({**UNPRIVILEGED, "approval": {"default": "allow"}})
    error = call(SH, [right for right in RIGHTS if right != NAME])[0]["error"]
    tap.equal((error["code"], error["message"]), ("access_denied", f"access denied: {NAME}"))
    tap.true(call(SH)[0]["error"]["code"] != "access_denied", "with it the call goes on")
    use({**UNPRIVILEGED, "approval": {"default": "allow"}, "capabilities": [right for right in RIGHTS if right != NAME]})
    error = call(SH)[0]["error"]
    tap.equal((error["code"], error["message"]), ("access_denied", f"access denied: {NAME}"))
    use({**NAMESPACES, "approval": {"default": "allow"}, "capabilities": ["sandbox.exec"]})
    tap.true(call(SH, ["sandbox.exec"])[0]["error"]["code"] != "access_denied", "process mode does not need it")


def test_rules_name_it_as_itself():
    for modes, outcome in ((["process"], "ask"), (["unprivileged"], "allow"), (["process", "unprivileged"], "allow"), (["docker", "none"], "ask")):
        rules = {"approval": {"default": "ask", "rules": [{"id": "r", "decision": "allow", "modes": modes}]}}
        use({**UNPRIVILEGED, **rules})
        tap.equal(explain(SH)["outcome"], outcome, modes)
        use({**NAMESPACES, **rules})
        tap.equal(explain(SH)["outcome"], "allow" if "process" in modes else "ask", modes)
    for modes, code in ((["process"], "secret_not_allowed"), (["unprivileged"], None), (["process", "unprivileged"], None)):
        use({**UNPRIVILEGED, "secrets": {"allowed": ["a"], "rules": {"a": {"modes": modes}}}})
        error = explain({**SH, "secrets": {"A": "{{secret:a}}"}})["error"]
        tap.equal(error and error["code"], code, modes)
    # The usual mode of an example is the one that calls have.
    for example, fits in ({}, True), ({"mode": "unprivileged"}, True), ({"mode": "process"}, False):
        rule = {"decision": "allow", "modes": ["unprivileged"], "match" if fits else "not_match": [{"language": "sh", **example}]}
        use({**UNPRIVILEGED, "approval": {"rules": [rule]}})


def test_it_is_what_is_approved_and_recorded():
    seen = {}
    for name, policy in (("unprivileged", UNPRIVILEGED), ("process", NAMESPACES)):
        use(policy)
        tap.equal(explain(SH)["mode"], name)
        result, host = call(SH)
        tap.equal(result["mode"], name)
        tap.equal({record["mode"] for record in host.records}, {name}, host.records)
        tap.equal({request["mode"] for request in host.requests}, {name} if host.requests else set())
        seen[name] = explain(SH)["request_sha256"]
    tap.true(seen["unprivileged"] != seen["process"], "the hash of a request is of one isolation")
    # The policy's hash is in a request's as well; with one policy, and a narrowing that says what holds without it, only the mode differs.
    use(UNPRIVILEGED)
    same, other = ({"process": {"isolation": isolation}} for isolation in ("unprivileged", "namespaces"))
    tap.equal([explain(SH, narrowing)["mode"] for narrowing in (None, same, other)], ["unprivileged", "unprivileged", "process"])
    tap.equal(len({explain(SH, narrowing)["request_sha256"] for narrowing in (None, same, other)}), 3)


def test_a_narrowing_gives_namespaces_and_never_takes_them():
    namespaces, unprivileged = ({"process": {"isolation": isolation}} for isolation in ("namespaces", "unprivileged"))
    for policy, narrowing, mode in ((UNPRIVILEGED, namespaces, "process"), (UNPRIVILEGED, unprivileged, "unprivileged"), (UNPRIVILEGED, {}, "unprivileged"),
                                    (UNPRIVILEGED, {"process": {}}, "unprivileged"), (NAMESPACES, namespaces, "process"), (NAMESPACES, {}, "process")):
        use(policy)
        told = explain(SH, narrowing)
        tap.equal((told["error"], told["mode"]), (None, mode), f"{narrowing}")
        tap.equal(NAME in {entry["name"] for entry in told["capabilities"]}, mode == "unprivileged", told["capabilities"])
    use({**UNPRIVILEGED, "capabilities": ["sandbox.exec"]})
    tap.equal([explain(SH, narrowing)["outcome"] for narrowing in (None, namespaces)], ["deny", "ask"], "process mode needs no capability of its own")
    for modes in ({}, {"default": "docker"}, {"default": "docker", "allowed": ["docker"]}):
        use({**NAMESPACES, "modes": modes}, None)
        told = explain(SH, unprivileged)
        tap.equal((told["outcome"], told["error"]["code"], told["error"]["message"]),
                  ("deny", "policy_denied", "policy denied: context: /policy/process/isolation: the policy's is stronger"))
    use(UNPRIVILEGED, "docker")
    tap.equal(explain(SH, namespaces)["mode"], "docker", "it is about process mode alone")


def test_what_it_cannot_have_is_refused_by_name():
    extended = {**UNPRIVILEGED, "network": {"allowed": True}, "sessions": {"max_total": 2}, "tools": {"allowed": ["*"]}}
    use(extended)
    for request, words, hint in (({"network": True}, "request: /network: mode unprivileged has no network", "work without the network"),
                                 ({"image": "python:3.11-slim"}, "request: /image: mode unprivileged has no images", "")):
        error = explain({**SH, **request})["error"]
        tap.equal((error["code"], error["message"]), ("not_supported", words))
        tap.contains(error["hint"], hint)
    use(extended, "docker")
    tap.equal(explain({**SH, "network": True})["error"], None, "where there is one, the same request is no mistake")
    use(UNPRIVILEGED)
    error = call(SH, context={"workspace": "/tmp"})[0]["error"]
    tap.equal(error["code"], "not_supported")
    tap.contains(error["message"], "context: /workspace: mode unprivileged cannot show it")


def test_the_schema_offers_no_network():
    """Which a call could only be refused for."""
    for policy, offered in ((NAMESPACES, True), (UNPRIVILEGED, False)):
        use({**policy, "network": {"allowed": True}, "sessions": {"max_total": 2}})
        schema = provider.prepare(offer={"capabilities": RIGHTS})[1]["input_schemas"]["code_execute"]
        tap.equal(("network" in schema["properties"], "session" in schema["properties"]), (offered, True))
    narrowed = provider.prepare(offer={"capabilities": RIGHTS, "context_json": json.dumps({"policy": {"process": {"isolation": "namespaces"}}})})[1]
    tap.true("network" in narrowed["input_schemas"]["code_execute"]["properties"], "as the call would have it")


def backends(status):
    return {backend["name"]: backend for backend in status["backends"]}


def test_status_tries_it_where_the_policy_has_chosen_it():
    use(NAMESPACES)
    status = provider.status()[1]
    tap.true(status["mode"] == "process" and "unprivileged" not in backends(status), list(backends(status)))
    use(UNPRIVILEGED)
    status = provider.status()[1]
    found = backends(status)
    tap.equal((status["mode"], found["unprivileged"]["allowed"], found["process"]["allowed"]), ("unprivileged", True, False))
    tap.equal(status["policy"]["default_mode"], "unprivileged")
    if found["unprivileged"]["available"]:
        states = {layer["name"]: layer["state"] for layer in found["unprivileged"]["layers"]}
        tap.equal({name for name, state in states.items() if state == "missing"} - {"cgroup"}, set(NEVER), states)
        tap.equal([name for name in HAD if states[name] != "applied"], [], states)


def test_what_would_be_there_can_be_asked_and_is_never_taken():
    use(NAMESPACES)
    [variant] = provider.prepare(variants=True)[1]["variants"]
    tap.equal((variant["name"], variant["variant_of"], variant["allowed"]), ("unprivileged", "process", False))
    tap.contains(variant["how"], "policies/in-container.json")
    tap.equal(explain(SH)["mode"], "process", "asking puts nothing in force")
    tap.equal("unprivileged" in backends(provider.status()[1]), False)
    for policy, sandbox in ((UNPRIVILEGED, "process"), ({"modes": {"default": "docker", "allowed": ["docker"]}}, None)):
        use(policy, sandbox)
        tap.equal(provider.prepare(variants=True)[1]["variants"], [], "chosen already, or in place of nothing")
    tap.equal(provider.prepare(variants=False)[0], NOT_RUN)


def test_a_result_says_what_it_is_without():
    use({**UNPRIVILEGED, "approval": {"default": "allow"}})
    code, result = provider.invoke({"language": "sh", "code": "echo 1"}, Host(RIGHTS))
    if code == NOT_RUN and result["error"]["code"] == "sandbox_unavailable":
        raise tap.Skip(result["error"]["message"])
    tap.equal((code, result["mode"], result["stdout"]), (OK, "unprivileged", "1\n"), result["error"])
    isolation = result["isolation"]
    tap.equal(set(isolation["missing"]) - {"cgroup"}, set(NEVER))
    tap.equal(set(isolation["applied"]) - {"cgroup"}, set(HAD))
    details = isolation["details"]
    counted = {"memory_bytes": details["cgroup_memory"], "processes": details["cgroup_pids"]}
    tap.equal(details["supervised"], [name for name, held in counted.items() if not held] + ["scratch_bytes", "scratch_inodes", "cpu_ms"])
    tap.equal((details["network"], details["landlock_abi"] >= 6), (False, True))


WITHOUT_NAMESPACES = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]


def without_namespaces(*arguments):
    """toolhost where no user namespace can be made, as in a container."""
    done = subprocess.run([*WITHOUT_NAMESPACES, TOOLHOST, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def test_it_is_never_fallen_into():
    if subprocess.run([*WITHOUT_NAMESPACES, "true"], capture_output=True, check=False).returncode != 0:
        raise tap.Skip("no user namespace can be made that forbids others")
    run = ["run", "--approve", "always", "-l", "sh", "-c", "echo 1"]
    code, out, err = without_namespaces("--sandbox", "process", *run)
    tap.true(code != 0 and out == "", out)
    tap.contains(err, "sandbox_unavailable: user_namespace")
    code, out, err = without_namespaces("--policy", POLICIES / "in-container.json", *run)
    if "sandbox_unavailable" in err:
        raise tap.Skip(err)
    tap.equal((code, out), (0, "1\n"), err)
    # What works there is said, and what it costs.
    code, out, err = without_namespaces("--sandbox", "process", "doctor")
    tap.equal(code, 1, out + err)
    tap.contains(out, "in place of process: unprivileged would be available\n  how: ")
    tap.contains(out, "policies/in-container.json")
    lost = {line.split()[1].rstrip(":") for line in out.splitlines() if line.startswith("  without ")}
    tap.equal(lost - {"cgroup"}, set(NEVER), out)


def test_the_shipped_policy():
    done = subprocess.run([TOOLHOST, "policy", "check", POLICIES / "in-container.json"], capture_output=True, text=True, timeout=60, check=False)
    tap.equal((done.returncode, done.stdout.splitlines()[-1]), (0, "ok, 2 notices"), done.stdout)
    tap.contains(done.stdout, "/process/isolation: mode process has no namespaces")
    use(json.loads((POLICIES / "in-container.json").read_text()), None)
    told = explain(SH)
    tap.equal((told["mode"], told["outcome"]), ("unprivileged", "ask"))
    for name in ("production", "development", "default"):
        use(json.loads((POLICIES / f"{name}.json").read_text()), None)
        tap.true(explain(SH)["mode"] != "unprivileged", name)


tap.run(globals())
