# SPDX-License-Identifier: Apache-2.0
"""The interpreters that wait for a run below this gateway's backends, and how they came to be."""
import os
import pathlib

import tap
from modes import MODE, awaited_descendants, interpreter_waits

COPIED, STARTED = "copy", "wait"
# Members of a policy's `prepare` for tests that ask what became of Python: a gateway that is asked imports every named library first.
ASKED_FOR_NONE = {"import_named": None}


def is_main_program(pid):
    """Of its sandbox, already."""
    try:
        if MODE == "unprivileged":  # it leads a session of its own
            return os.getsid(pid) == pid
        return pathlib.Path(f"/proc/{pid}/status").read_text().split("NSpid:")[1].split("\n")[0].split()[-1] == "2"
    except OSError:
        return False


def is_trial(pid):
    """Of modules: it waits for no run."""
    try:
        return b"CODE_EXECUTE_INTERPRETER=trial" in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return True


def waiting():
    return [pid for pid in awaited_descendants(os.getpid()) if interpreter_waits(pid) and is_main_program(pid) and not is_trial(pid)]


def waiting_pids(count):
    """So many of them, once there are."""
    found = []

    def are_there():
        found[:] = waiting()
        return len(found) == count
    tap.eventually(are_there, f"{count} wait", 60)
    return found


def await_waiting(count, how):
    """So many, and each came to be so: a copy has the environment of what it was copied from."""
    for pid in waiting_pids(count):
        variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        tap.true(f"CODE_EXECUTE_INTERPRETER={how}".encode() in variables, variables)


def await_kinds(count):
    """How so many came to be."""
    return {how for pid in waiting_pids(count) for how in (COPIED, STARTED)
            if f"CODE_EXECUTE_INTERPRETER={how}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")}


def ready_run(provider, run, count, how):
    """The result of run(), which an interpreter has waited for: the provider's own counters say so."""
    await_waiting(count, how)
    before = provider.counters()["sandboxes_ready"]
    result = run()
    tap.equal(provider.counters()["sandboxes_ready"] - before, 1, "runs in an interpreter that waited")
    return result


def told(provider, word=None):
    """What the provider says became of Python for programs that have that word, and why (toolhost doctor prints it)."""
    code, answer = provider.prepare(interpreters=True)
    tap.equal(code, 0, answer)
    [rows] = [row["preparation"] for row in answer["interpreters"] if row["language"] == "python"]
    [found] = [row for row in rows if row["word"] == word]
    return found


def expect_told(provider, how, code, *parts, word=None):
    """That it is of that kind, for that reason, whose message has these parts; and what to do about it."""
    found = told(provider, word)
    tap.equal((found["how"], found["code"]), (how, code), found)
    tap.true(all(str(part) in found["message"] for part in parts), found)
    tap.true(found["remedy"], found)
