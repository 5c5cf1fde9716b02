#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manifest's schemas against a real JSON Schema validator, and against request_parse().

test_schemas.py INPUT_BRIDGE. A corpus of valid requests and of requests with one fault each goes to
both. They must agree, but for the rules in STRICTER and LOOSER, which JSON Schema (in the subset
that every model provider takes) cannot say: each of those names its inputs.
"""
import base64
import copy
import json
import pathlib
import subprocess
import sys
import unittest

import jsonschema
import tap

BRIDGE = pathlib.Path(sys.argv[1])


def ask(what, lines=()):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return subprocess.run([BRIDGE, what], input=text, capture_output=True, text=True, check=True,
                          timeout=60).stdout.splitlines()


MANIFEST = json.loads(ask("manifest")[0])
TOOL = MANIFEST["tools"][0]
INPUT = TOOL["input_schema"]
OUTPUT = TOOL["output_schema"]

BASE = {"language": "python", "code": "print(1)"}
EXAMPLES = json.loads(ask("examples")[0])  # of the table of members, two values each where there are two
FULL = dict({name: values[-1] for name, values in EXAMPLES.items()}, **BASE)
OPTIONAL = [name for name in FULL if name not in BASE]


def with_member(name, value):
    return dict(copy.deepcopy(FULL), **{name: value})


def files(*entries):
    return with_member("files", list(entries))


def integers():
    return [(name, member) for name, member in INPUT["properties"].items() if "integer" in member["type"]]


def valid_requests():
    yield BASE
    yield FULL
    for language in INPUT["properties"]["language"]["enum"]:
        yield dict(BASE, language=language)
    for name in OPTIONAL:
        yield dict(BASE, **{name: FULL[name]})
        yield dict(BASE, **{name: None})
        yield {key: value for key, value in FULL.items() if key != name}
    yield dict(BASE, stdin="", args=[], env={}, secrets={}, files=[], reason="")
    for name, values in EXAMPLES.items():
        for value in values:
            yield with_member(name, value)
    for name, member in integers():
        for number in (member["minimum"], member["minimum"] + 1, member["maximum"]):
            yield with_member(name, number)
    yield with_member("network", False)
    yield with_member("args", ["x"] * 128)
    yield files(*[{"path": f"f{i}", "content": ""} for i in range(64)])
    yield files({"path": "a", "ref": "r"}, {"path": "b", "ref": "x" * 255, "content": None}, {"path": "c", "content": "", "ref": None})
    for path in ("a", ".a", "..a", "a/...", "ä/ö", "a b", "-x", "a\\b"):
        yield files({"path": path, "content": ""})
    for code in (" ", "\u2028", "😀", "a\r\nb", "{{secret:a}}", "\t\x01"):
        yield dict(BASE, code=code)


def wrong_types():
    """Every other type than those of the schema; a string of a closed set has no value that would fit."""
    values = {"null": None, "string": "x", "integer": 7, "number": 1.5, "boolean": True, "array": [], "object": {}}
    for name, member in INPUT["properties"].items():
        types = [member["type"]] if isinstance(member["type"], str) else member["type"]
        for kind, value in values.items():
            if kind not in types or "enum" in member:
                yield with_member(name, value)


def invalid_requests():
    yield {}
    for name in BASE:
        yield {key: value for key, value in FULL.items() if key != name}
    yield from wrong_types()
    for name in ("timeout", "lang", "mode", "sandbox", "Code", "code ", "", "limits", "mounts"):
        yield with_member(name, "x")
    for language in ("", "cobol", "python ", "c", "any"):
        yield dict(BASE, language=language)
    for name, member in integers():
        for number in (0, -1, member["minimum"] - 1, member["maximum"] + 1, 2**62, 0.5, "5000"):
            yield with_member(name, number)
    for item in (None, 1, True, [], {}):
        yield with_member("args", ["a", item])
        yield with_member("env", {"A": item})
        yield with_member("secrets", {"A": item})
    yield with_member("args", ["x"] * 129)
    yield files(*[{"path": f"f{i}", "content": ""} for i in range(65)])
    whole = {"path": "a", "content": "x", "encoding": "utf-8"}
    yield files({"content": "x"})
    yield files(dict(whole, path=None))
    for name in ("path", "content", "ref"):
        for value in (1, [], {}):
            yield files(dict(whole, **{name: value}))
    for encoding in ("hex", "UTF-8", "", 1, True):
        yield files(dict(whole, encoding=encoding))
    for entry in (None, "a", 1, [], dict(whole, mode=420), dict(whole, executable=True)):
        yield files(entry)


# What request_parse() refuses and the schema lets through, by the rule that no schema says.
STRICTER = {
    "code is not empty": [dict(BASE, code=""), dict(BASE, code="\ufeff"),
                          dict(BASE, code="```\n```")],
    "limits in bytes": [
        dict(BASE, code="x" * (2**20 + 1)), with_member("stdin", "x" * (2**20 + 1)),
        with_member("args", ["x" * 32769]), with_member("env", {"A": "x" * 32769}),
        with_member("reason", "x" * 32769), with_member("image", "x" * 256),
        with_member("session", "x" * 129), files({"path": "x" * 256, "content": ""}),
        dict(BASE, code="ä" * (2**19 + 1))],
    "number of an object's members": [
        with_member("env", {f"A{i}": "" for i in range(129)}),
        with_member("secrets", {f"A{i}": "{{secret:a}}" for i in range(33)})],
    "NUL character": [dict(BASE, code="a\0b"), with_member("args", ["\0"]),
                      with_member("env", {"A": "\0"})],
    "names of variables": [with_member("env", {name: ""})
                           for name in ("", "1A", "A B", "A=", "Ä", "A-B", "x" * 257)]
                          + [with_member("secrets", {"A B": "{{secret:a}}"})],
    "a variable in env and secrets": [with_member("env", {"KEY": "x"})],
    "secret handles": [with_member("secrets", {"A": handle}) for handle in (
        "", "plain", "{{secret:}}", " {{secret:a}}", "{{secret:a}}x", "{{secret:-a}}",
        "{{secret:a b}}", "{{secret:" + "a" * 129 + "}}", "{{SECRET:a}}")],
    "paths of files": [files({"path": path, "content": ""}) for path in (
        "", "/a", "..", ".", "a/..", "../a", "a/./b", "a//b", "a/", "a\nb", "a\x7f")],
    "one of content and ref": [files(file) for file in (
        {"path": "a"}, {"path": "a", "content": None}, {"path": "a", "ref": None}, {"path": "a", "content": "", "ref": "r"},
        {"path": "a", "ref": "r", "encoding": "utf-8"})],
    "references": [files({"path": "a", "ref": ref}) for ref in ("", "x" * 256, "a\nb", "a\x7f")],
    "paths that collide": [
        files({"path": "a", "content": ""}, {"path": "a", "content": ""}),
        files({"path": "a", "content": ""}, {"path": "a/b", "content": ""}),
        files({"path": "a/b", "content": ""}, {"path": "a", "content": ""})],
    "base64": [files({"path": "a", "content": content, "encoding": "base64"})
               for content in ("A", "AB==", "AAA", "A AA", "AA==AA==", "=")],
    "image and session are names": [with_member("image", ""), with_member("image", "a b"),
                                    with_member("session", ""), with_member("session", "a/b")],
    "packages are a name": [with_member("packages", name) for name in ("", "A", "1a", "a b", "a_b", "é", "a\n")],
    "an integer is written as one": [with_member("timeout_ms", 5000.0)],
}

# What request_parse() takes and the schema, which models are to follow, does not offer.
LOOSER = {
    "aliases of languages": [dict(BASE, language=name) for name in (
        "python3", "py", "node", "js", "nodejs", "ts", "shell", "rb", "pl", "Rscript", "R",
        "Python", "BASH")],
    "runtime for language": [{"runtime": "python3", "code": "x"},
                             {"runtime": "sh", "language": None, "code": "x"}],
}


def fits(schema, value):
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def keywords(schema):
    """Every keyword that is used anywhere in a schema."""
    found = set()
    if isinstance(schema, dict):
        found |= set(schema)
        for keyword, inner in schema.items():
            if keyword == "properties":
                for member in inner.values():
                    found |= keywords(member)
            elif keyword in ("items", "additionalProperties"):
                found |= keywords(inner)
    return found


class Schemas(unittest.TestCase):
    def test_are_valid(self):
        for schema in (INPUT, OUTPUT):
            jsonschema.Draft202012Validator.check_schema(schema)

    def test_use_what_every_provider_takes(self):
        allowed = {"type", "description", "properties", "required", "additionalProperties", "items",
                   "enum", "minimum", "maximum", "maxItems"}
        for schema in (INPUT, OUTPUT):
            self.assertLessEqual(keywords(schema), allowed)
            self.assertEqual(schema["type"], "object")
            self.assertIs(schema["additionalProperties"], False)
            self.assertNotIn("enum", schema)
        self.assertEqual(INPUT["required"], ["language", "code"])

    def test_describe_every_member(self):
        for schema in (INPUT, OUTPUT):
            for name, member in schema["properties"].items():
                self.assertGreater(len(member["description"]), 5, name)
                self.assertLess(len(member["description"]), 400, name)
                self.assertRegex(name, r"^[A-Za-z0-9_]{1,64}$")

    def test_output_requires_all_but_what_few_have(self):
        def check(schema):
            if "properties" in schema:
                self.assertEqual(sorted(schema["required"]), sorted(set(schema["properties"]) - {"traceparent", "session", "calls", "network", "packages"}))
                for member in schema["properties"].values():
                    check(member)
        check(OUTPUT)

    def test_every_member_is_tried(self):
        self.assertEqual(set(EXAMPLES), set(INPUT["properties"]))
        self.assertFalse([name for name, values in EXAMPLES.items() if not values])

    def test_output_names(self):
        self.assertEqual(list(OUTPUT["properties"]), [
            "status", "stdout", "stderr", "exit_code", "signal", "timed_out", "truncated",
            "duration_ms", "queued_ms", "mode", "policy_sha256", "run_id", "traceparent", "cause", "usage", "limits", "isolation", "files",
            "files_omitted", "results", "results_omitted", "exception", "session", "calls", "network", "packages", "approval", "notes", "error"])
        self.assertEqual(OUTPUT["properties"]["status"]["enum"], [
            "completed", "timeout", "killed", "cancelled", "denied", "pending", "error"])
        self.assertEqual(OUTPUT["properties"]["cause"]["enum"], MANIFEST["causes"] + [None])

    def test_manifest_is_short_enough_for_a_prompt(self):
        self.assertLess(len(json.dumps(INPUT)), 6000)
        self.assertLess(len(TOOL["description"]), 1500)


class Agreement(unittest.TestCase):
    def verdicts(self, requests):
        answers = ask("requests", requests)
        self.assertEqual(len(answers), len(requests))
        return [answer == "ok" for answer in answers], answers

    def compare(self, requests, schema_says, parser_says):
        verdicts, answers = self.verdicts(requests)
        for request, verdict, answer in zip(requests, verdicts, answers):
            with self.subTest(request=json.dumps(request)[:200], answer=answer):
                self.assertEqual(fits(INPUT, request), schema_says)
                self.assertEqual(verdict, parser_says)

    def test_corpus_is_large(self):
        self.assertGreaterEqual(len(list(valid_requests())) + len(list(invalid_requests())), 150)

    def test_valid(self):
        self.compare(list(valid_requests()), True, True)

    def test_invalid(self):
        self.compare(list(invalid_requests()), False, False)

    def test_stricter_rules(self):
        for rule, requests in STRICTER.items():
            with self.subTest(rule=rule):
                self.compare(requests, True, False)

    def test_looser_rules(self):
        for rule, requests in LOOSER.items():
            with self.subTest(rule=rule):
                self.compare(requests, False, True)

    def test_refusals_name_the_place_first(self):
        _, answers = self.verdicts(list(invalid_requests()))
        for answer in answers:
            self.assertRegex(answer, r"^(invalid_input|unknown_language)\trequest: /")

    def test_base64_like_pythons(self):
        contents = [bytes(range(n)) for n in range(70)]
        requests = [files({"path": "a", "content": base64.b64encode(content).decode(),
                           "encoding": "base64"}) for content in contents]
        self.assertTrue(all(self.verdicts(requests)[0]))


RESULT = {
    "status": "error", "stdout": "", "stderr": "", "exit_code": None, "signal": None,
    "timed_out": False,
    "truncated": {"stdout": False, "stderr": False, "stdout_bytes": 0, "stderr_bytes": 0},
    "duration_ms": 0, "queued_ms": 0, "mode": None, "policy_sha256": None, "run_id": "0", "cause": None,
    "usage": {"wall_ms": 0, "user_ms": 0, "system_ms": 0, "peak_memory_bytes": 0, "processes": 0, "output_bytes": 0},
    "limits": {}, "isolation": {"requested": [], "applied": [], "missing": [], "details": {}},
    "files": [], "files_omitted": None, "results": [], "results_omitted": None, "exception": None, "approval": None, "notes": [],
    "error": {"code": "invalid_input", "message": "m", "hint": "h", "retryable": False, "retry_after_ms": None},
}


class Results(unittest.TestCase):
    """The unit tests' own check of results and the output schema say the same of a result and of every fault in it."""

    def faults(self):
        for name in RESULT:
            yield {key: value for key, value in RESULT.items() if key != name}
            for value in (None, "x", 1, 1.5, True, [], [1], ["x"], [{}], {}, {"x": 1}, {"x": "y"}):
                yield dict(RESULT, **{name: value})
        for name in ("truncated", "usage", "isolation", "error"):
            for member in RESULT[name]:
                for value in (None, "x", 1, True, [], {}):
                    yield dict(RESULT, **{name: dict(RESULT[name], **{member: value})})
            yield dict(RESULT, **{name: dict(RESULT[name], surplus=1)})
        yield dict(RESULT, surplus=1)
        yield dict(RESULT, approval={"decision": "allow_once", "id": "a", "approver": None,
                                     "request_sha256": "0"})

    def test_agreement(self):
        results = [RESULT] + list(self.faults())
        answers = ask("results", results)
        self.assertEqual(answers[0], "ok")
        for result, answer in zip(results, answers):
            with self.subTest(result=json.dumps(result), answer=answer):
                self.assertEqual(fits(OUTPUT, result), answer == "ok")


if __name__ == "__main__":
    tap.run_unittest()
