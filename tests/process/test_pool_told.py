# SPDX-License-Identifier: Apache-2.0
"""What the backend tells of what it has ready: what there is at that moment, whatever it was at the last run; in bounded time, also
of a backend that hangs or is dead; and nothing is started or disturbed by asking."""
import os
import pathlib
import signal
import sys
import threading
import time

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
FAULTS = pathlib.Path(__file__).parents[1] / "faults"
sys.path[:0] = [str(SUPPORT), str(FAULTS)]
import common
import tap
from modes import Provider
from provider import OK, Host

READY = 3
KINDS = ("none", "python", "node")
USUAL_MIB = {"none": 1, "python": 8}  # what one holds at the least, as the pool reckons
NOTHING = {"ready": 0, "wanted": 0, "memory_bytes": 0}
provider = Provider()


def use(ready=READY, idle_ms=60000, most=0):
    tap.equal(provider.use_policy({"pools": {"process": {"ready": ready, "idle_ms": idle_ms, "most": most}}}), OK)


def fresh(**pool):
    provider.reset()
    use(**pool)


def run(language="sh", code="true"):
    status, result = provider.invoke({"language": language, "code": code}, Host())
    tap.equal((status, result["error"]), (OK, None), result)
    return result


def supervisor():
    [pid] = common.supervisors_of(os.getpid())
    return pid


def told(kind="none"):
    """The row of that kind; NOTHING where the answer was late, so that only a good one is taken for what it says."""
    state, rows = provider.pool()
    tap.true(state in ("answered", "silent"), state)
    return {name: value for name, value in rows.get(kind, NOTHING).items() if name != "interpreter"}


def figures(kind):
    row = told(kind)
    return row["ready"], row["wanted"]


def await_told(kind, ready, wanted):
    tap.eventually(lambda: figures(kind) == (ready, wanted), f"{ready} of {wanted} with {kind}", 10)


def inits():
    return len(common.children(supervisor()))


def test_without_a_backend_nothing_is_ready_and_none_is_started():
    fresh()
    for _ in range(3):
        state, rows = provider.pool()
        tap.equal((state, set(rows)), ("stopped", set(KINDS)))
        tap.true(all(row == {"interpreter": kind, **NOTHING} for kind, row in rows.items()), rows)
    tap.equal(common.supervisors_of(os.getpid()), [])
    run()  # the same question, and now there is one
    tap.eventually(lambda: provider.pool()[0] == "answered", "an answer", 10)


def test_it_reaches_what_is_wanted_for_each_kind():
    fresh()
    run()
    await_told("none", READY, READY)
    tap.equal(figures("python"), (0, 0), "nobody has asked for one")
    run("python", "pass")
    await_told("python", READY, READY)
    await_told("none", READY, READY)
    tap.equal(figures("node"), (0, 0))
    for kind, least in USUAL_MIB.items():
        memory = told(kind)["memory_bytes"]
        tap.true(READY * least << 20 <= memory < READY * 64 << 20, f"{kind}: {memory} bytes")
    tap.true(inits() >= 2 * READY, "which are there")


def test_one_that_is_used_is_gone_until_there_is_another():
    fresh()
    run()
    await_told("none", READY, READY)
    tap.eventually(lambda: inits() == READY, "nobody runs, or is on the way out: all are those", 10)
    for pid in common.children(supervisor()):
        os.kill(pid, signal.SIGKILL)
    tap.eventually(lambda: figures("none")[0] < READY, "less", 10)
    await_told("none", READY, READY)


def test_it_falls_to_what_is_kept():
    fresh()
    run()
    await_told("none", READY, READY)
    use(ready=1)
    run()
    await_told("none", 1, 1)
    use(ready=0)
    run()
    await_told("none", 0, 0)


def test_it_falls_while_nothing_runs():
    fresh(idle_ms=3000)  # long enough for a busy machine to be seen with some
    run("python", "pass")
    tap.eventually(lambda: figures("python")[0] > 0, "some are ready", 10)
    await_told("python", 0, 0)
    tap.equal(told("python"), NOTHING)
    tap.equal(provider.pool()[0], "answered", "the backend lives")


def test_a_run_does_not_notice():
    fresh()
    run()
    threads = [threading.Thread(target=lambda: results.append(run(code="sleep 0.5; echo hi")["stdout"])) for _ in range(8)]
    results, states = [], []
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        states.append(provider.pool()[0])
    tap.equal(results, ["hi\n"] * len(threads))
    tap.true(states.count("answered") > len(states) / 2, states)


def test_one_that_hangs_is_not_waited_for():
    fresh()
    run()
    await_told("none", READY, READY)
    pid = supervisor()
    os.kill(pid, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        tap.equal({provider.pool()[0] for _ in range(100)}, {"silent"})
        tap.true(time.monotonic() - begin < 100 * 0.25, "what it does not read it is not asked for ever")
    finally:
        os.kill(pid, signal.SIGCONT)
    await_told("none", READY, READY)
    tap.equal(run(code="echo hi")["stdout"], "hi\n")
    tap.equal(supervisor(), pid, "the same one, whose socket had room for the run")


def test_a_dead_one_has_nothing():
    fresh()
    run()
    await_told("none", READY, READY)
    os.kill(supervisor(), signal.SIGKILL)
    tap.eventually(lambda: provider.pool()[0] == "stopped", "it has ended", 10)
    tap.equal([row["ready"] for row in provider.pool()[1].values()], [0] * len(KINDS))
    run()
    await_told("none", READY, READY)


def test_no_descriptor_stays():
    fresh()
    run()
    before = set(os.listdir("/proc/self/fd"))
    await_told("none", READY, READY)
    theirs = common.settled_descriptors(supervisor())
    for _ in range(300):
        provider.pool()
    tap.equal(set(os.listdir("/proc/self/fd")), before)
    tap.equal(common.settled_descriptors(supervisor()), theirs, "the backend's")


tap.run(globals())
