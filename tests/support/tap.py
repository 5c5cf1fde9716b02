# SPDX-License-Identifier: Apache-2.0
"""A minimal test runner that prints TAP: every function named test_* of the calling module is a case.

A case passes by returning, fails by raising, and is skipped by raising Skip with its reason.
"""
import os
import sys
import threading
import time

import gvisor

# How many times longer everything may take here, as for the programs in C.
SLOW = int(os.environ.get("HARNESS_SLOW", "1"))


class Skip(Exception):
    """This machine cannot run the case; the reason is printed and the case is never counted as passed."""


def skip_all(reason):
    """Ends a program none of whose cases can be run here."""
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def equal(actual, expected, what="value"):
    if actual == expected:
        return
    if isinstance(actual, str) and isinstance(expected, str) and actual.count("\n") > 3:
        import difflib  # here, and others below: most programs need none of them, and they take as long as all the rest
        lines = difflib.unified_diff(expected.splitlines(), actual.splitlines(), "expected", "got", lineterm="")
        raise AssertionError(f"{what}:\n" + "\n".join(lines))
    raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


def contains(text, part, what="text"):
    if part not in text:
        raise AssertionError(f"{what}: {part!r} is not in {text!r}")


def lacks(text, part, what="text"):
    if part in text:
        raise AssertionError(f"{what}: {part!r} is in {text!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)


LEAST_PATIENCE = 20.0


def within(condition, seconds):
    """Does condition() hold before that time has passed? It is asked seldom once it has been waited for: many a look costs an engine or
    all of /proc more than what is waited for."""
    begin = time.monotonic()
    while not condition():
        passed = time.monotonic() - begin
        if passed > seconds * SLOW:
            return False
        time.sleep(min(max(passed / 10, 0.01), 0.1))
    return True


def eventually(condition, what, seconds=LEAST_PATIENCE):
    """Waits until condition() holds: for what the kernel does in its own time, such as reaping, on a machine that may be busy."""
    seconds = max(seconds, LEAST_PATIENCE)
    if not within(condition, seconds):
        raise AssertionError(f"not within {seconds * SLOW} s: {what}")


def explain(title, text):
    """Says why a case failed, in comments before its verdict, and on standard error where another program reads the verdicts:
    of a TAP program, `meson test --print-errorlogs` shows only that."""
    for line in text.splitlines():
        print(f"# {line}")
    if not sys.stdout.isatty():
        print(f"{title}:\n{text}", file=sys.stderr, flush=True)


def run_unittest():
    """The same for the unittest cases of the main module."""
    import unittest
    suite = list(flatten(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])))
    expect_cases(suite)
    print(f"1..{len(suite)}")
    failed = 0
    for number, case in enumerate(suite, 1):
        result = unittest.TestResult()
        case.run(result)
        title = case.id().removeprefix("__main__.")
        for _, text in result.errors + result.failures:
            explain(title, text)
        if not result.wasSuccessful():  # a part of it may have been skipped beside
            failed += 1
            print(f"not ok {number} - {title}")
        elif result.skipped:
            print(f"ok {number} - {title} # SKIP {result.skipped[0][1]}")
        else:
            print(f"ok {number} - {title}")
        sys.stdout.flush()
    unittest.case.doModuleCleanups()
    sys.exit(1 if failed else 0)


def flatten(suite):
    for member in suite:
        if hasattr(member, "addTest"):
            yield from flatten(member)
        else:
            yield member


def expect_cases(cases, wanted=()):
    """A program that runs nothing has not passed."""
    unknown = sorted(set(wanted) - {name for name, _ in cases}) if wanted else []
    if unknown or not cases:
        print(f"Bail out! {'no such case: ' + ' '.join(unknown) if unknown else 'there is no case'}")
        sys.exit(1)


class Elsewhere:
    """Assertions that fail where no case sees them: in a callback that C calls, or in another thread. The case that runs fails by them."""

    def __init__(self):
        self.failures = []
        callback_hook, thread_hook = sys.unraisablehook, threading.excepthook
        sys.unraisablehook = lambda report: self.take(report) or callback_hook(report)
        threading.excepthook = lambda report: self.take(report) or thread_hook(report)

    def take(self, report):
        if issubclass(report.exc_type, AssertionError):
            import traceback
            self.failures.append("".join(traceback.format_exception(report.exc_type, report.exc_value, report.exc_traceback)))

    def judge(self):
        true(not self.failures, "an assertion in a callback or another thread")


def run(module_globals):
    """Runs the cases (or those that TEST_CASES names) and exits."""
    cases = [(name, case) for name, case in module_globals.items()
             if name.startswith("test_") and callable(case)]
    wanted = os.environ.get("TEST_CASES", "").split()
    expect_cases(cases, wanted)
    if wanted:
        cases = [(name, case) for name, case in cases if name in wanted]
    print(f"1..{len(cases)}")
    failed, differing = 0, gvisor.skipped(sys.argv[0])
    elsewhere = Elsewhere()
    for number, (name, case) in enumerate(cases, 1):
        title = name.removeprefix("test_").replace("_", " ")
        try:
            if name.removeprefix("test_") in differing:
                raise Skip(f"in gVisor: {differing[name.removeprefix('test_')]}")
            case()
            elsewhere.judge()
            print(f"ok {number} - {title}")
        except Skip as reason:
            print(f"ok {number} - {title} # SKIP {reason}")
        except BaseException:
            import traceback
            failed += 1
            explain(title, "\n".join([traceback.format_exc(), *elsewhere.failures]))
            elsewhere.failures = []
            print(f"not ok {number} - {title}")
        sys.stdout.flush()
    sys.exit(1 if failed else 0)
