# SPDX-License-Identifier: Apache-2.0
"""scripts/check-dead-code on a small project of its own: functions that are planted in it are found, and nothing else is."""
import contextlib
import pathlib
import shutil
import subprocess
import tempfile

import tap

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
FILES = {
    "meson.build": "project('small', 'c')\n"
                   "one = static_library('one', 'one.c')\n"
                   "executable('small', 'main.c', link_with: one, install: true)\n"
                   "executable('other', 'other.c', install: true)\n"
                   "executable('tests', 'tests/calls.c', link_with: one)\n",
    "one.h": "int one(void);\nint forgotten(void), for_tests(void), own(void), owner(void), twice(void);\n",
    "main.c": '#include "one.h"\nint main(void) { return one(); }\n',
    "one.c": '#include "one.h"\nint one(void) { return 1; }\n',
    "other.c": '#include "one.h"\nint main(void) { return 0; }\n',
    "tests/calls.c": '#include "../one.h"\nint main(void) { return one(); }\n',
}
PLANTED = {
    "one.c": "int forgotten(void) { return 2; } /* not a call: forgotten() */\n"
             "int for_tests(void) { return 3; }\n"
             "int own(void) { return 4; }\n"
             "int owner(void) { return own(); }\n"
             "int twice(void) { return 5; }\n",
    "main.c": "int (*used[])(void) = {owner, twice};\n",
    "other.c": "int twice(void) { return 6; }\n",
    "tests/calls.c": "int (*used)(void) = for_tests;\n",
}


@contextlib.contextmanager
def project(more):
    """Builds the project with these texts behind its files; the check's exit status and what it prints, by exceptions."""
    with tempfile.TemporaryDirectory() as directory:
        top = pathlib.Path(directory).resolve()
        for name in ("scripts", "tests"):
            (top / name).mkdir()
        shutil.copy(SCRIPTS / "check-dead-code", top / "scripts")
        for name, text in FILES.items():
            (top / name).write_text(text + more.get(name, ""))
        for command in (["setup", "build"], ["compile", "-C", "build"]):
            done = subprocess.run(["meson", *command], cwd=top, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            tap.equal(done.returncode, 0, done.stdout)

        def check(exceptions=""):
            (top / "scripts" / "dead-code-exceptions").write_text("# a comment\nmain the C library calls it\n" + exceptions)
            done = subprocess.run([top / "scripts" / "check-dead-code", "build"], cwd=top, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return done.returncode, done.stdout

        yield check


def test_nothing_is_found_where_everything_is_called():
    with project({}) as check:
        tap.equal(check(), (0, ""), "no finding")
        tap.equal(check("one it is called\n"), (1, "dead-code-exceptions: one needs no exception\n"), "an exception too many")


def test_planted_functions_are_found():
    with project(PLANTED) as check:
        status, said = check()
        tap.equal((status, said), (1, "one.c: for_tests: only tests call it: remove it\n"
                                      "one.c: forgotten: nothing calls it: remove it\n"
                                      "one.c: own: only its own file calls it: make it static\n"
                                      "other.c: twice: nothing calls it: remove it\n"), "findings")
        reasons = "for_tests its bounds\nforgotten a plug-in's\nown a plug-in's\ntwice a plug-in's\n"
        tap.equal(check(reasons), (0, ""), "each excepted")
        tap.equal(check(reasons.replace(" its bounds", "")), (1, "dead-code-exceptions: for_tests has no reason\n"), "without a reason")


tap.run(globals())
