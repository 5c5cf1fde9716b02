# SPDX-License-Identifier: Apache-2.0
"""An interpreter that has the libraries of a test: this one, the one that CODE_EXECUTE_TEST_PYTHON names, or the distribution's."""
import importlib.util
import os
import subprocess
import sys

import tap

DISTRIBUTION = "/usr/bin/python3"


def has(interpreter, name):
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return os.path.exists(interpreter) and subprocess.run([interpreter, "-c", code], check=False).returncode == 0


def become_one_with(name):
    """Executes this test in such an interpreter; without one it is skipped as a whole."""
    named = os.environ.get("CODE_EXECUTE_TEST_PYTHON")
    if not named and importlib.util.find_spec(name):
        return
    if os.environ.get("LIBRARY_PYTHON"):
        return
    for interpreter in [named] if named else [DISTRIBUTION]:
        if has(interpreter, name):
            os.execve(interpreter, [interpreter, *sys.argv], {**os.environ, "LIBRARY_PYTHON": interpreter})
    tap.skip_all(f"no interpreter has {name} (Debian: python3-{name})")
