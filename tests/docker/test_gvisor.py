# SPDX-License-Identifier: Apache-2.0
"""Docker mode in gVisor: the engine's runtime runsc (scripts/test-engine registers it where it is), for real. What differs from runc is
in docs/docker.md. By hand: scripts/with-engine tests/docker/test_gvisor.py"""
import json
import os
import pathlib
import signal
import sys
import threading
import time

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
ROOT = pathlib.Path(__file__).parents[2]
os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import engine
import modes
import tap
from engine import ask, containers
from provider import NOT_RUN, OK, Host

if "runsc" not in engine.runtimes():
    tap.skip_all("the engine has no runtime runsc (scripts/install-packages gvisor)")
modes.POLICIES["docker"]["docker"]["runtime"] = "runsc"
# A start takes a second or two beside other work.
PATIENT = {"limits": {name: {"default": 60000, "max": 60000} for name in ("wall_ms", "cpu_ms")}}
provider = modes.Provider(PATIENT)
RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.limits.extended")
KERNEL = "print(open('/proc/version').read().split()[:3])\n"


def run(code, policy=None, language="python", host=None, **more):
    call = lambda: provider.invoke({"language": language, "code": code, **more}, host or Host(RIGHTS))
    return provider.with_policy(policy, call) if policy else call()


def completed(result):
    code, output = result
    tap.equal((code, output["status"], output["error"]), (OK, "completed", None), output)
    return output


def test_a_program_runs_on_gvisors_kernel():
    """The machine's version in runc is the positive control."""
    machine = ["Linux", "version", os.uname().release]
    output = completed(run(KERNEL + "open('left', 'w').write('x')\nprint(2**64)"))
    version, number = output["stdout"].splitlines()
    tap.true(version != str(machine), version)
    tap.equal((number, [entry["path"] for entry in output["files"]]), (str(2**64), ["left"]))
    details = output["isolation"]["details"]
    tap.equal((details["runtime"], details["kernel"]), ("runsc", "gVisor"))
    tap.equal({"landlock", "cgroup_namespace"} - set(output["isolation"]["missing"]), set(), "what gVisor has not")
    tap.equal({"seccomp", "no_new_privileges", "capabilities", "cgroup"} - set(output["isolation"]["applied"]), set())
    output = completed(run(KERNEL, {"docker": {"runtime": "runc"}}))
    tap.equal((output["stdout"], output["isolation"]["details"]["kernel"]), (f"{machine}\n", "Linux"))


def test_a_shell_runs():
    output = completed(run("cat; echo \"$1\"; exit 3", language="sh", stdin="in\n", args=["it's"]))
    tap.equal((output["stdout"], output["exit_code"]), ("in\nit's\n", 3))


def test_a_layer_that_gvisor_lacks_is_refused():
    for layer in ("landlock", "cgroup_namespace"):
        code, output = run("print('ran')", {"require": [layer]})
        tap.equal((code, output["error"]["code"], output["stdout"]), (NOT_RUN, "sandbox_unavailable", ""), output)
        tap.contains(output["error"]["message"], layer)
        tap.contains(output["error"]["hint"], "require")


def test_filters_hold_in_gvisor():
    """The engine's profile has no effect there: what stops these is the guest's own."""
    code = """
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def name(call):
    return lambda: errno.errorcode[ctypes.get_errno()] if call() < 0 else "-"
def door(*kind):
    try:
        socket.socket(*kind).close()
        return "-"
    except OSError as error:
        return errno.errorcode[error.errno]
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("Seccomp:")][0], name(lambda: libc.unshare(0x04000000))(),
      name(libc.inotify_init)(), door(socket.AF_INET), door(socket.AF_UNIX), door(socket.AF_NETLINK, socket.SOCK_RAW, 0))
"""
    tap.equal(completed(run(code))["stdout"], "2 EPERM EPERM EAFNOSUPPORT - EAFNOSUPPORT\n")


def test_limits_hold_in_gvisor():
    def limits(**most):
        return {"limits": {name: {"default": value, "max": value} for name, value in most.items()}}
    forks = ("import os, time\ncount = 0\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(60)\n        count += 1\n"
             "except BlockingIOError:\n    print(count)\n")

    def in_one():
        tap.equal(completed(run(forks))["stdout"], "7\n", "the program itself is one")
        tap.contains(completed(run("open('a', 'wb').write(bytes(8 << 20))"))["stderr"], "No space left")
    provider.with_policy(limits(processes=8, scratch_bytes=4 << 20), in_one)
    code, output = run("while True: pass", limits(cpu_ms=1000))
    tap.equal((code, output["status"], output["cause"]), (OK, "killed", "cpu_limit"), output)
    code, output = run("import time; time.sleep(60)", limits(wall_ms=1000))
    tap.equal((code, output["status"], output["cause"]), (OK, "timeout", "wall_timeout"), output)


def processes_of(container):
    """On the machine, in its control group."""
    found = set()
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if container in (entry / "cgroup").read_text():
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def test_a_sandbox_that_is_killed():
    """gVisor's own process is killed on the machine: the run ends, says that it was killed, and leaves nothing."""
    killed = []

    def kill():
        [container] = containers()
        process = json.loads(ask(f"/containers/{container}/json"))["State"]["Pid"]
        killed.append((container, processes_of(container), time.monotonic()))
        os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    host = Host(RIGHTS, on_output=lambda *_: killed or killer.is_alive() or killer.start())
    code, output = run("import time\nprint('begun', flush=True)\ntime.sleep(50)", host=host)
    killer.join()
    [(container, processes, when)] = killed
    tap.true(time.monotonic() - when < 30 * tap.SLOW, "an answer long before the program would have ended")
    tap.equal(output["stdout"], "begun\n", output)
    tap.true((code, output["status"], output["cause"]) in ((OK, "killed", "signal"), (OK, "error", "infrastructure")), output)
    tap.true(len(processes) > 1, "there were some to be left")
    engine.none_left()
    tap.eventually(lambda: not processes_of(container), "no process is left", 20)
    tap.equal(completed(run("print(1)"))["stdout"], "1\n", "and the next run works")


tap.run(globals())
