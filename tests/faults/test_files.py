# SPDX-License-Identifier: Apache-2.0
"""SIGKILL and SIGSTOP for the first process of a sandbox while files are collected: the run ends with a code, and no half file is
presented as a whole one."""
import ctypes
import hashlib
import json
import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import common
import tap
from modes import Provider
from provider import ALLOW, OK, Host

FILES = 4
ROUNDS = 300 if common.LONG else 30  # each at a moment of its own
LATEST = 0.01                        # seconds after the program's last word
RIGHTS = ("sandbox.exec", "sandbox.exec.files")
POLICY = {"approval": {"default": "allow"}, "files": {"out": {"inline_bytes": 0}}}
# Larger than a pipe: while one is stored, the next ones cannot all be on their way.
LEAVE = "for i in 0 1 2 3; do yes $i | head -c 300000 > f$i; done; echo left"
HASHES = {f"f{i}": hashlib.sha256((f"{i}\n" * 150000).encode()).hexdigest() for i in range(FILES)}


def supervisor():
    [pid] = common.supervisors_of(os.getpid())
    return pid


def signal_inits(number):
    """All that there are; without a pool, the run's alone."""
    for pid in common.children(supervisor()):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class Store:
    """Keeps what it is lent, and calls that function at each file."""

    def __init__(self, at_file):
        self.stored, self.at_file = {}, at_file

    def __call__(self, file_json, descriptor, uri, capacity, length, verdict):
        path = json.loads(file_json)["path"]
        with os.fdopen(os.dup(descriptor), "rb") as file:
            self.stored[path] = hashlib.sha256(file.read()).hexdigest()
        self.at_file(len(self.stored))
        ctypes.memmove(uri, b"kept", 4)
        length[0], verdict[0] = 4, ALLOW


def check(result, store, what):
    """Whole files are whole, and what is not there is said."""
    for path, digest in store.stored.items():
        tap.equal(digest, HASHES[path], f"{what}: {path}")
    named = {file["path"]: file for file in result["files"]}
    for path, file in named.items():
        tap.equal(file.get("sha256"), HASHES[path] if "uri" in file else None, f"{what}: {path} {file}")
        tap.equal(file.get("omitted"), None if "uri" in file else "lost", f"{what}: {path}")
    whole = [path for path, file in named.items() if "uri" in file]
    tap.equal(sorted(whole), sorted(store.stored), what)
    if len(whole) < FILES:
        tap.equal((result["files_omitted"] or {}).get("reason"), "lost", what)
        tap.true(any("may be missing" in note for note in result["notes"]), what)
    return len(whole)


def leave(provider, store, **callbacks):
    return provider.invoke({"language": "sh", "code": LEAVE}, Host(RIGHTS, store_file=store, **callbacks))


def test_the_init_is_killed_at_each_file():
    provider = Provider(POLICY)
    for last in range(1, FILES + 1):
        store = Store(lambda count, last=last: count == last and signal_inits(signal.SIGKILL))
        code, result = leave(provider, store)
        tap.equal((code, result["cause"], result["exit_code"]), (OK, "exit", 0), "the program had ended")
        # What was in the pipe by then still comes; what was not is lost.
        whole = check(result, store, f"killed at file {last}")
        tap.true(last <= whole and (last >= FILES - 1 or whole < FILES), f"killed at file {last}: {whole} came")


def test_the_init_is_killed_at_any_moment():
    random, provider, came = common.generator("files"), Provider(POLICY), {}
    for number in range(ROUNDS):
        timer = threading.Timer(random.uniform(0, LATEST), signal_inits, (signal.SIGKILL,))

        def at_last_word(_stream, data, length, timer=timer):
            if b"left" in ctypes.string_at(data, length):
                timer.start()
        store = Store(lambda _count: None)
        code, result = leave(provider, store, on_output=at_last_word)
        timer.join()
        tap.equal((code, result["cause"] in ("exit", "signal")), (OK, True), f"round {number}: {result}")
        whole = check(result, store, f"round {number}")
        came[whole] = came.get(whole, 0) + 1
    print(f"# whole files: {came}")


def test_an_init_that_does_not_answer_is_killed_after_its_grace():
    provider = Provider(POLICY)
    stopped = []

    def stop(_stream, _data, _length):
        if not stopped:
            signal_inits(signal.SIGSTOP)
            stopped.append(time.monotonic())
            provider.cancel(5)
    request = {"language": "sh", "code": "echo x > a; echo there; sleep 1000"}
    code, result = provider.invoke(request, Host(RIGHTS, call_id=5, on_output=stop))
    tap.equal((code, result["status"], result["cause"], result["signal"]), (OK, "cancelled", "cancelled", "SIGKILL"))
    tap.equal((result["files"], result["files_omitted"]), ([], {"count": 0, "bytes": 0, "reason": "killed"}))
    tap.true(time.monotonic() - stopped[0] > 1, "it had its time")
    tap.equal(provider.invoke({"language": "sh", "code": "echo again"}, Host())[1]["stdout"], "again\n")


def test_an_init_that_stops_in_the_middle_of_its_files_is_not_waited_for():
    """Ended from outside: what has come by then is there, and the rest is said to be missing."""
    provider = Provider(POLICY)

    def stop(count):
        if count == 1:
            signal_inits(signal.SIGSTOP)
    store = Store(stop)
    code, result = provider.invoke({"language": "sh", "code": f"{LEAVE}; sleep 1000"},
                                   Host(RIGHTS, call_id=6, store_file=store,
                                        on_output=lambda *_: provider.cancel(6)))
    tap.equal((code, result["status"], result["cause"]), (OK, "cancelled", "cancelled"))
    whole = [file["path"] for file in result["files"] if "uri" in file]
    tap.equal(whole, sorted(store.stored))
    tap.equal(result["files_omitted"]["reason"], "killed")
    tap.true(1 <= len(whole) < FILES, str(whole))
    signal_inits(signal.SIGKILL)


tap.run(globals())
