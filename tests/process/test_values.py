# SPDX-License-Identifier: Apache-2.0
"""What comes out of a run of Python or JavaScript beside its output, in each of the ways in which its interpreter starts."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
import waiting
from modes import Provider
from provider import OK, Host

BEGUN, READY = "begun with its run", 2
provider = Provider()


def use(way, language="python"):
    provider.reset()
    python = {"prepare": {"import": [], "fork": way is waiting.COPIED}}
    pool = {"ready": 0 if way is BEGUN else READY, "most": 0}
    tap.equal(provider.use_policy({"pools": {"process": pool}, "languages": {"python": python}}), OK)
    run(way, "0;", language, is_first=True)


def run(way, code, language="python", is_first=False, **more):
    def once():
        status, result = provider.invoke({"language": language, "code": code, **more}, Host(("sandbox.exec", "sandbox.exec.files")))
        tap.true(status == OK, result)
        return result
    return once() if way is BEGUN or is_first else waiting.ready_run(provider, once, READY, way)


def rows(result):
    return [(row["role"], row["mime_type"], row["text"], row["type_name"]) for row in result["results"]]


def check(way):
    use(way)
    result = run(way, "x = 20\nx + 1")
    tap.equal((rows(result), result["stdout"], result["exit_code"]), ([("value", "text/plain", "21", "int")], "", 0))
    tap.equal((result["exception"], result["results_omitted"], result["notes"]), (None, None, []))
    tap.equal(rows(run(way, "display('1'); 1")), [("display", "text/plain", "'1'", "str"), ("value", "text/plain", "1", "int")])
    for code in ("1;", "None", "print(1)", "x = 1", "import sys; sys.exit(3)"):
        result = run(way, code)
        tap.equal((result["results"], result["exception"]), ([], None), code)
    result = run(way, "def fail():\n    1 / 0\nfail()")
    tap.equal(result["exception"], {"name": "ZeroDivisionError", "value": "division by zero", "frames": [
        {"file": "/home/sandbox/main.py", "line": 3, "function": "<module>"}, {"file": "/home/sandbox/main.py", "line": 2, "function": "fail"}]})
    tap.equal((result["error"], result["exit_code"]), (None, 1))
    result = run(way, "x = = 1")
    tap.equal((result["exception"]["name"], [place["line"] for place in result["exception"]["frames"]]), ("SyntaxError", [1]))
    result = run(way, "class Exits:\n    def __repr__(self): import os; os._exit(7)\nprint('kept')\nExits()")
    tap.equal((result["exit_code"], result["stdout"], result["results"]), (7, "kept\n", []))
    tap.equal(run(way, "import sys\nbefore = set(sys.modules)\nimport atexit\natexit.register(lambda: print(sorted(set(sys.modules) - before)))\n[1]")["stdout"],
              "['atexit']\n" if "atexit" not in run(way, "import sys; print(list(sys.modules))")["stdout"] else "[]\n")
    result = run(way, "import sys\ndef trace(*what): print(what[1], what[0].f_code.co_name)\nsys.settrace(trace)\nsys.setprofile(trace)\n[1]")
    tap.equal((rows(result)[0][2], result["stdout"]), ("[1]", "return <module>\n"), "a program does not trace us")


def run_javascript(way, code, **more):
    return run(way, code, "javascript", **more)


def check_javascript(way):
    use(way, "javascript")
    result = run_javascript(way, "const x = 20;\nx + 1;")
    tap.equal((rows(result), result["stdout"], result["exit_code"]), ([("value", "text/plain", "21", "number")], "", 0))
    tap.equal((result["exception"], result["results_omitted"], result["notes"]), (None, None, []))
    tap.equal(rows(run_javascript(way, "display('1'); 1")), [("display", "text/plain", "'1'", "string"), ("value", "text/plain", "1", "number")])
    for code in ("undefined", "console.log(1)", "let x = 1", "process.exit(3)", "async function main() { return 1 }\nmain()", "return 5"):
        result = run_javascript(way, code)
        tap.equal((result["results"], result["exception"]), ([], None), code)
    result = run_javascript(way, "function fail() {\n  null.x\n}\nfail()")
    tap.equal(result["exception"], {"name": "TypeError", "value": "Cannot read properties of null (reading 'x')", "frames": [
        {"file": "/home/sandbox/main.js", "line": 4, "function": "Object.<anonymous>"}, {"file": "/home/sandbox/main.js", "line": 2, "function": "fail"}]})
    tap.equal((result["error"], result["exit_code"]), (None, 1))
    result = run_javascript(way, "let x = ;")
    tap.equal((result["exception"]["name"], [place["line"] for place in result["exception"]["frames"]]), ("SyntaxError", [1]))
    tap.equal(run_javascript(way, "Promise.reject(new RangeError('late'))")["exception"]["name"], "RangeError")
    tap.equal(run_javascript(way, "process.on('uncaughtException', () => {}); throw new Error('caught')")["exception"], None)
    result = run_javascript(way, "({ [require('util').inspect.custom]() { process.exit(7) } })")
    tap.equal((result["exit_code"], result["results"]), (7, []))
    [table] = run_javascript(way, "console.table([{ a: 1, b: 'x' }, { a: 2 }])")["results"]
    tap.equal((table["role"], table["table"]), ("display", {
        "columns": [{"name": "(index)", "type": "number"}, {"name": "a", "type": "number"}, {"name": "b", "type": "string"}],
        "rows": [[0, 1, "x"], [1, 2, None]], "total_rows": 2, "total_columns": 3, "truncated": False}))
    [table] = run_javascript(way, "console.table(Array.from({ length: 300 }, (_, i) => ({ text: 'x'.repeat(i < 200 ? 4000 : 1) })))")["results"]
    tap.equal((len(table["table"]["rows"]), table["table"]["total_rows"], table["table"]["truncated"]), (100, 300, True))
    [table] = run_javascript(way, "console.table(Array.from({ length: 90 }, () => Object.fromEntries(Array.from({ length: 20 }, (_, i) => [i, 'x'.repeat(900)]))))")["results"]
    tap.true(10 < len(table["table"]["rows"]) < 20 and table["table"]["truncated"], "a table has at most 256 KiB")
    tap.equal(run_javascript(way, "1", files=[{"path": "package.json", "content": '{"type": "module"}'}])["results"], [], "an ES module has no value")
    result = run_javascript(way, "for (let i = 0; i < 70; i++) display(i)")
    tap.equal((len(result["results"]), result["results_omitted"]["count"], result["results_omitted"]["reason"]), (64, 6, "max_items"))


def test_javascript_begun_with_its_run():
    check_javascript(BEGUN)


def test_javascript_waiting():
    check_javascript(waiting.STARTED)


def test_begun_with_its_run():
    check(BEGUN)


def test_waiting():
    check(waiting.STARTED)


def test_copied():
    check(waiting.COPIED)


tap.run(globals())
