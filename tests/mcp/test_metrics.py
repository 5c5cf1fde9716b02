# SPDX-License-Identifier: Apache-2.0
"""toolhost mcp --metrics: the file that the server writes while it lives; --metrics-listen: the same over HTTP, for this machine
alone."""

import contextlib
import http.client
import json
import os
import re
import socket
import stat
import time

import tap
from client import CODE_EXECUTE, PATIENCE, McpTest


class Metrics(McpTest):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.home, "toolhost.prom")

    def values(self):
        with open(self.file, encoding="utf-8") as file:
            return {name: int(value) for name, value in re.findall(r"(?m)^toolhost_(\w+(?:\{.*\})?) (\d+)$", file.read())}

    def value(self, name):
        return self.values().get(name)

    def test_counts_the_calls_of_the_server(self):
        wire = self.started("--metrics", self.file, "--mode", "process", plugin=CODE_EXECUTE)
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o644)
        self.assertEqual((self.value("calls_run_total"), self.value("calls_not_run_total")), (0, 0))
        with open(self.file, encoding="utf-8") as file:
            self.assertIn(',mode="process",', file.read())
        wire.call("tools/call", wire.tool_call("x", language="cobol"))
        self.wait_until(lambda: self.value("calls_not_run_total") == 1, "the call in the file")
        first = os.stat(self.file).st_mtime_ns
        self.wait_until(lambda: os.stat(self.file).st_mtime_ns > first, "a newer file")
        self.assertEqual(self.value("calls_too_many_total"), 0)
        self.process.stdin.close()
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertEqual([name for name in os.listdir(self.home) if name.startswith("toolhost.prom")], [], "it ends with the server")

    def test_metrics_report_the_pool_of_this_moment(self):
        row = '{backend="process",interpreter="none"}'
        policy = os.path.join(self.home, "policy.json")
        with open(policy, "w", encoding="utf-8") as file:
            json.dump({"pools": {"process": {"ready": 2, "most": 0, "idle_ms": 8000}}, "approval": {"default": "allow"}}, file)
        wire = self.started("--metrics", self.file, "--mode", "process", "--policy", policy, plugin=CODE_EXECUTE)
        self.assertEqual(self.value("pool_ready" + row), 0)
        answer = wire.call("tools/call", wire.tool_call("true", language="sh"))
        self.assertEqual(answer["structuredContent"]["status"], "completed", answer)
        self.wait_until(lambda: self.value("pool_ready" + row) == 2, "what the policy wants")
        self.assertEqual((self.value("pool_wanted" + row), self.value('pool_known{backend="process"}')), (2, 1))
        self.assertGreaterEqual(self.value("pool_memory_bytes" + row), 2 << 20)
        self.wait_until(lambda: self.value("pool_ready" + row) == 0, "none, as nobody asks for them")

    def test_a_provider_that_tells_no_counters(self):
        self.started("--metrics", self.file, plugin=os.environ["CONFORMANCE_PROVIDER"])
        self.assertEqual({name.partition("{")[0] for name in self.values()}, {"ready", "info"})

    def test_a_file_that_cannot_be_written(self):
        self.start("--metrics", os.path.join(self.home, "no", "such", "place"))
        self.assertEqual(self.process.wait(PATIENCE), 1)
        self.assertIn("unwritable_file", self.said())

    def test_a_file_that_cannot_be_written_any_more(self):
        place = os.path.join(self.home, "place")
        os.mkdir(place)
        self.file = os.path.join(place, "toolhost.prom")
        wire = self.started("--metrics", self.file)
        os.rename(place, place + ".gone")
        self.wait_until(lambda: "toolhost.prom" in self.said(), "a notice")
        self.assertIn("tools", wire.call("tools/list"))
        os.rename(place + ".gone", place)
        before = os.stat(self.file).st_mtime_ns
        self.wait_until(lambda: os.stat(self.file).st_mtime_ns > before, "a newer file")
        self.assertEqual(self.said().count("toolhost.prom"), 1, "it is told once")


class OverHttp(McpTest):
    def setUp(self):
        super().setUp()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"

    def exchange(self, request, patience=PATIENCE):
        """All that is answered; b"" where nothing is."""
        with socket.create_connection(("127.0.0.1", self.port), patience) as client:
            client.sendall(request)
            answer = b""
            while part := client.recv(65536):
                answer += part
            return answer

    def get(self, path="/metrics", host=None, method="GET"):
        return self.exchange(f"{method} {path} HTTP/1.1\r\nhost: {host or self.address}\r\nAccept: */*\r\n\r\n".encode())

    def test_the_counters_of_that_moment(self):
        wire = self.started("--metrics-listen", self.address, "--mode", "process", plugin=CODE_EXECUTE)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        for count in range(3):
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            text = answer.read().decode()
            self.assertEqual((answer.status, answer.getheader("content-type")), (200, "text/plain; version=0.0.4"))
            self.assertIn(f"\ntoolhost_calls_not_run_total {count}\n", text)
            self.assertIn('\ntoolhost_pool_ready{backend="process",interpreter="none"} ', text)
            connection.close()
            wire.call("tools/call", wire.tool_call("x", language="cobol"))
        self.process.stdin.close()
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertRaises(ConnectionRefusedError, self.get)

    def test_with_the_file_beside_it(self):
        file = os.path.join(self.home, "toolhost.prom")
        self.started("--metrics-listen", self.address, "--metrics", file)
        first = os.stat(file).st_mtime_ns
        self.assertIn(b"toolhost_ready 1", self.get())
        self.wait_until(lambda: os.stat(file).st_mtime_ns > first, "a newer file")

    def test_nothing_else_is_answered(self):
        self.started("--metrics-listen", self.address)
        self.assertIn(b" 200 OK\r\n", self.get())
        for wanted, request in ((b" 404 ", {"path": "/"}), (b" 404 ", {"path": "/metrics/.."}), (b" 405 ", {"method": "POST"}),
                                (b" 403 ", {"host": "evil.example"}), (b" 403 ", {"host": "localhost.evil.example"}),
                                (b" 200 ", {"host": "LOCALHOST:1"}), (b" 200 ", {"host": "[::1]"}), (b" 200 ", {"host": "localhost"})):
            answer = self.get(**request)
            self.assertIn(wanted, answer.partition(b"\r\n")[0], request)
            self.assertEqual(b"toolhost_ready" in answer, wanted == b" 200 ", request)
        self.assertIn(b" 200 OK\r\n", self.exchange(b"GET /metrics HTTP/1.0\r\n\r\n"))

    def test_misbehaving_clients_do_not_block_others_for_long(self):
        wire = self.started("--metrics-listen", self.address)
        silent = [socket.create_connection(("127.0.0.1", self.port), PATIENCE) for _ in range(3)]
        begin = time.monotonic()
        self.assertIn(b" 200 OK\r\n", self.get())
        self.assertLess(time.monotonic() - begin, 3 + 10)
        for client in silent:
            client.close()
        self.assertEqual(self.exchange(b"GET /metrics HTTP/1.1\r\n\0\r\n\r\n"), b"")
        with contextlib.suppress(ConnectionError):  # it is closed with what was not read
            self.assertEqual(self.exchange(b"GET /metrics HTTP/1.1\r\nx: " + b"y" * 100_000), b"")
        for _ in range(50):
            socket.create_connection(("127.0.0.1", self.port), PATIENCE).close()
        self.assertIn("tools", wire.call("tools/list"))
        self.assertIn(b" 200 OK\r\n", self.get())

    def test_a_client_does_not_put_off_the_end(self):
        self.started("--metrics-listen", self.address)
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE):
            time.sleep(0.2)
            begin = time.monotonic()
            self.process.stdin.close()
            self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertLess(time.monotonic() - begin, 10)

    def test_the_other_loopback(self):
        try:
            with socket.create_server(("::1", 0), family=socket.AF_INET6) as free:
                port = free.getsockname()[1]
        except OSError:
            self.skipTest("no IPv6 here")
        self.started("--metrics-listen", f"[::1]:{port}")
        with socket.create_connection(("::1", port), PATIENCE) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            self.assertTrue(client.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n"))

    def test_addresses_that_are_refused(self):
        for address in ("0.0.0.0:9464", "localhost:9464", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x", "[::]:9464",
                        "192.0.2.1:9464", "9464", "", "127.0.0.2:9464"):
            self.start("--metrics-listen", address)
            self.assertNotEqual(self.process.wait(PATIENCE), 0, address)
            self.assertIn("--metrics-listen must be 127.0.0.1:PORT or [::1]:PORT", self.said())
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.start("--metrics-listen", f"127.0.0.1:{taken.getsockname()[1]}")
            self.assertEqual(self.process.wait(PATIENCE), 1)
            self.assertIn("cannot listen on", self.said())


if __name__ == "__main__":
    tap.run_unittest()
