# SPDX-License-Identifier: Apache-2.0
"""scripts/check-headers on the product's headers, and on copies of them with one more or one changed."""
import pathlib
import re
import shutil
import subprocess
import tempfile

import tap

TOP = pathlib.Path(__file__).resolve().parents[2]
CHECK = TOP / "scripts" / "check-headers"
PLANTED = "plugin/base/lock.h"
EXCEPTION = "plugin/backends/process/supervisor/cause.h"


def says(copy, path, text):
    """The exit status and the output for the copy of the headers, of which one has another text."""
    before = (copy / path).read_text(encoding="utf-8")
    (copy / path).write_text(text, encoding="utf-8")
    done = subprocess.run([CHECK, copy], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    (copy / path).write_text(before, encoding="utf-8")
    return done.returncode, done.stdout


def copied(case):
    """The case, with a copy of the headers."""
    def with_copy():
        with tempfile.TemporaryDirectory() as directory:
            copy = pathlib.Path(directory)
            for path in (path for area in ("abi", "plugin", "host-shim") for path in (TOP / area).rglob("*.h")):
                target = copy / path.relative_to(TOP)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
            case(copy)
    return with_copy


def test_the_tree_as_it_is():
    done = subprocess.run([CHECK], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    tap.equal(done.returncode, 0, done.stdout)
    tap.true(re.fullmatch(r"\d{3,} headers, \d+ with one function alone\n", done.stdout), done.stdout)


@copied
def test_a_header_with_one_function(copy):
    alone = ("int one(void);\n",
             "/* int other(void); */\n#define OTHER(x) other(x); third(x);\n#pragma once\nint one(void);\n",
             "struct part {\n    struct { int (*call)(void); } inner;\n};\ntypedef int callback(void *user);\nint one(struct part *part);\n",
             "enum kind { A, B };\n_Static_assert(A == 0, \"\");\nchar *\none(const char *format, ...)\n    __attribute__((format(printf, 1, 2)));\n",
             "static inline int one(int x)\n{\n    if (x) {\n        x = call(x);\n    }\n    return call(x);\n}\n")
    for text in alone:
        status, said = says(copy, PLANTED, text)
        tap.equal((status, said.count("\n")), (1, 1), said)
        tap.contains(said, f"{PLANTED}: declares one function alone; ")


@copied
def test_a_header_with_more_or_with_none(copy):
    for text in ("int one(void);\nint other(void);\n", "extern const int object;\nint one(void);\n", "struct part {\n    int (*call)(void);\n};\n",
                 "static inline int one(void)\n{\n    return 1;\n}\nint other(void);\n", "typedef int callback(void *user);\n"):
        status, said = says(copy, PLANTED, text)
        tap.equal(status, 0, said)


@copied
def test_an_exception_that_is_not_needed(copy):
    status, said = says(copy, EXCEPTION, "int one(void);\nint other(void);\n")
    tap.equal(status, 1, said)
    tap.equal(said, f"{EXCEPTION}: is in ALONE of scripts/check-headers, and does not declare one function alone\n")


tap.run(globals())
