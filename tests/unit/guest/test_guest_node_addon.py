# SPDX-License-Identifier: Apache-2.0
"""What a container's Node loads for a session finds all that it uses in a program of either C library: it is loaded here by a stand-in for
Node, which has the functions of Node-API and no others of Node's."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap

ADDON = os.environ["CODE_EXECUTE_GUEST_NODE_ADDON"]
HEADER = pathlib.Path(__file__).parents[3] / "plugin/interpreter/node/node_api.h"
PROGRAM = """#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments)
{
    void *addon = dlopen(arguments[1], RTLD_NOW);
    puts(!addon ? dlerror() : dlsym(addon, "napi_register_module_v1") ? "loaded" : "no addon");
    return count - 2;
}
"""


def said(compiler, functions):
    """What a program of that compiler says as it loads the addon."""
    with tempfile.TemporaryDirectory() as directory:
        source, program = pathlib.Path(directory, "node.c"), pathlib.Path(directory, "node")
        source.write_text("".join(f"void {name}(void);\nvoid {name}(void) {{}}\n" for name in functions) + PROGRAM, encoding="ascii")
        subprocess.run([compiler, "-rdynamic", source, "-o", program], check=True)
        return subprocess.run([program, ADDON], capture_output=True, text=True, check=True).stdout


def functions_of_node():
    return sorted(set(re.findall(r"\b(napi_[a-z_0-9]+)\(napi_", HEADER.read_text(encoding="ascii"))))


def check(compiler):
    if not shutil.which(compiler):
        raise tap.Skip(f"no {compiler}")
    functions = functions_of_node()
    tap.equal(said(compiler, functions), "loaded\n")
    tap.contains(said(compiler, functions[1:]), functions[0], "the control: one function is missing")


def test_a_node_of_glibc_loads_it():
    check("cc")


def test_a_node_of_musl_loads_it():
    check("musl-gcc")


tap.run(globals())
