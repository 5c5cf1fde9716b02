# SPDX-License-Identifier: Apache-2.0
"""A process is killed at each boundary of a frame: the worker with its connection, the gateway's backend, and the gateway of a real worker.
Each call ends, none runs twice, and nothing is left."""
import contextlib
import os
import signal

import tap
from remote_gateway import FILES, a_worker, call, gateway
from scripted_worker import AT, STARTED_WELL, Gone, Script, ScriptedWorker, backend_of_gateway, need_backend
from workers import PATIENCE, WORKER, Closed, Link

LONG = os.environ.get("CODE_EXECUTE_TEST_LONG") == "1"
EVERY = 1 if LONG else 3
MOST = 200  # frames of one small run, in both directions: fewer than this


def program(run):
    run.tell(STARTED_WELL)
    for piece in (b"one\n", b"two\n"):
        run.write(AT.STDOUT, piece)
    run.finish()


def scripted():
    return ScriptedWorker(FILES.worker, Script(program=program))


def one_call(worker):
    """Its result, and how often the worker was given it."""
    worker.runs.clear()
    _, result = call("1")
    return result, len(worker.programs())


def dying_at_each(worker, die):
    """The calls' ends, with the numbers of the frames behind which die() was called, up to the first call that ends before."""
    ends = []
    for at in range(2, MOST, EVERY):
        happened = []

        def boundary(connection, frames, at=at, happened=happened):
            if frames == at and not happened:
                happened.append(frames)
                die(connection)
                raise Gone("as the test wants")
        worker.boundary = boundary
        for connection in worker.connections:
            connection.cut()
        tap.within(lambda: all(connection.over for connection in worker.connections), PATIENCE)
        result, given = one_call(worker)
        worker.boundary = None
        tap.true(given <= 1, f"behind frame {at} it ran {given} times")
        tap.true(result["status"] == "completed" or result["error"], f"{at}: {result}")
        if result["error"]:
            tap.true(result["error"]["code"] in ("worker_lost", "backend_failed", "backend_unavailable"), f"{at}: {result['error']}")
            tap.true(result["error"]["code"] != "backend_unavailable" or given == 0, f"{at}: {result['error']}")
        ends.append((at, result["error"] and result["error"]["code"], given))
        tap.true(tap.within(lambda: call("1")[1]["stdout"] == "one\ntwo\n", PATIENCE), f"no call goes on behind {at}")
        if not happened:
            return ends
    raise AssertionError(f"a run has more than {MOST} frames")


def codes(ends):
    return {code for _, code, _ in ends}


def test_a_worker_dies_behind_each_frame():
    """The last call is the control: nothing was killed, and its result is complete."""
    with scripted() as worker, gateway((worker, WORKER)):
        ends = dying_at_each(worker, lambda connection: connection.cut())
        tap.equal(ends[-1][1], None, ends)
        tap.true("worker_lost" in codes(ends) and len(ends) > 5, ends)


def test_the_gateways_backend_dies_behind_each_frame():
    with scripted() as worker, gateway((worker, WORKER)):
        call("1")
        need_backend()

        def die(connection):
            pid = backend_of_gateway()
            if pid:
                os.kill(pid, signal.SIGKILL)
        ends = dying_at_each(worker, die)
        tap.equal(ends[-1][1], None, ends)
        tap.true("backend_failed" in codes(ends) and len(ends) > 5, ends)


def test_a_gateway_dies_behind_each_frame_of_a_real_worker():
    """The last run is the control: it is whole. Nothing of any other is left at the worker."""
    with a_worker() as worker:
        worker.await_ready()
        for at in range(1, MOST, EVERY):
            link, frames, ended = Link(worker.address, FILES.gateway), [0], None
            take = link.take

            def counted(take=take, link=link, frames=frames, at=at):
                kind = take()
                frames[0] += 1
                if frames[0] == at:
                    link.close()
                    raise Closed("as the test wants")
                return kind
            link.take = counted
            with contextlib.suppress(Closed, OSError, ValueError):
                ended = link.run("print('one')\nprint('two')")
            link.close()
            tap.true(tap.within(lambda: worker.metric("runs") == 0 and worker.metric("connections") == 0, PATIENCE), f"left behind frame {at}")
            if ended:
                tap.equal((ended["exit_code"], ended["stdout"]), (0, b"one\ntwo\n"), ended)
                break
        else:
            raise AssertionError(f"a run has more than {MOST} frames")
        tap.true(at > 5, at)


tap.run(globals())
