# SPDX-License-Identifier: Apache-2.0
"""A worker whose runs are containers of a real engine: its images are its own to choose."""
import tempfile

import engine
import tap
import workers
from workers import ENDED, FAILURE_OF_BACKEND, MIB, Link, Worker

workers.need_program()
engine.needed()

DIRECTORY = tempfile.TemporaryDirectory(prefix="code-execute-worker-")
FILES = workers.Authorities(DIRECTORY.name)


def a_worker(**images):
    return Worker(DIRECTORY.name, FILES.worker, mode="docker", docker={"host": engine.HOST, "images": images})


def a_link(worker):
    return Link(worker.await_ready().address, FILES.gateway)


def test_runs_are_containers():
    with a_worker(python3=engine.IMAGE) as worker, a_link(worker) as link:
        tap.equal(link.peer["mode"], "docker")
        ended = link.run("import sys\nprint(2**64)\nprint(sys.stdin.read())\n", stdin=b"from afar", memory_bytes=128 * MIB)
        tap.equal((ended["failure"], ended["exit_code"], ended["stdout"]), (0, 0, b"18446744073709551616\nfrom afar\n"), ended)


def test_program_without_an_image_is_refused():
    with a_worker(sh=engine.IMAGE) as worker, a_link(worker) as link:
        channel, _ = link.start("print(1)")
        ended = link.event(channel, ENDED)
        tap.equal(ended["failure"], FAILURE_OF_BACKEND, ended)
        tap.contains(ended["message"], "no image for python3")
        tap.contains(ended["remedy"], "docker.images")


def test_image_that_is_not_there_is_named():
    with a_worker(python3="code-execute/of-nobody:1") as worker:
        reason = worker.await_event("not_ready")["reason"]
        tap.contains(reason, "code-execute/of-nobody:1")


if __name__ == "__main__":
    tap.run(globals())
