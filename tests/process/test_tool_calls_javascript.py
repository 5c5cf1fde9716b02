# SPDX-License-Identifier: Apache-2.0
"""Programs in JavaScript call tools of a real provider, inside the sandbox: what the host gets, what the program gets, and each way in
which it can go wrong. In docker mode those cases that the way between gateway and program decides. tests/tools/ has what the object
"tools" does by itself."""
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import engine
import tap
from modes import MODE, POOL, Provider, adopt_orphans, at_home, run_with_node
from provider import ACCEPTED, NOT_RUN, OK, UNKNOWN
from tool_host import DENY, AtOnce, ToolHost, add_one, text, value

AMPLE_MS = 120000
RIGHTS = ("sandbox.exec", "sandbox.exec.tools", "sandbox.exec.files")
# In the program: the code of the error that a promise is rejected with, or its value.
OUTCOME = "const outcome = (promise) => promise.catch((error) => error.code ?? error.name);\n"
adopt_orphans()
provider = Provider()
IMAGES = {}  # in docker mode


def use(ready=0, **tools):
    policy = {"tools": {"allowed": ["*"], "rate_per_s": 100000, **tools}, "capabilities": list(RIGHTS), "limits": {"wall_ms": {"default": 30000, "max": AMPLE_MS}}, **IMAGES}
    if MODE != "docker":
        policy["pools"] = {"process": {"ready": ready, "most": ready}}
    tap.equal(provider.change_policy(policy), OK)


def run(code, serve=add_one, wanted=("add",), request=None, **host):
    made = ToolHost(provider, serve, rights=RIGHTS, **host)
    status, result = provider.invoke({"language": "javascript", "code": code, "tools": list(wanted), **(request or {})}, made)
    return made, status, result


def printed(program, serve=add_one, **more):
    """What the body of an async function prints."""
    host, _, result = run(f"{OUTCOME}(async () => {{\n{program}\n}})();", serve, **more)
    tap.equal((result["status"], result["exit_code"]), ("completed", 0), result)
    return host, result, result["stdout"]


def values_of(result):
    return [row["text"] for row in result["results"]]


def test_a_call_reaches_the_host_and_its_answer_the_program():
    use()
    host, result, out = printed("const rows = await Promise.all([1, 2, 3].map((x) => tools.add({ x })));\ndisplay(rows.length);\nconsole.log(rows.join(), tools.names().join());")
    tap.equal((out, values_of(result), result["notes"]), ("2,3,4 add\n", ["3"], []))
    tap.equal([(call["arguments"], call["seq"], call["name"]) for _, call, _ in host.calls], [({"x": x}, x, "add") for x in (1, 2, 3)])
    tap.true(host.calls[0][2].endswith(b'"arguments":{"x":1}}'), host.calls[0][2])
    tap.equal([row["status"] for row in result["calls"]], ["ok"] * 3)
    tap.equal(values_of(run("tools.names().length + 1")[2]), ["2"], "the value of the last expression")


def test_as_many_calls_are_open_as_the_policy_allows():
    program = "const told = await Promise.all(Array.from({ length: 40 }, (_, x) => tools.add({ x, y: 'y'.repeat(3000) })));\nconsole.log(told.reduce((sum, x) => sum + x, 0));"
    for most in (2, 40):
        use(max_in_flight=most, arguments_bytes=4096, call_timeout_ms=20000)
        at_once = AtOnce(most)
        tap.equal((printed(program, at_once.serve)[2], at_once.most), (f"{sum(range(1, 41))}\n", most))


def test_behind_what_is_no_frame_calls_fail_at_once():
    use()
    spoil = "require('fs').writeSync(63, Buffer.alloc(5, 0xff));\n"
    for before, said in ("", ""), ("console.log(await tools.add({ x: 1 }));\n", "2\n"):
        program = before + spoil + "console.log(await outcome(tools.add({ x: 1 })), await outcome(tools.add({ x: 2 })));"
        tap.equal(printed(program)[2], said + "unavailable unavailable\n")


def test_in_a_node_that_waits():
    use(ready=2)
    tap.equal(printed("console.log(await tools.add({ x: 1 }))")[2], "2\n")
    tap.eventually(lambda: provider.pool()[1]["node"]["ready"], "a Node waits", 60)
    tap.equal(printed("console.log(await tools.add({ x: 1 }))")[2], "2\n")
    tap.eventually(lambda: provider.pool()[1]["node"]["ready"], "a Node waits", 60)
    tap.equal(run("console.log(typeof tools, 'tools' in globalThis)", wanted=())[2]["stdout"], "undefined false\n", "a run without tools")


def test_in_a_container_that_waits_and_in_one_of_its_own():
    use()
    for _ in range(20):  # one that is being made when the run comes does not wait
        tap.eventually(lambda: len(engine.waiting()) == POOL == len(engine.containers()), f"{POOL} wait", 60)
        before = provider.counters()["sandboxes_ready"]
        tap.equal(printed("console.log(await tools.add({ x: 1 }))")[2], "2\n")
        if provider.counters()["sandboxes_ready"] > before:
            break
    else:
        raise AssertionError("no container was ready")
    tap.equal(run("console.log(typeof tools, 'tools' in globalThis)", wanted=())[2]["stdout"], "undefined false\n", "a run without tools")
    provider.reset()
    tap.equal(provider.use_policy({"pools": {"docker": {"ready": 0}}, "tools": {"allowed": ["*"]}, "capabilities": list(RIGHTS), **IMAGES}), OK)
    before = provider.counters()["sandboxes_ready"]
    tap.equal(printed("console.log(await tools.add({ x: 1 }))")[2], "2\n")
    tap.equal(provider.counters()["sandboxes_ready"], before)


def test_es_modules_and_a_name_of_the_program():
    use()
    files = [{"path": "package.json", "content": '{"type": "module"}'}]
    tap.equal(run("console.log(await tools.add({ x: 1 }))", request={"files": files})[2]["stdout"], "2\n")
    for code in ("const tools = { add: () => 5 }; console.log(tools.add())", "globalThis.tools = { add: () => 5 }; console.log(tools.add())"):
        host, _, result = run(code)
        tap.equal((result["stdout"], host.calls), ("5\n", []), code)


def test_names_of_tools():
    use()
    names = ["add", "then", "constructor", "__proto__", "toString", "jira.find", "jira_find", "a-b", "class", "1st", "call"]
    host, _, out = printed("console.log(Object.keys(tools).join(' '), (await tools) === tools);\nfor (const name of Object.keys(tools)) await tools[name]({ x: 1 });\n"
                           "for (const name of tools.names()) await tools.call(name, { x: 1 });", tools=names, wanted=["*"])
    tap.equal(out.split()[-1], "true", "the object is no promise")
    tap.equal(sorted(call["name"] for _, call, _ in host.calls), sorted(names * 2), out)


def test_a_hundred_calls_at_once():
    use()
    open_now, most = set(), []

    def serve(host, token, call):
        open_now.add(token)
        most.append(len(open_now))

        def answer():
            open_now.discard(token)
            host.reply(token, value(call["arguments"]["x"] * 2))
        threading.Timer(0.02, answer).start()
    host, result, out = printed("const told = await Promise.all(Array.from({ length: 100 }, (_, x) => tools.add({ x })));\nconsole.log(told.every((y, x) => y === 2 * x), told.length);", serve)
    tap.equal((out, max(most), len(host.calls)), ("true 100\n", 16, 100))


def test_large_answers_at_once():
    """Sixteen answers wait in the gateway, more than it begins further calls with; the program makes them meanwhile."""
    use()
    lock, waiting, large = threading.Lock(), [], value("x" * (1 << 20))

    def serve(host, token, call):
        with lock:
            waiting.append(token)
            whole = waiting[:] if len(waiting) == 16 else []
            del waiting[:len(whole)]
        for token in whole:
            host.reply(token, large)
    host, _, out = printed("const told = await Promise.all(Array.from({ length: 32 }, (_, x) => tools.add({ x, filled: 'y'.repeat(100000) })));\n"
                           "display('between');\nconsole.log(told.every((answer) => answer.length === 1 << 20), told.length);", serve)
    tap.equal((out, len(host.calls)), ("true 32\n", 32))


def test_the_largest_call_and_the_largest_answer():
    use()
    host, result, out = printed("const filled = 'y'.repeat((1 << 20) - 20);\nconsole.log((await tools.add({ filled })).length, await outcome(tools.add({ filled: filled + filled })));",
                                lambda host, token, call: host.reply(token, text("x" * ((4 << 20) - 100))))
    tap.equal((out, len(host.calls), result["calls"][0]["bytes_out"]), (f"{(4 << 20) - 100} limit_exceeded\n", 1, (4 << 20) - 100))


def test_each_refusal_is_an_error():
    use(max_calls=4)

    def serve(host, token, call):
        return {1: lambda: host.reply(token, {"content": [{"type": "text", "text": "no luck"}], "isError": True}), 2: lambda: DENY,
                3: lambda: host.reply(token, b"nonsense")}[call["seq"]]()
    host, result, out = printed("for (let i = 0; i < 3; i++) console.log(await outcome(tools.add({ x: i })));\nconsole.log(await outcome(tools.add({ x: 'one' })));\n"
                                "console.log(await outcome(tools.add({ x: 1 })), await outcome(tools.call('mail')), await outcome(tools.add({ x: 1n })));", serve)
    tap.equal(out.split(), ["tool_error", "host_denied", "host_failed", "invalid_arguments", "limit_exceeded", "unknown_tool", "TypeError"])
    tap.equal((len(host.calls), host.replies[-1]), (3, ACCEPTED))


def test_a_rejection_that_nobody_handles_ends_the_program():
    use()
    _, _, result = run("async function work() {\n  await tools.add({ x: 'one' });\n}\nwork();")
    tap.equal((result["status"], result["exit_code"], result["exception"]["name"]), ("completed", 1, "ToolError"), result)
    frame = result["exception"]["frames"][-1]
    tap.equal({**frame, "file": at_home(frame["file"])}, {"file": "/home/sandbox/main.js", "line": 2, "function": "work"})
    tap.contains(result["exception"]["value"], "/x")
    for part in "ToolError: ", "at work (/home/sandbox/main.js:2:15)", "code: 'invalid_arguments'":
        tap.contains(at_home(result["stderr"]), part)


def test_a_program_that_ends_with_calls_in_flight():
    use()
    begun = threading.Event()
    code = "tools.add({ x: 1 });\ntools.add({ x: 2 });\nsetInterval(() => { if (require('fs').existsSync('/nothing')) process.exit(1); }, 1);\ntools.call('end').then(() => process.exit(3));"

    def serve(host, token, call):
        if call["name"] == "end":
            begun.set()
            host.reply(token, value(1))
    host, _, result = run(code, serve, tools=("add", "end"), wanted=["*"])
    tap.equal((result["status"], result["exit_code"], begun.is_set()), ("completed", 3, True), result)
    tokens = [token for token, call, _ in host.calls if call["name"] == "add"]
    tap.equal(sorted(host.cancelled), sorted(tokens))
    tap.equal([(row["status"], row.get("code")) for row in result["calls"] if row["tool"] == "add"], [("cancelled", "cancelled")] * 2)
    tap.equal([provider.reply_call(token, value(1)) for token in tokens], [UNKNOWN] * 2)


def test_a_program_that_does_not_await():
    """An open call keeps it alive until the answer is there."""
    use()
    host, result, _ = printed("tools.add({ x: 1 });\nprocess.on('exit', () => console.log('end'));", lambda host, token, call: host.reply_later(token, value(2), 0.05))
    tap.equal((result["stdout"], host.cancelled, result["calls"][0]["status"]), ("end\n", [], "ok"))


def test_a_run_is_cancelled_while_the_host_works():
    use()

    def serve(host, token, call):
        threading.Timer(0.05, provider.cancel, (77,)).start()
    host, status, result = run("tools.add({ x: 1 })", serve, call_id=77)
    tap.equal((status, result["status"], host.cancelled, result["calls"][0]["status"]), (OK, "cancelled", [host.calls[0][0]], "cancelled"), result)


def test_timers_go_on_while_a_call_is_open():
    """The answer comes once the timer has made another call."""
    use()
    first = []

    def serve(host, token, call):
        if call["arguments"]["x"] == 1:
            first.append(token)
            return
        host.reply(token, value("timer"))
        host.reply(first[0], value("first"))
    out = printed("setTimeout(() => tools.add({ x: 2 }).then(console.log), 5);\nconsole.log(await tools.add({ x: 1 }));", serve)[2]
    tap.equal(sorted(out.split()), ["first", "timer"])


def test_threads_and_children_cannot_call():
    """A thread in a container has nothing of ours, so it does not hear why."""
    use()
    program = """
const { Worker } = require('worker_threads');
const code = "let told; try { told = typeof tools } catch (error) { told = error.code } require('worker_threads').parentPort.postMessage(told)";
console.log(await new Promise((resolve) => new Worker(code, { eval: true }).once('message', resolve)));
console.log(await new Promise((resolve) => new Worker("const tools = 5; require('worker_threads').parentPort.postMessage(tools)", { eval: true }).once('message', resolve)));
console.log(require('child_process').execFileSync(process.execPath, ['-p', 'typeof tools']).toString().trim(), await tools.add({ x: 1 }));
"""
    host, _, out = printed(program)
    tap.equal((out, len(host.calls)), (f"{'undefined' if MODE == 'docker' else 'unavailable'}\n5\nundefined 2\n", 1))


def test_languages_that_cannot_call():
    """The refusal says which ones can."""
    use()
    for language in "perl", "lua":
        _, status, result = run("1", request={"language": language})
        tap.equal((status, result["error"]["code"]), (NOT_RUN, "not_supported"), language)
        for name in "python", "javascript":
            tap.contains(result["error"]["message"], name)
        tap.lacks(result["error"]["message"], "ruby")


# In docker mode too (tests/docker/meson.build), in an image that has the machine's Node.
CARRIED = ("a_call_reaches_the_host_and_its_answer_the_program", "in_a_container_that_waits_and_in_one_of_its_own", "es_modules_and_a_name_of_the_program",
           "a_hundred_calls_at_once", "large_answers_at_once", "the_largest_call_and_the_largest_answer", "a_rejection_that_nobody_handles_ends_the_program",
           "a_program_that_ends_with_calls_in_flight", "a_program_that_does_not_await", "a_run_is_cancelled_while_the_host_works", "threads_and_children_cannot_call",
           "as_many_calls_are_open_as_the_policy_allows", "behind_what_is_no_frame_calls_fail_at_once")
if MODE != "docker":
    del test_in_a_container_that_waits_and_in_one_of_its_own
run_with_node(globals(), CARRIED, IMAGES)
