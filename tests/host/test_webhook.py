# SPDX-License-Identifier: Apache-2.0
"""The webhook as approver: what it is asked, what counts as its answer, and everything that does not."""

import hashlib
import hmac
import http.server
import json
import os
import pathlib
import ssl
import tempfile
import threading
import time

import tap
from servers.certificates import Authority
from support import HostTest

KEY = b"0123456789abcdef0123456789abcdef"
PLUGIN = os.environ["CODE_EXECUTE"]


def signature(kind, timestamp, nonce, body, key=KEY):
    return "v1=" + hmac.new(key, b"\n".join([kind.encode(), timestamp.encode(), nonce.encode(), body]), hashlib.sha256).hexdigest()


class Service:
    """A web service on this machine: reply(request, poll number) gives (status, decision or bytes, changes)."""

    def __init__(self, test, reply, authority=None):
        service = self
        self.requests, self.polls, self.problems = [], 0, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                self.take("toolhost-approval-request-v1")

            def do_GET(self):
                self.take("toolhost-approval-poll-v1")

            def take(self, kind):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                timestamp, nonce = self.headers["X-Toolhost-Timestamp"], self.headers["X-Toolhost-Nonce"]
                if self.headers["X-Toolhost-Signature"] != signature(kind, timestamp, nonce, body):
                    service.problems.append(f"{kind} is not signed")
                if abs(int(timestamp) - time.time()) > 60:
                    service.problems.append("the time is not now")
                if body:
                    service.requests.append((nonce, json.loads(body)))
                else:
                    service.polls += 1
                self.answer(nonce, *reply(service.requests[-1][1], service.polls))

            def answer(self, nonce, status, content=b"", **changes):
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                timestamp = str(int(time.time()) + changes.get("seconds", 0))
                signed = signature(changes.get("kind", "toolhost-approval-answer-v1"), timestamp, changes.get("other_nonce", nonce), body,
                                   changes.get("key", KEY))
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", service.url)
                for _ in range(changes.get("signatures", 1)):
                    self.send_header("X-Toolhost-Signature", signed)
                self.send_header("X-Toolhost-Timestamp", timestamp)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass  # who has read enough hangs up

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/approve"
        if authority:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(authority / "cert.pem", authority / "key.pem")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.url = self.url.replace("http:", "https:")
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)


def allow(request, **more):
    return {"decision": "allow_once", "request_sha256": request["request_sha256"], **more}


class Webhook(HostTest):
    def setUp(self):
        super().setUp()
        self.key = self.path("key", KEY + b"\n")

    def call(self, url, *options, key=None, **more):
        keys = ["--webhook-key", key or self.key] if key != "" else []
        return self.run_code("echo ran", *keys, "--approvals", self.path("approvals.sqlite"), *options,
                             approve=f"webhook:{url}", TOOLHOST_PLUGIN=PLUGIN, **more)

    def ask(self, reply, *options, **more):
        service = Service(self, reply)
        done = self.call(service.url, *options, **more)
        self.assertEqual(service.problems, [])
        return done, service

    def refuses(self, reply, words, *options, **more):
        done, service = self.ask(reply, *options, **more)
        self.assertEqual((done.returncode, done.stdout), (125, b""), words)
        self.assertIn(words.encode(), done.stderr)
        return service

    def test_it_allows(self):
        done, service = self.ask(lambda request, _: (200, allow(request, approver="ann")))
        self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"), done.stderr)
        self.assertEqual(service.requests[0][1]["code"], "echo ran")
        start = [line["record"] for line in self.records() if line.get("record", {}).get("event") == "start"][0]
        self.assertEqual(start["approval"]["approver"], "webhook:ann")

    def test_it_denies_edits_and_cancels(self):
        self.refuses(lambda request, _: (200, {**allow(request), "decision": "deny", "reason": "not now"}), "not now")
        done, _ = self.ask(lambda request, _: (200, {**allow(request), "decision": "cancel"}))
        self.assertEqual(done.returncode, 130)
        edited = {"language": "sh", "code": "echo edited"}
        done, _ = self.ask(lambda request, _: (200, {**allow(request), "decision": "edit", "arguments": edited}))
        self.assertEqual(done.stdout, b"edited\n", done.stderr)

    def test_it_takes_its_time(self):
        done, service = self.ask(lambda request, polls: (200, allow(request)) if polls >= 2 else (202, b""))
        self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"), done.stderr)
        self.assertEqual((len(service.requests), service.polls), (1, 2), "it is told once, and asked until it knows")

    def test_it_never_answers(self):
        policy = self.path("policy.json", '{"approval": {"timeout_ms": 1500}}')
        self.refuses(lambda *_: (202, b""), "nobody answered in time", "--policy", policy)

    def test_only_a_signed_answer_to_this_request_counts(self):
        unsigned = "has no valid signature"
        for changes in ({"key": b"another key that is long enough!"}, {"other_nonce": "0" * 32}, {"seconds": -400}, {"seconds": 400},
                        {"kind": "toolhost-approval-request-v1"}, {"signatures": 0}, {"signatures": 2}):
            with self.subTest(changes):
                self.with_changes(changes, allow, unsigned)
        self.with_changes({}, lambda request: {**allow(request), "request_sha256": "0" * 64}, "for another request")
        self.with_changes({}, lambda request: {"decision": "allow_once"}, "does not name its request")
        self.with_changes({}, lambda request: [allow(request)], "does not name its request")
        self.with_changes({}, lambda request: b"", "does not name its request")
        self.with_changes({"seconds": -200}, allow, None)

    def with_changes(self, changes, content, words):
        service = Service(self, lambda request, _: (200, content(request)))
        handler = service.server.RequestHandlerClass
        plain = handler.answer
        handler.answer = lambda self, nonce, status, body=b"": plain(self, nonce, status, body, **changes)
        done = self.call(service.url)
        if words is None:
            self.assertEqual((done.returncode, done.stdout), (0, b"ran\n"), done.stderr)
            return
        self.assertEqual((done.returncode, done.stdout), (125, b""), words)
        self.assertIn(words.encode(), done.stderr)

    def test_an_earlier_answer_is_no_answer(self):
        """All of it, headers too, as somebody on the way could have kept it: the nonce is another one."""
        kept = []

        def reply(request, _):
            return 200, allow(request)
        first = Service(self, reply)
        self.assertEqual(self.call(first.url).returncode, 0)
        kept.append(first.requests[0])
        second = Service(self, reply)
        plain = second.server.RequestHandlerClass.answer
        second.server.RequestHandlerClass.answer = \
            lambda self, nonce, status, body: plain(self, nonce, status, body, other_nonce=kept[0][0])
        done = self.call(second.url)
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertEqual(kept[0][1]["request_sha256"], second.requests[0][1]["request_sha256"], "the same request")
        self.assertNotEqual(kept[0][0], second.requests[0][0])

    def test_other_statuses_deny(self):
        for status in (201, 204, 302, 400, 500):
            self.refuses(lambda request, _, status=status: (status, allow(request)), f"status {status}")

    def test_a_flood_denies(self):
        self.refuses(lambda *_: (200, b" " * (7 << 20)), "longer than")

    def test_an_unreachable_service_is_no_decision(self):
        done = self.call("http://127.0.0.1:1/")
        self.assertEqual((done.returncode, done.stdout), (125, b""))
        self.assertIn(b"could not be asked", done.stderr)

    def test_clear_text_stays_on_this_machine(self):
        for url in ("http://localhost:1/", "http://192.0.2.1/", "http://127.0.0.1.example/", "ftp://127.0.0.1/", "file:///etc/passwd",
                    "127.0.0.1", "nonsense:", "http://127.0.0.1@192.0.2.1/"):
            done = self.call(url)
            self.assertEqual((done.returncode, done.stdout), (125, b""), url)
            self.assertIn(b"must be https", done.stderr, url)

    def test_an_untrusted_certificate_is_refused(self):
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory)
            Authority(place / "authority", "nobody").issue(place / "server", "127.0.0.1", "serverAuth", "IP:127.0.0.1")
            service = Service(self, lambda request, _: (200, allow(request)), place / "server")
            done = self.call(service.url)
        self.assertEqual((done.returncode, done.stdout, service.requests), (125, b"", []))
        self.assertIn(b"could not be asked", done.stderr)

    def test_the_key_is_its_owners_alone(self):
        def reply(request, _):
            return 200, allow(request)
        for key, words in ((self.path("open", KEY, 0o644), "mode 0644"), (self.path("short", b"short"), "bytes"),
                           (self.path("missing"), "missing")):
            service = self.refuses(reply, words, key=key)
            self.assertEqual(service.requests, [], "nothing was told")
        self.assertEqual(self.call("https://127.0.0.1:1", key="").returncode, 2, "no key")

    def test_a_proxy_of_the_environment_is_not_asked_about_this_machine(self):
        done, _ = self.ask(lambda request, _: (200, allow(request)), http_proxy="http://127.0.0.1:1", all_proxy="http://127.0.0.1:1")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    tap.run_unittest()
