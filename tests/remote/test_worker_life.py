# SPDX-License-Identifier: Apache-2.0
"""A worker's life: who may connect, its health, its drain, its files, and what --check says."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile

import ordinary_user
import tap
import workers
from workers import ACCEPTED, DRAINING, ENDED, MIB, REFUSED, Closed, Link, Worker
from test_worker import SLEEP, await_begun, order

workers.need_program()

DIRECTORY = tempfile.TemporaryDirectory(prefix="code-execute-worker-")
FILES = workers.Authorities(DIRECTORY.name)


def a_worker(files=None, **members):
    return Worker(DIRECTORY.name, files or FILES.worker, **members)


def a_link(worker, files=None, **how):
    return Link(worker.await_ready().address, files or FILES.gateway, **how)


def refused(worker, files):
    """Why the worker has ended the connection, by its own words. With TLS 1.3 a client hears of it only when it reads."""
    before = len(worker.events("disconnected"))
    try:
        link = a_link(worker, files)
    except (ssl.SSLError, OSError):
        pass
    else:
        link.await_end()
        tap.equal(link.peer, None)
        link.close()
    return worker.await_event("disconnected", before + 1)["reason"]


def test_only_gateways_that_it_names_get_in():
    with a_worker() as worker:
        tap.contains(refused(worker, FILES.stranger), "stranger.example")
        tap.true(refused(worker, FILES.of_other), "another authority")
        tap.true(refused(worker, FILES.of_server), "a certificate for servers")
        tap.contains(refused(worker, FILES.issue_expired("expired-gateway", "clientAuth", f"DNS:{workers.GATEWAY}")), "expired")
        # The positive control.
        with a_link(worker) as link:
            tap.equal(link.run("print(1)")["stdout"], b"1\n")


def test_gateway_sees_another_name():
    with a_worker() as worker:
        try:
            a_link(worker, name="worker-2.example").close()
        except ssl.SSLCertVerificationError as error:
            tap.contains(str(error), "worker-2.example")
        else:
            raise AssertionError("a worker of another name was accepted")


def test_other_versions_are_named():
    protocol = workers.protocol_version()
    with a_worker() as worker:
        for hello, words in ((Link.hello(protocol=protocol + 1), str(protocol + 1)), (Link.hello(link=2), "2")):
            link = a_link(worker, hello=hello)
            bye = link.await_end()
            link.close()
            tap.true(bye, "no word at the end")
            tap.contains(bye, words)
            tap.contains(bye, "gateway")


def test_strangers_that_only_connect_keep_no_gateway_out():
    with a_worker() as worker:
        worker.await_ready()
        silent = [socket.create_connection(worker.address, workers.PATIENCE) for _ in range(80)]
        tap.true(worker.metric("handshakes") <= 16, worker.metric("handshakes"))

        def gets_in():
            try:
                with a_link(worker) as link:
                    return link.offer()[1]["verdict"] == ACCEPTED
            except (OSError, Closed):
                return False
        tap.eventually(gets_in, "a gateway gets in", 60)
        for sock in silent:
            sock.close()
        tap.eventually(lambda: worker.metric("connections") == 0, "all are forgotten")


def test_health_is_reported():
    with a_worker() as worker:
        worker.await_ready()
        tap.equal(worker.get("/live"), (200, "live\n"))
        tap.equal(worker.get("/ready"), (200, "ready\n"))
        tap.equal(worker.get("/ready", "POST")[0], 405)
        tap.equal(worker.get("/else")[0], 404)
        status, metrics = worker.get("/metrics")
        tap.equal(status, 200)
        names = {line.split()[2] for line in metrics.splitlines() if line.startswith("# TYPE")}
        tap.true({"code_execute_worker_" + name for name in ("ready", "runs", "slots", "offers_total", "run_seconds")} <= names, names)
        for line in metrics.splitlines():
            if not line.startswith("#"):
                float(line.split()[1])
        tap.true(worker.metric("certificate_expires_seconds") > 0, metrics)


def test_unready_worker_says_why():
    with a_worker(read_only=["/nonexistent"]) as worker:
        worker.await_event("not_ready")
        status, reason = worker.get("/ready")
        tap.equal(status, 503)
        tap.contains(reason, "sh is not in the view of programs")
        tap.equal(worker.get("/live")[0], 200)
        with Link(worker.address, FILES.gateway) as link:
            answer = link.offer()[1]
            tap.equal(answer["verdict"], REFUSED, answer)
            tap.contains(answer["reason"], "sh is not in the view of programs")
            tap.contains(answer["remedy"], "runtime_path")


def test_drain_lets_runs_end():
    with a_worker(drain_seconds=3600) as worker, a_link(worker) as link:
        channel, numbers = link.start(SLEEP)
        await_begun(link, numbers)
        worker.signal(signal.SIGTERM)
        link.until(lambda: link.drains, "the word that it drains")
        tap.equal(worker.get("/live")[0], 200)
        tap.equal(worker.get("/ready")[0], 503)
        tap.equal(link.offer()[1]["verdict"], DRAINING)
        tap.equal(worker.process.poll(), None)
        order(link, channel, b"c")
        tap.equal(link.event(channel, ENDED)["cause"], "cancelled")
        link.finish(channel)
        tap.contains(link.await_end(), "worker has ended")
        tap.equal(worker.end(), 0)
        tap.equal(worker.events("ended")[0]["runs_cut_off"], 0)


def test_drain_has_an_end():
    with a_worker(drain_seconds=1) as worker, a_link(worker) as link:
        _, numbers = link.start(SLEEP)
        await_begun(link, numbers)
        worker.signal(signal.SIGTERM)
        link.await_end()
        tap.equal(worker.end(), 0)
        tap.equal(worker.events("ended")[0]["runs_cut_off"], 1)


def test_second_signal_ends_it_at_once():
    with a_worker(drain_seconds=86400) as worker, a_link(worker) as link:
        _, numbers = link.start(SLEEP)
        await_begun(link, numbers)
        worker.signal(signal.SIGTERM)
        worker.await_event("draining")
        worker.signal(signal.SIGTERM)
        tap.equal(worker.end(), 0)
        link.await_end()


def test_idle_worker_ends_at_once():
    with a_worker(drain_seconds=86400) as worker:
        worker.await_ready()
        worker.signal(signal.SIGINT)
        tap.equal(worker.end(), 0)


def serial(link):
    return ssl.DER_cert_to_PEM_cert(link.socket.getpeercert(True))


def test_new_files_are_taken_without_a_new_start():
    files = pathlib.Path(DIRECTORY.name) / "rotated"
    shutil.copytree(FILES.worker, files)
    other = FILES.ours.issue(pathlib.Path(DIRECTORY.name) / "next", "worker", "serverAuth", f"DNS:{workers.WORKER}")
    with a_worker(files) as worker, a_link(worker) as before:
        for name in ("cert.pem", "key.pem"):
            shutil.copy(other / name, files / name)
        worker.signal(signal.SIGHUP)
        worker.await_event("reloaded")
        with a_link(worker) as after:
            tap.true(serial(after) != serial(before), "the same certificate")
            tap.equal(after.run("print('after')")["stdout"], b"after\n")
        tap.equal(before.run("print('before')")["stdout"], b"before\n")
        (files / "cert.pem").write_text("nothing of the kind\n")
        worker.signal(signal.SIGHUP)
        tap.contains(worker.await_event("not_reloaded")["reason"], "cert.pem")
        with a_link(worker) as last:
            tap.equal(last.run("print('last')")["stdout"], b"last\n")


def command(*arguments):
    done = subprocess.run([workers.PROGRAM, *arguments], capture_output=True, text=True, timeout=workers.PATIENCE, check=False)
    return done.returncode, done.stdout + done.stderr


def write(files, **members):
    path = pathlib.Path(DIRECTORY.name) / "checked.json"
    path.write_text(json.dumps(workers.configuration_of(files, **members)))
    return path


def check(files, **members):
    return command("--check", "--config", write(files, **members))


def test_check_says_what_is_there():
    status, text = check(FILES.worker)
    tap.equal(status, 0, text)
    tap.contains(text, "ok       tls")
    tap.contains(text, "ok       trial run")
    for layer in ("user_namespace", "seccomp", "capabilities"):
        tap.contains(text, f"layer    {layer}: applied")
    tap.lacks(text, "untested")


def test_check_reports_each_layer():
    """Without user namespaces: what has failed with its remedy, and what was not reached."""
    path = write(FILES.worker)
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    done = subprocess.run([*command, workers.PROGRAM, "--check", "--config", path], capture_output=True, text=True, check=False)
    tap.equal(done.returncode, 1, done)
    for words in ("missing  trial run: layer user_namespace cannot be had", "sysctl -w user.max_user_namespaces", "layer    user_namespace: failed",
                  "layer    seccomp: untested", "The worker cannot serve runs."):
        tap.contains(done.stdout, words)


def test_check_understands_a_worker_that_runs():
    with a_worker() as worker:
        host, port = worker.await_ready().address
        status, text = check(FILES.worker, listen=f"{host}:{port}")
        tap.equal(status, 0, text)
        tap.contains(text, "in use: the worker may be running")


def test_check_says_what_is_missing():
    status, text = check(FILES.issue_expired("expired-worker", "serverAuth", f"DNS:{workers.WORKER}"))
    tap.equal(status, 1, text)
    tap.contains(text, "missing  tls")
    tap.contains(text, "expired")
    status, text = check(FILES.worker, read_only=["/nonexistent"])
    tap.equal(status, 1, text)
    tap.contains(text, "missing  trial run")
    open_key = pathlib.Path(DIRECTORY.name) / "open-key"
    shutil.copytree(FILES.worker, open_key)
    (open_key / "key.pem").chmod(0o644)
    status, text = check(open_key)
    tap.equal(status, 1, text)
    tap.contains(text, "key.pem")


def test_key_of_roots_is_read_by_the_group_of_an_ordinary_user():
    """As a pod's volume is, that an ordinary user may read by its group alone."""
    with contextlib.closing(ordinary_user.Copies()) as copies:
        program, files = copies.add(workers.PROGRAM), copies.directory / "files"
        shutil.copytree(FILES.worker, files)
        path = files / "worker.json"
        path.write_text(json.dumps(workers.configuration_of(files)))

        def says(mode, group, run=copies.run):
            (files / "key.pem").chmod(mode)
            os.chown(files / "key.pem", 0, group)
            return run([program, "--check", "--config", path]).stdout.splitlines()[0]
        tap.contains(says(0o440, ordinary_user.UID), "ok       tls")
        for mode in (0o444, 0o460, 0o441):
            tap.contains(says(mode, ordinary_user.UID), "missing  tls: ")
        # Root needs no group.
        tap.contains(says(0o440, 0, lambda command: subprocess.run(command, capture_output=True, text=True, check=False)), "by others")


def test_wrong_configuration_is_named_by_its_place():
    status, text = check(FILES.worker, max_runs=0)
    tap.equal(status, 1, text)
    tap.contains(text, "/max_runs: must be")
    tap.equal(command()[0], 2)
    tap.equal(command("--config")[0], 2)
    tap.equal(command("--version")[0], 0)
    status, text = command("--config", "/nonexistent.json")
    tap.equal(status, 1, text)
    tap.contains(text, "/nonexistent.json")


def test_address_in_use_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with a_worker(listen="127.0.0.1:{}".format(taken.getsockname()[1]), status_listen=None, memory_total_bytes=64 * MIB) as worker:
            tap.equal(worker.end(), 1)
            tap.contains("".join(worker.lines), "cannot listen on")


if __name__ == "__main__":
    tap.run(globals())
