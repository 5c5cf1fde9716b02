# SPDX-License-Identifier: Apache-2.0
"""An interpreter that the first process of a container has started ahead of its run, and Python's results. What holds of every program:
test_guest.py."""
import json
import os
import pathlib
import signal
import struct
import sys

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import guest
import tap
from started_guest import NO_ROOM, TIME, children_of, first_process, needed, output_of, results_of, run, start

WAITS = ("CODE_EXECUTE_IMPORT=json", "CODE_EXECUTE_ARGUMENTS=2")


def waiting(code, *arguments, variables=(), command=("python3", "main.py"), **told):
    return run(["python3", "main.py", *arguments], *WAITS, *variables, "--", *command, files=[("main.py", code.encode())], **told)


def test_an_interpreter_that_waits_has_the_filters_of_the_guest():
    tap.equal(output_of(waiting("print(open('/proc/self/status').read().count('Seccomp:\\t2\\nSeccomp_filters:\\t'))")), b"1\n")


def test_an_interpreter_that_waited_has_the_results_of_its_run():
    code = "import os\nopen(63, 'wb').write(b'shown')\nprint(os.path.exists('/proc/self/fd/63'))"
    tap.equal(dict(waiting(code, results=True)).get("results"), b"shown")
    tap.equal(output_of(waiting("import os\nprint(os.path.exists('/proc/self/fd/63'))")), b"False\n")


def test_an_interpreter_waits_for_its_run():
    code = ("import json, os, sys\nprint(json.dumps([sys.argv, sys.stdin.read(), os.environ['MORE'], os.environ['FROM_IMAGE'], 'HOSTNAME' in os.environ, os.listdir('/tmp'),"
            "sorted(int(fd) for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd)), sorted(name for name in os.environ if 'EXECUTE' in name or 'PYTHON' in name)]))")
    tap.equal(output_of(waiting(code, "a b", environment=["MORE=it's"], stdin=b"in")),
              b'[["main.py", "a b"], "in", "it\'s", "image", false, [], [0, 1, 2], []]\n')
    tap.contains(output_of(waiting(code, environment=["MORE="])), b'["main.py"], "", ""')


SHOWS = ("import json, os, sys\nprint(json.dumps([os.listdir('/tmp'), sorted(name for name in os.environ if 'EXECUTE' in name or 'PYTHON' in name), sys.path,"
         "sys.argv, sys._getframe().f_back]))\ndisplay('shown')\n6 * 7")


def beginning(code, *arguments, **told):
    return run(["python3", "main.py", *arguments], files=[("main.py", code.encode())], runner=guest.PYTHON, results=True, **told)


def test_python_s_results_are_told_and_nothing_of_ours_is_left():
    plain = json.loads(output_of(run(["python3", "main.py", "a"], files=[("main.py", SHOWS.replace("display('shown')", "").encode())])))
    for found in beginning(SHOWS, "a"), waiting(SHOWS, "a", results=True):
        tap.equal(json.loads(dict(found)["stdout"]), plain)
        tap.equal([(row["role"], row["data"]["text/plain"]) for row in results_of(found)], [("display", "'shown'"), ("value", "42")])
    for code in "def f():\n    raise ValueError('x')\nf()", "x = = 1":
        for found in beginning(code), waiting(code, results=True):
            [row] = results_of(found)
            tap.equal((row["name"], struct.unpack_from("<I", found[-1][1])[0]), ("ValueError" if "def" in code else "SyntaxError", 1 << 8))
    own = ["PYTHONPATH=/nowhere"]
    tap.equal(dict(beginning("import os, sys\nprint(os.environ['PYTHONPATH'], sys.path[1])", environment=own))["stdout"], b"/nowhere /nowhere\n")


def test_where_there_is_no_room_for_the_script_python_runs_its_program():
    code = "import os\nprint(os.listdir('/tmp'), 'display' in dir(__builtins__))"
    tap.equal(output_of(beginning(code, inside=NO_ROOM)), b"[] False\n")


def test_without_the_interpreter_the_program_is_started():
    found = run(["sh", "-c", "echo started; ls /tmp"], "A=b", "--", "no-such-python", "main.py")
    tap.equal(output_of(found), b"started\n")


def test_an_interpreter_that_does_not_wait_is_reported():
    process = start("--", "sh", "-c", "echo because >&2; exit 3")
    output, _ = process.communicate(b"", timeout=TIME)
    [_, (kind, text)] = guest.frames(output)
    tap.equal((kind, process.returncode), ("failed", 1))
    tap.contains(text, b"because")


def test_an_interpreter_that_ends_while_it_waits_is_reported():
    process = start(*WAITS, "--", "python3", "main.py")
    output = b""
    while not output or guest.frames(output)[-1][0] != "waiting":
        output += os.read(process.stdout.fileno(), 1 << 16)
    os.kill(children_of(first_process(process))[0], signal.SIGKILL)
    tap.equal(guest.frames(process.stdout.read())[0][0], "failed")
    tap.equal(process.wait(TIME), 1)


needed()
tap.run(globals())
