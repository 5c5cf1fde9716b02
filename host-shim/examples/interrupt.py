# SPDX-License-Identifier: Apache-2.0
"""Approval as LangGraph has it, without LangGraph: the graph stops with an interrupt, whoever drives it shows that to a
person, and resumes it with the answer, minutes later and from anywhere. No thread waits meanwhile.
API_KEY=... CODE_EXEC_POLICY=policy.json python3 interrupt.py code_execute.so
In LangGraph, run_tool is a node, `return interrupt(...)` its interrupt(), and resume() is Command(resume=...).
"""
import ctypes
import json
import sys

import gateway


class Later(gateway.Host):
    """Nobody is asked during the call: it ends with approval_pending."""

    def request_approval(self, user, token, request, verdict):
        self.token, self.request = token, json.loads(request)
        verdict[0] = gateway.PENDING


class Graph:
    def __init__(self, library):
        self.library = library
        self.library.tool_reply_approval.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
        self.waiting = {}  # approval id: (token, call); LangGraph's checkpointer keeps this

    def run_tool(self, call):
        host = Later()
        result = gateway.invoke(self.library, call, host)
        error = result["error"] or {}
        if error.get("code") != "approval_pending":
            return {"result": result}
        approval = result["approval"]["id"]
        self.waiting[approval] = host.token, call
        shown = {name: host.request[name] for name in ("code", "language", "secrets", "network", "request_sha256")}
        return {"__interrupt__": {"id": approval, "action": call, "description": shown,
                                  "allowed_decisions": ["approve", "reject"]}}

    def resume(self, approval, decision, person):
        """The decision is bound to the approval; the identical call then uses it, once."""
        token, call = self.waiting.pop(approval)
        reply = {"decision": "allow_once" if decision == "approve" else "deny", "approver": person}
        self.library.tool_reply_approval(token, json.dumps(reply).encode())
        return self.run_tool(call)


if __name__ == "__main__":
    CALL = {"language": "sh", "code": "echo length ${#KEY}; echo $KEY", "secrets": {"KEY": "{{secret:api-key}}"}}
    graph = Graph(ctypes.CDLL(sys.argv[1]))
    state = graph.run_tool(CALL)
    print("interrupt:", json.dumps(state["__interrupt__"]), flush=True)
    print("Run this? [y/N] ", end="", file=sys.stderr, flush=True)
    answer = "approve" if sys.stdin.readline() == "y\n" else "reject"
    state = graph.resume(state["__interrupt__"]["id"], answer, "ann")
    print("result:", json.dumps(state.get("result")))
    sys.exit((state.get("result") or {}).get("status") != "completed")
