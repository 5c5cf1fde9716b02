# SPDX-License-Identifier: Apache-2.0
"""Cells in JavaScript that call tools: the object is there in cells that have some, and what is open or left behind ends with its cell.
What the gateway does is the same for all languages (test_session_tools.py)."""
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import modes
import provider as module
import tap
from modes import Provider, adopt_orphans, merged
from provider import OK
from tool_host import AtOnce, ToolHost, add_one, value

AMPLE_MS = 120000
INTERRUPTED = "Script execution was interrupted by `SIGINT`"
RIGHTS = ("sandbox.exec", "sandbox.exec.files", "sandbox.exec.session", "sandbox.exec.tools")
POLICY = {"tools": {"allowed": ["*"], "rate_per_s": 100000, "max_calls": 100000}, "sessions": {"max_total": 8, "max_per_principal": 8},
          "limits": {"wall_ms": {"default": AMPLE_MS, "max": AMPLE_MS}, "cpu_ms": {"default": 300000, "max": 300000}}}
# The code of the error that a promise is rejected with, or its value.
CODES = "const code = (promise) => promise.catch((error) => error.code ?? String(error));\n"
adopt_orphans()
provider = Provider()


def use(**more):
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


def cell(code, session="new", serve=add_one, status="completed", wanted=None, request=None, language="javascript", **host):
    """One that its session outlives."""
    made = ToolHost(provider, serve, **{"rights": RIGHTS, **host})
    members = {**({} if wanted is None else {"tools": wanted}), **(request or {})}
    result = provider.invoke({"language": language, "code": code, "session": session, **members}, made)[1]
    tap.equal((result["status"], result["session"] and result["session"]["state"]), (status, "kept"), result)
    return made, result


def begin(code="", wanted=("add",), **more):
    return cell(CODES + code, wanted=list(wanted), **more)[1]["session"]["id"]


def printed(code, session, serve=add_one, **more):
    result = cell(code, session, serve, **more)[1]
    tap.equal((result["stderr"], result["exception"]), ("", None), result)
    return result["stdout"]


def silent(host, token, call):
    """Is asked, and never answers."""


def answering_the_second(host, token, call):
    """Of two calls, once both are there."""
    with host.lock:
        ready = [token for token, call, _ in host.calls if call["arguments"]["x"] == 2] if len(host.calls) == 2 else []
    for token in ready:
        host.reply(token, value(0))


def test_as_many_calls_are_open_as_the_policy_allows():
    code = "console.log((await Promise.all(Array.from({ length: 40 }, (_, x) => tools.add({ x, y: 'y'.repeat(3000) })))).length)"
    for most in (40, 2):
        use(tools={"max_in_flight": most, "arguments_bytes": 4096, "call_timeout_ms": 20000})
        session = begin()
        at_once = AtOnce(most)
        tap.equal((printed(code, session, at_once.serve), at_once.most), ("40\n", most))


def test_a_cell_that_writes_what_is_no_frame_is_ended():
    """Its own end is not understood either: so it is ended long before its time is over. No call of it comes any more."""
    use()
    session = begin()
    made = ToolHost(provider, add_one, rights=RIGHTS)
    program = "require('fs').writeSync(63, Buffer.alloc(5, 0xff));\nconsole.log(await code(tools.add({ x: 1 })), await code(tools.add({ x: 2 })));"
    result = provider.invoke({"language": "javascript", "code": program, "session": session}, made)[1]
    tap.equal((result["cause"], made.calls, result["session"]["state"], result["session"]["lost_reason"]), ("signal", [], "lost", "crashed"), result)


def test_cells_call_and_keep_their_state():
    """A function of an earlier cell calls too, also before this one has asked for the object."""
    use()
    first, result = cell("const add = tools.add;\nlet x = await tools.add({ x: 1 });\nx", wanted=["add"])
    session = result["session"]["id"]
    hosts, results = [first], [result]
    for code in "x = await add({ x }) + await tools.add({ x: 10 });\nconsole.log(x)", "display('between'); console.log(await tools.call('add', { x }), tools.names(), tools.add === add)":
        host, result = cell(code, session)
        hosts.append(host)
        results.append(result)
    tap.equal([result["stdout"] for result in results], ["", "14\n", "15 [ 'add' ] false\n"])
    tap.equal([[row["text"] for row in result["results"]] for result in results], [["2"], [], ["'between'"]])
    tap.equal([[row["seq"] for row in result["calls"]] for result in results], [[1], [1, 2], [1]])
    for host, result in zip(hosts, results):
        tap.equal([call["run_id"] for _, call, _ in host.calls], [result["run_id"]] * len(result["calls"]))
    tap.equal({name for result in results for name in result["session"]["defined"]}, {"add", "x"}, "the object is no name of a cell's")


def test_cells_with_tools_and_without():
    use()
    look = "console.log(typeof tools, 'tools' in globalThis, require('fs').existsSync('/proc/self/fd/62'));\n"
    session = begin(look, wanted=())
    tap.equal(printed("globalThis.kept = tools; const add = tools.add; console.log(await add({ x: 1 }))", session, wanted=["add"]), "2\n", "a session gets tools later")
    out = printed(look + "console.log(await code(add({ x: 1 })), await code(kept.call('add')))\ntry { kept.names() } catch (error) { console.log(error.code) }", session)
    tap.equal(out, "undefined false false\nunavailable unavailable\nunavailable\n", "the session's are those of its first cell")
    tap.equal(printed(look + "console.log(kept.names(), await kept.add({ x: 2 }), await tools.add({ x: 3 }))", session, wanted=["add"]), "object true true\n[ 'add' ] 3 4\n")
    tap.equal(printed(look, session), "undefined false false\n", "one that was offered, and looked at by no more than its name")


def test_a_global_of_the_program():
    use()
    session = begin("globalThis.tools = { add: () => 5 }")
    for wanted in [], ["add"], []:
        tap.equal(printed("console.log(tools.add())", session, wanted=wanted), "5\n")
    tap.equal(printed("delete globalThis.tools", session), "")
    tap.equal(printed("console.log(await tools.add({ x: 1 }))", session), "2\n")


def test_each_cell_has_the_tools_that_it_names():
    use()
    two = ("add", "mail")
    session = begin("globalThis.add = tools.add", two, tools=two)
    tap.equal(printed("console.log(tools.names(), await code(add({ x: 1 })))", session, wanted=["mail"], tools=two), "[ 'mail' ] unknown_tool\n")
    tap.equal(printed("console.log(tools.names(), await code(add({ x: 1 })))", session, tools=two), "[ 'add', 'mail' ] 2\n")


def test_a_call_that_is_open_ends_with_its_cell():
    """A rejection that nobody handles is not reported then, because it may be too late for the cell's output."""
    use()
    session = begin("const seen = []; process.on('uncaughtException', (error) => seen.push(error.code ?? error.message))")
    host, result = cell("const left = tools.add({ x: 1 }); const other = (async () => { await tools.add({ x: 3 }) })();\nawait tools.add({ x: 2 })", session, answering_two_of_three)
    open_ones = [token for token, call, _ in host.calls if call["arguments"]["x"] != 2]
    tap.equal((sorted(host.cancelled), sorted(row["status"] for row in result["calls"]), result["stderr"]), (sorted(open_ones), ["cancelled", "cancelled", "ok"], ""))
    tap.equal([provider.reply_call(token, value(1)) for token in open_ones], [module.UNKNOWN] * 2)
    tap.equal(printed("console.log(seen.join()); Promise.reject(new Error('mine')); 0", session), "\n")
    result = cell("console.log(await code(left), await code(other), await tools.add({ x: 5 }))", session)[1]
    tap.equal(result["stdout"], "unavailable unavailable 6\n")
    tap.lacks(result["stderr"], "ToolError", "what Node itself says of a promise that is looked at late is the only thing")
    tap.equal(printed("tools.add({ x: 'one' });\nawait tools.add({ x: 1 }); 0", session), "")
    tap.equal(printed("console.log(seen.join())", session), "mine,invalid_arguments\n", "others are reported")


def answering_two_of_three(host, token, call):
    with host.lock:
        ready = [token for token, call, _ in host.calls if call["arguments"]["x"] == 2] if len(host.calls) == 3 else []
    for token in ready:
        host.reply(token, value(0))


def test_code_left_behind_calls_in_a_later_cell():
    """Between two cells, or in one that has no tools, it cannot; then its call is that of the cell under way."""
    use()
    session = begin("""
const answers = [];
let go;
const goes = new Promise((resolve) => { go = resolve; });
const { add } = tools;
const turn = () => new Promise((resolve) => setTimeout(resolve, 1));
const left = (async () => {
  while (await code(add({ x: 1 })) !== 'unavailable') await turn();
  answers.push('unavailable');
  await goes;
  answers.push(await code(add({ x: 1 })));
})();
""")
    tap.equal(printed("while (answers.length === 0) await turn(); console.log(answers.join())", session, wanted=[]), "unavailable\n")
    host, result = cell("go(); await left; console.log(answers.join())", session)
    tap.equal((result["stdout"], len(host.calls), len(result["calls"])), ("unavailable,2\n", 1, 1), result)


def test_the_end_of_a_cell_is_no_part_of_another_frame():
    """Long calls are made all the time; each cell ends in the middle of one, and nothing of it reaches the next."""
    use()
    session = begin("let stop = false; const text = 'x'.repeat(900000); const { add } = tools;\n"
                    "const work = async () => { while (!stop) { await code(add({ x: 1, text })); await new Promise(setImmediate); } };\nconst all = [work(), work(), work()];")
    for number in range(12):
        tap.equal(printed(f"console.log(await code(tools.add({{ x: {number} }})))", session), f"{number + 1}\n")
    tap.equal(printed("stop = true; await Promise.all(all); console.log('end')", session), "end\n")


def cancelling(host, token, call):
    threading.Timer(0, provider.cancel, (77,)).start()


def test_an_interruption_during_a_call():
    use()
    session = begin("let x = 5")
    host, result = cell("await tools.add({ x: 1 })", session, cancelling, status="cancelled", call_id=77)
    tap.equal((result["exception"]["value"], host.cancelled, result["calls"][0]["status"]), (INTERRUPTED, [host.calls[0][0]], "cancelled"), result)
    host, result = cell("tools.add({ x: 1 }); for (;;);", session, silent, status="timeout", request={"timeout_ms": 300})
    tap.equal((result["exception"]["value"], host.cancelled), (INTERRUPTED, [host.calls[0][0]]), result)
    tap.equal(printed("console.log(x, await tools.add({ x: 1 }))", session), "5 2\n")


def test_a_later_cell_hears_nothing_of_rejections_of_an_earlier_one():
    """Node warns where one that nobody had handled is handled after all."""
    use()
    handled = "for (const one of [first, second, third]) one.catch(() => {});\nawait new Promise((resolve) => setTimeout(resolve, 20));\nconsole.log(await code(first), await code(second), await code(third));"
    for tools in [], None:
        session = begin()
        _, result = cell("let first = tools.add({ x: 1 }), second = tools.add({ x: 2 }).then((x) => x), third = (async () => { await tools.add({ x: 3 }) })();", session, silent)
        tap.equal(result["stderr"], "")
        tap.equal(printed(handled, session, wanted=tools), "unavailable unavailable unavailable\n")
    own = cell("let own = Promise.reject(new Error('mine')); await null;", session)[1]
    tap.contains(own["stderr"], "mine")
    tap.contains(cell("own.catch(() => {}); await new Promise((resolve) => setTimeout(resolve, 20))", session)[1]["stderr"], "PromiseRejectionHandledWarning", "control: of the program's own")


# Each write takes as long as the next cell says; which kinds of frames were begun since.
SLOW_WRITES = """
const fs = require('fs');
const { writeSync } = fs;
let slow = 0, begun = [];
fs.writeSync = (...given) => {
  begun.push(given[1][4]);
  const count = writeSync(...given);
  for (const end = Date.now() + slow; Date.now() < end;);
  return count;
};
tools.names(); // loads what takes the function from there
fs.writeSync = writeSync;
"""
CALL, RESULT = 5, 1  # kinds of frames


def test_an_interruption_in_the_middle_of_a_frame():
    """Code is not stopped between a write and our noting it: the frame would be written again. How much of stacks the program wants to see
    has no part in it."""
    use()
    session = begin(SLOW_WRITES)
    for limit in 10, 3, 0:
        for code, kind in ("tools.add({ x: 1 })", CALL), ("tools.names(); display(1)", RESULT):
            code = f"Error.stackTraceLimit = {limit}; slow = 500; begun = []; {code}; for (;;);"
            host, result = cell(code, session, silent, status="timeout", request={"timeout_ms": 100})
            tap.equal((result["exception"]["value"], len(host.calls), len(result["results"])), (INTERRUPTED, int(kind == CALL), int(kind == RESULT)), result)
            out = printed(f"slow = 0; Error.stackTraceLimit = 10; console.log(begun.filter((kind) => kind === {kind}).length, await tools.add({{ x: 1 }}))", session)
            tap.equal(out, "1 2\n", (limit, kind))


def test_interruptions_while_calls_are_written():
    use()
    session = begin("const text = 'x'.repeat(100000)")
    for number in range(3):
        host, result = cell("for (;;) { tools.add({ x: 1, text }).catch(() => {}); display(text); }", session, silent, status="timeout", request={"timeout_ms": 100 + 20 * number})
        tap.equal(result["exception"]["value"], INTERRUPTED, result)
        tap.equal(printed(f"console.log(await tools.add({{ x: {number} }}))", session), f"{number + 1}\n")


def test_exit_and_failure_with_calls_open():
    use()
    session = begin()
    for code, status, name in ("process.exit(3)", 3, None), ("throw new TypeError('mine')", 1, "TypeError"):
        host, result = cell(f"tools.add({{ x: 1 }}); await tools.add({{ x: 2 }}); {code}", session, answering_the_second)
        tap.equal((result["exit_code"], result["exception"] and result["exception"]["name"], len(host.cancelled)), (status, name, 1), result)
        tap.equal(printed("console.log(await tools.add({ x: 1 }))", session), "2\n")


def test_waiting_is_not_a_cells_computing():
    use()
    session = begin()
    out = printed("console.log(await tools.add({ x: 1 }))", session, lambda host, token, call: host.reply_later(token, value(2), 1.5), request={"timeout_ms": 500})
    tap.equal(out, "2\n")


def test_threads_of_a_cell_cannot_call():
    use()
    session = begin("const { Worker } = require('worker_threads');\n"
                    "const told = () => new Promise((resolve) => new Worker(\"let told; try { told = typeof tools } catch (error) { told = error.code } require('worker_threads').parentPort.postMessage(told)\", { eval: true }).once('message', resolve));")
    seen = "undefined" if modes.MODE == "docker" else "unavailable"  # nothing of ours is loaded by a thread in a container
    tap.equal(printed("console.log(await told(), await tools.add({ x: 1 }))", session), f"{seen} 2\n")
    tap.equal(printed("console.log(await told())", session, wanted=[]), "undefined\n")


# In docker mode too (tests/docker/meson.build), in an image that has the machine's Node.
OF_BACKENDS = ("cells_call_and_keep_their_state", "cells_with_tools_and_without", "a_call_that_is_open_ends_with_its_cell", "code_left_behind_calls_in_a_later_cell",
               "the_end_of_a_cell_is_no_part_of_another_frame", "an_interruption_during_a_call", "interruptions_while_calls_are_written",
               "waiting_is_not_a_cells_computing", "threads_of_a_cell_cannot_call",
               "as_many_calls_are_open_as_the_policy_allows", "a_cell_that_writes_what_is_no_frame_is_ended")
modes.run_with_node(globals(), OF_BACKENDS, POLICY)
