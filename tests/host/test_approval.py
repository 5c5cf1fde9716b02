# SPDX-License-Identifier: Apache-2.0
"""The approvers: the person at the terminal, and the program."""

import os
import signal
import time

import tap
from support import HostTest, Terminal

QUESTION = "Run this? [y/N] "


class AtTheTerminal(HostTest):
    def ask(self, code, *options, **more):
        return Terminal(self, ["run", "-l", "sh", "-c", code, "--audit", self.audit_file, *options], **more)

    def answer(self, text, code="echo ran"):
        terminal = self.ask(code)
        terminal.wait_for(QUESTION)
        terminal.type(text)
        return terminal.end()

    def test_yes(self):
        for text in ("y\n", "Y\n", "yes\n"):
            self.assertEqual(self.answer(text)[:2], (0, b"ran\n"))

    def test_everything_else_is_no(self):
        for text in ("\n", "n\n", "a\n", "yy\n", " y\n", "yes please\n", "\x04", "x" * 70 + "\n", "y\x15\n"):
            status, out, err = self.answer(text)
            self.assertEqual((status, out), (125, b""), text)
            self.assertIn(b"approval_denied", err)

    def test_the_whole_request_is_shown(self):
        terminal = self.ask("echo first\necho second", "--network", "--use-secret", "KEY=my-key", "--", "an argument")
        screen = terminal.wait_for(QUESTION)
        for text in ("code_execute", "network", "true", "my-key", "an argument", "    1 | echo first", "    2 | echo second",
                     "request sha256"):
            self.assertIn(text, screen)

    def test_nothing_can_be_hidden_or_reordered(self):
        hostile = "a\u202eb\u2066c\u200bd\u0007e\x1b[2Jf\rg\u00adh\u0301i\ufeffj\u2028k\u3000l\U000e0041m\x9bn"
        terminal = self.ask("echo " + hostile, "--", hostile)
        screen = terminal.wait_for(QUESTION)
        shown = "a<U+202E>b<U+2066>c<U+200B>d<U+0007>e<U+001B>[2Jf<U+000D>g<U+00AD>h<U+0301>i<U+FEFF>j<U+2028>k"
        flat = "".join(line.split("| ", 1)[-1] for line in screen.splitlines())
        self.assertEqual(flat.count(shown + "<U+3000>l<U+E0041>m<U+009B>n"), 2)
        for byte in "\x1b\x07\x9b\u202e\u200b\u2066":
            self.assertNotIn(byte, screen)

    def test_look_alike_letters_are_written_out(self):
        terminal = self.ask("import \u043es; r\u0435move(\u037e) # \u043f\u0440\u0438\u0432\u0435\u0442")
        screen = terminal.wait_for(QUESTION)
        self.assertIn("import <U+043E>s; r<U+0435>move(<U+037E>) # \u043f\u0440\u0438\u0432\u0435\u0442", screen)

    def test_code_cannot_draw_the_question(self):
        for columns in (40, 80):
            terminal = self.ask("echo " + " " * 200 + QUESTION * 4 + "\n" + QUESTION + "\n" + "x" * 31 + QUESTION,
                                "--", "line\n" + QUESTION, columns=columns)
            screen = terminal.wait_for("\n" + QUESTION)
            lines = screen.splitlines()
            self.assertEqual([line for line in lines if line.startswith("Run this?")], [QUESTION])
            self.assertEqual(lines[-1], QUESTION)
            untrusted = [line for line in lines if "|" in line]
            self.assertTrue(all(len(line) <= columns for line in untrusted), untrusted)

    def test_long_code_is_cut_and_can_be_seen_whole(self):
        terminal = self.ask("\n".join(f"echo {n}" for n in range(1000)))
        screen = terminal.wait_for(QUESTION)
        self.assertIn("940 more lines not shown", screen)
        self.assertNotIn("echo 999", screen)
        terminal.type("a\n")
        self.assertIn(" 1000 | echo 999", terminal.wait_for(QUESTION, count=2))
        terminal.type("n\n")
        self.assertEqual(terminal.end()[0], 125)

    def test_input_typed_before_the_question_does_not_count(self):
        gate = self.path("gate")
        os.mkfifo(gate)
        terminal = Terminal(self, ["run", "-l", "sh", gate, "--audit", self.audit_file])
        terminal.type("y\n")
        time.sleep(0.2)
        with open(gate, "w", encoding="utf-8") as file:
            file.write("echo ran")
        terminal.wait_for(QUESTION)
        time.sleep(0.3)
        self.assertIsNone(terminal.process.poll())
        terminal.type("\n")
        self.assertEqual(terminal.end()[:2], (125, b""))

    def test_an_unanswered_request_is_denied(self):
        terminal = self.ask("echo ran", FIXTURE_EXPIRES_MS="300")
        terminal.wait_for("denied")
        status, out, err = terminal.end()
        self.assertEqual((status, out), (125, b""))
        self.assertIn(b"nobody answered in time", err)

    def test_an_interrupt_is_no(self):
        for interrupt in (lambda t: t.type("\x03"), lambda t: t.signal(signal.SIGTERM)):
            terminal = self.ask("echo ran")
            terminal.wait_for(QUESTION)
            interrupt(terminal)
            self.assertEqual(terminal.end()[:2], (130, b""))

    def test_standard_input_is_never_asked(self):
        done = self.run_code("echo ran", approve="ask", stdin=b"y\ny\n")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"there is no terminal to ask on", done.stderr)


class ByProgram(HostTest):
    def decide(self, script, code="echo ran", **more):
        program = self.path("approve", "#!/bin/sh\n" + script + "\n", 0o700)
        return self.run_code(code, approve=f"cmd:{program}", **more)

    def test_allow(self):
        for answer in ('{"decision":"allow_once","reason":"fine"}',
                       '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'):
            done = self.decide(f"cat > /dev/null; echo '{answer}'")
            self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"), done.stderr)

    def test_the_request_comes_on_standard_input(self):
        seen = self.path("seen")
        self.decide(f"cat > '{seen}'")
        with open(seen, encoding="utf-8") as file:
            self.assertIn('"code":"echo ran"', file.read())

    def test_all_else_denies(self):
        yes = """echo '{"decision":"allow_once"}'"""
        cases = {
            "deny": """echo '{"decision":"deny","reason":"not today"}'""",
            "always": """echo '{"decision":"allow_always"}'""",
            "hook ask": """echo '{"hookSpecificOutput":{"permissionDecision":"ask"}}'""",
            "both": """echo '{"decision":"allow_once","hookSpecificOutput":{"permissionDecision":"deny"}}'""",
            "twice": """echo '{"decision":"deny","decision":"allow_once"}'""",
            "two answers": f"{yes}; {yes}",
            "not JSON": "echo allow",
            "an array": """echo '["allow_once"]'""",
            "a number": """echo '{"decision":1}'""",
            "nothing": "true",
            "failure": f"{yes}; exit 1",
            "hook's block": f"{yes}; exit 2",
            "signal": f"{yes}; kill -9 $$",
            "crash": f"{yes}; kill -SEGV $$",
            "flood": "yes",
            "large": "head -c 7000000 /dev/zero | tr '\\0' ' '; " + yes,
        }
        for name, script in cases.items():
            with self.subTest(name):
                done = self.decide(script, timeout=20)
                self.assertEqual((done.returncode, done.stdout), (125, b""), done.stderr)
                self.assertIn(b"approval_denied", done.stderr)

    def test_a_reason_is_told(self):
        self.assertIn(b"not today", self.decide("""echo '{"decision":"deny","reason":"not today"}'""").stderr)

    def test_one_that_hangs_is_killed_with_its_children(self):
        started = time.monotonic()
        pid_file = self.path("pid")
        done = self.decide(f"sleep 300 & echo $! > '{pid_file}'; sleep 300", FIXTURE_EXPIRES_MS="500")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"did not decide within 500 ms", done.stderr)
        self.assertLess(time.monotonic() - started, 10)
        with open(pid_file, encoding="utf-8") as file:
            self.assert_gone(int(file.read()))

    def assert_gone(self, pid):
        for _ in range(100):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                        return
            except FileNotFoundError:
                return
            time.sleep(0.05)
        self.fail(f"process {pid} is still there")

    def test_one_that_leaves_its_output_open_behind_it(self):
        done = self.decide("""echo '{"decision":"allow_once"}'; sleep 300 &""", timeout=20)
        self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"))

    def test_one_that_does_not_read_a_large_request(self):
        done = self.decide("""echo '{"decision":"allow_once"}'""", code="# " + "x" * 100000 + "\necho ran")
        self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"))

    def test_one_that_is_not_there(self):
        done = self.run_code("echo ran", approve="cmd:/no/such/program")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertNotIn(b"--approve", done.stderr, "to name a program is no help here")
        self.assertIn(b"could not be started", done.stderr)

    def test_it_inherits_no_descriptor(self):
        seen = self.path("descriptors")
        self.decide(f"ls /proc/self/fd > '{seen}'; cat > /dev/null")
        with open(seen, encoding="utf-8") as file:
            self.assertLessEqual(set(file.read().split()), {"0", "1", "2", "3"})


if __name__ == "__main__":
    tap.run_unittest()
