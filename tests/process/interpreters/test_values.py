# SPDX-License-Identifier: Apache-2.0
"""What comes out of a run of Python or JavaScript beside its output, in each of the ways in which its interpreter starts."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from languages import javascript_values, waiting
from languages.javascript_values import rows
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


def check_javascript(way):
    use(way, "javascript")
    javascript_values.check(lambda code, **more: run(way, code, "javascript", **more))


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
