# SPDX-License-Identifier: Apache-2.0
"""A web service as approver: python3 webhook_approver.py KEY-FILE [PORT]
toolhost --approve webhook:http://127.0.0.1:PORT/ --webhook-key KEY-FILE ...
A question is told to people (here: printed as a line), and the gateway asks each second whether one of them has decided
(here: typed "ID y" or "ID n"). What is signed, and why: docs/approvals.md.
"""
import hashlib
import hmac
import http.server
import json
import pathlib
import sys
import threading
import time

KEY = pathlib.Path(sys.argv[1]).read_bytes().rstrip(b"\n")
asked, decided = {}, {}  # by the question's nonce


def signature(kind, timestamp, nonce, body):
    text = b"\n".join([f"toolhost-approval-{kind}-v1".encode(), timestamp.encode(), nonce.encode(), body])
    return "v1=" + hmac.new(KEY, text, hashlib.sha256).hexdigest()


class Approver(http.server.BaseHTTPRequestHandler):
    def read(self, kind):
        """The question's nonce and the body, from whoever has the key; else nothing."""
        nonce, timestamp = self.headers.get("X-Toolhost-Nonce", ""), self.headers.get("X-Toolhost-Timestamp", "")
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 8 << 20))
        right = signature(kind, timestamp, nonce, body)
        if hmac.compare_digest(right, self.headers.get("X-Toolhost-Signature", "")) and abs(time.time() - int(timestamp)) < 300:
            return nonce, body
        self.answer(403, "", b"")

    def answer(self, status, nonce, body):
        timestamp = str(int(time.time()))
        self.send_response(status)
        self.send_header("X-Toolhost-Timestamp", timestamp)
        self.send_header("X-Toolhost-Signature", signature("answer", timestamp, nonce, body))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        if question := self.read("request"):
            asked[question[0]] = json.loads(question[1])
            print(question[0], json.dumps(asked[question[0]]["code"]), flush=True)  # json.dumps escapes what could draw
            self.answer(202, question[0], b"")

    def do_GET(self):
        if question := self.read("poll"):
            decision = decided.get(question[0])
            self.answer(200 if decision else 202, question[0], json.dumps(decision).encode() if decision else b"")


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Approver)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for line in sys.stdin:
        name, _, word = line.strip().partition(" ")
        if name in asked and name not in decided:
            decided[name] = {"decision": "allow_once" if word == "y" else "deny", "approver": "ann",
                             "request_sha256": asked[name]["request_sha256"]}
