# SPDX-License-Identifier: Apache-2.0
"""The limits of the names that a cell defines stand in a header and in the scripts of two interpreters: test_name_limits.py HEADER
SCRIPT..."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap

HEADER, *SCRIPTS = map(pathlib.Path, sys.argv[1:])


def found(path, *patterns):
    text = path.read_text()
    return [int(number) for pattern in patterns for match in re.findall(pattern, text, re.MULTILINE) for number in ([match] if isinstance(match, str) else match)]


def test_the_scripts_have_the_header_s():
    limits = found(HEADER, r"^#define SESSION_NAMES_MOST +(\d+)$", r"^#define SESSION_NAME_BYTES +(\d+)\b")
    tap.equal(len(limits), 2, "the header has both")
    tap.equal(len(SCRIPTS), 2)
    for script in SCRIPTS:
        told = found(script, r"^NAMES_LIMIT, NAME_LENGTH = (\d+), (\d+)\b", r"^const NAMES_LIMIT = (\d+), NAME_LENGTH = (\d+);")
        tap.equal(told, limits, script.name)


tap.run(globals())
