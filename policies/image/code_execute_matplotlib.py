# SPDX-License-Identifier: Apache-2.0
"""Gives matplotlib the list of fonts made with the image when, and only when, a program imports it.

matplotlib takes a cache only from a directory that it can write to, and the root of a sandbox is read-only.
"""
import os
import sys

MADE = "/usr/share/code-execute/matplotlib"


class BeforeMatplotlib:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "matplotlib":
            sys.meta_path.remove(BeforeMatplotlib)
            copy()
        return None  # found by whoever is next


def copy():
    if "MPLCONFIGDIR" in os.environ:
        return
    import shutil
    import tempfile
    try:
        directory = os.path.join(tempfile.gettempdir(), ".matplotlib")
        shutil.copytree(MADE, directory, dirs_exist_ok=True)
        os.environ["MPLCONFIGDIR"] = directory
    except OSError:
        pass  # matplotlib then makes its own


sys.meta_path.insert(0, BeforeMatplotlib)
