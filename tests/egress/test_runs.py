# SPDX-License-Identifier: Apache-2.0
"""The life of a run in the broker of endpoints: orders, listeners, two runs side by side, slow programs, ends of all kinds, and what is
left of credentials."""
import base64
import contextlib
import os
import socket
import threading

import broker
import egress_wire as wire
import tap
from broker import Broker, Run, Upstream, answer

broker.need_program()


def good_context():
    return broker.certificates_once().good


def test_orders_that_cannot_be_taken():
    with Upstream() as upstream, Broker() as program:
        order = wire.encode_order([broker.endpoint(upstream)])
        for message in (b"", b"x", order[:-1], order + b"\0", b"\xff" + order[1:], wire.encode_order([broker.endpoint(upstream)] * 2)):
            with Run(program, [], message=message or b"\0") as run:
                tap.equal(run.answer["type"], "refused")
                tap.contains(run.answer["text"], "cannot be read")
                tap.equal(run.event(), None, "behind a refusal")
        with Run(program, [], message=order) as run:
            tap.equal(run.answer["type"], "ready", "control")


def test_an_order_that_could_still_change():
    with Broker() as program:
        ours, events = broker.pair()
        theirs, intake = broker.pair()
        memfd = os.memfd_create("order")
        os.write(memfd, wire.encode_order([]))
        broker.send_fds(program.control, b"e", [events.fileno(), memfd, intake.fileno()])
        for end in (events, intake):
            end.close()
        os.close(memfd)
        tap.equal(wire.decode_event(ours.recv(8192))["type"], "refused")
        ours.close()
        theirs.close()


def test_messages_that_are_none_change_nothing():
    with Broker() as program:
        before = descriptors(program)
        program.control.send(b"r")
        program.control.send(b"e")
        program.control.send(b"a longer one")
        with open("/dev/null", encoding="ascii") as null:
            broker.send_fds(program.control, b"e", [null.fileno()] * 2)
            broker.send_fds(program.control, b"e", [null.fileno()] * 9)
        with Run(program, []) as run:
            got = run.ask("GET", "/api/x")
            tap.equal((got.status, got.denial()["endpoint"]), (403, None), "it serves all the same")
            run.finish()
        tap.eventually(lambda: descriptors(program) == before, "the descriptors are those from before")


def descriptors(program):
    return sorted(os.listdir(f"/proc/{program.pid}/fd")) if os.geteuid() == 0 else []


def test_an_intake_that_brings_other_things():
    with Upstream() as upstream, Broker() as program, Run(program, [broker.endpoint(upstream)]) as run:
        with open("/dev/null", encoding="ascii") as null, socket.socket() as unconnected, socket.create_server(("127.0.0.1", 0)) as second:
            broker.send_fds(run.intake, b"L", [null.fileno()])
            broker.send_fds(run.intake, b"X", [null.fileno()])
            broker.send_fds(run.intake, b"C", [null.fileno()])
            broker.send_fds(run.intake, b"C", [unconnected.fileno()])
            broker.send_fds(run.intake, b"L", [second.fileno()])  # a run has one
            run.intake.send(b"L")
            tap.equal(run.ask("GET", "/api/x").status, 200)


def test_connections_of_an_intake():
    with Upstream() as upstream, Broker() as program, Run(program, [broker.endpoint(upstream)]) as run:
        ours, theirs = socket.socketpair()
        ours.settimeout(broker.PATIENCE)
        broker.send_fds(run.intake, b"C", [theirs.fileno()])
        theirs.close()
        ours.sendall(b"GET /api/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        tap.contains(broker.read_all(ours).decode(), "200 OK")
        ours.close()


def test_two_runs_have_their_own_endpoints():
    with Upstream(context=good_context()) as upstream, Broker() as program:
        one = broker.endpoint(upstream, "one", auth="bearer", credential="credential-one")
        two = broker.endpoint(upstream, "two", auth="bearer", credential="credential-two")
        shared = [broker.endpoint(upstream, "shared", auth="bearer", credential=f"shared-{number}") for number in range(2)]
        with Run(program, [one, shared[0]]) as first, Run(program, [two, shared[1]]) as second:
            tap.equal(first.ask("GET", "/one/x").status, 200)
            tap.equal(second.ask("GET", "/two/x").status, 200)
            for run, name in ((first, "two"), (second, "one")):
                got = run.ask("GET", f"/{name}/x")
                tap.equal((got.status, got.denial()["endpoint"]), (403, None), name)
            for number, run in enumerate((first, second)):
                tap.equal(run.ask("GET", "/shared/x").status, 200)
                tap.equal(upstream.requests[-1].values("authorization"), [f"Bearer shared-{number}"])
            first.finish()
            tap.equal(second.ask("GET", "/two/x").status, 200, "the other one's end changes nothing")
            with contextlib.suppress(ConnectionRefusedError):  # the listener is closed once the test's copies are
                first.connect().close()
                raise AssertionError("the ended run's port is open")


def test_a_busy_run_does_not_stop_another():
    go_on = threading.Event()

    def respond(request):
        if request.target == "/wait":
            go_on.wait(broker.PATIENCE)
        return answer(b"done")

    with Upstream(respond, good_context()) as upstream, Broker() as program:
        with Run(program, [broker.endpoint(upstream, limits={"in_flight": 2})]) as busy, Run(program, [broker.endpoint(upstream)]) as other:
            waiting = [busy.connect() for _ in range(100)]
            for connection in waiting:
                connection.sendall(b"GET /api/wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            tap.eventually(lambda: len(upstream.requests) >= 2, "two requests at the upstream")
            for _ in range(20):
                tap.equal(other.ask("GET", "/api/x").status, 200)
            tap.equal(len([request for request in upstream.requests if request.target == "/wait"]), 2, "in flight")
            go_on.set()
            for connection in waiting:
                tap.contains(broker.read_all(connection).decode(), "200 OK", "each has its turn")
                connection.close()


def test_the_end_of_a_run():
    go_on = threading.Event()

    def respond(request):
        if request.target == "/wait":
            go_on.wait(broker.PATIENCE)
        return answer(b"done")

    with Upstream(respond, good_context()) as upstream, Broker() as program, Run(program, [broker.with_token(upstream)]) as run:
        tap.equal(run.ask("GET", "/api/x?secret=query").status, 200)
        with run.connect() as waiting, run.connect() as idle:
            waiting.sendall(b"GET /api/wait HTTP/1.1\r\nHost: x\r\n\r\n")
            tap.eventually(lambda: len(upstream.requests) == 2, "the request is there")
            records, totals = run.finish()
            tap.equal(broker.read_all(waiting) + broker.read_all(idle), b"", "connections")
        go_on.set()
        tap.equal([(record["path"], record["status"], record["decision"]) for record in records], [("/x", 200, "allowed"), ("/wait", 0, "failed")])
        tap.equal(len(records[0]["query_sha256"]), 64)
        tap.lacks(repr(records), "secret")
        tap.equal(totals["requests"], 2)


def test_many_requests_are_counted_and_the_first_are_shown():
    with broker.scene(limits={"requests": 130}, methods=["GET"]) as (_, _, run):
        with contextlib.closing(run.http()) as connection:
            for number in range(140):
                connection.request("GET", f"/api/{number}")
                connection.getresponse().read()
        records, totals = run.finish()
        tap.equal([record["path"] for record in records], [f"/{number}" for number in range(100)])
        tap.equal((totals["requests"], totals["omitted"], totals["denied"]), (140, 40, 10))


def test_records_wait_for_a_gateway_that_is_slow():
    with broker.scene() as (_, _, run):
        long = "a" * 1000
        with contextlib.closing(run.http()) as connection:
            for _ in range(100):
                connection.request("GET", f"/api/{long}")
                connection.getresponse().read()
        run.events.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        records, totals = run.finish()
        tap.equal((len(records), totals["requests"]), (100, 100))


def test_the_gateway_goes_away():
    go_on = threading.Event()
    with Upstream(lambda _: go_on.wait(broker.PATIENCE) and answer(b"") or None) as upstream, Broker() as program:
        with Run(program, [broker.endpoint(upstream)]) as run, run.connect() as connection:
            connection.sendall(b"GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n")
            tap.eventually(lambda: upstream.requests, "the request is there")
            run.close()
            tap.equal(broker.read_all(connection), b"", "the run's connection")
        with Run(program, [broker.endpoint(upstream)]) as run, run.connect() as connection:
            connection.sendall(b"GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n")
            tap.eventually(lambda: len(upstream.requests) == 2, "the request is there")
            program.control.close()
            tap.true(program.has_ended(), "the broker ends with its control socket")
            tap.equal(broker.read_all(connection), b"", "connections of all runs")
        go_on.set()


def test_the_broker_is_killed():
    go_on = threading.Event()
    with Upstream(lambda _: go_on.wait(broker.PATIENCE) and answer(b"") or None) as upstream, Broker() as program:
        with Run(program, [broker.endpoint(upstream)]) as run, run.connect() as connection:
            connection.sendall(b"GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n")
            tap.eventually(lambda: upstream.requests, "the request is there")
            program.kill()
            tap.equal(broker.read_all(connection), b"", "connection")
            tap.equal(run.event(), None, "the gateway sees it")
        go_on.set()


def test_programs_that_send_slowly():
    """A head that does not end is not waited for. A body has the request's time."""
    with broker.scene(limits={"timeout_ms": 1000}) as (_, upstream, run):
        with run.connect() as body, run.connect() as head, run.connect() as nothing:
            body.sendall(b"POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
            head.sendall(b"GET /api/x HTTP/1.1\r\nHost: x\r\nA: ")
            tap.true(not broker.read_all(body).startswith(b"HTTP/1.1 2"), "body")
            closed = []
            reader = threading.Thread(target=lambda: closed.append(broker.read_all(head)))
            reader.start()
            while reader.is_alive():  # a byte at a time
                with contextlib.suppress(OSError):
                    head.sendall(b"a")
                reader.join(1)
            tap.true(not closed[0].startswith(b"HTTP/1.1 2"), "head")
            tap.equal(broker.read_all(nothing), b"", "a connection without a request")
            tap.equal(upstream.requests, [])
        tap.equal(run.ask("GET", "/api/x").status, 200, "control")
        records, _ = run.finish()
        tap.equal([record["decision"] for record in records], ["failed", "allowed"])


def test_a_program_that_reads_slowly_has_the_requests_time():
    size, dropped = 32 << 20, threading.Event()

    def respond(_):
        def flood(connection):
            try:
                connection.sendall(answer(b"x" * size))
            except OSError:
                dropped.set()
            return False
        return flood

    with broker.scene(respond, limits={"timeout_ms": 1500, "response_bytes": size}) as (_, _, run):
        with run.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            connection.sendall(b"GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n")
            tap.true(dropped.wait(broker.PATIENCE), "the upstream is let go")
            tap.true(len(broker.read_all(connection)) < size, "not the whole")
        records, _ = run.finish()
        tap.equal(records[0]["decision"], "failed")


def test_more_connections_than_a_run_may_have():
    with broker.scene() as (_, upstream, run):
        held = [run.connect() for _ in range(64)]
        for connection in held:
            connection.sendall(b"GET /api/held HTTP/1.1\r\nHost: x\r\n\r\n")
            tap.contains(connection.recv(1000).decode(), "200 OK")
        with run.connect() as late:
            late.sendall(b"GET /api/late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            tap.true(not [request for request in upstream.requests if request.target == "/late"], "it waits")
            held.pop().close()
            tap.contains(broker.read_all(late).decode(), "200 OK", "its turn")
        for connection in held:
            connection.close()


def status_of(program):
    with open(f"/proc/{program.pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def test_what_the_process_has_given_up():
    with Broker() as program:
        status = status_of(program)
        tap.equal(status["NoNewPrivs"], "1")
        tap.equal(status["Seccomp"], "2")
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            tap.equal(int(status[name], 16), 0, name)
        if os.geteuid() == 0:
            tap.equal(status["Uid"].split(), ["65532"] * 4)
            tap.equal(status["Gid"].split(), ["65532"] * 4)
            tap.equal(status["Groups"].split(), [])
        with open(f"/proc/{program.pid}/limits", encoding="ascii") as file:
            core = next(line for line in file if line.startswith("Max core file size"))
        tap.equal(core.split()[4:6], ["0", "0"], "core")


def test_nothing_is_left_of_a_credential():
    if os.geteuid() != 0:
        raise tap.Skip("takes root to read the memory of a process that is not dumpable")
    secret = "Zq7" + os.urandom(12).hex()  # in no other test
    pair = base64.b64encode(f"robot:{secret}".encode())
    with Upstream(lambda _: answer(b"x" * 5000), good_context()) as upstream, Broker() as program:
        kinds = [{"auth": "bearer"}, {"auth": "basic", "auth_name": "robot"}, {"auth": "header", "auth_name": "X-Key"}, {"auth": "query", "auth_name": "key"}]
        endpoints = [broker.endpoint(upstream, f"e{index}", credential=secret, **kind) for index, kind in enumerate(kinds)]
        with Run(program, endpoints) as run:
            for index in range(len(kinds)):
                tap.equal(run.ask("GET", f"/e{index}/x").status, 200)
                tap.equal(run.ask("POST", f"/e{index}/x", body=b"y" * 3000).status, 200)
                tap.equal(run.ask("PUT", f"/e{index}/x", body=b"y" * 300000).status, 200)
            tap.true(broker.holds(program, secret.encode()), "control: while the run is under way it is there")
            run.finish()
        tap.equal(broker.holds(program, secret.encode(), pair, secret.encode().hex().encode()), [], "behind its end")
        with Run(program, endpoints) as run:
            tap.equal(run.ask("GET", "/e0/x").status, 200, "control: it still works")


tap.run(globals())
