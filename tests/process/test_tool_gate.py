# SPDX-License-Identifier: Apache-2.0
"""What the gate of a call decides beyond the call itself: the policy's flows. test_tool_calls.py has the way of a call."""
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import Provider, adopt_orphans
from provider import ALLOW, DENY, LATER, NOT_RUN, OK
from tool_host import RAW, ToolHost, text, tool, value

adopt_orphans()
provider = Provider()
MAIL = ("read_inbox", "files.read", "send_email", "add")
SENDING = {"after": ["read_inbox", "files.*"], "then": ["send_email"]}


def use(**tools):
    provider.reset()
    tap.equal(provider.use_policy({"tools": {"allowed": ["*"], "rate_per_s": 100000, **tools}, "capabilities": ["sandbox.exec", "sandbox.exec.tools"],
                                   "limits": {"wall_ms": {"default": 30000, "max": 120000}}}), OK)


def one(host, token, call):
    host.reply(token, value(1))


class Asked(ToolHost):
    """Runs are allowed; a question about a call is answered by decide(call), which is a verdict, or a decision that comes later."""

    def __init__(self, serve=one, decide=None, **more):
        self.decide = decide or (lambda question: DENY)
        super().__init__(provider, serve, **more)

    def request_approval(self, token, request, verdict):
        question = json.loads(request)
        if question.get("kind") != "tool_call":
            verdict[0] = ALLOW
            return
        self.requests.append(question)
        decision = self.decide(question)
        if isinstance(decision, int):
            verdict[0] = decision
            return
        verdict[0] = LATER
        threading.Thread(target=provider.reply, args=(token, decision)).start()


def run(code, raw=RAW, request=None, wanted=("*",), **host):
    made = Asked(**host)
    status, result = provider.invoke({"language": "python", "code": raw + code, "tools": list(wanted), **(request or {})}, made)
    tap.equal((status, result["status"], result["exit_code"]), (OK, "completed", 0), result)
    return made, result


# Calls these in turn: 1 for an answer, or the code of the error.
SAY = "for n, name in enumerate(NAMES.split(), 1):\n    a = result(n, name); print(a[1] if a[1] == 1 else code(a))"


def outcomes(names, **host):
    made, result = run(f"NAMES = {names!r}\n{SAY}", **host)
    return made, result, result["stdout"].split()


def test_a_flow_asks_whatever_the_definition_says():
    use(flows=[{**SENDING, "decision": "ask"}])
    for decision, out in ((ALLOW, "1"), (DENY, "approval_denied"), ({"decision": "allow_once"}, "1"), ({"decision": "deny"}, "approval_denied")):
        host, result, said = outcomes("add send_email read_inbox send_email", tools=MAIL, decide=lambda question: decision)
        tap.equal(said, ["1", "1", "1", out], decision)
        [question] = host.requests
        tap.equal({name: question[name] for name in ("tool", "seq", "asked_by", "called_before", "allowed_decisions")},
                  {"tool": "send_email", "seq": 4, "asked_by": "the policy's tools.flows", "called_before": ["read_inbox"],
                   "allowed_decisions": ["allow_once", "allow_run", "deny", "cancel"]})
        tap.equal([call["name"] for _, call, _ in host.calls].count("send_email"), 2 if out == "1" else 1, "what the gateway got")


def test_without_a_flow_nobody_is_asked():
    use()
    host, _, said = outcomes("read_inbox send_email", tools=MAIL)
    tap.equal((said, host.requests), (["1", "1"], []))


def test_a_flow_denies():
    use(flows=[{**SENDING, "decision": "ask"}, {"after": ["files.read"], "then": ["send_*"], "decision": "deny"}])
    host, result, said = outcomes("send_email files.read send_email add send_email", tools=MAIL, decide=lambda question: ALLOW)
    tap.equal((said, host.requests), (["1", "1", "policy_denied", "1", "policy_denied"], []))
    tap.equal([(row["status"], row.get("code")) for row in result["calls"]][2], ("denied", "policy_denied"))
    host, _ = run("result(1, 'files.read'); call(2, 'send_email', {}); print(answer()[2].decode())", tools=MAIL)
    tap.equal(len(host.calls), 1)


def test_a_context_takes_no_flow_away():
    use(flows=[{**SENDING, "decision": "deny"}])
    for narrowing in {"flows": []}, {"allowed": ["*"]}:
        host = Asked(tools=MAIL, context={"policy": {"tools": narrowing}})
        status, result = provider.invoke({"language": "python", "code": RAW, "tools": ["*"]}, host)
        tap.equal((status, result["error"]["code"], host.calls), (NOT_RUN, "invalid_input", []))
    tap.equal(outcomes("read_inbox send_email", tools=MAIL, context={"policy": {"approval": "ask"}})[2], ["1", "policy_denied"])


def test_a_flow_is_of_one_run():
    use(flows=[{**SENDING, "decision": "deny"}])
    tap.equal(outcomes("read_inbox send_email", tools=MAIL)[2], ["1", "policy_denied"])
    tap.equal(outcomes("send_email", tools=MAIL)[2], ["1"], "the next run")


def test_a_call_that_has_no_answer_yet_counts():
    use(flows=[{**SENDING, "decision": "ask"}])
    held = []

    def serve(host, token, call):
        if call["name"] == "read_inbox":
            held.append(token)
            return
        host.reply(token, value(1))
        for waiting in held:
            host.reply(waiting, value(1))
    code = "call(1, 'read_inbox', {}); call(2, 'send_email', {}); call(3, 'add', {})\nprint(sorted((a[0], a[1]) for a in (answer(), answer(), answer())))"
    host, result = run(code, serve=serve, tools=MAIL)
    tap.equal((result["stdout"], len(host.requests), len(host.calls)), ("[(1, 1), (2, 5), (3, 1)]\n", 1, 2))
    # The other way round: it was made before there was anything to send.
    host, result = run("call(1, 'send_email', {}); call(2, 'read_inbox', {})\nprint(sorted(answer()[1] for _ in '12'))",
                       serve=one, tools=MAIL)
    tap.equal((result["stdout"], host.requests), ("[1, 1]\n", []))


def test_a_call_that_was_refused_unread_does_not_count():
    use(flows=[{**SENDING, "decision": "deny"}])
    code = "call(1, 'read_inbox', {'x': 'no integer'}); print(code(answer()))\nprint(result(2, 'send_email')[1])"
    tap.equal(run(code, tools=MAIL)[1]["stdout"], "invalid_arguments\n1\n")


def test_an_allowance_of_before_the_flow_does_not_cover_it():
    use(flows=[{**SENDING, "decision": "ask"}])
    tools = [tool("send_email", "ask"), tool("read_inbox"), tool("files.read")]
    host, _, said = outcomes("send_email send_email read_inbox send_email send_email files.read send_email send_email", tools=tools,
                             decide=lambda question: {"decision": "allow_run"})
    tap.equal(said, ["1"] * 8)
    tap.equal([(question["seq"], question["asked_by"], question.get("called_before")) for question in host.requests],
              [(1, "the tool's definition", None), (4, "the policy's tools.flows", ["read_inbox"]), (7, "the policy's tools.flows", ["read_inbox", "files.read"])])


def test_an_allowance_comes_late():
    """It is given after the flow has begun, to a question of before."""
    use(flows=[{**SENDING, "decision": "ask"}])
    begun, answers = threading.Event(), iter(({"decision": "allow_run"}, {"decision": "deny"}))

    def serve(host, token, call):
        if call["name"] == "read_inbox":
            begun.set()
        host.reply(token, value(1))

    class Late(Asked):
        def request_approval(self, token, request, verdict):
            question = json.loads(request)
            verdict[0] = ALLOW
            if question.get("kind") == "tool_call":
                self.requests.append(question)
                verdict[0] = LATER
                threading.Thread(target=lambda: begun.wait(60) and provider.reply(token, next(answers))).start()
    host = Late(serve, tools=[tool("send_email", "ask"), tool("read_inbox")])
    code = "call(1, 'send_email', {}); print(result(2, 'read_inbox')[:2]); print(answer()[:2]); print(code(result(3, 'send_email')))"
    _, result = provider.invoke({"language": "python", "code": RAW + code, "tools": ["*"]}, host)
    tap.equal((result["stdout"], len(host.requests)), ("(2, 1)\n(1, 1)\napproval_denied\n", 2), result)


def test_always_ask_stays_so_in_a_flow():
    use(flows=[{**SENDING, "decision": "ask"}])
    host, _, said = outcomes("read_inbox send_email send_email", tools=[tool("send_email", "always_ask"), tool("read_inbox")],
                             decide=lambda question: {"decision": "allow_run"})
    tap.equal((said, len(host.requests)), (["1", "approval_denied", "approval_denied"], 2))
    tap.lacks(json.dumps([question["allowed_decisions"] for question in host.requests]), "allow_run")


def test_how_calls_end_is_counted():
    use(flows=[{**SENDING, "decision": "deny"}])
    names = [f"tool_calls_{outcome}" for outcome in ("ok", "error", "denied", "cancelled")]
    before = provider.counters()
    outcomes("add add add nothing nothing read_inbox send_email", tools=MAIL)
    run("call(1, 'add', {})\nos.stat('/')", serve=lambda host, token, call: None, tools=MAIL)
    after = provider.counters()
    tap.equal([after[name] - before[name] for name in names], [4, 2, 1, 1])
    tap.equal(sorted(name for name in after if name.startswith("tool_calls_")), sorted(names))


def offered(tools, capabilities=("sandbox.exec", "sandbox.exec.tools")):
    """The schema that a gateway shows a model for callers with these tools; None: its context says nothing of tools."""
    context = {} if tools is None else {"tools": [entry if isinstance(entry, dict) else tool(entry) for entry in tools]}
    status, answer = provider.prepare(offer={"capabilities": list(capabilities), "context_json": json.dumps(context)})
    tap.equal((status, answer["error"]), (OK, None))
    return answer["input_schemas"]["code_execute"]


def test_a_model_hears_of_tools_where_there_are_some():
    use(allowed=["jira.*", "query", "code_execute"], denied=["jira.delete"])
    query = {"name": "query", "description": " \n\tReads the sales\x1b database.\nSecond line.", "title": "Query", "approval": "never",
             "input_schema": {"type": "object", "properties": {"sql": {"type": "string"}, "limit": {"type": "integer"}}}}
    told = offered([query, "mail", "jira.delete", {"name": "jira.find", "title": "Finds issues.", "input_schema": {}}, "code_execute", "jira.x"])
    tap.equal(told["properties"]["tools"]["description"].splitlines()[1:],
              ["- query(sql, limit): Reads the sales  database.", "- jira.find(): Finds issues.", "- jira.x(x)"])
    nothing = json.dumps(offered(None))
    for tools, capabilities in ((), ()), (("mail", "jira.delete", "code_execute"), ()), (("query",), ("sandbox.exec",)), (("query",), ("sandbox.exec", "sandbox.exec.tools=other")):
        tap.equal(json.dumps(offered(tools, *([capabilities] if capabilities else []))), nothing, (tools, capabilities))
    tap.lacks(nothing, "tools")
    tap.contains(json.dumps(offered(["query"], ("sandbox.exec", "sandbox.exec.tools=query"))), "- query(x)")


def test_what_a_model_hears_of_tools_is_bounded():
    use()
    long = [{"name": f"t{n:03}" + "n" * 124, "description": "\u00e4" * 500, "input_schema": {"type": "object", "properties": {f"p{i:02}": {} for i in range(60)}}} for n in range(256)]
    for tools in long, [f"tool_of_a_server_{n}" for n in range(256)]:
        words = offered(tools)["properties"]["tools"]["description"]
        lines = words.splitlines()[1:]
        tap.true(len(words.encode()) < 4096 and max(len(line.encode()) for line in lines) < 256, words)
        tap.equal(lines[-1].split()[:5], [str(256 - len(lines) + 1), "more", "are", "not", "listed:"])
        tap.true(len(lines) > 10, lines)


def test_names_that_collide():
    """Each tool is called by its own name, whatever identifiers are made of the names; none of them hides a part of the module."""
    use()
    names = ["a.b", "a_b", "a-b", "a/b", "class", "None", "call", "ToolError", "__init__", "__class__", "aio", "names", "é", "1st", "describe"]

    def serve(host, token, call):
        host.reply(token, text(call["name"]))
    code = ("import tools\nfor name in tools.names():\n    told = tools.describe(name)\n"
            "    identifier = told['identifier']\n    assert tools.call(name, {}) == name, name\n"
            "    assert getattr(tools, identifier)() == name, identifier\n    print(identifier)\n"
            "assert issubclass(tools.ToolError, Exception) and callable(tools.search) and tools.aio.call\n"
            "assert not hasattr(tools, '__path__')\n"
            "try: tools.call('class_', {})\nexcept tools.ToolError as error: print(error.code)")
    host, result = run(code, raw="", serve=serve, tools=names)
    *identifiers, last = result["stdout"].split()
    tap.equal((len(set(identifiers)), last), (len(names), "unknown_tool"), identifiers)
    tap.equal(sorted({call["name"] for _, call, _ in host.calls}), sorted(names))
    tap.true(all(word.isidentifier() for word in identifiers), identifiers)
    tap.true(not {"class", "None", "call", "ToolError", "__init__", "__class__", "aio", "names", "describe"} & set(identifiers), identifiers)


tap.run(globals())
