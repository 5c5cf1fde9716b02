# SPDX-License-Identifier: Apache-2.0
"""Nothing outlives the host, and nothing leaks into or out of a run."""
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import modes
import tap
from modes import OWN_FDS, Provider, adopt_orphans, gateway, left, long_time, own_processes, sleeps
from provider import OK, Host

CANARY = "canary-7f3a91"
CALLS = 10 if modes.MODE == "docker" and not modes.LONG else 30  # to a backend that pauses
adopt_orphans()


def supervisors():
    """The backends' first processes."""
    found = own_processes()
    return {pid for pid, parent in found.items() if parent not in found}


def test_killing_the_host_leaves_nothing():
    before = left()
    for number in range(50 if modes.LONG else 5):
        argument = long_time(number)
        host = gateway(f"Provider({modes.ALL_THE_TIME}).invoke({{'language': 'sh', 'code': 'sleep {argument} & sleep {argument}'}}, Host())")
        tap.eventually(lambda: sleeps(argument) or host.poll() is not None, "the program runs", 300)
        tap.equal(host.poll(), None, "the host waits for it")
        host.send_signal(signal.SIGKILL)
        host.wait()
        tap.eventually(lambda: not sleeps(argument), "the program is gone", 10)
        tap.eventually(lambda: left() == before, "the backend and all of the run are gone", 10)


def test_killing_the_backend_gives_an_answer_and_the_next_call_works():
    provider = Provider(modes.ALL_THE_TIME)
    before = supervisors()
    provider.invoke({"language": "sh", "code": "true"}, Host())
    ours = supervisors() - before
    argument, result, host = long_time(), {}, Host()

    def call():
        result["value"] = provider.invoke({"language": "sh", "code": f"echo partial; sleep {argument}"}, host)
    thread = threading.Thread(target=call)
    thread.start()
    tap.eventually(lambda: sleeps(argument) and host.output[1], "the program runs, and its output has come through the backend", 10)
    for pid in ours:
        os.kill(pid, signal.SIGKILL)
    thread.join(10 * tap.SLOW)
    tap.true(not thread.is_alive(), "the call returned")
    code, output = result["value"]
    tap.equal((code, output["status"], output["stdout"]), (OK, "error", "partial\n"))
    tap.equal((output["error"]["code"], output["error"]["retryable"]), ("backend_failed", True))
    if modes.ENDS_WITH_BACKEND:
        tap.eventually(lambda: not sleeps(argument), "the program died with the backend")
    tap.equal(provider.invoke({"language": "sh", "code": "echo again"}, Host())[1]["stdout"], "again\n")
    provider.reset()
    tap.eventually(lambda: not sleeps(argument), "the program is gone once the next backend was there", 10)


def test_a_backend_that_pauses_delays_calls_and_loses_none():
    before = supervisors()
    provider = Provider()
    provider.invoke({"language": "sh", "code": "true"}, Host())
    ours = supervisors() - before
    results = []
    threads = [threading.Thread(target=lambda: results.append(
        provider.invoke({"language": "sh", "code": "echo done"}, Host())[1])) for _ in range(CALLS)]
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
    tap.equal([result["stdout"] for result in results], ["done\n"] * CALLS, [result["error"] for result in results])
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
                "print(os.environ)\n"
                "def is_open(fd):\n    try: return bool(os.fstat(fd))\n    except OSError: return False\n"
                f"print('fds', sorted(set(filter(is_open, range(1024))) - {OWN_FDS}))")
        result = provider.invoke({"language": "python", "code": code}, Host())[1]
        tap.lacks(result["stdout"], CANARY, "what the program could read")
        tap.contains(result["stdout"], "fds [0, 1, 2]", "only the three descriptors, and those of its results")
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
        code = f"cd $TMPDIR; echo {index} > mark; sleep 0.3; cat mark; ls; ls /dev/shm; cd; ls; ps -e 2>/dev/null > all; wc -l < all"
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


tap.run(globals())
