#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shipped policies: each loads, each means what it says, and nothing unknown slips in.

test_policies.py INPUT_BRIDGE POLICY_DIRECTORY; the faults are generated from default.json itself,
so that a section added there is covered without a change here.
"""
import copy
import json
import pathlib
import subprocess
import sys
import unittest

import tap
from oracles.merge_patch import merged

BRIDGE = pathlib.Path(sys.argv[1])
POLICIES = pathlib.Path(sys.argv[2])


def shipped():
    """The policies; the schema beside them is none."""
    return [path for path in POLICIES.glob("*.json") if not path.name.endswith(".schema.json")]


def load(name):
    return json.loads((POLICIES / f"{name}.json").read_text(encoding="utf-8"))


def judge(policies):
    """The bridge's verdict on each policy: "ok", or (code, message)."""
    lines = "".join(json.dumps(policy) + "\n" for policy in policies)
    answer = subprocess.run([BRIDGE, "policies"], input=lines, capture_output=True, text=True,
                            check=True, timeout=60)
    verdicts = answer.stdout.splitlines()
    assert len(verdicts) == len(policies), answer
    return [verdict if verdict == "ok" else tuple(verdict.split("\t", 1)) for verdict in verdicts]


def places(value, path=()):
    """(path, value) of value and all that is in it."""
    yield path, value
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from places(inner, path + (name,))


def pointer(path):
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def changed(policy, path, change):
    policy = copy.deepcopy(policy)
    at = policy
    for part in path[:-1]:
        at = at[part]
    change(at, path[-1])
    return policy


# Objects whose names are the operator's to choose, so that no name of the right form is unknown.
OPEN_OBJECTS = ("environment", "environment_without_network", "import_named")
# Members that may be left out.
OPTIONAL = [("description",), ("environment_without_network",)]


def is_open(path):
    return bool(path) and path[-1] in OPEN_OBJECTS


def is_image(path):
    return len(path) == 3 and path[:2] == ("docker", "images")


def is_optional(path):
    return path in OPTIONAL or (len(path) == 2 and path[0] == "languages") or \
        is_image(path) or (is_image(path[:-1]) and path[-1] == "argv") or \
        (len(path) == 3 and path[0] == "languages" and path[2] in ("environment", "read_only", "modules", "prepare")) or \
        (len(path) == 4 and path[2:] == ("prepare", "import_named")) or \
        (len(path) > 1 and is_open(path[:-1]))


class ShippedPolicies(unittest.TestCase):
    def test_each_loads(self):
        names = sorted(path.stem for path in shipped())
        self.assertLessEqual({"default", "development", "in-container", "production"}, set(names))
        for name, verdict in zip(names, judge([load(name) for name in names])):
            self.assertEqual(verdict, "ok", name)

    def test_each_is_described(self):
        readme = (POLICIES / "README.md").read_text(encoding="utf-8")
        for path in shipped():
            self.assertTrue(load(path.stem)["description"], path.name)
            self.assertIn(path.name, readme)
        for section in load("default"):
            self.assertIn(f"`{section}", readme, f"policies/README.md says nothing on {section}")

    def test_production_is_stricter_only(self):
        default, production = load("default"), merged(load("default"), load("production"))
        self.assertEqual(production["modes"], {"default": "docker", "allowed": ["docker"]})
        self.assertIn("cgroup", production["require"])
        self.assertTrue(production["docker"]["require_digest"])
        self.assertEqual(production["approval"]["default"], "ask")
        self.assertLessEqual(set(production["capabilities"]), set(default["capabilities"]))
        self.assertFalse(production["network"]["allowed"])
        self.assertEqual(production["limits"], default["limits"])

    def test_only_development_offers_none(self):
        for name in ("default", "production"):
            policy = merged(load("default"), load(name))
            self.assertNotIn("none", policy["modes"]["allowed"])
            self.assertNotIn("sandbox.exec.mode.none", policy["capabilities"])
        development = merged(load("default"), load("development"))
        self.assertIn("none", development["modes"]["allowed"])
        self.assertNotEqual(development["modes"]["default"], "none")
        self.assertIn("sandbox.exec.mode.none", development["capabilities"])
        self.assertEqual(development["approval"]["default"], "ask")

    def test_only_in_container_does_without_namespaces(self):
        for name in ("default", "production", "development"):
            policy = merged(load("default"), load(name))
            self.assertEqual(policy["process"]["isolation"], "namespaces", name)
            self.assertNotIn("sandbox.exec.mode.unprivileged", policy["capabilities"], name)
        container = merged(load("default"), load("in-container"))
        self.assertEqual(container["modes"], {"default": "process", "allowed": ["process"]})
        self.assertEqual(container["process"], {"isolation": "unprivileged", "scratch_directory": ""})
        self.assertLessEqual({"sandbox.exec.mode.unprivileged", "sandbox.exec.session", "sandbox.exec.tools"}, set(container["capabilities"]))
        self.assertLessEqual(set(container["capabilities"]) - {"sandbox.exec.mode.unprivileged"}, set(load("default")["capabilities"]))
        self.assertEqual((container["approval"], container["network"]), (load("default")["approval"], {"allowed": False}))

    def test_images_are_for_known_languages(self):
        default = load("default")
        self.assertEqual(set(default["docker"]["images"]), set(default["languages"]))


class Mutations(unittest.TestCase):
    """One fault in default.json, at every place where it can be."""

    def setUp(self):
        self.default = load("default")

    def check(self, faults):
        """faults: list of (policy, pointer that the refusal must name)."""
        self.assertGreater(len(faults), 3)
        for (policy, where), verdict in zip(faults, judge([policy for policy, _ in faults])):
            with self.subTest(where=where):
                self.assertNotEqual(verdict, "ok")
                self.assertEqual(verdict[0], "invalid_policy")
                self.assertTrue(verdict[1].startswith(f"policy line: {where}: "), verdict[1])

    def test_unknown_member_of_every_object(self):
        def add(at, name):
            at[name]["surplus"] = 1
        faults = []
        for path, value in places(self.default):
            if not isinstance(value, dict) or is_open(path):
                continue
            holder = {"root": self.default}
            policy = changed(holder, ("root",) + path, add)["root"]
            faults.append((policy, pointer(path + ("surplus",))))
        self.check(faults)

    def test_unknown_member_of_rules(self):
        rule = {"decision": "ask", "surplus": 1}
        self.check([({"approval": {"rules": [{"decision": "ask"}] * i + [rule]}},
                     f"/approval/rules/{i}/surplus") for i in range(4)])

    def test_every_member_missing(self):
        def remove(at, name):
            at[name] = None
        faults = [(changed(self.default, path, remove), pointer(path))
                  for path, _ in places(self.default)
                  if path and isinstance(path[-1], str) and not is_optional(path)]
        self.check(faults)

    def test_every_value_of_another_type(self):
        faults = []
        for path, value in places(self.default):
            if not path:
                continue
            for wrong in ([], {}, "\u0001", 1.5, True, -1):
                if type(wrong) is type(value) or (isinstance(wrong, dict) and (is_open(path) or is_image(path))):
                    continue
                if isinstance(wrong, dict) and isinstance(path[-1], str):
                    # as a patch, {} leaves scalars' places as empty objects
                    pass
                def put(at, name, wrong=wrong):
                    at[name] = wrong
                faults.append((changed(self.default, path, put), pointer(path)))
        self.check(faults)

    def test_default_above_max(self):
        self.check([({"limits": {name: {"default": limit["max"] + 1}}},
                     f"/limits/{name}/default")
                    for name, limit in self.default["limits"].items()])

    def test_limits_of_zero_and_below(self):
        self.check([({"limits": {name: {member: value}}}, f"/limits/{name}/{member}")
                    for name in self.default["limits"]
                    for member in ("default", "max")
                    for value in (0, -1, 2**63 - 1)])

    def test_removing_a_language_is_fine(self):
        patches = [{"languages": {name: None}} for name in self.default["languages"]]
        self.assertEqual(set(judge(patches)), {"ok"})


if __name__ == "__main__":
    tap.run_unittest()
