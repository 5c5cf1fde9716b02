# SPDX-License-Identifier: Apache-2.0
"""The end of a copied Python, which is shorter than that of any other: no program can tell, by what it says and how it ends."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from languages import waiting
from modes import LONG, Provider
from provider import OK, Host
from python_ends import IN_TWO_MODULES, ORDER_COMPARED, OTHER_ORDER, PRELUDE, PROGRAMS, UNORDERED, WHOLE

READY = 4
# Python alone; with our runner: started with the run, and waiting for it in two ways.
PLAIN, BEGUN, STARTED, COPIED = "plain", "begun", waiting.STARTED, waiting.COPIED
provider = Provider()


def use(way, modules=()):
    provider.reset()
    prepare = {"import": list(modules), "fork": way is COPIED} if way is not PLAIN else None
    pool = {"ready": READY if way in (COPIED, STARTED) else 0, "most": 0}
    tap.equal(provider.use_policy({"pools": {"process": pool}, "languages": {"python": {"prepare": prepare}}}), OK)


def run(code):
    status, result = provider.invoke({"language": "python", "code": PRELUDE + code}, Host(("sandbox.exec",)))
    tap.true(status == OK and result["cause"] in ("exit", "signal"), result)
    return {name: result[name] for name in ("cause", "exit_code", "signal", "stdout", "stderr")}


def ready_run(code, way=COPIED):
    return run(code) if way is BEGUN else waiting.ready_run(provider, lambda: run(code), READY, way)


def comparable(name, result):
    """Addresses are as the kernel chooses them."""
    texts = {stream: re.sub("0x[0-9a-f]+", "0x0", result[stream]) for stream in ("stdout", "stderr")}
    return {**result, **{stream: sorted(text.split("\n")) if name in UNORDERED else text for stream, text in texts.items()}}


PLAIN_RESULTS = {}  # of programs, by the modules in front of them


def plainly(names, modules):
    """What Python alone says; each way is compared with the same."""
    known = PLAIN_RESULTS.setdefault(modules, {})
    if missing := [name for name in names if name not in known]:
        use(PLAIN, modules)
        known.update({name: comparable(name, run(program(name, modules))) for name in missing})
    return known


def program(name, modules):
    return "".join(f"import {module}\n" for module in modules) + PROGRAMS[name]


def compare(names, modules=(), way=COPIED):
    plain = plainly(names, tuple(modules))
    use(way, modules)
    run("pass")
    different = []
    for name in names:
        code = program(name, modules)
        ready = comparable(name, ready_run(code, way))
        if ready != plain[name]:
            different.append(name)
            print(f"# {name}:\n#   started {plain[name]}\n#   ready   {ready}".replace("\\n", " "))
    tap.equal(different, [], "programs that can tell")


def version():
    use(PLAIN)
    return run("import sys; print('%d.%d' % sys.version_info[:2])")["stdout"].strip()


def test_no_program_can_tell():
    compare([name for name in PROGRAMS if name != IN_TWO_MODULES])


def test_nor_where_it_is_started():
    """Its end is the runner's in both ways: half of the programs in each, in the long form all."""
    names = [name for name in PROGRAMS if name != IN_TWO_MODULES]
    for number, way in enumerate((BEGUN, STARTED)):
        compare(names if LONG else names[number::2], way=way)


def test_nor_by_which_module_ends_first():
    try:
        compare([IN_TWO_MODULES])
    except AssertionError:
        if version() == ORDER_COMPARED:
            raise
        raise tap.Skip(f"Python {version()}: {OTHER_ORDER}") from None


def test_nor_beside_modules_that_were_there():
    names = [name for name in PROGRAMS if name != IN_TWO_MODULES]
    compare(names if LONG else names[::8], ["json", "logging", "tempfile", "threading", "multiprocessing", "asyncio", "subprocess", "weakref", "unittest"])


def test_the_end_is_shortened():
    use(PLAIN)
    tap.equal(run(WHOLE)["signal"], "SIGABRT", "the whole of an end")
    use(COPIED)
    run("pass")
    for code in ("", "import json, threading, csv, random", "raise SystemExit(3)", "raise ValueError", "import atexit; atexit.register(print)",
                 "class Thing: pass\nthing = Thing(); thing.self = thing"):
        tap.equal(ready_run(WHOLE + code)["signal"], None, f"modules are left to the kernel: {code}")
    for code in ("thing = Noisy('thing')", "os.thing = Noisy('thing')", "file = open('x', 'w')", "generator = (n for n in [1]); next(generator)",
                 "import gc; gc.callbacks.append(print)", "import gc; gc.freeze()", "import sys; sys.addaudithook(lambda *a: None)",
                 "import weakref\nclass Thing: pass\nthing = Thing(); reference = weakref.ref(thing, print)",
                 "import weakref\nclass Thing: pass\nthing = Thing(); reference = weakref.ref(thing, lambda r: None)",
                 "class Untracked:\n    __slots__ = ()\n    def __del__(self): pass\nthing = Untracked()",
                 "import sys; sys.stdout = sys.__stderr__", "import sys; sys.exit('words')"):
        tap.equal(ready_run(WHOLE + code)["signal"], "SIGABRT", f"what could be noticed ends whole: {code}")


tap.run(globals())
