# SPDX-License-Identifier: Apache-2.0
"""What README and docs/gateways.md promise, from an installed tree: pkg-config, the gateway in C as it is compiled there, the
README's examples with the output that it shows, and a toolhost that finds the plugin beside it. BUILD_DIRECTORY is the build tree to
install from."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import links
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
    built = pathlib.Path(os.environ["BUILD_DIRECTORY"], "plugin").glob("code-execute-*")
    for name in {"code-execute-process", "code-execute-secret"} | {path.name for path in built if path.is_file()}:
        tap.true(os.access(library.parent / name, os.X_OK), f"{name} is installed beside it")


def pkg_config(*question):
    configuration = only("**/tool-provider.pc")
    return subprocess.run(["pkg-config", *question, "tool-provider"], check=True, capture_output=True, text=True,
                          env={**os.environ, "PKG_CONFIG_PATH": str(configuration.parent), "PKG_CONFIG_SYSROOT_DIR": str(installed)}).stdout.split()


def test_the_gateway_in_c_is_compiled_and_runs():
    examples = ROOT / "host-shim" / "examples"
    program = installed / "gateway"
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(examples / "gateway.c"), *pkg_config("--cflags"),
                    "-ldl"], check=True)
    run = subprocess.run([program, only("**/code_execute.so")], input="y\n", capture_output=True, text=True,
                         env={**environment, "API_KEY": "a value of the key", "CODE_EXEC_POLICY": str(examples / "policy.json")})
    tap.equal(run.returncode, 0, run.stderr)
    tap.contains(run.stdout, "length 18")
    tap.contains(run.stderr, '"event":"start"')


def test_pkg_config_knows_the_headers_version_and_the_providers_place():
    numbers = re.findall(r"#define TOOL_ABI_VERSION_M\w+ (\d+)u", (ROOT / "abi" / "tool_provider.h").read_text())
    tap.equal(pkg_config("--modversion"), [".".join(numbers)])
    tap.equal(pathlib.Path(pkg_config("--variable=plugindir")[0]).name, only("**/code_execute.so").parent.name)


def test_documents_and_examples_are_installed_and_their_links_lead_somewhere():
    documents = only("**/doc/code-execute")
    pages = [page.relative_to(documents) for page in documents.rglob("*.md")]
    expected = {page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md")} | {
        pathlib.Path("README.md"), pathlib.Path("policies/README.md"), pathlib.Path("plugin/README.md")}
    tap.true(expected <= set(pages), expected - set(pages))
    tap.equal(links.broken(documents, pages)[0], [], "links that lead nowhere")
    for example in ("gateway.c", "gateway.py", "approver.py"):
        tap.equal((documents / "host-shim" / "examples" / example).read_bytes(), (ROOT / "host-shim" / "examples" / example).read_bytes())


def facts(line):
    """What toolhost --verbose says, by name; its layers are those that the machine has, and those that it lacks."""
    told = dict(word.split("=", 1) for word in line.split()[1:])
    layers = [told.pop("applied").split(","), told.pop("missing").split(",")]
    told["layers"] = sorted({layer for part in layers for layer in part} - {"none"})
    told["duration"] = re.sub("[0-9]+", "N", told["duration"])
    return told


def test_the_readmes_program_prints_what_is_shown():
    program = installed / "look.py"
    program.write_text(readme_block("python"))
    command, *shown = readme_block("console").splitlines()
    words = command.removeprefix("$ build/host-shim/toolhost ").replace("look.py", str(program)).split()
    run = subprocess.run([only("**/bin/toolhost"), *words], capture_output=True, text=True, env=environment)
    tap.equal((run.returncode, run.stdout.splitlines()), (0, shown[:-1]), run.stderr)
    tap.equal(facts(run.stderr), facts(shown[-1]))


def test_installed_toolhost_finds_its_plugin():
    run = subprocess.run([only("**/bin/toolhost"), "--approve", "always", "run", "--language", "sh", "-c", "echo $((6*7))"],
                         capture_output=True, text=True, env=environment)
    tap.equal((run.returncode, run.stdout), (0, "42\n"), run.stderr)


def test_the_readmes_shell_example_runs():
    commands = [line for line in re.findall(r"^(?:echo|printf|build/host-shim/toolhost).*$", (ROOT / "README.md").read_text(), re.M)]
    tap.true(len(commands) >= 3, "the README has commands to try")
    for command in commands:
        line = command.replace("build/host-shim/toolhost", str(only("**/bin/toolhost")))
        # With time enough for matplotlib's first start on a busy machine.
        more = {"CODE_EXEC_POLICY": str(ROOT / "host-shim" / "examples" / "files.json")} if "--out" in line else {}
        run = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env={**environment, **more}, cwd=installed)
        tap.lacks(run.stderr, "usage", command)
        tap.true(not re.search("^root:", run.stdout, re.M), f"no line of /etc/shadow: {command}")
        if "invoke" in line:
            tap.equal(json.loads(run.stdout)["stdout"], "42\n", run.stderr)
        if "--out" in line and subprocess.run(["/usr/bin/python3", "-c", "import pandas, matplotlib"], capture_output=True).returncode == 0:
            tap.contains(run.stdout, "mean", run.stderr)
            tap.contains(run.stderr, "toolhost: wrote chart.png (image/png, ", "the chart")
            tap.equal((installed / "results" / "chart.png").read_bytes()[:4], b"\x89PNG", "the chart")


tap.run(globals())
