# SPDX-License-Identifier: Apache-2.0
"""An interpreter that has the libraries of a test: this one, the one that CODE_EXECUTE_TEST_PYTHON names, or the distribution's. Where
LIBRARIES_OF_PYPI is a directory, it is one below that, with the libraries of PyPI that tests/process/interpreters/libraries.txt lists."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import tap
from packages import python_packages

DISTRIBUTION = "/usr/bin/python3"
MODULES = ("altair", "matplotlib.pyplot", "pandas", "PIL.Image", "plotly.express", "polars", "pyarrow", "seaborn")
LISTED = pathlib.Path(__file__).parents[2] / "process/interpreters/libraries.txt"


def has(interpreter, name):
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return os.path.exists(interpreter) and subprocess.run([interpreter, "-c", code], check=False).returncode == 0


def of_pypi():
    """The directory of an environment with the libraries that are listed; without one the test is skipped as a whole."""
    try:
        return python_packages.install(LISTED, os.environ["LIBRARIES_OF_PYPI"], MODULES)
    except python_packages.Unavailable as reason:
        tap.skip_all(str(reason))


def become(interpreter):
    os.execve(interpreter, [interpreter, *sys.argv], {**os.environ, "LIBRARY_PYTHON": interpreter})


def become_one_with(name):
    """Executes this test in such an interpreter; without one it is skipped as a whole."""
    named = os.environ.get("CODE_EXECUTE_TEST_PYTHON")
    if os.environ.get("LIBRARY_PYTHON"):
        return
    if not named and os.environ.get("LIBRARIES_OF_PYPI"):
        become(str(of_pypi() / "bin/python"))
    if not named and importlib.util.find_spec(name):
        return
    for interpreter in [named] if named else [DISTRIBUTION]:
        if has(interpreter, name):
            become(interpreter)
    tap.skip_all(f"no interpreter has {name} (Debian: python3-{name})")
