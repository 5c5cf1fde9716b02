# SPDX-License-Identifier: Apache-2.0
"""What comes back from an upstream: headers, redirects, credentials that are echoed, long bodies both ways, and limits."""
import base64
import json
import socket
import threading
import urllib.parse

import broker
import tap
from broker import TOKEN, answer

broker.need_program()

MIB = 1 << 20


def test_answer_headers_that_pass():
    passing = {"content-type": "a/b", "etag": "\"x\"", "last-modified": "then", "cache-control": "no-store", "retry-after": "3",
               "x-ratelimit-left": "7", "x-listed": "yes"}
    dropped = ["Set-Cookie: a=b", "Server: x", "X-Other: y", "Strict-Transport-Security: z", "Proxy-Authenticate: basic", "Upgrade: h2c", "Alt-Svc: x",
               "Keep-Alive: timeout=5", "Trailer: x"]
    headers = [f"{name}: {value}" for name, value in passing.items()] + dropped
    with broker.scene(lambda _: answer(b"hello", "418 Teapot", headers), response_headers=["x-listed", "set-cookie"]) as (_, _, run):
        got = run.ask("GET", "/api/x")
        tap.equal((got.status, got.body), (418, b"hello"))
        tap.equal(got.headers, {**passing, "content-length": "5"})


def test_redirects_are_passed_and_not_followed():
    with broker.Upstream() as elsewhere:
        outside = f"http://127.0.0.1:{elsewhere.port}/x"
        locations = {}

        def respond(request):
            return answer(b"", "302 Found", [f"Location: {locations[request.target]}"])

        with broker.scene(respond, broker.with_token, path="/v1") as (_, upstream, run):
            base = f"https://127.0.0.1:{upstream.port}"
            cases = [(f"{base}/v1/y?z#f", "/api/y?z#f"), (f"{base}/v1", "/api"), ("/v1/y", "/api/y"), (outside, None), (f"{base}/other", None),
                     (f"{base}/v12", None), ("/other", None), (f"//127.0.0.1:{upstream.port}/v1/y", None), (f"{base}.evil/v1/y", None),
                     ("y", None), (f"http://127.0.0.1:{upstream.port}/v1/y", None)]
            for number, (location, local) in enumerate(cases):
                locations[f"/v1/{number}"] = location
                got = run.ask("GET", f"/api/{number}")
                tap.equal((got.status, got.headers.get("location")), (302, local), location)
            tap.equal(len(upstream.requests), len(cases), "requests")
        tap.equal(elsewhere.connections, 0, "connections elsewhere")


def test_links_lead_back():
    def respond(request):
        base = f"https://{request.values('host')[0]}/v1"
        return answer(b"", headers=[f"Link: <{base}/x?page=2>; rel=\"next\", <https://other.example/v1/>; rel=\"help\", <{base}>; rel=\"first\""])

    with broker.scene(respond, path="/v1") as (_, _, run):
        tap.equal(run.ask("GET", "/api/x").headers["link"],
                  "</api/x?page=2>; rel=\"next\", <https://other.example/v1/>; rel=\"help\", </api>; rel=\"first\"")


def rendered(token, user):
    """The forms in which servers show a request's credential."""
    both = f"{user}:{token}"
    yield token
    yield json.dumps(token)[1:-1]
    yield urllib.parse.quote(token, safe="")
    yield urllib.parse.quote_plus(token)
    yield token.encode().hex()
    yield base64.b64encode(both.encode()).decode()
    for offset in range(3):
        yield base64.b64encode(b"p" * offset + token.encode() + b"ss").decode()


def parts_of(token):
    """What must not be in an answer: whole, or the core of any rendering of it."""
    yield token
    yield token.encode().hex()
    yield urllib.parse.quote(token, safe="")
    for offset in range(3):
        yield base64.b64encode(b"p" * offset + token.encode()).decode()[4 if offset else 0:-4]


def test_a_credential_that_is_echoed():
    for auth in ("bearer", "basic"):
        forms = list(rendered(TOKEN, "robot"))
        body = "\n".join(forms).encode()

        def respond(request, body=body):
            credential = request.values("authorization")[0]
            return answer(credential.encode() + b"\n" + body, headers=[f"X-Echo: {credential}", f"ETag: \"{TOKEN}\""])

        with broker.scene(respond, auth=auth, auth_name="robot" if auth == "basic" else "", credential=TOKEN, response_headers=["x-echo"]) as (_, upstream, run):
            got = run.ask("GET", "/api/x")
            tap.equal(got.status, 200)
            shown = got.body.decode() + repr(got.headers)
            for part in parts_of(TOKEN):
                tap.lacks(shown, part, auth)
            tap.contains(shown, "[redacted:api]")
            tap.equal(got.body.count(b"\n"), len(forms), "lines")
            tap.true(upstream.requests[0].values("authorization")[0] not in ("", None), "control: it was sent")
    with broker.scene(lambda _: answer(TOKEN.encode())) as (_, _, run):
        tap.equal(run.ask("GET", "/api/x").body.decode(), TOKEN, "control: nobody's credential")


def test_a_credential_across_pieces():
    pieces, seen = threading.Event(), []

    def respond(request):
        def slowly(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for index, letter in enumerate("<" + TOKEN + ">"):
                connection.sendall(b"1\r\n" + letter.encode() + b"\r\n")
                if index == len(TOKEN) // 2:
                    seen.append(pieces.wait(broker.PATIENCE / 2))  # until the program has seen what was before
            connection.sendall(b"0\r\n\r\n")
            return True
        return slowly

    with broker.scene(respond, broker.with_token) as (_, _, run):
        with run.connect() as connection:
            connection.sendall(b"GET /api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            begin = connection.recv(65536)
            while b"<" not in begin:
                begin += connection.recv(65536)
            pieces.set()
            whole = begin + broker.read_all(connection)
        tap.equal(seen, [True], "what no credential begins with is not held back")
        tap.lacks(whole.decode(), TOKEN)
        tap.lacks(whole.decode(), TOKEN[:8], "its beginning")
        tap.contains(whole.decode(), "[redacted:api]")


def test_a_compressed_answer_of_a_credential():
    def respond(_):
        return answer(b"\x1f\x8b...", headers=["Content-Encoding: gzip"])

    with broker.scene(respond, broker.with_token) as (_, upstream, run):
        got = run.ask("GET", "/api/x")
        tap.equal((got.status, got.denial()["error"]), (502, "upstream_protocol"))
        tap.equal(upstream.requests[0].values("accept-encoding"), ["identity"])
    with broker.scene(respond) as (_, _, run):
        got = run.ask("GET", "/api/x")
        tap.equal((got.status, got.headers.get("content-encoding")), (200, "gzip"), "control: without a credential")


def test_long_bodies_both_ways():
    size = 6 * MIB
    pattern = bytes(range(251)) * (MIB // 251 + 1)
    content = (pattern * (size // len(pattern) + 1))[:size]

    def respond(request):
        return answer(request.body)

    limits = {"request_bytes": size, "response_bytes": size, "timeout_ms": 300000}
    for make in (broker.endpoint, broker.with_token):
        with broker.scene(respond, make, limits=limits) as (_, upstream, run):
            got = run.ask("PUT", "/api/x", body=content)
            tap.true(got.status == 200 and got.body == content, f"{got.status}, {len(got.body)} bytes")
            got = run.ask("PUT", "/api/x", body=iter([content[i:i + 99999] for i in range(0, size, 99999)]), encode_chunked=True)
            tap.equal(got.status, 200, "in chunks")
            tap.true(upstream.requests[-1].body == content, "the body that came in chunks")
            records, totals = run.finish()
            tap.equal([(record["bytes_out"], record["bytes_in"]) for record in records], [(size, size)] * 2)
            tap.equal((totals["bytes_out"], totals["bytes_in"]), (2 * size, 2 * size))


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def test_a_program_that_does_not_read_holds_the_upstream():
    size, sent = 64 * MIB, []

    def respond(_):
        def flood(connection):
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
            for _ in range(size // MIB):
                connection.sendall(b"x" * MIB)
                sent.append(MIB)
            return True
        return flood

    with broker.scene(respond, limits={"response_bytes": size, "timeout_ms": 600000}) as (program, _, run):
        with run.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            connection.sendall(b"GET /api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            tap.true(connection.recv(1000).startswith(b"HTTP/1.1 200"), "head")
            before = -1
            while len(sent) != before:  # it stands when the buffers on the way are full
                before = len(sent)
                tap.within(lambda: len(sent) != before, 0.5)
            tap.true(len(sent) < size // MIB // 2, f"{len(sent)} MiB went out unread")
            tap.true(resident(program.pid) < 48 * MIB or "asan" in repr(open(f"/proc/{program.pid}/maps").read()), "memory of the broker")
            received = 0
            while part := connection.recv(MIB):
                received += len(part)
        tap.true(received > size - 2000, f"{received} bytes in the end")


def test_limits_of_an_endpoint():
    with broker.scene(lambda request: answer(b"x" * int(request.target[1:])), limits={"requests": 5, "request_bytes": 10, "response_bytes": 20}) as (_, upstream, run):
        tap.equal(run.ask("POST", "/api/20", body=b"1234567890").status, 200, "control: at the limits")
        got = run.ask("POST", "/api/1", body=b"12345678901")
        tap.equal((got.status, got.denial()["error"]), (413, "budget_exhausted"))
        got = run.ask("POST", "/api/1", body=iter([b"123456", b"78901"]), encode_chunked=True)
        tap.equal((got.status, got.denial()["error"]), (413, "budget_exhausted"), "in chunks")
        got = run.ask("GET", "/api/21")
        tap.equal((got.status, got.denial()["error"]), (429, "budget_exhausted"), "answer")
        tap.contains(got.denial()["reason"], "longer than 20 bytes")
        tap.equal(run.ask("GET", "/api/1").status, 200)
        tap.equal(run.ask("GET", "/api/1").status, 200)
        got = run.ask("GET", "/api/1")
        tap.equal((got.status, got.denial()["error"]), (429, "budget_exhausted"), "requests")
        tap.contains(got.denial()["reason"], "5 requests")
        tap.equal([request.target for request in upstream.requests], ["/20", "/21", "/1", "/1"])
        records, totals = run.finish()
        tap.equal([record["decision"] for record in records],
                  ["allowed", "budget_exhausted", "budget_exhausted", "budget_exhausted", "allowed", "allowed", "budget_exhausted"])
        tap.equal((totals["requests"], totals["denied"]), (7, 4))


def test_an_answer_that_grows_beyond_its_limit():
    def respond(_):
        def grow(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                connection.sendall(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")
        return grow

    with broker.scene(respond, limits={"response_bytes": MIB}) as (_, _, run):
        whole = run.raw(b"GET /api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        tap.true(len(whole) <= MIB + MIB // 8, f"{len(whole)} bytes")
        tap.true(not whole.endswith(b"0\r\n\r\n"), "the answer must not look whole")
        records, _ = run.finish()
        tap.equal(records[0]["decision"], "budget_exhausted")


def test_events_come_as_they_are_sent():
    go_on, seen = threading.Event(), []

    def respond(_):
        def stream(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            seen.append(go_on.wait(broker.PATIENCE / 2))
            connection.sendall(b"3\r\ntwo\r\n0\r\n\r\n")
            return True
        return stream

    with broker.scene(respond) as (_, _, run):
        connection = run.http()
        connection.request("GET", "/api/x")
        got = connection.getresponse()
        tap.equal(got.read(3), b"one", "before the second is sent")
        go_on.set()
        tap.equal(got.read(), b"two")
        tap.equal(seen, [True])
        connection.close()


tap.run(globals())
