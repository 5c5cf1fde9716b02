# SPDX-License-Identifier: Apache-2.0
"""What the tests of cells in whole calls share: a provider with sessions, its callers, and cells that are expected to run or not."""
import json
import threading

import tap
from modes import Provider, adopt_orphans, merged
from provider import ACCEPTED, FAILED, NOT_RUN, OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files", "sandbox.exec.secrets")
SESSIONS = {"max_total": 8, "max_per_principal": 8, "max_cells": 100, "idle_ms": 600000, "age_ms": 3600000}
AMPLE_MS = 120000  # for cells that are not about time
FOREVER = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.02)\n"
adopt_orphans()
provider = Provider()
call_ids = iter(range(1000, 100000))


def policy(sessions=None, **more):
    return merged({"sessions": {**SESSIONS, **(sessions or {})}, "limits": {"wall_ms": {"default": AMPLE_MS}, "cpu_ms": {"default": 300000}}}, more)


def use(sessions=None, **more):
    tap.equal(provider.begin_anew(policy(sessions, **more)), OK)


def caller(principal="ann", rights=RIGHTS, **more):
    """In one session of its agent, which an answer may hold for."""
    return Host(rights, context={"principal": principal, "session": "of-the-agent"} if principal is not None else None, **more)


def call(code, session="new", principal="ann", host=None, **more):
    """The return code and the result."""
    request = {"language": "python", "code": code, **more}
    if session is not None:
        request["session"] = session
    return provider.invoke(request, host or caller(principal))


def cell(code, session="new", principal="ann", status="completed", error=None, **more):
    """The result of a cell that runs, and leaves its session."""
    result = call(code, session, principal, **more)[1]
    tap.equal((result["status"], result["error"] and result["error"]["code"]), (status, error), result)
    tap.equal((result["session"]["state"], result["session"]["lost_reason"]), ("kept", None), result)
    return result


def id_of(result):
    return result["session"]["id"]


def begin(code="x = 1", principal="ann", **more):
    return id_of(cell(code, principal=principal, **more))


def printed(code, session, principal="ann", **more):
    return cell(code, session, principal, **more)["stdout"]


def refusal(code="print(1)", session="new", principal="ann", **more):
    """The error of a call that does not run."""
    returned, result = call(code, session, principal, **more)
    tap.true(returned in (NOT_RUN, FAILED) and result["error"] and result["stdout"] == "", result)
    return result["error"]


def expect_refused(error, session="new", principal="ann", **more):
    found = refusal(session=session, principal=principal, **more)
    tap.equal(found["code"], error, found)
    return found


def expect_lost(reason, session, principal="ann"):
    """Its owner hears of it once."""
    tap.contains(expect_refused("session_lost", session, principal)["message"], f"{session} is lost: {reason}")
    expect_refused("session_not_found", session, principal)


class Running:
    """A cell on a thread of its own; its output has begun."""

    def __init__(self, code=FOREVER, session="new", principal="ann", **more):
        self.call_id, self.answer = next(call_ids), None
        self.host = caller(principal, call_id=self.call_id)
        self.thread = threading.Thread(target=self.run, args=(code, session), kwargs=more)
        self.thread.start()
        tap.eventually(lambda: b"begun" in self.host.output[1] or self.answer, "the cell runs", 60)
        tap.equal(self.answer, None, "it goes on")

    def run(self, code, session, **more):
        self.answer = call(code, session, host=self.host, **more)[1]

    def join(self):
        self.thread.join(60 * tap.SLOW)
        tap.true(not self.thread.is_alive(), "the call returned")
        return self.answer

    def cancel(self):
        tap.equal(provider.cancel(self.call_id), ACCEPTED)
        return self.join()


class Approver:
    """A host that answers through tool_reply_approval, and keeps what it was asked."""

    def __init__(self, decision, principal="ann", reply=ACCEPTED):
        self.decision, self.reply = decision, reply
        self.host = caller(principal, request_approval=self.ask)
        self.asked = []

    def ask(self, token, request, _verdict):
        self.asked.append(json.loads(request))
        tap.equal(provider.reply(token, {"decision": self.decision}), self.reply)

    def __call__(self, code, session="new", **more):
        return call(code, session, host=self.host, **more)[1]
