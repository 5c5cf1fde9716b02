# SPDX-License-Identifier: Apache-2.0
"""Which requests the broker of endpoints lets through, and in which form they reach the upstream: methods, paths, headers, framing.
What is refused never reaches the upstream; each case has a request beside it that does."""
import broker
import egress_wire as wire
import tap

broker.need_program()

RULES = [wire.rule(["GET"], ["/repos/acme/*/issues", "/repos/acme/*/issues/*"]), wire.rule(["POST"], ["/search/**"])]
CLOSE = b"Host: x\r\nConnection: close\r\n"


def targets(upstream):
    return [request.target for request in upstream.requests]


def refused(run, upstream, method, target, reason, status=403, error="policy_denied", **more):
    before = len(upstream.requests)
    answer = run.ask(method, target, **more)
    tap.equal(answer.status, status, f"status of {method} {target}")
    tap.equal(answer.denial()["error"], error, "error")
    tap.contains(answer.denial()["reason"], reason, "reason")
    tap.equal(len(upstream.requests), before, "requests at the upstream")
    return answer


def test_a_method_and_a_path_of_one_rule():
    with broker.scene(rules=RULES) as (_, upstream, run):
        tap.equal(run.ask("GET", "/api/repos/acme/x/issues?page=2").status, 200, "allowed")
        tap.equal(run.ask("POST", "/api/search/code/all", body=b"q").status, 200, "allowed by the other rule")
        tap.equal(targets(upstream), ["/repos/acme/x/issues?page=2", "/search/code/all"])
        answer = refused(run, upstream, "POST", "/api/repos/acme/x/issues", "method POST is not allowed for this path", body=b"q")
        tap.equal(answer.denial()["endpoint"], "api")
        tap.contains(answer.denial()["hint"], "Do not retry")
        refused(run, upstream, "DELETE", "/api/repos/acme/x/issues", "method DELETE is not allowed")
        refused(run, upstream, "GET", "/api/repos/acme/x/y/issues", "not allowed for this path")
        refused(run, upstream, "GET", "/api/repos/other/x/issues", "not allowed for this path")
        refused(run, upstream, "get", "/api/repos/acme/x/issues", "method get is not allowed")
        refused(run, upstream, "GET", "/api", "not allowed for this path")


def test_empty_lists_allow_nothing():
    for rules in ([], [wire.rule([], ["/**"])], [wire.rule(["GET"], [])]):
        with broker.scene(rules=rules) as (_, upstream, run):
            refused(run, upstream, "GET", "/api/x", "not allowed")
    with broker.scene(rules=[wire.rule(["GET"], ["/**"])]) as (_, _, run):
        tap.equal(run.ask("GET", "/api/x").status, 200, "control")


def test_connect_and_trace_whatever_the_rules():
    with broker.scene(methods=["GET", "TRACE", "CONNECT"]) as (_, upstream, run):
        refused(run, upstream, "TRACE", "/api/x", "method TRACE is not allowed")
        refused(run, upstream, "CONNECT", "/api/x", "method CONNECT is not allowed")
        tap.equal(run.ask("GET", "/api/x").status, 200, "control")


def test_other_endpoints_are_named():
    with broker.scene() as (_, upstream, run):
        answer = refused(run, upstream, "GET", "/other/x", "there is no endpoint other; this run has: api")
        tap.equal(answer.denial()["endpoint"], None)
        refused(run, upstream, "GET", "/", "there is no endpoint of no name")
        refused(run, upstream, "GET", "/Api/x", "there is no endpoint Api")
        refused(run, upstream, "GET", "/ap%69/x", "there is no endpoint ap%69")
        refused(run, upstream, "GET", "/api%2fx", "there is no endpoint")


def test_the_form_that_is_matched_is_sent():
    rules = [wire.rule(["GET"], ["/a/b~c/*", "/x/*/"])]
    with broker.scene(rules=rules) as (_, upstream, run):
        for sent in ("/a/b~c/d", "/%61/b%7ec/%64", "/a/b%7Ec/d%2c%c3%a4", "/a/b~c/d:e@f!$&'()*+,=", "/x/y/"):
            tap.equal(run.ask("GET", "/api" + sent).status, 200, sent)
        tap.equal(targets(upstream), ["/a/b~c/d", "/a/b~c/d", "/a/b~c/d%2C%C3%A4", "/a/b~c/d:e@f!$&'()*+,=", "/x/y/"])


def test_paths_that_two_readers_understand_differently():
    with broker.scene() as (_, upstream, run):
        for path, reason in (("/a/../b", "dot segment"), ("/a/./b", "dot segment"), ("/..", "dot segment"), ("/a/..", "dot segment"),
                             ("/a/%2e%2E/b", "dot segment"), ("/a/.%2e", "dot segment"), ("/a//b", "empty segment"), ("//a", "empty segment"),
                             ("/a%2fb", "encoded slash"), ("/a%2Fb", "encoded slash"), ("/a%5cb", "encoded slash or backslash"),
                             ("/a\\b", "backslash"), ("/a;b=c", "semicolon"), ("/a%3Bb", "semicolon"), ("/a%00b", "control character"),
                             ("/a%0d%0aX: y", "control character"), ("/a%7f", "control character"), ("/a%252fb", "encoded twice"),
                             ("/a%25%32%66", "encoded twice"), ("/a%", "encodes nothing"), ("/a%g1", "encodes nothing"), ("/a%2", "encodes nothing"),
                             ("/a|b", "must be percent-encoded"), ("/a\"b", "must be percent-encoded"), ("/a?b|c", "the query has a character"),
                             ("/a#b", "fragment")):
            answer = run.raw(b"GET /api" + path.encode() + b" HTTP/1.1\r\n" + CLOSE + b"\r\n")
            if b" " not in path.encode():
                tap.contains(answer.decode(), "403 Forbidden", path)
                tap.contains(answer.decode(), reason, path)
        for path in (b"/a\xc3\xa4", b"/a\x01b", b"/a\xff"):
            tap.contains(run.raw(b"GET /api" + path + b" HTTP/1.1\r\n" + CLOSE + b"\r\n").decode(), "403 Forbidden", repr(path))
        tap.equal(targets(upstream), [])
        tap.equal(run.ask("GET", "/api/a/b...c/%25").status, 200, "control")
        tap.equal(targets(upstream), ["/a/b...c/%25"])


def test_nothing_behind_a_null_byte():
    with broker.scene() as (_, upstream, run):
        run.raw(b"GET /api/a\0/../b HTTP/1.1\r\n" + CLOSE + b"\r\n")
        tap.true(targets(upstream) in ([], ["/a"]), f"targets: {targets(upstream)}")
        run.raw(b"GET /api/c HTTP/1.1\r\nAccept: d\0evil\r\n" + CLOSE + b"\r\n")
        tap.lacks(repr([request.headers for request in upstream.requests]), "evil")


def test_targets_that_are_no_path():
    with broker.scene() as (_, upstream, run):
        for target in (f"http://127.0.0.1:{upstream.port}/api/x", "http://other/api/x", "*", "api/x", "evil:443"):
            refused(run, upstream, "GET", target, "must be a path")
        refused(run, upstream, "GET", "/api/" + "a" * 9000, "too long")
        tap.equal(run.ask("GET", "/api/x").status, 200, "control")


def test_the_base_url_decides_where_it_goes():
    with broker.scene(path="/v1") as (_, upstream, run):
        tap.equal(run.ask("GET", "/api/x", headers={"Host": "evil.example"}).status, 200)
        tap.equal(run.ask("GET", "/api").status, 200)
        tap.equal(run.ask("GET", "/api?a=b").status, 200)
        tap.equal(targets(upstream), ["/v1/x", "/v1/", "/v1/?a=b"])
        for request in upstream.requests:
            tap.equal(request.values("host"), [f"127.0.0.1:{upstream.port}"], "host")


def test_request_headers_that_pass():
    given = {"Accept": "a/b", "Accept-Language": "de", "Content-Type": "text/x", "User-Agent": "me", "If-None-Match": "\"x\"",
             "If-Modified-Since": "then", "X-Listed": "yes", "Range": "bytes=0-1"}
    dropped = {"Authorization": "evil", "Cookie": "evil", "Proxy-Authorization": "evil", "Proxy-Connection": "evil", "X-Forwarded-For": "evil",
               "X-Forwarded-Host": "evil", "Forwarded": "evil", "Via": "evil", "TE": "evil", "Trailer": "evil", "Upgrade": "evil", "X-Other": "evil",
               "Keep-Alive": "evil", "Accept-Encoding": "gzip, evil", "X-Operator": "evil", "Referer": "evil", "Origin": "evil", "HTTP2-Settings": "evil",
               "Connection": "X-Listed, keep-alive"}
    with broker.scene(request_headers=["x-listed", "authorization", "cookie", "te"], headers=["X-Operator: ours", "accept-charset: utf-8"]) as (_, upstream, run):
        tap.equal(run.ask("PUT", "/api/x", body=b"12", headers={**given, **dropped}).status, 200)
        got = {name.lower(): value for name, value in upstream.requests[0].headers}
        for name, value in given.items():
            tap.equal(got.pop(name.lower(), None), value, name)
        tap.equal(got, {"host": f"127.0.0.1:{upstream.port}", "accept-encoding": "identity", "x-operator": "ours", "accept-charset": "utf-8",
                        "content-length": "2"}, "the rest")


def test_the_credential_is_the_only_one():
    for more, header in (({"auth": "bearer"}, ("authorization", "Bearer s3cret")),
                         ({"auth": "basic", "auth_name": "robot"}, ("authorization", "Basic cm9ib3Q6czNjcmV0")),
                         ({"auth": "header", "auth_name": "X-Api-Key", "auth_prefix": "Key "}, ("x-api-key", "Key s3cret"))):
        with broker.scene(credential="s3cret", request_headers=["x-api-key", "authorization"], **more) as (_, upstream, run):
            tap.equal(run.ask("GET", "/api/x", headers={"Authorization": "evil", "X-Api-Key": "evil", "Range": "bytes=0-1"}).status, 200)
            name, value = header
            tap.equal(upstream.requests[0].values(name), [value], name)
            tap.equal(upstream.requests[0].values("range"), [], "parts of an answer")
            if name != "x-api-key":
                tap.equal(upstream.requests[0].values("x-api-key"), ["evil"], "a listed header that is nobody's")


def test_a_credential_in_the_query():
    with broker.scene(auth="query", auth_name="api key", credential="a&b=c d") as (_, upstream, run):
        tap.equal(run.ask("GET", "/api/x?q=1").status, 200)
        tap.equal(run.ask("GET", "/api/x").status, 200)
        tap.equal(targets(upstream), ["/x?q=1&api%20key=a%26b%3Dc%20d", "/x?api%20key=a%26b%3Dc%20d"])
        for query in ("api%20key=mine", "q=1&api+key=mine", "API%20KEY", "a;%61pi%20key=x"):
            refused(run, upstream, "GET", "/api/x?" + query, "parameter that the broker adds")


def test_bodies_have_one_length():
    with broker.scene() as (_, upstream, run):
        for headers in (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                        b"Content-Length: 5\r\nContent-Length: 6\r\n", b"Content-Length: 5\r\nContent-Length: 5\r\n", b"Transfer-Encoding: xchunked\r\n",
                        b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                        b"Content-Length: +5\r\n", b"Content-Length: 5,5\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n"):
            answer = run.raw(b"POST /api/x HTTP/1.1\r\n" + CLOSE + headers + b"\r\n0\r\n\r\nGET /api/smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
            tap.true(answer == b"" or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 413")), f"{headers}: {answer[:80]}")
            tap.equal(answer.count(b"<html>") + answer.count(b'"error"'), min(1, len(answer)), f"answers to {headers}: {answer}")
        tap.equal(targets(upstream), [])
        tap.contains(run.raw(b"POST /api/x HTTP/1.1\r\n" + CLOSE + b"Content-Length: 5\r\n\r\n12345").decode(), "200 OK", "control")


def test_chunks_are_measured_and_end_where_they_end():
    with broker.scene(request_headers=["x-trailer"]) as (_, upstream, run):
        body = b"3;name=\"value\"\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: evil\r\nAuthorization: evil\r\n\r\n"
        tap.contains(run.raw(b"POST /api/x HTTP/1.1\r\n" + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n" + body).decode(), "200 OK")
        request = upstream.requests[0]
        tap.equal(request.body, b"abcde", "body")
        tap.equal(request.values("content-length"), ["5"], "length")
        tap.equal(request.values("transfer-encoding") + request.values("x-trailer") + request.values("authorization"), [], "others")
        answer = run.raw(b"POST /api/x HTTP/1.1\r\n" + CLOSE + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n")
        tap.true(answer == b"" or answer.startswith(b"HTTP/1.1 400"), f"no chunk: {answer[:80]}")
        tap.equal(len(upstream.requests), 1, "requests")


def test_lines_end_where_the_broker_says():
    """However libmicrohttpd takes these, the upstream gets a request of libcurl's with one line for each header."""
    with broker.scene() as (_, upstream, run):
        for head in (b"GET /api/a HTTP/1.1\nHost: x\nConnection: close\n\n", b"GET /api/a HTTP/1.1\r\nHost: x\r\nAccept: a\r\n X-Evil: b\r\nConnection: close\r\n\r\n",
                     b"GET /api/a HTTP/1.1\r\nHost: x\r\nAccept: a\rX-Evil: b\r\nConnection: close\r\n\r\n",
                     b"GET /api/a HTTP/1.1\r\nHost: x\r\nAccept : a\r\nConnection: close\r\n\r\n", b"GET /api/a HTTP/1.1\r\nHost: x\r\nAccept\r\nConnection: close\r\n\r\n",
                     b"GET /api/a HTTP/1.1 X-Evil: b\r\n" + CLOSE + b"\r\n", b"GET /api/a\tHTTP/1.1\r\n" + CLOSE + b"\r\n"):
            run.raw(head)
        for request in upstream.requests:
            tap.equal((request.target, request.values("x-evil")), ("/a", []), "request")
            tap.lacks(repr(request.headers), "X-Evil")


def test_versions():
    with broker.scene() as (_, upstream, run):
        for line in (b"GET /api/a", b"GET /api/a HTTP/0.9", b"GET /api/a HTTP/2.0", b"GET /api/a HTTP/9.9", b"GET /api/a http/1.1"):
            answer = run.raw(line + b"\r\n" + CLOSE + b"\r\n")
            tap.true(not answer.startswith(b"HTTP/1.1 2"), f"{line}: {answer[:60]}")
        tap.equal(targets(upstream), [])
        tap.contains(run.raw(b"GET /api/a HTTP/1.0\r\n\r\n").decode(), "200 OK", "control")


def test_pipelined_requests_are_judged_each():
    with broker.scene(methods=["GET"]) as (_, upstream, run):
        answer = run.raw(b"GET /api/a HTTP/1.1\r\nHost: x\r\n\r\nDELETE /api/b HTTP/1.1\r\nHost: x\r\n\r\nGET /api/c HTTP/1.1\r\n" + CLOSE + b"\r\n")
        tap.equal([part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]], [b"200", b"403", b"200"], "answers in their order")
        tap.equal(targets(upstream), ["/a", "/c"])


def test_a_connection_goes_on_behind_a_denial():
    with broker.scene(methods=["GET"]) as (_, upstream, run):
        answer = run.raw(b"POST /api/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345GET /api/b HTTP/1.1\r\n" + CLOSE + b"\r\n")
        tap.equal([part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]], [b"403", b"200"], "answers")
        tap.equal(targets(upstream), ["/b"])


def test_a_body_is_announced_with_expect():
    with broker.scene(methods=["POST"]) as (_, upstream, run):
        with run.connect() as connection:
            connection.sendall(b"POST /api/a HTTP/1.1\r\n" + CLOSE + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
            tap.contains(connection.recv(100).decode(), "100 Continue")
            connection.sendall(b"abc")
            tap.contains(broker.read_all(connection).decode(), "200 OK")
        tap.equal(upstream.requests[0].body, b"abc")
        tap.equal(upstream.requests[0].values("expect"), [], "expect")
        answer = run.raw(b"PUT /api/a HTTP/1.1\r\n" + CLOSE + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        tap.true(answer.startswith(b"HTTP/1.1 403"), "refused without the body")


def test_heads_are_limited():
    with broker.scene() as (_, upstream, run):
        for head in (b"GET /api/x HTTP/1.1\r\n" + CLOSE + b"Accept: " + b"a" * 70000, b"GET /api/" + b"a" * 70000 + b" HTTP/1.1\r\n" + CLOSE,
                     b"GET /api/x HTTP/1.1\r\n" + CLOSE + b"A: b\r\n" * 150):
            with run.connect() as connection:
                try:
                    connection.sendall(head + b"\r\n\r\n")
                except OSError:
                    pass  # it did not wait for the end
                answer = broker.read_all(connection)
            tap.true(not answer.startswith(b"HTTP/1.1 2"), f"{answer[:60]}")
        tap.equal(targets(upstream), [])
        tap.equal(run.ask("GET", "/api/x").status, 200, "control")


def test_what_a_method_may_have():
    with broker.scene() as (_, upstream, run):
        tap.equal(run.ask("HEAD", "/api/x").status, 200)
        tap.equal(run.ask("POST", "/api/x").status, 200)
        tap.equal(run.ask("DELETE", "/api/x").status, 200)
        tap.equal(run.ask("GET", "/api/x", body=b"q").status, 200)
        tap.equal([(request.method, request.body, request.values("content-length")) for request in upstream.requests],
                  [("HEAD", b"", []), ("POST", b"", ["0"]), ("DELETE", b"", []), ("GET", b"q", ["1"])])
        tap.equal(run.ask("HEAD", "/api/x", body=b"q").status, 400, "a body that no answer is to")
        tap.equal(len(upstream.requests), 4)


tap.run(globals())
