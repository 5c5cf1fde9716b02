# SPDX-License-Identifier: Apache-2.0
"""The Python of a container, without one: with the scripts that begin its program, or handed a run by this test, as the guest does it, it
is what the same interpreter is that was started for the program. By the guest: tests/unit/guest; in a container: test_real_interpreter.py"""
import concurrent.futures
import contextlib
import fcntl
import functools
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "process" / "interpreters")]
import guest
import tap
from python_ends import IN_TWO_MODULES, ORDER_COMPARED, OTHER_ORDER, PRELUDE, PROGRAMS, UNORDERED

SCRIPT = ROOT / "plugin/guest/program/guest_python.py"
PARTS = sorted((ROOT / "plugin/interpreter/python").glob("*.py"))
RESULTS = 63  # RUN_RESULTS_FD
# What they print is another number where results are told: that of descriptors, of functions at the end, and of frames up to the limit.
TELLING = ("descriptors", "atexit counted", "recursion")
MODULES = "collections,datetime,functools,itertools,json,math,random,re"  # of the built-in policy
INTERPRETERS = sorted({os.path.realpath(path) for path in ("/usr/bin/python3", sys.executable)})
# All of them wait for their run. Every third also tells results, and begins with its run; in the long form all.
IN_EACH_WAY = set(list(PROGRAMS)[::1 if os.environ.get("CODE_EXECUTE_TEST_LONG") else 3])
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "USER": "sandbox"}
SHOW = """import json, os, sys
print(json.dumps([dict(os.environ), sys.argv, sys.orig_argv[1:], sys.stdin.read(),
                  sorted(int(fd) for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd))]))
"""


def handed(arguments=(), variables=None, has_input=False, has_results=False, has_tools=False):
    """A run, as it is handed to an interpreter that waits."""
    return guest.strings(f"{name}={value}" for name, value in (variables or {}).items()) + guest.strings(("python3", "main.py", *arguments)) + struct.pack("<III", has_input, has_results, has_tools)


def above_ten(fd):
    """So that none has the number of another one's copy."""
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD, 10)
    os.close(fd)
    return copy


@functools.cache
def joined_script():
    with tempfile.TemporaryDirectory() as directory:
        target = pathlib.Path(directory, "script")
        subprocess.run([ROOT / "scripts/generate/join-scripts", target, SCRIPT, *PARTS], check=True)
        return target.read_bytes()


class Room:
    """One program's home, and the directory of the file by which its interpreter waits."""

    def __init__(self, python):
        self.python, self.directory = python, tempfile.TemporaryDirectory(prefix="ce-waiting-")
        self.home, self.place, temporary = (os.path.join(self.directory.name, name) for name in ("home", "place", "temporary"))
        self.environment = {**ENVIRONMENT, "HOME": self.home, "TMPDIR": temporary}
        os.mkdir(self.home)
        os.mkdir(temporary)

    def start(self, program, shell="sh", **how):
        """Writes into files, because a program's children may hold its outputs open."""
        self.streams = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        return subprocess.Popen([shell, "-c", "umask 022; " + program, self.python], cwd=self.home, stdout=self.streams[0], stderr=self.streams[1],
                                start_new_session=True, **how)

    def result(self, process):
        status = process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for stream in self.streams:
            stream.seek(0)
        return status, *(stream.read().replace(self.directory.name.encode(), b"ROOM") for stream in self.streams)

    def plain(self, code):
        with self.directory:
            pathlib.Path(self.home, "main.py").write_bytes(code)
            return self.result(self.start('exec "$0" main.py', stdin=subprocess.DEVNULL, env=self.environment))

    def write_script(self):
        os.mkdir(self.place)
        pathlib.Path(self.place, "sitecustomize.py").write_bytes(joined_script())

    def beginning(self, code):
        """Is started for the program, with results. Behind the result is what it has told of them."""
        with self.directory:
            self.write_script()
            pathlib.Path(self.home, "main.py").write_bytes(code)
            told, results = os.pipe()
            process = self.start(f'exec {RESULTS}>&{results} {results}>&-; exec "$0" main.py', shell="bash", pass_fds=(results,), stdin=subprocess.DEVNULL,
                                 env={**self.environment, "PYTHONPATH": self.place, "CODE_EXECUTE_INTERPRETER": "begin"})
            os.close(results)
            with open(told, "rb") as pipe:
                result = self.result(process)
                return (*result, pipe.read())

    def begin_waiting(self, stdin, modules=MODULES, **variables):
        """The process, and the test's ends of both pipes."""
        self.write_script()
        own = {"CODE_EXECUTE_INTERPRETER": "wait", "PYTHONPATH": self.place, "CODE_EXECUTE_IMPORT": modules, "CODE_EXECUTE_ARGUMENTS": "2"}
        (run, to_run), (told, to_test), file = map(above_ten, os.pipe()), map(above_ten, os.pipe()), above_ten(os.memfd_create("stdin"))
        os.pwrite(file, stdin, 0)
        process = self.start(f'exec 3<&{run} 4>&{to_test} 5<&{file} {RESULTS}>/dev/null {run}<&- {to_test}>&- {file}<&- 0</dev/null; exec "$0" main.py', shell="bash",
                             pass_fds=(run, to_test, file), stdin=subprocess.DEVNULL, env={**self.environment, **own, **variables})
        for fd in (run, to_test, file):
            os.close(fd)
        return process, to_run, told

    def waiting(self, *pieces, files=(), stdin=b"", **how):
        """Gets the run in these pieces. Behind the result is what it has told the guest."""
        with self.directory:
            process, to_run, told = self.begin_waiting(stdin, **how)
            first = os.read(told, 1)
            for path, content in files:
                pathlib.Path(self.home, path).write_bytes(content)
            with contextlib.suppress(BrokenPipeError), open(to_run, "wb", buffering=0) as pipe:
                for piece in pieces:
                    pipe.write(piece)
            with open(told, "rb") as pipe:
                return (*self.result(process), first + pipe.read())


def after_waiting(result):
    """The output of a program that has begun; None: it has not."""
    *program, told = result
    return tuple(program) if told == b"wb" else None


def comparable(name, result):
    """Without addresses and pids, which the kernel chooses."""
    status, *streams = result
    texts = [re.sub(b"0x[0-9a-f]+", b"0x0", re.sub(rb"pid=\d+", b"pid=0", stream)) for stream in streams]
    return status, *(sorted(text.split(b"\n")) if name in UNORDERED else text for text in texts)


def version_of(python):
    return subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True).stdout.strip()


def test_programs_see_no_difference():
    def both(case):
        python, name = case
        code = (PRELUDE + PROGRAMS[name]).encode()
        plain, ready = Room(python).plain(code), Room(python).waiting(handed(), files=[("main.py", code)])
        if name not in IN_EACH_WAY:
            return case, comparable(name, plain), [comparable(name, after_waiting(ready) or ready[:3])]
        shown = Room(python).waiting(handed(has_results=True), files=[("main.py", code)])
        begun = Room(python).beginning(code)
        return case, comparable(name, plain), [comparable(name, found) for found in ([after_waiting(ready) or ready[:3]] + ([after_waiting(shown) or shown[:3], begun[:3]] if name not in TELLING else []))]
    different = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = [(python, name) for python in INTERPRETERS for name in PROGRAMS if name != IN_TWO_MODULES or version_of(python) == ORDER_COMPARED]
        for (python, name), plain, ready in pool.map(both, cases):
            if any(plain != other for other in ready):
                different.append((python, name))
                print(f"# {python}, {name}:\n#   started {plain}\n#   waited  {ready}".replace("\\n", " "))
    tap.equal(different, [], "programs that can tell")


def test_modules_end_in_the_same_order():
    others = [python for python in INTERPRETERS if version_of(python) != ORDER_COMPARED]
    if others:
        raise tap.Skip(f"not told of {', '.join(others)}: {OTHER_ORDER}")


def test_collections_skip_objects_from_before_the_program():
    [python, *_] = INTERPRETERS
    code = b"import gc; print(gc.get_freeze_count() > 1000, gc.isenabled(), gc.is_tracked(globals()), any(o is globals() for o in gc.get_objects()))"
    tap.equal(after_waiting(Room(python).waiting(handed(), files=[("main.py", code)]))[1], b"True True True True\n")
    tap.equal(Room(python).plain(code)[1], b"False True True True\n", "positive control")


MORE = {"arguments": ("", "--", "A=1", "it's", "a b", "\n", "\\", "'\\''"), "variables": {"MORE": "it's\n'$(id)", "USER": "another", "EMPTY": ""}, "has_input": True}


def shown(*pieces):
    [python, *_] = INTERPRETERS
    result = after_waiting(Room(python).waiting(*pieces, files=[("main.py", SHOW.encode())], stdin=b"one\ntwo\0'\n"))
    tap.true(result and result[0] == 0 and not result[2], result)
    return json.loads(result[1])


def test_it_becomes_the_run_that_it_is_handed():
    variables, arguments, original, stdin, descriptors = shown(handed(**MORE))
    tap.equal({name: variables[name] for name in MORE["variables"]}, MORE["variables"])
    tap.equal(sorted(set(variables) - {"LC_CTYPE"}), sorted({*ENVIRONMENT, *MORE["variables"], "HOME", "PWD", "TMPDIR"} | (set(variables) & {"SHLVL", "_", "OLDPWD"})), "and no others")
    tap.equal((arguments, original), (["main.py", *MORE["arguments"]],) * 2)
    tap.equal((stdin, descriptors), ("one\ntwo\0'\n", [0, 1, 2]))
    tap.equal(shown(handed())[3], "", "without an input")


def test_a_run_may_come_in_any_pieces():
    whole = handed(**MORE)
    seen = shown(whole)
    for size in (1, 2, 3, 7, 64):
        tap.equal(shown(*(whole[at:at + size] for at in range(0, len(whole), size))), seen, size)


def test_a_malformed_run_starts_no_program():
    [python, *_] = INTERPRETERS
    whole, files = handed(), [("main.py", b"print('begun')")]
    tap.equal(Room(python).waiting(whole, files=files), (0, b"begun\n", b"", b"wb"), "positive control")
    for told in (b"", b"\n", whole[:3], whole[:20], whole[:-1], b"\xff" * 16):
        tap.equal(Room(python).waiting(told, files=files), (1, b"", b"", b"w"), told)


def test_a_failing_module_of_the_policy_is_left_out():
    [python, *_] = INTERPRETERS
    code = b"import sys\nprint('json' in sys.modules, 'nothing' in sys.modules)"
    for modules, there in (("nothing,json", b"True"), ("nothing", b"False")):
        tap.equal(after_waiting(Room(python).waiting(handed(), files=[("main.py", code)], modules=modules)), (0, there + b" False\n", b""))


def test_a_run_s_own_sitecustomize_is_used_where_python_finds_it():
    """The sitecustomize that comes with a run, where the policy lets Python look for modules at home, although Python waited before it came."""
    [python, *_] = INTERPRETERS
    files = [("main.py", b"import sys, os\nprint(sys.modules['sitecustomize'].__file__, os.environ['PYTHONPATH'])"), ("sitecustomize.py", b"print('own')")]
    room = Room(python)
    room.environment["PYTHONPATH"] = room.home
    with room.directory:
        for path, content in files:
            pathlib.Path(room.home, path).write_bytes(content)
        plain = room.result(room.start('exec "$0" main.py', stdin=subprocess.DEVNULL, env=room.environment))
    tap.equal(plain, (0, b"own\nROOM/home/sitecustomize.py ROOM/home\n", b""), "positive control")
    room = Room(python)
    ready = after_waiting(room.waiting(handed(), files=files, PYTHONPATH=f"{room.place}:{room.home}"))
    tap.equal(ready, plain)


tap.run(globals())
