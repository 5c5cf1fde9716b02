# SPDX-License-Identifier: Apache-2.0
"""toolhost run and invoke: streams, exit statuses, input, secrets, cancelling."""

import json
import os
import signal
import subprocess
import time

import tap
from support import TOOLHOST, HostTest, fixture


class Streams(HostTest):
    def test_output_and_exit_status_are_the_programs_own(self):
        done = self.run_code("echo one $((6*7))\nerr two\nexit 3")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b"one 42\n", b"two\n"))

    def test_bytes_that_are_no_text_pass_unchanged(self):
        self.assertEqual(self.run_code("raw").stdout, b"\xff\x00\xfe\n")

    def test_a_provider_s_prints_stay_off_standard_output(self):
        done = self.run_code("echo mine", plugin="prints_to_stdout")
        self.assertEqual(done.stdout, b"mine\n")
        self.assertIn(b"a provider that prints", done.stderr)
        done = self.toolhost("invoke", "--approve", "always", "--audit", "/dev/null",
                             stdin=b'{"language":"sh","code":"echo x"}', plugin="prints_to_stdout")
        self.assertEqual(json.loads(done.stdout)["stdout"], "x\n")

    def test_verbose_names_the_isolation_layers(self):
        done = self.run_code("echo x", "-v")
        self.assertIn(b"mode=fixture applied=imagination missing=namespaces", done.stderr)
        self.assertNotIn(b"mode=", self.run_code("echo x", "-v", approve="never").stderr)

    def test_an_audit_log_that_fails_is_told_once(self):
        done = self.toolhost("run", "-l", "sh", "-c", "echo x", "--approve", "always", "--audit", self.path("none/log"))
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertEqual(done.stderr.count(b"none/log: No such file or directory"), 1, done.stderr)

    def test_closed_standard_streams_do_no_harm(self):
        done = subprocess.run(["sh", "-c", f'"{TOOLHOST}" run -l sh -c "echo x" --approve always '
                               f'--audit "{self.audit_file}" <&- 2>&-'],
                              capture_output=True, env=self.environment(), timeout=30)
        self.assertEqual((done.returncode, done.stdout), (0, b"x\n"))


    def test_progress_is_reported_beside_the_output(self):
        done = self.run_code("note pulling \033[2J\nnote still\necho x")
        self.assertEqual((done.returncode, done.stdout), (0, b"x\n"))
        self.assertIn(b"toolhost: pulling <U+001B>[2J\ntoolhost: still\n", done.stderr)


class ExitStatus(HostTest):
    def test_signal(self):
        self.assertEqual(self.run_code("kill 9").returncode, 128 + 9)

    def test_timeout(self):
        done = self.run_code("echo before\nsleep 5", "--timeout-ms", "100")
        self.assertEqual((done.returncode, done.stdout), (124, b"before\n"))
        self.assertIn(b"toolhost: timeout: timeout\ntoolhost: hint: ", done.stderr)

    def test_denied(self):
        done = self.run_code("echo x", approve="never")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"toolhost: approval_denied: ", done.stderr)
        self.assertIn(b"hint: ", done.stderr)

    def test_capability_taken_away(self):
        done = self.run_code("echo x", "--no-default-caps")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"toolhost: access_denied: sandbox.exec\n", done.stderr)
        self.assertIn(b"with toolhost: --cap sandbox.exec\n", done.stderr)
        self.assertEqual(self.run_code("echo x", "--no-default-caps", "--cap", "sandbox.exec").returncode, 0)
        denied = self.run_code("echo x", "--cap", "!sandbox.exec")
        self.assertEqual(denied.returncode, 125)
        self.assertIn(b"with toolhost: a --cap '!...' denies it\n", denied.stderr)

    def test_a_provider_that_marks_nothing_is_granted_nothing(self):
        """No tool's capability is known to toolhost by name."""
        done = self.run_code("echo x", plugin="nothing_by_default")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertEqual(self.run_code("echo x", "--cap", "sandbox.exec", plugin="nothing_by_default").stdout, b"x\n")

    def test_no_provider(self):
        done = self.toolhost("run", "-l", "sh", "-c", "echo x", "--plugin", self.path("none.so"))
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"toolhost: plugin_unusable: ", done.stderr)

    def test_a_result_that_is_no_json(self):
        done = self.run_code("echo x", plugin="result_junk")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"provider_failed", done.stderr)

    def test_wrong_usage(self):
        for arguments in ([], ["fly"], ["run"], ["run", "-c"], ["run", "file.unknown"],
                          ["run", "-l", "sh", "-c", "x", "--timeout-ms", "1x"], ["run", "--json", "-c"],
                          ["run", "-l", "sh", "-c", "x", "extra.sh"], ["manifest", "extra"],
                          ["run", "-l", "sh", "-c", "x", "--approve", "perhaps"], ["doctor", "--sandbox", "moon"],
                          ["run", "-l", "sh", "-", "--stdin", "-"], ["audit", "mend", "x"], ["--cap"],
                          ["doctor", "--verbose"], ["mcp", "-v"]):
            with self.subTest(arguments):
                done = self.toolhost(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
                self.assertIn(b"toolhost: usage: ", done.stderr)

    def test_wrong_usage_gets_a_usage_message(self):
        for arguments, words in ((["audit"], "audit needs verify, show, head or rotate"), (["policy"], "policy needs check or explain"),
                                 (["doctor", "now"], "doctor does not take the argument now"), (["run", "a.sh", "b"], "own arguments after --"),
                                 (["run", "-c", "x", "--timeout-ms", "0"], "--timeout-ms must be 1 to 86400000 milliseconds, not 0"),
                                 (["run", "-c", "x", "--approve", "webhook:https://a"], "--approve webhook:https://a needs --webhook-key FILE")):
            with self.subTest(arguments):
                done = self.toolhost(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
                self.assertIn(words.encode(), done.stderr)

    def test_configuration_that_is_refused(self):
        done = self.run_code("echo x", "--sandbox", "none")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"toolhost: mode_not_allowed: none is not allowed\ntoolhost: hint: ", done.stderr)


class Input(HostTest):
    def test_code_is_python_unless_another_language_is_named(self):
        for more, language in (((), "python"), (("--language", "sh"), "sh")):
            asked = self.path("asked.json")
            approver = self.path("approver", f"#!/bin/sh\ncat >{asked}\n", 0o700)
            self.toolhost("run", *more, "-c", "echo x", "--approve", f"cmd:{approver}", "--audit", "/dev/null")
            with open(asked, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["language"], language)

    def test_file_tells_its_language_and_arguments_pass(self):
        script = self.path("a.sh", "args\n")
        done = self.toolhost("run", script, "--approve", "always", "--audit", "/dev/null", "--", "-x", "two words")
        self.assertEqual((done.returncode, done.stdout), (0, b"-x\ntwo words\n"), done.stderr)

    def test_code_from_standard_input(self):
        done = self.toolhost("run", "-l", "sh", "-", "--approve", "always", "--audit", "/dev/null", stdin=b"echo in")
        self.assertEqual(done.stdout, b"in\n")

    def test_standard_input_of_the_program(self):
        done = self.run_code("input", "--stdin", "-", stdin="gr\u00fc\u00dfe\n".encode())
        self.assertEqual(done.stdout.decode(), "gr\u00fc\u00dfe\n")

    def test_environment(self):
        self.assertEqual(self.run_code("env A\nenv B", "--env", "A=b=c", "--env", "B=").stdout, b"b=c")

    def test_code_that_is_no_text_is_refused(self):
        done = self.toolhost("run", self.path("a.sh", b"echo \xff"), "--approve", "always")
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"invalid_input: code is not UTF-8", done.stderr)

    def test_invoke_answers_in_json_even_without_a_provider(self):
        done = self.toolhost("invoke", "--plugin", self.path("none.so"), stdin=b"{}")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "plugin_unusable")

    def test_invoke_passes_a_refusal_on(self):
        for text, code in ((b"{", "invalid_input"), (b'{"code":"echo x"}', "approval_denied"), (b"{}\0", "invalid_input")):
            done = self.toolhost("invoke", "--approve", "never", stdin=text)
            self.assertEqual((done.returncode, json.loads(done.stdout)["error"]["code"]), (1, code))
        done = self.toolhost("invoke", "--tool", "other", stdin=b"{}")
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "unknown_tool")


class Secrets(HostTest):
    def secret(self, path, **more):
        return self.run_code("secret KEY", "--secret", f"key={path}", "--use-secret", "KEY=key", **more)

    def test_one_line_break_at_the_end_is_not_part_of_it(self):
        self.assertEqual(self.secret(self.path("s", "a\n\n")).stdout, b"a\n")
        self.assertEqual(self.secret(self.path("s", "plain")).stdout, b"plain")

    def test_large(self):
        self.assertEqual(len(self.secret(self.path("s", "x" * 65536 + "\n")).stdout), 65536)
        done = self.secret(self.path("s", "x" * 65537))
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"more than 65536 bytes", done.stderr)

    def test_only_regular_files(self):
        os.mkfifo(self.path("fifo"))
        for path in (self.path("fifo"), self.home, "/dev/zero", self.path("absent")):
            done = self.secret(path)
            self.assertEqual((done.returncode, done.stdout), (125, b""), path)
            self.assertIn(b"secret_unavailable", done.stderr)
        os.symlink(self.path("s", "linked"), self.path("link"))
        self.assertEqual(self.secret(self.path("link")).stdout, b"linked")

    def test_not_named(self):
        self.assertEqual(self.run_code("secret KEY", "--use-secret", "KEY=key").returncode, 125)

    def test_never_in_the_audit_log(self):
        self.secret(self.path("s", "very-secret-text"))
        with open(self.audit_file, encoding="utf-8") as file:
            self.assertNotIn("very-secret-text", file.read())


class Cancelling(HostTest):
    def start(self, *more):
        return subprocess.Popen([TOOLHOST, "run", "-l", "sh", "-c", "echo begun\nsleep 30", "--timeout-ms", "60000",
                                 "--audit", self.audit_file, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, start_new_session=True, env=self.environment())

    def test_a_signal_cancels_the_run(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("--approve", "always")
            self.assertEqual(process.stdout.readline(), b"begun\n")
            process.send_signal(number)
            process.communicate(timeout=10)
            self.assertEqual(process.returncode, 130)
        self.assertEqual([r["record"]["event"] for r in self.records()], ["start", "end"] * 3)

    def test_a_provider_that_does_not_cancel_can_be_left(self):
        process = subprocess.Popen([TOOLHOST, "run", "-l", "sh", "-c", "echo begun\nsleep 30", "--timeout-ms", "60000",
                                    "--audit", "/dev/null", "--approve", "always", "--plugin",
                                    fixture("ignores_cancel")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, env=self.environment())
        self.assertEqual(process.stdout.readline(), b"begun\n")
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_a_signal_ends_the_wait_for_an_approval(self):
        slow = self.path("slow", "#!/bin/sh\nsleep 60\n", 0o700)
        process = self.start("--approve", f"cmd:{slow}")
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        self.assertEqual((process.returncode, out), (130, b""))
        self.assertIn(b"the call was cancelled", err)

    def test_a_reader_that_is_gone(self):
        done = subprocess.run(["sh", "-c", f'"{TOOLHOST}" run -l sh -c "$CODE" --approve always --audit /dev/null'
                               ' | head -1'], capture_output=True, timeout=30,
                              env=self.environment(CODE="echo a\n" * 5000))
        self.assertEqual(done.stdout, b"a\n")


class Doctor(HostTest):
    def test_available(self):
        done = self.toolhost("doctor")
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in (b"mode fixture: available", b"missing  namespaces: not in a fixture",
                     b"remedy: use a real provider", b"python: not found; install python3"):
            self.assertIn(text, done.stdout)
        self.assertEqual(json.loads(self.toolhost("doctor", "--json").stdout)["mode"], "fixture")

    def test_not_available(self):
        self.assertEqual(self.toolhost("doctor", "--sandbox", "docker").returncode, 1)
        done = self.toolhost("doctor", "--sandbox", "none")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"error mode_not_allowed: none is not allowed", done.stdout)

    def test_junk(self):
        self.assertEqual(self.toolhost("doctor", plugin="status_junk").returncode, 1)

    def test_manifest(self):
        done = self.toolhost("manifest")
        self.assertEqual((done.returncode, json.loads(done.stdout)["provider"]), (0, "fixture"))
        self.assertEqual(self.toolhost("manifest", plugin="manifest_junk").returncode, 1)


if __name__ == "__main__":
    tap.run_unittest()
