# SPDX-License-Identifier: Apache-2.0
"""A list of modules that is enforced at import: what it lets through, what it refuses and in which words, and that a program finds
itself otherwise as it does without."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from modes import Provider
from provider import NOT_RUN, OK, Host

provider = Provider()
REFUSED = "is not allowed: it is not in the policy's list (content_checks, allowed_modules)"


def use(allowed, enforce=True, **more):
    rules = {"action": "warn", "allowed_modules": allowed, "enforce_imports": enforce, **more}
    tap.equal(provider.use_policy({"content_checks": {"languages": {"python": rules}}}), OK, "prepare")


def run(code, files=(), wanted=OK, **more):
    request = {"language": "python", "code": code, "files": [{"path": path, "content": text} for path, text in files], **more}
    status, result = provider.invoke(request, Host(("sandbox.exec", "sandbox.exec.files")))
    tap.true(status == wanted, result)
    return result


def printed(code, files=(), **more):
    result = run(code, files, **more)
    tap.true(result["exit_code"] == 0, result)
    return result["stdout"]


def refused(code, name):
    """In a program that goes on, so that the import is what failed."""
    lines = "\n    ".join(code.split("\n"))
    text = printed(f"try:\n    {lines}\nexcept ImportError as error:\n    print(type(error).__name__, error.name, error)")
    tap.equal(text, f"ImportError {name} import of {name!r} {REFUSED}\n", code)


def test_what_is_not_in_the_list_is_refused():
    use(["json", "importlib", "os.path", "xml"], forbidden_modules=["xml.sax"])
    for code, name in (("import subprocess", "subprocess"), ("import os", "os"), ("import sys as s", "sys"), ("from os import *", "os"),
                       ("from os import path, system", "os"), ("import json, re", "re"), ("__import__('socket')", "socket"),
                       ("exec('import socket')", "socket"), ("eval('__import__(\"re\")')", "re"), ("import xml.sax", "xml.sax"),
                       ("import importlib\nimportlib.import_module('socket')", "socket"), ("import importlib\nimportlib.import_module('os')", "os"),
                       ("import importlib\nimportlib.__import__('os')", "os"), ("def f():\n    import re\nf()", "re"), ("import posix", "posix")):
        refused(code, name)


def test_an_empty_list_allows_nothing_and_python_itself_goes_on():
    use([])
    refused("import json", "json")
    tap.equal(printed("from __future__ import annotations\nprint(sum(map(int, '12')), '\\N{BULLET}'.encode('idna') and 1)"), "3 1\n")


def test_what_is_allowed_loads_what_it_needs():
    use(["json", "datetime", "decimal", "random", "statistics", "os.path", "collections", "pickle", "dataclasses"])
    tap.equal(printed("import json, datetime, decimal, random, statistics, collections.abc, os.path\nfrom os import path\n"
                      "from os.path import join\nprint(json.dumps([1]), datetime.datetime.strptime('2024', '%Y').year, "
                      "statistics.mean([1, 3]), join('a', 'b'), path is os.path)"), "[1] 2024 2 a/b True\n")
    tap.equal(printed("import dataclasses, pickle\n@dataclasses.dataclass\nclass A:\n    x: int = 1\nprint(pickle.loads(pickle.dumps(A(2))))"),
              "A(x=2)\n")


def test_files_of_the_request_are_held_too():
    use(["json"])
    tap.equal(printed("import helper, package.part\nfrom package import part\nprint(helper.x, part.y)",
                      [("helper.py", "import json\nx = json.loads('1')"), ("package/part.py", "from . import other\ny = other.z"),
                       ("package/other.py", "z = 2")]), "1 2\n")
    tap.contains(run("import helper", [("helper.py", "import re")])["stderr"], f"ImportError: import of 're' {REFUSED}")
    tap.contains(run("import re", [("re.py", "")])["stderr"], "import of 're'")
    tap.equal(run("1", [("_code_execute_imports.py", "")], NOT_RUN)["error"]["code"], "invalid_input")


SELF = """\"\"\"words\"\"\"
import sys, os, inspect
print(__name__, __doc__, __file__ == os.path.abspath('main.py'), os.path.basename(sys.argv[0]), sys.argv[1:], sys.orig_argv[1:])
print(sorted(vars()), __spec__, sys.modules['__main__'].__dict__ is globals(), os.listdir('.'), sys.path[0] == os.getcwd())
print(__loader__.path == __file__, __annotations__, inspect.getsource(lambda: 1))
class A: pass
import pickle
print(type(pickle.loads(pickle.dumps(A()))) is A)
"""
ENDS = {
    "exception": "def f():\n    return 1 / 0\n\nf()\n",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('x') from None\n",
    "syntax": "print(1)\nx = = 2\n",
    "exit": "import sys\nsys.exit(7)\n",
    "words": "import sys\nsys.exit('words')\n",
    "end": "import atexit, threading\natexit.register(print, 'last')\nthreading.Thread(target=print, args=('thread',)).start()\n",
    "hook": "import sys\nsys.excepthook = lambda kind, *rest: print('hook', kind.__name__)\n1 / 0\n",
    "cookie": "# -*- coding: latin-1 -*-\nprint(ascii('\u00e4'))\n",
}


def seen(code):
    result = run(code, args=["a", "b"])
    return {name: result[name] for name in ("stdout", "stderr", "exit_code", "signal", "cause")}


def test_a_program_finds_itself_as_without_it():
    modules = ["sys", "os", "inspect", "pickle", "atexit", "threading"]
    ways = []
    for enforce in False, True:
        use(modules, enforce)
        ways.append({name: seen(code) for name, code in {"self": SELF, **ENDS}.items()})
    for name, plain in ways[0].items():
        tap.equal(ways[1][name], plain, name)
    tap.contains(ways[1]["exception"]["stderr"], "main.py\", line 4, in <module>")


tap.run(globals())
