# SPDX-License-Identifier: Apache-2.0
"""Sessions of JavaScript in whole calls: what a cell leaves for the next one, how it ends, and what of it is its own."""
import pathlib
import sys

SUPPORT = pathlib.Path(__file__).parents[2] / "support"
FAULTS = pathlib.Path(__file__).parents[2] / "faults"
sys.path[:0] = [str(SUPPORT), str(FAULTS)]
import modes
import tap
from modes import Provider, adopt_orphans, at_home, merged
from provider import OK, Host

AMPLE_MS = 120000  # for cells that are not about time
SHORT_MS = 120
INTERRUPTED = "Script execution was interrupted by `SIGINT`"
RIGHTS = ("sandbox.exec", "sandbox.exec.session", "sandbox.exec.files", "sandbox.exec.secrets")
POLICY = {"sessions": {"max_total": 8, "max_per_principal": 8}, "limits": {"wall_ms": {"default": AMPLE_MS}, "cpu_ms": {"default": 300000}}}
adopt_orphans()
provider = Provider()


def use(**more):
    tap.equal(provider.begin_anew(merged(POLICY, more)), OK)


def call(code, session="new", host=None, **more):
    return provider.invoke({"language": "javascript", "code": code, "session": session, **more}, host or Host(RIGHTS))[1]


def cell(code, session="new", status="completed", **more):
    """The result of a cell that runs, and leaves its session."""
    result = call(code, session, **more)
    tap.equal((result["status"], result.get("session", {}).get("state")), (status, "kept"), result)
    return result


def begin(code="let x = 1", **more):
    result = cell(code, **more)
    tap.equal(result["exit_code"], 0, result)
    return result["session"]["id"]


def value(code, session, **more):
    """The text of the value of a cell's last expression."""
    result = cell(code, session, **more)
    tap.equal((result["exit_code"], result["exception"]), (0, None), result)
    return result["results"][-1]["text"]


def printed(code, session, **more):
    return cell(code, session, **more)["stdout"]


def interrupted(code, session, timeout_ms=SHORT_MS):
    """The exception of a cell whose time ends."""
    result = cell(code, session, "timeout", timeout_ms=timeout_ms)
    tap.true("the cell was interrupted; the session keeps its state" in result["notes"], result["notes"])
    return result["exception"]


def failed(code, session, name, text):
    """The result of a cell that an exception ends."""
    result = cell(code, session)
    tap.equal((result["exit_code"], result["exception"]["name"], result["exception"]["value"]), (1, name, text), result)
    return result


def check_state():
    first = cell("let df = [1, 2, 3]; const f = x => x + 1\nvar os = require('os')\nclass K {}\nfunction g() { return df.length }\nf(df[0])")
    session = first["session"]["id"]
    tap.equal((first["results"][-1]["text"], first["session"]["created"], first["stderr"]), ("2", True, ""))
    tap.equal(sorted(first["session"]["defined"]), ["K", "df", "f", "g", "os"])
    tap.equal(value("[g(), f(1), typeof os.cpus, new K()]", session), "[ 3, 2, 'function', K {} ]")
    tap.equal(value("df.push(4); let late = await Promise.resolve(7); g() + late", session), "11")
    tap.equal(cell("late", session)["session"]["defined"][-1], "late")
    tap.equal(at_home(printed("console.log(__dirname, process.cwd(), process.argv[1], require.main === module)", session)),
              "/home/sandbox /home/sandbox cell-5 true\n")
    tap.true(call("typeof df")["results"][-1]["text"] == "'undefined'", "another session has none of it")


def test_state_lives_on():
    use()
    check_state()


def test_state_lives_on_where_node_has_waited():
    use(languages={"javascript": {"prepare": {"interpreter": "node"}}}, pools={"process": {"ready": 2, "most": 2}})
    check_state()
    tap.eventually(lambda: provider.pool()[1]["node"]["ready"], "a Node waits", 60)
    check_state()


def test_names_can_be_declared_again():
    use()
    session = begin("let a = 1; const b = 2; class C { one() {} }; function f() { return 1 }")
    tap.equal(value("let a = 3; const b = 4; class C { two() {} }; function f() { return 2 }\n[a, b, typeof new C().two, f()]", session),
              "[ 3, 4, 'function', 2 ]")
    defined = cell("let $d = 1; var _hidden = 2; globalThis.e = 3; globalThis['no name'] = 4", session)["session"]["defined"]
    tap.equal(sorted(defined), ["$d", "C", "a", "b", "e", "f"])
    tap.equal(cell("delete globalThis.e", session)["session"]["defined"].count("e"), 0)
    many = cell("for (let i = 0; i < 300; i++) globalThis['\u6f22'.repeat(50) + i] = i", session)["session"]["defined"]
    tap.true(len(many) == 200 and all(len(name.encode()) <= 100 for name in many), many)


def test_values_and_results():
    use()
    session = begin()
    for code, text in (("({a: [1]})", "{ a: [ 1 ] }"), ("'text'", "'text'"), ("-0", "-0"), ("10n", "10n"), ("Symbol('s')", "Symbol(s)"),
                       ("null", "null"), ("async function f() { return 5 }\nf()", "5"), ("for (const y of [1, 2]) y", "2")):
        tap.equal(value(code, session), text)
    tap.equal(cell("undefined", session)["results"], [])
    shown = cell("display([1]); console.table([{a: 1}])\nlet z = 2", session)["results"]
    tap.equal([(row["role"], row["type_name"]) for row in shown], [("display", "Array"), ("display", "table")])
    limited = cell("for (let i = 0; i < 70; i++) display(i)", session)
    tap.equal(len(limited["results"]), 64)
    tap.equal(len(cell("display(1)", session)["results"]), 1, "each cell has its own limit")


def test_modules():
    use()
    files = [{"path": "m.mjs", "content": "export const v = 42"}, {"path": "c.js", "content": "module.exports = {c: 7}"}]
    session = begin("const m = await import('./m.mjs')", files=files)
    code = "const fs = await import('fs');\n[m.v, require('./c.js').c, typeof fs.readFileSync, 'import(1)', `${typeof import('os')} import(2)`]"
    tap.equal(value(code, session),
              "[ 42, 7, 'function', 'import(1)', 'object import(2)' ]")
    tap.equal(cell("await import('./none.mjs')", session)["exception"]["name"], "Error")


def test_a_cell_fails_alone():
    use()
    session = begin("function f() {\n  throw new TypeError('no')\n}\nlet x = 5")
    result = failed("\n  f()", session, "TypeError", "no")
    tap.equal([(at_home(frame["file"]), frame["line"], frame["function"]) for frame in result["exception"]["frames"]],
              [("/tmp/cell-2.js", 2, "<anonymous>"), ("/tmp/cell-1.js", 2, "f")])
    tap.contains(at_home(result["stderr"]), "/tmp/cell-1.js:2\n  throw new TypeError('no')\n        ^\n")
    tap.true("inspector" not in result["stderr"] and "session.js" not in result["stderr"], "no frame of ours")
    result = failed("\nlet y = ]", session, "SyntaxError", "Unexpected token ']'")
    tap.equal([(at_home(frame["file"]), frame["line"]) for frame in result["exception"]["frames"]], [("/tmp/cell-3.js", 2)])
    failed("throw 7", session, "number", "7")
    failed("await Promise.reject(new Error('later'))", session, "Error", "later")
    failed("async function g() { await 1; throw new RangeError('inner') }\ng()", session, "RangeError", "inner")
    failed("throw {get name() { throw 1 }, [Symbol.for('nodejs.util.inspect.custom')]() { throw 2 }}", session, "Object",
           "<Object: its inspection threw number>")
    failed("throw Object.freeze(new Error('frozen'))", session, "Error", "frozen")
    tap.equal(value("x", session), "5")


def test_exit_ends_the_cell():
    use()
    session = begin()
    result = cell("try { process.exit(3) } catch { console.log('caught') } finally { console.log('behind') }\n"
                  "console.log('behind')", session)
    tap.equal((result["exit_code"], result["stdout"], result["exception"]), (3, "", None), result)
    tap.equal(cell("await null; process.exit(4)", session)["exit_code"], 4)
    tap.equal(cell("setTimeout(() => process.exit(5)); await new Promise(() => {})", session)["exit_code"], 5)
    tap.equal(cell("process.exitCode = 6; let y = 2", session)["exit_code"], 6)
    tap.equal(value("x + y", session), "3")
    result = call("process.reallyExit(7)", session)
    tap.equal((result["exit_code"], result["session"]["lost_reason"]), (7, "exited"), result)


def test_interruption():
    use()
    session = begin()
    exception = interrupted("function busy() {\n  for (;;);\n}\nbusy()", session, 1000)
    tap.equal((exception["name"], exception["value"]), ("Error", INTERRUPTED))
    tap.equal((exception["frames"][-1]["function"], exception["frames"][-1]["line"]), ("busy", 2))
    for code in ("try { for (;;); } catch { x = 'caught' } finally { x = 'finally' }", "await null; for (;;);",
                 "await new Promise(() => {})", "await new Promise(done => setTimeout(done, 1000000))",
                 "setTimeout(() => { for (;;); }); await new Promise(() => {})",
                 "setImmediate(() => { for (;;); }); await new Promise(() => {})", "process.nextTick(() => { for (;;); })",
                 "require('fs').readFile('/dev/null', () => { for (;;); }); await new Promise(() => {})", "/(a+)+$/.test('a'.repeat(40) + 'b')",
                 "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", "require('child_process').execSync('sleep 1000')"):
        tap.equal(interrupted(code, session)["value"], INTERRUPTED, code)
        tap.equal(value("x", session), "1", code)


def test_endless_promises_may_lose_the_session():
    """Its caller hears of it either way: see docs/sessions.md."""
    use()
    result = call("for (;;) await null", begin(), timeout_ms=SHORT_MS)
    tap.equal((result["status"], result["session"]["state"], result["session"]["lost_reason"]) in (("timeout", "kept", None), ("timeout", "lost", "timeout")), True, result)


def test_who_does_not_heed_it_loses_the_session():
    use()
    session = begin("process.on('SIGINT', () => console.log('heard'))")
    result = call("await new Promise(() => {})", session, timeout_ms=SHORT_MS)
    tap.equal((result["stdout"], result["status"], result["session"]["lost_reason"]), ("heard\n" * 2, "timeout", "timeout"), result)
    session = begin("process.once('SIGINT', () => { globalThis.heard = true }); let x = 2")
    code = "await new Promise(done => { const timer = setInterval(() => globalThis.heard && (clearInterval(timer), done()), 5) }); x"
    result = cell(code, session, "timeout", timeout_ms=SHORT_MS)
    tap.equal(result["results"][-1]["text"], "2", "a handler of its own")
    interrupted("for (;;);", session)
    tap.equal(value("x", session), "2")


def test_what_is_left_behind_goes_on():
    use()
    session = begin("globalThis.steps = []")
    code = ("setTimeout(() => { steps.push('timer'); console.log('late'); console.error('late too') }, 300)\n"
            "Promise.resolve().then(() => steps.push('promise'))\nlet y")
    tap.equal(cell(code, session)["stdout"], "")
    result = {}

    def is_late():
        """The session is awake for a second behind each of these cells, and what it prints then is told with the next one."""
        result.update(cell("steps.join()", session))
        return result["results"][-1]["text"] == "'promise,timer'"
    late = ["", ""]

    def is_told():
        done = is_late()
        for i, stream in enumerate(("stdout", "stderr")):
            late[i] += result["session"][f"late_{stream}"] + result[stream]
        return done
    tap.eventually(is_told, "the timer is heard", 60)
    tap.equal(late, ["late\n", "late too\n"])


def test_exceptions_that_nobody_handles():
    use()
    session = begin()
    result = cell("async function f() { throw new RangeError('alone') }\nf(); 1", session)
    tap.equal((result["exit_code"], result["exception"], result["results"][-1]["text"]), (0, None, "1"), result)
    tap.contains(at_home(result["stderr"]), "Uncaught RangeError: alone\n    at f (/tmp/cell-2.js:1:")
    result = cell("setTimeout(() => { throw new Error('of a timer') }); await new Promise(done => setTimeout(done, 50)); x", session)
    tap.contains(at_home(result["stderr"]), "/tmp/cell-3.js:1\n")
    tap.contains(result["stderr"], "Uncaught Error: of a timer\n")
    tap.equal(result["results"][-1]["text"], "1")
    result = cell("process.once('uncaughtException', (error) => console.log('handled', error.message))\n"
                  "setTimeout(() => { throw new Error('own') }); await new Promise(done => setTimeout(done, 50))", session)
    tap.equal((result["stdout"], result["stderr"]), ("handled own\n", ""))


def test_input_arguments_and_variables_are_the_cells():
    use()
    session = begin("let text = ''; for await (const part of process.stdin) text += part\nconsole.log(text)", stdin="one")
    code = "[require('fs').readFileSync(0, 'utf8'), process.argv.slice(2), process.env.KEY]"
    tap.equal(value(code, session, stdin="two", args=["a", "b c"], env={"KEY": "value"}), "[ 'two', [ 'a', 'b c' ], 'value' ]")
    tap.equal(value(code, session), "[ '', [], undefined ]")
    lines = "const lines = []; for await (const line of require('readline').createInterface({input: process.stdin})) lines.push(line); lines"
    tap.equal(value(lines, session, stdin="1\n2\n"), "[ '1', '2' ]")
    tap.equal(value(lines, session), "[]")
    tap.equal(value(lines, session, stdin="3"), "[ '3' ]")


def test_secrets_stay():
    use(secrets={"allowed": ["KEY"]})
    session = begin("process.env.KEY.length", host=Host(RIGHTS, secrets={"KEY": b"the-value-of-the-key"}), secrets={"KEY": "{{secret:KEY}}"})
    tap.equal(value("process.env.KEY.length", session, env={"OTHER": "1"}), "20")
    tap.lacks(printed("console.log(process.env.KEY, process.env.OTHER)", session), "the-value", "redacted")


def test_there_are_no_checkpoints():
    use(sessions={"checkpoints": 2})
    result = cell("let x = 1")
    tap.equal((result["session"]["checkpoint"], result["session"]["undoable"]), ("threads", 0), result)
    undone = call("x", result["session"]["id"], session_action="undo")
    tap.equal(undone["error"]["code"], "not_supported", undone)
    tap.equal(value("x", result["session"]["id"]), "1")


def test_output_is_the_cells():
    use()
    session = begin("console.log('one')")
    for text in ("two", "three"):
        result = cell(f"process.stdout.write('{text} '); console.log('x'.repeat(300000)); console.error('{text}')\n"
                      "process.stdout.end(); process.stderr.end()", session)
        tap.equal((result["stdout"][:len(text) + 4], len(result["stdout"]) > 65536, result["stderr"]), (f"{text} xxx", True, f"{text}\n"))
    code = "await new Promise(done => require('child_process').spawn('echo', ['child'], {stdio: 'inherit'}).on('exit', done))"
    tap.equal(printed(code, session), "child\n")
    code = "await new Promise(done => new (require('worker_threads').Worker)('console.log(1); process.exit(3)', {eval: true}).on('exit', done))"
    result = cell(code, session)
    tap.equal((result["stdout"], result["results"][-1]["text"]), ("1\n", "3"), "a thread ends itself alone")


def test_files_of_a_request_come_into_the_working_directory():
    use()
    session = begin("let fs = require('fs'); console.log(fs.readFileSync('a', 'utf8'))", files=[{"path": "a", "content": "first"}])
    later = [{"path": "b/c", "content": "later"}]
    tap.equal(value("fs.readFileSync('a', 'utf8') + fs.readFileSync('b/c', 'utf8')", session, files=later), "'firstlater'")
    tap.equal(value("fs.readdirSync('.')", session), "[ 'a', 'b' ]", "the session's program is none")


def test_code_left_behind_does_not_hold_up_a_cell():
    use()
    session = begin("let x = 1; setTimeout(() => { for (;;); })")
    heard = []

    def is_stopped():
        """Sooner or later one of the next cells finds it in the way."""
        result = cell("x", session)
        tap.equal(result["results"][-1]["text"], "1")
        heard.append(result["session"]["late_stderr"] + result["stderr"])
        return INTERRUPTED in "".join(heard)
    tap.eventually(is_stopped, "it is stopped", 60)
    tap.contains(at_home("".join(heard)), "at Timeout._onTimeout (/tmp/cell-1.js:1:")
    tap.equal(value("x", session), "1")


def test_replacing_what_serves_cells():
    """A program can break its own session, and no more."""
    use()
    other = begin("let x = 'other'")
    session = begin()
    cell("process.argv.push = () => { throw new Error('replaced') }", session)
    broken = cell("x", session)
    tap.equal((broken["exit_code"], broken["results"]), (1, []), "the control: it is broken")
    tap.contains(broken["stderr"], "the session's own code failed")
    tap.equal(value("x", other), "'other'")
    session = begin()
    result = call("require('fs').closeSync(63)", session)
    tap.equal((result["session"]["state"], result["session"]["lost_reason"]), ("lost", "exited"), "nobody could hear of its end")
    session = begin()
    frame = ("const text = Buffer.from('{\"exit_code\": 9, \"defined\": [\"forged\"]}'); const head = Buffer.from([text.length, 0, 0, 0, 4])\n"
             "require('fs').writeSync(63, Buffer.concat([head, text])); for (;;);")
    tap.equal(call(frame, session)["session"]["defined"], ["forged"], "the control: it is believed")
    result = call("x", session, timeout_ms=SHORT_MS)
    tap.true(result["status"] in ("completed", "timeout"), "the next cell's time ends the code that goes on")


def test_signalling_itself():
    """Node ends its inspector ahead of that, and with it the session ends."""
    use()
    session = begin()
    call("process.kill(process.pid, 'SIGINT'); await new Promise(() => {})", session)
    result = call("1", session)
    tap.equal((result["session"]["lost_reason"], result["stderr"].startswith("Uncaught [Error: The inspector")), ("exited", True), result)
    session = begin()
    result = call("process.kill(process.pid, 'SIGKILL'); for (;;);", session)
    tap.equal(result["session"]["lost_reason"], "crashed", result)


# In docker mode too (tests/docker/meson.build), in an image that has the machine's Node.
OF_BACKENDS = (
    "state_lives_on", "names_can_be_declared_again", "values_and_results", "modules", "a_cell_fails_alone", "exit_ends_the_cell", "interruption",
    "who_does_not_heed_it_loses_the_session", "what_is_left_behind_goes_on", "exceptions_that_nobody_handles",
    "input_arguments_and_variables_are_the_cells", "output_is_the_cells", "files_of_a_request_come_into_the_working_directory",
    "code_left_behind_does_not_hold_up_a_cell", "replacing_what_serves_cells")
WITHOUT_NAMESPACES = ("state_lives_on", "modules", "a_cell_fails_alone", "interruption", "what_is_left_behind_goes_on", "exceptions_that_nobody_handles",
                      "files_of_a_request_come_into_the_working_directory", "signalling_itself")
modes.run_with_node(globals(), OF_BACKENDS, POLICY, without_namespaces=WITHOUT_NAMESPACES, needing_namespaces=())
