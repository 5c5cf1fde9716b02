# SPDX-License-Identifier: Apache-2.0
"""An engine that fails, lies, hangs or talks nonsense at each step: a clear error in bounded time, the container removed by its
name wherever it may exist, and the next call is served as if nothing had been."""
import json
import os
import pathlib
import shutil
import socket
import ssl
import sys
import tempfile
import threading
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from certificates import Certificates
from fake_engine import FakeEngine, REPORT, frame
from modes import gateway
from provider import NOT_RUN, OK, Host, Provider

provider = Provider()
directory = tempfile.TemporaryDirectory(prefix="code-execute-fake-")
socket_path = os.path.join(directory.name, "docker.sock")
REQUEST = {"language": "sh", "code": "echo yes", "timeout_ms": 2000}
STEPS = ("version", "info", "image", "create", "inspect", "attach", "start", "wait")
QUICK = ("close", "garbage", "short", "chunks", "headers", "huge", "404", "500", "html")


def policy(host, **docker):
    return {"modes": {"default": "docker", "allowed": ["docker"]}, "approval": {"default": "allow"},
            "docker": {"host": host, "images": {"sh": "example:1", "python": None}, **docker}}


def use_engine(host=None, **docker):
    tap.equal(provider.use_policy(policy(host or f"unix://{socket_path}", **docker)), OK, "prepare")


def call(engine, **docker):
    use_engine(**docker)
    begin = time.monotonic()
    code, output = provider.invoke(REQUEST, Host())
    provider.reset()
    tap.true(time.monotonic() - begin < 22, f"answered in time: {time.monotonic() - begin:.1f} s")
    tap.equal(engine.containers if engine else {}, {}, "containers left")
    return code, output


def refusal(engine, code, text, **docker):
    status, output = call(engine, **docker)
    tap.equal((status, output["error"]["code"]), (NOT_RUN, code), output["error"])
    tap.contains(output["error"]["message"], text)
    tap.true(len(output["error"]["hint"]) > 10, "a hint")


def test_right_engine():
    with FakeEngine(socket_path) as engine:
        code, output = call(engine)
        tap.equal((code, output["status"], output["stdout"], output["exit_code"]), (OK, "completed", "yes\n", 0), output)
        tap.equal(output["stderr"], "err\n", "what came before the standard output's report")
        tap.equal(output["isolation"]["missing"], ["user_namespace", "landlock"])
        bodies = [body for step, _, body in engine.requests if step == "create"]
        tap.true(bodies and all(b"echo yes" not in body for body in bodies), "the code is in no configuration")


def test_each_step_each_fault():
    for step in STEPS:
        for kind in QUICK:
            with FakeEngine(socket_path, (step, kind)) as engine:
                status, output = call(engine)
                what = f"{step} {kind}: {output['status']} {output['error']}"
                tap.true(status == NOT_RUN and output["error"], what)
                tap.true(output["error"]["code"] in ("backend_failed", "backend_unavailable", "sandbox_unavailable"), what)


def test_interim_answers_are_passed_over():
    for step in STEPS:
        with FakeEngine(socket_path, (step, "interim")) as engine:
            tap.equal(call(engine)[1]["status"], "completed", step)


def test_steps_that_hang_end():
    """Each in a gateway of its own, at one time: they wait as long as an engine may take."""
    begin, calls = time.monotonic(), []
    for step, kind in (("create", "hang"), ("start", "drip")):
        engine = FakeEngine(f"{socket_path}.{step}", (step, kind))
        script = (f"p = Provider(); p.use_policy({policy(f'unix://{socket_path}.{step}')!r})\n"
                  f"print(json.dumps(p.invoke({REQUEST!r}, Host())))")
        calls.append((engine, gateway(script)))
    for engine, call in calls:
        with engine:
            code, output = json.loads(call.communicate(timeout=40)[0])
        tap.equal((code, output["error"]["code"]), (NOT_RUN, "backend_failed"), output["error"])
        tap.contains(output["error"]["message"], "in time")
        tap.true(time.monotonic() - begin < 24, f"answered in time: {time.monotonic() - begin:.1f} s")
        tap.equal(engine.containers, {}, "containers left")


def test_container_that_is_not_removed_is_told():
    with FakeEngine(socket_path, ("remove", "500")) as engine:
        use_engine()
        status, output = provider.invoke(REQUEST, Host())
        provider.reset()
        tap.equal((status, output["error"]["code"]), (NOT_RUN, "backend_failed"), output)
        tap.contains(output["error"]["message"], f"does not remove the container {next(iter(engine.containers))}")


def test_every_lie_is_named():
    lies = {"HostConfig.Privileged": True, "HostConfig.NetworkMode": "host", "HostConfig.CapDrop": None,
            "HostConfig.CapAdd": ["SYS_ADMIN"], "HostConfig.Binds": ["/:/host"], "HostConfig.ReadonlyRootfs": False,
            "HostConfig.SecurityOpt": ["seccomp=unconfined"], "HostConfig.PidMode": "host", "HostConfig.Memory": 0,
            "HostConfig.PidsLimit": 0, "HostConfig.MaskedPaths": [], "HostConfig.Devices": [{"PathOnHost": "/dev/sda"}],
            "HostConfig.Tomorrow": "new", "Config.User": "0:0", "Config.Entrypoint": ["/bin/evil"], "Mounts": [{"Type": "bind"}]}
    for path, value in lies.items():
        with FakeEngine(socket_path, lie={path: value}) as engine:
            refusal(engine, "sandbox_unavailable", f"{path} differs")
            tap.true("start" not in [request[0] for request in engine.requests], f"{path}: never started")


def test_process_that_tells_of_privileges():
    for right, wrong in (("NoNewPrivs: 1", "NoNewPrivs: 0"), ("Seccomp: 2", "Seccomp: 0"), ("=CapBnd: 0000", "=CapBnd: a804")):
        with FakeEngine(socket_path, report=REPORT.replace(right, wrong) + "+\n") as engine:
            refusal(engine, "sandbox_unavailable", "must not have")


def test_missing_runtime():
    with FakeEngine(socket_path, report=REPORT + "?\n") as engine:
        refusal(engine, "runtime_not_found", "runtime not found: sh")


def test_broken_streams():
    for stream in (b"", b"\x01\x00", frame(1, REPORT.encode() + b"+\n") + b"\x07garbage", b"\x01\0\0\0\xff\xff\xff\xff",
                   frame(1, b"hello, I am the program\n"), frame(1, b"=" * 9000)):
        with FakeEngine(socket_path, stream=stream) as engine:
            status, output = call(engine)
            tap.true(status == NOT_RUN and output["status"] == "error", f"{stream[:20]}: {output['status']}")


def test_engines_that_will_not_do():
    for options, code, text in (({"api": "1.40"}, "backend_unavailable", "too old"),
                                ({"info": {"SecurityOptions": []}}, "sandbox_unavailable", "no seccomp"),
                                ({"info": {"PidsLimit": False}}, "sandbox_unavailable", "PidsLimit"),
                                ({"warnings": ["no swap limit"]}, "sandbox_unavailable", "no swap limit"),
                                ({"fault": ("image", "404")}, "backend_unavailable", "does not have the image example:1")):
        with FakeEngine(socket_path, **options) as engine:
            refusal(engine, code, text)
    with FakeEngine(socket_path) as engine:
        refusal(engine, "backend_unavailable", "pinned by digest", require_digest=True)
        tap.equal(engine.requests, [], "asked nothing")


def test_nobody_there():
    if os.path.exists(socket_path):
        os.unlink(socket_path)
    refusal(None, "backend_unavailable", "docker is not installed or not on PATH. ")
    with FakeEngine(socket_path):
        pass
    refusal(None, "backend_unavailable", "docker is not running")
    refusal(None, "backend_unavailable", "not reached over ssh", host="ssh://somewhere")


def test_image_only_of_the_list():
    with FakeEngine(socket_path) as engine:
        use_engine()
        host = Host(("sandbox.exec", "sandbox.exec.image"))
        output = provider.invoke({**REQUEST, "image": "evil:1"}, host)[1]
        tap.equal((output["status"], output["error"]["code"]), ("denied", "policy_denied"))
        tap.equal(provider.invoke({**REQUEST, "image": "example:1"}, host)[1]["status"], "completed")
        output = provider.invoke({"language": "python", "code": "print(1)"}, host)[1]
        tap.equal(output["error"]["code"], "language_not_allowed")
        provider.reset()
        tap.equal(engine.containers, {})


def test_plain_tcp_of_this_machine():
    with FakeEngine(None) as engine:
        for host in ("127.0.0.1", "localhost"):
            tap.equal(call(engine, host=f"tcp://{host}:{engine.port}")[1]["stdout"], "yes\n")
    refusal(None, "backend_unavailable", "nobody listens", host=f"tcp://127.0.0.1:{engine.port}")


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
            refusal(engine, "backend_unavailable", "wants a certificate of this side", **over_tls(engine, files.anonymous))
            refusal(engine, "backend_unavailable", "refuses the certificate of this side", **over_tls(engine, files.of_other))
            asked = len(engine.requests)
            refusal(engine, "backend_unavailable", "is not trusted", **over_tls(engine, files.trusts_other))
            refusal(engine, "backend_unavailable", "not for the host", **over_tls(engine, files.client, host=f"tcp://localhost:{engine.port}"))
            tap.equal(len(engine.requests), asked, "an engine that is not trusted hears nothing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old = server_context(files, ssl.TLSVersion.TLSv1_1)
    with FakeEngine(None, tls=old) as engine:
        refusal(engine, "backend_unavailable", "no TLS with", **over_tls(engine, files.client))


def test_tls_stream_comes_whole_or_is_refused():
    files = certificates()
    context = server_context(files)
    output = os.urandom(1500000).hex().encode()
    with FakeEngine(None, tls=context, output=output) as engine:
        tap.equal(call(engine, **over_tls(engine, files.client))[1]["truncated"]["stdout_bytes"], len(output))
    with FakeEngine(None, tls=context, cut=True) as engine:
        refusal(engine, "backend_failed", "stream is broken", **over_tls(engine, files.client))


def test_tls_where_none_is_spoken():
    files = certificates()
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            with server.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        threading.Thread(target=answer, daemon=True).start()
        refusal(None, "backend_unavailable", "no TLS with", host=f"https://127.0.0.1:{server.getsockname()[1]}", certificates=str(files.client))


tap.run(globals())
