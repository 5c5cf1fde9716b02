# SPDX-License-Identifier: Apache-2.0
"""The header compiles alone in both languages with both compilers, and the library exports exactly the golden list."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap

ROOT = pathlib.Path(__file__).parents[2]
HEADER = ROOT / "abi" / "tool_provider.h"
STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]


def compile_with(compiler, language, standard, source):
    if shutil.which(compiler) is None:
        raise tap.Skip(f"{compiler} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / ("alone.c" if language == "c" else "alone.cc")
        file.write_text(source)
        return subprocess.run([compiler, "-x", language, f"-std={standard}", *STRICT, f"-I{HEADER.parent}", str(file)],
                              capture_output=True, text=True)


def check_alone(compiler, language, standard):
    result = compile_with(compiler, language, standard, '#include "tool_provider.h"\nint used;\n')
    tap.equal(result.stderr, "", "diagnostics")
    # The control: the same compiler does refuse a header whose layout differs.
    broken = HEADER.read_text().replace("uint64_t call_id;", "uint32_t call_id;\n    uint64_t inserted;", 1)
    tap.true(broken != HEADER.read_text(), "the control changes the header")
    tap.true(compile_with(compiler, language, standard, broken).returncode != 0, "a changed layout must not compile")


def test_header_alone_gcc_c99():
    check_alone("gcc", "c", "c99")


def test_header_alone_clang_c99():
    check_alone("clang", "c", "c99")


def test_header_alone_gcc_cxx17():
    check_alone("g++", "c++", "c++17")


def test_header_alone_clang_cxx17():
    check_alone("clang++", "c++", "c++17")


def test_exports_are_the_golden_list():
    golden = (pathlib.Path(__file__).parent / "exports.golden").read_text().split()
    symbols = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", os.environ["CODE_EXECUTE_SO"]],
                             capture_output=True, text=True, check=True).stdout.splitlines()
    names = sorted(line.split()[0].split("@")[0] for line in symbols if line.split()[1] != "A")
    tap.equal(names, golden, "exported symbols")
    tap.true(all(line.split()[1] == "T" for line in symbols if line.split()[1] != "A"), "all are functions")


def test_library_asks_for_few_libraries():
    needed = subprocess.run(["readelf", "-d", os.environ["CODE_EXECUTE_SO"]], capture_output=True, text=True,
                            check=True).stdout
    names = {line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line}
    # A sanitizer's runtime, and what clang's needs.
    names = {name for name in names if not name.startswith(("libasan", "libubsan", "libtsan", "libclang_rt"))}
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        names.discard("libgcc_s.so.1")
    tap.equal(names, {"libjansson.so.4", "libmd.so.0", "libc.so.6"}, "what enters the gateway")


tap.run(globals())
