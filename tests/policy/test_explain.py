#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions to tool_prepare(): "check" and "explain". What is explained is held against what happens; nothing is run, nobody is asked
and no policy is put in force by asking. toolhost's commands for both are held to the same.

test_explain.py TOOLHOST POLICY_DIRECTORY
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tap
from provider import NOT_RUN, OK, Host, Provider

TOOLHOST, POLICIES = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1)).resolve()
provider = Provider()
ALL = ["sandbox.exec", "sandbox.exec.network", "sandbox.exec.secrets", "sandbox.exec.files", "sandbox.exec.image",
       "sandbox.exec.limits.extended", "sandbox.exec.mode.none"]
POLICY = {
    "network": {"allowed": True},
    "secrets": {"allowed": ["dear", "cheap"], "rules": {"dear": {"approval": "ask"}, "cheap": {"languages": ["sh"]}}},
    "capabilities": [*ALL, "!sandbox.exec.files"],
    "languages": {"lua": {"limits": {"wall_ms": {"default": 3000, "max": 4000}}}},
    "approval": {"default": "deny", "rules": [
        {"id": "shells", "decision": "allow", "languages": ["sh"]},
        {"id": "lua", "decision": "ask", "languages": ["lua"]},
        {"decision": "deny", "network": True, "principals": ["mallory"], "reason": "not you"}]},
}


class Folder:
    """A directory with a policy file, gone afterwards."""

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.directory.name)
        return self

    def __exit__(self, *failure):
        self.directory.cleanup()

    def policy(self, policy, name="policy.json"):
        file = self.path / name
        file.write_text(policy if isinstance(policy, str) else json.dumps(policy))
        return str(file)


def explain(file, request, context=None, **more):
    subject = {"input_json": request if isinstance(request, str) else json.dumps(request)}
    if context is not None:
        subject["context_json"] = json.dumps(context)
    code, answer = provider.prepare(policy_file=file, sandbox="process", explain={**subject, **more})
    tap.equal((code, answer["error"]), (OK, None))
    return answer["explanation"]


REQUESTS = [  # request, context, outcome, why begins with, rule's index
    ({"language": "sh", "code": "true"}, None, "allow", "policy:rule:shells says allow", 0),
    ({"language": "lua", "code": "x = 1"}, None, "ask", "policy:rule:lua says ask", 1),
    ({"language": "perl", "code": "1"}, None, "deny", "policy denied: the default is deny", None),
    ({"language": "sh", "code": "true", "network": True}, {"principal": "mallory"}, "deny", "policy denied: approval rule 2: not you", 2),
    ({"language": "sh", "code": "true", "network": True}, {"principal": "alice"}, "allow", "policy:rule:shells says allow", 0),
    ({"language": "sh", "code": "true", "secrets": {"A": "{{secret:dear}}"}}, None, "ask",
     "policy:rule:shells allows, but the secret dear needs approval", 0),
    ({"language": "sh", "code": "true", "secrets": {"A": "{{secret:cheap}}"}}, None, "allow", "policy:rule:shells says allow", 0),
    ({"language": "lua", "code": "true", "secrets": {"A": "{{secret:cheap}}"}}, None, "deny",
     "the policy does not allow the secret cheap for the language lua", 1),
    ({"language": "sh", "code": "true", "files": [{"path": "f", "content": ""}]}, None, "deny", "access denied: sandbox.exec.files", 0),
    ({"language": "lua", "code": "true", "timeout_ms": 4001}, None, "deny", "request: /timeout_ms: 4001 is more than", 1),
    ({"language": "cobol", "code": "true"}, None, "deny", "request: /language: unknown language", None),
    ({"language": "sh"}, None, "deny", "request: /code: missing", None),
    ({"language": "sh", "code": "true", "session": "s"}, None, "deny", "request: /session", 0),
    ('{"language": "sh", "code": "true", "code": "false"}', None, "deny", "request: /code: duplicate member", None),
]


def test_says_what_would_happen_and_why():
    with Folder() as folder:
        file = folder.policy(POLICY)
        for request, context, outcome, why, rule in REQUESTS:
            told = explain(file, request, context)
            tap.equal(told["outcome"], outcome, f"{request}: {told}")
            tap.true(told["why"].startswith(why), f"{request}: {told['why']}")
            tap.equal(told["rule"] and told["rule"]["index"], rule, f"{request}: {told['rule']}")
            tap.equal(told["error"] is None, outcome != "deny", f"{request}: {told['error']}")


def test_the_explanation_agrees_with_the_call():
    with Folder() as folder:
        file = folder.policy(POLICY)
        told = [explain(file, request, context) for request, context, *_ in REQUESTS]
        code, status = provider.prepare(policy_file=file, sandbox="process")
        tap.equal(code, OK, status["error"])
        for (request, context, outcome, *_), explanation in zip(REQUESTS, told):
            host = Host(ALL, secrets={"dear": b"value-of-dear", "cheap": b"value-of-cheap"}, context=context or {})
            _, output = provider.invoke(request if isinstance(request, dict) else request.encode(), host)
            tap.equal(len(host.requests), 1 if outcome == "ask" else 0, f"asked about {request}")
            tap.equal(output["policy_sha256"], None if "language" not in explanation else explanation["policy_sha256"])
            if outcome == "deny":
                tap.equal((output["error"]["code"], output["error"]["message"]), (explanation["error"]["code"], explanation["error"]["message"]))
                continue
            tap.true(not output["error"] or output["error"]["code"] == "runtime_not_found", output["error"])
            tap.equal(output["limits"], explanation["limits"])
            tap.equal(output["mode"], explanation["mode"])
            if output["approval"]:
                tap.equal(output["approval"]["request_sha256"], explanation["request_sha256"])
            tap.equal(set(explanation["required"]) - set(output["isolation"]["applied"]), set() if not output["error"] else set(explanation["required"]))


def test_facts_of_the_request():
    with Folder() as folder:
        told = explain(folder.policy(POLICY), REQUESTS[5][0], {"principal": "alice"})
        tap.equal(told["code_sha256"], hashlib.sha256(b"true").hexdigest())
        tap.equal((told["language"], told["code_bytes"], told["principal"], told["secrets"]), ("sh", 4, "alice", ["dear"]))
        tap.equal({entry["name"]: entry["policy_grants"] for entry in told["capabilities"]},
                  {"sandbox.exec": True, "sandbox.exec.secrets=dear": True})
        tap.equal(told["rule"], {"index": 0, "id": "shells", "decision": "allow", "reason": None})


PYTHON = {"action": "warn", "forbidden_names": ["eval"]}
CONTENT = [  # content_checks, request, checks that are left to the call, notes
    ({}, {"language": "sh", "code": "curl x"}, [], []),
    ({"languages": {"python": PYTHON}}, {"language": "python", "code": "eval('1')"}, ["rules"],
     ["content check: the policy's rules for the language: asked when the call is made"]),
    ({"languages": {"python": {**PYTHON, "required": True}}}, {"language": "python", "code": "("}, ["rules"],
     ["content check: the policy's rules for the language: asked when the call is made, and can refuse it"]),
    ({"languages": {"python": {**PYTHON, "action": "refuse"}}}, {"language": "python", "code": "eval('1')"}, ["rules"],
     ["content check: the policy's rules for the language: asked when the call is made, and can refuse it"]),
    ({"host": {"action": "warn"}}, {"language": "sh", "code": "true"}, [], []),
    ({"host": {"action": "warn", "required": True}, "command": {"action": "warn", "argv": ["/nowhere/check"], "timeout_ms": 1000}}, {"language": "sh", "code": "true"},
     ["host", "command"], ["content check: the gateway's checker: asked when the call is made, and can refuse it",
                           "content check: the policy's command: asked when the call is made"]),
    ({"host": {"action": "refuse"}, "command": {"action": "refuse", "argv": ["/nowhere/check"], "timeout_ms": 1000}}, {"language": "sh", "code": "true"},
     ["host", "command"], ["content check: the gateway's checker: asked when the call is made, and can refuse it",
                           "content check: the policy's command: asked when the call is made, and can refuse it"]),
    ({"command": {"action": "warn", "required": True, "argv": ["/nowhere/check"], "timeout_ms": 1000}}, {"language": "sh", "code": "true"},
     ["command"], ["content check: the policy's command: asked when the call is made, and can refuse it"]),
]


def test_content_checks_of_the_call_are_named():
    with Folder() as folder:
        for number, (checks, request, later, notes) in enumerate(CONTENT):
            told = explain(folder.policy({"approval": {"default": "allow"}, "content_checks": checks}), request)
            tap.equal((told["outcome"], told["content_findings"], told["content_findings_more"], told["content_at_call"], told["notes"]),
                      ("allow", [], 0, later, notes), f"case {number}: {told}")
        before = explain(folder.policy({"approval": {"default": "deny"}, "content_checks": CONTENT[1][0]}), CONTENT[1][1])
        tap.true("content_findings" not in before and before["error"]["code"] == "policy_denied", before)


LANGUAGES = ("javascript", "typescript", "sh", "bash", "zsh", "ruby", "php", "perl", "lua", "r")
TOKENS = {"action": "refuse", "tokens": [{"name": "fetches", "message": "fetches something", "sequence": ["curl"]}]}
LISTED = {"action": "refuse", "required": True, "allowed_modules": ["json"]}
REMOVED = [  # rules, place, reason, part of the hint, what stands for it
    *(({language: TOKENS}, language, "rules for this language were removed; only python has rules", '"content_checks.command"',
       {"command": {"action": "refuse", "required": True, "argv": ["/usr/local/lib/check"], "timeout_ms": 1000}}) for language in LANGUAGES),
    *(({"python": {**LISTED, "enforce_imports": value}}, "python/enforce_imports", "was removed: a program could undo the hook",
       '"allowed_modules" is checked before the program runs', {"languages": {"python": LISTED}}) for value in (True, False)),
]


def test_a_policy_with_a_removed_check_is_refused():
    with Folder() as folder:
        for rules, place, reason, hint, replacement in REMOVED:
            file = folder.policy({"content_checks": {"languages": rules}})
            message = f"policy {file}: /content_checks/languages/{place}: {reason}"
            provider.reset()
            code, answer = provider.prepare(policy_file=file, sandbox="process")
            tap.equal((code, answer["error"]["code"], answer["error"]["message"]), (NOT_RUN, "invalid_policy", message))
            tap.contains(answer["error"]["hint"], hint)
            host = Host(ALL)
            code, result = provider.invoke({"language": "sh", "code": "true"}, host)
            tap.equal((code, result["error"]["code"], host.requests), (NOT_RUN, "invalid_policy", []), "no call goes past it")
            code, out, err = toolhost("check", file)
            tap.equal((code, out), (1, ""), err)
            tap.contains(err, message)
            tap.contains(err, hint)
            code, out, err = toolhost("check", folder.policy({"content_checks": replacement}))
            tap.equal(code, 0, f"positive control: {out}{err}")


def test_docker_mode_tells_the_image_and_no_hash():
    with Folder() as folder:
        file = folder.policy(POLICY)
        subject = {"input_json": json.dumps(REQUESTS[0][0]), "tool": "code_execute"}
        code, answer = provider.prepare(policy_file=file, sandbox="docker", explain=subject)
        told = answer["explanation"]
        tap.equal((code, told["mode"], told["image"], told["request_sha256"]), (OK, "docker", "alpine:3.20", None))


def test_the_other_tool():
    with Folder() as folder:
        told = explain(folder.policy(POLICY), {"runtime": "sh", "code": "true"}, tool="sandbox.exec")
        code, answer = provider.prepare(sandbox="docker", explain={"input_json": json.dumps(REQUESTS[0][0])})
        tap.equal((code, answer["explanation"]["mode"]), (OK, "docker"), "a mode without a file")
        tap.equal((told["tool"], told["outcome"], told["limits"]["wall_ms"]), ("sandbox.exec", "allow", 5000))
        tap.equal(explain(folder.policy(POLICY), {}, tool="other")["error"]["code"], "unknown_tool")


def test_asking_changes_nothing():
    with Folder() as folder:
        provider.reset()
        code, status = provider.prepare(policy_file=folder.policy({"description": "in force"}), sandbox="process")
        tap.equal(code, OK, status["error"])
        before = status["policy"]["sha256"]
        other = folder.policy(POLICY, "other.json")
        explain(other, REQUESTS[0][0])
        tap.equal(provider.prepare(policy_file=other, check=True)[0], OK)
        tap.equal(provider.prepare(policy_file=folder.policy("{", "broken.json"), check=True)[0], NOT_RUN)
        tap.equal(provider.invoke({"language": "sh", "code": "true"}, Host())[1]["policy_sha256"], before)
        code, answer = provider.prepare(explain={"input_json": json.dumps(REQUESTS[0][0])})
        tap.equal((code, answer["explanation"]["policy_sha256"]), (OK, before), "without a file, of the one in force")
        provider.reset()
        tap.equal(provider.prepare(policy_file=folder.policy("{", "broken.json"), check=True)[0], NOT_RUN)
        code, output = provider.invoke({"language": "sh", "code": "true"}, Host())
        tap.equal((code, output["status"]), (OK, "completed"), "a question that fails refuses no call")


def test_bad_questions_are_refused():
    with Folder() as folder:
        file = folder.policy({})
        for question in ({"check": False}, {"check": 1}, {"check": True, "sweep": True}, {"explain": {}}, {"explain": True},
                         {"explain": {"input_json": "{}", "capabilities": []}}, {"explain": {"input_json": {}}}, {"explain": None},
                         {"check": True, "policy_file": "policy.json"}, {"check": True, "sandbox": "vm"}):
            code, answer = provider.prepare(**{"policy_file": file, **question})
            tap.equal((code, answer["error"]["code"] in ("invalid_policy", "unknown_mode")), (NOT_RUN, True), f"{question}: {answer}")


def test_shipped_policies_pass_the_check():
    """But for the one that an operator has to complete; see test_the_production_policy_is_ok_once_its_digests_are_written()."""
    files = [file for file in POLICIES.glob("*.json") if not file.name.endswith(".schema.json") and file.name != "production.json"]
    tap.true(len(files) >= 2, files)
    for file in files:
        code, answer = provider.prepare(policy_file=str(file), check=True)
        tap.equal((code, [finding for finding in answer["findings"] if finding["level"] != "notice"]), (OK, []), file.name)


def toolhost(*arguments, stdin=""):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CODE_EXEC_")}
    ended = subprocess.run([TOOLHOST, "--plugin", provider.path, "policy", *arguments], input=stdin, capture_output=True, text=True,
                           timeout=60, check=False, env=environment)
    return ended.returncode, ended.stdout, ended.stderr


def test_interpreters_are_asked_for_alone():
    code, answer = provider.prepare(interpreters=True)
    tap.equal((code, answer["error"]), (OK, None))
    for row in answer["interpreters"]:
        tap.equal(set(row), {"language", "path", "version", "preparation"})
    for wrong in ({"interpreters": False}, {"interpreters": 1}, {"interpreters": True, "sandbox": "none"}, {"interpreters": True, "check": True}):
        code, answer = provider.prepare(**wrong)
        tap.equal((code, answer["error"]["code"]), (NOT_RUN, "invalid_policy"), wrong)


def test_counters():
    """What they are tests/abi and toolhost's tests hold; here: that asking changes and tries nothing, and how one may ask."""
    code, answer = provider.prepare(counters=True)
    tap.equal((code, answer["error"]), (OK, None))
    tap.equal(set(answer), {"provider", "version", "counters", "pools", "error"})
    status = provider.status()[1]
    tap.equal(set(answer["counters"]), set(status["counters"]))
    tap.equal([pool["backend"] for pool in answer["pools"]], [pool["backend"] for pool in status["pools"]])
    with Folder() as folder:
        tap.equal(provider.prepare(policy_file=folder.policy({}), sandbox="process")[0], OK)
        before = provider.status()[1]["policy"]
        host = Host()
        provider.invoke({"language": "cobol", "code": "x"}, host)
        was = answer["counters"]["calls_not_run"]
        tap.equal(provider.prepare(counters=True)[1]["counters"]["calls_not_run"], was + 1)
        for wrong in ({"counters": False}, {"counters": 1}, {"counters": None}, {"counters": True, "sandbox": "none"},
                      {"counters": True, "check": True}, {"counters": True, "policy_file": folder.policy({}, "other.json")}):
            code, answer = provider.prepare(**wrong)
            tap.equal((code, answer["error"]["code"], "counters" in answer), (NOT_RUN, "invalid_policy", False), str(wrong))
            tap.contains(answer["error"]["message"], "counters")
        tap.equal(provider.status()[1]["policy"], before)


def test_policies_of_the_documentation_pass_the_check():
    top = pathlib.Path(__file__).parents[2]
    sections = set(json.loads((top / "policies" / "policy.schema.json").read_text())["properties"])
    blocks = [block for page in ("policy.md", "docker.md") for block in re.findall(r"^```json\n(.*?)^```", (top / "docs" / page).read_text(), re.M | re.S)]
    policies = [block for block in blocks if set(json.loads(block)) <= sections]
    tap.true(len(policies) >= 5, "there are such examples")
    with Folder() as folder:
        for policy in policies:
            code, out, err = toolhost("check", folder.policy(policy))
            tap.equal((code, "warning" in out), (0, False), f"{policy}\n{out}{err}")


def test_toolhost_check():
    with Folder() as folder:
        rules = {"approval": {"rules": [{"decision": "deny"}, {"id": "late", "decision": "ask", "languages": ["sh"]}]}}
        code, out, _ = toolhost("check", folder.policy(rules))
        tap.equal(code, 1, out)
        tap.contains(out, "warning: /approval/rules/1 (late): the rule never decides: rule 0 applies")
        tap.equal(out.splitlines()[-1], "not ok: 1 warning, 1 notice")
        code, out, _ = toolhost("check", folder.policy({}))
        tap.equal(code, 0, out)
        tap.contains(out, "sha256 ")
        tap.equal(out.splitlines()[-1], "ok, 1 notice")
        code, out, _ = toolhost("check", folder.policy({"require": ["cgroup"]}))
        tap.equal((code, out.splitlines()[-1]), (0, "ok"), out)
        code, out, _ = toolhost("check", folder.policy({"languages": {"cobol": None}, "limits": {"wall_ms": {"default": 10}}}))
        tap.equal(code, 1, out)
        tap.contains(out, "warning: /languages/cobol: does nothing")
        tap.contains(out, "warning: /limits/wall_ms/default: 10 milliseconds are less than a second: if seconds were meant, write 10000")
        code, out, err = toolhost("check", folder.policy({"version": 2}))
        tap.equal((code, out), (1, ""), err)
        tap.contains(err, "/version: must be an integer")
        tap.contains(toolhost("check", folder.policy('{\n "max_runs": 3\n "version": 1}'))[2], "not JSON at line 3")
        code, out, _ = toolhost("check", "--json", folder.policy(rules))
        tap.equal((code, [finding["rule"] for finding in json.loads(out)["findings"]][-1]), (1, "late"))
        code, out, err = toolhost("check", "--json", folder.policy("{"))
        tap.equal((code, json.loads(out)["error"]["code"], err), (1, "invalid_policy", ""))
        for wrong in ((), ("check",), ("look", "x"), ("check", "a", "b"), ("explain",), ("check", "--input", "x", "y"), ("explain", "x", "--input", "y")):
            tap.equal(toolhost(*wrong)[0], 2, f"{wrong} is wrong usage")
        tap.equal(toolhost("check", str(folder.path / "none.json"))[0], 1)


def test_the_production_policy_is_ok_once_its_digests_are_written():
    production = json.loads((POLICIES / "production.json").read_text())
    code, out, _ = toolhost("check", str(POLICIES / "production.json"))
    tap.equal((code, out.splitlines()[-1]), (1, "not ok: 2 warnings"), out)
    tap.contains(out, "nothing can run yet")
    with Folder() as folder:
        for digest, verdict in (("0" * 64, "not ok: 2 warnings"), ("DIGEST", "not ok: 2 warnings"), (hashlib.sha256(b"").hexdigest(), "ok")):
            images = {language: f"images.example/{language}@sha256:{digest}" for language in ("python", "sh")}
            policy = {**production, "only_languages": list(images), "docker": {**production["docker"], "images": images}}
            code, out, _ = toolhost("check", folder.policy(policy))
            tap.equal((code, out.splitlines()[-1]), (int(verdict != "ok"), verdict), out)
        policy["only_languages"].append("lua")
        code, out, _ = toolhost("check", folder.policy(policy))
        tap.equal((code, out.splitlines()[-1]), (1, "not ok: 1 warning"), out)
        tap.contains(out, "cannot run yet: lua.")


def test_only_languages():
    with Folder() as folder:
        file = folder.policy({"only_languages": ["sh"], "approval": {"default": "allow"}})
        tap.equal(explain(file, {"language": "sh", "code": "1"})["outcome"], "allow")
        told = explain(file, {"language": "python", "code": "1"})
        tap.equal((told["outcome"], told["error"]["code"]), ("deny", "language_not_allowed"), told)


def test_toolhost_explain():
    with Folder() as folder:
        file = folder.policy(POLICY)
        request, context, *_ = REQUESTS[3]
        given = folder.policy(request, "input.json")
        who = folder.policy(context, "context.json")
        code, out, err = toolhost("explain", "--input", given, "--policy", file, "--context", who)
        tap.equal(code, 0, err)
        tap.equal(out.splitlines()[0], "deny: policy denied: approval rule 2: not you")
        tap.contains(out, "\ncapabilities: name sandbox.exec, policy_grants true")
        tap.true("{" not in out and "[" not in out, out)
        code, out, err = toolhost("explain", "--input", "-", "--policy", file, "--json", stdin=json.dumps(REQUESTS[0][0]))
        tap.equal((code, json.loads(out)["explanation"]["outcome"]), (0, "allow"), err)
        tap.equal(toolhost("explain", "--input", str(folder.path / "none.json"))[0], 1)
        (folder.path / "binary").write_bytes(b"\xff")
        tap.equal(toolhost("explain", "--input", str(folder.path / "binary"))[0], 1)
        tap.equal(toolhost("explain", "--input", given, "--policy", file, "--sandbox", "none")[0], 1)


tap.run(globals())
