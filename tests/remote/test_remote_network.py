# SPDX-License-Identifier: Apache-2.0
"""Faults of a real network between a gateway and a worker: two network namespaces, and what is between them is cut, loses packets, or is
slow. Whatever happens, a call ends, runs once at most, and the next one goes on."""
import os
import subprocess
import time

import tap
import two_machines

MACHINES = two_machines.Machines()  # ahead of everything that has a socket

from provider import Host  # noqa: E402
from remote_gateway import FILES, RIGHTS, SLEEP, Call, a_worker, call, completed, gateway, provider, refused  # noqa: E402
from workers import PATIENCE, WORKER  # noqa: E402

LONG = os.environ.get("CODE_EXECUTE_TEST_LONG") == "1"
REPEATS = 20 if LONG else 1


def distant(**members):
    """A worker on the other machine. It tells of its health there too."""
    address = f"{two_machines.WORKER}:0"
    return a_worker(before=MACHINES.before, listen=address, status_listen=address, **members)


def no_partition_here():
    two_machines.needed("iptables", "-L", "INPUT")


def runs(worker):
    return worker.metric("runs")


def test_a_call_goes_over_the_link():
    """The control of all others: it is the other machine, and its address says so."""
    with distant() as worker, gateway((worker, WORKER)):
        result = completed("print(2**64)")
        tap.equal(result["stdout"], "18446744073709551616\n")
        tap.contains(result["isolation"]["details"]["address"], two_machines.WORKER)


def test_a_partition_in_mid_run():
    """Both sides find it out by themselves: the call ends as lost and is not repeated, the worker ends its run, and calls go on."""
    no_partition_here()
    for _ in range(REPEATS):
        with distant() as worker, gateway((worker, WORKER)):
            running = Call(SLEEP).await_begun()
            tap.equal(runs(worker), 1, "the control")
            with MACHINES.cut():
                result = running.end()
                tap.equal((result["status"], result["error"]["code"], result["error"]["retryable"]), ("error", "worker_lost", False), result)
                tap.equal(result["stdout"], "begun\n")
                worker.await_event("disconnected")
            tap.true(tap.within(lambda: runs(worker) == 0, PATIENCE), "the worker has a run left")
            tap.true(tap.within(lambda: call("print(1)")[1]["stdout"] == "1\n", PATIENCE), "no call goes on")


def test_a_partition_ahead_of_a_call():
    """The connection looks as if it were there. Nothing of the run has gone out, and the error says so."""
    no_partition_here()
    with distant() as worker, gateway((worker, WORKER)):
        completed("1")
        with MACHINES.cut():
            result = refused("1", "backend_unavailable")
            tap.contains(result["error"]["hint"], "nothing has run")
        tap.true(tap.within(lambda: call("print(1)")[1]["stdout"] == "1\n", PATIENCE), "no call goes on")


def test_another_worker_takes_over():
    """One of two is cut off: calls go to the other one, which is on this machine."""
    no_partition_here()
    files = FILES.ours.issue(FILES.directory / "near", "near", "serverAuth", "DNS:near.example")
    with distant() as far, a_worker(files, name="near") as near, gateway((far, WORKER), (near, "near.example")):
        tap.true(tap.within(lambda: completed("1")["isolation"]["details"]["worker"] == "worker-1", PATIENCE), "the far one is used: the control")
        with MACHINES.cut():
            for _ in range(5):
                _, result = call("print(1)")
                tap.equal((result["stdout"], result["isolation"]["details"].get("worker")), ("1\n", "near"), result)


def test_a_short_interruption_ends_no_run():
    """TCP and the keep-alive outlast a few seconds."""
    no_partition_here()
    if not LONG:
        raise tap.Skip("only in the long form: a machine that stands still for ten seconds would fail it (CODE_EXECUTE_TEST_LONG=1)")
    with distant() as worker, gateway((worker, WORKER)):
        running = Call("import os, time\nos.write(1, b'begun\\n')\ntime.sleep(8)\nprint('whole')").await_begun()
        with MACHINES.cut():
            time.sleep(3)
        result = running.end()
        tap.equal((result["status"], result["stdout"]), ("completed", "begun\nwhole\n"), result)


def test_packets_are_lost():
    """A tenth of them, in both directions' acknowledgements as well: everything arrives, once and in order."""
    two_machines.needed("iptables", "-A", "INPUT", "-i", "lo", "-m", "statistic", "--mode", "random", "--probability", "0.0", "-j", "DROP")
    with distant() as worker, gateway((worker, WORKER)):
        completed("1")
        with MACHINES.losing(0.1):
            for _ in range(REPEATS):
                result = completed("import hashlib, sys\ndata = sys.stdin.buffer.read()\nprint(hashlib.sha256(data).hexdigest(), len(data))\n"
                                   "open('out.txt', 'w').write('0123456789' * 5000)", stdin="x" * 100000, outputs=["*.txt"])
                tap.equal(result["stdout"].split()[1], "100000")
                tap.equal([(file["path"], file["content"]) for file in result["files"]], [("out.txt", "0123456789" * 5000)])


def test_a_slow_link():
    """A megabyte takes seconds. All of it comes, and a small run beside it does not wait for it."""
    try:
        MACHINES.there("tc", "qdisc", "add", "dev", "togateway", "root", "tbf", "rate", "4mbit", "burst", "16kb", "latency", "400ms")
        MACHINES.there("tc", "qdisc", "del", "dev", "togateway", "root")
    except (OSError, subprocess.CalledProcessError) as error:
        raise tap.Skip(f"the kernel cannot make a link slow: {getattr(error, 'stderr', error)}") from error
    with distant() as worker, gateway((worker, WORKER)):
        completed("1")
        with MACHINES.slow("4mbit"):
            large = Call("import os\nos.write(1, b'begun\\n')\nfor _ in range(64): os.write(1, b'x' * 65536)").await_begun()
            small = completed("print('small')")
            tap.equal(small["stdout"], "small\n")
            tap.true(large.is_alive(), "the large one has not ended before")
            result = large.end()
            tap.equal((result["status"], result["truncated"]["stdout_bytes"]), ("completed", 6 + 64 * 65536), result["error"])


def test_an_address_that_does_not_answer():
    """Packets to the worker vanish from the first one on: the reason is in the error, and the call does not wait for TCP's own minutes."""
    no_partition_here()
    with distant() as worker:
        address = "{}:{}".format(*worker.await_ready().address)
        with MACHINES.cut(), gateway({"name": WORKER, "address": address}):
            result = refused("1", "backend_unavailable")
            tap.contains(result["error"]["message"], "in time")


def test_cancellation_does_not_wait_for_the_worker():
    """It is cut off: the caller has its answer after the time that a worker is given, and not after the run's."""
    no_partition_here()
    with distant() as worker, gateway((worker, WORKER)):
        running = Call(SLEEP, Host(RIGHTS, call_id=4711)).await_begun()
        with MACHINES.cut():
            provider.cancel(4711)
            result = running.end()
            tap.true(result["status"] in ("cancelled", "error"), result)


try:
    tap.run(globals())
finally:
    MACHINES.end()
