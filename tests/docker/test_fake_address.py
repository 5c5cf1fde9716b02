# SPDX-License-Identifier: Apache-2.0
"""How an engine is reached: sockets without an engine, TCP on this machine, TLS with every kind of unsuitable certificate."""
import os
import pathlib
import shutil
import socket
import ssl
import sys
import tempfile
import threading
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from engine_calls import call, directory, refusal, socket_path, run
from fake_engine import FakeEngine
from servers.certificates import Certificates


def test_a_missing_or_dead_socket_is_reported():
    if os.path.exists(socket_path):
        os.unlink(socket_path)
    refusal(None, "backend_unavailable", "docker is not installed or its socket is not there: cannot connect to the Docker daemon at unix://")
    os.mkdir(socket_path)
    refusal(None, "backend_unavailable", "not a socket")
    os.rmdir(socket_path)
    with FakeEngine(socket_path):
        pass
    refusal(None, "backend_unavailable", "docker is not running: cannot connect to the Docker daemon at unix://")
    refusal(None, "backend_unavailable", "ssh addresses are not supported", host="ssh://somewhere")


def test_plain_tcp_of_this_machine():
    with FakeEngine(None) as engine:
        for host in ("127.0.0.1", "localhost"):
            tap.equal(call(engine, host=f"tcp://{host}:{engine.port}")[1]["stdout"], "yes\n")
    refusal(None, "backend_unavailable", "docker is not running: cannot connect to the Docker daemon at", host=f"tcp://127.0.0.1:{engine.port}")


def certificates():
    if not shutil.which("openssl"):
        raise tap.Skip("no openssl, which makes the certificates")
    path = pathlib.Path(tempfile.mkdtemp(dir=directory.name))
    return Certificates(path / "certificates")


def server_context(files, version=ssl.TLSVersion.TLSv1_3):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(files.server / "cert.pem", files.server / "key.pem")
    context.load_verify_locations(files.server / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def over_tls(engine, files, **docker):
    return {"host": f"tcp://127.0.0.1:{engine.port}", "certificates": str(files), **docker}


def test_tls():
    files = certificates()
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        with FakeEngine(None, tls=server_context(files, version)) as engine:
            tap.equal(call(engine, **over_tls(engine, files.client))[1]["stdout"], "yes\n")
            refusal(engine, "backend_unavailable", "requires a client certificate", **over_tls(engine, files.anonymous))
            refusal(engine, "backend_unavailable", "refuses the client certificate", **over_tls(engine, files.of_other))
            heard = len(engine.requests)
            refusal(engine, "backend_unavailable", "is not trusted", **over_tls(engine, files.trusts_other))
            elsewhere = over_tls(engine, files.client, host=f"tcp://localhost:{engine.port}")
            refusal(engine, "backend_unavailable", "not valid for the host", **elsewhere)
            tap.equal(len(engine.requests), heard, "an engine that is not trusted hears nothing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old = server_context(files, ssl.TLSVersion.TLSv1_1)
    with FakeEngine(None, tls=old) as engine:
        refusal(engine, "backend_unavailable", "TLS handshake with the Docker daemon", **over_tls(engine, files.client))


def test_tls_stream_comes_whole_or_is_refused():
    files = certificates()
    context = server_context(files)
    output = os.urandom(1500000).hex().encode()
    with FakeEngine(None, tls=context, output=output) as engine:
        tap.equal(call(engine, **over_tls(engine, files.client))[1]["truncated"]["stdout_bytes"], len(output))
    with FakeEngine(None, tls=context, cut=True, unreported=1) as engine:
        refusal(engine, "backend_failed", "stream is broken", **over_tls(engine, files.client))


def test_tls_where_none_is_spoken():
    files = certificates()
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            with server.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        threading.Thread(target=answer, daemon=True).start()
        host = f"https://127.0.0.1:{server.getsockname()[1]}"
        refusal(None, "backend_unavailable", "TLS handshake with the Docker daemon", host=host, certificates=str(files.client))


run(globals())
