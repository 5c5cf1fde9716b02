# SPDX-License-Identifier: Apache-2.0
"""toolhost mcp --control and toolhost sessions: an operator lists and ends the sessions of a running server."""

import contextlib
import json
import os
import pwd
import socket
import stat
import subprocess
import unittest

import tap
from client import CODE_EXECUTE, PATIENCE, TOOLHOST, McpTest

POLICY = {"version": 1, "sessions": {"max_total": 4}, "approval": {"default": "allow"}, "limits": {"wall_ms": {"default": 120000}}}
FOREVER = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.02)"


class ControlTest(McpTest):
    def setUp(self):
        super().setUp()
        self.socket = os.path.join(self.home, "control")

    def served(self):
        """The wire of a server with the socket."""
        policy = os.path.join(self.home, "policy.json")
        with open(policy, "w", encoding="utf-8") as file:
            json.dump(POLICY, file)
        wire = self.started("--control", self.socket, "--mode", "process", "--policy", policy, plugin=CODE_EXECUTE)
        wire.call("tools/list")  # the loop serves
        return wire

    def operate(self, *words, status=0):
        done = subprocess.run([TOOLHOST, "sessions", *words, "--control", self.socket], capture_output=True, text=True, timeout=PATIENCE,
                              env={"PATH": os.environ["PATH"], "HOME": self.home})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def ask(self, line):
        """The answer to a line at the socket."""
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as peer:
            peer.settimeout(PATIENCE)
            peer.connect(self.socket)
            peer.sendall(line)
            with peer.makefile("rb") as answer:
                return answer.read()

    def listed(self):
        return json.loads(self.operate("list", "--json"))

    def cell(self, wire, code, session="new", language="python"):
        return wire.call("tools/call", self.asked(code, session, language))["structuredContent"]

    @staticmethod
    def asked(code, session, language="python"):
        return {"name": "code_execute", "arguments": {"language": language, "code": code, "session": session}}

    def begun(self, wire):
        """The id of a session."""
        result = self.cell(wire, "x = 1")
        if "session" not in result:
            self.skipTest(f"there are no sessions on this machine: {result['error']}")
        return result["session"]["id"]


class Operators(ControlTest):
    def setUp(self):
        super().setUp()
        self.wire = self.served()

    def test_sessions_are_listed_and_ended(self):
        self.assertEqual(self.operate("list"), "no sessions\n")
        session, user = self.begun(self.wire), pwd.getpwuid(os.getuid()).pw_name
        [entry] = self.listed()
        self.assertEqual((entry["id"], entry["principal"], entry["state"], entry["cells"]), (session, user, "idle", 1))
        self.assertRegex(self.operate("list"), rf"\A{session}  idle  python  1 cells  idle \d+s  \d+ MiB  {user}\n\Z")
        self.cell(self.wire, "x=1", session, "sh")
        self.assertIn("  python,sh  2 cells  ", self.operate("list"))
        self.assertEqual(self.operate("end", session), f"ended {session}\n")
        self.assertEqual(self.listed(), [])
        self.assertIn("session_not_found: there is no session", self.operate("end", session, status=1))
        self.assertIn(f"{session} is lost: ended_by_operator", self.cell(self.wire, "x", session)["error"]["message"])

    def test_a_busy_one_ends_with_its_cell(self):
        session = self.begun(self.wire)
        asked = self.wire.ask("tools/call", self.asked(FOREVER, session))
        self.wait_until(lambda: [entry["state"] for entry in self.listed()] == ["busy"], "the cell has the session")
        self.assertEqual(self.operate("end", session), f"ended {session}\n")
        self.wait_until(lambda: self.listed() == [], "it ends")
        answer = self.wire.answer_to(asked)["result"]["structuredContent"]
        self.assertEqual(answer["status"], "cancelled", answer)
        self.assertIn(self.cell(self.wire, "x", session)["error"]["code"], ("session_lost", "session_not_found"))

    def test_what_is_no_request_is_refused_and_the_server_goes_on(self):
        for line in (b"\n", b"{}\n", b"[]\n", b"x\n", b'{"command":"sessions","command":"sessions"}\n', b'{"command":"shutdown"}\n',
                     b'{"command":"end_session"}\n', b'{"command":"end_session","id":7}\n', b"\xff\n", b"x" * 5000 + b"\n", b"[" * 4000 + b"\n"):
            self.assertEqual(json.loads(self.ask(line))["error"]["code"], "invalid_input", line)
        self.assertEqual(json.loads(self.ask(b'{"command":"sessions"}\nand more\n')), {"sessions": []})
        self.assertEqual(json.loads(self.ask(b'{"command":"end_session","id":"s_1"}\n'))["error"]["code"], "session_not_found")

    def test_silent_clients_keep_nobody_out_for_long(self):
        with contextlib.ExitStack() as stack:
            for _ in range(12):
                peer = stack.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX)))
                peer.connect(self.socket)
            self.assertTrue(self.wire.call("tools/list")["tools"], "the server's clients are served")
        self.assertEqual(self.listed(), [], "behind those that have gone")

    def test_the_socket_is_its_user_s_alone_and_goes_with_the_server(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.socket).st_mode), 0o600)
        self.process.stdin.close()
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertFalse(os.path.exists(self.socket))
        self.assertIn("gateway_unavailable: cannot connect to", self.operate("list", status=1))

    @unittest.skipUnless(os.getuid() == 0, "needs root to become another user")
    def test_another_user_is_let_nowhere(self):
        os.chmod(self.home, 0o711)
        os.chmod(self.socket, 0o666)  # as if somebody had opened it up
        code = ("import socket,sys\ns = socket.socket(socket.AF_UNIX)\ns.settimeout(60)\ns.connect(sys.argv[1])\n"
                "try:\n s.sendall(b'{\"command\":\"sessions\"}\\n')\n print(s.recv(100))\nexcept ConnectionError: print(b'')\n")
        done = subprocess.run(["python3", "-c", code, self.socket], capture_output=True, text=True, timeout=PATIENCE, user=65534, group=65534,
                              extra_groups=[])
        self.assertEqual(done.stdout, "b''\n", done.stderr)
        self.assertEqual(self.listed(), [], "the control")


class Refusals(ControlTest):
    def refused(self, *options):
        done = subprocess.run([TOOLHOST, "mcp", "--plugin", CODE_EXECUTE, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, env={"PATH": os.environ["PATH"], "HOME": self.home})
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def test_a_directory_that_others_may_write_to_is_refused(self):
        for mode in (0o770, 0o707, 0o1777):
            shared = os.path.join(self.home, f"shared-{mode:o}")
            os.mkdir(shared)
            os.chmod(shared, mode)
            self.assertIn("other users may write to the directory", self.refused("--control", os.path.join(shared, "control")))
            self.assertEqual(os.listdir(shared), [])
        self.assertIn("No such file", self.refused("--control", os.path.join(self.home, "none", "control")))

    def test_a_file_in_its_place_stays(self):
        with open(self.socket, "w", encoding="utf-8") as file:
            file.write("mine")
        self.assertIn("cannot listen on", self.refused("--control", self.socket))
        with open(self.socket, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    def test_the_command_line(self):
        for words, said in ((("sessions", "list"), "sessions needs --control"), (("sessions", "end", "--control", "x"), "sessions end needs ID"),
                            (("sessions", "list", "s_1", "--control", "x"), "takes no ID"),
                            (("sessions", "stop", "--control", "x"), "needs list or end")):
            done = subprocess.run([TOOLHOST, *words], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)

    def test_a_provider_that_lists_none(self):
        self.started("--control", self.socket, plugin=os.environ["CONFORMANCE_PROVIDER"]).call("tools/list")
        self.assertIn("not_supported: this provider does not list sessions", self.operate("list", status=1))
        self.assertIn("not_supported: this provider cannot end a session", self.operate("end", "s_1", status=1))


if __name__ == "__main__":
    tap.run_unittest()
