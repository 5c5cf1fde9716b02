# SPDX-License-Identifier: Apache-2.0
"""toolhost manifest --format: of the real provider's tool and of one with a schema that nobody takes as it is."""

import json
import os
import pathlib
import subprocess
import tempfile

import tap
from packages import node_packages
from provider_rules import RULES
from support import HostTest

HERE = pathlib.Path(__file__).parent
BUILD = os.environ["BUILD"]
SCRIPTED = os.environ["SCRIPTED_PROVIDER"]
CODE_EXECUTE = os.environ["CODE_EXECUTE"]
FORMATS = ("mcp", "openai", "openai-strict", "anthropic", "gemini")
INPUT = {"type": "object", "additionalProperties": False, "required": ["a"], "properties": {"a": {"type": "string"}}}

# Each member is something that one provider or another refuses.
WILD = {
    "type": "object", "title": "Wild", "$schema": "https://json-schema.org/draft/2020-12/schema",
    "additionalProperties": True, "required": ["count", "mode"],
    "properties": {
        "count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2, "default": 4},
        "mode": {"type": "string", "description": "How.", "enum": ["a", "b"], "title": "Mode"},
        "address": {"type": "string", "format": "uri", "pattern": "^x", "minLength": 2, "maxLength": 99},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer", "maximum": 3}]},
        "level": {"type": "integer", "enum": [1, 2]},
        "fixed": {"type": "string", "const": "f"},
        "map": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}},
        "open": {"type": "object"},
        "many": {"type": ["array", "null"], "items": {"type": "object", "properties": {
            "deep": {"type": ["string", "null"], "enum": ["x", None]}, "map": {"type": "object"}}}, "maxItems": 5},
        "list": {"type": "array"},
        "two": {"type": ["string", "integer"]},
        "anything": {"description": "any value"},
        "recursive": {"$ref": "#"},
        "one": {"oneOf": [{"type": "string"}]},
        "with blank": {"type": "boolean"},
    },
}


def unwrap(form, tools):
    """(name, description, schema) of each tool of a format."""
    if form == "gemini":
        [group] = tools
        return [(f["name"], f["description"], f.get("parameters")) for f in group["functionDeclarations"]]
    if form.startswith("openai"):
        return [(t["function"]["name"], t["function"]["description"], t["function"]["parameters"]) for t in tools]
    return [(t["name"], t["description"], t["input_schema" if form == "anthropic" else "inputSchema"]) for t in tools]


class ManifestTest(HostTest):
    def tools_of(self, form, *tools):
        """Standard output and standard error for a manifest with those tools."""
        manifest = self.path("manifest.json", json.dumps({"manifest_version": 1, "tools": tools}))
        return self.toolhost("manifest", "--format", form, TOOLHOST_PLUGIN=SCRIPTED, SCRIPTED_MANIFEST=manifest)

    def tool_of(self, form, schema, name="wild", description="Does."):
        done = self.tools_of(form, {"name": name, "description": description, "input_schema": schema})
        self.assertEqual(done.returncode, 0, done.stderr)
        [tool] = unwrap(form, json.loads(done.stdout))
        return tool, done.stderr.decode()

    def real_of(self, form):
        done = self.toolhost("manifest", "--format", form, TOOLHOST_PLUGIN=CODE_EXECUTE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class Rules(ManifestTest):
    def test_each_rule_finds_its_violation(self):
        for form, rules in RULES.items():
            for rule in rules:
                self.assertFalse(rule.kept(*rule.broken_by), (form, rule.source))

    def test_tools_keep_them(self):
        for form in FORMATS:
            tools = unwrap(form, self.real_of(form))
            if form != "mcp":  # which has no rules for what is inside
                tools += [self.tool_of(form, WILD)[0], self.tool_of(form, WILD, "a.name", "Says. " * 300)[0]]
            for tool in tools:
                for rule in RULES[form]:
                    self.assertTrue(rule.kept(*tool), (form, tool[0], rule.source))

    def test_the_wild_schema_breaks_them_as_it_is(self):
        for form in ("openai", "openai-strict", "anthropic", "gemini"):
            broken = [rule for rule in RULES[form] if not rule.kept("wild", "", WILD)]
            self.assertTrue(broken, form)


class Environments(ManifestTest):
    """What the machine's own interpreters have is for operators: no tool list for a model has it."""

    def manifest(self, *words):
        done = self.toolhost("manifest", *words, TOOLHOST_PLUGIN=CODE_EXECUTE)
        return done, json.loads(done.stdout or "{}")

    def test_they_are_in_the_manifest_alone(self):
        environments = self.manifest()[1]["environments"]
        self.assertEqual([(one["name"], one["language"]) for one in environments], [("system", "python"), ("system", "javascript")])
        for form in FORMATS:
            self.assertNotIn("environments", json.dumps(self.real_of(form)))
        manifest = self.path("manifest.json", '{"tools": []}')
        self.assertEqual(json.loads(self.toolhost("manifest", TOOLHOST_PLUGIN=SCRIPTED, SCRIPTED_MANIFEST=manifest).stdout), {"tools": []})

    def test_they_are_those_of_the_policy(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write('{"only_languages": ["sh", "javascript"]}')
            file.flush()
            self.assertEqual([one["language"] for one in self.manifest("--policy", file.name)[1]["environments"]], ["javascript"])
        self.assertNotIn("environments", self.manifest("--sandbox", "docker")[1])

    def test_a_policy_that_is_refused_is_an_error(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write('{"nonsense": 1}')
            file.flush()
            done, printed = self.manifest("--policy", file.name)
        self.assertEqual((done.returncode != 0, printed), (True, {}))
        self.assertIn("nonsense", done.stderr.decode())


class Ajv(ManifestTest):
    def test_schemas_compile_in_strict_mode(self):
        try:
            packages = node_packages.install(HERE / "node", BUILD)
        except node_packages.Unavailable as reason:
            self.skipTest(str(reason))
        least = {"language": "python", "code": "1"}
        members = json.loads(self.toolhost("manifest", TOOLHOST_PLUGIN=CODE_EXECUTE).stdout)["tools"][0]["input_schema"]["properties"]
        nulls = {name: None for name, schema in members.items() if "null" in schema["type"] and "object" not in schema["type"]}
        cases = [{"name": "control", "schema": {"type": "object", "no-keyword": 1}, "invalid": [{}]}]
        for form in FORMATS:
            [(name, description, schema)] = unwrap(form, self.real_of(form))
            # An enumeration of strings has no null in Gemini's subset, whatever is nullable.
            encoding = "utf-8" if form == "gemini" else None
            valid = [{**least, **nulls, "files": [{"path": "a", "content": "b", "ref": None, "encoding": encoding}]}]
            invalid = [{"language": "cobol", "code": "1"}, {"code": "1"}, []]
            if form == "openai-strict":
                invalid += [least, {**valid[0], "mode": "none"}]
            else:
                valid += [least]
            cases.append({"name": form, "schema": schema, "valid": valid, "invalid": invalid})
            if form not in ("mcp", "gemini"):  # Ajv's strict mode takes no unions of types as the wild one has
                small = {**WILD, "properties": {k: v for k, v in WILD["properties"].items() if k != "two"}}
                cases.append({"name": "wild " + form, "schema": self.tool_of(form, small)[0][2]})
        done = subprocess.run(["node", str(HERE / "compile_schemas.cjs"), str(packages)], input=json.dumps(cases),
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([line for line in done.stdout.splitlines() if not line.startswith("control: ")], [])
        self.assertIn("control: strict mode: unknown keyword", done.stdout)


class Documents(ManifestTest):
    def test_mcp_takes_the_tool_as_it_is(self):
        tool = {"name": "a.b", "title": "T", "description": "D", "input_schema": WILD, "output_schema": {"type": "object"},
                "annotations": {"readOnlyHint": True}, "capabilities": {}}
        self.assertEqual(json.loads(self.tools_of("mcp", tool).stdout), [
            {"name": "a.b", "title": "T", "description": "D", "inputSchema": WILD, "outputSchema": {"type": "object"},
             "annotations": {"readOnlyHint": True}}])

    def test_envelopes(self):
        bare = {"name": "t", "description": "D", "input_schema": INPUT}
        strict = {"name": "t", "description": "D", "strict": True, "parameters": INPUT}
        gemini = {"name": "t", "description": "D", "parameters": {
            "type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}}
        for form, expected in {
                "openai": [{"type": "function", "function": {"name": "t", "description": "D", "parameters": INPUT}}],
                "openai-strict": [{"type": "function", "function": strict}],
                "anthropic": [bare],
                "gemini": [{"functionDeclarations": [gemini]}]}.items():
            self.assertEqual(json.loads(self.tools_of(form, bare).stdout), expected, form)

    def test_strict(self):
        (name, description, schema), notes = self.tool_of("openai-strict", WILD)
        self.assertEqual(schema, {
            "type": "object", "additionalProperties": False,
            "required": ["count", "mode", "address", "either", "level", "fixed", "many", "two", "with blank"],
            "properties": {
                "count": {"type": "integer",
                          "description": "(default 4; at least 1; less than 9; a multiple of 2)"},
                "mode": {"type": "string", "description": "How.", "enum": ["a", "b"]},
                "address": {"type": ["string", "null"], "description":
                            '(format "uri"; matching "^x"; at least 2 characters; at most 99 characters)'},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer", "description": "(at most 3)"},
                                     {"type": "null"}]},
                "level": {"type": ["integer", "null"], "enum": [1, 2, None]},
                "fixed": {"type": ["string", "null"], "description": '(always "f")'},
                "many": {"type": ["array", "null"], "description": "(at most 5 items)", "items": {
                    "type": "object", "additionalProperties": False, "required": ["deep"],
                    "properties": {"deep": {"type": ["string", "null"], "enum": ["x", None]}}}},
                "two": {"type": ["string", "integer", "null"]},
                "with blank": {"type": ["boolean", "null"]}}})
        for pointer in ("/map", "/open", "/many/*/map", "/list", "/anything", "/recursive", "/one"):
            self.assertIn(f"wild: openai-strict cannot express {pointer}, which was left out\n", notes)
        self.assertEqual(notes.count("left out"), 7)

    def test_gemini(self):
        (name, description, schema), notes = self.tool_of("gemini", WILD)
        self.assertEqual(schema, {
            "type": "object", "required": ["count", "mode"],
            "properties": {
                "count": {"type": "integer", "minimum": 1,
                          "description": "(default 4; less than 9; a multiple of 2)"},
                "mode": {"type": "string", "description": "How.", "enum": ["a", "b"]},
                "address": {"type": "string", "description":
                            '(format "uri"; matching "^x"; at least 2 characters; at most 99 characters)'},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer", "maximum": 3}]},
                "fixed": {"type": "string", "description": '(always "f")'},
                "many": {"type": "array", "nullable": True, "maxItems": 5, "items": {
                    "type": "object", "properties": {"deep": {"type": "string", "nullable": True, "enum": ["x"]}}}},
                "with blank": {"type": "boolean"}}})
        self.assertEqual(notes.count("left out"), 9)

    def test_anthropic_leaves_out_names_that_it_refuses(self):
        (name, description, schema), notes = self.tool_of("anthropic", WILD)
        self.assertEqual(set(WILD["properties"]) - set(schema["properties"]), {"recursive", "one", "with blank"})
        self.assertEqual(schema["properties"]["map"], WILD["properties"]["map"])

    def test_a_tool_without_parameters(self):
        for form, expected in {"gemini": None, "openai": {"type": "object", "properties": {}},
                               "openai-strict": {"type": "object", "properties": {}, "required": [],
                                                 "additionalProperties": False}}.items():
            self.assertEqual(self.tool_of(form, {"type": "object"})[0][2], expected, form)

    def test_names_are_made_to_fit_and_said(self):
        for form, expected in {"mcp": "a.b", "openai": "a_b", "anthropic": "a_b", "gemini": "a.b"}.items():
            tool, notes = self.tool_of(form, INPUT, "a.b")
            self.assertEqual(tool[0], expected)
            self.assertEqual("a.b is named a_b here" in notes, expected == "a_b")
        for form, expected in {"mcp": "1.b", "openai": "1_b", "gemini": "_.b"}.items():
            self.assertEqual(self.tool_of(form, INPUT, "1.b")[0][0], expected)

    def test_a_long_description_is_cut_where_a_sentence_ends(self):
        tool, notes = self.tool_of("openai", INPUT, description="Säys so. " * 200)
        self.assertTrue(tool[1].endswith("Säys so."), tool[1][-20:])
        self.assertTrue(900 < len(tool[1].encode()) <= 1024)
        self.assertIn("wild: the description has more than 1024 characters and was cut\n", notes)
        self.assertEqual(self.tool_of("openai", INPUT, description="ä" * 700)[0][1], "ä" * 512)


class Refusals(ManifestTest):
    def refused(self, message, form, *tools):
        done = self.tools_of(form, *tools)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(message, done.stderr.decode())

    def test_tools_that_cannot_be_offered_are_refused(self):
        def tool(schema, name="t"):
            return {"name": name, "description": "", "input_schema": schema}

        required = {"type": "object", "required": ["m"], "properties": {"m": {"type": "object"}}}
        self.refused("/m: an object without named members", "gemini", tool(required))
        self.refused("/m: an object without named members", "openai-strict", tool(required))
        for form in FORMATS[1:]:
            self.refused("alternatives at the top", form, tool({**INPUT, "anyOf": []}))
            self.refused("a schema with allOf", form, tool({**INPUT, "allOf": []}))
            self.refused("not of type object", form, tool({"type": "string"}))
            self.refused("no schema object", form, tool({**INPUT, "properties": {"a": True}}))
            self.refused("not \"" + "n" * 65, form, tool(INPUT, "n" * 65))
            self.refused("not \"\"", form, tool(INPUT, ""))
            self.refused("t has no input schema", form, tool(None))
            self.refused("names no tool", form)
            self.refused("two tools would be named t", form, tool(INPUT), tool(INPUT))
        self.refused("two tools would be named a_b", "openai", tool(INPUT, "a.b"), tool(INPUT, "a_b"))
        deep = {"type": "string"}
        for _ in range(11):
            deep = {"type": "object", "required": ["d"], "properties": {"d": deep}}
        self.refused("more levels than model providers accept", "openai", tool(deep))

    def test_an_unknown_format(self):
        for arguments in (("manifest", "--format", "xml"), ("invoke", "--format", "openai-strict")):
            done = self.toolhost(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(b"--format must be ", done.stderr)
        self.assertEqual(self.toolhost("run", "--format", "text", "-").returncode, 2)


if __name__ == "__main__":
    tap.run_unittest()
