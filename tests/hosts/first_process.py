# SPDX-License-Identifier: Apache-2.0
"""A gateway that is the first process of a container and waits for nothing that it did not start, with process mode without
namespaces: runs, storms of orphans, runs whose init is killed. Prints as JSON what was wrong. Started by test_container.py."""
import json
import os
import pathlib
import signal
import sys
import time

from provider import OK, Host, Provider

RUNS, STORMS = (int(number) for number in sys.argv[2:4])
CAPABILITIES = ("sandbox.exec", "sandbox.exec.mode.unprivileged")
PATIENCE_S = 20
# Twice forked, in sessions of their own, each the parent of more; and some that are stopped.
STORM = "f() { (setsid bash -c 'sleep 0.01; f' & ); (bash -c 'kill -STOP $$' &); f; }; export -f f; f"
wrong, signals = [], 0


def count_signal(*_):
    global signals
    signals += 1


def state(pid):
    """Its state and its parent, as in proc_pid_stat(5); None: it is not there."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None


def others():
    """All processes of the container but this one, with their state and parent."""
    pids = (int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit() and entry.name != "1")
    return {pid: found for pid in pids if (found := state(pid))}


def expect_only(pids, when):
    """Nothing but these is left, in the kernel's own time; and none of the others ever becomes a child of this process."""
    end = time.monotonic() + PATIENCE_S
    while set(left := others()) != set(pids):
        if [pid for pid, (_, parent) in left.items() if parent == "1" and pid not in pids] or time.monotonic() > end:
            wrong.append(f"{when}: left: {left}")
            return
        time.sleep(0.002)


def kill_init(supervisor):
    """Called while the program runs: its init is the one child of the supervisor that has children."""
    for child in pathlib.Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split():
        if pathlib.Path(f"/proc/{child}/task/{child}/children").read_text():
            os.kill(int(child), signal.SIGKILL)


def main():
    assert os.getpid() == 1, "this is to be the first process"
    signal.signal(signal.SIGCHLD, count_signal)
    provider = Provider()
    policy = json.loads(pathlib.Path(sys.argv[1]).read_text())
    policy["pools"] = {"process": {"ready": 0}}  # what waits would be left behind, and has an init too
    assert provider.use_policy(policy) == OK

    def run(code, expected, language="sh", **callbacks):
        _, result = provider.invoke({"language": language, "code": code, "timeout_ms": 2000}, Host(CAPABILITIES, **callbacks))
        if result["cause"] not in expected:
            wrong.append(f"{code}: {result['cause']}: {result['error']}")
        expect_only([supervisor] if supervisor else others(), code)

    supervisor = None
    run("true", ["exit"])  # starts the backend, by a launcher that is this process's own
    [supervisor] = [pid for pid, (_, parent) in others().items() if parent == "1"]
    before = signals
    for _ in range(RUNS):
        run("true", ["exit"])
        run("(sleep 60 &) ; setsid sleep 60 & true", ["exit"])
    for _ in range(STORMS):
        run(STORM, ["process_limit", "wall_timeout", "exit"], "bash")
        # None: on a busy machine its init was killed before it had told that the program runs.
        run("echo x > file; echo said; sleep 60", ["signal", None],
            on_output=lambda *_: kill_init(supervisor))
    if signals != before:
        wrong.append(f"{signals - before} signals about children that this process did not make")
    provider.library.tool_shutdown()
    expect_only([], "at the end")
    left = [str(path) for path in pathlib.Path("/tmp").glob("code-execute-*")]
    print(json.dumps({"wrong": wrong, "directories": left}))


main()
