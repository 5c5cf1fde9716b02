# SPDX-License-Identifier: Apache-2.0
"""numpy, imported ahead by interpreters that wait for their run: its numbers are those of one that was started for it, its legacy random
generator is another in every run; an interpreter with more than one thread is not copied, and what was asked of it runs all the same."""
import functools
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from languages import waiting
from languages.waiting import COPIED, STARTED
from modes import LONG, Provider
from provider import OK, Host

READY = 2
LIBRARY = pathlib.Path(os.environ["STARTS_A_THREAD"])  # starts_a_thread.c
provider = Provider()

PROGRAMS = {
    "products": "import numpy\na = numpy.arange(90000.0).reshape(300, 300) / 90000\nprint(repr((a @ a).sum()), repr(numpy.linalg.norm(a)), repr((a.T @ a)[17, 4]))",
    "decompositions": "import numpy\na = numpy.cos(numpy.arange(10000.0).reshape(100, 100))\nprint(numpy.linalg.svd(a)[1].tobytes().hex(), numpy.linalg.solve(a + numpy.eye(100), a)[3].tobytes().hex())",
    "eigenvalues": "import numpy\na = numpy.sin(numpy.arange(2500.0).reshape(50, 50))\nprint(numpy.linalg.eigvalsh(a + a.T).tobytes().hex())",
    "transforms": "import numpy\nprint(numpy.fft.fft(numpy.arange(1000) % 7).tobytes().hex()[:4000])",
    "seeded": "import numpy\nnumpy.random.seed(5); print(numpy.random.rand(3), numpy.random.default_rng(7).normal(size=3), numpy.random.RandomState(1).randn(2))",
    "state of the legacy generator": "import numpy\nstate = numpy.random.get_state(); print(state[0], state[2:], len(set(state[1])) > 600)",
    "settings": "import numpy\nprint(numpy.get_printoptions(), numpy.geterr(), numpy.getbufsize(), numpy.__file__, numpy.__version__)\nnumpy.array([1]) / 0",
    "warnings": "import numpy, warnings\nprint(warnings.filters)",
    "threads": "import numpy\nfrom concurrent.futures import ThreadPoolExecutor\na = numpy.arange(10000.0).reshape(100, 100)\nwith ThreadPoolExecutor(4) as pool:\n    print([x.sum() for x in pool.map(lambda n: a @ (a * n), range(8))])",
    "processes": "import numpy, os\na = numpy.arange(10000.0).reshape(100, 100)\nif os.fork() == 0:\n    print((a @ a).sum(), flush=True); os._exit(0)\nos.wait(); print(a.sum())",
    "files": "import numpy\nnumpy.save('a.npy', numpy.arange(5)); m = numpy.memmap('m', dtype='i4', mode='w+', shape=(3,)); m[:] = 7; m.flush()\nprint(numpy.load('a.npy'), numpy.fromfile('m', dtype='i4'))",
    "error": "import numpy\nnumpy.zeros((2, 3)) @ numpy.zeros((2, 3))",
}


def use(ready=READY, fork=True, prepare=None, **language):
    provider.reset()
    prepare = {"fork": fork, "import": ["numpy"], "import_named": None, **(prepare or {})}
    patch = {"pools": {"process": {"ready": ready}}, "languages": {"python": {"prepare": prepare, **language}}}
    tap.equal(provider.use_policy(patch), OK)
    if ready:
        run("0")


def run(code):
    status, result = provider.invoke({"language": "python", "code": code}, Host())
    tap.equal((status, result["error"]), (OK, None), result)
    return result


def ready_run(code, how):
    return waiting.ready_run(provider, lambda: run(code), READY, how)


def seen(result):
    return {name: result[name] for name in ("status", "cause", "exit_code", "signal", "stdout", "stderr")}


@functools.cache
def plainly():
    use(ready=0)
    expected = {name: seen(run(code)) for name, code in PROGRAMS.items()}
    tap.true([name for name, value in expected.items() if value["exit_code"] != 0] == ["error"], expected)
    return expected


def same(how, names=tuple(PROGRAMS), **ready):
    expected = plainly()
    use(**ready)
    tap.equal(ready_run("import sys; print('numpy' in sys.modules)", how)["stdout"], "True\n", "imported ahead")
    for name in names:
        tap.equal(seen(ready_run(PROGRAMS[name], how)), expected[name], name)


def test_a_copy_s_results_are_those_of_an_interpreter_of_its_own():
    same(COPIED)


def test_so_are_those_of_one_that_was_started_and_waits():
    same(STARTED, fork=False)


def test_each_copy_has_random_numbers_of_its_own():
    use()
    code = ("import numpy, random\n"
            "print(numpy.random.rand(), numpy.random.RandomState().rand(), numpy.random.default_rng().random(), random.random())")
    numbers = [number for _ in range(5) for number in ready_run(code, COPIED)["stdout"].split()]
    tap.equal(len(set(numbers)), 20, "different numbers")


def with_thread():
    """The library's thread is there from the beginning, also of an interpreter that is to be copied."""
    return {"read_only": [str(LIBRARY.parent)], "environment": {"LD_PRELOAD": str(LIBRARY)}}


def test_one_with_threads_is_started_and_not_copied():
    same(STARTED, list(PROGRAMS)[::1 if LONG else 4], **with_thread())  # it is as the one above
    threads = "import os; print(len(os.listdir('/proc/self/task')))"
    counts = []
    for more in with_thread(), {}:
        use(fork=False, **more)
        counts.append(int(ready_run(threads, STARTED)["stdout"]))
    tap.equal(counts[0] - counts[1], 1, "its thread, beside those that numpy may have started")


def test_a_module_that_starts_a_thread_is_not_copied():
    if os.geteuid() != 0:
        raise tap.Skip("takes root to have root's files")
    with tempfile.TemporaryDirectory(prefix="threads-", dir="/var/lib") as directory:
        pathlib.Path(directory).chmod(0o755)
        module = pathlib.Path(directory, "some_threads.py")
        for code, how in ("", COPIED), (f"import ctypes\nctypes.CDLL({str(LIBRARY)!r})\n", STARTED):
            module.write_text(code)
            use(environment={"PYTHONPATH": directory}, read_only=[directory, str(LIBRARY.parent)],
                prepare={"import": ["some_threads"]})
            tap.equal(ready_run("import sys; print('some_threads' in sys.modules)", how)["stdout"], "True\n")


use(ready=0)
if run("import numpy")["exit_code"] != 0:
    provider.reset()
    tap.skip_all("numpy is not installed (Debian: python3-numpy)")
tap.run(globals())
