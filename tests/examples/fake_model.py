# SPDX-License-Identifier: Apache-2.0
"""A model behind an OpenAI-compatible endpoint on the loopback that plays a script, and keeps what it was sent."""
import http.server
import json
import threading


class FakeModel(http.server.ThreadingHTTPServer):
    def __init__(self, *messages):
        super().__init__(("127.0.0.1", 0), Handler)
        self.messages, self.requests = list(messages), []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        message = self.server.messages[min(len(self.server.requests), len(self.server.messages)) - 1]
        found = self.path == "/v1/chat/completions"
        body = json.dumps({"choices": [{"index": 0, "message": message}]} if found else {"error": self.path}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass
