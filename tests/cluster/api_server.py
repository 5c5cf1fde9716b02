# SPDX-License-Identifier: Apache-2.0
"""The API server of scripts/with-cluster as a client of its own sees it: requests, watches, and attach over a WebSocket (RFC 6455),
byte by byte. Nothing of the product has a part in it: it is what the product is judged by."""
import base64
import http.client
import json
import os
import pathlib
import secrets
import ssl
import struct
import subprocess

DIRECTORY = os.environ.get("CODE_EXECUTE_TEST_CLUSTER")
ADDRESS = ("127.0.0.1", 6443)
STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255  # channels; CLOSE is v5's
TEXT, BINARY, END, PING, PONG = 1, 2, 8, 9, 10


def kubectl(*arguments, text=None, check=True):
    ended = subprocess.run(["kubectl", *arguments], input=text, capture_output=True, text=True, check=False)
    if check and ended.returncode != 0:
        raise AssertionError(f"kubectl {' '.join(arguments)}: {ended.stderr}")
    return ended.stdout if check else ended


class Server:
    """With a token: who it belongs to; else the administrator, by certificate."""

    def __init__(self, token=None):
        certificates = pathlib.Path(DIRECTORY, "certificates")
        self.tls = ssl.create_default_context(cafile=certificates / "ca.crt")
        if not token:
            self.tls.load_cert_chain(certificates / "admin.crt", certificates / "admin.key")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def open(self, method, path, body=None, content_type="application/json", headers=None, timeout=180):
        connection = http.client.HTTPSConnection(*ADDRESS, context=self.tls, timeout=timeout)
        text = json.dumps(body) if body is not None else None
        connection.request(method, path, text, {**self.headers, **({"Content-Type": content_type} if text else {}), **(headers or {})})
        return connection, connection.getresponse()

    def ask(self, method, path, body=None, content_type="application/json"):
        """The status and the object."""
        connection, response = self.open(method, path, body, content_type)
        text = response.read()
        connection.close()
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, text.decode()

    def watch(self, path):
        """The events of a watch, until the server ends it or nobody asks for more."""
        connection, response = self.open("GET", path)
        try:
            while line := response.readline():
                yield json.loads(line)
        finally:
            connection.close()

    def attach(self, namespace, pod, protocol="v5.channel.k8s.io", query="container=main&stdin=true&stdout=true&stderr=true"):
        return Channels(self, f"/api/v1/namespaces/{namespace}/pods/{pod}/attach?{query}", protocol)


class Refused(Exception):
    """No WebSocket: the server's answer."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status, self.body = status, body


class Channels:
    """One attach. receive() gives (channel, bytes), and (None, code) at the WebSocket's end, code None where none was sent."""

    def __init__(self, server, path, protocol):
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        self.connection, response = server.open("GET", path, headers={
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key,
            **({"Sec-WebSocket-Protocol": protocol} if protocol else {})})
        if response.status != 101:
            body = response.read().decode()
            self.connection.close()
            raise Refused(response.status, body)
        self.answer = response
        self.protocol = response.getheader("Sec-WebSocket-Protocol")
        self.file = response.fp  # may have read the first frames already
        self.socket = self.connection.sock

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answer.close()
        self.connection.close()

    def send_frame(self, opcode, payload):
        mask = secrets.token_bytes(4)
        length = len(payload)
        if length < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | length)
        elif length < 65536:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, length)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, length)
        self.socket.sendall(head + mask + bytes(byte ^ mask[number % 4] for number, byte in enumerate(payload)))

    def send(self, channel, content):
        self.send_frame(BINARY, bytes([channel]) + content)

    def end_of_input(self):
        self.send(CLOSE, bytes([STDIN]))

    def frame(self):
        head = self.file.read(2)
        if len(head) < 2:
            return None, b""
        length = head[1] & 0x7f
        if length == 126:
            length = struct.unpack("!H", self.file.read(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", self.file.read(8))[0]
        return head[0], self.file.read(length)

    def receive(self):
        while True:
            head, payload = self.frame()
            if head is None:
                return None, None
            opcode = head & 0x0f
            if opcode == PING:
                self.send_frame(PONG, payload)
            elif opcode == END:
                return None, struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else None
            elif opcode != PONG and payload:
                return payload[0], payload[1:]

    def until(self, expected):
        """All that comes until these have come: {channel: bytes} that the channel must have had."""
        got = {}
        while any(got.get(channel, b"") != content for channel, content in expected.items()):
            number, content = self.receive()
            if number is None:
                raise AssertionError(f"the end ({content}) after { {channel: len(had) for channel, had in got.items()} }")
            got[number] = got.get(number, b"") + content
        return got

    def rest(self):
        """All that comes until the end: {channel: bytes}, and the code of the end."""
        got = {}
        while True:
            number, content = self.receive()
            if number is None:
                return got, content
            got[number] = got.get(number, b"") + content


def run_pod(name, command, image="code-execute/shell:test", **members):
    """A pod as the backend for runs would ask for it: one container `main` that reads its input, everything restricted."""
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"code-execute.dev/owner": "tests"}},
        "spec": {
            "restartPolicy": "Never", "automountServiceAccountToken": False, "enableServiceLinks": False, "dnsPolicy": "Default",
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "main", "image": image, "imagePullPolicy": "Never", "command": command, "stdin": True, "stdinOnce": True,
                "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
            }],
            **members,
        },
    }
