# SPDX-License-Identifier: Apache-2.0
"""Sessions as an operator sees and ends them: session_list, tool_end_session(), and what the owner hears of it."""
import ctypes
import pathlib
import sys
import threading

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
sys.path[:0] = [str(SUPPORT)]
import tap
from modes import Provider, adopt_orphans
from provider import ACCEPTED, LATER, NOT_RUN, OK, UNKNOWN, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session")
MEMORY = 128 << 20
POLICY = {"sessions": {"max_total": 8, "max_per_principal": 8},
          "limits": {"wall_ms": {"default": 120000}, "cpu_ms": {"default": 300000}, "memory_bytes": {"default": MEMORY}}}
adopt_orphans()
provider = Provider()


def use(**more):
    tap.equal(provider.begin_anew({**POLICY, **more}), OK)


def call(code, session="new", principal="ann", host=None, language="python"):
    host = host or Host(RIGHTS, context={"principal": principal} if principal else None)
    return provider.invoke({"language": language, "code": code, "session": session}, host)


def begin(principal="ann"):
    code, result = call("x = 1", principal=principal)
    tap.equal((code, result["session"]["state"]), (OK, "kept"), result)
    return result["session"]["id"]


def listed():
    code, answer = provider.prepare(sessions=True)
    tap.equal((code, answer["error"]), (OK, None), answer)
    return {entry["id"]: entry for entry in answer["session_list"]}


def end(session):
    return provider.library.tool_end_session(ctypes.c_char_p(session.encode() if isinstance(session, str) else session))


def expect_heard(session, principal="ann"):
    """Its owner hears of it once."""
    for error in ("session_lost", "session_not_found"):
        code, result = call("print(1)", session, principal)
        tap.equal((code, result["error"]["code"]), (NOT_RUN, error), result)
        if error == "session_lost":
            tap.contains(result["error"]["message"], f"{session} is lost: ended_by_operator")


class Running:
    """A call on a thread of its own, whose cell or whose approval has begun."""

    def __init__(self, session, code="import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.02)", host=None):
        self.host, self.answer = host or Host(RIGHTS, context={"principal": "ann"}, call_id=77), None
        self.thread = threading.Thread(target=self.run, args=(code, session))
        self.thread.start()

    def run(self, code, session):
        self.answer = call(code, session, host=self.host)[1]

    def join(self):
        self.thread.join(60 * tap.SLOW)
        tap.true(not self.thread.is_alive(), "the call returned")
        return self.answer


def test_they_are_listed():
    use()
    tap.equal(listed(), {})
    ann, nobody = begin(), begin(principal=None)
    tap.equal(call("x += 1", ann, language="bash")[0], OK)
    entries = listed()
    tap.true(all(0 <= entry.pop("idle_ms") < 600000 for entry in entries.values()), entries)
    common = {"state": "idle", "memory_bytes": MEMORY}
    tap.equal(entries, {ann: {"id": ann, "principal": "ann", "cells": 2, "languages": ["python", "bash"], **common},
                        nobody: {"id": nobody, "principal": None, "cells": 1, "languages": ["python"], **common}})
    tap.equal(sorted(entry["id"] for entry in provider.status()[1]["session_list"]), sorted(entries), "in the status")
    tap.equal(provider.counters()["sessions"], 2)
    code, answer = provider.prepare(sessions=True, counters=True)
    tap.equal((code, answer["error"]["code"]), (NOT_RUN, "invalid_policy"), answer)


def test_an_idle_one_is_ended_and_its_owner_hears_of_it():
    use()
    ended, other = begin(), begin("bob")
    tap.equal(end(ended), ACCEPTED)
    tap.equal((list(listed()), provider.counters()["sessions"]), ([other], 1))
    tap.equal(end(ended), UNKNOWN, "it has ended already")
    expect_heard(ended)
    tap.equal(call("print(x)", other, "bob")[1]["stdout"], "1\n", "another one is unhurt")


def test_what_is_none_is_unknown():
    use()
    session = begin()
    for name in ("", "new", "s_", session[:-1], session + "0", "s_" + "0" * 32, b"\xff", None):
        tap.equal(end(name), UNKNOWN, name)
    tap.equal(call("print(x)", session)[1]["stdout"], "1\n", "it is unhurt")


def test_a_busy_one_ends_with_its_cell():
    use()
    session = begin()
    running = Running(session)
    tap.eventually(lambda: b"begun" in running.host.output[1] or running.answer, "the cell runs", 60)
    tap.equal((listed()[session]["state"], listed()[session]["idle_ms"], listed()[session]["cells"]), ("busy", 0, 1))
    tap.equal(end(session), ACCEPTED)
    result = running.join()
    tap.equal((result["status"], result["session"]["state"], result["session"]["lost_reason"]), ("cancelled", "lost", "ended_by_operator"), result)
    tap.true(any("ended with this cell (ended_by_operator)" in note for note in result["notes"]), result["notes"])
    tap.true(not any("keeps its state" in note for note in result["notes"]), result["notes"])
    tap.equal((listed(), call("x", session)[1]["error"]["code"]), ({}, "session_not_found"))


def test_one_whose_call_waits_for_an_answer_ends_with_the_call():
    use(approval={"default": "ask"})
    session, asked = begin(), threading.Event()

    def later(_token, _request, verdict):
        verdict[0] = LATER
        asked.set()
    running = Running(session, "print('never')", Host(RIGHTS, context={"principal": "ann"}, call_id=78, request_approval=later))
    tap.true(asked.wait(60 * tap.SLOW), "the approver is asked")
    tap.equal(end(session), ACCEPTED)
    tap.equal(running.join()["error"]["code"], "cancelled", running.answer)
    tap.equal(listed(), {})
    expect_heard(session)


tap.run(globals())
