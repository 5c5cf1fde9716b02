# SPDX-License-Identifier: Apache-2.0
"""An engine that fails, lies, hangs or talks nonsense at each step: a clear error in bounded time, the container removed by its
name wherever it may exist, and the next call is served as if nothing had been."""
import json
import os
import pathlib
import random
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from certificates import Certificates
from fake_engine import IMAGE, PULL, FakeEngine, REPORT, frame
from provider import NOT_RUN, OK, Host, Provider

provider = Provider()
directory = tempfile.TemporaryDirectory(prefix="code-execute-fake-")
socket_path = os.path.join(directory.name, "docker.sock")
REQUEST = {"language": "sh", "code": "echo yes", "timeout_ms": 2000}
STEPS = ("version", "info", "image", "create", "inspect", "attach", "start", "wait")
# The same steps of the run itself, behind its trial, which has read the container back twice: (step, which time).
RUN_STEPS = (("image", 2), ("create", 2), ("inspect", 3), ("attach", 2), ("start", 2), ("wait", 2))
QUICK = ("close", "garbage", "short", "chunks", "headers", "huge", "404", "500", "html")
CODES = ("backend_failed", "backend_unavailable", "sandbox_unavailable")
# The plugin's own, run.c: 20 s for a set-up, 10 s from a program's deadline to the container's end. A call is a trial and a run.
PATIENCE = 2 * (20 + 10)
MEGABYTE = 1 << 20


def use_engine(host=None, more=None, **docker):
    docker = {"host": host or f"unix://{socket_path}", "images": {"sh": "example:1", "python": None}, **docker}
    policy = {"modes": {"default": "docker", "allowed": ["docker"]}, "approval": {"default": "allow"}, "docker": docker, **(more or {})}
    tap.equal(provider.use_policy(policy), OK, "prepare")


def timed(request=REQUEST, host=None):
    begin = time.monotonic()
    result = provider.invoke(request, host or Host())
    tap.true(time.monotonic() - begin < PATIENCE, f"answered in time: {time.monotonic() - begin:.1f} s")
    return result


def lift(engine, what="the next call"):
    """The engine has come to its senses: the backend that saw it otherwise serves the next call."""
    engine.fault = (None, None)
    output = timed()[1]
    tap.equal((output["status"], output["stdout"]), ("completed", "yes\n"), f"{what}: {output['error']}")


def call(engine, request=REQUEST, caller=None, **docker):
    use_engine(**docker)
    code, output = timed(request, caller)
    if engine and engine.fault[0]:
        lift(engine, f"the call after {engine.fault}")
    provider.reset()
    tap.equal(engine.containers if engine else {}, {}, "containers left")
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


def slow(case):
    """A case that waits rather than works: all of them run at once, each in a process of its own."""
    SLOW[case.__name__] = case
    return lambda: finish(case.__name__)


def finish(name):
    process = processes.pop(name)
    output = process.communicate()[0]
    tap.true(process.returncode == 0, output)


def asked(engine, step):
    return sum(request[0] == step for request in engine.requests)


def measurable():
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        raise tap.Skip("a sanitizer's own memory would be measured")


def backend_peak():
    """The most memory that the backend of this process had, in bytes: it is the one that watches this process."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().strip() == "code-execute-docker"[:15] and \
                    any(f"\nPid:\t{os.getpid()}\n" in entry.read_text() for entry in (process / "fdinfo").iterdir()):
                return int((process / "status").read_text().split("VmHWM:")[1].split()[0]) * 1024
        except OSError:
            continue
    raise AssertionError("no backend runs")


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
                tap.true(output["error"]["code"] in CODES, what)


def test_each_step_of_the_run_each_fault():
    for step, number in RUN_STEPS:
        for kind in QUICK:
            with FakeEngine(socket_path, (step, kind, number)) as engine:
                output = call(engine, {**REQUEST, "timeout_ms": 10000})[1]  # time for a long answer to be found too long
                what = f"{step} {number} {kind}: {output['status']} {output['error']}"
                tap.true(output["status"] == "error" and output["error"]["code"] in CODES, what)
                tap.true(len(output["error"]["hint"]) > 10, what)


def test_end_that_cannot_be_read_back_is_an_end():
    for kind in QUICK:
        with FakeEngine(socket_path, ("inspect", kind, 4)) as engine:
            tap.equal(call(engine)[1]["status"], "completed", kind)


def test_sweep_that_fails_is_no_matter_of_a_run():
    for kind in (*QUICK, "hang", "drip"):
        with FakeEngine(socket_path, ("list", kind)) as engine:
            tap.equal(call(engine)[1]["status"], "completed", kind)


def test_sweep_that_is_asked_for_tells():
    for kind in QUICK:
        with FakeEngine(socket_path, ("list", kind)) as engine:
            use_engine()
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump({"modes": {"default": "docker", "allowed": ["docker"]}, "docker": {"host": f"unix://{socket_path}"}}, file)
                file.flush()
                status = provider.prepare(policy_file=file.name, sweep=True)[1]
            provider.reset()
            swept = status["sweep"][0]
            tap.true(swept["error"]["message"], f"{kind}: {swept}")
            tap.true(asked(engine, "list") > 0, kind)


def test_interim_answers_are_passed_over():
    for step in STEPS:
        with FakeEngine(socket_path, (step, "interim")) as engine:
            tap.equal(call(engine)[1]["status"], "completed", step)


def test_short_writes():
    """The right answers, a byte at a time and in pieces of 1 to 7."""
    for pieces in ([1], [1, 2, 3, 4, 5, 6, 7], [random.Random(5).randint(1, 7) for _ in range(1000)]):
        with FakeEngine(socket_path, pieces=pieces, has_image=False) as engine:
            output = call(engine, pull="missing")[1]
            tap.equal((output["status"], output["stdout"], output["stderr"]), ("completed", "yes\n", "err\n"), output["error"])


@slow
def test_create_that_hangs_ends():
    with FakeEngine(socket_path, ("create", "hang")) as engine:
        refusal(engine, "backend_failed", "in time")


@slow
def test_start_that_drips_ends():
    with FakeEngine(socket_path, ("start", "drip")) as engine:
        refusal(engine, "backend_failed", "in time")


@slow
def test_trial_whose_end_is_not_told_is_refused():
    for options in ({"fault": ("wait", "hang")}, {"flood": 1}):
        with FakeEngine(socket_path, **options) as engine:
            use_engine()
            refused(*timed(), "backend_failed", "the trial of the sandbox did not end by itself: wall_timeout")
            engine.flood = 0
            lift(engine)
            provider.reset()
            tap.equal(engine.containers, {})


@slow
def test_run_whose_end_is_not_told_is_killed():
    with FakeEngine(socket_path, ("wait", "hang", 2)) as engine:
        output = call(engine)[1]
        tap.equal((output["status"], output["cause"], output["stdout"]), ("timeout", "wall_timeout", "yes\n"), output)


def unremoved(kind):
    """Told by its name, and removed as soon as the engine can again."""
    with FakeEngine(socket_path, ("remove", kind)) as engine:
        use_engine()
        status, output = timed()
        refused(status, output, "backend_failed", "")
        left = next(iter(engine.containers))
        lift(engine)
        provider.reset()
        return output["error"]["message"], left


@slow
def test_container_that_is_not_removed_is_told():
    for kind in ("500", "close", "garbage", "short"):
        message, left = unremoved(kind)
        tap.contains(message, f"does not remove the container {left}")


@slow
def test_removal_that_hangs_ends():
    tap.contains(unremoved("hang")[0], "in time")


@slow
def test_removal_in_endless_answers_ends():
    for kind in ("headers", "huge"):
        unremoved(kind)


def test_every_lie_is_named():
    lies = {"HostConfig.Privileged": True, "HostConfig.NetworkMode": "host", "HostConfig.CapDrop": None,
            "HostConfig.CapAdd": ["SYS_ADMIN"], "HostConfig.Binds": ["/:/host"], "HostConfig.ReadonlyRootfs": False,
            "HostConfig.SecurityOpt": ["seccomp=unconfined"], "HostConfig.PidMode": "host", "HostConfig.Memory": 0,
            "HostConfig.PidsLimit": 0, "HostConfig.MaskedPaths": [], "HostConfig.Devices": [{"PathOnHost": "/dev/sda"}],
            "HostConfig.Tomorrow": "new", "HostConfig.Mounts": [{"Type": "bind", "Source": "/", "Target": "/host"}],
            "Config.User": "0:0", "Config.Entrypoint": ["/bin/evil"], "Mounts": [{"Type": "bind"}]}
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


def test_runtime_that_the_engine_lacks():
    with FakeEngine(socket_path, info={"Runtimes": {"runc": {"path": "runc"}}}) as engine:
        refusal(engine, "backend_unavailable", "no OCI runtime kata", runtime="kata")
        tap.equal(asked(engine, "create"), 0, "created")
        tap.equal(provider.use_policy({}), OK)


def test_names_of_an_engine_are_text():
    with FakeEngine(socket_path, version="20.10-" + "\u00e9" * 60, info={"DefaultRuntime": "\u65e5\r\n" * 60}) as engine:
        output = call(engine)[1]
        tap.equal(output["status"], "completed", output["error"])


def test_words_of_an_engine_are_text():
    """Cut wherever their buffer ends, and never a broken character."""
    for length in range(60, 64):
        with FakeEngine(socket_path, lie={"HostConfig." + "a" * length + "\u00e9\u65e5" * 30: 1}) as engine:
            refusal(engine, "sandbox_unavailable", "HostConfig.aaaa")
        with FakeEngine(socket_path, warnings=["w" * length + "\u00e9\u65e5\x07\r\n" * 30]) as engine:
            refusal(engine, "sandbox_unavailable", "wwww")
    with FakeEngine(socket_path, stream=frame(1, b"-\xff\xe9\n")) as engine:
        refusal(engine, "backend_failed", "could not start the run")


def network(engine, code, text):
    refusal(engine, code, text, request={**REQUEST, "network": True}, more={"network": {"allowed": True}},
            caller=Host(("sandbox.exec", "sandbox.exec.network")))
    tap.true(asked(engine, "network") > 0, "asked for the network")


def test_network_that_the_engine_lacks():
    with FakeEngine(socket_path, ("network", "404")) as engine:
        network(engine, "backend_unavailable", "no network \"bridge\"")
    for kind in ("500", "garbage", "html", "close"):
        with FakeEngine(socket_path, ("network", kind)) as engine:
            network(engine, "backend_failed", "docker")


def test_workspace_that_an_engine_makes_writable():
    workspace = os.path.realpath(directory.name)
    options = {"more": {"workspace": {"below": [workspace]}}, "caller": Host(context={"workspace": workspace})}
    right = {"Type": "bind", "Source": workspace, "Destination": "/work", "RW": False}
    with FakeEngine(socket_path) as engine:
        tap.equal(call(engine, **options)[1]["status"], "completed")
        tap.true(any(b"/work" in body for step, _, body in engine.requests if step == "create"), "the workspace was asked for")
    for lie in ({"RW": True}, {"Source": "/"}, {"Destination": "/usr"}, {"Type": "volume"}):
        with FakeEngine(socket_path, lie={"Mounts": [{**right, **lie}]}) as engine:
            # A trial has no workspace, and an engine that mounts one there is found out by that alone.
            refusal(engine, "sandbox_unavailable", "Mounts differs", **options)


def pull(engine, policy="missing", host=None):
    use_engine(pull=policy)
    result = timed(host=host)
    provider.reset()
    tap.equal(engine.containers, {}, "containers left")
    return result


def test_missing_image_is_pulled_where_the_policy_says_so():
    for policy, has_image, pulls in (("never", False, 0), ("never", True, 0), ("missing", True, 0), ("missing", False, 1),
                                     ("always", True, 1), ("always", False, 1)):
        with FakeEngine(socket_path, has_image=has_image) as engine:
            host, what = Host(), f"{policy} {has_image}"
            status, output = pull(engine, policy, host)
            tap.equal(asked(engine, "pull"), pulls, what)
            if policy == "never" and not has_image:
                refused(status, output, "backend_unavailable", "does not have the image example:1")
            else:
                tap.equal(output["status"], "completed", f"{what}: {output['error']}")
            tap.true(host.output[3].startswith(b"pulling example:1") if pulls else host.output[3] == b"", f"{what}: {host.output[3]}")


def test_pull_says_how_far_it_is():
    with FakeEngine(socket_path, has_image=False, pull=PULL[:3] + [2.5] + PULL[3:]) as engine:
        host = Host()
        tap.equal(pull(engine, host=host)[1]["status"], "completed")
        tap.contains(host.output[3].decode(), "pulling example:1: 0 of 1 layers, 0.5 of 2.0 MB")


@slow
def test_pull_that_lasts_is_waited_for():
    """Longer than an engine has for any other answer, a line a second."""
    with FakeEngine(socket_path, has_image=False, pull=[part for _ in range(25) for part in (PULL[2], 1.0)]) as engine:
        use_engine(pull="missing")
        output = provider.invoke(REQUEST, Host())[1]
        provider.reset()
        tap.equal(output["status"], "completed", output["error"])


def test_refused_pulls():
    no = {"errorDetail": {"message": "x"}, "error": "toomanyrequests: \u00e9\r\n"}
    for faults, text in (({"pull": PULL[:2] + [no]}, "toomanyrequests"), ({"fault": ("pull", "404")}, "plan"),
                         ({"fault": ("pull", "500")}, "plan")):
        with FakeEngine(socket_path, has_image=False, **faults) as engine:
            refused(*pull(engine), "backend_unavailable", f"pull refused: example:1: {text}")
            tap.equal(asked(engine, "create"), 0, "created")


def test_broken_pulls():
    for kind in ("close", "garbage", "short", "chunks", "headers"):
        with FakeEngine(socket_path, ("pull", kind), has_image=False) as engine:
            use_engine(pull="missing")
            refused(*timed(), "backend_failed", "docker")
            lift(engine, kind)
            provider.reset()
            tap.equal(engine.containers, {})
    with FakeEngine(socket_path, ("pull", "html"), has_image=False) as engine:
        refused(*pull(engine), "backend_unavailable", "does not have the image example:1")
        tap.equal(asked(engine, "pull"), 1, "not again and again")


def test_pull_of_nonsense():
    nonsense = [b"not json\n", b"\xff\x00\n", b"[]\n", b"{\"id\":1}\n", b"\n\n",
                b"{\"status\":\"Downloading\",\"id\":\"x\",\"progressDetail\":7}\n"]
    with FakeEngine(socket_path, has_image=False, pull=nonsense) as engine:
        tap.equal(pull(engine)[1]["status"], "completed")


def test_pull_of_a_million_lines():
    measurable()
    line = json.dumps(PULL[2]).encode() + b"\n"
    with FakeEngine(socket_path, has_image=False, pull=[line * 10000] * 100) as engine:
        use_engine(pull="missing")
        begin, output = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, timed()[1]
        peak = backend_peak()
        provider.reset()
        tap.equal(output["status"], "completed", output["error"])
        tap.true(peak < 64 * MEGABYTE, f"the backend's memory: {peak}")
        tap.true(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin < 32 * 1024, "the host's memory")


def test_pull_of_one_line_without_an_end():
    measurable()
    with FakeEngine(socket_path, has_image=False, pull=[b"{" + b" " * (10 * MEGABYTE)]) as engine:
        use_engine(pull="missing")
        status, output = timed()
        peak = backend_peak()
        provider.reset()
        refused(status, output, "backend_failed", "longer than")
        tap.true(peak < 64 * MEGABYTE, f"the backend's memory: {peak}")


def silent_pull(kind):
    with FakeEngine(socket_path, ("pull", kind), has_image=False) as engine:
        use_engine(pull="missing")
        status, output = provider.invoke(REQUEST, Host())
        refused(status, output, "backend_failed", "says nothing of the pull of example:1")
        lift(engine, kind)
        provider.reset()


@slow
def test_pull_that_hangs_ends():
    silent_pull("hang")


@slow
def test_pull_that_drips_without_a_line_ends():
    silent_pull("drip")


def test_pull_can_be_cancelled():
    with FakeEngine(socket_path, ("pull", "hang"), has_image=False) as engine:
        use_engine(pull="missing")
        host = Host(call_id=5)
        thread = threading.Thread(target=lambda: (tap.eventually(lambda: asked(engine, "pull"), "a pull", 20), provider.cancel(5)))
        thread.start()
        output = timed(host=host)[1]
        thread.join()
        tap.equal((output["status"], output["error"]["code"]), ("cancelled", "cancelled"), output)
        lift(engine)
        provider.reset()


def test_another_image_than_the_digest():
    pinned = "example@sha256:" + "2" * 64
    images = {"sh": pinned}
    with FakeEngine(socket_path, digests=["example@sha256:" + "3" * 64]) as engine:
        refusal(engine, "backend_unavailable", "digest mismatch", images=images)
        tap.equal(asked(engine, "create"), 0, "created")
    for digests in (["example@sha256:" + "3" * 64, pinned], [pinned]):
        with FakeEngine(socket_path, digests=digests) as engine:
            tap.equal(call(engine, images=images, require_digest=True)[1]["status"], "completed")


def test_image_that_changes_between_trial_and_run():
    other = "sha256:" + "4" * 64
    with FakeEngine(socket_path, ids=(IMAGE, other)) as engine:
        use_engine()
        refused(*timed(), "backend_unavailable", "example:1 has become another image since the run was prepared")
        tap.equal(asked(engine, "create"), 1, "the trial's container alone")
        lift(engine)
        provider.reset()
        tap.equal(engine.containers, {})


def test_memory_does_not_grow_with_an_answer():
    measurable()
    usual = None
    for fault in ((None, None), ("version", "huge"), ("info", "huge"), ("inspect", "huge"), ("image", "headers"), ("list", "huge")):
        with FakeEngine(socket_path, fault) as engine:
            use_engine()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            timed()
            peak = backend_peak()
            provider.reset()
            usual = usual or peak
            tap.true(peak - usual < 16 * MEGABYTE, f"{fault}: the backend's memory grew by {peak - usual} bytes")
            tap.true(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024, f"{fault}: the host's memory")


def test_memory_does_not_grow_with_output():
    measurable()
    with FakeEngine(socket_path, flood=2) as engine:
        use_engine(more={"limits": {"output_total_bytes": {"default": 64 * MEGABYTE, "max": 64 * MEGABYTE}}})
        output = timed({**REQUEST, "timeout_ms": 10000}, Host(on_output=None))[1]
        peak = backend_peak()
        provider.reset()
        tap.equal((output["status"], output["cause"]), ("killed", "output_limit"), output["error"])
        tap.true(peak < 64 * MEGABYTE, f"the backend's memory: {peak}")
        tap.equal(engine.containers, {})


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
            heard = len(engine.requests)
            refusal(engine, "backend_unavailable", "is not trusted", **over_tls(engine, files.trusts_other))
            elsewhere = over_tls(engine, files.client, host=f"tcp://localhost:{engine.port}")
            refusal(engine, "backend_unavailable", "not for the host", **elsewhere)
            tap.equal(len(engine.requests), heard, "an engine that is not trusted hears nothing")
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
        host = f"https://127.0.0.1:{server.getsockname()[1]}"
        refusal(None, "backend_unavailable", "no TLS with", host=host, certificates=str(files.client))


if sys.argv[1:]:
    SLOW[sys.argv[1]]()
else:
    wanted = os.environ.get("TEST_CASES", "").split()
    processes = {name: subprocess.Popen([sys.executable, __file__, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                 for name in SLOW if not wanted or name in wanted}
    tap.run(globals())
