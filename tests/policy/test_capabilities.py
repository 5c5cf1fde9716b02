#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/capabilities.md, row by row: each is made into a policy, a host and a request, and the call's answer must be the
row's. That nothing is left out of the first table is held too.

test_capabilities.py CAPABILITIES.md
"""
import itertools
import json
import pathlib
import re
import sys

import tap
from provider import ALLOW, Host, Provider

TEXT = pathlib.Path(sys.argv.pop(1)).read_text(encoding="utf-8")
EXEC = "sandbox.exec"
OF_MODES = ("sandbox.exec.mode.none", "sandbox.exec.mode.unprivileged")
ORDINARY = {"language": "sh", "code": "true"}
provider = Provider()


def rows(heading):
    """The cells of the tables below a heading, without their heads."""
    section = TEXT.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    return [row for row in table if not set(row[0]) <= {"-"} and row[0] not in ("capability", "request")]


def words(cell):
    return [word for word in re.findall(r"`([^`]*)`", cell) if word != "-"]


NEEDS = [(words(name)[0], json.loads(words(request)[0]), json.loads(words(policy)[0])) for name, request, policy, _ in rows("What needs which")]
BY_DEFAULT = [words(name)[0] for name, _, _, granted in rows("What needs which") if granted == "yes"]


def granted_by(grants, asked):
    """docs/abi.md for a host with a list, in this test's own words."""
    name, has_parameter, _ = asked.partition("=")
    if asked.endswith("=!") or "!" + name in grants or "!" + asked in grants:
        return False
    if not has_parameter and any(grant.startswith(f"!{name}=") for grant in grants):
        return False
    return name in grants or asked in grants


SPECIAL = {
    "plain names only": lambda asked: "=" not in asked and asked != "sandbox.exec.secrets",
    "all but S": lambda asked: asked != "sandbox.exec.secrets",
    "anything with =": lambda asked: asked == EXEC or "=" in asked,
}


class ThisHost(Host):
    """Answers by a function; stores no record of a start, so that nothing runs."""

    def __init__(self, grants):
        super().__init__(secrets={"a": b"value-of-a", "b": b"value-of-b"}, context={"tools": [{"name": "add", "input_schema": {}}]},
                         call_tool=lambda *_: None)
        self.grants, self.asked = grants, []

    def check_capability(self, capability, verdict):
        self.asked.append(capability.decode())
        if self.grants(capability.decode()):
            verdict[0] = ALLOW

    def audit(self, record, verdict):
        if json.loads(record)["event"] != "start":
            verdict[0] = ALLOW


def decide(policy, capabilities, host, request):
    policy = {**policy, "capabilities": capabilities, "approval": {"default": "allow"}}
    mode = policy.get("modes", {}).get("default", "process")
    tap.equal(provider.use_policy(policy, mode), 0, f"{policy} is a policy")
    _, output = provider.invoke({**ORDINARY, **request}, host)
    return output["error"]


def check(what, error, decision, denied):
    if decision == "granted":
        # What comes behind: the start record, or an engine or layer that this machine does not have.
        tap.true(error["code"] in ("audit_unavailable", "backend_unavailable", "sandbox_unavailable", "runtime_not_found"), f"{what}: {error}")
    else:
        tap.equal(error["code"], "access_denied", f"{what}: {error}")
        tap.true(error["message"].startswith(f"access denied: {denied}"), f"{what}: {error}")


def test_every_combination_is_in_the_table():
    table = rows("For each of them")
    combinations = {tuple(row[:3]) for row in table}
    tap.equal(len(combinations), len(table), "none is there twice")
    for request, policy, host in itertools.product(("needs it", "does not"), ("`NAME`", "`-`", "`!NAME`", "`NAME` `!NAME`"),
                                                   ("`NAME`", "`-`", "`!NAME`")):
        tap.true((request, policy, host) in combinations, f"{request}, {policy}, {host} is missing")
    manifest = provider.manifest()["tools"][0]["capabilities"]
    names = [entry if isinstance(entry, str) else entry["name"] for entry in manifest["required"] + manifest["optional"]]
    tap.equal(sorted(name for name, _, _ in NEEDS), sorted(names), "every capability of the manifest is there")
    tap.equal(sorted(manifest["default_grant"]), sorted(BY_DEFAULT), "which of them a host may grant by itself")


def test_a_hint_says_who_grants_it_and_leads_out():
    """Denied by the host or by the policy, for each capability: the hint names it, and who does what it says is denied no longer."""
    for name, needs, besides in NEEDS:
        for by_host in (True, False):
            without = [EXEC] if name != EXEC else []
            everything = [EXEC, name]
            policy, host = (everything, without) if by_host else (without, everything)
            error = decide(besides, policy, ThisHost(lambda asked, host=host: granted_by(host, asked)), needs)
            tap.equal(error["code"], "access_denied", f"{name}: {error}")
            who = f"the gateway's operator to grant {name}" if by_host else f"add {name}"
            tap.true(who in error["hint"] and name in error["message"], error)
            found = re.match(r"leave (\w+) out, or ", error["hint"])
            tap.equal(bool(found), name not in (EXEC, *OF_MODES), error)
            if found:
                changed = {member: value for member, value in needs.items() if member != found[1]}
                after = decide(besides, policy, ThisHost(lambda asked, host=host: granted_by(host, asked)), changed)
                tap.true(after["code"] != "access_denied", f"{name}: {after}")


def test_a_host_cannot_grant_capabilities_that_the_context_removed():
    host = ThisHost(lambda asked: True)
    host.struct.context_json = b'{"policy": {"capabilities": ["sandbox.exec"]}}'
    error = decide({}, [EXEC, "sandbox.exec.files"], host, {"files": [{"path": "f", "content": ""}]})
    tap.equal((error["code"], error["hint"]), ("access_denied", "leave files out: the gateway grants this caller less than the policy does"))


def test_more_time_is_advised_only_where_it_would_be_given():
    """A program runs out of time; who follows the hint is not refused, and who asks for one millisecond more is."""
    extended = "sandbox.exec.limits.extended"
    limits = {"limits": {"wall_ms": {"default": 150, "max": 700}, "cpu_ms": {"default": 150, "max": 700}}}
    for request, policy, host, most in (({}, True, True, 700), ({}, True, False, None), ({}, False, True, None),
                                        ({"timeout_ms": 100}, True, True, 700), ({"timeout_ms": 100}, False, True, 150),
                                        ({"timeout_ms": 100}, True, False, 150), ({"timeout_ms": 700}, True, True, None)):
        grants = [EXEC, extended] if host else [EXEC]

        def ask(asking, policy=policy, grants=grants):
            tap.equal(provider.use_policy({**limits, "capabilities": [EXEC, extended] if policy else [EXEC], "approval": {"default": "allow"}},
                                          "process"), 0)
            return provider.invoke({**ORDINARY, **asking}, Host(tuple(grants)))[1]["error"]

        error = ask({"code": "sleep 60", **request})
        if error["code"] in ("sandbox_unavailable", "backend_unavailable"):
            raise tap.Skip(error["message"])
        tap.equal(error["code"], "timeout", error)
        found = re.search(r"set timeout_ms, up to (\d+)$", error["hint"])
        tap.equal(int(found[1]) if found else None, most, f"{request}: {error}")
        if found:
            after = ask({"timeout_ms": most})
            tap.true(after is None or after["code"] == "timeout", after)
            tap.true(ask({"timeout_ms": most + 1})["code"] in ("access_denied", "limit_too_high"), f"one more than {most}")


def list_of(cell, name):
    entries = [word.replace("NAME", name) for word in words(cell)]
    return entries if name == EXEC else [EXEC, *entries]


def test_each_capability_by_policy_and_host():
    made = 0
    for (name, needs, besides), (request, policy, host, decision) in itertools.product(NEEDS, rows("For each of them")):
        if request == "does not" and name == EXEC:
            continue  # every call needs it
        # The mode needs its capability, whatever is asked for.
        besides_now = besides if request == "needs it" or name not in OF_MODES else {}
        grants = list_of(host, name)
        asking = ThisHost(lambda asked, grants=grants: granted_by(grants, asked))
        error = decide(besides_now, list_of(policy, name), asking, needs if request == "needs it" else {})
        made += 1
        check(f"{name}: {request}, policy {policy}, host {host}", error, decision, name)
    tap.true(made > 180, made)


def test_parameters():
    long_names = {"S": "sandbox.exec.secrets", "N": "sandbox.exec.network", "E": "sandbox.exec.endpoints"}

    def entries(cell):
        return [EXEC, *(re.sub(r"^(!?)([SNE])(?==|$)", lambda found: found[1] + long_names[found[2]], word) for word in words(cell))]

    table = rows("With a parameter")
    tap.true(len(table) > 30, len(table))
    for request, policy, host, decision in table:
        special = words(host)[0] if words(host) else None
        grants = entries(host)
        asking = ThisHost(SPECIAL.get(special, lambda asked, grants=grants: granted_by(grants, asked)))
        if request == "network":
            needs, besides, denied = {"network": True}, {"network": {"allowed": True}}, "sandbox.exec.network"
        elif request.startswith("endpoints"):
            needs = {"endpoints": words(request)}
            besides, denied = {"endpoints": {name: {"base_url": f"https://{name}.example", "allow": []} for name in ("one", "two")}}, "sandbox.exec.endpoints="
        else:
            needs = {"secrets": {name.upper(): "{{secret:%s}}" % name for name in words(request)}}
            besides, denied = {"secrets": {"allowed": ["a", "b"]}}, "sandbox.exec.secrets="
        error = decide(besides, entries(policy), asking, needs)
        check(f"{request}, policy {policy}, host {host}", error, decision, denied)


def test_a_host_is_asked_for_the_whole_first_and_only_for_what_the_policy_grants():
    host = ThisHost(lambda asked: asked in (EXEC, "sandbox.exec.secrets=a"))
    decide({"secrets": {"allowed": ["a", "b"]}}, [EXEC, "sandbox.exec.secrets=a"], host, {"secrets": {"A": "{{secret:a}}"}})
    tap.equal(host.asked, [EXEC, "sandbox.exec.secrets", "sandbox.exec.secrets=!", "sandbox.exec.secrets=a"])
    host = ThisHost(lambda asked: True)
    decide({"secrets": {"allowed": ["a", "b"]}}, [EXEC, "sandbox.exec.secrets=a"], host, {"secrets": {"A": "{{secret:b}}"}})
    tap.equal(host.asked, [EXEC])


tap.run(globals())
