#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A policy is replaced while calls are under way: each call has one policy from its beginning to its end, which its result and its
audit records name; a new one that is no good changes nothing, and neither does a file that somebody else could have written.
"""
import json
import os
import pathlib
import tempfile
import threading

import tap
from provider import NOT_RUN, OK, Host, Provider

provider = Provider()
REQUEST = {"language": "sh", "code": "echo yes"}
# A: nobody is asked, and its limit is 7,001 ms; B: somebody is, and 7,002 ms.
GOOD = [{"approval": {"default": "allow"}, "limits": {"wall_ms": {"default": 7001}}},
        {"approval": {"default": "ask"}, "limits": {"wall_ms": {"default": 7002}}}]
BROKEN = ['{"version": 2}', "{", '{"approval": {"rules": [{"decision": "deny", "match": [{"language": "sh"}], '
          '"languages": ["lua"]}]}}', '{"modes": {"default": "docker", "allowed": ["docker"]}}']


def load(path, **more):
    return provider.prepare(policy_file=str(path), sandbox="process", **more)


def good_policies(folder):
    """{sha256: wall_ms} of the good ones, in force once each; the second stays."""
    found = {}
    for number, policy in enumerate(GOOD):
        path = folder / f"good{number}.json"
        path.write_text(json.dumps(policy))
        code, status = load(path)
        tap.equal(code, OK, status["error"])
        found[status["policy"]["sha256"]] = policy["limits"]["wall_ms"]["default"]
    return found


def call_until(stop, calls):
    while not stop.is_set() or not calls:
        host = Host()
        code, output = provider.invoke(REQUEST, host)
        calls.append((code, output, host))


def check_call(call, policies):
    code, output, host = call
    tap.equal((code, output["status"]), (OK, "completed"), output["error"])
    policy = output["policy_sha256"]
    tap.true(policy in policies, f"{policy} was never good")
    tap.equal(output["limits"]["wall_ms"], policies[policy], "limits of another policy")
    tap.equal(output["approval"]["decision"], "not_required" if policies[policy] == 7001 else "allow_once")
    tap.equal([(record["event"], record["policy_sha256"]) for record in host.records], [("start", policy), ("end", policy)])
    tap.equal([request["policy_sha256"] for request in host.requests], [policy] if policies[policy] == 7002 else [])


def test_calls_keep_their_policy_while_it_is_replaced():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        policies = good_policies(folder)
        for number, text in enumerate(BROKEN):
            (folder / f"broken{number}.json").write_text(text)
        stop = threading.Event()
        calls = [[] for _ in range(4)]
        threads = [threading.Thread(target=call_until, args=(stop, of_thread)) for of_thread in calls]
        for thread in threads:
            thread.start()
        try:
            replaced = 0
            while replaced < 24 or any(len(of_thread) < 4 for of_thread in calls):
                good = folder / f"good{replaced % 2}.json"
                broken = folder / f"broken{replaced % len(BROKEN)}.json"
                tap.equal(provider.library.tool_prepare(json.dumps({"policy_file": str(good), "sandbox": "process"}).encode(), None), OK)
                tap.equal(provider.library.tool_prepare(json.dumps({"policy_file": str(broken), "sandbox": "process"}).encode(), None), NOT_RUN)
                replaced += 1
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        every = [call for of_thread in calls for call in of_thread]
        for call in every:
            check_call(call, policies)
        tap.equal({policies[output["policy_sha256"]] for _, output, _ in every}, {7001, 7002}, "both were in force")


def test_a_broken_policy_is_told_and_the_old_one_stays():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        policies = good_policies(folder)
        last = list(policies)[-1]
        for text in BROKEN:
            (folder / "broken.json").write_text(text)
            code, status = load(folder / "broken.json")
            tap.equal((code, status["policy"]["sha256"]), (NOT_RUN, last), "the old one stays")
            tap.true(status["error"]["code"] in ("invalid_policy", "mode_not_allowed"), status["error"])
            tap.equal(provider.invoke(REQUEST, Host())[1]["policy_sha256"], last)


def test_a_file_that_others_can_write_is_not_loaded():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        policies = good_policies(folder)
        first, last = list(policies)
        path = folder / "good0.json"
        for at, mode, back in ((path, 0o620, 0o600), (path, 0o602, 0o600), (folder, 0o770, 0o700)):
            os.chmod(at, mode)
            code, status = load(path)
            tap.equal((code, status["error"]["code"], status["policy"]["sha256"]), (NOT_RUN, "invalid_policy", last))
            tap.contains(status["error"]["hint"], "chmod go-w")
            os.chmod(at, back)
            code, status = load(path)
            tap.equal((code, status["policy"]["sha256"]), (OK, first), "the same file is taken when only its owner can write it")
            load(folder / "good1.json")


def test_where_there_was_none_a_broken_one_refuses_every_call():
    provider.reset()
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "broken.json"
        path.write_text(BROKEN[0])
        tap.equal(load(path)[0], NOT_RUN)
        code, output = provider.invoke(REQUEST, Host())
        tap.equal((code, output["error"]["code"], output["policy_sha256"]), (NOT_RUN, "invalid_policy", None))
        policies = good_policies(pathlib.Path(name))
        tap.equal(provider.invoke(REQUEST, Host())[1]["policy_sha256"], list(policies)[-1], "until a good one comes")


tap.run(globals())
