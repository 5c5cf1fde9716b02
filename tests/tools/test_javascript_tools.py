# SPDX-License-Identifier: Apache-2.0
"""The global "tools" in a real Node, with this test as the gateway: what a program can write, what it gets, and what happens on the way
when the gateway is slow, ends, or answers in another order."""
import json
import pathlib
import select
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tap
from peer import (ANSWER, HEAD, IN_FLIGHT, NodePeer, base64_of, echo, frame, of_bytes, of_content, of_error, of_json, of_text, run)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
RESULT = 1  # kind of frame: results.js
# In the program: the outcome of a promise, or of what throws at once, as a text.
OUTCOME = "const outcome = async (made) => { try { return await made() } catch (error) { return `${error.name} ${error.code ?? '-'}` } };\n"


def body(program):
    return f"{OUTCOME}(async () => {{\n{program}\n}})();"


def printed(program, respond=echo, **how):
    return run(body(program), respond, NodePeer, **how).splitlines()


def peer_of(program, **how):
    return NodePeer(body(program), **how)


def test_arguments_and_values_are_those_of_the_call():
    values = '[null, true, 1, -2.5, 1e21, \'a"\\\\ü😀\\n\', [], {}, { a: [{ b: null }] }]'
    told = printed(f"""
const values = {values};
console.log(JSON.stringify(await tools.echo({{ values, self: 1, date: new Date(0), absent: undefined }})) ===
    JSON.stringify({{ values, self: 1, date: new Date(0).toJSON() }}));
console.log(JSON.stringify([await tools.echo(), await tools.echo(undefined), await tools.call('jira.search', {{ a: 1 }}), await tools.call('jira_search')]));
""")
    tap.equal(told, ["true", '[{},{},{"a":1},{}]'])


def test_each_form_of_an_answer_has_its_type():
    blocks = [{"type": "text", "text": "one"}, {"type": "image", "mime_type": "image/png", "data": base64_of(PNG)},
              {"type": "resource", "mime_type": "text/csv", "text": "a,b", "uri": "file:///x"},
              {"type": "resource", "data": base64_of(b"PK"), "uri": "file:///y"}]
    forms = {"json": lambda number: of_json(number, [1, None]), "text": lambda number: of_text(number, "a text ü"),
             "bytes": lambda number: of_bytes(number, "image/png", PNG), "content": lambda number: of_content(number, blocks)}
    told = printed("""
console.log(JSON.stringify([await tools.echo({ form: 'json' }), await tools.echo({ form: 'text' })]));
const image = await tools.echo({ form: 'bytes' });
console.log(image instanceof Uint8Array, image.length, image[1], image.mimeType);
const [one, two, three, four] = await tools.echo({ form: 'content' });
console.log(one, two.equals(image), two.mimeType, three.text, three.uri, four.toString(), four.mimeType, four.uri);
""", lambda call: forms[call.arguments["form"]](call.number))
    tap.equal(told, ['[[1,null],"a text ü"]', f"true {len(PNG)} 80 image/png",
                     "one true image/png a,b file:///x PK application/octet-stream file:///y"])


def test_a_failure_rejects():
    told = printed("""
for (const call of [() => tools.echo(), () => tools.call('echo', {})]) {
  const error = await call().catch((reason) => reason);
  console.log(error instanceof tools.ToolError, error instanceof Error, String(error), error.tool, error.code, error.retryable);
  console.log(error.stack.split('\\n').slice(0, 2).join('|').replace(/\\(?\\/.*\\//, ''));
}
""", lambda call: of_error(call.number, "policy_denied", "not here", True))
    line = "true true ToolError: not here echo policy_denied true"
    tap.equal(told, [line, "ToolError: not here|    at main.js:4:33", line, "ToolError: not here|    at main.js:4:53"])


def test_what_is_not_json_is_not_sent():
    program = """
const within = {}, deep = {}, { proxy } = { proxy: new Proxy({}, {}) };
within.within = within;
let last = deep;
for (let i = 0; i < 100000; i++) last = last.a = {};
const values = [1n, Object(1n), () => 1, Symbol('a'), within, deep, new Map(), new Set(), Promise.resolve(1), Buffer.from('a'), new Uint8Array(1), [undefined], [,],
  /a/, new Error('a'), NaN, [-Infinity], Object(NaN), '\\ud800', { ['\\udc00']: 1 }, 'x'.repeat(1 << 20)];
const told = [];
for (const value of values) told.push(await outcome(() => tools.echo({ value })));
for (const value of [1, 'a', null, [], new Map(), { toJSON: () => 'a' }, { toJSON: () => undefined }]) told.push(await outcome(() => tools.echo(value)));
told.push(await outcome(() => tools.echo({}, {})), await outcome(() => tools.echo({ toJSON() { throw new RangeError('mine'); } })));
console.log(told.join('\\n'));
console.log((await tools.echo({ value: 'x'.repeat(1000000), proxy })).value.length);
"""
    with peer_of(program) as peer:
        count = peer.serve(echo)
        told = peer.end().splitlines()
    tap.equal(told, ["TypeError -"] * 15 + ["ToolError invalid_arguments"] * 5 + ["ToolError limit_exceeded"] + ["TypeError -"] * 9 + ["1000000"])
    tap.equal(count, 1, "calls that were sent")


def test_tools_are_properties_of_an_object_without_others():
    names = ["echo", "toString", "valueOf", "hasOwnProperty", "_then", "_constructor", "___proto__", "length", "$"]
    tools = [{"name": name.lstrip("_") if name != "___proto__" else "__proto__", "identifier": name, "input_schema": {}} for name in names]
    told = printed("""
console.log(Object.keys(tools).join(), Object.getPrototypeOf(tools), 'then' in tools, tools.constructor, (await tools) === tools);
console.log(tools.echo.name, await tools.___proto__(), await tools.toString({ a: 1 }), await tools.call('then'), await tools.call('__proto__'));
console.log(tools.names().length, tools.search('then').join(), typeof tools.then, tools.nothing);
console.log(await outcome(() => tools.call('constructo')), await outcome(() => tools.call('nothing')), await outcome(() => tools.describe('nothing')));
""", tools=tools)
    tap.equal(told, [",".join(names) + " null false undefined true", "echo {} { a: 1 } {} {}", "9 then undefined undefined",
                     "ToolError unknown_tool ToolError unknown_tool ToolError unknown_tool"])


def test_what_is_told_of_tools():
    told = printed("""
console.log(tools.names().join(), tools.search('issues').join(), tools.search('the DATABASE rows').join(), tools.search('').join(), tools.search('zzz').length);
const found = tools.describe('jira_search');
console.log(found.name, found.input_schema.additionalProperties, tools.describe('query_database').title);
found.name = 'mine';
console.log(tools.describe('jira.search').name);
console.log((await tools.call('query').catch((error) => error)).message);
""")
    tap.equal(told, ["echo,query_database,jira.search jira.search query_database echo,query_database,jira.search 0",
                     "jira.search true Query the database", "jira.search", "this run has no such tool; it has query_database"])


def test_a_program_may_have_the_name_for_itself():
    for program in ("const tools = 5; console.log(tools)", "var tools = 5; console.log(tools)", "function tools() { return 5 } console.log(tools())",
                    "globalThis.tools = 5; console.log(tools)", "tools = 5; console.log(tools)", "const { tools = 5 } = {}; console.log(tools)",
                    "require('vm').runInThisContext('let tools = 5; console.log(tools)')", "'use strict'; delete globalThis.tools; globalThis.tools = 5; console.log(tools)"):
        tap.equal(run(program, kind=NodePeer), "5\n", program)
    own = {"mine.js": "exports.add = async () => (await tools.echo({ a: 1 })).a;"}
    tap.equal(run("require('./mine.js').add().then(console.log)", kind=NodePeer, files=own), "1\n", "a module of the program")


def test_an_es_module_has_them():
    own = {"other.mjs": "export const twice = async (a) => 2 * (await tools.echo({ a })).a;"}
    program = "import { twice } from './other.mjs';\nconsole.log(await tools.echo({ a: 1 }), await twice(4), await (await import('./other.mjs')).twice(1));"
    tap.equal(run(program, kind=NodePeer, files=own, name="main.mjs"), "{ a: 1 } 8 2\n")
    tap.equal(run("const tools = 5; console.log(tools);", kind=NodePeer, name="main.mjs"), "5\n")


def test_nothing_is_there_without_tools():
    tap.equal(run("console.log(typeof tools, 'tools' in globalThis)", kind=NodePeer, tools=None), "undefined false\n")


def test_nothing_is_loaded_before_the_first_use():
    program = """
const seen = () => watched.filter((file) => /(tools|tool_channel)\\.js$/.test(file)).length;
const cached = Object.keys(require.cache).length;
console.log(seen(), Object.keys(globalThis).includes('tools'));
tools.names();
console.log(seen(), Object.keys(require.cache).length - cached, process.getActiveResourcesInfo().length);
"""
    watch = """
const fs = require('fs'), { readFileSync } = fs;
globalThis.watched = [];
fs.readFileSync = (file, ...more) => { watched.push(String(file)); return readFileSync(file, ...more); };
"""
    peer = NodePeer(program, files={"watch.js": watch})
    peer.variables = {"NODE_OPTIONS": "--require ./watch.js"}
    with peer:
        tap.equal(peer.end().splitlines(), ["0 false", "2 0 0"])


def test_open_calls_keep_the_program_alive_and_nothing_else_does():
    program = "tools.names(); tools.echo({ a: 1 }).then((told) => { console.log(told); process.on('exit', () => console.log('end')); });\nconsole.log('first');"
    tap.equal(run(program, kind=NodePeer).splitlines(), ["first", "{ a: 1 }", "end"])
    with NodePeer("tools.echo({}).then(() => console.log('answered')); process.exit(3)") as peer:
        peer.next_call()
        tap.equal(peer.end(3), "", "process.exit() waits for nothing")


def test_timers_go_on_while_a_call_is_open():
    with peer_of("const answer = tools.echo({ a: 1 });\nawait new Promise((resolve) => setTimeout(resolve, 1));\nawait tools.echo({ a: 2 });\nconsole.log(await answer);") as peer:
        first, second = peer.calls(2)  # the second one comes although the first one is not answered
        peer.send(echo(second) + echo(first))
        tap.equal(peer.end(), "{ a: 1 }\n")


def test_no_more_are_in_flight_and_none_is_lost():
    program = "const told = await Promise.all(Array.from({ length: 100 }, (_, a) => tools.echo({ a })));\nconsole.log(told.every(({ a }, at) => a === at), told.length);"
    for most in (1, IN_FLIGHT, 100):
        with peer_of(program, most=most) as peer:
            waiting, last = peer.calls(most), 0
            for _ in range(100 - most):
                tap.equal(select.select([peer.results], [], [], 0)[0], [], f"{most}: more in flight")
                call = waiting.pop(last)
                last = len(waiting) - last  # the newest, the oldest, and so on
                peer.send(echo(call))
                waiting.append(peer.next_call())
            tap.equal(sorted(call.arguments["a"] for call in waiting)[-1], 99)
            for call in waiting:
                peer.send(echo(call))
            tap.equal(peer.end(), "true 100\n")


def test_a_seventeenth_call_waits():
    program = "const told = Array.from({ length: 17 }, (_, a) => tools.echo({ a }));\ndisplay('one');\nconsole.log((await Promise.all(told)).length);"
    with peer_of(program) as peer:
        calls = peer.calls(IN_FLIGHT)
        peer.send(echo(calls[0]))
        last = peer.next_call()
        tap.equal((len(peer.frames), last.arguments), (1, {"a": 16}), "what was displayed after 17 calls came before the last one")
        for call in [*calls[1:], last]:
            peer.send(echo(call))
        tap.equal(peer.end(), "17\n")


def test_large_calls_and_large_answers_at_once():
    """The gateway first wants to get rid of its answers, and the pipe has no room for the calls: the program reads meanwhile."""
    text = "x" * (1 << 22)
    program = f"""
const told = await Promise.all(Array.from({{ length: 32 }}, (_, a) => tools.echo({{ a, filled: 'y'.repeat(1000000) }})));
console.log(told.every((answer) => answer.length === {len(text)}), told.length);
"""
    with peer_of(program) as peer:
        first = peer.calls(2)
        for call in first:  # more than the socket takes; the other calls have not been read
            peer.send(of_text(call.number, text))
        peer.serve(lambda call: of_text(call.number, text))
        tap.equal(peer.end(), "true 32\n")


def test_results_are_whole_between_calls():
    """A result that is displayed while the pipe is full of calls comes behind them, at once; the program reads answers meanwhile."""
    program = """
const calls = Array.from({ length: 8 }, (_, a) => tools.echo({ a, filled: 'y'.repeat(500000) }));
for (let i = 0; i < 20; i++) display(`${i} ${'z'.repeat(20000)}`);
console.log((await Promise.all(calls)).length);
display('last');
"""
    with peer_of(program) as peer:
        first = peer.next_call()
        peer.send(of_text(first.number, "x" * (1 << 22)))
        tap.equal(peer.serve(lambda call: of_text(call.number, "x" * (1 << 20))), 7)
        tap.equal(peer.end(), "8\n")
        texts = [json.loads(payload)["data"]["application/json"] for kind, payload in peer.frames if kind == RESULT]
    tap.equal([text.split()[0] for text in texts], [*map(str, range(20)), "last"])


def test_a_program_that_ends_while_a_call_is_being_written():
    """It does not end in the middle of a frame."""
    with NodePeer("tools.echo({ filled: 'y'.repeat(1000000) });\nprocess.exit(0)") as peer:
        tap.equal(len(peer.next_call().arguments["filled"]), 1000000)
        tap.equal(peer.end(), "")
    error = NodePeer("tools.echo({ filled: 'y'.repeat(1000000) });\nthrow new Error('mine')")
    with error as peer:
        peer.next_call()
        peer.end(1)
        tap.equal([json.loads(payload)["value"] for _, payload in peer.frames], ["mine"])


def test_answers_in_pieces_and_answers_that_nobody_waits_for():
    def cut(call):
        noise = [frame(9, b"a kind"), frame(ANSWER, b"abc"), frame(ANSWER, struct.pack("<IB", 4711, 1) + b"1"), frame(1, b"[]"), frame(ANSWER, b"")]
        return b"".join(noise) + echo(call) + echo(call)
    tap.equal(printed("console.log(await tools.echo({ a: 1 }), await tools.echo({ a: 2 }), tools.names()[0])", cut), ["{ a: 1 } { a: 2 } echo"])
    with peer_of("console.log(await tools.echo({ a: 1 }))\nconsole.log(await tools.echo({ a: 2 }))") as peer:
        data = echo(peer.next_call())
        for at in range(len(data)):
            peer.send(data[at:at + 1])
        peer.send(echo(peer.next_call()))
        tap.equal(peer.end(), "{ a: 1 }\n{ a: 2 }\n")


def test_the_end_of_the_gateway_rejects_all_calls():
    program = "const told = await Promise.all(Array.from({ length: 20 }, () => outcome(() => tools.echo())));\nconsole.log(new Set(told), told.length, await outcome(() => tools.echo()));\ndisplay(1);"
    for data in b"", HEAD.pack(100, ANSWER) + b"half", HEAD.pack(0xffffffff, ANSWER):
        with peer_of(program) as peer:
            peer.calls(IN_FLIGHT)
            peer.send(data)
            if not data.startswith(b"\xff"):  # that is the end by itself
                peer.close_replies()
            tap.equal(peer.end(), "Set(1) { 'ToolError unavailable' } 20 ToolError unavailable\n")
            tap.equal([kind for kind, _ in peer.frames], [RESULT], "results go on")


def test_another_form_of_answer():
    told = printed("for (let i = 0; i < 2; i++) console.log(await outcome(() => tools.echo({ i })));",
                   lambda call: [frame(ANSWER, struct.pack("<IB", call.number, 9)), of_json(call.number, 1)][call.arguments["i"]])
    tap.equal(told, ["ToolError unavailable", "1"])


def test_a_program_that_closes_the_descriptors():
    for fd in 62, 63:
        with peer_of(f"await tools.echo();\nrequire('fs').closeSync({fd});\nconsole.log(await outcome(() => tools.echo()));\nconsole.log(await outcome(() => require('fs').closeSync({fd})));") as peer:
            peer.send(echo(peer.next_call()))
            tap.equal(peer.end(), "ToolError unavailable\nError EBADF\n", fd)
    with peer_of("console.log(await outcome(() => tools.echo()))", tools=[]) as peer:
        tap.equal(peer.end(), "TypeError -\n", "no tool of that name")
    with NodePeer("try { tools } catch (error) { console.log(error.name, error.code) }", tools="none") as peer:
        peer.close_replies()
        tap.equal(peer.end(), "ToolError unavailable\n", "the gateway tells nothing")


def test_a_rejection_that_nobody_handles_is_readable():
    with NodePeer("async function work() {\n  await tools.echo({ a: 1 });\n}\nwork();") as peer:
        peer.send(of_error(peer.next_call().number, "policy_denied", "not here"))
        peer.end(1)
        errors = peer.read(peer.errors)
        [(_, payload)] = peer.frames
    for part in "ToolError: not here", "at work (", "main.js:2:15", "code: 'policy_denied'", "tool: 'echo'":
        tap.contains(errors, part)
    tap.lacks(errors, "tool_channel.js")
    told = json.loads(payload)
    tap.equal((told["name"], told["value"], told["frames"][-1]["line"], told["frames"][-1]["function"]), ("ToolError", "not here", 2, "work"))


def test_a_thread_and_a_child_have_none():
    program = """
const { Worker } = require('worker_threads');
const tell = "require('worker_threads').parentPort.postMessage(typeof globalThis.tools)";
console.log(await new Promise((resolve) => new Worker(tell, { eval: true, execArgv: [] }).once('message', resolve)));
console.log(require('child_process').execFileSync(process.execPath, ['-p', 'typeof tools']).toString().trim());
console.log(await tools.echo({ a: 1 }));
"""
    tap.equal(printed(program), ["undefined", "undefined", "{ a: 1 }"])


tap.run(globals())
