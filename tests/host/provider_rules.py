# SPDX-License-Identifier: Apache-2.0
"""What the APIs of model providers refuse in a request's tools, as a table: one tool that breaks a rule fails the whole
request. Each rule has its source and an example that breaks it, so that the rule itself is tested too.

A rule is a function of (name, description, schema) that returns whether the tool keeps it.
"""
import re
from typing import NamedTuple


class Rule(NamedTuple):
    source: str
    kept: object
    broken_by: tuple  # (name, description, schema)


def schemas(schema, depth=0):
    """Every schema inside a schema with its depth, itself included."""
    yield schema, depth
    below = list(schema.get("properties", {}).values()) + list(schema.get("anyOf", []))
    below += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    for inner in below:
        yield from schemas(inner, depth + 1)


def every(condition):
    return lambda name, description, schema: all(condition(inner) for inner, depth in schemas(schema))


def lacks(*keywords):
    return every(lambda schema: not set(keywords) & set(schema))


def only(*keywords):
    return every(lambda schema: set(schema) <= set(keywords))


def types(schema):
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def named(pattern):
    return lambda name, description, schema: re.fullmatch(pattern, name) is not None


def member_with(**schema):
    return {"type": "object", "properties": {"x": schema}, "additionalProperties": False, "required": ["x"]}


def nested(levels):
    return member_with(**nested(levels - 1)) if levels else OBJECT


OBJECT = {"type": "object", "properties": {}, "additionalProperties": False, "required": []}
COMBINERS = ("oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties")


def plain_at_the_top(name, description, schema):
    return schema.get("type") == "object" and not set(schema) & {"oneOf", "anyOf", "allOf", "enum", "not"}


OPENAI = [
    Rule("API reference, chat completions, tools.function.name: a-z, A-Z, 0-9, underscores and dashes, 64 at most",
         named(r"[A-Za-z0-9_-]{1,64}"), ("a.b", "", OBJECT)),
    Rule("API error string_above_max_length: tools.function.description, 1024 at most",
         lambda name, description, schema: len(description) <= 1024, ("a", "x" * 1025, OBJECT)),
    Rule("API error invalid_function_parameters: schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/"
         "'enum'/'not' at the top level", plain_at_the_top, ("a", "", {"type": "object", "anyOf": [OBJECT]})),
    Rule("API error invalid_function_parameters: 'oneOf' is not permitted, anywhere", lacks("oneOf"),
         ("a", "", member_with(oneOf=[{"type": "string"}]))),
    Rule("API error invalid_function_parameters: array schema missing items",
         every(lambda schema: "array" not in types(schema) or "items" in schema), ("a", "", member_with(type="array"))),
]
RULES = {
    "openai": OPENAI,
    "openai-strict": OPENAI + [
        Rule("guide Structured Outputs: additionalProperties: false must always be set in objects",
             every(lambda schema: "object" not in types(schema) or schema.get("additionalProperties") is False),
             ("a", "", {"type": "object", "properties": {}, "required": []})),
        Rule("guide Structured Outputs: all fields must be required",
             every(lambda schema: "object" not in types(schema) or
                   set(schema["required"]) == set(schema["properties"])),
             ("a", "", {**member_with(type="string"), "required": []})),
        Rule("guide Structured Outputs: compositions, conditions and pattern properties are not supported",
             lacks(*COMBINERS), ("a", "", member_with(allOf=[]))),
        Rule("guide Structured Outputs, keywords not supported (the part that Azure and fine-tuned models keep to)",
             lacks("minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
                   "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties",
                   "maxProperties", "propertyNames", "contains", "unevaluatedItems", "default"),
             ("a", "", member_with(type="integer", minimum=1))),
        Rule("API error: schema must have a 'type' key", every(lambda schema: "type" in schema or "anyOf" in schema),
             ("a", "", member_with(description="anything"))),
        Rule("guide Structured Outputs: up to 10 levels of nesting",
             lambda name, description, schema: all(depth <= 10 for inner, depth in schemas(schema)),
             ("a", "", nested(11))),
        Rule("guide Structured Outputs: up to 5000 properties and 1000 enum values",
             lambda name, description, schema: sum(len(s.get("properties", {})) for s, d in schemas(schema)) <= 5000 and
             sum(len(s.get("enum", [])) for s, d in schemas(schema)) <= 1000,
             ("a", "", member_with(type="integer", enum=list(range(1001))))),
    ],
    "anthropic": [
        Rule("API reference, messages, tools.name: ^[a-zA-Z0-9_-]{1,64}$", named(r"[A-Za-z0-9_-]{1,64}"),
             ("a.b", "", OBJECT)),
        Rule("API error: input_schema does not support oneOf, allOf, or anyOf at the top level", plain_at_the_top,
             ("a", "", {"type": "object", "anyOf": [OBJECT]})),
        Rule("API error: tools.input_schema.properties: property keys should match ^[a-zA-Z0-9_.-]{1,64}$",
             every(lambda schema: all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", key) for key in schema.get("properties", {}))),
             ("a", "", {"type": "object", "properties": {"a b": {}}})),
        Rule("API reference, managed agents, custom tools: no $ref", lacks("$ref"), ("a", "", member_with(**{"$ref": "#"}))),
    ],
    "gemini": [
        Rule("API reference, FunctionDeclaration.name: a letter or underscore, then a-z, A-Z, 0-9, underscores, colons, dots "
             "and dashes, 64 at most", named(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"), ("1", "", OBJECT)),
        Rule("API reference, Schema: its fields (an unknown one is an error; title, default and pattern are, for older "
             "models)", only("type", "format", "description", "nullable", "enum", "maxItems", "minItems", "properties",
                             "required", "anyOf", "items", "minimum", "maximum"), ("a", "", OBJECT)),
        Rule("API reference, Schema.type: one of a closed set", every(lambda schema: schema.get("type") in (
            "string", "number", "integer", "boolean", "array", "object") or "anyOf" in schema),
             ("a", "", member_with(type=["string", "null"]))),
        Rule("API reference, Schema.enum: values of type STRING",
             every(lambda schema: all(isinstance(value, str) for value in schema.get("enum", []))),
             ("a", "", member_with(type="integer", enum=[1]))),
        Rule("API error: properties: should be non-empty for OBJECT type",
             every(lambda schema: schema.get("type") != "object" or schema.get("properties")), ("a", "", OBJECT)),
        Rule("API error: items: missing field", every(lambda schema: schema.get("type") != "array" or "items" in schema),
             ("a", "", member_with(type="array"))),
        Rule("API error: required: property is not defined",
             every(lambda schema: set(schema.get("required", [])) <= set(schema.get("properties", {}))),
             ("a", "", {"type": "object", "required": ["y"]})),
    ],
    "mcp": [
        Rule("MCP 2026-07-28, Tools, Tool Names: 1 to 128 of A-Z, a-z, 0-9, underscore, hyphen and dot",
             named(r"[A-Za-z0-9_.-]{1,128}"), ("a b", "", OBJECT)),
        Rule("MCP 2026-07-28, schema.ts: inputSchema.type is \"object\"",
             lambda name, description, schema: schema.get("type") == "object", ("a", "", {"type": "string"})),
    ],
}
