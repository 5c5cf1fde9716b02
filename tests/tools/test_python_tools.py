# SPDX-License-Identifier: Apache-2.0
"""The module "tools" in a real Python, with this test as the gateway: what a program can write, and what it gets."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tap
from peer import (ECHO, Peer, base64_of, begin_of_container, begin_of_process_mode, echo, frame, listing, of_bytes, of_content, of_error,
                  of_json, of_text, run)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


def printed(program, respond=echo, **how):
    return run("import tools\n" + program, respond, **how).splitlines()


def test_arguments_and_values_are_those_of_the_call():
    text = 'a"\\\u00fc\U0001f600\n'
    values = [None, True, 1, -2.5, 10**30, text, [], {}, {"a": [{"b": None}]}]
    told = printed(f"print(tools.echo(values={values!r}, self=1, name='x') == {{'values': {values!r}, 'self': 1, 'name': 'x'}})\nprint(tools.echo())")
    tap.equal(told, ["True", "{}"])


def test_each_form_of_an_answer_has_its_type():
    blocks = [{"type": "text", "text": "one"}, {"type": "image", "mime_type": "image/png", "data": base64_of(PNG)},
              {"type": "resource", "mime_type": "text/csv", "text": "a,b", "uri": "file:///x"},
              {"type": "resource", "mime_type": "application/zip", "data": base64_of(b"PK"), "uri": "file:///y"}]
    forms = {"json": lambda number: of_json(number, [1, None]), "text": lambda number: of_text(number, "a text \u00fc"),
             "bytes": lambda number: of_bytes(number, "image/png", PNG), "content": lambda number: of_content(number, blocks)}
    told = printed("""
print(tools.echo(form="json"), repr(tools.echo(form="text")))
image = tools.echo(form="bytes")
print(type(image).__mro__[1].__name__, len(image), image[:4], image.mime_type, image)
one, two, three, four = tools.echo(form="content")
print(one, two == image, two.mime_type, three["text"], three["uri"], bytes(four), four.mime_type, four.uri)
""", lambda call: forms[call.arguments["form"]](call.number))
    tap.equal(told, ["[1, None] 'a text \u00fc'", f"bytes {len(PNG)} b'\\x89PNG' image/png <{len(PNG)} bytes, image/png>",
                     "one True image/png a,b file:///x b'PK' application/zip file:///y"])


def test_an_error_is_raised():
    told = printed("""
for call in tools.echo, lambda: tools.call("echo", {}):
    try:
        call()
    except tools.ToolError as error:
        print(error.name, error.code, error.message, error.retryable, isinstance(error, Exception), error)
import pickle
try:
    tools.echo()
except Exception as error:
    print(pickle.loads(pickle.dumps(error)).code, type(error).__module__, type(error).__qualname__)
""", lambda call: of_error(call.number, "policy_denied", "not here", True))
    line = "echo policy_denied not here True True echo: not here (policy_denied)"
    tap.equal(told, [line, line, "policy_denied tools ToolError"])


def test_what_is_not_json_is_not_sent():
    program = """
import tools
within = []
within.append(within)
deep = []
for _ in range(100000): deep = [deep]
for value in {1}, b"x", object(), within, deep, {(1, 2): 3}, float("nan"), [float("-inf")], "\\ud800", "x" * (1 << 20):
    try:
        tools.echo(value=value)
    except (TypeError, tools.ToolError) as error:
        print(type(error).__name__, getattr(error, "code", "-"))
    except RecursionError:
        print("RecursionError")
print(tools.echo(value="x" * 1000000)["value"] == "x" * 1000000)
"""
    with Peer(program) as peer:
        count = peer.serve(echo)
        told = peer.end().splitlines()
    tap.equal(told, ["TypeError -"] * 6 + ["ToolError invalid_arguments"] * 3 + ["ToolError limit_exceeded", "True"])
    tap.equal(count, 1, "calls that came")


def test_positional_arguments_are_refused():
    told = printed("""
for call in lambda: tools.query_database("select 1"), lambda: tools.call("echo", ["a"]), lambda: tools.call("echo", arguments={}):
    try:
        call()
    except TypeError as error:
        print(error)
""")
    tap.equal(told[0], "query_database() takes keyword arguments only: query_database(sql=..., limit=..., order=...)")
    tap.equal(told[1], "the arguments of echo are not a dictionary")
    tap.equal(len(told), 3)


def test_names_are_found_and_described():
    told = printed("""
import inspect
print(tools.names(), tools.search("Query rows"), tools.search("issues words"), tools.search("absent"), len(tools.search("")))
print(sorted(tools.describe("jira.search")), tools.describe("jira_search") == tools.describe("jira.search"))
tools.describe("echo")["name"] = "changed"
print(tools.describe("echo")["name"])
print(inspect.signature(tools.query_database), inspect.signature(tools.jira_search), inspect.signature(tools.echo))
print(tools.query_database.__name__, tools.query_database.__module__, tools.query_database is tools.query_database, tools.echo.__doc__)
print([name for name in dir(tools) if name[0] != "_"], sorted(dir(tools.aio)))
from tools import echo, jira_search, ToolError, aio
print(echo(a=1), jira_search(**{"from": "x"}), tools.call("jira.search", {"b": 2}), tools.call("jira_search"))
class Own: tool = tools.echo
print(Own().tool(a=2))
""")
    tap.equal(told, [
        "['echo', 'query_database', 'jira.search'] ['query_database'] ['jira.search'] [] 3",
        "['description', 'identifier', 'input_schema', 'name'] True", "echo",
        "(*, sql: str, limit: int = 100, order=...) (*, arguments=..., **more_arguments) (**arguments)",
        "query_database tools True None",
        "['ToolError', 'aio', 'call', 'describe', 'echo', 'jira_search', 'names', 'query_database', 'search'] "
        "['call', 'echo', 'jira_search', 'query_database']",
        "{'a': 1} {'from': 'x'} {'b': 2} {}", "{'a': 2}"])


def test_the_documentation_names_each_parameter():
    told = printed("print(tools.query_database.__doc__)\nhelp(tools.query_database)")
    document = ["Query the database", "", "Returns the rows of a statement.", "", "Parameters:", "    sql (string): The statement",
                "    limit (integer, optional)", "    order (optional): one of 'up', 'down'"]
    tap.equal(told[:8], document)
    tap.contains(told, "query_database(*, sql: str, limit: int = 100, order=...)")


def test_an_unknown_tool_is_refused_with_those_that_are_near():
    told = printed("""
for call in lambda: tools.query, lambda: tools.aio.query:
    try:
        call()
    except AttributeError as error:
        print(error)
try:
    tools.call("database")
except tools.ToolError as error:
    print(error.code, error.message)
print(hasattr(tools, "other"), hasattr(tools, "__path__"))
try:
    from tools import other
except ImportError:
    print("no import")
""")
    tap.equal(told[2:], ["unknown_tool this run has no such tool; it has query_database", "False False", "no import"])
    tap.contains(told[0], "it has query_database")
    tap.contains(told[1], "it has query_database")


def test_odd_schemas_do_no_harm():
    odd = [{"name": f"odd{number}", "identifier": f"odd{number}", "input_schema": schema, "description": "x"} for number, schema in enumerate((
        {}, None, {"properties": []}, {"properties": {"a": True, "b-c": {"type": ["string", "null"]}, "class": {"type": 5}}, "required": "a"},
        {"properties": {"a": {"enum": [1, "x"]}, "arguments": {}, "more_arguments": {}}, "additionalProperties": {}}))]
    told = printed("""
import inspect
for name in tools.names():
    print(inspect.signature(getattr(tools, name)), getattr(tools, name)(**{"b-c": 1}), bool(getattr(tools, name).__doc__))
""", tools=odd)
    tap.equal(len(told), 5)
    tap.equal({line.partition(")")[2] for line in told}, {" {'b-c': 1} True"})


def test_a_module_of_the_program_has_its_name_where_the_run_has_no_tools():
    own = {"tools.py": "mine = 1"}
    tap.equal(run("import tools\nprint(tools.mine)", tools=None, files=own), "1\n")
    tap.equal(run("import tools\nprint(hasattr(tools, 'mine'), tools.names())", files=own), "False ['echo', 'query_database', 'jira.search']\n")
    tap.equal(run("try:\n import tools\nexcept ModuleNotFoundError as error: print(error)", tools=None), "No module named 'tools'\n")
    tap.equal(run("import own.tools\nprint(own.tools.mine)", files={"own.py": "import sys\n__path__ = [sys.path[0] + '/.']\n", **own}), "1\n")


def test_nothing_is_there_before_the_import():
    told = printed("print(len(tools.names()))", more="import atexit")
    tap.equal(told, ["3"])
    tap.equal(run("import sys\nprint([name for name in ('tools', 'json', 'select', 'asyncio', 'inspect') if name in sys.modules], 'tools' in "
                  "__import__('sitecustomize').runner.parts)"), "[] False\n")
    tap.equal(printed("import sys\nprint('asyncio' in sys.modules, 'inspect' in sys.modules, tools.echo(a=1))"), ["False False {'a': 1}"])


def test_the_runner_of_each_backend_has_the_module():
    program = """
import sys
assert 'json' not in sys.modules
import tools, asyncio
async def main():
    return [row["n"] for row in await asyncio.gather(*[tools.aio.echo(n=number) for number in range(20)])]
print(asyncio.run(main()) == list(range(20)), tools.echo(a="x" * 9000) == {"a": "x" * 9000})
import json
print(json is sys.modules["json"], tools.names())
tools.echo(value=6)["value"] * 7
"""
    for begin in begin_of_process_mode, begin_of_container:
        with Peer(program, python="/usr/bin/python3", begin=begin) as peer:
            peer.serve(echo)
            tap.equal(peer.end(), "True True\nTrue ['echo', 'query_database', 'jira.search']\n", begin.__name__)
        tap.equal([json.loads(payload)["data"]["text/plain"] for _, payload in peer.frames], ["42"], begin.__name__)


def test_an_image_is_a_result_that_can_be_shown():
    with Peer("import tools, builtins\nrunner = __import__('sitecustomize').runner\nrunner.tell(tools.echo(), None)",
              more="runner.tell = lambda *told: runner.results()['tell'](*told)") as peer:
        peer.serve(lambda call: of_bytes(call.number, "image/png", PNG))
        peer.end()
    tap.equal([(kind, json.loads(payload)["data"]["image/png"]) for kind, payload in peer.frames], [(1, base64_of(PNG))])


def test_results_and_calls_share_the_pipe_frame_by_frame():
    """Large ones of several threads at once: each frame comes whole."""
    program = """
import threading, tools
show = __import__('sitecustomize').runner.results()["show"]
def call():
    for _ in range(20):
        assert tools.echo(a="x" * 30000)["a"] == "x" * 30000
threads = [threading.Thread(target=call) for _ in range(3)]
for thread in threads: thread.start()
for number in range(40): show("y" * 20000 + str(number), "display")
for thread in threads: thread.join()
"""
    with Peer(program) as peer:
        tap.equal(peer.serve(echo), 60)
        peer.end()
    shown = [json.loads(payload)["data"]["application/json"] for kind, payload in peer.frames]
    tap.equal(shown, ["y" * 20000 + str(number) for number in range(40)])


def test_the_list_may_come_late_and_in_pieces():
    told = listing([ECHO])
    with Peer("import tools\nprint(tools.echo(a=1))", tools=[]) as peer:  # an empty list first is the list
        tap.equal(peer.process.wait(30), 1)
    with Peer("import tools\nprint(tools.echo(a=1))", tools=None, more="Runner.has_tools = True") as peer:
        for index in range(len(told)):
            peer.send(told[index:index + 1])
        peer.serve(echo)
        tap.equal(peer.end(), "{'a': 1}\n")


def test_the_import_fails_where_no_list_comes():
    for start in (b"", frame(1, b"["), frame(1, b"nonsense"), listing()[:20]):
        with Peer("try:\n import tools\nexcept ImportError as error: print(error.name)", tools=None, more="Runner.has_tools = True") as peer:
            peer.send(start)
            peer.close_replies()
            tap.equal(peer.end(), "tools\n", start)


def test_children_cannot_call():
    told = printed("""
import os, subprocess, sys
print(tools.echo(a=1), flush=True)
child = os.fork()
if child == 0:
    try:
        tools.echo(a=2)
    except tools.ToolError as error:
        print(error.code, error.message, flush=True)
    os._exit(0)
os.waitpid(child, 0)
child = subprocess.run([sys.executable, "-S", "-c", "import os\\nfor fd in 62, 63:\\n try: os.fstat(fd)\\n except OSError: print('closed')"])
print(tools.echo(a=3))
""", more="import os; os.set_inheritable(62, False); os.set_inheritable(63, False)")
    tap.equal(told, ["{'a': 1}", "unavailable a child process of the program cannot call tools", "closed", "closed", "{'a': 3}"])


def test_other_files_in_the_descriptors_places_are_left_alone():
    told = printed("""
import os
tools.names()
for fd in 62, 63:
    kept = os.dup(fd)
    with open("own", "w+") as file:
        os.dup2(file.fileno(), fd)
        try:
            tools.echo(a=1)
        except tools.ToolError as error:
            print(error.code, os.fstat(file.fileno()).st_size)
    os.close(fd)
    try:
        tools.echo(a=1)
    except tools.ToolError as error:
        print(error.code)
    os.dup2(kept, fd)
    print(tools.echo(a=2))
""")
    tap.equal(told, ["unavailable 0", "unavailable", "{'a': 2}"] * 2)


def test_the_next_cell_has_other_pipes():
    """As Session.begin_cell() has it: the names stay, the tools are those of the new pipes, and an old call's answer is nobody's."""
    program = """
import tools, os, threading, signal
runner = __import__('sitecustomize').runner
echo = tools.echo
def late():
    try: tools.echo(late=True)
    except tools.ToolError as error: print(error.code)
thread = threading.Thread(target=late)
thread.start()
print(tools.echo(a=1))
results, replies = os.pipe(), os.pipe()
print("closing", flush=True)
thread.join()
os.dup2(results[1], 63)
os.dup2(replies[0], 62)
runner.load("tools")["restart"]()
def gateway():
    import json
    payload = b"\\1\\0\\0\\0" + json.dumps([{"name": "echo", "identifier": "echo", "input_schema": {}}, {"name": "new", "identifier": "new", "input_schema": {}}]).encode()
    os.write(replies[1], len(payload).to_bytes(4, "little") + b"\\1" + payload)
    os.read(results[0], 4096)
    os.write(replies[1], (7).to_bytes(4, "little") + b"\\2" + (1).to_bytes(4, "little") + b"\\2" + b"ok")
threading.Thread(target=gateway).start()
print(echo(a=2), tools.names(), tools.new.__name__)
"""
    with Peer(program) as peer:
        calls = peer.calls(2)
        answered = next(call for call in calls if "a" in call.arguments)
        peer.send(of_json(answered.number, {"a": 1}))
        tap.eventually(lambda: "closing" in peer.read(peer.output), "the program waits")
        peer.close_replies()
        tap.equal(peer.end().splitlines(), ["{'a': 1}", "closing", "unavailable", "ok ['echo', 'new'] new"])


def test_a_round_trip_is_quick():
    """Not a figure: only that nothing waits for a time. The figure is printed."""
    told = printed("""
import time
for _ in range(200): tools.echo()
times = []
for _ in range(2000):
    begin = time.perf_counter()
    tools.echo()
    times.append(time.perf_counter() - begin)
times.sort()
print(times[1000])
""", lambda call: of_json(call.number, 1))
    print(f"# p50 of a call, with the test's own end: {float(told[0]) * 1e6:.0f} us")
    tap.true(float(told[0]) < 0.02, told)


def test_the_parts_are_plain_to_older_pythons():
    """Their syntax is that of Python 3.9."""
    import ast
    for name in "tools", "tool_channel":
        text = (pathlib.Path(__file__).parents[2] / f"plugin/interpreter/python/{name}.py").read_text(encoding="utf-8")
        ast.parse(text, feature_version=(3, 8))


if __name__ == "__main__":
    tap.run(globals())
