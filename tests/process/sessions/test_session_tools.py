# SPDX-License-Identifier: Apache-2.0
"""Cells of sessions that call tools: what each may call, how its calls end with it, and that time, approval and records are those of a run.
What holds of one call in a run is in test_tool_calls.py. In docker mode (tests/docker/meson.build) run those that a backend decides."""
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import provider as module
import tap
from modes import Provider, adopt_orphans, merged, own_processes, run_cases
from provider import ACCEPTED, NOT_RUN, OK
from tool_host import ALLOW, LATER, AtOnce, ToolHost, add_one, tool, value

AMPLE_MS = 120000
RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.session", "sandbox.exec.tools")
POLICY = {"tools": {"allowed": ["*"], "rate_per_s": 100000}, "sessions": {"max_total": 8, "max_per_principal": 8, "checkpoints": 3},
          "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS}, "cpu_ms": {"default": 300000, "max": 300000}}}
CODES = "import tools\ndef code(function, **arguments):\n    try: return function(**arguments)\n    except tools.ToolError as error: return error.code\n"
IS_OPEN = "import os\ndef is_open(fd):\n    try: os.fstat(fd)\n    except OSError: return False\n    return True\n"
adopt_orphans()
provider = Provider()


def use(**more):
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


def call(code, session="new", serve=add_one, language="python", request=None, **host):
    made = ToolHost(provider, serve, **{"rights": RIGHTS, **host})
    return (made, *provider.invoke({"language": language, "code": code, "session": session, **(request or {})}, made))


def cell(code, session="new", serve=add_one, status="completed", state="kept", tools=None, request=None, language="python", **host):
    """One that its session outlives."""
    members = {**({} if tools is None else {"tools": tools}), **(request or {})}
    made, _, result = call(code, session, serve, language, members, **host)
    tap.equal((result["status"], result["session"] and result["session"]["state"]), (status, state), result)
    return made, result


def begin(code="import tools", tools=("add",), **more):
    return cell(code, tools=list(tools), **more)[1]["session"]["id"]


def printed(code, session, serve=add_one, **more):
    return cell(code, session, serve, **more)[1]["stdout"]


def refused(code, session="new", **more):
    made, status, result = call(code, session, **more)
    tap.equal((status, made.calls, made.requests), (NOT_RUN, [], []), result)
    return result["error"]


def silent(host, token, call):
    """Is asked, and never answers."""


def test_cells_call_and_keep_their_state():
    use()
    first, result = cell("import tools\nadd = tools.add\nx = add(x=1)\nx", tools=["add"])
    session = result["session"]["id"]
    hosts, results = [first], [result]
    for code in "x = tools.add(x=x) + add(x=10)\nprint(x)", "from tools import add as other\nprint(other(x=x), tools.names())":
        host, result = cell(code, session)
        hosts.append(host)
        results.append(result)
    tap.equal([result["stdout"] for result in results], ["", "14\n", "15 ['add']\n"])
    tap.equal([[row["seq"] for row in result["calls"]] for result in results], [[1], [1, 2], [1]])
    for host, result in zip(hosts, results):
        tap.equal([call["run_id"] for _, call, _ in host.calls], [result["run_id"]] * len(result["calls"]))
        tap.equal([record["event"] for record in host.records if record["event"] != "tool_call_end"], ["start", *["tool_call"] * len(result["calls"]), "end"])
        tap.equal({(record["run_id"], record["cell"]["session"]) for record in host.records if record["event"] != "start"}, {(result["run_id"], session)})
    tap.true(any("same tools" in note for note in results[0]["notes"]), results[0]["notes"])


def test_a_cell_that_wants_none_has_none():
    use()
    session = begin("import tools\nadd, before = tools.add, tools.add(x=1)")
    host, result = cell(IS_OPEN + CODES.partition("\n")[2] + "print(is_open(62), before, code(add, x=1))\nimport tools", session, tools=[])
    tap.equal((result["stdout"], result["exception"]["name"], result["calls"] if "calls" in result else [], host.calls),
              ("False 2 unavailable\n", "ModuleNotFoundError", [], []), result)
    own = {"files": [{"path": "tools.py", "content": "mine = [1]"}]}
    tap.equal(printed("import tools, sys\nsys.path.insert(0, '.')\nimport tools as own\nown.mine.append(2)\nprint(own.mine)", session, tools=[], request=own), "[1, 2]\n")
    tap.equal(printed("import tools\nprint(tools.add(x=2), add(x=3))", session), "3 4\n", "ours comes first where there are tools")
    tap.equal(printed("import tools\nprint(tools.mine)", session, tools=[]), "[1, 2]\n", "and the program's own is as it was")


def test_as_many_calls_are_open_as_the_policy_allows():
    code = "with concurrent.futures.ThreadPoolExecutor(40) as pool:\n    print(sum(pool.map(lambda x: tools.add(x=x, y='y' * 3000), range(40))))"
    for most in (40, 2):
        use(tools={"max_in_flight": most, "arguments_bytes": 4096, "call_timeout_ms": 20000})
        session = begin("import concurrent.futures, tools")
        at_once = AtOnce(most)
        tap.equal((printed(code, session, at_once.serve), at_once.most), (f"{sum(range(1, 41))}\n", most))


def expect_ended_for_rubbish(result, state, reason):
    tap.equal((result["status"], result["error"]["code"], result["cause"], result["signal"]), ("killed", "killed_by_signal", "signal", "SIGKILL"), result)
    tap.equal((result["session"]["state"], result["session"]["lost_reason"]), (state, reason), result)
    tap.true(any("neither was the end of the cell" in note for note in result["notes"]), result["notes"])


def test_a_cell_that_writes_what_is_no_frame_is_ended():
    """Its own end is not understood either: so it is ended long before its time is over, and undone. No call of it comes any more."""
    use()
    session = begin("x = 1\n" + CODES)
    host, _, result = call("import os\nx = 2\nos.write(63, b'\\xff' * 5)\nprint(code(tools.add, x=1), code(tools.add, x=2), flush=True)", session)
    expect_ended_for_rubbish(result, "restored", None)
    tap.equal(host.calls, [])
    tap.equal(printed("print(x)", session), "1\n")


def test_a_session_without_checkpoints_is_lost_with_what_is_no_frame():
    use(sessions={"checkpoints": 0})
    result = call("import os\nos.write(63, b'\\xff' * 5)", begin("pass"))[2]
    expect_ended_for_rubbish(result, "lost", "crashed")


def test_a_session_may_get_tools_later():
    use()
    session = begin("x = 1", tools=())
    tap.equal(printed("import tools\nprint(tools.add(x=x))", session, tools=["add"]), "2\n")
    tap.equal(cell("import tools", session)[1]["exception"]["name"], "ModuleNotFoundError", "the session's are those of its first cell")
    session = begin()
    two = ("add", "mail")
    tap.equal(printed("print(tools.names())", session, tools=["*"]), "['add']\n")
    host, _, result = call("print(tools.names())", session, request={"tools": ["mail"]}, tools=two)
    tap.equal(result["stdout"], "['mail']\n", result)
    host, _, result = call("print(tools.names())", session, tools=two)
    tap.equal(result["stdout"], "['add']\n", result)


def test_what_a_later_cell_has_is_looked_at_anew():
    use()
    session = begin()
    for host, code, words in (({"tools": ()}, "not_supported", "offers no tools"), ({"tools": ("mail",)}, "invalid_input", "add"),
                              ({"rights": ("sandbox.exec", "sandbox.exec.session")}, "access_denied", "sandbox.exec.tools=add")):
        made, status, result = call("print(1)", session, **host)
        tap.equal((status, result["error"]["code"], made.calls), (NOT_RUN, code, []), result)
        tap.contains(result["error"]["message"], words)
    tap.contains(refused("1", session, tools=())["hint"], '"tools": []')
    tap.equal(call("print(1)", session, tools=(), request={"tools": []})[2]["stdout"], "1\n")
    tap.equal(printed("print(tools.add(x=1))", session), "2\n", "it has not lost them")


def test_another_principal_has_neither_session_nor_tools():
    use()
    session = begin()
    tap.equal(refused("import tools; tools.add(x=1)", session, context={"principal": "eve"})["code"], "session_not_found")
    tap.equal(printed("print(tools.add(x=1))", session), "2\n")


def test_a_cell_of_another_language_has_the_sessions_tools():
    use()
    session = begin()
    tap.equal(printed("tool --names; tool add '{\"x\": 1}'", session, language="bash"), "add\n2\n")
    tap.equal(printed("tool add; echo $?", session, language="bash", tools=[]), "69\n")
    error = refused("puts 1", session, language="ruby", request={"tools": ["add"]})
    tap.equal((error["code"], "no sessions" in error["message"] or "cannot call tools" in error["message"]), ("not_supported", True), error)
    tap.equal(printed("print(tools.add(x=1))", session), "2\n")


LEFT = """
import threading
ended = []
def left():
    try: tools.add(x=1)
    except tools.ToolError as error: ended.append(error.code)
thread = threading.Thread(target=left)
thread.start()
tools.add(x=2)
"""


def answering_the_second(host, token, call):
    """Of two calls, once both are there."""
    with host.lock:
        ready = [token for token, call, _ in host.calls if call["arguments"]["x"] == 2] if len(host.calls) == 2 else []
    for token in ready:
        host.reply(token, value(0))


def test_a_call_that_is_open_ends_with_its_cell():
    use()
    session = begin()
    host, result = cell(LEFT, session, answering_the_second)
    [open_one] = [token for token, call, _ in host.calls if call["arguments"]["x"] == 1]
    tap.equal((host.cancelled, sorted(row["status"] for row in result["calls"])), ([open_one], ["cancelled", "ok"]))
    tap.equal(provider.reply_call(open_one, value(1)), module.UNKNOWN)
    tap.equal(printed("thread.join(); print(ended, tools.add(x=5))", session), "['unavailable'] 6\n")


def test_a_thread_calls_behind_its_cell_and_in_a_later_one():
    """Between two cells, or in one that has no tools: it cannot tell."""
    use()
    session = begin(IS_OPEN + CODES + """
import threading
answers, go = [], threading.Event()
def work():
    while is_open(62): os.sched_yield()
    answers.append(code(lambda: tools.call('add', {'x': 1})))
    go.wait()
    answers.append(code(tools.add, x=1))
thread = threading.Thread(target=work)
thread.start()
""")
    tap.equal(printed("while not answers: os.sched_yield()\nprint(answers)", session, tools=[]), "['unavailable']\n")
    host, result = cell("go.set(); thread.join(); print(answers)", session)
    tap.equal((result["stdout"], len(host.calls), len(result["calls"])), ("['unavailable', 2]\n", 1, 1), result)


def test_threads_of_a_later_cell_open_its_tools_at_once():
    use()
    session = begin()
    for _ in range(3):
        out = printed("from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(12) as pool: print(list(pool.map(lambda x: tools.add(x=x), range(24))) == list(range(1, 25)))", session)
        tap.equal(out, "True\n")


def test_the_end_of_a_cell_is_no_part_of_another_frame():
    """A thread sends long calls all the time; each cell ends in the middle of one, and nothing of it reaches the next."""
    use(tools={"max_calls": 100000})
    session = begin(CODES + "import threading\nstop, text = threading.Event(), 'x' * 900000\n"
                    "def work():\n    while not stop.is_set(): code(lambda: tools.add(x=1, text=text))\n"
                    "threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]\nfor thread in threads: thread.start()")
    for number in range(12):
        host, result = cell(f"print(code(lambda: tools.add(x={number})))", session)
        tap.equal((result["stdout"], result["session"]["checkpoint"]), (f"{number + 1}\n", "threads"))
    cell("stop.set()\nfor thread in threads: thread.join()", session)


def test_answers_that_a_cell_has_not_read_are_not_the_next_ones():
    """They are more than what lies between gateway and program holds."""
    use()
    session = begin()
    send = ("import json\nfor number in range(1, 9):\n    rest = number.to_bytes(4, 'little') + b'\\3\\0add{\"x\": 1}'\n"
            "    os.write(63, len(rest).to_bytes(4, 'little') + b'\\5' + rest)\n")
    for number in range(3):
        host, result = cell("import os\n" + send + "import select\nselect.select([62], [], [])", session, lambda host, token, call: host.reply(token, value("x" * (1 << 20))))
        tap.equal({row["status"] for row in result["calls"]} <= {"ok", "cancelled"}, True, result)
        tap.equal(printed(f"print(tools.add(x={number}), len(tools.add(x=-1)))", session,
                          lambda host, token, call: host.reply(token, value("y" * (2 << 20) if call["arguments"]["x"] == -1 else call["arguments"]["x"]))), f"{number} {2 << 20}\n")


def test_a_program_with_many_files_keeps_its_tools():
    """What comes with a cell would get their number, as the lowest that is free."""
    use()
    session = begin("import os, tools\nkept = [os.open('/dev/null', os.O_RDONLY)]\nwhile kept[-1] < 51: kept.append(os.dup(kept[0]))")
    for number in range(52, 62):
        out = printed(f"print(tools.add(x={number}))\nif kept[-1] < 61: kept.append(os.dup(kept[0]))", session)
        tap.equal(out, f"{number + 1}\n")


def test_an_event_loop_lives_longer_than_a_call():
    use()
    session = begin("import tools, asyncio\nseen = []\nasync def left():\n    try: await tools.aio.add(x=1)\n    except tools.ToolError as error: seen.append(error.code)\n"
                    "task = asyncio.ensure_future(left())\nawait tools.aio.add(x=2)", serve=answering_the_second)
    tap.equal(printed("await task\nprint(seen, await tools.aio.add(x=4))", session), "['unavailable'] 5\n")


def test_undo_behind_a_call():
    use()
    session = begin("import tools\nx = tools.add(x=0)")
    tap.equal(cell("x = tools.add(x=x)", session)[1]["session"]["checkpoint"], "taken", "the last cell's channel is none of the program's files")
    host, result = cell("print(x, tools.add(x=10))", session, request={"session_action": "undo"})
    tap.equal((result["stdout"], result["session"]["checkpoint"], len(host.calls)), ("1 11\n", "taken", 1))
    host, result = cell("tools.add(x=1)\nimport os\nos._exit(1)", session, state="restored")
    tap.equal((len(result["calls"]), result["calls"][0]["status"]), (1, "ok"))
    host, result = cell(LEFT.replace("tools.add(x=2)\n", "tools.add(x=2)\nimport os\nos._exit(1)\n"), session, answering_the_second, state="restored")
    tap.equal(len(host.cancelled), 1)
    tap.equal(printed("print(x, tools.add(x=20))", session), "1 21\n")
    tap.equal(printed("import os\ncopy = os.dup(62)", session), "")
    tap.equal(cell("tools.add(x=1)", session)[1]["session"]["checkpoint"], "descriptors", "a copy is the program's own")


def test_both_branches_call():
    use()
    session = begin("import tools\nx = tools.add(x=0)")
    host, result = cell("x = tools.add(x=x + 100)\nprint(x)", session, request={"session_action": "fork"})
    fork = result["session"]["id"]
    tap.equal((result["stdout"], len(host.calls)), ("102\n", 1))
    for of, expected in (session, 1), (fork, 102), (session, 1), (fork, 102):
        host, result = cell("print(x, tools.add(x=x))", of)
        tap.equal((result["stdout"], result["session"]["id"], len(host.calls)), (f"{expected} {expected + 1}\n", of, 1))


def test_flows_know_the_calls_of_earlier_cells():
    use(tools={"flows": [{"after": ["add"], "then": ["mail"], "decision": "deny"}]})

    def ran(code, session, *names, **request):
        _, status, result = call(code, session, request={"tools": list(names), **request}, tools=("add", "mail"))
        tap.equal((status, result["status"]), (OK, "completed"), result)
        return result

    def mails(session, **request):
        return ran("print(code(tools.mail, x=1))", session, "mail", **request)["stdout"]

    session, other = (ran(CODES, "new", "mail")["session"]["id"] for _ in "12")
    tap.equal((mails(session), mails(other)), ("2\n", "2\n"))
    fork = ran("x = 1", session, "mail", session_action="fork")["session"]["id"]
    ran("x = tools.add(x=x)", fork, "add")
    tap.equal((mails(fork), mails(session), mails(other)), ("policy_denied\n", "policy_denied\n", "2\n"), "the files of a copy are the session's")
    ran("x = tools.add(x=1)", other, "add")
    tap.equal(mails(other, session_action="undo"), "policy_denied\n", "a file may hold it")


def test_waiting_is_not_a_cells_computing():
    use()
    session = begin()
    out = printed("print(tools.add(x=1))", session, lambda host, token, call: host.reply_later(token, value(2), 1.5), request={"timeout_ms": 500})
    tap.equal(out, "2\n")
    host, result = cell("import threading\nthreading.Thread(target=lambda: tools.add(x=1), daemon=True).start()\nwhile True: pass", session, silent, status="timeout", request={"timeout_ms": 500})
    tap.equal((result["cause"], result["exception"]["name"], host.cancelled), ("wall_timeout", "KeyboardInterrupt", [host.calls[0][0]]), result)
    tap.true(result["duration_ms"] < 20000 * tap.SLOW, result)
    tap.equal(printed("print(tools.add(x=1))", session), "2\n")


def test_processor_time_is_charged_while_a_call_is_open():
    use(limits={"cpu_ms": {"default": 300, "max": 300}})
    session = begin()
    host, result = cell("import threading\nthreading.Thread(target=lambda: tools.add(x=1), daemon=True).start()\nwhile True: pass", session, silent, status="killed")
    tap.equal((result["cause"], len(host.cancelled)), ("cpu_limit", 1), result)
    tap.equal(printed("print(tools.add(x=1))", session), "2\n")


def test_a_cells_waiting_has_a_bound():
    use(tools={"wait_total_ms": 500})
    session = begin()
    for _ in range(2):  # each cell has its own
        host, result = cell("tools.add(x=1)", session, silent, status="timeout", request={"timeout_ms": 300})
        tap.equal((result["exception"]["name"], host.cancelled), ("KeyboardInterrupt", [host.calls[0][0]]), result)
        tap.true(result["duration_ms"] >= 700, result)


def cancelling(host, token, call):
    threading.Timer(0, provider.cancel, (77,)).start()


def test_an_interruption_during_a_call():
    use()
    session = begin("import tools\nx = 5")
    host, result = cell("tools.add(x=1)", session, cancelling, status="cancelled", call_id=77)
    tap.equal((result["exception"]["name"], host.cancelled, result["calls"][0]["status"]), ("KeyboardInterrupt", [host.calls[0][0]], "cancelled"), result)
    host, result = cell(CODES + "try: tools.add(x=1)\nexcept KeyboardInterrupt: print(code(tools.add, x=2), x)", session, cancelling, status="cancelled", call_id=77)
    tap.equal((result["stdout"], len(host.calls)), ("cancelled 5\n", 1), "code that cleans up hears at once that it cannot call")
    tap.equal(printed("print(x, tools.add(x=1))", session), "5 2\n")


class Approver:
    """Answers questions about calls by these decisions in turn; cells are allowed, by a decision of their own where there is one."""

    def __init__(self, *decisions, cells=None):
        self.left, self.cells, self.asked = list(decisions), cells, []
        self.callback = module.REQUEST_APPROVAL(lambda user, token, request, verdict: self.ask(token, request, verdict))

    def ask(self, token, request, verdict):
        request = json.loads(request)
        self.asked.append(request)
        if request.get("kind") == "tool_call":
            verdict[0] = LATER
            threading.Timer(0, provider.reply, (token, self.left.pop(0))).start()
        elif self.cells:
            tap.equal(provider.reply(token, {"decision": self.cells}), ACCEPTED)
        else:
            verdict[0] = ALLOW

    def cell(self, code, session, status="completed", state="kept", tools=("add",), request=None, serve=add_one):
        made = ToolHost(provider, serve, tools, RIGHTS)
        made.struct.request_approval = self.callback
        _, result = provider.invoke({"language": "python", "code": code, "session": session, **(request or {})}, made)
        tap.equal((result["status"], result["session"] and result["session"]["state"]), (status, state), result)
        return made, result


def test_a_call_of_a_cell_is_approved():
    use()
    asked = [tool("add", "ask")]
    approver = Approver({"decision": "allow_run", "approver": "bob"}, {"decision": "allow_once"}, {"decision": "cancel"})
    session = approver.cell("import tools\nprint(tools.add(x=1), tools.add(x=2))", "new", tools=asked, request={"tools": ["add"]})[1]["session"]["id"]
    questions = [request for request in approver.asked if request.get("kind") == "tool_call"]
    tap.equal([request["arguments"] for request in questions], [{"x": 1}])
    made, result = approver.cell("print(tools.add(x=3))", session, tools=asked)
    tap.equal((result["stdout"], len([request for request in approver.asked if request.get("kind") == "tool_call"])), ("4\n", 2), "allow_run is of one cell")
    made, result = approver.cell("tools.add(x=4)", session, "cancelled", tools=asked)
    tap.equal((made.calls, result["exception"]["name"]), ([], "KeyboardInterrupt"), result)
    tap.equal(printed("print(1)", session, tools=[]), "1\n", "the cell was ended, and not its session")


def test_each_question_about_a_cell_shows_its_tools():
    use(approval={"default": "ask"})
    approver = Approver()
    named = {"tools": ["add"]}
    session = approver.cell("import tools", "new", request=named)[1]["session"]["id"]
    approver.cell("tools.add(x=1)", session)
    approver.cell("1", session, request={"tools": []})
    shown = [[entry["name"] for entry in request.get("tool_definitions", [])] for request in approver.asked]
    tap.equal((shown, [request.get("tools") for request in approver.asked]), ([["add"], ["add"], []], [["add"], ["add"], []]), approver.asked)
    tap.equal([record["request_sha256"] for record in approver.cell("1", session)[0].records], [approver.asked[-1]["request_sha256"]] * 2)


def test_allow_cells_is_bound_to_the_tools():
    use(approval={"default": "ask", "decisions": ["once", "cells"]})
    approver = Approver(cells="allow_cells")
    session = approver.cell("import tools", "new", tools=("add", "mail"), request={"tools": ["add"]})[1]["session"]["id"]
    for request in None, {"tools": ["add"]}:
        tap.equal(approver.cell("print(tools.add(x=1))", session, tools=("add", "mail"), request=request)[1]["stdout"], "2\n")
    tap.equal(len(approver.asked), 1, "these have the tools of the approved cell")
    approver.cells = "deny"
    for tools, request in (("add", "mail"), {"tools": ["add", "mail"]}), (("add", "mail"), {"tools": ["mail"]}), (("add",), {"tools": []}), ([tool("add", title="Other")], None):
        asked = len(approver.asked)
        result = deny(approver, session, tools, request)
        tap.equal((len(approver.asked), result["error"]["code"]), (asked + 1, "approval_denied"), (tools, request))
    tap.equal(approver.cell("print(tools.add(x=1))", session)[1]["stdout"], "2\n")


def deny(approver, session, tools, request):
    made = ToolHost(provider, add_one, tools, RIGHTS)
    made.struct.request_approval = approver.callback
    return provider.invoke({"language": "python", "code": "print(1)", "session": session, **(request or {})}, made)[1]


def test_a_host_that_runs_code_of_the_same_session():
    """From inside a call: the session has a cell already, and says so."""
    use()
    session = begin("import tools\nx = 1")
    inner = []

    def serve(host, token, call):
        inner.append(provider.invoke({"language": "python", "code": "print(x)", "session": session}, ToolHost(provider, add_one, rights=RIGHTS))[1])
        host.reply(token, value(1))
    tap.equal(printed("print(tools.add(x=1))", session, serve), "1\n")
    tap.equal(inner[0]["error"]["code"], "session_busy", inner)



def test_no_descriptor_is_left_in_the_backend():
    use()
    session = begin()

    def descriptors():
        return sum(len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir())) for pid in own_processes())

    def some_cells():
        for _ in range(2):
            cell("1", session, tools=[])
            printed("print(tools.add(x=1))", session)
    some_cells()  # from then on there are as many checkpoints as there may be
    before = descriptors()
    some_cells()
    tap.eventually(lambda: descriptors() <= before, f"as many descriptors as before, {before}")


# What else is here is about the gateway or Python's module, which are the same in every mode.
OF_BACKENDS = ("cells_call_and_keep_their_state", "as_many_calls_are_open_as_the_policy_allows", "a_cell_that_writes_what_is_no_frame_is_ended", "a_cell_that_wants_none_has_none", "a_call_that_is_open_ends_with_its_cell",
               "a_thread_calls_behind_its_cell_and_in_a_later_one", "the_end_of_a_cell_is_no_part_of_another_frame",
               "answers_that_a_cell_has_not_read_are_not_the_next_ones", "a_program_with_many_files_keeps_its_tools", "undo_behind_a_call", "both_branches_call", "waiting_is_not_a_cells_computing",
               "processor_time_is_charged_while_a_call_is_open", "a_cells_waiting_has_a_bound", "an_interruption_during_a_call",
               "no_descriptor_is_left_in_the_backend")
run_cases(globals(), OF_BACKENDS, (*OF_BACKENDS, "a_session_without_checkpoints_is_lost_with_what_is_no_frame"))
