# SPDX-License-Identifier: Apache-2.0
"""toolhost session with the real provider: inputs as cells, commands, what becomes of a session, a person at a terminal."""

import functools
import json
import os
import signal
import subprocess
import unittest

import tap
from support import TOOLHOST, HostTest, Terminal, inherited

PLUGIN = os.environ["CODE_EXECUTE"]
HAS_EDITOR = os.environ["LINE_EDITING"] == "1"
QUESTION = "Run this? [y/N] "
AMPLE_MS = 120000  # for cells that are not about time
PATIENCE = 60
POLICY = {"version": 1, "sessions": {"max_total": 4}, "limits": {"wall_ms": {"default": AMPLE_MS}}}
WITH_CHECKPOINTS = {**POLICY, "sessions": {"max_total": 4, "checkpoints": 2}}
WITH_CELLS = {**POLICY, "approval": {"decisions": ["once", "cells"]}}


@functools.cache
def python_runs():
    """Asked once: doctor, which starts every interpreter, takes as long as all cases here."""
    return subprocess.run([TOOLHOST, "run", "-c", "pass", "--approve", "always", "--audit", "/dev/null"], capture_output=True, timeout=PATIENCE,
                          env={**inherited(), "HOME": "/nonexistent", "TOOLHOST_PLUGIN": PLUGIN}).returncode == 0


class SessionTest(HostTest):
    def setUp(self):
        super().setUp()
        if not python_runs():
            self.skipTest("Python cannot be run in process mode on this machine")

    def arguments(self, *options, approve="always", policy=None):
        written = self.path("policy.json", json.dumps(policy or POLICY))
        return ["session", "--policy", written, "--approve", approve, "--audit", self.audit_file, *options]

    def session(self, *lines, options=(), status=0, end="\n", **more):
        """What it prints on its streams."""
        typed = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + end.encode()
        done = self.toolhost(*self.arguments(*options, **more), stdin=typed, TOOLHOST_PLUGIN=PLUGIN, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout.decode(), done.stderr.decode()


class Inputs(SessionTest):
    def test_what_one_leaves_is_there_for_the_next(self):
        out, err = self.session("x=1", "x+1")
        self.assertEqual(out, "2\n")
        self.assertEqual(err.count("toolhost: this is session s_"), 1, err)

    def test_a_last_line_needs_no_break(self):
        self.assertEqual(self.session("x=1", "x+1", end="")[0], "2\n")

    def test_nothing_is_nothing(self):
        self.assertEqual(self.session("", "  ", ""), ("", ""))
        self.assertFalse(os.path.exists(self.audit_file))

    def test_an_input_goes_on_to_the_next_empty_line(self):
        out, err = self.session("def f():", "  return 5", "", "f()", "x = (", " 6)", "", "x", "x = 1 + \\", " 6", "", "x",
                                "@staticmethod", "def f(): return 8", "", "f()", "d = {  ", "9: 9}", "", "d[9]", "[", "10]", "")
        self.assertEqual(out, "5\n6\n7\n8\n9\n[10]\n", err)

    def test_the_end_of_the_input_ends_what_is_being_typed(self):
        self.assertEqual(self.session("for i in range(2):", "  print(i)", end="")[0], "0\n1\n")

    def test_an_input_that_is_no_text_or_too_long_is_dropped(self):
        out, err = self.session("x = 3", b"'\xff'", "y" * (1 << 20) + "z", "print(x)")
        self.assertEqual(out, "3\n")
        self.assertIn("code is not UTF-8 text", err)
        self.assertIn("the line is too long", err)

    def test_the_exit_status_is_that_of_the_last_cell(self):
        self.session("1/0", "print(1)")
        self.session("print(1)", "1/0", status=1)
        self.assertIn("toolhost: exit code 7\n", self.session("import sys; sys.exit(7)", ":quit", status=7)[1])

    def test_output_and_errors_have_their_streams(self):
        out, err = self.session("import sys; print('to out'); print('to err', file=sys.stderr)", "'a value'")
        self.assertEqual(out, "to out\n'a value'\n")
        self.assertIn("to err\n", err)

    def test_options_are_those_of_run(self):
        given = self.path("given.txt", "content")
        out, _ = self.session("import os, resource; os.environ['WORD']", "open('given.txt').read()", "open('given.txt', 'w').write('new')",
                              "open('given.txt').read()", ":session",
                              options=("--env", "WORD=said", "--file", given, "--set", "memory_bytes=128MiB"))
        self.assertEqual(out, "'said'\n'content'\n3\n'new'\n")
        usage = self.toolhost("session", "--json", TOOLHOST_PLUGIN=PLUGIN)
        self.assertEqual(usage.returncode, 2, usage.stderr)


class Commands(SessionTest):
    def starts(self):
        return [line["record"] for line in self.records() if line["record"]["event"] == "start"]

    def named(self, err):
        return [line.rpartition(" ")[2] for line in err.splitlines() if line.startswith("toolhost: this is session ")]

    def test_files_are_listed_by_a_cell(self):
        out, err = self.session(":files", "open('a b.txt', 'w').write('12345'); import os; os.mkdir('below')", ":files", ":session")
        self.assertEqual([line.split(None, 1) for line in out.splitlines()][0], ["no", "files"])
        self.assertIn("           5  a b.txt\n", out)
        self.assertIn("below/\n", out)
        self.assertIn("cells    3\n", err)

    def test_session_shows_what_is_known(self):
        _, err = self.session(":session", "x = 1", "def f(): pass", ":session", status=0)
        self.assertIn("toolhost: there is no session: the next input begins one\n", err)
        shown = err[err.index("session  s_"):]
        self.assertEqual(shown.split()[2:], ["cells", "2", "defined", "x", "f"], shown)

    def test_undo_is_the_provider_s_to_answer(self):
        lines = (":undo", "x = 1", "x = 2", ":undo", "x")
        out, err = self.session(*lines, policy={**POLICY, "sessions": {"max_total": 4, "checkpoints": 4}})
        self.assertEqual(out, "1\n", err)
        self.assertIn("toolhost: there is no session yet\n", err)
        out, err = self.session(*lines)
        self.assertEqual(out, "2\n", err)
        self.assertIn("toolhost: checkpoint_unavailable: ", err)

    def test_undo_takes_a_number(self):
        lines = ("x = 1", "x = 2", "x = 3", "x = 4", ":undo 2", "x", ":undo  1 ", ":undo 0", ":undo -1", ":undo two", ":undo 1 2", ":undo 99999999999999999999", ":undo 4", "x")
        out, err = self.session(*lines, policy={**POLICY, "sessions": {"max_total": 4, "checkpoints": 3}})
        self.assertEqual(out, "2\n2\n", err)
        self.assertEqual(err.count("toolhost: behind :undo comes how many cells, or nothing\n"), 5, err)
        self.assertIn("the last 2 cells are undone", err)
        self.assertIn("toolhost: checkpoint_unavailable: ", err)

    def test_fork_leaves_a_session_to_go_back_to(self):
        out, err = self.session(":fork", ":use", "x = 1", ":use", ":fork", "x += 10", ":use", ":use 1", "x", "x += 1", ":use  2 ", "x", ":use",
                                policy=WITH_CHECKPOINTS)
        self.assertEqual(out, "1\n11\n", err)
        self.assertEqual(err.count("toolhost: there is no session yet\n"), 1, err)
        first, second, *again = self.named(err)
        self.assertEqual((again, first == second), ([first, second], False), err)
        listed = [line.split() for line in err.splitlines() if line.endswith(" cells")]
        self.assertEqual(listed, [["*", "1", first, "1", "cells"],
                                  ["1", first, "1", "cells"], ["*", "2", second, "2", "cells"],
                                  ["1", first, "3", "cells"], ["*", "2", second, "3", "cells"]])
        self.assertEqual([start.get("session_action") for start in self.starts()], [None, "fork", None, None, None, None])

    def test_use_wants_a_session_that_is_there(self):
        _, err = self.session("x = 1", ":use 0", ":use 2", ":use 1 1", ":use -1", ":use s_1", ":use 99999999999999999999")
        self.assertEqual(err.count("toolhost: there is no such session; :use lists them\n"), 6, err)
        self.assertEqual(len(self.named(err)), 1, err)

    def test_use_takes_an_id(self):
        process = subprocess.Popen([TOOLHOST, *self.arguments(policy=WITH_CHECKPOINTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self.environment(TOOLHOST_PLUGIN=PLUGIN))
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.communicate()))
        ids = []
        for line in (b"x = 1\n", b":fork\n"):
            process.stdin.write(line)
            process.stdin.flush()
            told = b""
            while b"toolhost: this is session " not in told:
                told = process.stderr.readline()
            ids.append(told.split()[-1].decode())
        first, second = ids
        out, err = process.communicate(f"x = 2\n:use {first[:-1]}\n:use {first}0\nx\n:use {first}  \nx\n:use {second}\nx\n".encode(), PATIENCE)
        self.assertEqual(out, b"2\n1\n2\n", err)
        self.assertEqual(err.count(b"toolhost: there is no such session; :use lists them\n"), 2, err)
        self.assertEqual(self.named(err.decode()), [first, second], err)

    def test_fork_is_the_provider_s_to_refuse(self):
        out, err = self.session("x = 1", ":fork", "x")
        self.assertEqual(out, "1\n", err)
        self.assertIn("toolhost: checkpoint_unavailable: ", err)
        self.assertEqual(len(self.named(err)), 1, err)

    def test_where_one_is_over_the_other_one_is_there(self):
        policy = {**WITH_CHECKPOINTS, "sessions": {"max_total": 4, "checkpoints": 2, "max_cells": 2}}
        out, err = self.session("x = 5", ":fork", "x += 1", "print('too many')", ":use", ":use 1", "x", policy=policy)
        self.assertEqual(out, "5\n", err)
        self.assertIn("is lost: expired\n", err)
        first, _, again = self.named(err)
        self.assertEqual((first, [line.split() for line in err.splitlines() if line.endswith(" cells")]), (again, [["1", first, "1", "cells"]]), err)

    def test_quit_ends_the_session_by_a_cell_of_its_own(self):
        self.session("x = 1", ":quit", "print('never')")
        starts = self.starts()
        self.assertEqual([start.get("session_action") for start in starts], [None, "end"], starts)

    def test_the_end_of_the_input_ends_it_without_one(self):
        self.session("x = 1")
        self.assertEqual(len(self.starts()), 1)

    def test_an_unknown_one_is_not_sent(self):
        _, err = self.session(":nope", ":quitter", ":help")
        self.assertEqual(err.count("there is no such command; :help lists them"), 2)
        for name in (":help", ":files", ":session", ":undo", ":fork", ":use", ":quit"):
            self.assertIn(f"\n  {name}", err)
        self.assertFalse(os.path.exists(self.audit_file))


class Ends(SessionTest):
    def test_a_lost_session_is_never_replaced_silently(self):
        out, err = self.session("x = 1", "import os; os._exit(3)", "print('x' in globals())", ":session")
        self.assertEqual(out, "False\n")
        self.assertIn("toolhost: the session is lost (exited): the next input begins a new one\n", err)
        self.assertEqual(err.count("toolhost: this is session s_"), 2, err)

    def test_one_that_is_restored_goes_on(self):
        policy = {**POLICY, "sessions": {"max_total": 4, "checkpoints": 4}}
        out, err = self.session("x = 1", "import os; os._exit(3)", "x", policy=policy)
        self.assertEqual(out, "1\n", err)
        self.assertNotIn("is lost", err)

    def test_one_that_has_ended_between_cells_is_said_to_be_lost(self):
        policy = {**POLICY, "sessions": {"max_total": 4, "max_cells": 1}}
        out, err = self.session("x = 1", "print('dropped')", "print('x' in globals())", policy=policy)
        self.assertEqual(out, "False\n")
        self.assertIn("is lost: expired\n", err)
        self.assertIn("toolhost: this input was not executed; the next one begins a new session\n", err)

    def test_without_a_policy_file_the_provider_keeps_one(self):
        options = ("session", "--approve", "always", "--audit", self.audit_file)
        lines = b"x = 1\nx + 1\nx = 5\n:undo\nx\n:fork\nx = 7\n:use 1\nx\nimport os; os.kill(os.getpid(), 9)\nx\n"
        done = self.toolhost(*options, stdin=lines, TOOLHOST_PLUGIN=PLUGIN)
        self.assertEqual((done.returncode, done.stdout), (0, b"2\n1\n1\n1\n"), done.stderr)
        done = self.toolhost(*options, stdin=lines, TOOLHOST_PLUGIN=PLUGIN, CODE_EXEC_POLICY=self.path("none.json", "{}"))
        self.assertEqual((done.returncode, done.stdout), (125, b""), "a policy file of the operator's decides alone")
        self.assertIn(b"toolhost: not_supported: ", done.stderr)

    def test_a_policy_without_sessions_ends_it(self):
        for policy in ({"version": 1}, {"version": 1, "sessions": {"max_total": 0}}):
            out, err = self.session("print(1)", "print(2)", policy=policy, status=125)
            self.assertEqual(out, "")
            self.assertEqual(err.count("toolhost: not_supported: "), 1, err)
            self.assertIn("toolhost: hint: ", err)

    def test_without_the_capability_there_is_none(self):
        for options in (("--no-default-caps", "--cap", "sandbox.exec"), ("--cap", "!sandbox.exec.session")):
            out, err = self.session("print(1)", options=options, status=125)
            self.assertEqual(out, "")
            self.assertIn("access_denied: sandbox.exec.session", err)
        self.assertEqual(self.session("print(1)")[0], "1\n", "the control")

    def test_a_tool_without_sessions_is_none_for_it(self):
        done = self.toolhost("session", "--approve", "always", "--audit", "/dev/null", stdin=b"x\n")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"toolhost: not_supported: the provider's tool code_execute has no sessions\n", done.stderr)

    def test_a_denied_cell_leaves_the_session(self):
        deny, allow = ("""echo '{"decision": "%s"}'""" % word for word in ("deny", "allow_once"))
        approver = self.path("approver", f"#!/bin/sh\ngrep -q 'not this' && {deny} || {allow}\n", mode=0o700)
        out, err = self.session("x = 5", "print('not this')", "x", approve=f"cmd:{approver}")
        self.assertEqual(out, "5\n")
        self.assertIn("approval_denied", err)

    def test_a_cell_that_takes_too_long_is_interrupted(self):
        out, err = self.session("x = 5", "while True: pass", "x", options=("--timeout", "300ms"))
        self.assertEqual(out, "5\n")
        self.assertIn("the session keeps its state\n", err)


class Signals(SessionTest):
    def start(self, code):
        process = subprocess.Popen([TOOLHOST, *self.arguments()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment(TOOLHOST_PLUGIN=PLUGIN), start_new_session=True)
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.communicate()))
        process.stdin.write(code.encode())
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"begun\n")
        return process

    def test_sigint_interrupts_the_cell_and_not_the_session(self):
        process = self.start("x = 8\nimport time; print('begun', flush=True); time.sleep(1000)\nx\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (0, b"8\n"), err)
        self.assertIn(b"toolhost: cancelled: ", err)

    def test_sigterm_ends_it(self):
        process = self.start("import time; print('begun', flush=True); time.sleep(1000)\nprint('never')\n")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (130, b""))

    def test_where_no_cell_runs_and_nobody_types_both_end_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("print('begun')\n")
            while b"this is session" not in process.stderr.readline():
                pass
            process.send_signal(number)
            self.assertEqual(process.wait(PATIENCE), 130)

    def test_a_cell_that_heeds_no_interrupt_loses_its_session(self):
        process = self.start("if True:\n import signal\n signal.signal(signal.SIGINT, signal.SIG_IGN)\n print('begun', flush=True)\n"
                             " while True: pass\n\nprint('x')\n")
        for _ in range(4):  # an impatient person does not lose toolhost with it
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (0, b"x\n"), err)
        self.assertIn(b"toolhost: the session is lost (", err)


class Typing:
    """A person at the terminal: each look begins behind what was seen last, as an editor may draw a prompt more than once."""

    def __init__(self, terminal):
        self.terminal, self.seen = terminal, 0
        self.see(">>> ")

    def see(self, text):
        """The screen up to it, from what was seen before."""
        before = self.seen
        count = self.terminal.screen[:before].count(text.encode())
        self.terminal.wait_for(text, PATIENCE, count=count + 1)
        self.seen = self.terminal.screen.index(text.encode(), before) + len(text.encode())
        return self.terminal.screen[before:self.seen].decode()

    def type(self, text, *seen):
        self.terminal.type(text)
        return "".join(self.see(each) for each in seen)

    def end(self, typed, status):
        self.terminal.type(typed)
        self.terminal.drain()
        tap.equal(self.terminal.process.wait(PATIENCE), status, "exit status")


class AtATerminal(SessionTest):
    def typing(self, *options, approve="always", kind="xterm", policy=None):
        return Typing(Terminal(self, self.arguments(*options, approve=approve, policy=policy), whole=True, TERM=kind, LANG="C.UTF-8",
                               TOOLHOST_PLUGIN=PLUGIN))

    def test_a_cell_is_asked_about_and_the_editor_leaves_the_terminal_alone(self):
        for kind in ("xterm", "dumb"):
            person = self.typing(approve="ask", kind=kind)
            person.type("x = 40 + 2; print('n\u00e9', x)\n", QUESTION)
            person.type("y\n", "\r\nn\u00e9 42\r\n", ">>> ")
            person.type("print('den' + 'ied')\n", QUESTION)
            shown = person.type("n\n", "approval_denied", ">>> ")
            self.assertNotIn("\r\ndenied\r\n", shown)
            person.end("\x04", 125)

    def test_a_person_can_allow_all_further_cells(self):
        for policy, offered in ((WITH_CELLS, True), (POLICY, False)):
            person = self.typing(approve="ask", policy=policy)
            shown = person.type("x = 40 + 2\n", QUESTION)
            self.assertEqual("all further code in this session, which nobody sees before it runs, until the session ends" in shown, offered, shown)
            if offered:
                person.type("cells\n", ">>> ")
                shown = person.type("print('n' + 'ow', x)\n", "\r\nnow 42\r\n", ">>> ")
                self.assertNotIn(QUESTION, shown)
                person.end("\x04", 0)
            else:
                person.type("cells\n", "approval_denied", ">>> ")
                person.end("\x04", 125)

    def test_an_interrupt_drops_the_line_or_ends_the_cell(self):
        for kind in ("xterm", "dumb"):
            person = self.typing(kind=kind)
            person.type("print('dro'", "print('dro'")
            person.type("\x03", ">>> ")
            person.type("def f():\n", "... ")
            person.type("\x03", ">>> ")
            person.type("import time; print('beg' + 'un'); time.sleep(1000)\n", "begun")
            person.type("\x03", "the session keeps its state", ">>> ")
            person.type("6 * 7\n", "\r\n42\r\n", ">>> ")
            person.end("\x04", 0)

    @unittest.skipUnless(HAS_EDITOR, "toolhost was built without libedit")
    def test_lines_are_edited_and_remembered(self):
        person = self.typing()
        person.type("prin(6 * 7)\x01\x06\x06\x06\x06t\n", "\r\n42\r\n", ">>> ")  # back to the beginning, and forth to the gap
        person.type("\x1b[A\n", "\r\n42\r\n", ">>> ")  # the line before
        person.end(":quit\n", 0)

    def test_a_closed_terminal_ends_it(self):
        person = self.typing()
        person.terminal.signal(signal.SIGHUP)
        person.end("", 130)


if __name__ == "__main__":
    tap.run_unittest()
