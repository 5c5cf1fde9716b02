# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests (Debian: libpython3.11-testsuite) as code of runs: each has the same outcome in an interpreter that waited for its
run, copied or started, as in one that was started for it. What fails in any sandbox (no network, no other user) is compared as well
and never counted as passed."""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from languages import waiting
from modes import LONG, Provider
from provider import OK, Host

PROGRAM = pathlib.Path(__file__).with_name("cpython_outcomes.py").read_text()
provider = Provider()


def at_most(number):
    return {"default": number, "max": number}


LIMITS = {name: at_most(number) for name, number in {
    "wall_ms": 300000, "cpu_ms": 300000, "memory_bytes": 1 << 30, "processes": 256, "open_files": 1024, "file_bytes": 64 << 20,
    "scratch_bytes": 256 << 20, "scratch_inodes": 16384, "stdout_bytes": 1 << 20, "stderr_bytes": 256 << 10}.items()}
# What has most of its own at stake in a copy: threads, locks, descriptors, handlers, things that are remembered of a process.
MANY = ["asyncio", "concurrent.futures", "ctypes", "decimal", "faulthandler", "json", "logging", "multiprocessing.pool", "random", "re",
        "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "traceback", "unittest", "urllib.request", "uuid"]
# How the interpreter of a run comes to be: for it, or languages.python.prepare of one that waits for it.
PLAIN = None
COPIED = {"fork": True}
COPIED_WITH_MANY = {"fork": True, "import": MANY}
STARTED = {"fork": False}

# A module of the package test, and as in cpython_outcomes.py what of it.
ORDINARY = [
    "test_sys",
    "test_os",
    "test_posix",
    "test_atexit",
    "test_random MersenneTwister_TestBasicOps TestModule TestRandomSubclassing",
    "test_thread",
    "test_finalization",
    "test_signal -SiginterruptTest -PendingSignalsTests -ItimerTest -WakeupSignalTests -StressTest",
    "test_threading ThreadJoinOnShutdown AtexitTests InterruptMainTests ExceptHookTests",
    "test_subprocess RunFuncTestCase ContextManagerTests -RunFuncTestCase.test_run_with_shell_timeout_and_capture_output",
    "test_multiprocessing_fork WithProcessesTestLock WithProcessesTestSubclassingProcess",
]
MORE = [
    "test_asyncio.test_runners",
    "test_asyncio.test_subprocess",
    "test_asyncio.test_unix_events",
    "test_cmd_line",
    "test_concurrent_futures ThreadPoolShutdownTest ProcessPoolForkProcessPoolShutdownTest",
    "test_ctypes",
    "test_faulthandler",
    "test_fork1",
    "test_gc",
    "test_hash",
    "test_import",
    "test_io CIOTest CTextIOWrapperTest CBufferedReaderTest CBufferedWriterTest CSignalsTest CMiscIOTest",
    "test_locale",
    "test_logging HandlerTest FormatterTest LastResortTest LogRecordTest LoggerAdapterTest ManagerTest ModuleLevelMiscTest ShutdownTest",
    "test_multiprocessing_fork WithProcessesTestProcess WithProcessesTestPool WithProcessesTestQueue WithProcessesTestSharedMemory"
    " WithThreadsTestPool TestForkAwareThreadLock TestInvalidHandle TestStdinBadfiledescriptor MiscTestCase",
    "test_multiprocessing_forkserver WithProcessesTestProcess WithProcessesTestLock TestStartMethod",
    "test_multiprocessing_spawn WithProcessesTestProcess WithProcessesTestLock TestStartMethod TestResourceTracker"
    " TestStdinBadfiledescriptor",
    "test_popen",
    "test_random",
    "test_runpy",
    "test_signal -SiginterruptTest.test_siginterrupt_off",
    "test_site",
    "test_subprocess",
    "test_tempfile",
    "test_threading",
    "test_threading_local",
    "test_threadsignals",
    "test_traceback",
    "test_uuid",
    "test_wait3",
    "test_wait4",
    "test_warnings",
    "test_weakref",
]
# That pass plainly, at the least.
LEAST = 550
LEAST_MORE = 1500

RECONFIGURED = "streams reconfigured"


def use(way, environment=None):
    provider.reset()
    pool = {"ready": 0 if way is PLAIN else 1, "idle_ms": 3600000}
    patch = {"limits": LIMITS, "pools": {"process": pool}, "languages": {"python": {"prepare": way or {}, "environment": environment or {}}}}
    tap.equal(provider.use_policy(patch), OK, "policy")
    if way is not PLAIN:
        run("0")


def run(code, *arguments):
    status, result = provider.invoke({"language": "python", "code": code, "args": list(arguments)}, Host())
    tap.true(status == OK, result)
    return result


def run_tests(choice, way):
    """{test: outcome}, and what was said of the others."""
    def once():
        return run(PROGRAM, *choice.split())
    result = once() if way is PLAIN else waiting.ready_run(provider, once, 1, waiting.COPIED if way["fork"] else waiting.STARTED)
    lines = [line.split(" ", 2) for line in result["stdout"].split("\n") if line.startswith("@outcome ")]
    outcomes = {test: word for _, word, test in lines}
    outcomes[to_its_end(choice)] = "ok" if "\n@end\n" in result["stdout"] else f"{result['cause']} {result['exit_code']} {result['signal']}"
    return outcomes, result["stderr"]


def to_its_end(choice):
    return f"{choice}, to its end"


def run_all(way, choices, environment=None):
    use(way, environment)
    return {choice: run_tests(choice, way) for choice in choices}


def plainly(choices, seen={}):
    """Each choice once, for all ways."""
    seen |= run_all(PLAIN, [choice for choice in choices if choice not in seen])
    return {choice: seen[choice] for choice in choices}


def unlike(plain, other):
    """{(choice, test): (plainly, there)} of what was run both ways; None where it did not come to the test."""
    return {(choice, test): (plain[choice][0].get(test), other[choice][0].get(test))
            for choice in plain.keys() & other.keys() for test in plain[choice][0] | other[choice][0]
            if plain[choice][0].get(test) != other[choice][0].get(test)}


def stays_unlike(different, plain, other, choices, way):
    """A test that looks at a clock may fail on a busy machine: what counts is what differs from each of the others' outcomes."""
    again = [choice for choice in choices if any(choice == key[0] for key in different)]
    if not again:
        return {}
    plain_again, other_again = run_all(PLAIN, again), run_all(way, again)
    for more in unlike(plain, other_again), unlike(plain_again, other), unlike(plain_again, other_again):
        different = {key: outcomes for key, outcomes in different.items() if key in more}
    return different


def show(name, different, other):
    for (choice, test), (plainly_so, there) in different.items():
        print(f"# {test}: plainly {plainly_so}, {name} {there}")
        errors = other[choice][1]
        text = errors.split(test + "\n")[-1][:1200] if test in errors else errors[-600:]
        print("".join(f"#   {line}\n" for line in text.splitlines()), end="")


def words(choice, outcomes):
    """Of the tests, without what is said of the run."""
    return collections.Counter(word for test, word in outcomes.items() if test not in (RECONFIGURED, to_its_end(choice)))


def compare(name, way, choices, least):
    plain = plainly(choices)
    total = sum((words(choice, outcomes) for choice, (outcomes, _) in plain.items()), collections.Counter())
    print(f"# plainly: {dict(total)}")
    for choice, (outcomes, errors) in plain.items():
        tap.equal(outcomes[to_its_end(choice)], "ok", choice)
        tap.true(words(choice, outcomes)["ok"], f"{choice}: nothing passed plainly: {errors[-600:]}")
    tap.true(total["ok"] >= least, f"only {total['ok']} passed plainly")
    other = run_all(way, choices)
    different = unlike(plain, other)
    different = stays_unlike(different, plain, other, choices, way)
    show(name, different, other)
    tap.equal(sorted(different), [], f"tests with another outcome: {name}")


def needed():
    use(PLAIN)
    result = run("import test.test_sys")
    if result["exit_code"] != 0:
        version = run("import sys; print('%d.%d' % sys.version_info[:2])")["stdout"].strip()
        provider.reset()
        tap.skip_all(f"CPython's own tests are not installed (Debian: libpython{version}-testsuite)")


def test_a_difference_is_seen():
    choices = ["test_site"]
    without = run_all(PLAIN, choices, {"PYTHONNOUSERSITE": "1"})
    tap.true(unlike(plainly(choices), without), "another environment makes no difference")
    tap.equal(unlike(plainly(choices), run_all(PLAIN, choices)), {}, "the same")


def test_copied():
    compare("copied", COPIED, tuple(ORDINARY), LEAST)


def test_started_and_waiting():
    compare("started and waiting", STARTED, tuple(ORDINARY), LEAST)


def more(name, way, choices=tuple(MORE), least=LEAST_MORE):
    if not LONG:
        raise tap.Skip("takes minutes: CODE_EXECUTE_TEST_LONG=1")
    compare(name, way, choices, least)


def test_more_copied():
    more("copied", COPIED)


def test_more_copied_with_many_modules():
    more("copied with many modules", COPIED_WITH_MANY, tuple(MORE + ORDINARY), LEAST_MORE + LEAST)


def test_more_started_and_waiting():
    more("started and waiting", STARTED)


needed()
tap.run(globals())
