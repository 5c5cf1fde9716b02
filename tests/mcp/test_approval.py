# SPDX-License-Identifier: Apache-2.0
"""toolhost mcp: approval by the person at the client, in both eras, and that nothing else leads there."""

import json
import os
import shutil
import time

import tap
from client import CODE_EXECUTE, HANDSHAKE, McpTest, meta

FORM = {"elicitation": {}}


class ByHandshake(McpTest):
    def asked(self, wire):
        question = wire.until(lambda message: message.get("method") == "elicitation/create")
        return question["id"], question["params"]

    def start_call(self, revision=HANDSHAKE[0], capabilities=None, **more):
        wire = self.started(approve=None, revision=revision, capabilities=FORM if capabilities is None else capabilities, **more)
        return wire, wire.ask("tools/call", wire.tool_call("echo \x1b[2Jx"))

    def test_accept_runs_it_once(self):
        for revision in HANDSHAKE[:2]:
            wire, id = self.start_call(revision)
            question, params = self.asked(wire)
            self.assertEqual(self.ran(), [])
            self.assertEqual(params["requestedSchema"], {"type": "object", "properties": {}})
            self.assertEqual(params.get("mode"), "form" if revision == "2025-11-25" else None)
            self.assertIn("echo <U+001B>[2Jx", params["message"])
            wire.send({"jsonrpc": "2.0", "id": question, "result": {"action": "accept", "content": {}}})
            self.assertFalse(wire.answer_to(id)["result"]["isError"])
            self.assertEqual(len(self.ran()), 1)
            wire.ask("tools/call", wire.tool_call("echo \x1b[2Jx"))
            self.asked(wire)  # again: once is once
            os.remove(self.audit_file)

    def test_everything_else_denies(self):
        for response in ({"result": {"action": "decline"}}, {"result": {"action": "cancel"}},
                         {"result": {"action": "ACCEPT"}}, {"result": {"action": True}}, {"result": {}},
                         {"result": {"content": {"action": "accept"}}}, {"result": "accept"},
                         {"error": {"code": -32603, "message": "accept"}}):
            with self.subTest(response):
                wire, id = self.start_call()
                question, _ = self.asked(wire)
                wire.send({"jsonrpc": "2.0", "id": question, **response})
                result = wire.answer_to(id)["result"]
                self.assertTrue(result["isError"])
                self.assertIn("approval_denied", result["content"][0]["text"])
                self.assertEqual(self.ran(), [])

    def test_no_other_response_counts(self):
        wire, id = self.start_call()
        question, _ = self.asked(wire)
        for other in ("approval-999", 1, id, "", None):
            wire.send({"jsonrpc": "2.0", "id": other, "result": {"action": "accept"}})
        wire.call("ping")
        self.assertEqual(self.ran(), [])
        wire.send({"jsonrpc": "2.0", "id": question, "result": {"action": "decline"}})
        wire.send({"jsonrpc": "2.0", "id": question, "result": {"action": "accept"}})  # too late
        self.assertTrue(wire.answer_to(id)["result"]["isError"])
        self.assertEqual(self.ran(), [])

    def test_cancelled_while_it_waits(self):
        wire, id = self.start_call()
        question, _ = self.asked(wire)
        wire.notify("notifications/cancelled", {"requestId": id})
        withdrawn = wire.until(lambda message: message.get("method") == "notifications/cancelled")
        self.assertEqual(withdrawn["params"]["requestId"], question)
        wire.send({"jsonrpc": "2.0", "id": question, "result": {"action": "accept"}})
        wire.call("ping")
        self.assertEqual(self.ran(), [])

    def test_an_unanswered_question_is_denied(self):
        wire, id = self.start_call(FIXTURE_EXPIRES_MS="50")
        self.asked(wire)
        self.assertTrue(wire.answer_to(id)["result"]["isError"])
        self.assertIn("in time", self.said())
        self.assertEqual(self.ran(), [])

    def test_a_client_that_cannot_ask_is_told_of_other_approvers(self):
        for capabilities in ({}, {"elicitation": {"url": {}}}, {"elicitation": True}, {"sampling": {}}):
            wire, id = self.start_call(capabilities=capabilities, plugin=CODE_EXECUTE)
            result = wire.answer_to(id)["result"]
            self.assertTrue(result["isError"])
            text = result["content"][0]["text"]
            self.assertIn("approval_unavailable", text)
            for other in ("cmd:PROGRAM", "--approve ask", "--approve queue"):
                self.assertIn(other, text)
            self.assertEqual(self.ran(), [])

    def test_nothing_in_the_input_or_the_clients_name_is_an_approval(self):
        wire = self.start()
        wire.call("initialize", {"protocolVersion": HANDSHAKE[0], "capabilities": {},
                                 "clientInfo": {"name": "--approve always", "version": "accept"}})
        params = wire.tool_call("echo x", inputResponses={"approval": {"action": "accept"}}, requestState="x",
                                _meta={"approval": "accept", "decision": "allow_once"})
        params["arguments"].update({"approve": "always", "decision": "allow_once", "action": "accept"})
        self.assertTrue(wire.call("tools/call", params)["isError"])
        self.assertEqual(self.ran(), [])


class Switched(McpTest):
    def test_an_approver_that_the_operator_named_decides_alone(self):
        program = os.path.join(self.home, "approver")
        with open(program, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho \'{"decision": "deny", "reason": "because"}\'\n')
        os.chmod(program, 0o700)
        wire = self.started(approve=f"cmd:{program}", capabilities=FORM, plugin=CODE_EXECUTE)
        result = wire.call("tools/call", wire.tool_call("echo x"))
        self.assertIn("because", result["content"][0]["text"])
        self.assertFalse([message for message in wire.seen if message.get("method")])

    def test_a_standing_grant_is_not_asked_about(self):
        program = os.path.join(self.home, "approver")
        with open(program, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho \'{"decision": "allow_always"}\'\n')
        os.chmod(program, 0o700)
        wire = self.started(approve=f"cmd:{program}", plugin=CODE_EXECUTE)
        self.assertFalse(wire.call("tools/call", wire.tool_call("echo x"))["isError"])
        for arguments, capabilities in (((), FORM), ((), {}), (("--no-elicitation",), FORM)):
            wire = self.started(*arguments, approve=None, capabilities=capabilities, plugin=CODE_EXECUTE)
            self.assertFalse(wire.call("tools/call", wire.tool_call("echo x"))["isError"], self.said())
            self.assertFalse([message for message in wire.seen if message.get("method")])
        self.assertEqual(len(self.ran()), 4)
        wire = self.started(approve=None, plugin=CODE_EXECUTE)
        self.assertTrue(wire.call("tools/call", wire.tool_call("echo y"))["isError"], "another request")

    def test_no_elicitation(self):
        wire = self.started("--no-elicitation", approve=None, capabilities=FORM, plugin=CODE_EXECUTE)
        for params in (wire.tool_call("echo x"), {**wire.tool_call("echo x"), "_meta": meta(capabilities=FORM)}):
            result = wire.call("tools/call", params)
            self.assertTrue(result["isError"])
            self.assertIn("--no-elicitation", result["content"][0]["text"])
        self.assertFalse([message for message in wire.seen if message.get("method")])
        self.assertEqual(self.ran(), [])


    def test_a_policy_that_does_not_trust_the_client(self):
        policy = os.path.join(self.home, "policy.json")
        for in_band in (True, False):
            with open(policy, "w", encoding="utf-8") as file:
                json.dump({"approval": {"in_band": in_band}}, file)
            os.chmod(policy, 0o600)
            wire = self.started("--policy", policy, approve=None, capabilities=FORM, plugin=CODE_EXECUTE)
            id = wire.ask("tools/call", {**wire.tool_call("echo x"), "_meta": meta(capabilities=FORM)})
            result = wire.answer_to(id)["result"]
            self.assertEqual(result["resultType"], "complete" if not in_band else "input_required")
            if not in_band:
                self.assertIn("approval.in_band", result["content"][0]["text"])
                self.assertIn("approval.in_band", wire.call("tools/call", wire.tool_call("echo x"))["content"][0]["text"])
        self.assertFalse([message for message in wire.seen if message.get("method")])
        self.assertEqual(self.ran(), [])


class Choice(McpTest):
    """--elicitation-choice, of the real provider: it remembers what a session allows, and the store what stands."""

    def start_one(self, *arguments):
        return self.start(*arguments, plugin=CODE_EXECUTE)

    def answer(self, wire, modern, content, **more):
        """Makes the call and answers the question; its result, and the form that was shown (None: nobody was asked)."""
        call = wire.tool_call("echo x")
        call["arguments"].update(more)
        if modern:
            call["_meta"] = meta(capabilities=FORM)
            result = wire.call("tools/call", call)
            if result["resultType"] == "complete":
                return result, None
            form = result["inputRequests"]["approval"]["params"]
            return wire.call("tools/call", {**call, "requestState": result["requestState"],
                                            "inputResponses": {"approval": {"action": "accept", **content}}}), form
        wire.handshake(capabilities=FORM)
        id = wire.ask("tools/call", call)
        message = wire.until(lambda message: message.get("method") == "elicitation/create" or message.get("id") == id)
        if "method" not in message:
            return message["result"], None
        wire.send({"jsonrpc": "2.0", "id": message["id"], "result": {"action": "accept", **content}})
        return wire.answer_to(id)["result"], message["params"]

    def assert_ran(self, result):
        if result["isError"] and "sandbox_unavailable" in result["content"][0]["text"]:
            self.skipTest(result["content"][0]["text"])
        self.assertFalse(result["isError"], result["content"])

    def test_nothing_chosen_is_once(self):
        for modern in (False, True):
            wire = self.start_one("--elicitation-choice")
            for content in ({}, {"content": {}}, {"content": {"decision": None}}, {"content": {"decision": ""}},
                            {"content": {"decision": "allow_once"}}):
                result, form = self.answer(wire, modern, content)
                self.assert_ran(result)
                field = form["requestedSchema"]["properties"]["decision"]
                self.assertEqual(field["enum"], ["allow_once", "allow_session", "allow_always"])
                self.assertNotIn("required", form["requestedSchema"])

    def test_the_chosen_duration_is_kept(self):
        for modern in (False, True):
            wire = self.start_one("--elicitation-choice")
            self.assert_ran(self.answer(wire, modern, {"content": {"decision": "allow_session"}})[0])
            result, form = self.answer(wire, modern, {})
            self.assert_ran(result)
            self.assertIsNone(form, "the session allows it")
            wire = self.start_one("--elicitation-choice")
            result, form = self.answer(wire, modern, {"content": {"decision": "allow_always"}})
            self.assert_ran(result)
            self.assertIsNotNone(form, "another session")
            wire = self.start_one()
            result, form = self.answer(wire, modern, {})
            self.assert_ran(result)
            self.assertIsNone(form, "it stands")
            self.assertIn("mcp-client:", json.dumps(self.records()))
            shutil.rmtree(os.path.join(self.home, ".local"))

    def test_an_unknown_choice_denies(self):
        for modern in (False, True):
            wire = self.start_one("--elicitation-choice")
            for word in ("deny", "cancel", "edit", "ALLOW_ONCE", "allow", "x", 7, True, ["allow_once"], {}):
                result, _ = self.answer(wire, modern, {"content": {"decision": word}})
                self.assertTrue(result["isError"], word)
                self.assertIn("approval_denied", result["content"][0]["text"])
        self.assertEqual(self.ran(), [])

    def test_without_the_option_a_choice_is_not_read(self):
        for modern in (False, True):
            wire = self.start_one()
            for _ in range(2):
                result, form = self.answer(wire, modern, {"content": {"decision": "allow_always"}})
                self.assert_ran(result)
                self.assertEqual(form["requestedSchema"]["properties"], {})

    def test_only_durations_that_the_policy_allows_are_offered(self):
        policy = os.path.join(self.home, "policy.json")
        for decisions, offered in ((["once"], None), (["once", "session"], ["allow_once", "allow_session"])):
            with open(policy, "w", encoding="utf-8") as file:
                json.dump({"approval": {"decisions": decisions}}, file)
            os.chmod(policy, 0o600)
            wire = self.start_one("--elicitation-choice", "--policy", policy)
            result, form = self.answer(wire, False, {"content": {"decision": "allow_always"}})
            properties = form["requestedSchema"]["properties"]
            self.assertEqual(properties["decision"]["enum"] if properties else None, offered)
            self.assertTrue(result["isError"])

    def test_further_cells_can_be_allowed(self):
        policy = os.path.join(self.home, "policy.json")
        with open(policy, "w", encoding="utf-8") as file:
            json.dump({"sessions": {"max_total": 2}, "approval": {"decisions": ["once", "cells"]}}, file)
        os.chmod(policy, 0o600)
        for modern in (False, True):
            wire = self.start_one("--elicitation-choice", "--policy", policy)
            result, form = self.answer(wire, modern, {"content": {"decision": "allow_cells"}}, session="new")
            self.assert_ran(result)
            field = form["requestedSchema"]["properties"]["decision"]
            self.assertEqual(field["enum"], ["allow_once", "allow_cells"])
            self.assertIn("all further code in this session, which nobody sees before it runs, until the session ends", field["description"])
            session = result["structuredContent"]["session"]["id"]
            result, form = self.answer(wire, modern, {}, session=session)
            self.assert_ran(result)
            self.assertIsNone(form, "the session's further cells are allowed")
            result, form = self.answer(wire, modern, {"content": {"decision": "allow_cells"}})
            self.assertIn("approval_denied", result["content"][0]["text"])
            self.assertEqual(form["requestedSchema"]["properties"], {}, "a run without a session is offered nothing that lasts")

    def test_has_no_effect_beside_another_approver(self):
        for other in (("--approve", "never"), ("--no-elicitation",)):
            self.start_one("--elicitation-choice", *other)
            self.assertEqual(self.process.wait(60), 2)
            self.assertIn("--elicitation-choice", self.said())


class NextTry(McpTest):
    plugin = "none"

    def params(self, wire, code="echo x", capabilities=None, **more):
        return {**wire.tool_call(code), "_meta": meta(capabilities=FORM if capabilities is None else capabilities), **more}

    def ask(self, *arguments, code="echo x", **more):
        wire = self.start(*arguments, plugin=self.plugin, **more)
        result = wire.call("tools/call", self.params(wire, code))
        self.assert_asked(result)
        return wire, result

    def assert_asked(self, result):
        self.assertEqual(result["resultType"], "input_required")
        request = result["inputRequests"]["approval"]
        self.assertEqual(request["method"], "elicitation/create")
        self.assertEqual(request["params"]["requestedSchema"], {"type": "object", "properties": {}})
        self.assertIn("echo", request["params"]["message"])

    def answered(self, wire, state, action="accept", **more):
        return self.params(wire, requestState=state, inputResponses={"approval": {"action": action}}, **more)


class ByNextTry(NextTry):
    def test_accept_runs_it_once(self):
        wire, asked = self.ask()
        self.assertEqual(self.ran(), [])
        result = wire.call("tools/call", self.answered(wire, asked["requestState"]))
        if result["isError"] and "sandbox_unavailable" in result["content"][0]["text"]:
            self.skipTest(result["content"][0]["text"])
        self.assertEqual((result["resultType"], result["isError"]), ("complete", False))
        self.assertEqual(result["structuredContent"]["stdout"], "x\n")
        self.assertEqual(len(self.ran()), 1)
        again = wire.call("tools/call", self.answered(wire, asked["requestState"]))
        self.assert_asked(again)
        self.assertEqual(len(self.ran()), 1)

    def test_declining_denies_and_the_next_call_is_asked_about(self):
        for action in ("decline", "cancel"):
            wire, asked = self.ask()
            result = wire.call("tools/call", self.answered(wire, asked["requestState"], action))
            self.assertTrue(result["isError"])
            self.assertIn("approval_denied", result["content"][0]["text"])
            self.assert_asked(wire.call("tools/call", self.params(wire)))
            self.assertEqual(self.ran(), [])

    def test_no_answer_is_asked_again(self):
        wire, asked = self.ask()
        for responses in (None, {}, {"approval": {}}, {"approval": "accept"}, {"approval": {"action": "yes"}},
                          {"other": {"action": "accept"}}, "accept", [{"action": "accept"}]):
            with self.subTest(responses):
                more = {} if responses is None else {"inputResponses": responses}
                asked = wire.call("tools/call", self.params(wire, requestState=asked["requestState"], **more))
                self.assert_asked(asked)
                self.assertEqual(self.ran(), [])
        result = wire.call("tools/call", self.answered(wire, asked["requestState"]))
        self.assertEqual(result["resultType"], "complete")

    def test_a_response_without_state_is_none(self):
        wire, _ = self.ask()
        params = self.params(wire, inputResponses={"approval": {"action": "accept"}})
        self.assert_asked(wire.call("tools/call", params))
        self.assertEqual(self.ran(), [])

    def test_a_state_that_was_changed_is_an_error(self):
        wire, asked = self.ask()
        state = asked["requestState"]
        changed = [state[:-1] + ("0" if state[-1] != "0" else "1"), state[1:], "0" + state[1:] if state[0] != "0" else "1" + state[1:],
                   state + "0", "", "x", state.replace(".", ""), state.rpartition(".")[0], "." + state, 7, None, ["x"], {"a": 1}, "x" * 100000]
        for one in changed:
            error = wire.error("tools/call", self.answered(wire, one))
            self.assertEqual(error["code"], -32602, one)
        self.assertEqual(self.ran(), [])

    def test_a_state_serves_the_call_it_was_made_for_alone(self):
        wire, asked = self.ask()
        for other in ("echo y", "echo x "):
            error = wire.error("tools/call", {**self.answered(wire, asked["requestState"]),
                                              "arguments": {"language": "sh", "code": other}})
            self.assertEqual(error["code"], -32602)
        other_process = self.start(plugin=self.plugin)
        self.assertEqual(other_process.error("tools/call", self.answered(other_process, asked["requestState"]))["code"], -32602)
        self.assertEqual(self.ran(), [])

    def test_identical_calls_side_by_side_are_each_asked_about_once(self):
        wire, first = self.ask()
        asked = [first, *(wire.call("tools/call", self.params(wire)) for _ in range(3))]
        for question in asked:
            self.assert_asked(question)
        actions = ["accept", "decline", "accept", "accept"]
        for question, action in zip(asked, actions):
            result = wire.call("tools/call", self.answered(wire, question["requestState"], action))
            self.assertEqual(result["resultType"], "complete")
            self.assertEqual("approval_denied" in result["content"][0]["text"], action == "decline")
            self.assert_asked(wire.call("tools/call", self.answered(wire, question["requestState"])))  # once is once
        self.assertEqual(len(self.ran()), 3)

    def test_a_client_that_cannot_ask(self):
        wire = self.start(plugin=self.plugin)
        error = wire.error("tools/call", self.params(wire, capabilities={}))
        self.assertEqual(error["code"], -32021)
        self.assertEqual(error["data"], {"requiredCapabilities": {"elicitation": {"form": {}}}})
        self.assertIn("cmd:PROGRAM", error["message"])
        self.assertEqual(self.ran(), [])


class ByNextTryOfTheRealProvider(ByNextTry):
    plugin = CODE_EXECUTE

    def test_the_audit_log_names_the_approver(self):
        wire, asked = self.ask()
        wire.call("tools/call", self.answered(wire, asked["requestState"]))
        approval = [json.dumps(record) for record in self.records() if "mcp-client:" in json.dumps(record)]
        self.assertTrue(approval)
        self.assertIn("allow_once", approval[0])


class Expiry(NextTry):
    def test_a_state_expires(self):
        wire, asked = self.ask(FIXTURE_EXPIRES_MS="1")
        time.sleep(0.05)
        self.assert_asked(wire.call("tools/call", self.answered(wire, asked["requestState"])))
        self.assertEqual(self.ran(), [])


if __name__ == "__main__":
    tap.run_unittest()
