# SPDX-License-Identifier: Apache-2.0
"""Watches what the program imports: some modules show things by themselves, and a file beside this one tells them how, right behind
their own code. One is there only where the run has tools. The program sees no other finder than Python's."""
import sys

import _frozen_importlib_external

# A module, and the file that has install() for it.
WATCHED = {"matplotlib.backends.backend_agg": "figures", "PIL.ImageShow": "images", "plotly.io._renderers": "specifications",
           "altair.vegalite.v5.api": "specifications", "altair.vegalite.v6.api": "specifications"}


def install(runner, name):
    try:
        runner.results()
        runner.load(WATCHED[name])["install"](sys.modules[name])
    except Exception:  # of another version: then it shows nothing by itself
        pass


def watch_loader(runner, name, loader):
    execute = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        execute(module)
        install(runner, name)

    loader.exec_module = exec_module


def watch(runner):
    """runner: the class _Runner of either sitecustomize.py."""
    finder = _frozen_importlib_external.PathFinder
    find = finder.__dict__["find_spec"].__func__

    def find_spec(cls, name, path=None, target=None):
        if name == "tools" and runner.has_tools:
            return runner.load("tools")["spec"](runner)
        spec = find(cls, name, path, target)
        if name in WATCHED and spec is not None and spec.loader is not None:
            watch_loader(runner, name, spec.loader)
        return spec

    finder.find_spec = classmethod(find_spec)
    for name in WATCHED:
        if name in sys.modules:
            install(runner, name)
