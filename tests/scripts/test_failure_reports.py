# SPDX-License-Identifier: Apache-2.0
"""A test that fails says why in the log of scripts/check: in what `meson test --print-errorlogs` prints meanwhile, and in the count
at its end. Runs programs that fail on purpose, one for each kind of test, in a meson project of their own."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tap

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAILING_CASES = pathlib.Path(sys.argv[1]).resolve()

PYTHON_CASES = """
import tap

def test_fails():
    tap.equal("seen", "hoped for", "the assertion of the Python case")

def test_passes():
    pass

def test_cannot_run():
    raise tap.Skip("the reason of the skip")

tap.run(globals())
"""
UNITTEST_CASES = """
import unittest
import tap

class Cases(unittest.TestCase):
    def test_fails(self):
        self.assertEqual(1, 2, "the assertion of the unittest case")

tap.run_unittest()
"""
SHELL = "#!/bin/sh\necho 'the words of the shell test'\necho 'and those on standard error' >&2\nexit 1\n"
# Ends in the middle, as a program that is killed or violates an invariant does.
UNFINISHED = "#!/bin/sh\necho 1..3\necho 'ok 1 - begins'\necho 'the last words of the program' >&2\nexit 3\n"
KILLED = "#!/bin/sh\necho 'the last words before the signal' >&2\nkill -KILL $$\n"
# As meson logs it: a program that really met its limit would have to be faster than that on any machine.
TIMED_OUT = {"name": "timed out", "result": "TIMEOUT", "stdout": "1..2\nok 1 - begins\n", "stderr": "the last words before the wait\n"}
ONE_CASE = "#!/bin/sh\necho 1..1\necho '%s'\nexit %d\n"

PROJECT = """
project('failing')
python = find_program('{python}')
test('check', find_program('{failing_cases}'), protocol: 'tap')
test('python', python, args: '{directory}/cases.py', protocol: 'tap', env: {{'PYTHONPATH': '{support}'}})
test('unittest', python, args: '{directory}/cases_of_unittest.py', protocol: 'tap', env: {{'PYTHONPATH': '{support}'}})
test('shell', find_program('{directory}/shell'))
test('unfinished', find_program('{directory}/unfinished'), protocol: 'tap')
test('killed', find_program('{directory}/killed'))
test('passing', find_program('{directory}/passing'), protocol: 'tap')
"""
WORDS = {
    "check": ["the assertion of the C case", "and its second line", "Received signal 6 (Aborted)"],
    "python": ["the assertion of the Python case: expected 'hoped for', got 'seen'"],
    "unittest": ["the assertion of the unittest case"],
    "shell": ["the words of the shell test", "and those on standard error"],
    "unfinished": ["the last words of the program"],
    "killed": ["the last words before the signal"],
}
# How the last lines name each.
NAMED = [
    "another step: its error",
    "build abi: timed out: TIMEOUT, after 1 of 2 cases: the last words before the wait",
    "build unit: check: .*failing_cases.c:failing:fails: the assertion of the C case,.*",
    "build unit: check: .*failing_cases.c:failing:crashes:.*Received signal 6 .*",
    "build unit: python: fails: AssertionError: the assertion of the Python case: expected 'hoped for', got 'seen'",
    "build unit: unittest: Cases.test_fails: AssertionError: 1 != 2 : the assertion of the unittest case",
    "build unit: shell: FAIL: and those on standard error",
    "build unit: unfinished: ERROR, after 1 of 3 cases: the last words of the program",
    "build unit: killed: FAIL \\(signal 9\\): the last words before the signal",
]


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


class Project:
    """The failing programs as a meson project; run() is what scripts/check does with its suites."""

    def __init__(self, directory):
        self.directory = directory
        (directory / "cases.py").write_text(PYTHON_CASES)
        (directory / "cases_of_unittest.py").write_text(UNITTEST_CASES)
        script(directory / "shell", SHELL)
        script(directory / "unfinished", UNFINISHED)
        script(directory / "killed", KILLED)
        script(directory / "passing", ONE_CASE % ("ok 1 - passes", 0))
        (directory / "meson.build").write_text(PROJECT.format(python=sys.executable, failing_cases=FAILING_CASES,
                                                              directory=directory, support=ROOT / "tests/support"))
        subprocess.run(["meson", "setup", directory / "build", directory], check=True, stdout=subprocess.DEVNULL)

    def run(self, log, *names):
        return subprocess.run(["meson", "test", "-C", self.directory / "build", "--print-errorlogs", "--logbase", log, *names],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout

    def count(self, *names, again=False, steps="", tests=()):
        """The output and the status of scripts/count-results over a run, as scripts/check calls it: steps and tests beside it are given."""
        results = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        (results / "steps").write_text(steps)
        self.run("first", *names)
        log = self.directory / "build/meson-logs/first.json"
        shutil.copy(log, results / "build unit.json")
        (results / "build abi.json").write_text("".join(json.dumps(test) + "\n" for test in tests))
        if again:
            script(self.directory / "unfinished", ONE_CASE % ("ok 1 - begins", 0))
            self.run("again", *names)
            shutil.copy(log.with_name("again.json"), results / "build unit.again")
            script(self.directory / "unfinished", UNFINISHED)
        counted = subprocess.run([ROOT / "scripts/count-results", results], capture_output=True, text=True)
        return counted.stdout + counted.stderr, counted.returncode


def test_the_log_of_meson_has_the_words_of_each_kind():
    for name, words in WORDS.items():
        output = project.run("one", name)
        for part in words:
            tap.contains(output, part, f"what meson prints of {name}")


def test_the_count_has_the_words_of_each_kind():
    output, status = project.count()
    tap.equal(status, 1, "status")
    for name, words in WORDS.items():
        for part in words:
            tap.contains(output, part, f"what is counted of {name}")
    tap.contains(output, "skipped: build unit: python: cannot run: the reason of the skip")
    tap.contains(output, "failed: build unit: unfinished: ERROR, after 1 of 3 cases")
    # check 2, python, unittest, shell, unfinished, killed; one case passes in each of check, python, unfinished and passing
    tap.equal(output.splitlines()[-1], "4 passed, 7 failed, 1 skipped", "the last line")


def test_the_last_lines_name_every_failure():
    """A record that is cut at its beginning still says what failed."""
    output, _ = project.count(steps="passed a step\nfailed another step: its error\n", tests=[TIMED_OUT])
    named = output.splitlines()[-1 - len(NAMED):-1]
    for pattern in NAMED:
        lines = [line for line in named if re.fullmatch(f"FAILED {pattern}", line)]
        tap.equal(len(lines), 1, f"lines as {pattern!r} among {named}")


def test_a_long_list_of_failures_ends():
    output, _ = project.count("passing", steps="".join(f"failed step {number}: {'x' * 1000}\n" for number in range(100)))
    *_, last_named, more, total = output.splitlines()
    tap.contains(last_named, "FAILED step 59: xxx")
    tap.true(len(last_named) < 400, "a line is cut")
    tap.equal([more, total], ["FAILED and 40 more", "1 passed, 100 failed, 0 skipped"], "the last lines")


def test_words_belong_to_their_case():
    output, _ = project.count("check")
    blocks = re.findall(r"^failed: .*\n(?: .*\n)*", output, re.M)
    fails, crashes = (next(block for block in blocks if f":{case}:" in block) for case in ("fails", "crashes"))
    tap.contains(fails, "and its second line")
    tap.lacks(crashes, "and its second line")


def test_a_pass_on_the_second_run_reports_the_first_failure():
    output, status = project.count("unfinished", again=True)
    tap.equal(status, 0, "status")
    tap.contains(output, "unsteady: build unit: unfinished: ERROR\n    the last words of the program")
    tap.equal(output.splitlines()[-1], "1 passed, 0 failed, 0 skipped", "the last line")


def test_passing_programs_are_counted_without_words():
    output, status = project.count("passing")
    tap.equal((output, status), ("1 passed, 0 failed, 0 skipped\n", 0), "output and status")


if not shutil.which("meson"):
    tap.skip_all("meson is not in PATH")
with tempfile.TemporaryDirectory() as project_directory:
    project = Project(pathlib.Path(project_directory))
    tap.run(globals())
