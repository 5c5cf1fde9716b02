# SPDX-License-Identifier: Apache-2.0
"""What the tests with an engine by plan share (fake_engine.py): calls that are answered in bounded time and leave no container, and
cases that only wait, which run beside each other."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from provider import NOT_RUN, OK, Host, Provider

provider = Provider()
directory = tempfile.TemporaryDirectory(prefix="code-execute-fake-")
socket_path = os.path.join(directory.name, "docker.sock")
REQUEST = {"language": "sh", "code": "echo yes", "timeout_ms": 2000}
# The plugin's own, run.c: 20 s for a set-up, 10 s from a program's deadline to the container's end. A call is a trial and a run.
PATIENCE = 2 * (20 + 10)
MEGABYTE = 1 << 20


def use_engine(host=None, more=None, **docker):
    docker = {"host": host or f"unix://{socket_path}", "images": {"sh": "example:1", "python": None}, **docker}
    policy = {"modes": {"default": "docker", "allowed": ["docker"]}, "approval": {"default": "allow"}, "docker": docker, "pools": {"docker": {"ready": 0}},
              **(more or {})}
    tap.equal(provider.use_policy(policy), OK, "prepare")


def timed(request=REQUEST, host=None):
    begin = time.monotonic()
    result = provider.invoke(request, host or Host())
    tap.true(time.monotonic() - begin < PATIENCE, f"answered in time: {time.monotonic() - begin:.1f} s")
    return result


def lift(engine, what="the next call"):
    """The engine behaves again: the backend that met its faults serves the next call."""
    engine.fault, engine.endless = (None, None), 0
    output = timed()[1]
    tap.equal((output["status"], output["stdout"]), ("completed", "yes\n"), f"{what}: {output['error']}")


def call(engine, request=REQUEST, caller=None, **docker):
    use_engine(**docker)
    code, output = timed(request, caller)
    if engine and engine.fault[0]:
        lift(engine, f"the call after {engine.fault}")
    provider.reset()
    tap.equal((engine.containers, engine.helpers) if engine else ({}, {}), ({}, {}), "containers left")
    return code, output


def refusal(engine, code, text, **options):
    status, output = call(engine, **options)
    refused(status, output, code, text)
    return output


def refused(status, output, code, text):
    tap.equal((status, output["error"]["code"]), (NOT_RUN, code), output["error"])
    tap.contains(output["error"]["message"], text)
    tap.true(len(output["error"]["hint"]) > 10, "a hint")


SLOW = {}
processes = {}


def slow(case):
    """A case that mostly waits: all of these run at once, each in a process of its own."""
    SLOW[case.__name__] = case
    return lambda: finish(case.__name__)


def finish(name):
    process = processes.pop(name)
    output = process.communicate()[0]
    tap.true(process.returncode == 0, output)


def asked(engine, step):
    return sum(request[0] == step for request in engine.requests)


def measurable():
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        raise tap.Skip("a sanitizer's own memory would be measured")


def backend_peak():
    """The peak memory in bytes of the backend that watches this process."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().strip() == "code-execute-docker"[:15] and \
                    any(f"\nPid:\t{os.getpid()}\n" in entry.read_text() for entry in (process / "fdinfo").iterdir()):
                return int((process / "status").read_text().split("VmHWM:")[1].split()[0]) * 1024
        except OSError:
            continue
    raise AssertionError("no backend runs")


def run(cases):
    """Runs the cases of a program; each slow case is the program again, started now and waited for in its turn."""
    if sys.argv[1:]:
        SLOW[sys.argv[1]]()
        return
    wanted = os.environ.get("TEST_CASES", "").split()
    processes.update((name, subprocess.Popen([sys.executable, sys.argv[0], name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                             text=True)) for name in SLOW if not wanted or name in wanted)
    tap.run(cases)
