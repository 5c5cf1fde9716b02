# SPDX-License-Identifier: Apache-2.0
"""Compares programs under our runners with the same programs under the interpreter alone, in each way in which it starts."""
import re

import tap
from languages import waiting
from provider import OK, Host

READY = 4
# The interpreter alone; with our runner: started with the run, and waiting for it in two ways.
PLAIN, BEGUN, STARTED, COPIED = "plain", "begun", waiting.STARTED, waiting.COPIED
NOTHING = {"python": "pass", "javascript": "undefined"}


def prepared(language, way):
    if way is PLAIN:
        return None
    return {"interpreter": "node"} if language == "javascript" else {"interpreter": "python", "import": [], "fork": way is COPIED}


def told(text):
    """Addresses are as the kernel chooses them, and Python 3.13 has another word for a warning that is of no line."""
    return re.sub("(?m)^<sys>:0:", "sys:1:", re.sub("0x[0-9a-f]+", "0x0", text))


def seen(result):
    texts = {stream: told(result[stream]) for stream in ("stdout", "stderr")}
    return {**{name: result[name] for name in ("cause", "exit_code", "signal")}, **texts}


class Comparison:
    """Of one interpreter, which `patch` of the policy's language chooses. differences: (a text, ours in its place) by a program's name."""

    def __init__(self, provider, language, programs, differences=None, patch=None):
        self.provider, self.language, self.programs = provider, language, programs
        self.differences, self.patch = differences or {}, patch or {}
        self.plain = None

    def use(self, way, more=None):
        self.provider.reset()
        pool = {"ready": READY if way in (COPIED, STARTED) else 0, "most": 0}
        own = {**self.patch, "prepare": prepared(self.language, way)}
        tap.equal(self.provider.use_policy({"pools": {"process": pool}, "languages": {self.language: own}, **(more or {})}), OK)
        tap.equal(self.run(NOTHING[self.language])["exit_code"], 0)

    def run(self, code):
        status, result = self.provider.invoke({"language": self.language, "code": code, "stdin": "one\ntwo\n"}, Host(("sandbox.exec",)))
        tap.true(status == OK and result["cause"] in ("exit", "signal"), (code, result))
        return result

    def run_all(self, way, names):
        self.use(way)
        results = {}
        for name in names:
            once = lambda: self.run(self.programs[name])
            results[name] = once() if way in (PLAIN, BEGUN) else waiting.ready_run(self.provider, once, READY, way)
        return results

    def plainly(self):
        if self.plain is None:
            results = self.run_all(PLAIN, self.programs)
            tap.equal([name for name, result in results.items() if result["results"] or result["exception"]], [], "plain, but with results")
            self.plain = {name: seen(result) for name, result in results.items()}
        return self.plain

    def expected(self, name):
        result = self.plainly()[name]
        known = self.differences.get(name)
        return {**result, "stderr": result["stderr"].replace(*known)} if known else result

    def compare(self, way, names=None):
        there = self.run_all(way, names or self.programs)
        different = [name for name, result in there.items() if seen(result) != self.expected(name)]
        for name in different:
            print(f"# {name}:\n#   plain {self.expected(name)}\n#   {way} {seen(there[name])}".replace("\\n", " "))
        tap.equal(different, [], "programs that can tell")
        with_results = sum(bool(result["results"] or result["exception"]) for result in there.values())
        tap.true(with_results >= max(1, len(there) // 3), f"only {with_results} of {len(there)} told anything: the runner was not there")
