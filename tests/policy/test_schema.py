#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""policies/policy.schema.json says of a policy file what the parser says of it. Thousands of files are made by changing one place of
good ones; python3-jsonschema's verdict must be the parser's. What a schema cannot say is listed here with its reason: each entry must
be met, and nothing else may differ.

test_schema.py INPUT_BRIDGE POLICY_DIRECTORY
"""
import copy
import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import tap

BRIDGE, POLICIES = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
SCHEMA = json.loads((POLICIES / "policy.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
HASH = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"

# Every member there is, so that each is changed.
WHOLE = {
    "version": 1, "description": "all of it", "modes": {"default": "process", "allowed": ["docker", "process", "none"]},
    "process": {"isolation": "unprivileged", "scratch_directory": "/srv/runs"},
    "require": ["cgroup", "landlock"],
    "capabilities": ["sandbox.exec", "!sandbox.exec.files", "sandbox.exec.secrets=key", "!sandbox.exec.secrets=a.b",
                     "sandbox.exec.network=example.org:443", "sandbox.exec.network=[::1]:1"],
    "content_checks": {"timeout_ms": 5000, "languages": {
        "python": {"action": "refuse", "required": True, "allowed_modules": ["json", "os.path"], "forbidden_modules": [], "forbidden_names": ["eval"]}}},
    "approval": {"default": "ask", "timeout_ms": 1000, "max_waiting": 10, "in_band": False, "decisions": ["once", "deny", "cells"], "rules": [
        {"decision": "allow", "id": "small", "languages": ["python", "sh"], "modes": ["process"], "network": False, "secrets": False, "endpoints": False,
         "code_bytes": {"min": 0, "max": 100}, "principals": ["ops"], "reason": "small things",
         "match": [{"language": "sh", "principal": "ops", "code": "1"}], "not_match": [{"language": "sh", "mode": "docker"}]},
        {"decision": "allow", "languages": ["sh"], "code_sha256": [HASH],
         "with": {"args": ["-v", ""], "env": {"LEVEL": "debug"}, "stdin_sha256": HASH, "files": {"a.csv": HASH, "b/.c": HASH}, "image": "a",
                  "secrets": {"KEY": "key"}},
         "not_match": [{"language": "sh", "code_sha256": HASH, "workspace": True, "with": {"args": [], "secrets": {"KEY": "key"}}}]},
        {"decision": "allow", "request_sha256": [HASH], "match": [{"language": "lua", "request_sha256": HASH}]},
        {"decision": "deny", "secrets": ["key"], "endpoints": ["github"], "code_sha256": [HASH],
         "match": [{"language": "r", "secrets": ["key"], "endpoints": ["github"], "code_sha256": HASH, "code_bytes": 1, "network": True}]}]},
    "network": {"allowed": True},
    "endpoints": {
        "github": {"base_url": "https://api.github.com:8443/v3/", "description": "Issues of acme.",
                   "allow": [{"methods": ["GET", "HEAD"], "paths": ["/repos/acme/*/issues", "/repos/[a-c]%20/**"]}, {"methods": [], "paths": []}],
                   "auth": {"type": "bearer", "secret": "key"}, "headers": {"accept": "application/json", "x-a": ""},
                   "request_headers": ["x-page"], "response_headers": ["x-total"],
                   "limits": {"requests": 5, "request_bytes": 6, "response_bytes": 7, "timeout_ms": 8, "in_flight": 9},
                   "private": False, "ca_file": None, "variables": {"GITHUB_BASE_URL": "", "A": "/v1"}, "preset": "openai", "approval": "never"},
        "one": {"base_url": "http://[fd00::1]:8080", "allow": [], "private": True, "preset": None},
        "two": {"base_url": "https://intranet/a/b.c", "allow": [], "private": True, "auth": {"type": "basic", "secret": "key", "user": "x"}},
        "three": {"base_url": "https://10.1.2.3", "allow": [], "private": True, "auth": {"type": "header", "secret": "key", "name": "x-key", "prefix": "K "}},
        "four": {"base_url": "https://xn--bcher-kva.example", "allow": [], "auth": {"type": "query", "secret": "key", "name": "api_key"}},
        "pypi-files": {"tunnel": "files.pythonhosted.org:443", "description": "", "limits": {}, "private": False, "approval": "ask"},
        "gone": None},
    "environments_directory": "/srv/environments",
    "environments": {
        "data": {"language": "python", "lock": "/etc/data.lock", "description": "numpy 2", "prepare": ["numpy", "a.b"], "wheelhouse": "/srv/wheels",
                 "build_scripts": False, "sha256": HASH, "bytes": 1048576, "inodes": 16},
        "web": {"language": "javascript", "lock": "/etc/package-lock.json", "prepare": [], "endpoints": None, "sha256": None},
        "gone": None},
    "workspace": {"below": ["/srv"]},
    "secrets": {"allowed": ["key", "*"], "rules": {"key": {"languages": ["sh"], "modes": ["process"], "approval": "ask"}, "*": {}},
                "providers": [{"type": "systemd", "directory": "/run/credentials/x"},
                              {"type": "files", "directory": "/run/secrets", "shared": True, "links": False},
                              {"type": "environment", "prefix": "SECRET_"},
                              {"type": "command", "argv": ["/usr/bin/pass", "show", "{name}"], "environment": {"A": "b"}, "inherit": ["HOME"],
                               "timeout_ms": 10}],
                "delivery": {"key": "file", "*": "environment"}},
    "limits": {"wall_ms": {"default": 10, "max": 20}, "memory_bytes": {"default": 16777216}},
    "files": {"in": {"max_files": 4, "total_bytes": 1048576},
              "out": {"max_files": 3, "file_bytes": 10, "total_bytes": 20, "inline_bytes": 5, "binary_with_secrets": True}},
    "results": {"max_items": 1, "text_bytes": 2, "image_bytes": 3, "total_bytes": 4, "images_with_secrets": True},
    "max_runs": 8, "max_queued": 9, "memory_total_bytes": 268435456,
    "sessions": {"max_total": 1, "max_per_principal": 2, "max_cells": 3, "idle_ms": 1000, "age_ms": 2000},
    "tools": {"allowed": ["query_database", "jira.*"], "denied": ["jira.delete"], "max_calls": 1, "max_in_flight": 2, "arguments_bytes": 3, "result_bytes": 64,
              "call_timeout_ms": 5, "wait_total_ms": 0, "rate_per_s": 6,
              "flows": [{"after": ["read_inbox"], "then": ["mail.*"], "decision": "ask"}]},
    "pools": {"docker": {"ready": 1, "idle_ms": 2}, "kubernetes": {"ready": 1, "idle_ms": 2}, "process": {"ready": 1, "most": 2, "memory_bytes": 1048576, "idle_ms": 3},
              "remote": {"ready": 1, "most": 2, "memory_bytes": 1048576, "idle_ms": 3}},
    "outer_uids": {"first": 100000, "count": 100}, "runtime_path": ["/usr/bin"], "view": {"read_only": ["/usr", "/bin"]},
    "environment": {"LANG": "C", "TZ": None}, "environment_without_network": {"A": "b", "PIP_RETRIES": None},
    "languages": {
        "python": {"argv": ["python3", "-u", "{file}"], "file": "main.py", "package": "python3", "environment": {"A": "1"},
                   "read_only": ["/opt/python"], "modules": ["numpy", "a/b"], "limits": {"cpu_ms": {"default": 5, "max": 6}},
                   "prepare": {"interpreter": "python", "fork": False, "import": ["json"], "import_named": {"yaml": ["yaml"]}, "renew_runs": 10, "renew_ms": 11}},
        "javascript": {"prepare": {"interpreter": "node"}}, "zsh": None},
    "only_languages": ["python", "sh"],
    "remote": {"workers": [{"name": "w-1.example", "address": "10.0.0.7:7443"}, {"name": "w2", "address": "[fd00::7]:7443"}], "discover": None,
               "tls": {"authority": "/etc/c/ca.pem", "certificate": "/etc/c/cert.pem", "key": "/etc/c/key.pem"}, "mode": "process"},
    "kubernetes": {"kubeconfig": "/etc/kube/config", "context": "admin@k", "namespace": "runs-1", "runtime_class": "gvisor.1", "service_account": "run",
                   "pull_secret": "registry", "warm_pool": "warm", "user_namespace": True, "offered": ["a/b:1@sha256:2"],
                   "images": {"python": "python:3", "sh": {"image": "alpine", "argv": ["ash", "{file}"]}, "lua": None, "typescript": {"image": "ts"}}},
    "docker": {"host": "unix:///run/x.sock", "context": "remote", "certificates": "/etc/certs", "require_digest": True, "pull": "missing",
               "runtime": "runsc", "offered": ["a/b:1@sha256:2"],
               "images": {"python": "python:3", "sh": {"image": "alpine", "argv": ["ash", "{file}"]}, "lua": None, "typescript": {"image": "ts"}}},
}
SHIPPED = [json.loads((POLICIES / f"{name}.json").read_text(encoding="utf-8")) for name in ("default", "production", "development")]


def sections():
    """One at a time, and of some one part at a time, so that a change is judged by little else."""
    for name, value in WHOLE.items():
        if name in ("endpoints", "environments", "languages"):
            yield from ({name: {part: inner}} for part, inner in value.items())
        elif name == "approval":
            yield {name: {**value, "rules": []}}
            yield from ({name: {"rules": [rule]}} for rule in value["rules"])
        else:
            yield {name: value}


FOUND = {**WHOLE["remote"], "workers": None, "mode": None}
FULL = [{}, {"remote": {**FOUND, "discover": {"dns": "workers.example:7443", "name": "worker.example", "file": None}}},
        {"remote": {**FOUND, "discover": {"file": "/etc/workers"}}}, {"docker": {"images": "one:1"}},
        {"languages": {"sh": {}}, "only_languages": ["sh"]}, *sections()]
BASES = [*FULL, *({name: value} for shipped in SHIPPED for name, value in shipped.items())]

# The schema takes it, the parser does not: (its words, why a schema cannot say it).
PARSER_ALONE = [
    (r'is not in "allowed"', "one member against another"),
    (r'is more than "max"|the default of \d+ is more than the max', "one member against another"),
    (r"the rule \(.*\) (applies|does not apply) to this example", "what a rule says of a request"),
    (r"/only_languages/\d+: is not in \"languages\"", "one member against another"),
    (r"/id: is already the id of rule \d+", "no schema word for a member that is given once in a list of objects"),
    (r"/memory_total_bytes: is less than the", "one member against another"),
    (r"/outer_uids/count: must be an integer between", "one member against another, and the range ends with the ids"),
    (r"must be an integer between|must be an integer$", "a schema takes 1.0 for an integer", lambda document: has_real(document)),
    (r"/prepare/\w+: (missing|unknown member|must be)", "which interpreter it is may stand in the built-in policy"),
    (r'/remote: (needs one of|"discover.dns" and|is missing)', "one member against another"),
    (r"/kubernetes/images/typescript/image: missing", "the schema of docker's, where the built-in policy has an image"),
    (r"/ca_file: ", "a file of this machine"),
    (r"is not in its canonical form|has an address that no endpoint may have", "what an address means"),
    (r'is not in "endpoints" of the policy', "one member against another"),
    (r"must be at most 4096 bytes|must be a string of at most", "bytes, where a schema counts characters", lambda document: has_wide(document)),
]
# The parser takes it, the schema does not: null for a name that nobody has, which a merge patch passes over. Here it is a mistake that is
# worth telling, so the schema says no; see test_null_for_an_unknown_name().


def anywhere(value, test):
    if test(value):
        return True
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(anywhere(item, test) for item in items)


def has_real(document):
    return anywhere(document, lambda value: isinstance(value, float))


def has_wide(document):
    return anywhere(document, lambda value: isinstance(value, str) and not value.isascii())


def judge(documents):
    """The parser's: None, or its message."""
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    answer = subprocess.run([BRIDGE, "policies"], input=lines, capture_output=True, text=True, check=True, timeout=300)
    verdicts = answer.stdout.splitlines()
    tap.equal(len(verdicts), len(documents))
    return [None if verdict == "ok" else verdict.split("\t", 1)[1] for verdict in verdicts]


def places(value, path=()):
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from places(inner, path + (name,))


def changed(document, path, change):
    holder = {"root": copy.deepcopy(document)}
    at = holder
    for part in ("root", *path[:-1]) if path else ():
        at = at[part]
    change(at, path[-1] if path else "root")
    return holder["root"]


REMOVED = object()
OTHERS = [None, True, False, 0, 1, -1, 1.0, 1.5, 2**40, 2**63 - 1, "", "a", "x y", "*", "/", "/proc/1", "/a/../b", "/a//b", "a\n", "\u0001", "é",
          "-x", ".x", "1x", "{file}", "{name}", "a{name}", "sh", "ask", "none", "python", HASH, HASH.upper(), HASH + "\n", "/procfs", "/usr/",
          "sandbox.exec", "!sandbox.exec", "sandbox.exec.network=a:65536", "sandbox.exec.network=A:1", "sandbox.exec.secrets=", "x" * 65,
          "x" * 129, "x" * 256, "x" * 4097, "é" * 2100, ["é" * 2100], "/" + "x" * 4095, [], {}, [None], ["a"], ["sh"], ["process"], ["/a"], ["{file}"], ["a", "{file}"],
          ["/a", "{name}"], ["/a", "b"], [{}], ["a"] * 256, ["a"] * 257, {"a": {}}, {"surplus": 1}, {"default": 1}, {"max": 1},
          {"interpreter": "node"}, {"sh": {}}, {"python": {}}, {"typescript": {}}, [{"language": "sh"}], [{"decision": "ask"}]]

# Likewise, below a section.
OTHERS_BELOW = {"endpoints": [
    ["GET"], ["/a?b"], ["/."], ["host"], "https://a.b", "http://a.b", "https://A.b", "https://a.b.", "https://a.1", "https://0x1", "https://1",
    "https://127.1", "https://a.b/%2f", "https://a.b?c", "https://a.b:0", "https://[::ffff:1.2.3.4]", "https://[::01]", "https://169.254.169.254",
    "a.b:443", "a:443", "1.2.3.4:443"],
    "environments": ["javascript", ["numpy"], "/srv/a:b", {"system": {"language": "python", "lock": "/a"}}, {"Data": {"language": "python", "lock": "/a"}},
                     {"data": {"language": "javascript", "lock": "/a", "prepare": ["x"]}}, {"data": {"language": "python", "lock": "/a"}}]}


def near(value):
    """Numbers and texts beside the one that is there."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value - 1, value + 1, float(value), str(value)]
    if isinstance(value, str):
        return [value + "\n", value + " ", value.upper(), value + "/", "/" + value, value + "é"]
    if isinstance(value, list) and value:
        return [value + [value[0]], value[1:], value * 257, value + [None], [value]]
    return []


def bounds():
    """The edges that the schema itself names, one to each side, where they are of a number with a name of its own."""
    edges = set()
    for _, inner in places(SCHEMA):
        if isinstance(inner, dict):
            edges |= {inner[word] for word in ("minimum", "maximum") if isinstance(inner.get(word), int)}
    return sorted({edge + step for edge in edges for step in (-1, 0, 1) if -2**63 <= edge + step < 2**63})


def mutants():
    numbers = bounds()
    for number, base in enumerate(BASES):
        yield base
        if base not in BASES[:number]:
            yield from of_base(base, number < len(FULL), numbers)


def put(at, name, new):
    if new is REMOVED:
        del at[name]
    else:
        at[name] = new


def of_base(base, full, numbers):
    for path, value in places(base):
        news = near(value) + [REMOVED] * bool(path)
        # The shipped ones repeat the same kinds of places many times.
        news += OTHERS + OTHERS_BELOW.get(path[0] if path else None, []) if full else [None, {}, "", 0]
        if isinstance(value, int) and not isinstance(value, bool) and full:
            news += numbers
        for new in news:
            yield changed(base, path, lambda at, name, new=new: put(at, name, new))
        if isinstance(value, dict):
            for name in ("surplus", "sh", "A B", "a.b", "x" * 300):
                for new in (1, {}, "x"):
                    yield changed(base, (*path, name), lambda at, key, new=new: put(at, key, new))


def explained(words, document):
    for index, (pattern, _, *only) in enumerate(PARSER_ALONE):
        if re.search(pattern, words) and all(test(document) for test in only):
            return index
    return None


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for document in BASES:
        tap.equal([error.message for error in VALIDATOR.iter_errors(document)], [])
    tap.equal(judge(BASES), [None] * len(BASES))


def test_it_says_what_the_parser_says():
    seen, documents = set(), []
    for document in mutants():
        text = json.dumps(document, sort_keys=True)
        if text not in seen:
            seen.add(text)
            documents.append(document)
    met, good, bad, wrong = set(), 0, 0, []
    for document, refusal in zip(documents, judge(documents)):
        valid = VALIDATOR.is_valid(document)
        good, bad = good + (valid and refusal is None), bad + (not valid and refusal is not None)
        if valid == (refusal is None):
            continue
        entry = explained(refusal, document) if valid else None
        if entry is None:
            words = refusal or jsonschema.exceptions.best_match(VALIDATOR.iter_errors(document)).json_path
            wrong.append(f"the {'parser' if valid else 'schema'} refuses: {words} in {json.dumps(document)[:600]}")
        met.add(entry)
    tap.true(not wrong, f"{len(wrong)} of {len(documents)} differ:\n" + "\n".join(wrong[:12]))
    for index, entry in enumerate(PARSER_ALONE):
        tap.true(index in met, f"no document needs it: {entry[:2]}")
    tap.true(good > 300 and bad > 3000, f"{good} good, {bad} bad")
    print(f"# {len(documents)} documents: {good} taken by both, {bad} by neither")


def test_every_member_of_the_parser_is_in_the_schema():
    """By the rows of the parser's tables, as it tells nobody what it knows; a member that was removed has a row that refuses it."""
    known = {name for path, _ in places(SCHEMA) for name in path if isinstance(name, str)}
    plugin = POLICIES.parent / "plugin"
    sources = sorted([*(plugin / "policy").glob("**/policy_*.c"), *(plugin / "backends").glob("*/gateway/*.c")])
    rows = [(source.name, name) for source in sources for name in re.findall(r'^(?:#define \w+)? +\{(?:\.name = )?"([^"]+)"(?!.*refuse_)', source.read_text(), re.M)]
    tap.true(len(rows) > 80, len(rows))
    missing = [f"{name}: {member}" for name, member in rows if member not in known]
    tap.equal(missing, [], "members that the schema does not have")


def test_every_mode_can_be_allowed():
    plugin = POLICIES.parent / "plugin"
    rows = "".join(path.read_text(encoding="utf-8") for path in sorted((plugin / "backends").glob("*/gateway/*.c")))
    names = dict(re.findall(r'const struct sandbox_mode_row (\w+) = \{\n    \.name = "(\w+)"', rows))
    table = (plugin / "vocabulary" / "sandbox_mode.h").read_text(encoding="utf-8")
    listed = {letter: [names[row] for row in re.findall(letter + r"\([A-Z_]+, (\w+)\)", table)] for letter in "XV"}
    tap.true(listed["X"] and listed["V"], "no mode is listed")
    tap.equal(SCHEMA["$defs"]["chosen_mode"]["enum"], listed["X"])
    tap.equal(sorted(SCHEMA["$defs"]["mode"]["enum"]), sorted(listed["X"] + listed["V"]), "rules name variants, too")
    tap.equal(SCHEMA["properties"]["process"]["properties"]["isolation"]["enum"], ["namespaces", *listed["V"]])


def test_every_layer_can_be_required():
    layers = re.findall(r'X\([A-Z_]+, "(\w+)"', (POLICIES.parent / "plugin" / "protocol" / "layers.h").read_text(encoding="utf-8"))
    tap.equal(SCHEMA["properties"]["require"]["items"]["enum"], layers)


def test_null_for_an_unknown_name():
    for document in ({"surplus": None}, {"modes": {"surplus": None}}, {"languages": {"cobol": None}}):
        tap.equal((judge([document]), VALIDATOR.is_valid(document)), ([None], False), document)
    for document in ({"languages": {"lua": None}}, {"description": None}):
        tap.equal((judge([document]), VALIDATOR.is_valid(document)), ([None], True), document)


def test_every_section_of_the_parser_is_in_the_schema():
    """The parser's own names, told by its refusals: a document of each name alone is judged by its value, not as unknown."""
    names = list(SCHEMA["properties"])
    refusals = judge([{name: None} for name in names] + [{"surplus": 1}])
    tap.contains(refusals[-1], "/surplus: unknown member")
    tap.equal([name for name, refusal in zip(names, refusals) if refusal and "unknown member" in refusal], [])
    default = json.loads((POLICIES / "default.json").read_text(encoding="utf-8"))
    absent = ["only_languages", "memory_total_bytes", "remote", "kubernetes"]  # by the machine, or of whoever has workers or a cluster
    tap.equal(sorted(names), sorted([*default, *absent]), "members of the schema, and those of default.json with what is absent there")


tap.run(globals())
