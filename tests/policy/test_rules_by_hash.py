#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules that allow by a hash, in whole calls. Code that was vetted runs unasked with what the rule names beside it and with nothing else:
neither a variable nor a file, an argument, another language or another secret's variable gets in. Each attack has its control: an approver
who allows it shows that it does run other code."""
import hashlib
import json
import os
import pathlib
import tempfile

import tap
from provider import OK, Host, Provider

provider = Provider()
RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.network", "sandbox.exec.secrets")
MARK = "other code"
PYTHON = "import hashlib, os\nprint('vetted', len(os.environ.get('KEY', '')))\n"
BASH = "echo vetted ${#KEY}\n"
SECRETS = {"KEY": "{{secret:key}}"}
VETTED = {"python": {"language": "python", "code": PYTHON, "secrets": SECRETS},
          "bash": {"language": "bash", "code": BASH, "secrets": SECRETS}}
top = tempfile.TemporaryDirectory(prefix="code-execute-rules-")
workspace = pathlib.Path(os.path.realpath(top.name))
workspace.chmod(0o755)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def rule(code, language, **more):
    return {"id": "vetted", "decision": "allow", "languages": [language], "code_sha256": [sha256(code)], **more}


RULES = [rule(PYTHON, "python", with_={"secrets": {"KEY": "key"}}), rule(BASH, "bash", with_={"secrets": {"KEY": "key"}})]
for number, made in enumerate(RULES):
    made["id"] += str(number)


def policy(*rules):
    """Network and workspace are there for who is allowed them."""
    return {"secrets": {"allowed": ["key", "other"]}, "network": {"allowed": True}, "workspace": {"below": [str(workspace)]},
            "approval": {"rules": [{name.rstrip("_"): value for name, value in made.items()} for made in rules]}}


class Asked:
    """One call: whether somebody was asked, which secrets were read, what came of it."""

    def __init__(self, request, approve=False, **context):
        read = []
        host = Host(RIGHTS, secrets={"key": b"sesame", "other": b"other"}, context=context or None)
        given = host.read_secret

        def read_secret(name, *rest):
            read.append(name.decode())
            given(name, *rest)
        seen = []

        def ask(token, text, verdict):
            seen.append(text)
            if approve:
                Host.request_approval(host, token, text, verdict)
        host = Host(RIGHTS, context=context or None, read_secret=read_secret, request_approval=ask)
        self.code, self.result = provider.invoke(request, host)
        self.read, self.asked = read, len(seen)
        self.output = self.result["stdout"] + self.result["stderr"]


def runs_unasked(request, what, **context):
    call = Asked(request, **context)
    tap.equal((call.code, call.asked, call.result["status"]), (OK, 0, "completed"), f"{what}: {call.result['error']}")
    return call


def is_asked_about(request, what, **context):
    call = Asked(request, **context)
    error = (call.result["error"] or {}).get("code")
    tap.equal((call.asked, error, call.read, call.result["stdout"]), (1, "approval_denied", [], ""), what)


ATTACKS = {
    "a warning's module opens a browser": ("python", {"env": {
        "PYTHONWARNINGS": "all:0:antigravity.x:0:0", "BROWSER": f"sh -c 'echo {MARK} >&2' %s"}}),
    "a shell's start file": ("bash", {"env": {"BASH_ENV": f"$(echo {MARK} >&2)"}}),
    "a module of the request's": ("python", {"files": [{"path": "hashlib.py", "content": f"print({MARK!r})\n"}]}),
}


def test_vetted_code_is_not_led_astray():
    tap.equal(provider.use_policy(policy(*RULES)), OK)
    for what, (language, attack) in ATTACKS.items():
        call = runs_unasked(VETTED[language], f"{what}: the vetted request itself")
        tap.equal((call.output, call.read), ("vetted 6\n", ["key"]), what)
        is_asked_about({**VETTED[language], **attack}, what)
        allowed = Asked({**VETTED[language], **attack}, approve=True)
        tap.contains(allowed.output, MARK, f"{what}: control")
    provider.reset()


# (what the request has beside the vetted code, what the rule must say for it)
BESIDE = [
    ({"args": ["-v"]}, {"with_": {"args": ["-v"]}}),
    ({"args": ["", "a b"]}, {"with_": {"args": ["", "a b"]}}),
    ({"env": {"LEVEL": "debug", "A": ""}}, {"with_": {"env": {"A": "", "LEVEL": "debug"}}}),
    ({"stdin": "data"}, {"with_": {"stdin_sha256": sha256("data")}}),
    ({"files": [{"path": "b", "content": "2"}, {"path": "a/b", "content": "1"}]},
     {"with_": {"files": {"a/b": sha256("1"), "b": sha256("2")}}}),
    ({"secrets": SECRETS}, {"with_": {"secrets": {"KEY": "key"}}}),
    ({"secrets": SECRETS}, {"with_": {"secrets": {"KEY": "key"}}, "secrets": ["key"]}),
    ({"network": True}, {"network": True}),
]
# What none of the rules above lets in, although each comes near.
NEVER = [{"args": ["-v", "-v"]}, {"args": ["a b", ""]}, {"env": {"LEVEL": "debug"}}, {"env": {"LEVEL": "debug", "A": "", "B": ""}},
         {"env": {"LEVEL": "trace", "A": ""}}, {"stdin": "other"}, {"files": [{"path": "b", "content": "2"}]},
         {"files": [{"path": "a/b", "content": "2"}, {"path": "b", "content": "1"}]}, {"secrets": {"BASH_ENV": "{{secret:key}}"}},
         {"secrets": {"KEY": "{{secret:other}}"}}, {"secrets": {**SECRETS, "OTHER": "{{secret:other}}"}}, {"network": True, "args": ["-v"]}]
PLAIN = {"language": "sh", "code": "echo plain"}


def test_everything_beside_the_code_is_named():
    by_code = rule(PLAIN["code"], "sh")
    for beside, named in BESIDE:
        tap.equal(provider.use_policy(policy(by_code)), OK)
        runs_unasked(PLAIN, "nothing beside the code")
        is_asked_about({**PLAIN, **beside}, f"{beside} is not named")
        tap.equal(provider.use_policy(policy({**by_code, **named})), OK)
        runs_unasked({**PLAIN, **beside}, f"{beside} is named")
        for other in NEVER:
            is_asked_about({**PLAIN, **other}, f"{other} where {named} is named")
    provider.reset()


def test_the_language_and_the_workspace():
    tap.equal(provider.use_policy(policy(rule(PLAIN["code"], "sh"))), OK)
    is_asked_about({**PLAIN, "language": "bash"}, "another language")
    is_asked_about(PLAIN, "what is in a workspace is in no hash", workspace=str(workspace))
    without = rule(PLAIN["code"], "sh")
    del without["languages"]
    tap.equal(provider.use_policy(policy(without)), OK)
    is_asked_about(PLAIN, "no language is named")
    provider.reset()


def test_denials_stay_wide():
    """A denial by the code's hash holds whatever is beside it."""
    tap.equal(provider.use_policy(policy({"decision": "allow"}, {"decision": "deny", "code_sha256": [sha256(PLAIN["code"])]})), OK)
    for beside in ({}, *(beside for beside, _ in BESIDE)):
        call = Asked({**PLAIN, **beside})
        tap.equal((call.asked, call.result["error"]["code"], call.read), (0, "policy_denied", []), f"{beside}")
    runs_unasked({**PLAIN, "code": "echo other"}, "other code")
    provider.reset()


def request_hash(request, **context):
    return Asked(request, **context).result["approval"]["request_sha256"]


def test_one_request_by_its_hash():
    """The hash that an approver is shown names everything; the rule that has it does not change it."""
    request = {**VETTED["bash"], "args": ["x"], "env": {"A": "b"}, "files": [{"path": "f", "content": "1"}], "stdin": "in"}
    tap.equal(provider.use_policy(policy()), OK)
    named, elsewhere = request_hash(request), request_hash(request, workspace=str(workspace))
    tap.equal(provider.use_policy(policy({"decision": "allow", "request_sha256": [named, elsewhere]})), OK)
    call = runs_unasked(request, "by its hash")
    tap.equal((call.result["approval"]["request_sha256"], call.read), (named, ["key"]))
    for change in ({"args": ["y"]}, {"env": {}}, {"files": []}, {"stdin": ""}, {"secrets": {"OTHER": "{{secret:key}}"}}, {"timeout_ms": 9000},
                   {"code": BASH + " "}, {"network": True}):
        is_asked_about({**request, **change}, f"{change}")
    is_asked_about(request, "with a workspace no hash allows", workspace=str(workspace))
    tap.equal(provider.use_policy(policy({"decision": "deny", "request_sha256": [named, elsewhere]})), OK)
    for context in ({}, {"workspace": str(workspace)}):
        call = Asked(request, **context)
        tap.equal((call.asked, call.result["error"]["code"]), (0, "policy_denied"), f"{context}")
    provider.reset()


def test_the_explanation_names_the_differing_member():
    """Why a rule that allows the code does not apply."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(policy(*RULES), file)
        file.flush()
        for beside, what in (({"env": {"A": "b"}}, "env"), ({"args": ["a"]}, "args"), ({"secrets": {}}, "secrets")):
            subject = {"input_json": json.dumps({**VETTED["bash"], **beside})}
            _, answer = provider.prepare(policy_file=file.name, sandbox="process", explain=subject)
            tap.equal((answer["explanation"]["outcome"], answer["explanation"]["rule"]), ("ask", None), what)
            tap.contains("\n".join(answer["explanation"]["notes"]),
                         f"policy:rule:vetted1 allows this code, but does not name the request's {what}")


tap.run(globals())
