# SPDX-License-Identifier: Apache-2.0
"""Clocks that are wrong, certificates that have had their time, and a worker whose disk is full, as a gateway's callers see them."""
import os
import pathlib
import subprocess
import tempfile
import time

import tap
from provider import Host
from remote_gateway import DIRECTORY, FILES, SLEEP, a_worker, call, completed, gateway, place, policy_of, provider, refused
from scripted_worker import ScriptedWorker
from workers import GATEWAY, PATIENCE, WORKER

HOUR = 3600


def dated(name, usage, alternative, begin, end):
    """Valid between so many hours from now."""
    moments = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + hours * HOUR)) for hours in (begin, end))
    return FILES.issue_dated(name, usage, f"DNS:{alternative}", *moments)


def test_certificates_that_are_not_valid_now():
    """A clock that is an hour off is the same as certificates that are, and no other part of a run looks at the hour. The first is the control:
    hours around now."""
    good = dated("good", "serverAuth", WORKER, -2, 2)
    with a_worker(good) as worker, gateway((worker, WORKER), files=dated("good-gateway", "clientAuth", GATEWAY, -2, 2)):
        completed("1")
    for name, begin, end, word in (("early", 1, 3, "valid"), ("late", -3, -1, "expired")):
        # A real worker does not even start with its own.
        with ScriptedWorker(dated(name, "serverAuth", WORKER, begin, end)) as worker, gateway((worker, WORKER)):
            message = refused("1", "backend_unavailable")["error"]["message"]
            tap.contains(message, word, name)
            tap.contains(message, time.strftime("%Y-", time.gmtime()), "the date is in it")
        with a_worker() as worker, gateway((worker, WORKER), files=dated(f"{name}-gateway", "clientAuth", GATEWAY, begin, end)):
            tap.contains(refused("1", "backend_unavailable")["error"]["message"], word, name)
            tap.equal(worker.metric("runs"), 0)


def test_a_worker_whose_clock_is_an_hour_off():
    """Its runs keep their time, as all times of a run are durations."""
    library = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if not library:
        raise tap.Skip("libfaketime is not here")
    before = ["env", f"LD_PRELOAD={library}", "FAKETIME=+1h", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
    shown = subprocess.run([*before, "date", "+%s"], capture_output=True, text=True, check=True)
    tap.true(int(shown.stdout) - time.time() > HOUR - 600, "the clock is wrong there: the control")
    with a_worker(before=before) as worker, gateway((worker, WORKER)):
        tap.equal(completed("print(1)")["stdout"], "1\n")
        _, result = call(SLEEP, timeout_ms=1500)
        tap.equal((result["status"], result["stdout"]), ("timeout", "begun\n"), result)
        tap.true(1400 <= result["duration_ms"] < 60000, result["duration_ms"])


def test_a_certificate_that_expires_in_use():
    """The connection that there is goes on; the next one is refused, with the date."""
    if os.environ.get("CODE_EXECUTE_TEST_LONG") != "1":
        raise tap.Skip("only in the long form: it waits for two minutes (CODE_EXECUTE_TEST_LONG=1)")
    short = dated("short", "serverAuth", WORKER, -1, 120 / HOUR)
    with ScriptedWorker(short) as worker:
        begun = time.monotonic()
        with gateway((worker, WORKER)):
            completed("1")
            time.sleep(max(0, 122 - (time.monotonic() - begun)))
            completed("1")
        with gateway((worker, WORKER)):
            tap.contains(refused("1", "backend_unavailable")["error"]["message"], "expired")


def test_a_worker_whose_disk_is_full():
    """A run that fills it is told so as on one machine; one that begins on a full disk is refused by its worker, and another one takes it."""
    if os.geteuid() != 0:
        raise tap.Skip("a small file system takes root")
    second = FILES.ours.issue(FILES.directory / "roomy", "roomy", "serverAuth", "DNS:roomy.example")
    rights = ["sandbox.exec", "sandbox.exec.mode.unprivileged"]

    def on(directory, options):
        return ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o {options},mode=1777 none {directory} && exec "$@"', "sh"]
    with tempfile.TemporaryDirectory(dir=DIRECTORY.name) as scratch, tempfile.TemporaryDirectory(dir="/tmp") as roomy:
        how = {"mode": "unprivileged", "process": {"scratch_directory": scratch}}
        with a_worker(before=on(scratch, "nr_inodes=1"), **how) as full, a_worker(second, mode="unprivileged", process={"scratch_directory": roomy}) as other:
            for worker in (full, other):
                tap.true(tap.within(lambda worker=worker: worker.events("ready") or worker.events("not_ready"), PATIENCE), worker.lines)
            if not other.events("ready"):
                raise tap.Skip(f"no mode unprivileged here: {other.events('not_ready')[0]['reason']}")
            policy = policy_of([place(full.address)], capabilities=rights)
            policy["remote"]["mode"] = "unprivileged"
            provider.use_policy(policy)
            host = Host(rights)
            tap.contains(refused("1", "backend_unavailable", host)["error"]["message"], "No space left on device")
            policy["remote"]["workers"].append(place(other.address, "roomy.example"))
            provider.use_policy(policy)
            for _ in range(4):
                tap.equal(completed("print(1)", host)["isolation"]["details"]["attested_by"], "roomy.example")
            provider.reset()


tap.run(globals())
