# SPDX-License-Identifier: Apache-2.0
"""The real provider through toolhost: skipped where it has not been built."""

import json
import os
import pathlib
import re
import subprocess

import tap
from support import HostTest, Terminal

PROVIDER = os.environ.get("CODE_EXECUTE", "")
ABI_PAGE = pathlib.Path(__file__).parents[2] / "docs" / "abi.md"


def hashed_members():
    """The members in the hash of a request: those that the page's sentence names, and those that its table of input members leads to."""
    page = ABI_PAGE.read_text(encoding="utf-8")
    sentence = re.search(r"`request_sha256` is the SHA-256 of the canonical JSON.*?`workspace_id`", page, re.S)
    table = re.search(r"<!-- generated: input members -->\n(.*?)<!-- end -->", page, re.S)
    columns = [row.split("|")[-2].strip() for row in table[1].splitlines()]
    return set(re.findall(r"`([a-z_0-9]+)`", sentence[0])) - {"request_sha256"} | {cell.strip("`") for cell in columns if cell.startswith("`")}


def leaves(value):
    """The texts and numbers in a JSON value, as a person reads them."""
    if isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from leaves(member)
    elif isinstance(value, str):
        yield value
    elif value is not None:
        yield json.dumps(value)


class CodeExecute(HostTest):
    def real(self, *arguments, **more):
        return self.toolhost(*arguments, TOOLHOST_PLUGIN=PROVIDER, **more)

    def test_conformance(self):
        policy = self.path("policy.json", b'{"secrets": {"allowed": ["conformance"]}, "tools": {"allowed": ["conformance"]}}')
        done = self.toolhost("conformance", PROVIDER, timeout=600, CODE_EXEC_POLICY=policy)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        self.assertIn(b" - secret-kept\n", done.stdout, "secrets are given under that policy")
        self.assertEqual(re.findall(rb" - tool-\S+ # SKIP.*", done.stdout), [], "tools can be called under that policy")

    def test_run(self):
        self.needs_its_mode()
        done = self.real("run", "-l", "sh", "-c", "echo out; echo err >&2; exit 3", "--approve", "always",
                         "--audit", self.audit_file)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"out\n", b"err\n"))
        self.assertEqual(self.toolhost("audit", "verify", self.audit_file).returncode, 0)

    def test_a_reason_is_said_once(self):
        """A message may begin with the words of its code, which is printed in front of it."""
        self.needs_its_mode()
        asked = ("run", "-l", "sh", "-c", "exec sleep 60", "--approve", "always", "--audit", self.audit_file, "--timeout-ms", "300")
        done = self.real(*asked)
        self.assertEqual(done.returncode, 124)
        self.assertIn(b"toolhost: timeout: the program did not end within 300 ms\n", done.stderr)
        done = self.real(*asked, "--no-default-caps")
        self.assertIn(b"toolhost: access_denied: sandbox.exec\n", done.stderr)

    def test_an_approver_sees_every_hashed_member(self):
        self.needs_its_mode()
        asked = ("run", "-l", "sh", "-c", "echo ran", "--audit", self.audit_file, "--env", "PLACE=here", "--timeout-ms", "2345")
        rule = {"id": "known", "decision": "allow", "request_sha256": ["0" * 64]}  # the policy's hash is not that of its base
        policy = {"CODE_EXEC_POLICY": self.path("policy.json", json.dumps({"approval": {"rules": [rule]}}))}
        seen = self.path("seen")
        program = self.path("approve", f"#!/bin/sh\ncat > {seen}\nexit 1\n", 0o700)
        self.real(*asked, "--approve", f"cmd:{program}", "--", "an argument", **policy)
        with open(seen, encoding="utf-8") as file:
            request = json.load(file)
        hashed = hashed_members() & set(request)
        self.assertGreater(hashed, {"args", "code", "environment", "limits", "mode", "network", "policy_base_sha256"})
        terminal = Terminal(self, [*asked, "--", "an argument"], TOOLHOST_PLUGIN=PROVIDER, **policy)
        screen = "".join(line.split("| ", 1)[-1] for line in terminal.wait_for("Run this? [y/N] ").splitlines())
        for name in sorted(hashed):
            for text in leaves(request[name]):
                self.assertIn(text, screen, name)

    def test_narrowed(self):
        """One policy, and less of it for these calls."""
        self.needs_its_mode()
        asked = ("run", "-l", "sh", "-c", "echo ran", "--approve", "always", "--audit", self.audit_file)
        for narrowing, expected, part in (('{"languages": ["sh"], "limits": {"wall_ms": 5000}}', (0, b"ran\n"), b""),
                                          ('{"languages": ["python"]}', (125, b""), b"does not offer this caller the language sh"),
                                          ('{"network": true}', (125, b""), b"/policy/network: the policy allows no network"),
                                          ('{"modes": 1}', (125, b""), b"/policy/modes: unknown member"),
                                          ("{", (125, b""), b"narrowing.json cannot be read: it ends too early, at line 1, byte 1")):
            done = self.real(*asked, "--narrow", self.path("narrowing.json", narrowing))
            self.assertEqual((done.returncode, done.stdout), expected, done.stderr)
            self.assertIn(part, done.stderr)
        self.assertEqual(self.real(*asked, "--narrow", "/nowhere").returncode, 125)
        with open(self.audit_file, encoding="utf-8") as file:
            first = json.loads(file.readline())["record"]
        self.assertEqual((first["narrowing"]["languages"], first["limits"]["wall_ms"]), (["sh"], 5000))

    def call(self, request, *options):
        done = self.real("invoke", "--approve", "always", "--audit", self.audit_file, *options, stdin=json.dumps(request).encode())
        return json.loads(done.stdout)

    def test_out_of_the_box(self):
        """What an ordinary request asks for is granted, up to the policy's maxima; one option takes it all away."""
        self.needs_its_mode()
        ordinary = {"language": "sh", "code": "cat a.txt", "files": [{"path": "a.txt", "content": "hi"}], "timeout_ms": 10001}
        result = self.call(ordinary)
        self.assertEqual((result["error"], result["stdout"], result["limits"]["wall_ms"]), (None, "hi", 10001))
        self.assertEqual(self.call({**ordinary, "timeout_ms": 300001})["error"]["code"], "limit_too_high")
        self.assertEqual(self.call(ordinary, "--no-default-caps")["error"]["message"], "access denied: sandbox.exec")
        for taken, member in (("sandbox.exec.files", "files"), ("sandbox.exec.limits.extended", "timeout_ms")):
            error = self.call(ordinary, "--no-default-caps", *(f"--cap={name}" for name in (
                "sandbox.exec", "sandbox.exec.files", "sandbox.exec.limits.extended") if name != taken))["error"]
            self.assertEqual((error["code"], error["message"]), ("access_denied", f"access denied: {taken}"))
            self.assertTrue(error["hint"].startswith(f"leave {member} out, or "), error)
            self.assertTrue(error["hint"].endswith(f"; with toolhost: --cap {taken}"), error)

    def test_a_refusal_of_the_policy_names_no_option_of_toolhost(self):
        policy = self.path("policy.json", b'{"capabilities": ["sandbox.exec"]}')
        error = self.call({"language": "sh", "code": "cat a", "files": [{"path": "a", "content": ""}]}, "--policy", policy)["error"]
        self.assertEqual((error["code"], error["hint"]),
                         ("access_denied", "leave files out, or ask the operator to add sandbox.exec.files to the policy's \"capabilities\""))

    def test_a_secret_is_named_with_its_option(self):
        policy = self.path("policy.json", b'{"secrets": {"allowed": ["key"]}}')
        request = {"language": "sh", "code": "true", "secrets": {"K": "{{secret:key}}"}}
        error = self.call(request, "--policy", policy)["error"]
        self.assertEqual(error["message"], "access denied: sandbox.exec.secrets=key")
        option = error["hint"].rpartition("with toolhost: ")[2].split()
        self.assertEqual(option, ["--cap", "sandbox.exec.secrets=key"])
        secret = self.path("secret", b"value")
        result = self.call(request, "--policy", policy, "--secret", f"key={secret}", *option)
        self.assertNotEqual((result["error"] or {}).get("code"), "access_denied")

    def test_doctor_shows_path_and_version_of_each_interpreter(self):
        self.needs_its_mode()
        runtimes = {row["language"]: row for row in json.loads(self.real("doctor", "--json").stdout)["runtimes"]}
        report = self.real("doctor").stdout.decode()
        asked = 0
        for language, program in (("python", "python3"), ("bash", "bash"), ("javascript", "node"), ("ruby", "ruby")):
            row = runtimes[language]
            if not row["found"]:
                continue
            version = subprocess.run([row["path"], "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
            self.assertEqual((os.path.basename(row["path"]), row["version"]), (program, version))
            self.assertIn(f"\n  {language}: {row['path']}, {version}\n", report)
            asked += 1
        self.assertGreater(asked, 1)
        self.assertTrue(runtimes["sh"]["path"].endswith("/sh"), "dash has no version to say")

    def test_doctor_tells_how_python_comes_to_programs(self):
        """Copied or not, without which modules, for which reason, and what to do about it."""
        self.needs_its_mode()
        for prepare, environment, how, code, part in (
                ({"fork": False}, {}, "started_ahead", "fork_off", 'has "fork": false'),
                ({}, {"PYTHONWARNINGS": "ignore"}, "started_ahead", "variable_not_known", ": PYTHONWARNINGS"),
                ({"import": ["json"]}, {"PYTHONPATH": "/tmp"}, "started_ahead", "path_not_trusted", ": /tmp")):
            policy = self.path("policy.json", json.dumps(
                {"only_languages": ["python"], "languages": {"python": {"prepare": prepare, "environment": environment}}}).encode())
            report = self.real("doctor", "--policy", policy).stdout.decode()
            for kind in "other programs", "programs that name numpy":
                self.assertRegex(report, f"\n    {kind}: {how}, {code}: [^\n]*{part}\n      remedy: [^\n]+\n")
            [python] = json.loads(self.real("doctor", "--policy", policy, "--json").stdout)["runtimes"]
            self.assertEqual([row["word"] for row in python["preparation"]], [None, "numpy", "pandas", "matplotlib"])
            self.assertEqual({(row["how"], row["code"]) for row in python["preparation"]}, {(how, code)})
        policy = self.path("policy.json", b'{"only_languages": ["python", "sh"], "pools": {"process": {"ready": 0, "most": 0}}}')
        rows = {row["language"]: row for row in json.loads(self.real("doctor", "--policy", policy, "--json").stdout)["runtimes"]}
        self.assertEqual({row["code"] for row in rows["python"]["preparation"]}, {"not_prepared"})
        self.assertIsNone(rows["sh"]["preparation"])

    def test_denied(self):
        done = self.real("run", "-l", "sh", "-c", "echo ran", "--approve", "never", "--audit", self.audit_file)
        self.assertEqual((done.returncode, done.stdout), (125, b""))


if __name__ == "__main__":
    tap.run_unittest()
