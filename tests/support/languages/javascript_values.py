# SPDX-License-Identifier: Apache-2.0
"""What comes out of a run of JavaScript beside its output, in whatever mode."""
import tap


def rows(result):
    return [(row["role"], row["mime_type"], row["text"], row["type_name"]) for row in result["results"]]


def check_a_value(run):
    result = run("const x = 20;\nx + 1;")
    tap.equal((rows(result), result["stdout"], result["exit_code"]), ([("value", "text/plain", "21", "number")], "", 0))
    tap.equal((result["exception"], result["results_omitted"], result["notes"]), (None, None, []))


def check(run):
    """run: of a program's text, and more of its request; the result."""
    check_a_value(run)
    tap.equal(rows(run("display('1'); 1")), [("display", "text/plain", "'1'", "string"), ("value", "text/plain", "1", "number")])
    for code in ("undefined", "console.log(1)", "let x = 1", "process.exit(3)", "async function main() { return 1 }\nmain()", "return 5"):
        result = run(code)
        tap.equal((result["results"], result["exception"]), ([], None), code)
    result = run("function fail() {\n  null.x\n}\nfail()")
    tap.equal(result["exception"], {"name": "TypeError", "value": "Cannot read properties of null (reading 'x')", "frames": [
        {"file": "/home/sandbox/main.js", "line": 4, "function": "Object.<anonymous>"},
        {"file": "/home/sandbox/main.js", "line": 2, "function": "fail"}]})
    tap.equal((result["error"], result["exit_code"]), (None, 1))
    result = run("let x = ;")
    tap.equal((result["exception"]["name"], [place["line"] for place in result["exception"]["frames"]]), ("SyntaxError", [1]))
    tap.equal(run("Promise.reject(new RangeError('late'))")["exception"]["name"], "RangeError")
    tap.equal(run("process.on('uncaughtException', () => {}); throw new Error('caught')")["exception"], None)
    result = run("({ [require('util').inspect.custom]() { process.exit(7) } })")
    tap.equal((result["exit_code"], result["results"]), (7, []))
    [table] = run("console.table([{ a: 1, b: 'x' }, { a: 2 }])")["results"]
    tap.equal((table["role"], table["table"]), ("display", {
        "columns": [{"name": "(index)", "type": "number"}, {"name": "a", "type": "number"}, {"name": "b", "type": "string"}],
        "rows": [[0, 1, "x"], [1, 2, None]], "total_rows": 2, "total_columns": 3, "truncated": False}))
    [table] = run("console.table(Array.from({ length: 300 }, (_, i) => ({ text: 'x'.repeat(i < 200 ? 4000 : 1) })))")["results"]
    tap.equal((len(table["table"]["rows"]), table["table"]["total_rows"], table["table"]["truncated"]), (100, 300, True))
    [table] = run("console.table(Array.from({ length: 90 }, "
                  "() => Object.fromEntries(Array.from({ length: 20 }, (_, i) => [i, 'x'.repeat(900)]))))")["results"]
    tap.true(10 < len(table["table"]["rows"]) < 20 and table["table"]["truncated"], "a table has at most 256 KiB")
    tap.equal(run("1", files=[{"path": "package.json", "content": '{"type": "module"}'}])["results"], [], "an ES module has no value")
    result = run("for (let i = 0; i < 70; i++) display(i)")
    tap.equal((len(result["results"]), result["results_omitted"]["count"], result["results_omitted"]["reason"]), (64, 6, "max_items"))
