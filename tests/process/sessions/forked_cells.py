# SPDX-License-Identifier: Apache-2.0
"""What the tests of forked sessions share: their provider and callers, cells of sessions that are forked, end or are lost, and a call that waits
for its approval."""
import ctypes
import threading

import checkpointed
import tap
from checkpointed import AMPLE_MS, provider
from modes import merged
from provider import ALLOW, NOT_RUN, OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files", "sandbox.exec.secrets")


def use(checkpoints=3, *, sessions=None, **more):
    members = {"max_total": 8, "max_per_principal": 8, "checkpoints": checkpoints, **(sessions or {})}
    tap.equal(provider.begin_anew(merged({"sessions": members, "limits": {"wall_ms": {"default": AMPLE_MS}, "cpu_ms": {"default": 300000}}}, more)), OK)


def host(principal="ann", **more):
    return Host(RIGHTS, context={"principal": principal}, **more)


def call(code, session="new", to=None, **more):
    return checkpointed.call(code, session, to or host(), **more)


def cell(code, session="new", state="kept", status="completed", **more):
    result = call(code, session, **more)[1]
    tap.equal((result["status"], result["session"] and result["session"]["state"]), (status, state), result)
    return result


def begin(code="x = 1", **more):
    return cell(code, **more)["session"]["id"]


def printed(code, session, **more):
    return cell(code, session, **more)["stdout"]


def fork(session, code="\n", **more):
    result = cell(code, session, session_action="fork", **more)
    tap.equal((result["session"]["forked_from"], result["session"]["created"], result["session"]["id"] == session), (session, True, False), result)
    return result["session"]["id"]


def refusal(session, code="print(1)", **more):
    returned, result = call(code, session, **more)
    tap.equal((returned, result["stdout"]), (NOT_RUN, ""), result)
    return result["error"]


def end(session):
    tap.equal(call("\n", session, session_action="end")[1]["session"]["state"], "ended")


def operator_ends(session):
    tap.equal(provider.library.tool_end_session(ctypes.c_char_p(session.encode())), OK)


def lost(session, reason):
    error = refusal(session)
    tap.equal(error["code"], "session_lost", error)
    tap.contains(error["message"], reason)
    tap.equal(refusal(session)["code"], "session_not_found", "it is said once")


class Waiting:
    """A call on a thread of its own, which waits for its approval."""

    def __init__(self, code, session):
        self.asked, self.answer, self.results = threading.Event(), threading.Event(), []
        self.thread = threading.Thread(target=lambda: self.results.append(call(code, session, to=host(request_approval=self.ask))[1]))
        self.thread.start()
        tap.true(self.asked.wait(60), "it is asked about")

    def ask(self, _token, _request, verdict):
        self.asked.set()
        self.answer.wait(60)
        verdict[0] = ALLOW

    def result(self):
        self.answer.set()
        self.thread.join()
        return self.results[0]
