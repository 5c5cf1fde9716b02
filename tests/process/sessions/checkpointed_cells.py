# SPDX-License-Identifier: Apache-2.0
"""What the tests of undo and of checkpoints share: cells whose sessions have a checkpoint, and those that are undone, lost or refused."""
import tap
from checkpointed import call
from provider import NOT_RUN


def cell(code, session="new", state="kept", checkpoint="taken", status="completed", **more):
    result = call(code, session, **more)[1]
    tap.equal((result["status"], result["session"] and (result["session"]["state"], result["session"]["checkpoint"])), (status, (state, checkpoint)), result)
    return result


def begin(code="x = 1", **more):
    return cell(code, **more)["session"]["id"]


def printed(code, session, **more):
    return cell(code, session, **more)["stdout"]


def undo(code, session, **more):
    return cell(code, session, session_action="undo", **more)


def restored(code, session, cause, status, **more):
    result = cell(code, session, "restored", status=status, **more)
    tap.equal((result["cause"], result["files"], result["files_omitted"]), (cause, [], None), result)
    tap.true(any("as they were before this cell" in note for note in result["notes"]), result["notes"])
    return result


def refusal(session, code="print(1)", action="undo", **more):
    returned, result = call(code, session, session_action=action, **more)
    tap.equal((returned, result["stdout"]), (NOT_RUN, ""), result)
    return result["error"]
