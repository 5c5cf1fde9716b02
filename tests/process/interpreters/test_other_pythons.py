# SPDX-License-Identifier: Apache-2.0
"""Our runner in further versions of Python, where this machine has them: programs behave as under the interpreter alone, in each way in
which it starts, and their results are told."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import plain_python
import tap
from languages import other_pythons
from modes import LONG, Provider
from packages import python_packages
from plain_comparison import BEGUN, COPIED, STARTED, Comparison
from provider import Host

# A twelfth of the programs, each in one of the ways and a session in the last; in the long form all of them in each.
WAYS = (BEGUN, STARTED, COPIED)
SOME = list(plain_python.PROGRAMS)[::1 if LONG else 12]
RIGHTS = ("sandbox.exec", "sandbox.exec.session")
BUILD = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).resolve().parents[1]  # nobody else can write there, so the fork server trusts it
EXPRESSIONS = pathlib.Path(__file__).with_name("python_expressions.py")
provider = Provider()


def own_results(comparison, way):
    comparison.use(way)
    result = comparison.run("display('shown')\n6 * 7")
    tap.equal([(row["role"], row["text"]) for row in result["results"]], [("display", "'shown'"), ("value", "42")], result)
    result = comparison.run("def f():\n    raise ValueError('x')\nf()")
    tap.equal((result["exception"]["name"], [frame["line"] for frame in result["exception"]["frames"]]), ("ValueError", [3, 2]), result)


def own_session(comparison, way):
    """Its cells, an interruption, and a cell that is undone."""
    comparison.use(way, {"sessions": {"max_total": 2, "checkpoints": 2}})

    def cell(code, session, **more):
        result = provider.invoke({"language": "python", "code": code, "session": session, **more}, Host(RIGHTS))[1]
        tap.equal(result["session"] and result["session"]["state"], "kept", result)
        return result
    first = cell("import sys\nx = 41\nasync def g(): return x", "new")
    session = first["session"]["id"]
    value = cell("await g() + 1", session)
    tap.equal([row["text"] for row in value["results"]], ["42"], value)
    failed = cell("raise ValueError(x)", session)
    tap.equal((failed["exit_code"], failed["exception"]["name"]), (1, "ValueError"), failed)
    tap.equal(cell("sys.exit(3)", session)["exit_code"], 3)
    late = cell("while True: pass", session, timeout_ms=500)
    tap.equal((late["status"], late["exception"]["name"]), ("timeout", "KeyboardInterrupt"), late)
    fresh = cell("x = 1", "new")["session"]["id"]
    cell("x = 2", fresh)
    tap.equal(cell("print(x)", fresh, session_action="undo")["stdout"], "1\n")


def found(minor):
    prefix = other_pythons.prefix_of(minor)
    if prefix is None:
        raise tap.Skip(f"no Python 3.{minor} is on this machine, in PATH, of pyenv or of uv")
    return prefix


def compare_expressions(minor):
    told = subprocess.run([found(minor) / f"bin/python3.{minor}", "-I", EXPRESSIONS], capture_output=True, text=True, check=True)
    tap.true(told.stdout.strip().isdigit() and int(told.stdout) > 500, told.stdout[:4000])


def compare(minor):
    prefix = found(minor)
    if not shutil.which("patchelf"):
        raise tap.Skip("patchelf is not installed")
    if not python_packages.is_open_to_others(BUILD):
        raise tap.Skip(f"the user of a sandbox cannot look into {BUILD}")
    place = pathlib.Path(tempfile.mkdtemp(dir=BUILD, prefix=f"python3.{minor}-"))
    try:
        place.chmod(0o755)
        python = other_pythons.copy(minor, prefix, place)
        patch = {"argv": [str(python), "{file}"], "read_only": [str(place)]}
        comparison = Comparison(provider, "python", {name: plain_python.PROGRAMS[name] for name in SOME}, plain_python.DIFFERENCES, patch)
        for number, way in enumerate(WAYS):
            comparison.compare(way, None if LONG else SOME[number::len(WAYS)])
            own_results(comparison, way)
            if LONG or way is COPIED:
                own_session(comparison, way)
    finally:
        provider.reset()
        shutil.rmtree(place)


for number in other_pythons.minors():
    globals()[f"test_python_3_{number}"] = lambda minor=number: compare(minor)
    globals()[f"test_expressions_in_python_3_{number}"] = lambda minor=number: compare_expressions(minor)


tap.run(globals())
