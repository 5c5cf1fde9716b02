#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hint never advises what would be refused: each refusal whose hint names a value or a member is met, the hint is followed, and the
call is not refused for the same reason. Walked over policies, hosts, callers and both shapes of calls, in process and docker mode.
Nothing runs: the host stores no record of a start, and docker mode needs no engine for what stands before it.
"""
import itertools
import json
import re
import tempfile

import tap
from provider import ALLOW, Host, Provider

EXEC, EXTENDED, FILES, IMAGE = "sandbox.exec", "sandbox.exec.limits.extended", "sandbox.exec.files", "sandbox.exec.image"
NETWORK, SECRETS = "sandbox.exec.network", "sandbox.exec.secrets"
ALL = [EXEC, EXTENDED, FILES, IMAGE, NETWORK, SECRETS]
SHAPES = {"code_execute": {"language": "sh", "code": "true"}, "sandbox.exec": {"runtime": "sh", "code": "true"}}
PLAUSIBLE = {"stdin": "x", "args": ["x"], "env": {"A": "x"}, "secrets": {"A": "{{secret:a}}"}, "files": [{"path": "f", "content": ""}],
             "timeout_ms": 1, "memory_bytes": 1 << 24, "network": True, "image": "sandbox:2", "session": "s", "reason": "because"}
REFUSALS = ("access_denied", "policy_denied", "limit_too_high", "not_supported", "language_not_allowed", "unknown_language", "invalid_input",
            "secret_not_allowed")
MODES = ("process", "docker")
NO_IMAGES = dict.fromkeys(("python", "javascript", "typescript", "sh", "bash", "zsh", "ruby", "php", "perl", "lua", "r"))  # of default.json
provider = Provider()


class NothingRuns(Host):
    def __init__(self, grants, narrowing=None):
        super().__init__(grants, secrets={"a": b"value-of-a"}, context={"policy": narrowing} if narrowing is not None else None)

    def audit(self, record, verdict):
        if json.loads(record)["event"] != "start":
            verdict[0] = ALLOW


class Caller:
    """One policy, host and context; an engine that is not there, and images that would be."""

    def __init__(self, mode, policy, granted=ALL, host=ALL, narrowing=None, docker=None):
        images = {"images": {**NO_IMAGES, "sh": "sandbox:1", "python": "sandbox:1"}, "offered": ["sandbox:2"], "host": "unix:///nonexistent/docker.sock",
                  "require_digest": False}
        self.policy = {**policy, "capabilities": granted, "approval": {"default": "allow"}, "docker": docker or images}
        self.mode, self.host, self.narrowing = mode, host, narrowing

    def error(self, tool="code_execute", **request):
        tap.equal(provider.use_policy(self.policy, self.mode), 0, f"{self.policy} is a policy")
        _, output = provider.invoke({**SHAPES[tool], **request}, NothingRuns(self.host, self.narrowing), tool)
        return output["error"]

    def is_refused(self, *asked, **request):
        return self.error(*asked, **request)["code"] in REFUSALS


def ceilings():
    """(what, policy, narrowing, the default, the most) of sh; the two shapes have other defaults, but the same ceiling."""
    limits = {"wall_ms": {"default": 2000, "max": 9000}, "sandbox_exec_wall_ms": {"default": 1500, "max": 9000}}
    yield "the policy", {"limits": limits}, None, 9000
    yield "the language", {"languages": {"sh": {"limits": limits}}}, None, 9000
    yield "the narrowing", {"limits": limits}, {"limits": {"wall_ms": 7000}}, 7000
    yield "the narrowing, below the default", {"limits": limits}, {"limits": {"wall_ms": 1000}}, 1000
    yield "the alias's own", {"limits": {**limits, "sandbox_exec_wall_ms": {"default": 1500, "max": 1600}}}, None, 9000


def test_a_time_that_is_advised_is_granted():
    walked = 0
    for mode, (what, policy, narrowing, most), tool in itertools.product(MODES, ceilings(), SHAPES):
        for lacks in (None, "policy", "host", "caller"):
            less = [name for name in ALL if name != EXTENDED]
            given = {**(narrowing or {}), "capabilities": less} if lacks == "caller" else narrowing
            caller = Caller(mode, policy, less if lacks == "policy" else ALL, less if lacks == "host" else ALL, given)
            error = caller.error(tool, timeout_ms=most + 1)
            name = f"{mode}, {tool}, {what}, {lacks} lacks the capability"
            tap.equal(error["code"], "limit_too_high", f"{name}: {error}")
            found = re.search(r"set timeout_ms to (\d+) at most", error["hint"])
            tap.true(found, f"{name}: {error}")
            advised = int(found[1])
            tap.true(not caller.is_refused(tool, timeout_ms=advised), f"{name}: {advised} is refused: {caller.error(tool, timeout_ms=advised)}")
            tap.true(caller.is_refused(tool, timeout_ms=advised + 1), f"{name}: {advised + 1} would be granted, too")
            walked += 1
    tap.equal(walked, 2 * 5 * 2 * 4)


def test_memory_that_is_advised_is_granted():
    most = 1 << 27
    for mode, tool, lacks in itertools.product(MODES, SHAPES, (None, "policy", "host")):
        less = [name for name in ALL if name != EXTENDED]
        caller = Caller(mode, {"limits": {"memory_bytes": {"default": 1 << 26, "max": most}}}, less if lacks == "policy" else ALL, less if lacks == "host" else ALL)
        error = caller.error(tool, memory_bytes=most + 1)
        tap.equal(error["code"], "limit_too_high", error)
        advised = int(re.search(r"set memory_bytes to (\d+) at most, or leave it out", error["hint"])[1])
        tap.equal(advised, 1 << 26 if lacks else most, f"{mode}, {tool}, {lacks} lacks the capability")
        tap.true(not caller.is_refused(tool, memory_bytes=advised), f"{advised} is refused")
        if lacks:
            error = caller.error(tool, memory_bytes=most, timeout_ms=300000)
            tap.contains(error["hint"], "leave timeout_ms and memory_bytes out")
            tap.contains(caller.error(tool, memory_bytes=most)["hint"], "leave memory_bytes out")


def names_of(hint, beginning="use one of: "):
    found = re.search(re.escape(beginning) + r"(.*?)(?:, or ask .*)?$", hint)
    return found[1].split(", ") if found else []


def test_a_language_that_is_advised_is_granted():
    narrow = {"languages": ["sh", "python", "ruby"]}
    for mode, only, narrowing in itertools.product(MODES, (None, ["python", "sh", "perl"], ["perl"]), (None, narrow)):
        policy = {"only_languages": only} if only else {}
        if narrowing and only:
            narrowing = {"languages": [name for name in only if name != "python"]}
        caller = Caller(mode, policy, [EXEC], narrowing=narrowing)
        for asked in ("cobol", "lua"):
            error = caller.error(language=asked)
            if error["code"] not in ("unknown_language", "language_not_allowed"):
                continue  # granted
            names = names_of(error["hint"])
            for name in names:
                tap.true(not caller.is_refused(language=name), f"{mode}, {only}, {narrowing}: {name} of {error}: {caller.error(language=name)}")
            left = [name for name in ("sh", "python", "perl") if not caller.is_refused(language=name)]
            tap.equal(set(left) - set(names), set(), f"{mode}, {only}, {narrowing}: all that are granted are named: {error}")


def test_a_member_that_is_advised_is_granted():
    wide = {"network": {"allowed": True}, "secrets": {"allowed": ["a"]}}
    walked = set()
    for mode, policy, narrowing in itertools.product(MODES, ({}, wide), (None, {"network": False}, {"capabilities": [EXEC, FILES]})):
        for granted, host in ((ALL, ALL), ([EXEC], ALL), (ALL, [EXEC]), (ALL, [EXEC, NETWORK, SECRETS])):
            if narrowing and "capabilities" in narrowing and granted != ALL:
                continue
            caller = Caller(mode, policy, granted, host, narrowing)
            error = caller.error(nonsense=1)
            names = names_of(error["hint"], "the members are: ")
            tap.true({"language", "code", "timeout_ms"} <= set(names), error)
            for name, value in PLAUSIBLE.items():
                answer = caller.error(**{name: value})
                walked.add((name, name in names))
                tap.equal(answer["code"] not in REFUSALS, name in names, f"{mode}, {policy}, {granted}, {host}, {narrowing}: {name}: {error}, {answer}")
    tap.true({(name, listed) for name in ("files", "network", "secrets", "image") for listed in (True, False)} <= walked, walked)


def test_an_image_that_is_advised_is_granted():
    docker = {"host": "unix:///nonexistent/docker.sock", "require_digest": False}
    for images, offered, granted, host in itertools.product(({}, {"sh": "sandbox:1"}), ([], ["sandbox:2"]), (ALL, [EXEC]), (ALL, [EXEC])):
        caller = Caller("docker", {}, granted, host, docker={**docker, "images": {**NO_IMAGES, **images}, "offered": offered})
        error = caller.error(image="sandbox:nonsense")
        tap.equal(error["code"], "policy_denied", error)
        for name in names_of(error["hint"]):
            request = {"image": name} if ":" in name else {"language": name}
            tap.true(not caller.is_refused(**request), f"{images}, {offered}: {request}: {error}")
        if "leave image out" in error["hint"]:
            tap.true(not caller.is_refused(), error)
        may_choose = granted == host == ALL and (images or offered)
        tap.equal("sandbox:" in error["hint"], bool(may_choose), f"{images}, {offered}, {granted}, {host}: {error}")


def test_a_mode_that_is_advised_is_allowed():
    for allowed in (["process"], ["docker", "process"], ["docker"]):
        policy = {"modes": {"default": allowed[0], "allowed": allowed}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(policy, file)
            file.flush()
            code, answer = provider.prepare(policy_file=file.name, sandbox="jail")
            tap.equal((code, answer["error"]["code"]), (1, "unknown_mode"), answer)
            advised = [mode for mode in ("docker", "process", "none") if mode in answer["error"]["hint"]]
            tap.equal(advised, sorted(allowed), answer["error"])


def test_a_hint_names_only_modes_that_the_policy_allows():
    for allowed, advised in ((["docker"], False), (["docker", "process"], True)):
        policy = {"modes": {"default": "docker", "allowed": allowed}, "docker": {"host": "unix:///nonexistent/docker.sock"}}
        tap.equal(provider.use_policy({**policy, "approval": {"default": "allow"}}, "docker"), 0)
        host = Host(tuple(ALL), context={"workspace": "/tmp"})
        error = provider.invoke({**SHAPES["code_execute"], "language": "python"}, host)[1]["error"]
        if error["code"] == "not_supported":
            tap.equal("process mode" in error["hint"], advised, error)
            tap.true("files" not in error["hint"], error)


tap.run(globals())
