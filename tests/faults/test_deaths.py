# SPDX-License-Identifier: Apache-2.0
"""SIGKILL for the supervisor, the sandbox's init and the host, at random moments of a run: an answer or a dead host, and nothing left."""
import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import common
import tap
from modes import Provider, gateway, long_time, sleeps
from provider import FAILED, NOT_RUN, OK, Host

ROUNDS = 170 if common.LONG else 14  # of each kind
LATEST = 0.06                        # seconds after the call; a run takes some ten milliseconds to start


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def call_and_kill(provider, moment, argument, victim):
    """The result of a call during which that process was killed, and whether it was there to be killed."""
    results = []
    request = {"language": "sh", "code": f"sleep {argument} & echo begun; sleep {argument}", "timeout_ms": 1500}
    thread = threading.Thread(target=lambda: results.append(provider.invoke(request, Host())))
    thread.start()
    time.sleep(moment)
    pid = victim()
    if pid:
        kill(pid)
    thread.join(15)
    tap.true(not thread.is_alive(), f"an answer: killed after {moment * 1000:.1f} ms")
    return results[0], bool(pid)


def call_again(provider, number):
    """A process that is killed lets go of its sockets one after the other: an order can still fall into the one for orders, and is
    then answered as one that may be repeated."""
    result = provider.invoke({"language": "sh", "code": "echo again"}, Host())[1]
    if result["error"] and result["error"]["code"] == "backend_failed" and result["error"]["retryable"]:
        result = provider.invoke({"language": "sh", "code": "echo again"}, Host())[1]
    tap.equal((result["stdout"], result["error"]), ("again\n", None), f"round {number}")


def kill_in_rounds(name, choose):
    random = common.generator(name)
    provider, traces, argument, met, statuses = Provider(), common.Traces(), long_time(), 0, {}
    for number in range(ROUNDS):
        tap.equal(provider.invoke({"language": "sh", "code": "echo first"}, Host())[1]["stdout"], "first\n", f"round {number}")
        [supervisor] = common.supervisors_of(os.getpid())
        traces.see(supervisor)
        moment = random.uniform(0, LATEST)
        (code, result), there = call_and_kill(provider, moment, argument, lambda: choose(supervisor))
        tap.true(code in (OK, NOT_RUN, FAILED) and result["status"] in ("error", "failed", "timeout", "completed", "killed", "refused"),
                 f"round {number}: {code} {result}")
        met += there and result["status"] != "timeout"
        key = (result["error"] or {}).get("code") or result["cause"]
        statuses[key] = statuses.get(key, 0) + 1
        tap.eventually(lambda: not sleeps(argument), f"round {number}: the program is gone", 10)
        call_again(provider, number)
        traces.expect_none(common.supervisors_of(os.getpid()))
    provider.reset()
    traces.expect_none()
    print(f"# {ROUNDS} runs, {met} ended by it: {statuses}")
    tap.true(met * 2 > ROUNDS, "most were met")


def test_the_supervisor_is_killed():
    kill_in_rounds("supervisor", lambda supervisor: supervisor)


def test_the_init_is_killed():
    def init(supervisor):
        end = time.monotonic() + 2
        while time.monotonic() < end:
            if found := common.children(supervisor):
                return found[0]
        return None
    kill_in_rounds("init", init)


def test_the_host_is_killed():
    random, traces = common.generator("host"), common.Traces()
    for number in range(ROUNDS):
        argument = long_time(number % 90)
        host = gateway("p = Provider(); p.invoke({'language': 'sh', 'code': 'true'}, Host()); print('ready', flush=True)\n"
                       f"p.invoke({{'language': 'sh', 'code': 'sleep {argument} & sleep {argument}'}}, Host())")
        tap.equal(host.stdout.readline(), "ready\n")
        for supervisor in common.supervisors_of(host.pid):
            traces.see(supervisor)
        tap.equal(len(traces.supervisors), number + 1, "a supervisor each")
        time.sleep(random.uniform(0, LATEST))
        host.kill()
        host.wait()
        host.stdout.close()
        tap.eventually(lambda: not sleeps(argument), f"round {number}: the program is gone", 10)
        traces.expect_none()
    print(f"# {ROUNDS} hosts")


tap.run(globals())
