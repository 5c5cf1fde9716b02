#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a gateway's context narrows for one call: each member, what it refuses to widen, that no narrowing of thousands gives anything, and
policies/narrowing.schema.json against the parser.

test_narrowing.py INPUT_BRIDGE POLICY_DIRECTORY
"""
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import jsonschema
import tap
from provider import ALLOW, NOT_RUN, OK, PENDING, Host, Provider

BRIDGE, POLICIES = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1)).resolve()
SCHEMA = json.loads((POLICIES / "narrowing.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
provider = Provider()
RIGHTS = ["sandbox.exec", "sandbox.exec.network", "sandbox.exec.secrets", "sandbox.exec.files", "sandbox.exec.limits.extended"]
POLICY = {
    "network": {"allowed": True}, "secrets": {"allowed": ["a", "b"]}, "capabilities": [*RIGHTS[:3], "!sandbox.exec.secrets=b", RIGHTS[4], "sandbox.exec.endpoints"],
    "endpoints": {"one": {"base_url": "https://one.example", "allow": [], "approval": "never"}, "two": {"base_url": "https://two.example", "allow": []}},
    "approval": {"default": "ask", "rules": [{"id": "shells", "decision": "allow", "languages": ["sh"]},
                                             {"id": "no-lua", "decision": "deny", "languages": ["lua"]}]},
    "languages": {"perl": {"limits": {"wall_ms": {"default": 2000, "max": 600000}}}, "ruby": None},
}
SH = {"language": "sh", "code": "true"}
ONE, TWO = ({**SH, "endpoints": [name]} for name in ("one", "two"))
STRICTNESS = ["allow", "ask", "deny"]


def explain(request, narrowing=None, tool="code_execute", **context):
    if narrowing is not None:
        context["policy"] = narrowing
    code, answer = provider.prepare(explain={"input_json": json.dumps(request), "context_json": json.dumps(context), "tool": tool})
    tap.equal((code, answer["error"]), (OK, None))
    return answer["explanation"]


def use(policy):
    tap.equal(provider.use_policy(policy, "process"), OK)


LEFT = [  # narrowing, request, outcome, code of the error, its message or what is told of why
    ({}, SH, "allow", None, "policy:rule:shells says allow"),
    ({"approval": "ask"}, SH, "ask", None, "policy:rule:shells allows, but the context requires approval"),
    ({"approval": "deny"}, SH, "deny", "policy_denied", "policy denied: the gateway does not let this caller run anything"),
    ({"approval": "ask"}, {"language": "lua", "code": "x"}, "deny", "policy_denied", "policy denied: approval rule 1 (no-lua)"),
    ({"languages": ["sh"]}, SH, "allow", None, "policy:rule:shells says allow"),
    ({"languages": ["python", "perl"]}, SH, "deny", "language_not_allowed", "the gateway does not offer this caller the language sh"),
    ({"languages": []}, SH, "deny", "language_not_allowed", "the gateway does not offer this caller the language sh"),
    ({"network": False}, {**SH, "network": True}, "deny", "policy_denied", "policy denied: network"),
    ({"network": True}, {**SH, "network": True}, "allow", None, "policy:rule:shells says allow"),
    ({"limits": {}}, {**SH, "network": True}, "allow", None, "policy:rule:shells says allow"),
    ({"process": {"isolation": "namespaces"}}, SH, "allow", None, "policy:rule:shells says allow"),
    ({"capabilities": ["sandbox.exec"]}, SH, "allow", None, "policy:rule:shells says allow"),
    ({"capabilities": ["sandbox.exec"]}, {**SH, "network": True}, "deny", "access_denied", "access denied: sandbox.exec.network"),
    ({"capabilities": []}, SH, "deny", "access_denied", "access denied: sandbox.exec"),
    ({"capabilities": ["sandbox.exec", "sandbox.exec.secrets=a"]}, {**SH, "secrets": {"A": "{{secret:a}}"}}, "allow", None, "policy:rule:"),
    ({"capabilities": ["!sandbox.exec.secrets=a", "!sandbox.exec.session"]}, SH, "deny", "access_denied", "access denied: sandbox.exec"),
    ({}, ONE, "allow", None, "policy:rule:shells says allow"),
    ({}, TWO, "ask", None, "policy:rule:shells allows, but the endpoint two needs approval"),
    ({"endpoints": ["one"]}, ONE, "allow", None, "policy:rule:shells says allow"),
    ({"endpoints": ["two"]}, ONE, "deny", "policy_denied", "policy denied: endpoint one"),
    ({"endpoints": []}, TWO, "deny", "policy_denied", "policy denied: endpoint two"),
    ({"endpoints": []}, SH, "allow", None, "policy:rule:shells says allow"),
    ({"capabilities": ["sandbox.exec", "sandbox.exec.endpoints=two"]}, ONE, "deny", "access_denied", "access denied: sandbox.exec.endpoints=one"),
    ({"network": True}, {**ONE, "network": True}, "deny", "not_supported", "request: /endpoints: a program with network"),
    ({"limits": {"wall_ms": 1000}}, {**SH, "timeout_ms": 1001}, "deny", "limit_too_high",
     "request: /timeout_ms: 1001 is more than the gateway's ceiling of 1000 for sh"),
]

WIDER = [  # narrowing, where it says more, in which words
    ({"limits": {"memory_bytes": 2**40}}, "/policy/limits/memory_bytes: is more than the policy's 1073741824"),
    ({"limits": {"wall_ms": 600001}}, "/policy/limits/wall_ms: is more than the policy's 600000"),  # Perl's own is the highest
    ({"languages": ["sh", "ruby"]}, "/policy/languages/1: the policy does not offer ruby"),
    ({"endpoints": ["one", "three"]}, "/policy/endpoints/1: the policy does not offer three"),
    ({"capabilities": ["sandbox.exec", "sandbox.exec.files"]}, "/policy/capabilities/1: the policy does not grant sandbox.exec.files"),
    ({"capabilities": ["sandbox.exec.secrets"]}, "/policy/capabilities/0: the policy does not grant sandbox.exec.secrets"),  # but for b
    ({"capabilities": ["sandbox.exec.secrets=b"]}, "/policy/capabilities/0: the policy does not grant sandbox.exec.secrets=b"),
    ({"files": {"in": {"max_files": 33}}}, "/policy/files/in/max_files: is more than the policy's 32"),
    ({"files": {"in": {"max_files": 32}, "out": {"total_bytes": 2**30}}}, "/policy/files/out/total_bytes: is more than the policy's 67108864"),
    ({"files": {"out": {"binary_with_secrets": True}}}, "/policy/files/out/binary_with_secrets: the policy says false"),
    ({"results": {"text_bytes": 2**20 + 1}}, "/policy/results/text_bytes: is more than the policy's 1048576"),
    ({"results": {"images_with_secrets": True}}, "/policy/results/images_with_secrets: the policy says false"),
    ({"process": {"isolation": "unprivileged"}}, "/policy/process/isolation: the policy's is stronger"),
]

MALFORMED = [
    (None, "/policy: must be an object"), ([], "/policy: must be an object"), ({"surplus": 1}, "/policy/surplus: unknown member"),
    ({"limits": {"sandbox_exec_wall_ms": 1}}, "/policy/limits/sandbox_exec_wall_ms: unknown member"),
    ({"limits": {"wall_ms": 0}}, "/policy/limits/wall_ms: must be an integer between 1 and"),
    ({"limits": {"wall_ms": {"max": 5}}}, "/policy/limits/wall_ms: must be an integer"), ({"limits": None}, "/policy/limits: must be an object"),
    ({"languages": "sh"}, "/policy/languages: must be an array"), ({"languages": ["shell"]}, "/policy/languages/0: unknown language"),
    ({"network": 0}, "/policy/network: must be true or false"), ({"approval": "allow"}, "/policy/approval: must be ask or deny"),
    ({"approval": {"default": "ask"}}, "/policy/approval: must be a string"),
    ({"endpoints": "one"}, "/policy/endpoints: must be an array"), ({"endpoints": ["A"]}, "/policy/endpoints/0: must be an endpoint's name"),
    ({"capabilities": ["sandbox"]}, "/policy/capabilities/0: unknown capability"),
    ({"modes": {"allowed": ["none"]}}, "/policy/modes: unknown member"),
    ({"process": {"scratch_directory": "/tmp"}}, "/policy/process/scratch_directory: unknown member"),
    ({"process": {"isolation": "none"}}, "/policy/process/isolation: must be namespaces or unprivileged"), ({"process": None}, "/policy/process: must be an object"),
    ({"files": []}, "/policy/files: must be an object"), ({"files": {"both": {}}}, "/policy/files/both: unknown member"),
    ({"files": {"in": {"file_bytes": 1}}}, "/policy/files/in/file_bytes: unknown member"), ({"files": {"out": None}}, "/policy/files/out: must be an object"),
    ({"files": {"out": {"max_files": -1}}}, "/policy/files/out/max_files: must be an integer between 0 and"),
    ({"results": {"max_items": "1"}}, "/policy/results/max_items: must be an integer"),
    ({"results": {"images_with_secrets": 1}}, "/policy/results/images_with_secrets: must be true or false"),
]


def test_narrowed_requests_have_their_outcome():
    use(POLICY)
    for narrowing, request, outcome, code, words in LEFT:
        told = explain(request, narrowing)
        tap.equal((told["outcome"], told["error"] and told["error"]["code"]), (outcome, code), f"{narrowing} {told}")
        tap.true(told["why"].startswith(words), f"{narrowing}: {told['why']}")


def test_a_widening_context_is_refused():
    use(POLICY)
    for narrowing, words in WIDER:
        for request in (SH, {"language": "perl", "code": "1"}):
            error = explain(request, narrowing)["error"]
            tap.equal((error["code"], error["message"]), ("policy_denied", f"policy denied: context: {words}"))
            tap.contains(error["hint"], "context_json can only narrow")
    host = Host(RIGHTS, context={"policy": WIDER[0][0]})
    code, result = provider.invoke(SH, host)
    tap.equal((code, result["error"]["code"]), (NOT_RUN, "policy_denied"))
    tap.equal([(record["event"], record["narrowing"]) for record in host.records], [("refused", WIDER[0][0])])
    use({})
    tap.contains(explain(SH, {"network": True})["error"]["message"], "/policy/network: the policy allows no network")


def test_a_malformed_narrowing_is_refused():
    use(POLICY)
    for narrowing, words in MALFORMED:
        host = Host(RIGHTS, context={"policy": narrowing})
        code, result = provider.invoke(SH, host)
        tap.equal((code, result["error"]["code"]), (NOT_RUN, "invalid_input"), f"{narrowing}")
        tap.contains(result["error"]["message"], f"context: {words}")
        tap.contains(result["error"]["hint"], "context_json")


def test_limits_are_the_lower_ones():
    use(POLICY)
    whole = explain(SH)["limits"]
    for name in set(whole) - {"wall_ms"}:
        lower = explain(SH, {"limits": {name: whole[name] // 2}})["limits"]
        tap.equal({**whole, name: whole[name] // 2}, lower, name)
        tap.equal(explain(SH, {"limits": {name: whole[name] + 1}})["limits"], whole, f"{name}: more than the default, less than the maximum")
    ceiling = {"limits": {"wall_ms": 3000}}
    tap.equal(explain(SH, ceiling)["limits"], {**whole, "wall_ms": 3000})
    tap.equal(explain({"language": "perl", "code": "1"}, ceiling)["limits"]["wall_ms"], 2000, "Perl's own are less")
    tap.equal(explain({"runtime": "sh", "code": "1"}, ceiling, "sandbox.exec")["limits"]["wall_ms"], 3000, "the other shape of calls")
    more_time = explain({**SH, "timeout_ms": 20000}, {"limits": {"cpu_ms": 15000}})["limits"]
    tap.equal((more_time["wall_ms"], more_time["cpu_ms"]), (20000, 15000))


def run(request, narrowing=None, rights=RIGHTS, wanted=OK, **host):
    code, result = provider.invoke(request, Host([*rights, "sandbox.exec.files"], context={"policy": narrowing or {}, **host.pop("context", {})}, **host))
    tap.equal(code, wanted, f"{narrowing} {result['error']}")
    return result


def test_fewer_files_come_out():
    use({"approval": {"default": "allow"}})
    request = {"language": "sh", "code": "echo 1 >a; echo 22 >b; echo 333 >c"}
    for narrowing, files, omitted in (
            ({}, [("a", None), ("b", None), ("c", None)], None), ({"files": {"out": {"max_files": 3}}}, [("a", None), ("b", None), ("c", None)], None),
            ({"files": {"out": {"max_files": 2}}}, [("a", None), ("b", None)], 1), ({"files": {"out": {"max_files": 0}}}, [], None),
            ({"files": {"out": {"file_bytes": 3}}}, [("a", None), ("b", None), ("c", "too_large")], None),
            ({"files": {"out": {"inline_bytes": 2}}}, [("a", None), ("b", "too_large"), ("c", "too_large")], None)):
        result = run(request, narrowing)
        tap.equal([(file["path"], file.get("omitted")) for file in result["files"]], files, f"{narrowing} {result['files']}")
        tap.equal(result["files_omitted"] and result["files_omitted"]["count"], omitted, narrowing)


def test_no_binary_files_of_a_run_with_secrets():
    use({"approval": {"default": "allow"}, "secrets": {"allowed": ["a"]}, "capabilities": [*RIGHTS, "sandbox.exec.files"],
         "files": {"out": {"binary_with_secrets": True}}})
    request = {"language": "sh", "code": r"printf '\000\377' >a.bin", "secrets": {"A": "{{secret:a}}"}}
    for narrowing, omitted in (({}, None), ({"files": {"out": {"binary_with_secrets": True}}}, None),
                               ({"files": {"out": {"binary_with_secrets": False}}}, "withheld")):
        [file] = run(request, narrowing, secrets={"a": b"hidden-value"})["files"]
        tap.equal(file.get("omitted"), omitted, f"{narrowing} {file}")


def test_fewer_results():
    use({"approval": {"default": "allow"}})
    request = {"language": "python", "code": "for each in range(3): display(each)\n'x' * 100"}
    for narrowing, count, omitted in (({}, 4, None), ({"results": {"max_items": 4}}, 4, None), ({"results": {"max_items": 2}}, 2, 2),
                                      ({"results": {"text_bytes": 50}}, 4, 2)):  # the text's end, and its JSON
        result = run(request, narrowing)
        tap.equal((len(result["results"]), result["results_omitted"] and result["results_omitted"]["count"]), (count, omitted), f"{narrowing} {result}")
    tap.equal(run({"language": "python", "code": "1 + 1"}, {"results": {"max_items": 0}})["results"], [], "none is sent")


def test_fewer_files_go_in():
    use({"approval": {"default": "allow"}, "files": {"in": {"max_files": 3}}})
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"12345")
        file.flush()

        def open_file(_ref, descriptor, size, verdict):
            descriptor[0], size[0], verdict[0] = os.open(file.name, os.O_RDONLY), 5, ALLOW

        given = {"context": {"files": [{"ref": "r", "name": "x", "size": 5}]}, "open_file": open_file}
        request = {"language": "sh", "code": "cat a b", "files": [{"path": path, "ref": "r"} for path in ("a", "b")]}
        for narrowing, words in (({}, None), ({"files": {"in": {"max_files": 2, "total_bytes": 10}}}, None),
                                 ({"files": {"in": {"max_files": 1}}}, "2 files by reference is more than the gateway's files.in.max_files of 1"),
                                 ({"files": {"in": {"total_bytes": 9}}}, "10 bytes of files by reference is more than the gateway's files.in.total_bytes of 9")):
            result = run(request, narrowing, wanted=NOT_RUN if words else OK, **given)
            if words:
                tap.equal((result["error"]["code"], result["error"]["message"]), ("limit_too_high", f"request: /files: {words}"))
            else:
                tap.equal(result["stdout"], "1234512345", narrowing)
        request["files"] += [{"path": path, "ref": "r"} for path in ("c", "d")]
        tap.contains(run(request, {"files": {"in": {"max_files": 3}}}, wanted=NOT_RUN, **given)["error"]["message"], "the policy's files.in.max_files of 3")


def test_it_is_part_of_what_is_approved_and_recorded():
    use(POLICY)
    narrowing = {"network": False, "approval": "ask", "limits": {"wall_ms": 3000}}
    host = Host(RIGHTS, context={"principal": "p", "policy": narrowing})
    code, result = provider.invoke(SH, host)
    tap.equal((code, result["limits"]["wall_ms"]), (OK, 3000), result["error"])
    tap.equal([request["narrowing"] for request in host.requests], [narrowing])
    tap.equal([(record["event"], record["narrowing"]) for record in host.records], [("start", narrowing), ("end", narrowing)])
    plain = Host(RIGHTS, context={"principal": "p"})
    tap.equal(provider.invoke(SH, plain)[0], OK)
    tap.equal((plain.requests, plain.records[0]["narrowing"]), ([], None))
    # Layout and order of what a gateway writes are nobody's business.
    again = explain(SH, {"limits": {"wall_ms": 3000}, "approval": "ask", "network": False}, principal="p")
    tap.equal(again["request_sha256"], host.requests[0]["request_sha256"])


def test_a_grant_is_of_one_narrowing():
    use(POLICY)
    narrowing = {"approval": "ask"}
    tokens = []

    def pend(token, _request, verdict):
        tokens.append(token)
        verdict[0] = PENDING

    tap.equal(provider.invoke(SH, Host(RIGHTS, context={"policy": narrowing}, request_approval=pend))[1]["error"]["code"], "approval_pending")
    provider.reply(tokens[0], {"decision": "allow_once"})
    other = Host(RIGHTS, context={"policy": {**narrowing, "network": False}}, request_approval=lambda *_: None)
    tap.equal(provider.invoke(SH, other)[1]["error"]["code"], "approval_denied", "another narrowing is another request")
    nobody = Host(RIGHTS, context={"policy": narrowing}, request_approval=lambda *_: None)
    tap.equal(provider.invoke(SH, nobody)[0], OK, "the same is the granted one")


def random_narrowing(chance):
    limits = {"wall_ms": [1, 1500, 9999, 250000, 600000], "memory_bytes": [2**24, 2**28, 2**30], "stdout_bytes": [1024, 65536], "cpu_ms": [7, 20000]}
    members = {
        "limits": {name: chance.choice(values) for name, values in limits.items() if chance.random() < 0.5},
        "languages": chance.sample(["sh", "perl", "lua", "python"], chance.randrange(5)),
        "network": chance.random() < 0.5,
        "endpoints": chance.sample(["one", "two"], chance.randrange(3)),
        "approval": chance.choice(["ask", "deny"]),
        "process": {"isolation": chance.choice(["namespaces", "unprivileged"])},
        "capabilities": chance.sample(["sandbox.exec", "sandbox.exec.network", "sandbox.exec.secrets=a", "sandbox.exec.limits.extended",
                                       "sandbox.exec.endpoints=one", "!sandbox.exec.endpoints=two", "!sandbox.exec.network", "!sandbox.exec.secrets"], chance.randrange(7)),
    }
    return {name: value for name, value in members.items() if chance.random() < 0.6}


def random_call(chance):
    request = {"language": chance.choice(["sh", "perl", "lua"]), "code": "1", "network": chance.random() < 0.3}
    if chance.random() < 0.3:
        request["timeout_ms"] = chance.choice([1, 1000, 10000, 300000])
    if chance.random() < 0.3:
        request["secrets"] = {"A": "{{secret:a}}"}
    if chance.random() < 0.3:
        request["endpoints"] = chance.sample(["one", "two"], chance.randrange(3))
    return request


def test_nothing_is_ever_given():
    """Against the same call without a narrowing: never a milder outcome, a higher limit, a capability or another way to run."""
    use(POLICY)
    chance = random.Random(20261122)
    outcomes, lowered = set(), 0
    for number in range(2000):
        request, narrowing = random_call(chance), random_narrowing(chance)
        whole, left = explain(request), explain(request, narrowing)
        what = f"{number}: {request} {narrowing}"
        tap.true(STRICTNESS.index(left["outcome"]) >= STRICTNESS.index(whole["outcome"]), what)
        outcomes.add((whole["outcome"], left["outcome"]))
        for name, value in (left.get("limits") or {}).items():
            tap.true(value <= whole["limits"][name], f"{what}: {name}")
            lowered += value < whole["limits"][name]
        granted = [{entry["name"] for entry in told.get("capabilities") or [] if entry["policy_grants"]} for told in (whole, left)]
        tap.true(granted[1] <= granted[0], what)
        tap.true(whole["request_sha256"] is None or whole["request_sha256"] != left["request_sha256"], what)
        if "limits" in left:
            tap.equal((left["mode"], left["required"], left["policy_sha256"]), (whole["mode"], whole["required"], whole["policy_sha256"]), what)
    tap.equal(outcomes, {(one, other) for one in STRICTNESS for other in STRICTNESS[STRICTNESS.index(one):]}, "each is met")
    tap.true(lowered > 100, f"{lowered} limits were lowered")


def least(rule):
    """The smallest that a schema takes."""
    if rule["type"] == "object":
        return {name: least(inner) for name, inner in rule["properties"].items()}
    return False if rule["type"] == "boolean" else rule["minimum"]


WHOLE = {"process": {"isolation": "namespaces"}, **{section: least(SCHEMA["properties"][section]) for section in ("files", "results")}, "limits": {name: rule["minimum"] for name, rule in SCHEMA["properties"]["limits"]["properties"].items()}, "languages": ["python", "r"],
         "network": False, "endpoints": ["one"], "approval": "ask", "capabilities": ["sandbox.exec", "!sandbox.exec.files", "sandbox.exec.secrets=a.b"]}
OTHERS = [None, True, False, 0, 1, -1, 1.0, 1.5, 2**40, 2**63 - 1, "", "a", "allow", "deny", "shell", "sh", "sandbox.exec=a", "sandbox.exec\n", [], {}, ["sh"],
          ["sh"] * 256, ["sh"] * 257, ["sandbox.exec"] * 257, [None], {"surplus": 1}, {"wall_ms": None}, {"max": 1}]


def places(value, path=()):
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from places(inner, path + (name,))


def mutants():
    yield WHOLE
    numbers = {inner[word] + step for _, inner in places(SCHEMA) if isinstance(inner, dict) for word in ("minimum", "maximum")
               if isinstance(inner.get(word), int) for step in (-1, 0, 1)}
    for path, value in places(WHOLE):
        for new in [*OTHERS, *(numbers if isinstance(value, int) else ())]:
            holder = {"root": copy.deepcopy(WHOLE)}
            at = holder
            for part in ("root", *path[:-1]) if path else ():
                at = at[part]
            at[path[-1] if path else "root"] = new
            yield holder["root"]
        if isinstance(value, dict):
            for name in ("surplus", "modes", "sandbox_exec_wall_ms"):
                document = copy.deepcopy(WHOLE)
                at = document
                for part in path:
                    at = at[part]
                at[name] = 1
                yield document


def test_every_limit_and_language_of_the_policy_is_in_the_schema():
    default = json.loads((POLICIES / "default.json").read_text(encoding="utf-8"))
    of_one_shape = {"sandbox_exec_wall_ms"}  # a narrowing lowers wall_ms, which holds for both shapes of calls
    tap.equal(set(SCHEMA["properties"]["limits"]["properties"]), set(default["limits"]) - of_one_shape)
    tap.equal(set(SCHEMA["properties"]["languages"]["items"]["enum"]), set(default["languages"]))


def test_every_file_and_result_limit_of_the_policy_is_in_the_schema():
    whole = json.loads((POLICIES / "policy.schema.json").read_text(encoding="utf-8"))
    for section in ("files", "results"):
        tap.equal(SCHEMA["properties"][section], whole["properties"][section], section)


def test_the_schema_says_what_the_parser_says():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    documents = [document for document in mutants() if not any(isinstance(value, float) for _, value in places(document))]
    lines = "".join(json.dumps({"policy": document}) + "\n" for document in documents)
    verdicts = subprocess.run([BRIDGE, "contexts"], input=lines, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    tap.equal(len(verdicts), len(documents))
    taken = [verdict == "ok" for verdict in verdicts]
    wrong = [f"{verdict}: {json.dumps(document)[:300]}" for document, verdict, good in zip(documents, verdicts, taken)
             if VALIDATOR.is_valid(document) != good]
    tap.equal(wrong, [])
    tap.true(min(taken.count(True), taken.count(False)) > 50, f"{taken.count(True)} good, {taken.count(False)} bad")


tap.run(globals())
