# SPDX-License-Identifier: Apache-2.0
"""Nothing outlives the host, nothing leaks into or out of a run, and an ordinary user gets the same layers."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

SUPPORT = pathlib.Path(__file__).parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import tap
from provider import OK, Host, Provider

CANARY = "canary-7f3a91"
GATEWAY = f"""
import sys; sys.path.insert(0, {str(SUPPORT)!r})
from provider import Host, Provider
import json
"""


def gateway(script, *, before=(), **options):
    """A gateway of its own: a Python process that runs script with the provider's names imported."""
    return subprocess.Popen([*before, sys.executable, "-c", GATEWAY + script], stdout=subprocess.PIPE, text=True,
                            **options)


def our_processes():
    """Every process on the machine that runs this build's backend: {pid: parent}."""
    program = str(pathlib.Path(os.environ["CODE_EXECUTE_SO"]).resolve().parent / "code-execute-process")
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "exe") == program:
                found[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
    return found


def sleepers(argument):
    """The processes that are exactly "sleep ARGUMENT"."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes() == f"sleep\0{argument}\0".encode():
                found.append(entry.name)
        except OSError:
            continue
    return found


def test_killing_the_host_leaves_nothing():
    before = set(our_processes())
    for round_number in range(5):
        argument = f"98765{round_number}"
        host = gateway(f"Provider().invoke({{'language': 'sh', 'code': 'sleep {argument} & sleep {argument}',"
                       "'timeout_ms': 10000}, Host())")
        tap.eventually(lambda: sleepers(argument), "the program runs", 10)
        host.send_signal(signal.SIGKILL)
        host.wait()
        tap.eventually(lambda: not sleepers(argument), "the program is gone")
        tap.eventually(lambda: not set(our_processes()) - before, "the backend is gone")


def test_killing_the_backend_gives_an_answer_and_the_next_call_works():
    provider = Provider()
    provider.invoke({"language": "sh", "code": "true"}, Host())
    ours = [pid for pid, parent in our_processes().items() if parent not in our_processes()]
    result = {}

    def call():
        result["value"] = provider.invoke({"language": "sh", "code": "echo partial; sleep 4321"}, Host())
    thread = threading.Thread(target=call)
    thread.start()
    tap.eventually(lambda: sleepers("4321"), "the program runs", 10)
    for pid in ours:
        os.kill(pid, signal.SIGKILL)
    thread.join(10)
    tap.true(not thread.is_alive(), "the call returned")
    code, output = result["value"]
    tap.equal((code, output["status"], output["stdout"]), (OK, "error", "partial\n"))
    tap.equal((output["error"]["code"], output["error"]["retryable"]), ("backend_failed", True))
    tap.eventually(lambda: not sleepers("4321"), "the program died with the backend")
    tap.equal(provider.invoke({"language": "sh", "code": "echo again"}, Host())[1]["stdout"], "again\n")
    provider.reset()


def test_a_backend_that_pauses_delays_calls_and_loses_none():
    before = set(our_processes())
    provider = Provider()
    provider.invoke({"language": "sh", "code": "true"}, Host())
    ours = [pid for pid, parent in our_processes().items() if pid not in before and parent not in our_processes()]
    results = []
    threads = [threading.Thread(target=lambda: results.append(
        provider.invoke({"language": "sh", "code": "echo done"}, Host())[1]["stdout"])) for _ in range(30)]
    for pid in ours:
        os.kill(pid, signal.SIGSTOP)
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    tap.equal(results, [], "nothing runs while the backend stands still")
    for pid in ours:
        os.kill(pid, signal.SIGCONT)
    for thread in threads:
        thread.join()
    tap.equal(results, ["done\n"] * 30)
    provider.reset()


def test_the_gateways_secrets_are_not_inside():
    os.environ["GATEWAY_SECRET"] = CANARY
    folder = tempfile.TemporaryDirectory()
    secret_file = pathlib.Path(folder.name) / "canary"
    secret_file.write_text(CANARY)
    leaked, kept = os.pipe()  # a descriptor that a careless gateway leaves open across exec
    os.set_inheritable(leaked, True)
    try:
        provider = Provider()
        code = (f"import os, glob\nfor path in [{str(secret_file)!r}, '/etc/shadow', '/root', '/home', '/proc/1/environ', "
                "'/proc/1/exe', '/proc/1/fd', '/proc/1/mem', '/proc/1/root'] + glob.glob('/proc/[0-9]*/environ'):\n"
                "    try:\n        with open(path, 'rb') as f: print(path, f.read())\n"
                "    except OSError as e: print(path, e.strerror)\n"
                "print(os.environ)\nprint('fds', sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])")
        result = provider.invoke({"language": "python", "code": code}, Host())[1]
        tap.lacks(result["stdout"], CANARY, "what the program could read")
        tap.contains(result["stdout"], "fds [0, 1, 2]", "only the three descriptors")
        provider.reset()
        rights = ("sandbox.exec", "sandbox.exec.mode.none")
        tap.equal(provider.use_policy({"modes": {"default": "none", "allowed": ["none"]}, "capabilities": list(rights)}), OK)
        control = provider.invoke({"language": "sh", "code": f"cat {secret_file}; env"}, Host(rights))[1]
        tap.contains(control["stdout"], CANARY, "positive control: without layers the file is read")
        tap.equal(control["stdout"].count(CANARY), 1, "but the environment is clean even then")
        provider.reset()
    finally:
        folder.cleanup()
        os.close(leaked)
        os.close(kept)
        del os.environ["GATEWAY_SECRET"]


def test_runs_do_not_see_each_other():
    provider = Provider()
    results = []

    def call(index):
        code = f"echo {index} > /tmp/mark; sleep 0.3; cat /tmp/mark; ls /tmp /dev/shm ~; ps -e 2>/dev/null | wc -l"
        results.append((index, provider.invoke({"language": "sh", "code": code}, Host())[1]["stdout"]))
    threads = [threading.Thread(target=call, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, text in results:
        tap.equal(text.split()[0], str(index))
    tap.equal(len({tuple(text.split()[1:]) for _, text in results}), 1, "all see the same, and only their own")
    provider.reset()


def test_none_mode_kills_what_left_its_group():
    rights = ("sandbox.exec", "sandbox.exec.mode.none")
    provider = Provider()
    tap.equal(provider.use_policy({"modes": {"default": "none", "allowed": ["none"]}, "capabilities": list(rights)}), OK)
    code = "setsid sleep 7654 & (setsid sh -c 'sleep 7654 & sleep 7654' &) ; sleep 7654"
    result = provider.invoke({"language": "sh", "code": code, "timeout_ms": 500}, Host(rights))[1]
    tap.equal(result["status"], "timeout")
    tap.equal(sleepers("7654"), [], "left behind")
    provider.reset()


def test_an_ordinary_user_gets_every_mandatory_layer():
    if os.geteuid() != 0:
        raise tap.Skip("this suite already runs as an ordinary user")
    library = os.environ["CODE_EXECUTE_SO"]
    if subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-r", library]).returncode:
        raise tap.Skip("the build directory cannot be read by an ordinary user")
    script = ("print(json.dumps(Provider().invoke({'language': 'python', 'code': 'import os; print(os.getuid(), 2**64)'},"
              " Host())))")
    host = gateway(script, before=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
    output, _ = host.communicate(timeout=30)
    code, result = json.loads(output)
    tap.equal((code, result["stdout"]), (OK, "1000 18446744073709551616\n"), result)
    mandatory = {layer["name"] for layer in Provider().manifest()["layers"]} - {"cgroup", "landlock", "proc"}
    tap.equal(mandatory - set(result["isolation"]["applied"]), set(), "mandatory layers not applied")
    tap.equal(result["isolation"]["details"]["outer_uid"], 65534)


def test_a_required_layer_that_is_missing_refuses():
    """As an ordinary user without a delegated cgroup, a policy that requires one runs nothing."""
    if os.geteuid() != 0:
        raise tap.Skip("needs root to become a user without a cgroup")
    library = os.environ["CODE_EXECUTE_SO"]
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*user, "test", "-r", library]).returncode:
        raise tap.Skip("the build directory cannot be read by an ordinary user")
    script = ("p = Provider()\nfor policy in ({}, {'require': ['cgroup']}):\n    p.use_policy(policy)\n"
              "    print(json.dumps(p.invoke({'language': 'sh', 'code': 'echo ran'}, Host())))")
    output, _ = gateway(script, before=user).communicate(timeout=30)
    control, refused = [json.loads(line) for line in output.splitlines()]
    if "cgroup" in control[1]["isolation"]["applied"]:
        raise tap.Skip("this machine delegates a cgroup to the user nobody")
    tap.equal((control[1]["stdout"], control[1]["isolation"]["missing"]), ("ran\n", ["cgroup"]))
    tap.equal((refused[1]["stdout"], refused[1]["error"]["code"]), ("", "sandbox_unavailable"))
    tap.contains(refused[1]["error"]["message"], "cgroup")
    tap.contains(refused[1]["error"]["hint"], "Delegate=yes")


tap.run(globals())
