# SPDX-License-Identifier: Apache-2.0
"""The command line: names in full, times with a unit, help of each command, and what a mistake was probably meant to be."""

import datetime
import json
import os
import pathlib
import re

import tap
from support import HostTest

SCRIPTED = os.environ["SCRIPTED_PROVIDER"]
CODE_EXECUTE = os.environ["CODE_EXECUTE"]
LONG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


class CommandLine(HostTest):
    def refused(self, *arguments, hint=None, **more):
        done = self.toolhost(*arguments, **more)
        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
        self.assertTrue(done.stderr.startswith(b"toolhost: usage: "), done.stderr)
        if hint:
            self.assertIn(f"toolhost: hint: {hint}\n", done.stderr.decode())
        return done.stderr.decode()

    def printed(self, *arguments):
        done = self.toolhost(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode()

    def commands(self):
        return [line.split()[1] for line in self.printed("completion-words").splitlines() if line.startswith("command ")]


class Options(CommandLine):
    def test_none_is_abbreviated(self):
        """Every beginning of every option is refused, unless it is an option itself."""
        names = {name for command in self.commands() for name in LONG.findall(self.printed(command, "--help"))}
        for given in ("--timeout-m", "--tim", "--netw", "--time=5s", "--approv", "--plugi", "--versio", "--hel", "--no"):
            self.assertNotIn(given.partition("=")[0], names)
            self.assertIn("unknown option --", self.refused("run", "-l", "sh", "-c", "echo x", given, "5"))
        self.assertIn("--verbo", self.refused("run", "-l", "sh", "-vc", "echo x", "--verbo"))

    def test_none_is_abbreviated_at_the_end(self):
        """Neither where its value is missing; an option itself is then told that it is."""
        self.assertIn("unknown option --tim ", self.refused("run", "-c", "x", "--tim"))
        self.assertIn("--timeout needs a value", self.refused("run", "-c", "x", "--timeout"))

    def test_a_value_that_is_not_taken(self):
        self.assertIn("--verbose takes no value", self.refused("run", "-c", "x", "--verbose=3"))
        self.assertIn("unknown option --verb ", self.refused("run", "-c", "x", "--verb=3"))

    def test_a_time_has_a_unit(self):
        for given in ("5", "0", "1500"):
            self.assertIn(f"--timeout needs a unit: {given}s, {given}ms or {given}m", self.refused("run", "-c", "x", "--timeout", given))
        for given in ("", "s", "5 s", "-5s", "5x", "0s", "2d", "1e3ms", "99999999999999999999s", "5s5"):
            self.assertIn("--timeout must be a duration such as", self.refused("run", "-c", "x", "--timeout", given))
        for given in ("300ms", "--timeout=300ms"):
            options = ("--timeout", given) if not given.startswith("--") else (given,)
            done = self.run_code("echo before\nsleep 60", *options)
            self.assertEqual((done.returncode, done.stdout), (124, b"before\n"))
        for given in ("20s", "1m", "1h"):
            self.assertEqual(self.run_code("echo x", "--timeout", given).returncode, 0)

    def test_misspelled_words_get_a_suggestion(self):
        for arguments, hint in ((["rnu"], "did you mean run?"), (["aprovals"], "did you mean approvals?"),
                                (["run", "--netwrok"], "did you mean --network?"), (["run", "--timeuot", "5s"], "did you mean --timeout?"),
                                (["run", "--secrets", "a=b"], "did you mean --secret?"), (["audit", "shwo"], "did you mean toolhost audit show?"),
                                (["approvals", "aprove", "1"], "did you mean toolhost approvals approve?"),
                                (["run", "-c", "x", "--sweep"], "toolhost run --help")):
            with self.subTest(arguments):
                self.refused(*arguments, hint=hint)
        for arguments in (["frobnicate"], ["run", "--xyzzy"], ["audit", "frobnicate"]):
            self.assertNotIn("did you mean", self.refused(*arguments))

    def test_version(self):
        self.assertRegex(self.printed("-V"), r"\Atoolhost \d+\.\d+\.\d+\n\Z")
        self.assertEqual(self.printed("-V"), self.printed("--version"))

    def test_an_option_without_effect_is_refused(self):
        for arguments in (["audit", "verify", "--json"], ["audit", "head", "--json"], ["approvals", "deny", "1", "--open"]):
            self.refused(*arguments)


class Help(CommandLine):
    def test_each_command_has_its_own(self):
        whole = self.printed("--help")
        self.assertEqual(whole, self.printed("help"))
        self.assertTrue({"run", "session", "sessions", "invoke", "mcp", "doctor", "status", "manifest", "policy", "approvals", "artifacts",
                         "env", "audit", "conformance", "help"}
                        == set(self.commands()))
        for command in self.commands():
            text = self.printed("help", command)
            self.assertIn(f"\n  {command} ", whole)
            self.assertTrue(text.startswith(f"Usage: toolhost {command} "), text)
            if command != "help":  # toolhost help --help is about all of them
                self.assertEqual(text, self.printed(command, "--help"))
                self.assertEqual(text, self.printed(command, "-h"))
            self.assertLessEqual(max(map(len, text.splitlines())), 80, command)
        self.refused("help", "rnu")

    def test_it_has_what_the_command_takes_and_nothing_else(self):
        words = {command: re.findall(r"^option (--\S+) ?(.*)$", self.printed("completion-words", command), re.M) for command in self.commands()}
        every = {option for options in words.values() for option in options}
        self.assertGreater(len(every), 45)
        for command, options in words.items():
            listed = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", self.printed("help", command), re.M)
            self.assertEqual([name for name, _ in options], listed)
            for name in sorted({name for name, kind in every if not kind} - set(listed)):
                self.assertIn(f"{command} has no option {name}\n", self.refused(command, name))


class Set(CommandLine):
    """--set: members of the tool's input, as the provider's manifest describes them."""

    def printed_with(self, *settings, given=(), **more):
        """What a program prints of its variables A and B, its arguments, its standard input and its file f."""
        program = 'printf "%s|" "$A" "$B" "$@"; cat; if [ -f f ]; then cat f; fi'
        done = self.toolhost("run", "-l", "sh", "-c", program, "--approve", "always", "--audit", "/dev/null", *given,
                             *(word for setting in settings for word in ("--set", setting)), TOOLHOST_PLUGIN=CODE_EXECUTE, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_each_type(self):
        self.needs_its_mode()
        self.assertEqual(self.printed_with("stdin=in=1", "args=x", "args=y z", "env=A=1", "env=B=", "timeout_ms=4K"), "1||x|y z|in=1")
        self.assertEqual(self.printed_with('args=["p", "q"]', 'env={"A": "2"}', 'files={"path": "f", "content": "data"}'), "2||p|q|data")
        self.assertEqual(self.printed_with("env=B=3", "args=last", given=("--env", "A=2", "--timeout", "5s")), "2|3|last|")

    def test_endpoints_are_named(self):
        self.needs_its_mode()
        if not pathlib.Path(CODE_EXECUTE).with_name("code-execute-egress").exists():
            self.skipTest("the broker of endpoints is not built here: it takes libmicrohttpd and libcurl")
        definition = {"base_url": "https://upstream.invalid", "allow": [], "approval": "never"}
        policy = self.path("policy.json", json.dumps({"version": 1, "sessions": {"max_total": 1}, "approval": {"default": "allow"},
                                                      "endpoints": {name: definition for name in ("one", "two", "three")}}))
        options = ("--policy", policy, "--audit", "/dev/null", "--cap", "sandbox.exec.endpoints", "-l", "sh", "--endpoint", "one", "--endpoint", "two")
        code = 'echo "$CODE_EXECUTE_ENDPOINT_ONE $CODE_EXECUTE_ENDPOINT_TWO $CODE_EXECUTE_ENDPOINT_THREE"'
        urls = "http://127.0.0.1:8080/one http://127.0.0.1:8080/two"
        for more, expected in (((), f"{urls} \n"), (("--set", "endpoints=three"), f"{urls} http://127.0.0.1:8080/three\n")):
            done = self.toolhost("run", *options, *more, "-c", code, TOOLHOST_PLUGIN=CODE_EXECUTE)
            self.assertEqual((done.returncode, done.stdout.decode()), (0, expected), done.stderr)
        done = self.toolhost("session", *options, "--cap", "sandbox.exec.session", stdin=f"{code}\n{code}\n".encode(), TOOLHOST_PLUGIN=CODE_EXECUTE)
        self.assertEqual((done.returncode, done.stdout.decode()), (0, f"{urls} \n" * 2), done.stderr)
        done = self.toolhost("run", *options, "--endpoint", "four", "-c", code, TOOLHOST_PLUGIN=CODE_EXECUTE)
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"endpoint four", done.stderr)
        self.assertIn("--endpoint needs the name", self.refused("run", "-c", "x", "--endpoint", ""))

    def test_bad_settings_are_refused(self):
        run = ("run", "-l", "sh", "-c", "echo x")
        for setting, said in (("timeout_ms=soon", "--set timeout_ms: soon is no value of it"), ("timeout_ms=-1K", "no value of it"),
                              ("timeout_ms=99999999999999999999", "no value of it"), ("timeout_ms=1.5", "no value of it"),
                              ("network=yes", "no value of it"), ("env=A", "no value of it"), ("env={", "no value of it"), ("args=[1", "no value of it"),
                              ("code=echo y", "code is set twice"), ("xyzzy=1", "no such member"), ("novalue", "--set must be NAME=VALUE")):
            self.assertIn(said, self.refused(*run, "--set", setting, TOOLHOST_PLUGIN=CODE_EXECUTE), setting)
        self.refused(*run, "--set", "timeuot_ms=5", TOOLHOST_PLUGIN=CODE_EXECUTE, hint="did you mean timeout_ms?")
        self.assertIn("timeout_ms is set twice", self.refused(*run, "--timeout", "5s", "--set", "timeout_ms=5", TOOLHOST_PLUGIN=CODE_EXECUTE))

    def test_the_help_lists_the_members_of_the_manifest(self):
        manifest = json.loads(self.toolhost("manifest", TOOLHOST_PLUGIN=CODE_EXECUTE).stdout)
        text = self.toolhost("run", "--help", TOOLHOST_PLUGIN=CODE_EXECUTE).stdout.decode()
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        for name, schema in manifest["tools"][0]["input_schema"]["properties"].items():
            self.assertRegex(text, rf"(?m)^  {name}=\S")
            self.assertIn("".join(schema["description"].split()), "".join(text.split()))
        without = self.toolhost("run", "--help", TOOLHOST_PLUGIN="/dev/null").stdout.decode()
        self.assertEqual(text[:len(without)], without)
        self.assertNotIn("timeout_ms=NUMBER", without)


class Capabilities(CommandLine):
    def test_one_that_the_provider_does_not_know_is_refused(self):
        asked = ("run", "-l", "sh", "-c", "echo x", "--approve", "always", "--audit", self.audit_file)
        for name in ("foo", "foo=bar", "!foo", "sandbox.exec.", ""):
            self.refused(*asked, "--cap", name, TOOLHOST_PLUGIN=CODE_EXECUTE)
        self.refused(*asked, "--cap", "files", TOOLHOST_PLUGIN=CODE_EXECUTE, hint="did you mean sandbox.exec.files?")
        self.refused(*asked, "--cap", "sandbox.exec.netwrok", TOOLHOST_PLUGIN=CODE_EXECUTE, hint="did you mean sandbox.exec.network?")
        self.refused("mcp", "--cap", "foo", TOOLHOST_PLUGIN=CODE_EXECUTE)
        for name in ("sandbox.exec.secrets", "sandbox.exec.secrets=a", "!sandbox.exec.secrets", "!sandbox.exec.secrets=a"):
            self.assertEqual(self.toolhost(*asked, "--cap", name).returncode, 0, name)


class CutOff(CommandLine):
    RESULT = {"status": "completed", "stdout": "beginning...end\n", "stderr": "", "exit_code": 0,
              "truncated": {"stdout": True, "stderr": False}, "error": None}

    def test_unprinted_output_is_mentioned(self):
        done = self.toolhost("run", "-l", "sh", "-c", "x", "--audit", "/dev/null", TOOLHOST_PLUGIN=SCRIPTED,
                             SCRIPTED_RESULT=self.path("result.json", json.dumps(self.RESULT)))
        self.assertEqual((done.returncode, done.stdout), (0, b"beginning...end\n"))
        self.assertIn(b"stdout was cut off", done.stderr)

    def test_output_streamed_in_full_is_not_mentioned(self):
        self.needs_its_mode()
        done = self.toolhost("run", "-l", "sh", "-c", "seq 1 30000", "--approve", "always", "--audit", "/dev/null", TOOLHOST_PLUGIN=CODE_EXECUTE)
        self.assertEqual((done.returncode, done.stdout), (0, b"".join(b"%d\n" % i for i in range(1, 30001))))
        self.assertNotIn(b"cut off", done.stderr)
        result = json.loads(self.toolhost("invoke", "--approve", "always", "--audit", "/dev/null", TOOLHOST_PLUGIN=CODE_EXECUTE,
                                          stdin=b'{"language": "sh", "code": "seq 1 30000"}').stdout)
        self.assertTrue(result["truncated"]["stdout"], "the result has lost its middle")


class AuditShow(CommandLine):
    def shown(self, *options):
        done = self.toolhost("audit", "show", self.audit_file, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_json_is_the_lines_of_the_log(self):
        self.run_code("echo x")
        self.run_code("echo x", approve="never")
        with open(self.audit_file, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([json.loads(line) for line in self.shown("--json").splitlines()], lines)
        self.assertEqual(self.shown("--json", "--run", "none"), "")

    def test_times_are_also_so_long_ago(self):
        """The log's own time is now: what is younger than an hour is there, what is older than an hour is not."""
        self.run_code("echo x")
        whole = self.shown()
        self.assertTrue(whole)
        for since in ("1h", "2m", "7d", "36500d"):
            self.assertEqual(self.shown("--since", since), whole, since)
        self.assertEqual(self.shown("--until", "1h"), "")
        tomorrow = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)).strftime("%Y-%m-%d")
        self.assertEqual(self.shown("--since", tomorrow), "")
        for wrong in ("1", "h", "yesterday", "1y", "36501d", "-1h"):
            self.refused("audit", "show", self.audit_file, f"--since={wrong}")


class ApprovalsList(CommandLine):
    def listed(self, *options):
        return json.loads(self.printed("approvals", "list", "--json", *options))

    def test_open_lists_requests_that_wait_for_an_answer(self):
        self.run_code("echo x", approve="pending")
        waiting = self.listed("--open")
        self.assertEqual([(row["kind"], row["state"]) for row in waiting], [("request", "open")])
        self.assertEqual(self.listed(), waiting)
        self.assertEqual(self.toolhost("approvals", "approve", waiting[0]["id"]).returncode, 0)
        self.assertEqual([row["state"] for row in self.listed()], ["answered"])
        self.assertEqual(self.listed("--open"), [])
        self.assertEqual(self.printed("approvals", "list", "--open"), "no request waits for an answer\n")


if __name__ == "__main__":
    tap.run_unittest()
