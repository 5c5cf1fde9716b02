# SPDX-License-Identifier: Apache-2.0
"""Places of workers between two calls: whoever has a call's result finds its place free, and a worker that was busy when it was asked is
asked again once it says that it has room."""
import struct
import threading

import tap
from remote_gateway import FILES, a_worker, call, completed, gateway, refused
from scripted_worker import Script, ScriptedWorker
from workers import ACCEPTED, BUSY, CAPACITY, PATIENCE, WORKER

CALLS = 80
MIB = 1 << 20


def callers_for(places):
    """As many callers as places, each with a call behind the other."""
    failed = []

    def work():
        for _ in range(CALLS // places):
            _, result = call("print(1)")
            if result["error"] or result["stdout"] != "1\n":
                failed.append(result)

    with a_worker(max_runs=places) as worker, gateway((worker, WORKER), max_runs=places):
        completed("1")
        threads = [threading.Thread(target=work, daemon=True) for _ in range(places)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE * 4)
        tap.true(not any(thread.is_alive() for thread in threads), "the calls do not end")
        tap.equal(failed, [], "calls that have found no place")
        tap.equal(worker.metric('offers_total{answer="busy"}'), 0)


def test_as_many_callers_as_places_are_never_too_many():
    for places in (1, 4):
        callers_for(places)


class Busy:
    """Answers that it is busy so many times, and says each time what room it has; then it accepts."""

    def __init__(self, times, runs, memory_free=1 << 40):
        self.times, self.runs, self.memory_free, self.asked = times, runs, memory_free, 0

    def __call__(self, connection, channel, _):
        self.asked += 1
        if self.asked > self.times:
            connection.answer(channel, ACCEPTED)
            return
        connection.answer(channel, BUSY, 700)
        connection.say_end(channel)
        connection.send(CAPACITY, 0, struct.pack("<IIQ", self.runs, 1, self.memory_free))


def test_a_worker_that_has_room_again_is_asked_again():
    with ScriptedWorker(FILES.worker) as worker, gateway((worker, WORKER)):
        completed("1")
        offered = Busy(2, 0)
        worker.script = Script(offered=offered)
        tap.equal(completed("1")["stdout"], "honest\n")
        tap.equal(offered.asked, 3, "offers")


def test_a_worker_that_is_full_is_asked_once():
    with ScriptedWorker(FILES.worker) as worker, gateway((worker, WORKER)):
        completed("1")
        for offered in (Busy(10, 1), Busy(10, 0, memory_free=MIB)):
            worker.script = Script(offered=offered)
            result = refused("1", "too_many_requests")
            tap.equal((offered.asked, result["error"]["retry_after_ms"]), (1, 700), result)


def test_a_worker_that_lies_of_room_is_not_asked_for_ever():
    with ScriptedWorker(FILES.worker) as worker, gateway((worker, WORKER)):
        completed("1")
        worker.script = Script(offered=Busy(1 << 40, 0))
        refused("1", "too_many_requests")
        worker.script = Script()
        completed("1")


tap.run(globals())
