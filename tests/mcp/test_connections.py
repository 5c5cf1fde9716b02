# SPDX-License-Identifier: Apache-2.0
"""toolhost mcp from its start to its end: what closes a connection, signals, and clients of a socket."""

import json
import os
import signal
import subprocess
import time

import tap
from client import PATIENCE, McpTest, Wire


class TheEnd(McpTest):
    def assert_ends(self, what):
        what()
        begun = time.monotonic()
        self.assertEqual(self.process.wait(PATIENCE), 0)
        return time.monotonic() - begun

    PING = json.dumps({"jsonrpc": "2.0", "id": "x" * 1000, "method": "ping"}).encode() + b"\n"

    def unread(self):
        """A server whose answers nobody reads."""
        process = subprocess.Popen(self.command("--approve", "always"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=self.environment(), start_new_session=True, bufsize=0)
        self.addCleanup(self._end, process, subprocess.DEVNULL)
        return process

    def running(self, **more):
        wire = self.started(**more)
        wire.ask("tools/call", wire.tool_call("sleep 600000"))
        self.wait_until(self.ran, "the run")
        return wire

    def test_end_of_input_ends_the_runs(self):
        self.running()
        self.assert_ends(self.process.stdin.close)
        self.assertEqual(self.records()[-1]["event"], "end")

    def test_signals_do_too(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.path.exists(self.audit_file) and os.remove(self.audit_file)
            self.running()
            self.assert_ends(lambda number=number: self.process.send_signal(number))
            self.assertEqual(self.records()[-1]["event"], "end")

    def test_a_provider_that_does_not_end_its_run_does_not_keep_it(self):
        """The fixture sleeps for ten minutes; the limit of the end is two seconds and the machine may be busy."""
        self.running(plugin="ignores_cancel")
        self.assertLess(self.assert_ends(self.process.stdin.close), 30)

    def test_a_client_that_does_not_read_does_not_keep_it(self):
        process = self.unread()
        process.stdin.write(self.PING * 1000)  # a megabyte of answers: more than a pipe holds
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_a_client_that_does_not_read_the_log_keeps_nothing(self):
        log, log_end = os.pipe()
        self.addCleanup(os.close, log)
        os.set_blocking(log_end, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(log_end, b"x")
        os.set_blocking(log_end, True)
        process = subprocess.Popen(self.command("--approve", "never"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=log_end, env=self.environment(), start_new_session=True, bufsize=0)
        os.close(log_end)
        wire = Wire(process.stdout, process.stdin.write)
        self.addCleanup(self._end, process, None, wire.reader)
        wire.handshake()
        denied = wire.call("tools/call", wire.tool_call("echo x"))
        self.assertIn("approval_denied", denied["content"][0]["text"])
        os.read(log, 1 << 20)
        wire.call("tools/call", wire.tool_call("echo x"))
        said = os.read(log, 1 << 20).decode()
        self.assertIn("log lines dropped because nobody read them: ", said)
        self.assertIn("denied by", said)
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_a_client_that_has_closed_its_end(self):
        process = self.unread()
        process.stdout.close()
        process.stdin.write(self.PING)
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_a_failed_start_gives_its_reason(self):
        for arguments in (("--mode", "none"), ("--policy", "/no/such/policy")):
            self.start(*arguments)
            self.assertEqual(self.process.wait(PATIENCE), 1)
            self.assertIn("toolhost: ", self.said())
        self.start("--listen", "tcp:1")
        self.assertEqual(self.process.wait(PATIENCE), 2)


class Sockets(McpTest):
    def listening(self, *arguments):
        path = os.path.join(self.home, "socket")
        self.start("--approve", "always", "--listen", f"unix:{path}", *arguments)
        self.wait_until(lambda: os.path.exists(path), "the socket")
        return path

    def test_clients_side_by_side(self):
        path = self.listening()
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        first, connection = self.connect(path)
        second, _ = self.connect(path)
        first.handshake()
        second.handshake("2024-11-05")
        running = first.ask("tools/call", first.tool_call("sleep 600000"), id="same")
        self.assertEqual(second.call("tools/call", second.tool_call("echo x"))["structuredContent"]["stdout"], "x\n")
        second.notify("notifications/cancelled", {"requestId": running})  # not its own
        self.assertEqual(first.call("ping"), {})
        connection.shutdown(2)
        self.wait_until(lambda: len([r for r in self.records() if r["event"] == "end"]) == 2, "the end of the run")
        self.assertEqual(second.call("ping"), {})
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertFalse(os.path.exists(path))

    def test_a_dead_ones_socket_is_replaced_and_a_living_ones_is_not(self):
        path = self.listening()
        self.process.kill()
        self.process.wait()
        self.assertTrue(os.path.exists(path))
        self.listening()
        self.wait_until(lambda: self.answers(path), "an answer")
        second = subprocess.run(self.command("--listen", f"unix:{path}"), capture_output=True, env=self.environment(),
                                timeout=PATIENCE)
        self.assertEqual(second.returncode, 1)
        self.assertIn(b"listen on another", second.stderr)
        self.assertTrue(self.answers(path))

    def answers(self, path):
        try:
            wire, _ = self.connect(path)
        except OSError:
            return False
        return wire.call("ping") == {}


if __name__ == "__main__":
    tap.run_unittest()
