#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON (RFC 8785) by the plugin and by tests/support/oracles/canonical.py, over generated values: both must write the same bytes.

test_canonical_twice.py INPUT_BRIDGE
"""
import json
import os
import random
import subprocess
import sys

import tap
from oracles.canonical import canonical

BRIDGE = sys.argv[1]
VALUES = 40000 if os.environ.get("CODE_EXECUTE_TEST_LONG") else 4000
# On both sides of every border that counts: escapes, one, two, three and four bytes, below and above the surrogates.
EDGES = [0x00, 0x01, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1F, 0x20, 0x22, 0x2F, 0x5C, 0x61, 0x7E, 0x7F, 0x80, 0x9F, 0xA0, 0x7FF,
         0x800, 0x2028, 0x2029, 0xD7FF, 0xE000, 0xFB33, 0xFEFF, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0xFFFFF, 0x100000, 0x10FFFF]
NUMBERS = [0, 1, -1, 9, 10, 255, -256, 2 ** 31, -2 ** 31, 2 ** 53 - 1, 1 - 2 ** 53, 2 ** 53]


def ask(lines):
    done = subprocess.run([BRIDGE, "canonical"], input="".join(line + "\n" for line in lines).encode(), capture_output=True, check=True,
                          timeout=120)
    return done.stdout.split(b"\n")[:-1]


def text(chance, most=6):
    points = [chance.choice(EDGES) if chance.random() < 0.7 else chance.randrange(0x20, 0xD800) for _ in range(chance.randrange(most))]
    return "".join(map(chr, points))


def name(chance):
    return text(chance).replace("\0", "")  # jansson's names end at a NUL


def value(chance, depth=0):
    kind = chance.randrange(8 if depth < 5 else 5)
    if kind >= 6:
        return {name(chance): value(chance, depth + 1) for _ in range(chance.randrange(7))}
    if kind == 5:
        return [value(chance, depth + 1) for _ in range(chance.randrange(5))]
    return [None, True, False, text(chance), chance.choice(NUMBERS)][kind]


def spelled(chance, thing):
    """The value as JSON in one of the ways it can be written: escapes or not, blanks or not, members in some order."""
    if isinstance(thing, dict):
        members = list(thing.items())
        chance.shuffle(members)
        thing = dict(members)
    return json.dumps(thing, ensure_ascii=chance.random() < 0.5, separators=chance.choice([(",", ":"), (" , ", " : ")]))


def test_generated_values():
    chance = random.Random(8785)
    values = [value(chance) for _ in range(VALUES)]
    answers = ask(spelled(chance, thing) for thing in values)
    tap.equal(len(answers), len(values))
    for thing, answer in zip(values, answers):
        tap.equal(answer, canonical(thing), repr(thing))
    tap.true(sum(len(answer) for answer in answers) > 20 * VALUES, "the values are not all small")


def test_key_order_by_utf16():
    """The RFC's own example (section 3.2.3), and each pair of edges."""
    given = '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew","1":"One","\\ud83d\\ude00":"Emoji","\\u0080":"Control",' \
            '"\\u00f6":"Latin"}'
    order = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    answer = ask([given])[0]
    tap.equal(list(json.loads(answer)), order)
    pairs = [{chr(left): 1, chr(right): 2} for left in EDGES[1:] for right in EDGES[1:] if left != right]
    for pair, got in zip(pairs, ask(json.dumps(pair) for pair in pairs)):
        tap.equal(got, canonical(pair), repr(pair))
        units = [key.encode("utf-16-be") for key in json.loads(got)]
        tap.equal(units, sorted(units), "a third opinion: big-endian UTF-16 sorts by its bytes")


def test_some_values_have_no_canonical_text():
    tap.equal(ask(['"\\ud800"', '"\\udc00\\ud800"', "1.5", "1e2", "[0.1]", '{"a":1,"a":2}', "nonsense", "-0.0", '{"a":[[1e400]]}']),
              [b"none"] * 9)
    tap.equal(ask(['"\\ud83d\\ude00"', "-0", " [ ] "]), ["\"\U0001f600\"".encode(), b"0", b"[]"], "positive control")


tap.run(globals())
