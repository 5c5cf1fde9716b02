#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No limit is above its maximum, wherever the maximum comes from: the policy, the language, the gateway's narrowing; in both shapes of calls,
with the default and with what a request asks for. All limits of default.json are walked.

test_limits.py POLICY_DIRECTORY
"""
import json
import pathlib
import sys
import tempfile

import tap
from provider import NOT_RUN, OK, Host, Provider

DEFAULTS = json.loads((pathlib.Path(sys.argv.pop(1)) / "default.json").read_text(encoding="utf-8"))["limits"]
provider = Provider()
SHAPES = {"code_execute": {"language": "sh", "code": "true"}, "sandbox.exec": {"runtime": "sh", "code": "true"}}
ASKED = (("timeout_ms", "wall_ms"), ("timeout_ms", "sandbox_exec_wall_ms"), ("memory_bytes", "memory_bytes"))  # members of a request
OF_A_SHAPE = {"sandbox_exec_wall_ms": ("sandbox.exec", "wall_ms")}


def lowered(name):
    """Below every default that the limit has an effect on."""
    return min(DEFAULTS["sandbox_exec_wall_ms"]["default"], DEFAULTS[name]["default"]) // 2 if name.endswith("wall_ms") else DEFAULTS[name]["default"] // 2


def explain(tool, policy, context=None, **asked):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(policy, file)
        file.flush()
        subject = {"tool": tool, "input_json": json.dumps({**SHAPES[tool], **asked})}
        if context:
            subject["context_json"] = json.dumps(context)
        code, answer = provider.prepare(policy_file=file.name, sandbox="process", explain=subject)
    tap.equal((code, answer["error"]), (OK, None), policy)
    return answer["explanation"]


def sources(name, value):
    """(what, policy, context) by which the value is the most that there is."""
    limit = {name: {"default": value, "max": value}}
    yield "the policy", {"limits": limit}, None
    yield "the language", {"languages": {"sh": {"limits": limit}}}, None
    if name not in OF_A_SHAPE:
        yield "the narrowing", {}, {"policy": {"limits": {name: value}}}
        wide = {"limits": {name: {"max": 4 * DEFAULTS[name]["max"]}}}
        yield "the narrowing, of a wide language", {"languages": {"sh": wide}}, {"policy": {"limits": {name: value}}}


def test_every_limit_is_held():
    walked = set()
    for name in DEFAULTS:
        value = lowered(name)
        for what, policy, context in sources(name, value):
            for tool in SHAPES:
                shape, shown = OF_A_SHAPE.get(name, (tool, name))
                if shape != tool:
                    continue
                told = explain(tool, policy, context)
                tap.true(told["limits"][shown] <= value, f"{tool}: {name} of {what}: {told['limits'][shown]} is more than {value}")
                tap.true(told["limits"][shown] < explain(tool, {})["limits"][shown], f"{tool}: {name} of {what}: control")
                walked.add((tool, shown))
    tap.equal(walked, {(tool, name) for tool in SHAPES for name in explain(tool, {})["limits"]}, "limits that were walked")


def test_what_is_asked_for():
    """Up to the maximum of its shape, and not beyond; the processor's time follows no further than its own maximum."""
    for member, name in ASKED:
        value = lowered(name)
        for what, policy, context in sources(name, value):
            for tool in SHAPES:
                shape, shown = OF_A_SHAPE.get(name, (tool, name))
                if shape != tool:
                    continue
                tap.equal(explain(tool, policy, context, **{member: value})["limits"][shown], value, f"{tool}: {name} of {what}")
                error = explain(tool, policy, context, **{member: value + 1})["error"]
                tap.equal(error and error["code"], "limit_too_high", f"{tool}: {name} of {what}")
                tap.contains(error["message"], f"/{member}: {value + 1} is more than the {'gateway' if context else 'policy'}'s ceiling of {value} for sh")
    for tool in SHAPES:
        told = explain(tool, {"limits": {"cpu_ms": {"default": 1000, "max": 2000}}}, timeout_ms=4000)
        tap.equal((told["limits"]["wall_ms"], told["limits"]["cpu_ms"]), (4000, 2000), tool)


def test_more_or_less_memory():
    usual, most = DEFAULTS["memory_bytes"]["default"], DEFAULTS["memory_bytes"]["max"]
    for tool in SHAPES:
        hashes = set()
        for asked in (None, 16 << 20, usual, most):
            told = explain(tool, {"memory_total_bytes": most}, memory_bytes=asked)
            tap.equal(told["limits"]["memory_bytes"], asked or usual, f"{tool}: {asked}")
            needed = "sandbox.exec.limits.extended" in [entry["name"] for entry in told["capabilities"]]
            tap.equal(needed, (asked or usual) > usual, f"{tool}: {asked}: the capability")
            hashes.add(told["request_sha256"])
        tap.equal(len(hashes), 3, "one hash a limit")


def test_no_run_may_have_more_memory_than_all():
    """It would wait for ever, and others behind it."""
    usual = DEFAULTS["memory_bytes"]["default"]
    policy = {"memory_total_bytes": 2 * usual}
    tap.equal(explain("code_execute", policy, memory_bytes=2 * usual)["limits"]["memory_bytes"], 2 * usual)
    tap.contains(explain("code_execute", policy, memory_bytes=2 * usual + 1)["error"]["message"], f"the policy's ceiling of {2 * usual}")


def test_a_language_may_have_more():
    """What the policy's ceiling takes from sandbox.exec a language with a higher one has again."""
    policy = {"limits": {"wall_ms": {"default": 1000, "max": 2000}}, "languages": {"sh": {"limits": {"wall_ms": {"max": 60000}}}}}
    tap.equal(explain("sandbox.exec", policy)["limits"]["wall_ms"], DEFAULTS["sandbox_exec_wall_ms"]["default"])
    tap.equal(explain("sandbox.exec", policy, timeout_ms=60000)["limits"]["wall_ms"], 60000)


def test_a_run_ends_in_its_time():
    tap.equal(provider.use_policy({"limits": {"wall_ms": {"default": 300, "max": 300}}}), OK)
    for tool in SHAPES:
        code, result = provider.invoke({**SHAPES[tool], "code": "sleep 30"}, Host(), tool)
        tap.equal((code, result["status"], result["limits"]["wall_ms"]), (OK, "timeout", 300), tool)
        code, result = provider.invoke({**SHAPES[tool], "timeout_ms": 301}, Host(("sandbox.exec", "sandbox.exec.limits.extended")), tool)
        tap.equal((code, result["error"]["code"]), (NOT_RUN, "limit_too_high"), tool)
    provider.reset()


tap.run(globals())
