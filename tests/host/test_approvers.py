# SPDX-License-Identifier: Apache-2.0
"""What an approver at the terminal, or a program that approves, can do beside yes and no."""

import json
import os

import tap
from approval_store import ASKED, PATIENCE, QUESTION, StoreTest
from support import Terminal


class AtTheTerminal(StoreTest):
    def ask(self, code="echo asked", **environment):
        terminal = Terminal(self, self.arguments(code, "ask"), **environment)
        terminal.wait_for(QUESTION, seconds=PATIENCE)
        return terminal

    def test_always(self):
        terminal = self.ask()
        terminal.type("always\n")
        self.assertEqual(terminal.end()[:2], (0, b"asked\n"))
        self.assertRegex(self.grants()[0]["approver"], "^terminal:")
        self.assertEqual(self.run_with("echo asked", ASKED).stdout, b"asked\n")

    def test_session_and_cancel(self):
        terminal = self.ask()
        terminal.type("session\n")
        self.assertEqual(terminal.end()[:2], (0, b"asked\n"))
        terminal = self.ask()
        terminal.type("cancel\n")
        status, out, err = terminal.end()
        self.assertEqual((status, out), (130, b""), err)

    def test_half_a_word_is_no(self):
        for text in ("alway\n", "Always\n", "allow_always\n", "e\n", "c\n"):
            terminal = self.ask()
            terminal.type(text)
            self.assertEqual(terminal.end()[:2], (125, b""), text)

    def editor(self, script):
        return self.path("editor", "#!/bin/sh\n" + script + "\n", 0o700)

    def test_edit(self):
        terminal = self.ask(EDITOR=self.editor("sed -i 's/asked/edited/' \"$1\""))
        terminal.type("edit\n")
        screen = terminal.wait_for(QUESTION, seconds=PATIENCE, count=2)
        self.assertIn("as you have changed it", screen)
        self.assertIn("1 | echo edited", screen)
        terminal.type("y\n")
        self.assertEqual(terminal.end()[:2], (0, b"edited\n"))
        record = [line["record"] for line in self.records() if line.get("record", {}).get("event") == "start"][0]
        self.assertEqual(record["approval"]["decision"], "edit")
        self.assertRegex(record["approval"]["edited_from"], "^[0-9a-f]{64}$")
        self.assertNotEqual(record["approval"]["edited_from"], record["request_sha256"])

    def test_edit_of_the_arguments_with_words_behind_the_editor(self):
        script = self.editor("""[ "$1" = -x ] && sed -i 's/"language"/"args": ["more"], "language"/' "$3" """)
        terminal = self.ask('echo "$1"', VISUAL=f"{script}  -x")
        terminal.type("edit\n")
        terminal.wait_for(QUESTION, seconds=PATIENCE, count=2)
        terminal.type("y\n")
        self.assertEqual(terminal.end()[:2], (0, b"more\n"))

    def test_an_edit_is_shown_before_it_counts(self):
        terminal = self.ask(EDITOR=self.editor("echo 'echo edited' > \"$1\""))
        terminal.type("edit\n")
        terminal.wait_for(QUESTION, seconds=PATIENCE, count=2)
        terminal.type("always\n")  # not for what was never asked for
        self.assertEqual(terminal.end()[:2], (125, b""))

    def test_an_edit_without_a_change_is_the_request(self):
        terminal = self.ask(EDITOR=self.editor("true"))
        terminal.type("edit\n")
        terminal.wait_for(QUESTION, seconds=PATIENCE, count=2)
        terminal.type("y\n")
        self.assertEqual(terminal.end()[:2], (0, b"asked\n"))
        record = [line["record"] for line in self.records() if line.get("record", {}).get("event") == "start"][0]
        self.assertEqual(record["approval"]["decision"], "allow_once")

    def test_an_editor_that_fails_denies(self):
        for script in ("exit 3", "echo '{' > \"$2\"", "echo '[]' > \"$2\"", "rm \"$1\"", "printf '\\377' > \"$1\"", "kill -9 $$"):
            terminal = self.ask(EDITOR=self.editor(script))
            terminal.type("edit\n")
            self.assertEqual(terminal.end(PATIENCE)[:2], (125, b""), script)
        terminal = self.ask(EDITOR="/no/such/editor")
        terminal.type("edit\n")
        self.assertEqual(terminal.end(PATIENCE)[:2], (125, b""))

    def test_the_editors_files_are_gone_and_were_private(self):
        seen = self.path("seen")
        terminal = self.ask(EDITOR=self.editor(f'stat -c %a "$1" "$2" "$(dirname "$1")" > {seen}; echo "$1" >> {seen}'))
        terminal.type("edit\n")
        terminal.wait_for(QUESTION, seconds=PATIENCE, count=2)
        terminal.type("n\n")
        terminal.end(PATIENCE)
        with open(seen, encoding="utf-8") as file:
            *modes, code = file.read().split()
        self.assertEqual(modes, ["600", "600", "700"])
        self.assertFalse(os.path.exists(os.path.dirname(code)))


class ByProgram(StoreTest):
    def decide(self, answer, code="echo asked"):
        program = self.path("approve", f"#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{json.dumps(answer)}\nEND\n", 0o700)
        return self.run_with(code, f"cmd:{program}")

    def test_every_decision(self):
        edited = {"language": "sh", "code": "echo edited"}
        cases = [({"decision": "approve"}, b"asked\n"), ({"decision": "allow_session"}, b"asked\n"),
                 ({"decision": "block", "reason": "no"}, b""), ({"decision": "cancel"}, b""),
                 ({"decision": "edit", "arguments": edited}, b"edited\n"), ({"decision": "edit", "arguments": {"code": 1}}, b""),
                 ({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": edited}}, b"edited\n"),
                 ({"hookSpecificOutput": {"permissionDecision": "ask"}}, b""),
                 ({"decision": "allow_once", "request_sha256": "0" * 64}, b""),
                 ({"decision": "allow_always"}, b"asked\n")]
        for answer, out in cases:
            with self.subTest(answer):
                self.assertEqual(self.grants() if os.path.exists(self.store) else [], [])
                done = self.decide(answer)
                self.assertEqual((done.stdout, done.returncode == 0), (out, bool(out)), done.stderr)
        self.assertRegex(self.grants()[0]["approver"], "^command:")
        self.assertEqual(self.decide({"decision": "deny"}).stdout, b"asked\n", "the grant answers first")

    def test_a_grant_that_cannot_be_stored_allows_once(self):
        os.chmod(self.home, 0o777)
        done = self.decide({"decision": "allow_always"})
        self.assertEqual(done.stdout, b"asked\n")
        self.assertIn(b"cannot be remembered", done.stderr)


if __name__ == "__main__":
    tap.run_unittest()
