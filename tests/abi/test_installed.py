# SPDX-License-Identifier: Apache-2.0
"""What the README promises, from an installed tree: pkg-config, the example in C as it is printed there, the example in the
shell, and a toolhost that finds the plugin beside it. BUILD_DIRECTORY is the build tree to install from."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap

ROOT = pathlib.Path(__file__).parents[2]
folder = tempfile.TemporaryDirectory()
installed = pathlib.Path(folder.name)
subprocess.run(["meson", "install", "-C", os.environ["BUILD_DIRECTORY"], "--no-rebuild", "--quiet", "--destdir",
                str(installed)], check=True, stdout=subprocess.DEVNULL)
environment = {**os.environ, "XDG_STATE_HOME": str(installed / "state")}


def only(pattern):
    found = list(installed.glob(pattern))
    tap.equal(len(found), 1, f"files that match {pattern}")
    return found[0]


def readme_block(language):
    return re.search(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S).group(1)


def test_programs_stand_beside_the_library():
    library = only("**/code_execute.so")
    for name in ("code-execute-process", "code-execute-secret"):
        tap.true(os.access(library.parent / name, os.X_OK), f"{name} is installed beside it")


def test_the_readmes_c_example_runs():
    configuration = only("**/tool-provider.pc")
    flags = subprocess.run(["pkg-config", "--cflags", "tool-provider"], check=True, capture_output=True, text=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(configuration.parent),
                                "PKG_CONFIG_SYSROOT_DIR": str(installed)}).stdout.split()
    source = installed / "example.c"
    source.write_text(readme_block("c"))
    program = installed / "example"
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(source), *flags, "-ldl"],
                   check=True)
    run = subprocess.run([program, only("**/code_execute.so")], capture_output=True, text=True)
    tap.equal(run.returncode, 0, run.stderr)
    tap.equal(json.loads(run.stdout)["stdout"], "18446744073709551616\n")
    tap.contains(run.stderr, '"event":"start"')


def test_installed_toolhost_finds_its_plugin():
    run = subprocess.run([only("**/bin/toolhost"), "--approve", "always", "run", "--language", "sh", "-c", "echo $((6*7))"],
                         capture_output=True, text=True, env=environment)
    tap.equal((run.returncode, run.stdout), (0, "42\n"), run.stderr)


def test_the_readmes_shell_example_runs():
    commands = [line for line in re.findall(r"^(?:echo|build/host-shim/toolhost).*$", (ROOT / "README.md").read_text(), re.M)]
    tap.true(len(commands) >= 3, "the README has commands to try")
    for command in commands:
        line = command.replace("build/host-shim/toolhost", str(only("**/bin/toolhost")))
        run = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=environment)
        tap.lacks(run.stderr, "usage", command)
        tap.true(not re.search("^root:", run.stdout, re.M), f"no line of /etc/shadow: {command}")
        if "invoke" in line:
            tap.equal(json.loads(run.stdout)["stdout"], "42\n", run.stderr)


tap.run(globals())
