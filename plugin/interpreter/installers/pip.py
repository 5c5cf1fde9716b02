# SPDX-License-Identifier: Apache-2.0
"""Stands in front of Python's module pip in runs that have no network and no endpoints, where PYTHONPATH names this directory: that is
in the Pythons that a program starts. "python3 -m pip" becomes the command pip beside this file, which says what is there. An import gets
the machine's own module."""


def _find():
    """The machine's own module: its spec; None: it has none."""
    import importlib.machinery
    import os
    import sys
    place = os.path.dirname(os.path.abspath(__file__))
    return importlib.machinery.PathFinder.find_spec("pip", [entry for entry in sys.path if entry != place])


def _ask_command():
    import os
    import sys
    python = sys.executable if _find() else ""
    os.execv(os.path.join(os.path.dirname(os.path.abspath(__file__)), "pip"), ["pip", "--from-python=" + python, *sys.argv[1:]])


def _become_the_machines_own():
    import importlib.util
    import sys
    spec = _find()
    if spec is None:
        raise ModuleNotFoundError("No module named 'pip'", name="pip")
    module = sys.modules["pip"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "__main__":
    _ask_command()
else:
    _become_the_machines_own()
