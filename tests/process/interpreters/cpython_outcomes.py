# SPDX-License-Identifier: Apache-2.0
"""Runs tests of CPython's own suite inside a sandbox, as code of a run, and prints a line "@outcome WORD ID" for each; what failed is
on stderr. Arguments: a module of the package test, names of its classes (all where there are none), "-NAME" to leave out a class or
CLASS.TEST."""
import os
import sys
import unittest


def outcome(word, name):
    """At once and by its own system call, because a test may end the process or replace the streams."""
    os.write(1, f"\n@outcome {word} {name}\n".encode())


class Outcomes(unittest.TestResult):
    def stopTest(self, test):
        super().stopTest(test)
        outcome(self.words.pop() if self.words else "ok", test.id())

    def startTest(self, test):
        super().startTest(test)
        self.words = []

    def add(self, word, test, error):
        os.write(2, f"\n{word}: {test.id()}\n{self._exc_info_to_string(error, test)[-1500:]}".encode(errors="replace"))
        if isinstance(test, unittest.TestCase):
            self.words.append(word)
        else:
            outcome(word, test.id())  # of a class or of the module

    def addError(self, test, err):
        self.add("error", test, err)

    def addFailure(self, test, err):
        self.add("fail", test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.add("fail", test, err)

    def addSkip(self, test, reason):
        if isinstance(test, unittest.TestCase) and hasattr(self, "words"):
            self.words.append("skip")
        else:
            outcome("skip", test.id())

    def addExpectedFailure(self, test, err):
        self.words.append("expected")

    def addUnexpectedSuccess(self, test):
        self.words.append("unexpected")


def cases(suite):
    for member in suite:
        if isinstance(member, unittest.TestSuite):
            yield from cases(member)
        else:
            yield member


def chosen(case, names):
    where = type(case).__name__, f"{type(case).__name__}.{getattr(case, '_testMethodName', '')}"
    keep = [name for name in names if not name.startswith("-")]
    return (not keep or any(name in where for name in keep)) and not any("-" + name in names for name in where)


def reconfigure():
    """As the suite's own runner has them."""
    try:
        sys.stdout.reconfigure(errors="backslashreplace")
    except OSError as error:
        return type(error).__name__
    return "ok"


def main(module, *names):
    from test import support
    support.use_resources = ["subprocess"]
    outcome(reconfigure(), "streams reconfigured")
    os.chdir("/tmp")
    everything = unittest.defaultTestLoader.loadTestsFromName("test." + module)
    suite = unittest.TestSuite(case for case in cases(everything) if chosen(case, names))
    suite.run(Outcomes())
    os.write(1, b"\n@end\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
