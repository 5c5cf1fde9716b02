# SPDX-License-Identifier: Apache-2.0
"""The Python that waits in a container, without one: by the bootstrap's message, said by this test, it becomes what the same
interpreter is that was started for the program. In a container: test_real_interpreter.py"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "process")]
import tap
from python_ends import IN_TWO_MODULES, ORDER_COMPARED, OTHER_ORDER, PRELUDE, PROGRAMS, UNORDERED

TEXT = (ROOT / "plugin/backends/docker/container/waiting_python.py").read_text()
MODULES = "collections,datetime,functools,itertools,json,math,random,re"  # of the built-in policy
INTERPRETERS = sorted({os.path.realpath(path) for path in ("/usr/bin/python3", sys.executable)})
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "USER": "sandbox"}
SHOW = """import json, os, sys
def files(top):
    for place, _, names in os.walk(top):
        for name in names:
            path = os.path.join(place, name)
            yield os.path.relpath(path, top), (oct(os.stat(path).st_mode), oct(os.stat(place).st_mode), open(path, 'rb').read().decode('latin-1'))
print(json.dumps([dict(files('.')), dict(os.environ), sys.argv, sys.orig_argv[1:], sys.stdin.read(), oct(os.umask(0)),
                  sorted(int(fd) for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd))]))
"""


def quoted(text):
    return b"'" + os.fsencode(text).replace(b"'", b"'\\''") + b"'"


def file_of(path, content, private=False):
    """The text for one file, and the bytes that follow the text."""
    text = b"umask 077\nce_room %b\numask 0377\n" % quoted(path) if private else b""
    if content and b"\0" not in content:
        text, behind = text + b"ce_text %b %b\n" % (quoted(path), quoted(content)), b""
    else:
        text, behind = text + b"put %b %d\n" % (quoted(path), len(content)), content
    return text + (b"umask 022\n" if private else b""), behind


def message(files, arguments=(), variables=None, stdin=b""):
    said = [file_of(*file) for file in files]
    text = b"".join(text for text, _ in said)
    if stdin:
        text += b"input %d\n" % len(stdin)
    set_variables = [quoted(f"{name}={value}") for name, value in (variables or {}).items()]
    text += b" ".join([b"set --", *set_variables, b"--", *map(quoted, ("python3", "main.py", *arguments))]) + b"\n"
    return b"%d\n" % len(text) + text + b"".join(behind for _, behind in said) + stdin


class Room:
    """One program's home, and the directory of the file by which its interpreter waits."""

    def __init__(self, python):
        self.python, self.directory = python, tempfile.TemporaryDirectory(prefix="ce-waiting-")
        self.home, self.place, temporary = (os.path.join(self.directory.name, name) for name in ("home", "place", "temporary"))
        self.environment = {**ENVIRONMENT, "HOME": self.home, "TMPDIR": temporary}
        os.mkdir(self.home)
        os.mkdir(temporary)

    def start(self, program, **how):
        """Writes into files, because a program's children may hold its outputs open."""
        self.streams = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
        return subprocess.Popen(["sh", "-c", "umask 022; " + program, self.python], cwd=self.home, stdout=self.streams[0], stderr=self.streams[1],
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

    def begin_waiting(self, modules=MODULES, **variables):
        os.mkdir(self.place)
        pathlib.Path(self.place, "sitecustomize.py").write_text(TEXT.replace("/tmp/.code-execute", self.place))
        own = {"PYTHONPATH": self.place, "CODE_EXECUTE_IMPORT": modules, "CODE_EXECUTE_ARGUMENTS": "2"}
        return self.start('exec 9<&0 0</dev/null; exec "$0" main.py', stdin=subprocess.PIPE, env={**self.environment, **own, **variables})

    def waiting(self, *told, **how):
        """Gets the message in these pieces."""
        with self.directory:
            process = self.begin_waiting(**how)
            with contextlib.suppress(BrokenPipeError), process.stdin:
                for piece in told:
                    process.stdin.write(piece)
                    process.stdin.flush()
            return self.result(process)


def after_waiting(result):
    """The output without the report that the bootstrap's reader takes; None where there was none."""
    status, out, errors = result
    head = b"=Waits: 1\n+\n"
    if out.startswith(head) and errors.startswith(b"+\n"):
        return status, out[len(head):], errors[2:]
    return None


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
        plain, ready = Room(python).plain(code), Room(python).waiting(message([("main.py", code)]))
        return case, comparable(name, plain), comparable(name, after_waiting(ready) or ready)
    different = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = [(python, name) for python in INTERPRETERS for name in PROGRAMS if name != IN_TWO_MODULES or version_of(python) == ORDER_COMPARED]
        for (python, name), plain, ready in pool.map(both, cases):
            if plain != ready:
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
    tap.equal(after_waiting(Room(python).waiting(message([("main.py", code)])))[1], b"True True True True\n")
    tap.equal(Room(python).plain(code)[1], b"False True True True\n", "positive control")


FILES = [("main.py", SHOW.encode()), ("it's", b"it's\n'\\''$(id)`id`\n\\"), ("a b/c'/\n", b"'"), ("none", b""), ("bytes", b"x\0y'\n" * 30_000),
         ("set -- 'A=1' --\nput 'x' 3", "\\' ü\n".encode()), ("secrets/key", b"key'\n", True), ("secrets/deep/key", b"\0", True), ("behind", b"\n")]
MORE = {"arguments": ("", "--", "A=1", "it's", "a b", "\n", "\\", "'\\''"), "variables": {"MORE": "it's\n'$(id)", "USER": "another", "EMPTY": ""}, "stdin": b"one\ntwo\0'\n"}


def shown(told):
    [python, *_] = INTERPRETERS
    result = after_waiting(Room(python).waiting(*told))
    tap.true(result and result[0] == 0 and not result[2], result)
    return json.loads(result[1])


def test_it_follows_the_message():
    files, variables, arguments, original, stdin, umask, descriptors = shown([message(FILES, **MORE)])
    expected = {path: [oct(0o100400 if private else 0o100644), oct(0o40700 if private else 0o40755), content.decode("latin-1")]
                for path, content, private in ((*file, False)[:3] for file in FILES)}
    for path in expected:
        if "/" not in path:
            expected[path][1] = files[path][1]  # the home's own
    tap.equal(files, expected)
    tap.equal({name: variables[name] for name in MORE["variables"]}, MORE["variables"])
    tap.equal(sorted(set(variables) - {"LC_CTYPE"}), sorted({*ENVIRONMENT, *MORE["variables"], "HOME", "PWD", "TMPDIR"}), "and no others")
    tap.equal((arguments, original), (["main.py", *MORE["arguments"]],) * 2)
    tap.equal((stdin, umask, descriptors), (MORE["stdin"].decode(), oct(0o22), [0, 1, 2]))


def test_a_message_may_come_in_any_pieces():
    whole = message(FILES[:1] + FILES[2:3], **MORE)
    seen = shown([whole])
    for size in (1, 2, 3, 7, 64):
        tap.equal(shown([whole[at:at + size] for at in range(0, len(whole), size)]), seen, size)


def test_a_malformed_message_starts_no_program():
    [python, *_] = INTERPRETERS
    whole = message([("main.py", b"print('begun')"), ("data", b"\0" * 10)], stdin=b"in")
    tap.equal(after_waiting(Room(python).waiting(whole)), (0, b"begun\n", b""), "positive control")
    spoilt = [b"", b"\n", b"x\n", b"12", whole[:20], whole[:-1], b"9\nexit 'a'\n\n", b"4\nset\n", b"8\nset -- \n", message([("main.py", b"print('begun')"), ("main.py/x", b"y")])]
    for told in spoilt:
        tap.equal(Room(python).waiting(told), (1, b"=Waits: 1\n", b""), told)


def test_a_failing_module_of_the_policy_is_left_out():
    [python, *_] = INTERPRETERS
    code = b"import sys\nprint('json' in sys.modules, 'nothing' in sys.modules)"
    for modules, there in (("nothing,json", b"True"), ("nothing", b"False")):
        tap.equal(after_waiting(Room(python).waiting(message([("main.py", code)]), modules=modules)), (0, there + b" False\n", b""))


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
    ready = after_waiting(room.waiting(message(files), PYTHONPATH=f"{room.place}:{room.home}"))
    tap.equal(ready, plain)


tap.run(globals())
