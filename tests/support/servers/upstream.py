# SPDX-License-Identifier: Apache-2.0
"""What endpoints lead to in tests: an HTTPS server on loopback with a certificate of an authority of its own, which keeps what it was
asked. It is a thread of the test, and ends with it."""
import http.server
import json
import os
import pathlib
import ssl
import subprocess
import threading

from servers.certificates import Authority


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def answer(self, status, body, content_type="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def handle_any(self):
        body = self.body()
        path, _, query = self.path.partition("?")
        self.server.asked.append({"method": self.command, "path": path, "query": query, "headers": dict(self.headers), "body": body})
        if path.startswith("/git/"):
            self.serve_git(path, query, body)
        elif path == "/echo":
            self.answer(200, json.dumps(dict(self.headers)).encode(), X_Seen=self.headers.get("Authorization", "none"))
        elif path == "/redirect":
            self.answer(302, b"", Location="https://elsewhere.invalid/")
        elif path.startswith("/bytes/"):
            self.answer(200, b"\x5a" * int(path.rpartition("/")[2]), "application/octet-stream")
        elif self.command in ("POST", "PUT"):
            self.answer(200, json.dumps({"length": len(body), "sum": sum(body) % 65521}).encode())
        else:
            self.answer(200, json.dumps({"path": path, "query": query}).encode())

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

    def serve_git(self, path, query, body):
        """git-http-backend(1), which is a CGI program."""
        variables = {"GIT_PROJECT_ROOT": str(self.server.repositories), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path.removeprefix("/git"),
                     "QUERY_STRING": query, "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                     "CONTENT_LENGTH": str(len(body)), "REMOTE_USER": "somebody", "REMOTE_ADDR": "127.0.0.1",
                     "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "PATH": os.environ["PATH"],
                     "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        answer = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=variables, check=True).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.answer(int(fields.get("Status", "200").split()[0]), content, fields["Content-Type"])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that went away


class Upstream:
    """At .url (by address) and .name_url (localhost), with the authority's certificate at .ca; .asked is what came."""

    def __init__(self, directory, handler=Handler):
        directory = pathlib.Path(directory)
        authority = Authority(directory / "upstream-ca", "upstream")
        own = authority.issue(directory / "upstream", "upstream", "serverAuth", "IP:127.0.0.1,DNS:localhost")
        self.ca = str(authority.certificate)
        self.server = Server(("127.0.0.1", 0), handler)
        self.server.asked = self.asked = []
        self.server.repositories = self.repositories = directory / "repositories"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(own / "cert.pem", own / "key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.url, self.name_url = f"https://127.0.0.1:{self.port}", f"https://localhost:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def make_repository(self, name):
        """A bare repository with one commit; its hash."""
        work, bare = self.repositories / f"{name}.work", self.repositories / f"{name}.git"
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        subprocess.run([*git, "init", "-q", str(work)], check=True)
        (work / "file").write_text("from upstream\n")
        subprocess.run([*git, "-C", str(work), "add", "."], check=True)
        subprocess.run([*git, "-C", str(work), "commit", "-qm", "one"], check=True)
        subprocess.run([*git, "clone", "-q", "--bare", str(work), str(bare)], check=True)
        subprocess.run([*git, "-C", str(bare), "config", "http.receivepack", "true"], check=True)
        return subprocess.run([*git, "-C", str(work), "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
