# SPDX-License-Identifier: Apache-2.0
"""Programs under our runners behave as under the plain interpreter: the same output, errors and end, in each of the ways in which an
interpreter starts. The programs are in plain_python.py and plain_javascript.py; how Pythons end is python_ends.py's."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import plain_javascript
import plain_python
import tap
from modes import Provider
from plain_comparison import BEGUN, COPIED, STARTED, Comparison

LEAST = {"python": 180, "javascript": 100}
PYTHON, JAVASCRIPT = (BEGUN, STARTED, COPIED), (BEGUN, STARTED)
provider = Provider()
python = Comparison(provider, "python", plain_python.PROGRAMS, plain_python.DIFFERENCES)
javascript = Comparison(provider, "javascript", plain_javascript.PROGRAMS)


def share(comparison, way, ways):
    """Each program in one of the ways, or in the long form in all: the runner is the same."""
    programs = list(comparison.programs)
    return programs if os.environ.get("CODE_EXECUTE_TEST_LONG") else programs[ways.index(way)::len(ways)]


def test_there_are_enough():
    tap.equal({comparison.language: len(comparison.programs) >= LEAST[comparison.language] for comparison in (python, javascript)},
              {language: True for language in LEAST})


def test_python_started_with_its_run():
    python.compare(BEGUN, share(python, BEGUN, PYTHON))


def test_python_waiting():
    python.compare(STARTED, share(python, STARTED, PYTHON))


def test_python_copied():
    python.compare(COPIED, share(python, COPIED, PYTHON))


def test_javascript_started_with_its_run():
    javascript.compare(BEGUN, share(javascript, BEGUN, JAVASCRIPT))


def test_javascript_waiting():
    javascript.compare(STARTED, share(javascript, STARTED, JAVASCRIPT))


tap.run(globals())
