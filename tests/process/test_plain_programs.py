# SPDX-License-Identifier: Apache-2.0
"""Programs under our runners behave as under the plain interpreter: the same output, errors and end, in each of the ways in which an
interpreter starts. The programs are in plain_python.py and plain_javascript.py; how Pythons end is python_ends.py's."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import plain_javascript
import plain_python
import tap
import waiting
from modes import Provider
from provider import OK, Host

READY = 4
# The interpreter alone; with our runner: started with the run, and waiting for it in two ways.
PLAIN, BEGUN, STARTED, COPIED = "plain", "begun", waiting.STARTED, waiting.COPIED
PROGRAMS = {"python": plain_python.PROGRAMS, "javascript": plain_javascript.PROGRAMS}
NOTHING = {"python": "pass", "javascript": "undefined"}
LEAST = {"python": 180, "javascript": 100}
provider = Provider()


def use(way, language):
    provider.reset()
    ready = READY if way in (COPIED, STARTED) else 0
    prepare = {"interpreter": "node"} if language == "javascript" else {"import": [], "fork": way is COPIED}
    pool = {"ready": ready, "most": 0}
    tap.equal(provider.use_policy({"pools": {"process": pool}, "languages": {language: {"prepare": None if way is PLAIN else prepare}}}), OK)
    run(NOTHING[language], language)


def run(code, language):
    status, result = provider.invoke({"language": language, "code": code, "stdin": "one\ntwo\n"}, Host(("sandbox.exec",)))
    tap.true(status == OK and result["cause"] in ("exit", "signal"), (code, result))
    return result


def seen(result):
    """Addresses are as the kernel chooses them."""
    texts = {stream: re.sub("0x[0-9a-f]+", "0x0", result[stream]) for stream in ("stdout", "stderr")}
    return {**{name: result[name] for name in ("cause", "exit_code", "signal")}, **texts}


def run_all(way, language, names):
    use(way, language)
    results = {}
    for name in names:
        once = lambda: run(PROGRAMS[language][name], language)
        results[name] = once() if way in (PLAIN, BEGUN) else waiting.ready_run(provider, once, READY, way)
    return results


def plainly(language, known={}):
    if language not in known:
        results = run_all(PLAIN, language, PROGRAMS[language])
        tap.equal([name for name, result in results.items() if result["results"] or result["exception"]], [], "plain, but with results")
        known[language] = {name: seen(result) for name, result in results.items()}
    return known[language]


def expected(language, name):
    result = plainly(language)[name]
    known = plain_python.DIFFERENCES.get(name) if language == "python" else None
    return {**result, "stderr": result["stderr"].replace(*known)} if known else result


def compare(way, language, names=None):
    plain = {name: expected(language, name) for name in PROGRAMS[language]}
    there = run_all(way, language, names or PROGRAMS[language])
    different = [name for name, result in there.items() if seen(result) != plain[name]]
    for name in different:
        print(f"# {name}:\n#   plain {plain[name]}\n#   {way} {seen(there[name])}".replace("\\n", " "))
    tap.equal(different, [], "programs that can tell")
    with_results = sum(bool(result["results"] or result["exception"]) for result in there.values())
    tap.true(with_results > len(there) // 3, f"only {with_results} of {len(there)} told anything: the runner was not there")


def some(language):
    """A third, or all of them in the long form."""
    return list(PROGRAMS[language])[::1 if os.environ.get("CODE_EXECUTE_TEST_LONG") else 3]


def test_there_are_enough():
    tap.equal({language: len(programs) >= LEAST[language] for language, programs in PROGRAMS.items()}, {language: True for language in PROGRAMS})


def test_python_started_with_its_run():
    compare(BEGUN, "python")


def test_python_waiting():
    compare(STARTED, "python", some("python"))


def test_python_copied():
    compare(COPIED, "python")


def test_javascript_started_with_its_run():
    compare(BEGUN, "javascript")


def test_javascript_waiting():
    compare(STARTED, "javascript", some("javascript"))


tap.run(globals())
