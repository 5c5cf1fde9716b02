# SPDX-License-Identifier: Apache-2.0
"""An API server of a cluster without a cluster: pods that are made, watched, claimed and removed as kube-apiserver 1.34 does it
(tests/cluster has the real one), and every broken answer that a test plans: see FakeServer.plan."""
import base64
import contextlib
import copy
import hashlib
import http.server
import json
import pathlib
import queue
import socketserver
import struct
import sys
import tempfile
import threading
import urllib.parse

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
PODS = "/api/v1/namespaces/runs/pods"
TOKEN = "a-token"
END = object()


def status(code, reason, message, **members):
    return code, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code,
                  **members}


def frame(opcode, payload, final=True):
    head = bytes([(0x80 if final else 0) | opcode])
    length = len(payload)
    if length < 126:
        return head + bytes([length]) + payload
    return head + b"\x7e" + struct.pack("!H", length) + payload


def message(channel, content, size=None):
    """A message, in fragments of that size where one is given."""
    payload = bytes([channel]) + content
    parts = [payload[at:at + (size or len(payload))] for at in range(0, len(payload), size or len(payload))]
    return b"".join(frame(0 if number else 2, part, number == len(parts) - 1) for number, part in enumerate(parts))


class Stream:
    """The server's end of a WebSocket."""

    def __init__(self, handler):
        self.handler = handler
        self.file = handler.rfile

    def write(self, content):
        with contextlib.suppress(OSError):
            self.handler.wfile.write(content)
            self.handler.wfile.flush()

    def read(self):
        """The next frame of the client: (opcode, payload); (None, b"") at its end."""
        head = self.file.read(2)
        if len(head) < 2:
            return None, b""
        length = head[1] & 0x7f
        if length == 126:
            length = struct.unpack("!H", self.file.read(2))[0]
        assert head[1] & 0x80, "a client masks its frames"
        mask = self.file.read(4)
        return head[0] & 15, bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.file.read(length)))


CONTAINER = ("spec", "containers", 0)  # of a pod


def put(place, **members):
    """A change of an object: these members there."""
    def change(thing):
        target = thing
        for part in place:
            target = target[part]
        target.update(members)
    return change


class FakeServer:
    """plan: functions by ("POST", "pods"), ("GET", "list"), ("GET", "watch"), ("GET", "pod"), ("PATCH", "pod"), ("DELETE", "pod") or
    ("GET", "attach"), in a list of which each request takes the next: called with the handler, it answers by itself, or returns
    (status, object[, headers]), or None for the usual answer. mutate: what an admission controller does to a pod."""

    def __init__(self):
        self.pods, self.version, self.plan, self.requests = {}, 100, {}, []
        self.lock, self.watchers, self.history = threading.RLock(), [], []
        self.mutate = lambda pod: None
        self.node = "node-1"  # that takes pods
        self.runs = True  # a pod that is made runs at once
        self.confirms = True  # a pod that is deleted with a grace is gone at once
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self):
                fake.serve(self)

            do_GET = do_POST = do_PATCH = do_DELETE = do

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                if not isinstance(sys.exc_info()[1], OSError):  # clients come and go
                    super().handle_error(request, client_address)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.directory = tempfile.TemporaryDirectory()
        self.kubeconfig = pathlib.Path(self.directory.name, "config")
        self.write_kubeconfig()

    def write_kubeconfig(self, user="    token: " + TOKEN):
        self.kubeconfig.write_text(f"""apiVersion: v1
kind: Config
current-context: fake
contexts:
- context:
    cluster: fake
    namespace: runs
    user: gateway
  name: fake
clusters:
- cluster:
    server: http://127.0.0.1:{self.server.server_address[1]}
  name: fake
users:
- name: gateway
  user:
{user}
""", encoding="utf-8")
        self.kubeconfig.chmod(0o600)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        for watcher in self.watchers:
            watcher.put(END)
        self.server.shutdown()
        self.server.server_close()
        self.directory.cleanup()

    def tell(self, kind, pod):
        with self.lock:
            self.version += 1
            pod["metadata"]["resourceVersion"] = str(self.version)
            event = {"type": kind, "object": copy.deepcopy(pod)}
            self.history.append((self.version, event))
            for watcher in self.watchers:
                watcher.put(event)

    def raw(self, text):
        """A line of the watches that is as it is."""
        for watcher in self.watchers:
            watcher.put(text)

    def end_watches(self):
        for watcher in self.watchers:
            watcher.put(END)

    def one(self):
        return next(iter(self.pods.values()))

    def change(self, change, kind="MODIFIED"):
        with self.lock:
            pod = self.one()
            change(pod)
            self.tell(kind, pod)

    def set_state(self, state, phase="Running", **members):
        self.change(lambda pod: pod.__setitem__("status", {"phase": phase, "containerStatuses": [{"name": "run", "state": state}], **members}))

    def terminate(self, code, reason="Error", **members):
        self.set_state({"terminated": {"exitCode": code, "reason": reason}}, "Failed" if code else "Succeeded", **members)

    def drop(self, tells=True):
        with self.lock:
            name = next(iter(self.pods))
            pod = self.pods.pop(name)
            if tells:
                self.tell("DELETED", pod)

    def seen(self, method, kind):
        return [request for request in self.requests if request[:2] == (method, kind)]

    def place(self, path, query, command):
        """What a request is about, and its name."""
        name = path[len(PODS) + 1:] if path.startswith(PODS + "/") else ""
        kind = "attach" if name.endswith("/attach") else "pod" if name else "watch" if query.get("watch") else "list"
        return "version" if path == "/version" else "pods" if command == "POST" else kind, name

    def serve(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        length = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(length)) if length else None
        kind, name = self.place(url.path, query, handler.command)
        with self.lock:
            self.requests.append((handler.command, kind, url.path, query, body, dict(handler.headers)))
        if handler.headers.get("Authorization") != "Bearer " + TOKEN:
            return self.answer(handler, *status(401, "Unauthorized", "Unauthorized"))
        planned = self.plan.get((handler.command, kind))
        answer = planned.pop(0)(handler) if planned else None
        if answer is None:
            answer = getattr(self, f"{handler.command.lower()}_{kind.replace(' ', '_')}")(handler, name, query, body)
        if answer:
            self.answer(handler, *answer)
        return None

    @staticmethod
    def answer(handler, code, body, headers=()):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        with contextlib.suppress(OSError):
            handler.send_response(code)
            handler.send_header("Content-Length", str(len(content)))
            for header, value in dict(headers).items():
                handler.send_header(header, value)
            handler.end_headers()
            handler.wfile.write(content)

    def post_pods(self, _handler, _name, _query, body):
        with self.lock:
            name = body["metadata"]["name"]
            if name in self.pods:
                return status(409, "AlreadyExists", f'pods "{name}" already exists')
            pod = copy.deepcopy(body)
            pod["metadata"].update(uid=f"uid-{len(self.history)}", namespace="runs")
            pod["spec"].update(schedulerName="default-scheduler", tolerations=[{"operator": "Exists"}], serviceAccount="run")
            pod["status"] = {"phase": "Pending"}
            for empty in ("hostNetwork", "hostPID", "hostIPC", "initContainers", "ephemeralContainers", "hostAliases", "subdomain"):
                del pod["spec"][empty]
            self.mutate(pod)
            self.pods[name] = pod
            self.tell("ADDED", pod)
            made = copy.deepcopy(pod)
            if self.runs:
                pod["spec"]["nodeName"] = self.node
                pod["status"] = {"phase": "Running", "podIP": f"10.0.0.{len(self.history)}", "containerStatuses": [{"name": "run", "state": {"running": {}}}]}
                self.tell("MODIFIED", pod)
            return 201, made

    def get_list(self, _handler, _name, _query, _body):
        with self.lock:
            return 200, {"kind": "PodList", "metadata": {"resourceVersion": str(self.version)}, "items": list(self.pods.values())}

    def get_watch(self, handler, _name, query, _body):
        events = queue.Queue()
        with self.lock:
            for version, event in self.history:
                if version > int(query["resourceVersion"]):
                    events.put(event)
            self.watchers.append(events)
        self.stream(handler, events)

    @staticmethod
    def stream(handler, events):
        with contextlib.suppress(OSError):
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            while (event := events.get()) is not END:
                line = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            handler.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def get_version(_handler, _name, _query, _body):
        return 200, {"major": "1", "minor": "34", "gitVersion": "v1.34.4"}

    def get_pod(self, _handler, name, _query, _body):
        with self.lock:
            return (200, self.pods[name]) if name in self.pods else status(404, "NotFound", f'pods "{name}" not found')

    def patch_pod(self, handler, name, _query, body):
        assert handler.headers["Content-Type"] == "application/json-patch+json"
        with self.lock:
            pod = self.pods[name]
            for step in body:
                *path, last = step["path"].strip("/").split("/")
                place = pod
                for part in path:
                    place = place[part]
                if step["op"] == "test" and place.get(last) != step["value"]:
                    return status(422, "Invalid", "the server rejected our request due to an error in our request", details={})
                if step["op"] != "test":
                    place[last] = step["value"]
            self.tell("MODIFIED", pod)
            return 200, copy.deepcopy(pod)

    def delete_pod(self, _handler, name, _query, body):
        with self.lock:
            pod = self.pods.get(name)
            if not pod:
                return status(404, "NotFound", f'pods "{name}" not found')
            if body["preconditions"]["uid"] != pod["metadata"]["uid"]:
                return status(409, "Conflict", "the UID in the precondition does not match")
            if body["gracePeriodSeconds"] == 0 or self.confirms:
                del self.pods[name]
                self.tell("DELETED", pod)
            else:
                pod["metadata"]["deletionTimestamp"] = "now"
                self.tell("MODIFIED", pod)
            return 200, pod

    def grant(self, handler, protocol="v5.channel.k8s.io", accept=None, headers=()):
        """The head of a WebSocket, and its stream."""
        key = handler.headers["Sec-WebSocket-Key"].encode()
        handler.close_connection = True
        handler.send_response(101, "Switching Protocols")
        for header, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Protocol", protocol),
                              ("Sec-WebSocket-Accept", accept or base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()), *headers):
            handler.send_header(header, value)
        handler.end_headers()
        return Stream(handler)

    def get_attach(self, handler, _name, _query, _body):
        """Says what it is told, until it is told an end."""
        stream = self.grant(handler)
        stream.write(message(1, b""))
        while True:
            opcode, payload = stream.read()
            if opcode is None or payload == b"\0end":
                break
            if opcode == 2 and payload[:1] == b"\0":
                stream.write(message(1, b"heard " + payload[1:]))
        stream.write(message(3, b'{"metadata":{},"status":"Success"}') + frame(8, struct.pack("!H", 1000)))
