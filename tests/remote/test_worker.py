# SPDX-License-Identifier: Apache-2.0
"""A worker by itself, driven by a gateway's end of the link: runs, room, refusals, and the ends of both sides."""
import os
import pathlib
import signal
import struct
import tempfile

import tap
import workers
from workers import ACCEPTED, BUSY, DATAGRAM, ENDED, FAILURE_OF_BACKEND, MIB, REFUSED, STARTED, Link, Worker

workers.need_program()

SLEEP = "import time\nprint('begun', flush=True)\ntime.sleep(3600)\n"
DIRECTORY = tempfile.TemporaryDirectory(prefix="code-execute-worker-")
os.chmod(DIRECTORY.name, 0o755)  # so that modes alone keep no program out of it
FILES = workers.Authorities(DIRECTORY.name)


def a_worker(**members):
    return Worker(DIRECTORY.name, FILES.worker, **members)


def a_link(worker):
    return Link(worker.await_ready().address, FILES.gateway)


def order(link, channel, byte):
    link.send(DATAGRAM, channel, struct.pack("<H", 0) + byte)


def need_root():
    if os.geteuid() != 0:
        raise tap.Skip("only root sees the processes of a backend, which are not dumpable")


def await_begun(link, numbers):
    link.until(lambda: b"begun" in link.streams[numbers["stdout"]], "the program's first line")


def test_greeting_tells_what_the_worker_is():
    with a_worker(max_runs=3) as worker, a_link(worker) as link:
        tap.equal(link.peer["name"], "worker-1")
        tap.equal(link.peer["mode"], "process")
        tap.equal(link.peer["slots"], 3)
        tap.equal(link.peer["memory_bytes"], 2048 * MIB)
        link.until(lambda: link.capacities, "what is free")
        tap.equal(link.capacities[0], {"runs": 0, "slots": 3, "memory_free": 2048 * MIB})
        tap.equal(worker.await_event("connected")["gateway"], workers.GATEWAY)


def test_name_of_the_command_line_is_the_one_that_gateways_see():
    with Worker(DIRECTORY.name, FILES.worker, options=["--name", "pod-7"]) as worker, Link(worker.address, FILES.gateway) as link:
        tap.equal(link.peer["name"], "pod-7")
    for name in ("", "two words", "x" * 128):
        with Worker(DIRECTORY.name, FILES.worker, options=["--name", name]) as worker:
            tap.equal(worker.end(), 1, name)


def test_runs_bring_their_output_and_end():
    with a_worker() as worker, a_link(worker) as link:
        ended = link.run("import sys\nprint(2**64)\nprint(sys.stdin.read(), file=sys.stderr)\nsys.exit(3)\n", stdin=b"from afar")
        tap.equal((ended["cause"], ended["exit_code"], ended["failure"]), ("exit", 3, 0), ended)
        tap.equal(ended["stdout"], b"18446744073709551616\n")
        tap.equal(ended["stderr"], b"from afar\n")
        tap.equal(len(link.run("print('x' * 3000000)")["stdout"]), 3000001)
        tap.equal(worker.metric("backend_starts_total"), 1)


def test_secrets_are_in_no_line_of_the_worker():
    secret = "s3cr3t-of-the-run"
    with a_worker() as worker, a_link(worker) as link:
        ended = link.run("import os\nprint(os.environ['TOKEN'][::-1])\n", environment=f"TOKEN={secret}")
        tap.equal(ended["stdout"].decode().strip()[::-1], secret)
        _, metrics = worker.get("/metrics")
        tap.lacks("".join(worker.lines) + metrics, secret)
        tap.contains(metrics, "code_execute_worker_offers_total{answer=\"accepted\"} 1")


def test_files_come_out():
    with a_worker() as worker, a_link(worker) as link:
        ended = link.run("open('left.txt', 'w').write('what is left')\n", files=True, outputs=10)
        link.until(lambda: b"what is left" in ended["files"] + bytes(b"".join(map(bytes, link.streams.values()))), "the file")


def test_one_run_holds_up_no_other():
    with a_worker() as worker, a_link(worker) as link:
        channel, numbers = link.start(SLEEP)
        await_begun(link, numbers)
        tap.equal(link.run("print('other')")["stdout"], b"other\n")
        order(link, channel, b"c")
        tap.equal(link.event(channel, ENDED)["cause"], "cancelled")


def test_time_is_kept_by_the_worker():
    with a_worker() as worker, a_link(worker) as link:
        ended = link.run(SLEEP, wall_ms=700)
        tap.equal(ended["cause"], "wall_timeout", ended)


def test_full_scratch_ends_no_worker():
    with a_worker() as worker, a_link(worker) as link:
        code = "try:\n    for i in range(9):\n        open(f'big{i}', 'wb').write(b'x' * (8 << 20))\n" \
               "except OSError as error:\n    print(error.errno)\n"
        tap.equal(link.run(code)["stdout"], b"28\n")
        tap.equal(link.run("print('still')")["stdout"], b"still\n")


def on_tmpfs(directory, options):
    """A command that gives the worker a small file system of its own there."""
    return ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o {options},mode=1777 none {directory} && exec "$@"', "sh"]


def test_full_disk_of_the_worker_is_reported():
    need_root()
    with tempfile.TemporaryDirectory(dir=DIRECTORY.name) as scratch:
        how = {"mode": "unprivileged", "process": {"scratch_directory": scratch}}
        # The positive control: there is room, until the program has taken it.
        with a_worker(before=on_tmpfs(scratch, "size=4m"), **how) as worker:
            with worker.changed:
                worker.changed.wait_for(lambda: worker.events("ready") or worker.events("not_ready"), workers.PATIENCE)
            if worker.events("not_ready"):
                raise tap.Skip(f"no mode unprivileged here: {worker.events('not_ready')[0]['reason']}")
            with a_link(worker) as link:
                code = "try:\n    open('big', 'wb').write(b'x' * (8 << 20))\nexcept OSError as error:\n    print(error.errno)\n"
                tap.equal(link.run(code)["stdout"], b"28\n")
                tap.equal(link.run("print('still')")["stdout"], b"still\n")
        with a_worker(before=on_tmpfs(scratch, "nr_inodes=1"), **how) as worker:
            tap.contains(worker.await_event("not_ready")["reason"], "No space left on device")
            tap.equal(worker.get("/live")[0], 200)
            tap.equal(worker.get("/ready")[0], 503)
            with Link(worker.address, FILES.gateway) as link:
                answer = link.offer()[1]
                tap.equal(answer["verdict"], REFUSED, answer)
                tap.contains(answer["reason"], "No space left on device")


def test_runs_beyond_its_room_come_again():
    with a_worker(max_runs=1) as worker, a_link(worker) as link:
        channel, numbers = link.start(SLEEP)
        await_begun(link, numbers)
        _, answer = link.offer()
        tap.equal(answer["verdict"], BUSY, answer)
        tap.true(answer["retry_after_ms"] >= 100, answer)
        tap.contains(answer["reason"], "1 runs are under way")
        order(link, channel, b"c")
        link.event(channel, ENDED)
        link.finish(channel)
        tap.eventually(lambda: link.offer()[1]["verdict"] == ACCEPTED, "room again")


def test_memory_is_shared_by_the_runs_under_way():
    with a_worker(memory_total_bytes=100 * MIB) as worker, a_link(worker) as link:
        _, answer = link.offer(memory_bytes=64 * MIB)
        tap.equal(answer["verdict"], ACCEPTED)
        tap.equal(link.offer(memory_bytes=64 * MIB)[1]["verdict"], BUSY)
        refused = link.offer(memory_bytes=101 * MIB)[1]
        tap.equal(refused["verdict"], REFUSED)
        tap.contains(refused["remedy"], "memory_total_bytes")
        link.until(lambda: link.capacities[-1]["memory_free"] == 36 * MIB, "what is left")


def refused_run(link, **members):
    channel, answer = link.offer(memory_bytes=64 * MIB)
    tap.equal(answer["verdict"], ACCEPTED)
    numbers = link.send_run(channel, workers.describe("print('ran')", **members))
    ended = link.event(channel, ENDED)
    tap.equal(ended["failure"], FAILURE_OF_BACKEND, ended)
    tap.true(ended["remedy"], ended)
    tap.equal(bytes(link.streams[numbers["stdout"]]), b"")
    link.finish(channel)
    return ended["message"]


def test_runs_that_a_worker_cannot_do_are_refused_with_a_reason():
    with a_worker() as worker, a_link(worker) as link:
        tap.contains(refused_run(link, workspace="/home/me"), "workspace is a directory of the gateway's machine")
        tap.contains(refused_run(link, network=1), "no run its machine's network")
        tap.contains(refused_run(link, isolation=0), "without isolation")
        tap.contains(refused_run(link, memory_bytes=65 * MIB), "not the one that the gateway has offered")
        tap.equal(worker.await_event("refused", 4)["gateway"], workers.GATEWAY)
        # The positive control: the same run without any of it.
        tap.equal(link.run("print('ran')")["stdout"], b"ran\n")
        tap.eventually(lambda: worker.metric("runs") == 0, "no run is left")


def test_a_second_description_does_not_speak_for_the_first():
    """The first one asks for no isolation. While its standard input is not whole, another comes that is as it should be, with a file that
    never does. A worker that forgot its refusal then would run the first one, as itself."""
    with tempfile.TemporaryDirectory() as place, a_worker() as worker, a_link(worker) as link:
        mark = pathlib.Path(place) / "mark"
        code = f"try:\n    open('{mark}', 'w')\nexcept OSError:\n    print('nowhere')\n"
        fine, unconfined = workers.describe(code), workers.describe(code, isolation=0)

        def describe_again():
            description, never = link.next_channel(), link.next_channel()
            attachments = struct.pack("<BIQ", workers.CONTENT, description, len(fine)) + struct.pack("<BIQ", workers.CONTENT, never, 1)
            link.send(DATAGRAM, channel, struct.pack("<H", 2) + attachments + b"an order")
            link.send_content(description, fine)

        channel, answer = link.offer()
        tap.equal(answer["verdict"], ACCEPTED, answer)
        numbers = link.send_run(channel, unconfined, b"x", between=describe_again)
        link.until(lambda: channel in link.ended, "the end of the run")
        tap.equal((link.events[channel], bytes(link.streams[numbers["stdout"]]), mark.exists()), ([], b"", False), "nothing has begun")
        tap.contains(worker.await_event("refused")["reason"], "without isolation")
        # The control: the same program in a run that is as it should be.
        tap.equal(link.run(code)["stdout"], b"nowhere\n")


def test_paths_of_the_gateway_are_not_shown():
    with tempfile.TemporaryDirectory(dir=DIRECTORY.name) as other:
        os.chmod(other, 0o755)
        (pathlib.Path(other) / "note").write_text("the worker's own")
        paths = [str(FILES.worker / "key.pem"), f"{other}/note", "/usr/bin"]
        code = f"import os\nprint(*map(os.path.exists, {paths}))\n"
        with a_worker() as worker, a_link(worker) as link:
            tap.equal(link.run(code, read_only=DIRECTORY.name)["stdout"], b"False False True\n")
        # The positive control: the operator of the worker may show them.
        with a_worker(read_only=["/usr", "/bin", "/lib", "/lib64", other]) as worker, a_link(worker) as link:
            tap.equal(link.run(code)["stdout"], b"False True True\n")


def test_invalid_description_is_refused():
    with a_worker() as worker, a_link(worker) as link:
        channel, _ = link.offer()
        link.send_run(channel, b"nothing of the kind")
        tap.contains(link.event(channel, ENDED)["message"], "cannot read the run's description")


def send_further(link, channel, description):
    """As a collection comes: on the channel of the run, with a description of its own and a stream."""
    content, files = link.next_channel(), link.next_channel()
    attachments = struct.pack("<BIQ", workers.CONTENT, content, len(description)) + struct.pack("<BIQ", workers.OUTPUT, files, 0)
    link.send(DATAGRAM, channel, struct.pack("<H", 2) + attachments + b"an order")
    link.send_content(content, description)


def test_what_comes_later_is_read_by_the_worker_too():
    with a_worker() as worker, a_link(worker) as link:
        cases = ((workers.describe("1", workspace="/home/me"), "workspace is a directory of the gateway's machine"),
                 (b"nothing of the kind", "cannot read the run's description"))
        for count, (description, reason) in enumerate(cases, 1):
            channel, numbers = link.start(SLEEP)
            await_begun(link, numbers)
            send_further(link, channel, description)
            link.until(lambda: channel in link.ended, "the end of the run")
            tap.contains(worker.await_event("refused", count)["reason"], reason)
        # The control: one that is as it should be is handed on, and here the backend ends the run, which is no session.
        channel, numbers = link.start(SLEEP)
        await_begun(link, numbers)
        send_further(link, channel, workers.describe("1"))
        link.until(lambda: channel in link.ended, "the end of the run")
        tap.equal((link.run("print('other')")["stdout"], len(worker.events("refused"))), (b"other\n", 2))


def test_end_of_a_connection_ends_its_runs():
    with a_worker() as worker, a_link(worker) as other:
        with a_link(worker) as link:
            _, numbers = link.start(SLEEP)
            await_begun(link, numbers)
            tap.equal(worker.metric("runs"), 1)
        tap.equal(worker.await_event("disconnected")["runs"], 1)
        tap.eventually(lambda: worker.metric("runs") == 0, "the run is over")
        tap.equal(other.run("print('other')")["stdout"], b"other\n")
        if os.geteuid() == 0:
            tap.eventually(lambda: not workers.children(worker.backend()), "no sandbox is left")


def test_death_of_the_worker_leaves_nothing():
    need_root()
    with a_worker() as worker, a_link(worker) as link:
        _, numbers = link.start(SLEEP)
        await_begun(link, numbers)
        backend = worker.backend()
        sandboxes = workers.children(backend)
        tap.true(sandboxes, "no sandbox")
        worker.process.kill()
        worker.end()
        link.await_end()
        tap.eventually(lambda: not workers.is_alive(backend), "the backend has ended")
        tap.eventually(lambda: not any(map(workers.is_alive, sandboxes)), "the sandboxes have ended")


def test_death_of_the_backend_ends_its_runs_alone():
    need_root()
    with a_worker() as worker, a_link(worker) as link:
        channel, numbers = link.start(SLEEP)
        await_begun(link, numbers)
        workers.kill(worker.backend())
        link.until(lambda: channel in link.ended, "the end of the run")
        tap.equal([event["type"] for event in link.events[channel]], [STARTED])
        worker.await_event("backend_ended")
        worker.await_event("ready", 2)
        tap.equal(link.run("print('again')")["stdout"], b"again\n")
        tap.equal(worker.metric("backend_starts_total"), 2)


def test_first_process_of_a_container_reaps():
    need_root()
    with a_worker(before=["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]) as worker, a_link(worker) as link:
        tap.equal(link.run("print('first')")["stdout"], b"first\n")
        [first] = workers.children(worker.process.pid)
        tap.equal((pathlib.Path(f"/proc/{first}/status").read_text().split("NSpid:")[1].split("\n")[0].split()[-1]), "1")
        workers.kill(worker.backend(first))
        worker.await_event("ready", 2)
        tap.equal(link.run("print('second')")["stdout"], b"second\n")
        tap.eventually(lambda: all(map(workers.is_alive, workers.children(first))), "no zombie is left")
        os.kill(first, signal.SIGTERM)
        tap.equal(worker.end(), 0)


def test_many_runs_leave_nothing_behind():
    need_root()
    with a_worker() as worker, a_link(worker) as link:
        def held():
            return len(list(pathlib.Path(f"/proc/{worker.process.pid}/fd").iterdir()))

        def memory():
            return int(pathlib.Path(f"/proc/{worker.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

        def many(count):
            for number in range(count):
                tap.equal(link.run(f"print({number})")["stdout"], b"%d\n" % number)
                with a_link(worker) as other:
                    other.offer()
            tap.eventually(lambda: worker.metric("connections") == 1 and worker.metric("runs") == 0, "all is over")
        many(8)
        descriptors, before = held(), memory()
        many(24)
        tap.eventually(lambda: held() <= descriptors, f"{descriptors} descriptors, then {held()}")
        if "ASAN_OPTIONS" not in os.environ:  # it keeps what is freed
            tap.true(memory() - before < 4 * MIB, f"{before} bytes of memory, then {memory()}")


def test_junk_ends_a_connection_and_nothing_else():
    with a_worker() as worker, a_link(worker) as other:
        for junk in (b"\xff" * 64, struct.pack("<IBI", 0, 99, 1), struct.pack("<IBI", 1, workers.DATA, 77) + b"x",
                     struct.pack("<IBI", 1 << 20, workers.DATA, 1)):
            with a_link(worker) as link:
                link.socket.sendall(junk)
                link.await_end()
        worker.await_event("disconnected", 4)
        tap.equal(other.run("print('other')")["stdout"], b"other\n")


if __name__ == "__main__":
    tap.run(globals())
