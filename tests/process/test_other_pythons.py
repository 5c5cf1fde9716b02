# SPDX-License-Identifier: Apache-2.0
"""Our runner in further versions of Python, where this machine has them: programs behave as under the interpreter alone, in each way in
which it starts, and their results are told."""
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import other_pythons
import plain_python
import python_packages
import tap
from modes import Provider
from plain_comparison import BEGUN, COPIED, STARTED, Comparison

# A twelfth of the programs, or all of them in the long form.
SOME = list(plain_python.PROGRAMS)[::1 if os.environ.get("CODE_EXECUTE_TEST_LONG") else 12]
BUILD = pathlib.Path(os.environ["CODE_EXECUTE_SO"]).resolve().parents[1]  # nobody else can write there, so the fork server trusts it
provider = Provider()


def own_results(comparison, way):
    comparison.use(way)
    result = comparison.run("display('shown')\n6 * 7")
    tap.equal([(row["role"], row["text"]) for row in result["results"]], [("display", "'shown'"), ("value", "42")], result)
    result = comparison.run("def f():\n    raise ValueError('x')\nf()")
    tap.equal((result["exception"]["name"], [frame["line"] for frame in result["exception"]["frames"]]), ("ValueError", [3, 2]), result)


def compare(minor):
    prefix = other_pythons.prefix_of(minor)
    if prefix is None:
        raise tap.Skip(f"no Python 3.{minor} is on this machine, in PATH, of pyenv or of uv")
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
        for way in (BEGUN, STARTED, COPIED):
            comparison.compare(way)
            own_results(comparison, way)
    finally:
        provider.reset()
        shutil.rmtree(place)


for number in other_pythons.minors():
    globals()[f"test_python_3_{number}"] = lambda minor=number: compare(minor)


tap.run(globals())
