# SPDX-License-Identifier: Apache-2.0
"""A session in the broker of endpoints: what each cell may reach, what nothing reaches between two of them, and what is left of a cell."""
import os
import socket
import threading

import broker
import egress_wire as wire
import tap
from broker import Broker, Run, Upstream, answer

broker.need_program()

REQUEST = b"GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n"


def good_context():
    return broker.certificates_once().good


class Session(Run):
    """Registered without endpoints; its cells bring them."""

    def __init__(self, program):
        super().__init__(program, [], session=1)
        tap.equal(self.answer["type"], "ready", "the session")

    def word(self, word, message=None):
        memfd = None if message is None else broker.sealed_order(message)
        broker.send_fds(self.events, word, [] if memfd is None else [memfd])
        if memfd is not None:
            os.close(memfd)

    def begin(self, endpoints, **order):
        self.word(b"c", wire.encode_order(endpoints, **order))
        return self.event()["type"]

    def end(self):
        """The records and the totals of the cell."""
        self.word(b"e")
        records = []
        while (event := self.event()) and event["type"] == "record":
            records.append(event["record"])
        tap.equal(event and event["type"], "closed")
        return records, event["totals"]

    def is_over(self):
        """The broker has ended the registration: behind what it still says, and without its listener."""
        while (event := self.event()) is not None:
            tap.true(event["type"] in ("refused", "closed"), event)
        try:
            self.connect().close()
        except ConnectionRefusedError:
            return True
        return False


def test_each_cell_reaches_its_own():
    with Upstream(context=good_context()) as upstream, Broker() as program, Session(program) as session:
        one = broker.endpoint(upstream, "one", auth="bearer", credential="credential-one")
        two = broker.endpoint(upstream, "two")
        for endpoints, outcomes in (([one], (200, 403)), ([two], (403, 200)), ([one, two], (200, 200)), ([], (403, 403))):
            tap.equal(session.begin(endpoints), "ready")
            tap.equal(tuple(session.ask("GET", f"/{name}/x").status for name in ("one", "two")), outcomes)
            records, totals = session.end()
            tap.equal([record["status"] for record in records], list(outcomes))
            tap.equal((totals["requests"], totals["between"]), (2, 0))
        tap.equal([request.values("authorization") for request in upstream.requests], [["Bearer credential-one"], [], ["Bearer credential-one"], []])


def test_between_two_cells_all_is_refused():
    with Upstream() as upstream, Broker() as program, Session(program) as session:
        refused = 0
        for _ in range(3):
            for method, body in (("GET", None), ("POST", b"y" * 3000)):
                got = session.ask(method, "/api/x", body=body)
                tap.equal((got.status, got.denial()["endpoint"], got.headers["connection"]), (403, None, "close"))
                tap.contains(got.denial()["reason"], "no cell of this session is running")
                refused += 1
            tap.equal(upstream.requests, [])
            tap.equal(session.begin([broker.endpoint(upstream)]), "ready")
            tap.equal(session.ask("GET", "/api/x").status, 200, "control")
            records, totals = session.end()
            tap.equal(([record["status"] for record in records], totals["requests"], totals["between"]), ([200], 1, refused))
            upstream.requests.clear()
            refused = 0


def test_a_cell_without_endpoints_says_so():
    with Broker() as program, Session(program) as session:
        session.begin([])
        tap.contains(session.ask("GET", "/api/x").denial()["reason"], "named no endpoint")


def test_a_connection_is_that_of_its_cell():
    """One that a cell has opened, with and without a request under way, ends with it; so does one from before the cell."""
    go_on = threading.Event()

    def respond(request):
        if request.target == "/wait":
            go_on.wait(broker.PATIENCE)
        return answer(b"done")
    with Upstream(respond) as upstream, Broker() as program, Session(program) as session:
        before = session.connect()
        session.begin([broker.endpoint(upstream)])
        idle, waits = session.connect(), session.connect()
        idle.sendall(REQUEST[:10])
        waits.sendall(b"GET /api/wait HTTP/1.1\r\nHost: x\r\n\r\n")
        tap.eventually(lambda: upstream.requests, "the request is under way")
        records, _ = session.end()
        tap.equal([(record["decision"], record["status"]) for record in records if record["path"] == "/wait"], [("failed", 0)])
        go_on.set()
        session.begin([broker.endpoint(upstream)])
        for connection in (before, idle, waits):
            try:
                connection.sendall(REQUEST)
                tap.equal(broker.read_all(connection), b"")
            except (BrokenPipeError, ConnectionResetError):
                pass
            connection.close()
        tap.equal([request.target for request in upstream.requests], ["/wait"])
        tap.equal(session.ask("GET", "/api/x").status, 200, "control")


def test_connections_that_come_as_frames_end_with_their_cell():
    frame = lambda kind, number, payload=b"": wire.u32(len(payload)) + bytes([kind]) + wire.u32(number) + payload
    with Upstream() as upstream, Broker() as program, Session(program) as session:
        ours, theirs = socket.socketpair()
        ours.settimeout(broker.PATIENCE)
        broker.send_fds(session.intake, b"M", [theirs.fileno()])
        theirs.close()
        session.begin([broker.endpoint(upstream)])
        ours.sendall(frame(1, 1) + frame(2, 1, REQUEST[:10]) + frame(1, 2) + frame(2, 2, REQUEST))
        stream = ours.makefile("rb")

        def read_until(wanted):
            seen = b""
            while wanted not in seen:
                seen += stream.read(1)
            return seen
        read_until(b"200 OK")
        session.end()
        read_until(frame(4, 1))
        session.begin([broker.endpoint(upstream)])
        ours.sendall(frame(1, 3) + frame(2, 1, REQUEST[10:]) + frame(2, 3, REQUEST))
        tap.contains(read_until(b"200 OK"), frame(2, 3)[4:], "a new one is served, and the old one is not there")
        tap.equal(len(upstream.requests), 2)
        ours.close()


def test_tunnels_of_a_cell_end_with_it():
    connect = b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n"
    with Upstream(context=good_context()) as upstream, Broker() as program, Session(program) as session:
        tunnel = {"name": "files", "base_url": f"https://127.0.0.1:{upstream.port}", "tunnel": 1, "private": 1}
        session.begin([tunnel])
        with session.connect() as kept:
            kept.sendall(connect % upstream.port)
            tap.contains(kept.recv(1000).decode(), " 200 ")
            session.end()
            tap.contains(session.raw(connect % upstream.port).decode(), "no cell of this session is running")
            session.begin([])
            tap.equal(broker.read_all(kept), b"")
        tap.contains(session.raw(connect % upstream.port).decode(), "named no endpoint")


def test_each_cell_has_its_own_limits():
    with Upstream() as upstream, Broker() as program, Session(program) as session:
        for _ in range(2):
            session.begin([broker.endpoint(upstream, limits={"requests": 2})])
            tap.equal([session.ask("GET", "/api/x").status for _ in range(3)], [200, 200, 429])
            session.end()


def test_a_session_has_many_records():
    with Upstream() as upstream, Broker() as program, Session(program) as session:
        session.begin([broker.endpoint(upstream)])
        for _ in range(120):
            session.ask("GET", "/api/x")
        records, totals = session.end()
        tap.equal((len(records), totals["requests"], totals["omitted"]), (100, 120, 20))
        session.begin([broker.endpoint(upstream)])
        tap.equal(session.end()[1]["requests"], 0, "the next cell begins anew")


def test_words_that_are_out_of_turn_end_the_session():
    with Upstream() as upstream, Broker() as program:
        order = wire.encode_order([broker.endpoint(upstream)])
        for words in ([(b"e", None)], [(b"c", None)], [(b"x", None)], [(b"c", order), (b"c", order)], [(b"c", order), (b"e", order)],
                      [(b"c", b"no order")], [(b"c", wire.encode_order([], session=1))]):
            with Session(program) as session:
                for word, message in words[:-1]:
                    session.word(word, message)
                    tap.equal(session.event()["type"], "ready", "control")
                session.word(*words[-1])
                tap.true(session.is_over(), words[-1][0])


def test_a_session_has_no_endpoints_of_its_own():
    with Upstream() as upstream, Broker() as program, Run(program, [broker.endpoint(upstream)], session=1) as run:
        tap.equal(run.answer["type"], "refused")


def test_a_run_takes_no_cells():
    with Upstream() as upstream, Broker() as program, Run(program, [broker.endpoint(upstream)]) as run:
        memfd = broker.sealed_order(wire.encode_order([broker.endpoint(upstream, "more")]))
        broker.send_fds(run.events, b"c", [memfd])
        os.close(memfd)
        tap.equal((run.ask("GET", "/api/x").status, run.ask("GET", "/more/x").status), (200, 403))


def test_nothing_is_left_of_a_cells_credential():
    if os.geteuid() != 0:
        raise tap.Skip("takes root to read the memory of a process that is not dumpable")
    secret = "Zq7" + os.urandom(12).hex()
    with Upstream(context=good_context()) as upstream, Broker() as program, Session(program) as session:
        for _ in range(2):
            session.begin([broker.endpoint(upstream, auth="bearer", credential=secret)])
            tap.equal(session.ask("GET", "/api/x").status, 200)
            tap.true(broker.holds(program, secret.encode()), "control: while the cell is under way it is there")
            session.end()
            tap.equal(broker.holds(program, secret.encode()), [], "behind its end")


def test_the_end_of_a_session_during_a_cell():
    with Upstream() as upstream, Broker() as program:
        session = Session(program)
        session.begin([broker.endpoint(upstream)])
        tap.equal(session.ask("GET", "/api/x").status, 200)
        records, totals = session.finish()
        tap.equal((len(records), totals["requests"]), (1, 1))


tap.run(globals())
