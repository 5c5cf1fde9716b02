# SPDX-License-Identifier: Apache-2.0
"""Where the broker of endpoints connects to, whom it trusts there, and what becomes of upstreams that fail: addresses, names that change
their address, certificates, proxies of the environment, ends in the middle."""
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading

import broker
import egress_wire as wire
import tap
from broker import Broker, Run, Upstream, answer
from servers import certificates

broker.need_program()

RULES = [wire.rule(["GET", "POST"], ["/**"])]


def fails(run, target, code, status=502, method="GET", **more):
    got = run.ask(method, target, **more)
    tap.equal((got.status, got.denial()["error"]), (status, code), target)
    return got.denial()["reason"]


def test_addresses_that_are_not_public():
    """The connection is refused where its socket would be made: the listener behind it is never met."""
    with Upstream(context=broker.certificates_once().good) as upstream, Broker() as program:
        hosts = [f"127.0.0.1:{upstream.port}", f"127.1:{upstream.port}", f"2130706433:{upstream.port}", f"0x7f000001:{upstream.port}",
                 f"0177.0.0.1:{upstream.port}", f"localhost:{upstream.port}", f"[::1]:{upstream.port}", f"[::ffff:127.0.0.1]:{upstream.port}",
                 f"[0:0:0:0:0:ffff:7f00:1]:{upstream.port}", f"[64:ff9b::127.0.0.1]:{upstream.port}", f"[64:ff9b::7f00:1]:{upstream.port}",
                 f"[2002:7f00:1::]:{upstream.port}", f"[::127.0.0.1]:{upstream.port}", f"0.0.0.0:{upstream.port}", "10.0.0.1", "172.16.0.1", "172.31.255.255",
                 "192.168.0.1", "169.254.0.1", "169.254.169.254", "100.100.100.200", "100.64.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1",
                 "192.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[ff02::1]", "[2001:db8::1]", "[::]",
                 "[100::1]", "[5f00::1]"]
        for start in range(0, len(hosts), wire_limit := 16):
            part = hosts[start:start + wire_limit]
            names = [f"e{index}" for index in range(len(part))]
            endpoints = [{"name": name, "base_url": f"https://{host}", "rules": RULES, "ca": broker.certificates_once().ca} for name, host in zip(names, part)]
            with Run(program, endpoints) as run:
                for name, host in zip(names, part):
                    tap.contains(fails(run, f"/{name}/x", "address_refused"), "not allowed", host)
        tap.equal(upstream.connections, 0, "connections")
        with Run(program, [broker.endpoint(upstream)]) as run:
            tap.equal(run.ask("GET", "/api/x").status, 200, "control: private")
        tap.equal(upstream.connections, 1, "control")


def test_addresses_that_no_endpoint_may_reach():
    with Broker() as program:
        hosts = ["169.254.169.254", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "100.100.100.200", "[fd00:ec2::254]", "0.0.0.0", "224.0.0.1", "[ff02::1]"]
        endpoints = [{"name": f"e{index}", "base_url": f"https://{host}", "rules": RULES, "private": 1} for index, host in enumerate(hosts)]
        with Run(program, endpoints) as run:
            for index, host in enumerate(hosts):
                tap.contains(fails(run, f"/e{index}/x", "address_refused"), "not allowed", host)


def test_certificates():
    made = broker.certificates_once()
    place = made.place / "bad"
    place.mkdir(exist_ok=True)
    other_host = made.context(made.ours.issue(place / "host", "upstream", "serverAuth", "DNS:other.example"))
    nobodys = made.context(made.other.issue(place / "nobody", "upstream", "serverAuth", "IP:127.0.0.1"))
    for context, what in ((other_host, "another host"), (nobodys, "another authority"), (self_signed(place), "self-signed"), (expired(made, place), "expired")):
        with Upstream(context=context) as upstream, Broker() as program, Run(program, [broker.with_token(upstream)]) as run:
            fails(run, "/api/x", "upstream_tls")
            tap.equal(upstream.requests, [], what)
    with broker.scene() as (_, upstream, run):
        tap.equal(run.ask("GET", "/api/x").status, 200, "control")
        with Run(_, [broker.endpoint(upstream, ca=made.other.certificate.read_bytes())]) as other:
            fails(other, "/api/x", "upstream_tls")
        with Run(_, [broker.endpoint(upstream, ca=b"")]) as system:
            fails(system, "/api/x", "upstream_tls")
        tap.equal(len(upstream.requests), 1, "requests")


def self_signed(place):
    directory = place / "self"
    directory.mkdir()
    certificates.openssl("req", "-x509", *certificates.KEY, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", 2,
                         "-keyout", directory / "key.pem", "-out", directory / "cert.pem")
    return broker.Certificates.context(directory)


def expired(made, place):
    directory = made.ours.issue(place / "expired", "upstream", "serverAuth", "IP:127.0.0.1")
    certificates.openssl("req", *certificates.KEY, "-subj", "/CN=old", "-keyout", directory / "key.pem", "-out", directory / "request")
    certificates.openssl("x509", "-req", "-in", directory / "request", "-CA", made.ours.certificate, "-CAkey", made.ours.key, "-days", -1,
                         "-set_serial", 7, "-extfile", "/dev/stdin", "-out", directory / "cert.pem", text="subjectAltName=IP:127.0.0.1\n")
    return made.context(directory)


def test_old_tls():
    context = broker.certificates_once().context(broker.certificates_once().place / "good")
    context.minimum_version, context.maximum_version = 0x0301, 0x0302
    context.set_ciphers("ALL:@SECLEVEL=0")
    with Upstream(context=context) as upstream, Broker() as program, Run(program, [broker.endpoint(upstream)]) as run:
        fails(run, "/api/x", "upstream_tls")


def test_no_proxy_of_the_environment():
    with Upstream() as proxy, Upstream(context=broker.certificates_once().good) as upstream:
        url = f"http://127.0.0.1:{proxy.port}"
        environment = {name: url for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")}
        environment.update({"SSL_CERT_FILE": "/nowhere", "CURL_CA_BUNDLE": "/nowhere", "NO_PROXY": "", "no_proxy": ""})
        with Upstream() as plain, Broker(environment) as program, Run(program, [broker.endpoint(upstream), broker.endpoint(plain, "plain")]) as run:
            tap.equal(run.ask("GET", "/api/x").status, 200)
            tap.equal(run.ask("GET", "/plain/x").status, 200)
            tap.equal([request.target for request in plain.requests], ["/x"], "not the form for a proxy")
        tap.equal(proxy.connections, 0, "connections to the proxy")
        tap.equal(upstream.connections, 1)


def test_keys_of_the_session_are_not_written():
    log = broker.certificates_once().place / "keys"
    with Upstream(context=broker.certificates_once().good) as upstream, Broker({"SSLKEYLOGFILE": str(log)}) as program, Run(program, [broker.endpoint(upstream)]) as run:
        tap.equal(run.ask("GET", "/api/x").status, 200)
    tap.true(not log.exists(), "the keys of a connection are in a file")


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Broker() as program, Run(program, [{"name": "api", "base_url": f"https://127.0.0.1:{port}", "rules": RULES, "private": 1}]) as run:
        fails(run, "/api/x", "upstream_unreachable")
        records, totals = run.finish()
        tap.equal((records[0]["decision"], records[0]["status"], totals["denied"]), ("failed", 502, 0))


def ending(text):
    def respond(_):
        def end(connection):
            connection.sendall(text)
            return False
        return end
    return respond


def test_upstreams_that_end_early():
    for text, whole in ((b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", False), (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", False),
                        (b"HTTP/1.1 200 OK\r\n\r\n12345", True)):
        with broker.scene(ending(text)) as (_, _, run):
            got = run.raw(b"GET /api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            looks_whole = got.startswith(b"HTTP/1.1 200") and (got.endswith(b"0\r\n\r\n") or (b"Content-Length: 5\r\n" in got and got.endswith(b"12345")))
            tap.equal(looks_whole, whole, f"{text}: {got}")
    for text, code in ((b"", "upstream_unreachable"), (b"HTTP/1.1 200 OK\r\nContent-Le", None), (b"what?\r\n\r\n", None), (b"HTTP/1.1 101 Go\r\n\r\n", None)):
        with broker.scene(ending(text)) as (_, _, run):
            got = run.ask("POST", "/api/x", body=b"q")
            tap.equal(got.status, 502, f"{text}: {got.body}")
            if code:
                tap.equal(got.denial()["error"], code)


def test_an_upstream_that_dies_in_mid_answer():
    go_on = threading.Event()

    def respond(_):
        def half(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
            go_on.wait(broker.PATIENCE)
            return False
        return half

    with broker.scene(respond) as (_, _, run):
        with run.connect() as connection:
            connection.sendall(b"GET /api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = b""
            while not got.endswith(b"12345"):
                got += connection.recv(1000)
            go_on.set()
            tap.equal(broker.read_all(connection), b"", "behind the half")
        records, _ = run.finish()
        tap.equal((records[0]["decision"], records[0]["bytes_in"]), ("failed", 5))


def test_an_upstream_that_says_nothing():
    silence = threading.Event()

    def respond(_):
        silence.wait(broker.PATIENCE)
        return None

    with broker.scene(respond, limits={"timeout_ms": 700}) as (_, _, run):
        tap.contains(fails(run, "/api/x", "upstream_timeout", status=504), "700 ms")
        silence.set()


def test_interim_answers_and_trailers_are_not_passed():
    text = b"HTTP/1.1 103 Early Hints\r\nLink: </evil>\r\nETag: evil\r\n\r\nHTTP/1.1 200 OK\r\nETag: good\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nETag: trailer\r\n\r\n"
    with broker.scene(lambda _: text) as (_, _, run):
        got = run.ask("GET", "/api/x")
        tap.equal((got.status, got.body, got.headers["etag"], got.headers.get("link")), (200, b"x", "good", None))


def test_heads_of_answers_are_limited():
    for lines in (["X-RateLimit-A: " + "a" * 5000] * 20, [f"X-RateLimit-{number}: x" for number in range(100)]):
        with broker.scene(lambda _, lines=lines: answer(b"x", headers=lines)) as (_, _, run):
            fails(run, "/api/x", "upstream_protocol")


def test_a_connection_is_kept_per_principal_and_credential():
    with Upstream(context=broker.certificates_once().good) as upstream, Broker() as program:
        def ask(principal, **more):
            with Run(program, [broker.endpoint(upstream, **more)], principal=principal) as run:
                tap.equal(run.ask("GET", "/api/x").status, 200)
                run.finish()
            return upstream.requests[-1].connection

        first = ask("alice", auth="bearer", credential="one")
        tap.equal(ask("alice", auth="bearer", credential="one"), first, "the same again")
        seen = {first}
        for principal, more in (("bob", {"auth": "bearer", "credential": "one"}), ("alice", {"auth": "bearer", "credential": "two"}), ("alice", {}),
                                ("alice", {"auth": "bearer", "credential": "one", "name": "other-api", "path": ""})):
            if "name" in more:
                with Run(program, [broker.endpoint(upstream, **more)], principal=principal) as run:
                    tap.equal(run.ask("GET", "/other-api/x").status, 200)
                number = upstream.requests[-1].connection
            else:
                number = ask(principal, **more)
            tap.true(number not in seen, f"{principal} {more} shares a connection")
            seen.add(number)


# A name that changes its address: in namespaces of the test, with a resolver of its own.

def dns_answer(query, address):
    """An A record for any question, and nothing for others."""
    question = query[12:]
    end = question.index(b"\0") + 5
    kind = struct.unpack(">H", question[end - 4:end - 2])[0]
    count = 1 if kind == 1 else 0
    head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, count, 0, 0)
    record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
    return head + question[:end] + (record if count else b"")


def serve_names(addresses, asked):
    """Answers questions for addresses with each of these in its turn, the last one over and over."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.53", 53))

    def serve():
        while True:
            query, peer = server.recvfrom(512)
            kind = query[query.index(b"\0", 12) + 2]
            if kind == 1:
                asked.append(addresses[min(len(asked), len(addresses) - 1)])
            server.sendto(dns_answer(query, asked[-1] if asked else addresses[0]), peer)
    threading.Thread(target=serve, daemon=True).start()


def rebinding():
    """In the namespaces: 203.0.114.7 is public by its class, and an address of the loopback device here."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", "203.0.114.7/32", "dev", "lo"], check=True)
    pathlib.Path("/tmp/resolv.conf").write_text("nameserver 127.0.0.53\n")
    subprocess.run(["mount", "--bind", "/tmp/resolv.conf", "/etc/resolv.conf"], check=True)
    asked = []
    serve_names(["203.0.114.7", "127.0.0.1"], asked)
    context = broker.certificates_once().good
    with Upstream(context=context, host="203.0.114.7") as public, Broker() as program:
        inner = Upstream.__new__(Upstream)
        Upstream.__init__(inner, context=context)
        with inner:
            made = {"name": "api", "base_url": f"https://upstream.example:{public.port}", "rules": RULES, "ca": broker.certificates_once().ca}
            with Run(program, [made]) as run:
                tap.equal(run.ask("GET", "/api/x").status, 200, "control: the public address")
                tap.equal(asked, ["203.0.114.7"], "addresses that were told")
            made["base_url"] = f"https://upstream.example:{inner.port}"
            with Run(program, [made]) as run:
                tap.contains(fails(run, "/api/x", "address_refused"), "loopback")
            tap.equal(asked[-1], "127.0.0.1", "control: it was told the other one")
            tap.equal(inner.connections, 0, "connections to the inner address")
            made["private"] = 1
            with Run(program, [made]) as run:
                tap.equal(run.ask("GET", "/api/x").status, 200, "control: private")


def test_a_name_that_changes_its_address():
    inner = subprocess.run(["unshare", "--user", "--map-root-user", "--net", "--mount", "true"], capture_output=True, text=True)
    if inner.returncode != 0:
        raise tap.Skip("takes user, network and mount namespaces: " + inner.stderr.strip())
    script = "mount -t tmpfs none /tmp && exec \"$@\""
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c", script, "sh", sys.executable, __file__, "rebinding"],
                          capture_output=True, text=True, timeout=120 * tap.SLOW)
    tap.equal((done.returncode, done.stderr), (0, ""), "inside")


if sys.argv[1:] == ["rebinding"]:
    rebinding()
    os._exit(0)
tap.run(globals())
