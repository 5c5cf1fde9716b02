# SPDX-License-Identifier: Apache-2.0
"""Content checks of Python programs: what is seen through which disguise, and what honestly is not; warnings that the approver gets,
refusals, and programs that are made to break what reads them."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import MODE, Provider, run_in_every_mode
from provider import LATER, NOT_RUN, OK, Host

provider = Provider()
RULES = {"action": "refuse", "forbidden_modules": ["os", "subprocess", "xml.sax"], "forbidden_names": ["eval", "exec", "json.dumps"]}

# (a line of the program, the findings on it)
SEEN = [
    ("import os", {("forbidden_module", "os")}),
    ("import os as x", {("forbidden_module", "os")}),
    ("import json, os.path", {("forbidden_module", "os.path")}),
    ("from os import system as s", {("forbidden_module", "os")}),
    ("from os import *", {("forbidden_module", "os")}),
    ("from xml import sax", {("forbidden_module", "xml.sax")}),
    ("import xml.sax.handler", {("forbidden_module", "xml.sax.handler")}),
    ("if 0: import subprocess", {("forbidden_module", "subprocess")}),
    ("def f(): import subprocess", {("forbidden_module", "subprocess")}),
    ("__import__('os')", {("forbidden_module", "os")}),
    ("__import__(name='os')", {("forbidden_module", "os")}),
    ("__import__('so'[::-1])", {("forbidden_module", "os")}),
    ("__import__('o' + 's')", {("forbidden_module", "os")}),
    ("__import__(chr(111) + chr(115))", {("forbidden_module", "os")}),
    ("__import__(''.join(['o', 's']))", {("forbidden_module", "os")}),
    ("__import__(''.join(map(chr, [111, 115])))", {("forbidden_module", "os")}),
    ("__import__(''.join(chr(c - 1) for c in [112, 116]))", {("forbidden_module", "os")}),
    ("__import__(f\"{'o'}s\")", {("forbidden_module", "os")}),
    ("__import__('%ss' % 'o')", {("forbidden_module", "os")}),
    ("__import__('OS'.lower())", {("forbidden_module", "os")}),
    ("__import__('oxs'.replace('x', ''))", {("forbidden_module", "os")}),
    ("__import__(bytes.fromhex('6f73').decode())", {("forbidden_module", "os")}),
    ("__import__(base64.b64decode('b3M=').decode())", {("forbidden_module", "os")}),
    ("__import__(codecs.decode('bf', 'rot13'))", {("forbidden_module", "os")}),
    ("__import__(name_of_it)", {("forbidden_module", "os")}),
    ("importlib.import_module('o' + 's')", {("forbidden_module", "os")}),
    ("il.import_module('os')", {("forbidden_module", "os")}),
    ("im('subprocess')", {("forbidden_module", "subprocess")}),
    ("getattr(importlib, 'import_' + 'module')('os')", {("forbidden_module", "os")}),
    ("__import__('importlib').import_module('os')", {("forbidden_module", "os")}),
    ("sys.modules['os']", {("forbidden_module", "os")}),
    ("__builtins__.__import__('os')", {("forbidden_module", "os")}),
    ("renamed_import('os')", {("forbidden_module", "os")}),
    ("(lambda i=__import__: i('os'))", {("forbidden_module", "os"), ("dynamic_import", "__import__")}),
    ("__import__(input())", {("dynamic_import", "__import__")}),
    ("importlib.import_module(sys.argv[1])", {("dynamic_import", "importlib.import_module")}),
    ("sys.modules[input()]", {("dynamic_import", "sys.modules")}),
    ("list(map(__import__, ['re']))", {("dynamic_import", "__import__")}),
    ("importlib.machinery.SourceFileLoader('a', 'b')", {("dynamic_import", "importlib.machinery.SourceFileLoader")}),
    ("eval('1')", {("forbidden_name", "eval")}),
    ("eval(input())", {("forbidden_name", "eval"), ("dynamic_code", "eval")}),
    ("print(eval)", {("forbidden_name", "eval"), ("dynamic_code", "eval")}),
    ("compile(input(), '', 'exec')", {("dynamic_code", "compile")}),
    ("builtins.eval('1')", {("forbidden_name", "eval")}),
    ("getattr(__builtins__, 'eval')", {("forbidden_name", "eval")}),
    ("getattr(__builtins__, 'ev' + 'al')('1')", {("forbidden_name", "eval")}),
    ("__builtins__['eval']", {("forbidden_name", "eval")}),
    ("vars(__builtins__)['ev' + 'al']", {("forbidden_name", "eval")}),
    ("globals()['__builtins__'].eval", {("forbidden_name", "eval")}),
    ("__builtins__.__dict__['eval']", {("forbidden_name", "eval")}),
    ("__builtins__.__getattribute__('eval')", {("forbidden_name", "eval")}),
    ("getattr(__builtins__, input())", {("dynamic_attribute", "builtins")}),
    ("operator.attrgetter('eval')(builtins)", {("forbidden_name", "eval")}),
    ("exec('import os')", {("forbidden_name", "exec"), ("forbidden_module", "os")}),
    ("exec(compile('import subprocess', '', 'exec'))", {("forbidden_name", "exec"), ("forbidden_module", "subprocess")}),
    ("exec(\"exec('import os')\")", {("forbidden_name", "exec"), ("forbidden_module", "os")}),
    ("json.dumps(1)", {("forbidden_name", "json.dumps")}),
    ("j.dumps", {("forbidden_name", "json.dumps")}),
    ("from json import dumps", {("forbidden_name", "json.dumps")}),
    ("getattr(j, 'dum' + 'ps')", {("forbidden_name", "json.dumps")}),
    ("(a_copy := json).dumps", {("forbidden_name", "json.dumps")}),
    ("ｅｖａｌ('1')", {("forbidden_name", "eval")}),  # compatible characters: Python takes them for eval
    ("random._os", {("forbidden_module", "os")}),
]
# Nothing is said of these lines: what a check of this kind does not see.
NOT_SEEN = [
    "().__class__.__base__.__subclasses__()",
    "[c for c in object.__subclasses__() if c.__name__ == 'catch_warnings'][0]()._module",
    "print.__self__",
    "type('x', (), {'__reduce__': None})",
    "open('helper.py', 'w').write('import os'); import helper",
    "pickle.loads(b'cos\\nsystem\\n.')",
    "ctypes.CDLL(None).system",
    "pass  # import os",
    "self.os",
    "'import os'",
    "x = 'eval'",
    "class A: eval = 1",
    "import osmium",
    "import json",
    "loads.__globals__",
]
PREAMBLE = ["import base64, codecs, importlib, importlib as il, sys, builtins, operator, json as j, json, random, pickle, ctypes",
            "from importlib import import_module as im", "renamed_import = __import__", "name_of_it = 'o' + 's'", "from json import loads", "if 0:"]


def use(rules, **more):
    policy = {"content_checks": {"languages": {"python": rules}, **more}}
    tap.equal(provider.use_policy(policy), OK, "prepare")


def invoke(code, wanted, files=(), host=None):
    host = host or Host(("sandbox.exec", "sandbox.exec.files"))
    request = {"language": "python", "code": code, "files": [{"path": path, "content": text} for path, text in files]}
    status, result = provider.invoke(request, host)
    tap.true(status == wanted, result)
    return result, host


def findings_of(lines):
    """{line: its findings} of programs of these lines, none of which is run: {(rule, name)}."""
    found = {}
    # Each of its own, after the preamble, so that none gives names to another; a few at a time to see the limit of what is told.
    for line in lines:
        asked = []
        host = Host(("sandbox.exec",), request_approval=lambda token, request, _verdict: asked.append(json.loads(request)))
        invoke("\n".join(PREAMBLE + [f" {line}"]), NOT_RUN, host=host)
        told = asked[0]["content_findings"]
        found[line] = {(finding["rule"], name_in(finding)) for finding in told if finding["line"] == len(PREAMBLE) + 1}
        others = {(finding["line"], finding["rule"]) for finding in told if finding["line"] <= len(PREAMBLE)}
        tap.true(not others, (line, others))
    return found


def name_in(finding):
    words = finding["message"].replace(",", "").split(" ")
    return words[words.index("by") + 1] if "by" in words else words[2] if words[0] == "takes" else words[1]


def compare(table):
    use({**RULES, "action": "warn"})
    found = findings_of([line for line, _ in table])
    wrong = [(line, wanted, found[line]) for line, wanted in table if wanted != found[line]]
    tap.true(not wrong, "\n".join(map(repr, wrong)))


def test_dangerous_code_is_found():
    # Each line takes a call; docker mode's are slow, and the checker the same.
    compare(SEEN if MODE == "process" else SEEN[::10])


def test_some_code_escapes_the_check():
    compare([(line, set()) for line in (NOT_SEEN if MODE == "process" else NOT_SEEN[:2])])


def test_a_warning_goes_to_the_approver_and_the_result():
    use({**RULES, "action": "warn"})
    result, host = invoke("import json\n\nimport  os as system\nprint(6 * 7)", OK)
    tap.equal(host.requests[0]["content_findings"], [
        {"column": 1, "file": None, "line": 3, "message": "imports os, which the policy forbids", "rule": "forbidden_module"}])
    tap.equal(host.requests[0]["content_findings_more"], 0)
    tap.equal(result["stdout"], "42\n")
    tap.equal(result["notes"], ["content check: line 3, column 1: imports os, which the policy forbids (forbidden_module)"])


def test_a_refusal_asks_for_no_approval_and_runs_nothing():
    use(RULES)
    result, host = invoke("print(1)\neval('1')\nimport os", NOT_RUN)
    tap.equal(result["status"], "denied")
    tap.equal(result["error"]["code"], "content_refused")
    tap.equal(result["error"]["message"], "content refused: line 2, column 1: uses eval, which the policy forbids (forbidden_name)")
    tap.contains(result["error"]["hint"], "line 2 (forbidden_name) and 1 more")
    tap.equal((host.requests, [record["event"] for record in host.records]), ([], ["refused"]))
    invoke("print(1)", OK)  # and the control


def test_an_edit_is_checked_too():
    def edit(code):
        def request_approval(token, request, verdict):
            provider.reply(token, {"decision": "edit", "arguments": {"language": "python", "code": code}})
            verdict[0] = LATER
        return Host(request_approval=request_approval)
    use(RULES)
    status, result = provider.invoke({"language": "python", "code": "print(1)"}, edit("import os; print(2)"))
    tap.equal((status, result["error"] and result["error"]["code"], result["stdout"]), (NOT_RUN, "content_refused", ""))
    tap.equal(provider.invoke({"language": "python", "code": "print(1)"}, edit("print(2)"))[1]["stdout"], "2\n")


def test_an_empty_list_allows_or_forbids_nothing():
    use({"action": "refuse", "allowed_modules": []})
    tap.contains(invoke("import json", NOT_RUN)[0]["error"]["message"], "imports json, which is not in the policy's list")
    invoke("from __future__ import annotations\nprint(1)", OK)
    use({"action": "refuse", "forbidden_modules": [], "forbidden_names": []})
    invoke("import os; eval('1')", OK)
    use({"action": "refuse", "allowed_modules": ["json", "os.path"], "forbidden_modules": ["json.tool"]})
    invoke("import json, json.decoder, os.path\nfrom os import path", OK)
    invoke("import os", NOT_RUN)
    invoke("import json.tool", NOT_RUN)


# Each imports what this list does not have, in a way of its own.
LIST = {"action": "refuse", "required": True, "allowed_modules": ["json", "importlib", "os.path", "xml"], "forbidden_modules": ["xml.sax"]}
NOT_IN_THE_LIST = ["import subprocess", "import os", "import sys as s", "from os import *", "from os import path, system", "import json, re",
                   "__import__('socket')", "exec('import socket')", "eval('__import__(\"re\")')", "import xml.sax",
                   "import importlib\nimportlib.import_module('socket')", "import importlib\nimportlib.import_module('os')",
                   "import importlib\nimportlib.__import__('os')", "def f():\n    import re\nf()", "import posix"]


def test_modules_outside_of_the_list_are_refused():
    use(LIST)
    for code in NOT_IN_THE_LIST if MODE == "process" else NOT_IN_THE_LIST[::5]:
        result, host = invoke(code, NOT_RUN)
        tap.equal((result["error"]["code"], host.requests), ("content_refused", []), code)
    tap.equal(invoke("import json, importlib, os.path, xml.dom\nfrom os import path\nprint(json.dumps([1]))", OK)[0]["stdout"], "[1]\n")
    result, _ = invoke("import helper", NOT_RUN, [("helper.py", "import re")])
    tap.contains(result["error"]["message"], "helper.py line 1, column 1: imports re")
    invoke("import re", NOT_RUN, [("re.py", "")])


def test_files_that_come_along():
    use({**RULES, "allowed_modules": ["json"]})
    result, _ = invoke("import helper", NOT_RUN, [("data.txt", "import os"), ("helper.py", "import json\nimport os")])
    tap.contains(result["error"]["message"], "helper.py line 2, column 1: imports os")
    invoke("import helper, package.part", OK, [("helper.py", "import json"), ("package/part.py", "")])
    invoke("import other", NOT_RUN, [("helper.py", "import json")])
    tap.contains(invoke("import re", NOT_RUN, [("re.py", "")])[0]["error"]["message"], "imports re")


def test_unparsable_code_is_found():
    for required, wanted in (True, NOT_RUN), (False, OK):
        use({"action": "refuse", "required": required, "forbidden_modules": ["os"]})
        result, host = invoke("print(\n", wanted)
        text = result["error"]["message"] if required else host.requests[0]["content_findings"][0]["message"]
        tap.contains(text, "is no Python")
    tap.contains(str(host.requests[0]["content_findings"]), "parse_error")


def test_programs_against_the_parser():
    hostile = {
        "parentheses": "(" * 100000 + ")" * 100000,
        "a million of them": "(" * 1000000,
        "brackets": "[" * 300 + "]" * 300,
        "minus": "-" * 500000 + "1",
        "attributes": "a" + ".b" * 100000,
        "sums": "1" + "+1" * 100000,
        "else if": "if 1: pass\n" + "elif 1: pass\n" * 20000,
        "a number": "9" * 900000,
        "a cookie": "# coding: no-such-thing\nimport os\n",
    }
    for required in True, False:
        use({"action": "warn", "required": required, "forbidden_modules": ["os"]}, timeout_ms=20000)
        for name, code in hostile.items() if MODE == "process" else list(hostile.items())[-2:]:
            host = Host()
            status, result = provider.invoke({"language": "python", "code": code}, host)
            if required:
                refused = status == NOT_RUN and result["error"]["code"] == "content_refused" and not host.requests
                read = status == OK and host.requests[0]["content_findings"] == []
                tap.true(refused or read, (name, result))
            else:
                tap.true(status == OK and host.requests, (name, result))
        invoke("print(1)", OK)


def test_a_declared_encoding_is_told():
    use({"action": "warn", "forbidden_modules": ["os"]})
    result, _ = invoke("# coding: utf-7\n+AGkAbQBwAG8AcgB0- os\n", OK)
    tap.contains(result["notes"][0], "declares the encoding utf-7: it runs as other text than is shown (declared_encoding)")
    tap.contains(result["notes"][1], "imports os")
    tap.equal(invoke("# coding: utf-8\nprint('\u00e4')", OK)[0]["notes"], [])


def test_text_that_is_shown_in_another_order_is_told():
    use({"action": "warn", "forbidden_modules": []})
    result, _ = invoke("print(1)\nx = '\u202e'\n", OK)
    tap.contains(result["notes"][0], "line 2, column 1: has a bidirectional control")


def test_time_is_bounded():
    use({"action": "warn", "required": True, "forbidden_modules": ["os"]}, timeout_ms=1)
    tap.contains(invoke("print(1)", NOT_RUN)[0]["error"]["message"], "the content check failed: wall_timeout")
    use({"action": "warn", "forbidden_modules": ["os"]}, timeout_ms=1)
    result, host = invoke("print(1)", OK)
    tap.equal(host.requests[0]["content_findings"], [{"column": 0, "file": None, "line": 0, "rule": "not_checked",
                                                      "message": "the content check failed: wall_timeout"}])
    tap.equal(result["notes"], ["content check: the content check failed: wall_timeout (not_checked)"])


def test_many_findings_are_counted():
    use({"action": "warn", "forbidden_modules": ["os"]})
    result, host = invoke("import os\n" * 100, OK)
    tap.equal(len(host.requests[0]["content_findings"]), 32)
    tap.equal(host.requests[0]["content_findings_more"], 68)
    tap.equal(result["notes"][-1], "content check: 68 more findings")


def test_nothing_of_the_program_runs_in_the_check():
    """A check that ran it would print, and have its variables."""
    use({**RULES, "action": "warn"})
    result, _ = invoke("print(open('rules.json').read())", OK)
    tap.equal((result["exit_code"], result["stdout"]), (1, ""))
    tap.contains(result["stderr"], "FileNotFoundError")


def test_mode_none_has_the_check_in_a_sandbox():
    if MODE != "process":
        raise tap.Skip("of process mode")
    policy = {"modes": {"default": "none", "allowed": ["none"]}, "capabilities": ["sandbox.exec", "sandbox.exec.mode.none"],
              "content_checks": {"languages": {"python": RULES}}}
    tap.equal(provider.use_policy(policy, "none"), OK)
    host = Host(("sandbox.exec", "sandbox.exec.mode.none"))
    tap.equal(provider.invoke({"language": "python", "code": "import os"}, host)[1]["error"]["code"], "content_refused")
    tap.equal(provider.invoke({"language": "python", "code": "print(1)"}, host)[1]["stdout"], "1\n")


# Which text is a finding, and what is made of findings.
OF_THE_GATEWAY = ["dangerous_code_is_found", "some_code_escapes_the_check", "a_warning_goes_to_the_approver_and_the_result", "an_edit_is_checked_too",
                  "an_empty_list_allows_or_forbids_nothing", "modules_outside_of_the_list_are_refused", "a_declared_encoding_is_told",
                  "text_that_is_shown_in_another_order_is_told", "many_findings_are_counted"]
run_in_every_mode(globals(), OF_THE_GATEWAY)
