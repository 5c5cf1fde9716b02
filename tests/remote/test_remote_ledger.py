# SPDX-License-Identifier: Apache-2.0
"""At most once: calls while workers are killed and come back at random. Each program writes itself into a ledger, by a tool of the gateway.
No program is in it twice; one that has completed is in it; and one of which a call says that nothing has run is not."""
import collections
import os
import random
import threading
import time

import tap
from provider import ALLOW, Host
from remote_gateway import RIGHTS, SECOND, FILES, a_worker, call, gateway, place, provider
from workers import PATIENCE, WORKER

RUNS = 10000 if os.environ.get("CODE_EXECUTE_TEST_LONG") == "1" else 100
CALLERS = 4
DEFINITION = {"name": "record", "description": "writes into the ledger", "input_schema": {"type": "object"}, "approval": "never"}
# The codes of calls of which nothing has run, and of those of which something may have.
NOT_BEGUN, MAY_HAVE_RUN = {"backend_unavailable", "too_many_requests", "backend_failed"}, {"worker_lost"}


class Restarted:
    """A worker that is killed now and then, and comes back at its address."""

    def __init__(self, files, name):
        self.files, self.worker = files, a_worker(files, name=name).await_ready()
        self.name, self.address = name, self.worker.address

    def kill(self):
        self.worker.__exit__()
        self.worker = a_worker(self.files, name=self.name, listen="{}:{}".format(*self.address))
        self.worker.await_event("listening")

    def end(self):
        self.worker.__exit__()


def test_nothing_runs_twice():
    ledger, outcomes, numbers, lock = collections.Counter(), {}, iter(range(RUNS)), threading.Lock()

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return

            def record(token, _, verdict, number=number):
                with lock:
                    ledger[number] += 1
                verdict[0] = ALLOW
                provider.reply_call(token, {"content": [{"type": "text", "text": "written"}]})
            host = Host(RIGHTS, context={"tools": [DEFINITION]}, call_tool=record)
            result = call("import tools\ntools.record()\nprint('done')", host, tools=["record"])[1]
            with lock:
                outcomes[number] = result
            if result["error"]:
                time.sleep(0.2)  # a gateway that is told so does not come back at once

    def is_working():
        return any(thread.is_alive() for thread in threads)
    pair = [Restarted(FILES.worker, "worker-1"), Restarted(SECOND, "worker-2")]
    chance, kills = random.Random(os.urandom(8)), 0
    try:
        with gateway(place(pair[0].address, WORKER), place(pair[1].address, "worker-2.example"), max_runs=CALLERS):
            threads = [threading.Thread(target=work, daemon=True) for _ in range(CALLERS)]
            for thread in threads:
                thread.start()
            while is_working():
                # By what has ended, not by the clock: a slow machine has as many kills for its calls as a fast one.
                next_kill = len(outcomes) + chance.randint(1, 30)
                while is_working() and len(outcomes) < next_kill:
                    time.sleep(chance.uniform(0.001, 0.02))
                if is_working():
                    chance.choice(pair).kill()
                    kills += 1
            for thread in threads:
                thread.join(PATIENCE)
    finally:
        for one in pair:
            one.end()
    tap.equal(len(outcomes), RUNS)
    twice = {number: count for number, count in ledger.items() if count > 1}
    tap.equal(twice, {}, "programs that have run twice")
    codes = collections.Counter()
    for number, result in outcomes.items():
        code = result["error"]["code"] if result["error"] else result["status"]
        codes[code] += 1
        if code == "completed" and result["exit_code"] == 0:
            tap.equal((ledger[number], result["stdout"]), (1, "done\n"), result)
        elif code in NOT_BEGUN:
            tap.equal(ledger[number], 0, f"it says that nothing has run: {result}")
        else:
            tap.true(code in MAY_HAVE_RUN, result)
    print(f"# {kills} kills: {dict(codes)}")
    tap.true(codes["completed"] > RUNS / 4, codes)


tap.run(globals())
