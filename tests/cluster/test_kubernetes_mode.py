# SPDX-License-Identifier: Apache-2.0
"""Mode kubernetes in a real cluster, from the gateway to the pod's program and back: what a run gives, how it ends, and that nothing stays.
By hand: scripts/check-cluster test_kubernetes_mode"""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import tap

import kubernetes_mode as mode
from kubernetes_mode import administrator
from provider import Host, Provider

provider = Provider()
tap.equal(provider.use_policy(mode.policy()), 0, "policy")


def run(code, language="python", host=None, policy=None, **more):
    if policy:
        tap.equal(provider.use_policy(policy), 0, "policy")
    try:
        return provider.invoke({"language": language, "code": code, **more}, host or Host())[1]
    finally:
        if policy:
            provider.use_policy(mode.policy())


def ended(output, status, cause, exit_code=None, signal_name=None):
    tap.equal((output["status"], output["cause"], output["exit_code"], output["signal"]), (status, cause, exit_code, signal_name), output)


def test_a_program_runs_in_a_pod():
    output = run("import sys, os\nprint(sys.stdin.read(), os.getuid(), os.getcwd())\nsys.stderr.write('e')", stdin="in")
    ended(output, "completed", "exit", 0)
    tap.equal((output["stdout"], output["stderr"], output["mode"]), ("in 65534 /home/sandbox\n", "e", "kubernetes"))
    details = output["isolation"]["details"]
    tap.equal((details["namespace"], details["server_version"][:2]), (mode.NAMESPACE, "v1"), details)
    mode.none_left()


def test_ends_are_reported():
    ended(run("exit 7", "sh"), "completed", "exit", 7)
    ended(run("kill -TERM $$", "sh"), "killed", "signal", None, "SIGTERM")


def test_all_output_comes_before_a_bad_end():
    """Behind containerd the last of it is lost where the container ends at once."""
    for _ in range(3):
        output = run("import sys\nsys.stdout.write('x' * 300000)\nsys.stdout.flush()\nsys.exit(3)")
        ended(output, "completed", "exit", 3)
        tap.equal(output["truncated"]["stdout_bytes"], 300000)


def test_a_program_may_be_silent_for_longer_than_pings_are_apart():
    host = Host(("sandbox.exec", "sandbox.exec.limits.extended"))
    output = run("echo begun; sleep 25; echo ended", "sh", host=host, timeout_ms=60000)
    tap.equal((output["status"], output["stdout"]), ("completed", "begun\nended\n"), output)


def test_results_and_files():
    host = Host(("sandbox.exec", "sandbox.exec.files"))
    output = run("print(open('in').read())\nopen('out.txt', 'w').write('left')\n1 + 1", host=host, policy=mode.policy(
        files={"out": {"max_files": 4, "file_bytes": 1000, "total_bytes": 4000, "inline_bytes": 1000}}), files=[{"path": "in", "content": "given"}])
    ended(output, "completed", "exit", 0)
    tap.equal((output["stdout"], [(file["path"], file["size"]) for file in output["files"]]), ("given\n", [("out.txt", 4)]), output)


def test_limits_hold():
    code = "import resource as r\nprint(*(r.getrlimit(kind)[0] for kind in (r.RLIMIT_NOFILE, r.RLIMIT_CPU, r.RLIMIT_CORE, r.RLIMIT_FSIZE)))"
    output = run(code)
    wanted = output["limits"]
    tap.equal(output["stdout"].split(), [str(wanted["open_files"]), str(wanted["cpu_ms"] // 1000), "1", str(wanted["file_bytes"])], output)
    output = run("x = bytearray(b'x') * (1 << 30)\nprint(len(x))")
    ended(output, "killed", "memory_limit", None, "SIGKILL")


def test_there_is_no_network():
    output = run("import socket\ntry:\n    socket.socket()\nexcept OSError as error:\n    print(error.errno)")
    tap.equal(output["stdout"], "97\n", output)


def test_a_program_without_an_end_is_ended():
    output = run("while True: pass", policy=mode.policy(limits={"wall_ms": {"default": 3000, "max": 300000}, "cpu_ms": {"default": 120000, "max": 300000}}))
    tap.equal((output["timed_out"], output["cause"]), (True, "wall_timeout"), output)
    mode.none_left()


def test_a_pod_that_is_deleted_fails_its_run():
    outputs = []
    thread = threading.Thread(target=lambda: outputs.append(run("import time\nprint('begun', flush=True)\ntime.sleep(600)",
                                                         policy=mode.policy(limits={"wall_ms": {"default": 120000, "max": 300000}}))))
    thread.start()
    tap.eventually(mode.running, "it runs", 60)
    [pod] = mode.running()
    time.sleep(2)
    status, answer = administrator.ask("DELETE", f"{mode.PODS}/{pod['metadata']['name']}?gracePeriodSeconds=0")
    tap.equal(status, 200, answer)
    thread.join()
    tap.equal(outputs[0]["status"], "error", outputs)
    mode.none_left()


def test_an_image_with_another_guest_is_refused():
    output = run("print(1)", policy=mode.policy(image=mode.images()[1]))
    tap.equal((output["status"], output["stdout"]), ("error", ""), output)
    tap.contains(output["error"]["message"], "has another guest")


def test_a_session_keeps_its_variables():
    host = Host(("sandbox.exec", "sandbox.exec.session"))

    def cell(code, session):
        return provider.invoke({"language": "python", "code": code, "session": session}, host)[1]
    tap.equal(provider.use_policy(mode.policy(sessions={"max_total": 2})), 0, "policy")
    first = cell("x = 41", "new")
    tap.equal(first["session"]["state"], "kept", first)
    second = cell("print(x + 1)", first["session"]["id"])
    tap.equal((second["stdout"], second["session"]["state"]), ("42\n", "kept"), second)
    tap.equal(len(mode.running()), 1, "its pod")
    end = provider.invoke({"language": "python", "code": "x", "session": first["session"]["id"], "session_action": "end"}, host)[1]
    tap.equal(end["session"]["state"], "ended", end)
    tap.equal(provider.use_policy(mode.policy()), 0, "policy")
    mode.none_left()


def warm(count=1, **more):
    """Waits until so many pods are ready. Their names."""
    tap.equal(provider.use_policy(mode.policy(ready=count, **more)), 0, "policy")
    ended(run("print(1)"), "completed", "exit", 0)
    tap.eventually(lambda: sum(row["ready"] for row in provider.pool("kubernetes")[1].values()) == count, "a pod waits", 120)
    return mode.waiting()


def cool():
    """The next run wants none any more."""
    tap.equal(provider.use_policy(mode.policy()), 0, "policy")
    ended(run("print(1)"), "completed", "exit", 0)
    mode.none_left()


def test_a_run_gets_a_pod_that_waits():
    try:
        for code, language in (("import sys\nprint(sys.stdin.read())", "python"), ("cat", "sh")):
            tap.equal(provider.use_policy(mode.policy(ready=1)), 0, "policy")
            ended(run("true" if language == "sh" else "1", language), "completed", "exit", 0)
            tap.eventually(lambda: provider.pool("kubernetes")[1]["python" if language == "python" else "none"]["ready"] == 1, "it waits", 120)
            names = mode.waiting()
            output = run(code, language, stdin="in")
            ended(output, "completed", "exit", 0)
            tap.equal((output["stdout"].strip(), output["isolation"]["details"]["pod"] in names), ("in", True), output)
    finally:
        cool()


def test_a_pod_that_waits_and_is_taken_away_fails_no_run():
    try:
        [name] = warm()
        status, answer = administrator.ask("DELETE", f"{mode.PODS}/{name}?gracePeriodSeconds=0")
        tap.equal(status, 200, answer)
        output = run("print(2)")
        ended(output, "completed", "exit", 0)
        tap.true(output["isolation"]["details"]["pod"] != name, output)
    finally:
        cool()


def test_a_pod_that_waits_goes_with_its_gateway():
    dead = gateway("true; exec sleep 600", ready=1)
    tap.eventually(lambda: mode.running() and mode.waiting(), "it runs, and another waits", 120)
    kill_all(dead.pid)
    dead.wait()
    tap.equal(len(mode.pods()), 2, "what is left")
    tap.equal(gateway("true").wait(), 0)
    mode.none_left()


GATEWAY = """
import sys
sys.path[:0] = ["tests/cluster", "tests/support"]
import kubernetes_mode as mode
from provider import Host, Provider
provider = Provider()
provider.use_policy({**mode.policy(image=sys.argv[2], ready=int(sys.argv[4])), "kubernetes": {"kubeconfig": sys.argv[1], "images": {"sh": sys.argv[2]}}})
provider.invoke({"language": "sh", "code": sys.argv[3]}, Host())
"""


def gateway(code, ready=0):
    return subprocess.Popen([sys.executable, "-c", GATEWAY, mode.kubeconfig(), mode.images()[0], code, str(ready)], cwd=mode.ROOT)


def test_the_next_backend_sweeps_what_a_dead_one_has_left():
    dead = gateway("sleep 600")
    tap.eventually(mode.running, "it runs", 120)
    kill_all(dead.pid)
    dead.wait()
    tap.equal(len(mode.pods()), 1, "what is left")
    tap.equal(gateway("true").wait(), 0)
    mode.none_left()


def kill_all(gateway):
    """The gateway and its backend at once: neither removes anything."""
    backends = [int(name) for name in os.listdir("/proc") if name.isdigit() and holds(name, gateway)]
    for pid in (*backends, gateway):
        os.kill(pid, signal.SIGKILL)


def holds(pid, gateway):
    try:
        if not os.readlink(f"/proc/{pid}/exe").endswith("/code-execute-kubernetes"):
            return False
        return any(f"\nPid:\t{gateway}\n" in pathlib.Path(f"/proc/{pid}/fdinfo/{fd}").read_text() for fd in os.listdir(f"/proc/{pid}/fdinfo"))
    except OSError:
        return False


tap.run(globals())
