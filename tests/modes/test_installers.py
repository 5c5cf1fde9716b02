# SPDX-License-Identifier: Apache-2.0
"""Commands that would install packages, in runs without network: what they say, from each language and in sessions, and that what installs
nothing reaches the machine's own command."""
import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import modes
import tap
from modes import Provider
from provider import OK, Host

provider = Provider()
FIXED = "the packages of this sandbox are fixed, and it has no network"
COMMANDS = {"pip install": "Python", "pip3 download": "Python", "uv pip install": "Python", "uv add": "Python", "conda install -y": "Python",
            "npm install": "JavaScript", "npm i -g": "JavaScript", "npx": "JavaScript", "yarn add": "JavaScript", "pnpm add": "JavaScript"}
ENVIRONMENTS = "data (python): pandas 2, numpy\nweb (javascript): express\nodd line\n"


def run(language, code, host=None, **more):
    return_code, output = provider.invoke({"language": language, "code": code, **more}, host or Host())
    tap.equal((return_code, output["status"]), (OK, "completed"), output)
    return output


def explains(text, command, package="no-such-thing"):
    lines = text.splitlines()
    tap.equal(lines[0], f"{command}: cannot install {package}: {FIXED}. Trying again, or another installer, does not help.", text)
    tap.equal([line for line in lines[1:] if line.startswith(("Python packages that are there: ", "JavaScript packages that are there: ", "There are no "))],
              [lines[1]], text)
    tap.contains(text, "ask the operator")


def test_each_command_says_what_is_there():
    # One run for all: on its standard output is what they say on the other one, where they say nothing else.
    code = "".join(f"{command} no-such-thing 3>&1 >&2 2>&3; echo status $?\n" for command in COMMANDS)
    for language in ("sh", "bash"):
        output = run(language, code)
        tap.equal(output["stderr"], "", language)
        said_by_each = output["stdout"].split("status 1\n")
        tap.equal((len(said_by_each), said_by_each[-1]), (len(COMMANDS) + 1, ""), output["stdout"])
        for (command, kind), text in zip(COMMANDS.items(), said_by_each):
            explains(text, command.split()[0])
            tap.contains(text, f"no environment with other {kind} packages")
    output = run("sh", "yarn")
    tap.equal((output["exit_code"], output["stderr"].split(":")[1]), (1, " cannot install anything"), output)


PYTHON = """import subprocess, sys
for command in (["pip", "install", "no-such-thing"], ["python3", "-m", "pip", "install", "-q", "no-such-thing"], [sys.executable, "-m", "pip", "install", "no-such-thing"]):
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.returncode, done.stdout == "", done.stderr.splitlines()[0])
"""
JAVASCRIPT = """const { spawnSync } = require('child_process');
for (const words of [['npm', 'install', 'no-such-thing'], ['npx', 'no-such-thing'], ['pip', 'install', 'no-such-thing']]) {
  const done = spawnSync(words[0], words.slice(1), { encoding: 'utf8' });
  console.log(done.status, done.stdout === '', done.stderr.split('\\n')[0]);
}
"""


def said(*names):
    return "".join(f"1 {{}} {name}: cannot install no-such-thing: {FIXED}. Trying again, or another installer, does not help.\n" for name in names)


def test_children_of_each_language():
    tap.equal(run("python", PYTHON)["stdout"], said("pip", "pip", "pip").replace("{}", "True"))
    tap.equal(run("sh", "python3 -m pip install no-such-thing")["exit_code"], 1)
    if modes.MODE != "docker" and shutil.which("node", path="/usr/bin:/bin"):
        tap.equal(run("javascript", JAVASCRIPT)["stdout"], said("npm", "npx", "pip").replace("{}", "true"))


def test_a_pool_changes_nothing():
    def case():
        for _ in range(4):
            tap.equal(run("python", PYTHON)["stdout"], said("pip", "pip", "pip").replace("{}", "True"))
    provider.with_policy({"pools": {modes.BACKEND: {"ready": 2}}}, case)


def test_the_interpreter_itself_is_as_ever():
    code = "import os, sys\nprint([entry for entry in sys.path if 'installers' in entry], 'pip' in sys.modules)"
    tap.equal(run("python", code)["stdout"], "[] False\n")
    # The positive control: a Python that the program starts finds the module.
    tap.contains(run("sh", "python3 -c 'import sys; print(sys.path)'")["stdout"], "installers'")


def test_sessions():
    host = Host(("sandbox.exec", "sandbox.exec.session"))
    policy = {"sessions": {"max_total": 4, "max_per_principal": 4}, "capabilities": ["sandbox.exec", "sandbox.exec.session"] + ([modes.RIGHT] if modes.RIGHT else [])}

    def case():
        for language, code in (("sh", "pip install no-such-thing"), ("bash", "python3 -m pip install no-such-thing"),
                               ("python", "import subprocess, sys\nsys.stderr.write(subprocess.run([sys.executable, '-m', 'pip', 'install', 'no-such-thing'], capture_output=True, text=True).stderr)")):
            session = run(language, "1" if language == "python" else ":", host, session="new")["session"]["id"]
            explains(run(language, code, host, session=session)["stderr"], "pip")
            explains(run("bash" if language == "sh" else "sh", "pip install no-such-thing", host, session=session)["stderr"], "pip")
    provider.with_policy(policy, case)


def test_environments_that_a_request_can_name():
    host = Host(("sandbox.exec",))
    for command, name, other in (("pip install x", "data (python): pandas 2, numpy", "web"), ("npm i x", "web (javascript): express", "data")):
        text = run("sh", command, host, env={"CODE_EXECUTE_PACKAGES": ENVIRONMENTS})["stderr"]
        tap.contains(text, f'A request can name one of these environments in "packages":\n  {name}\n')
        tap.lacks(text, f"  {other}")
        tap.lacks(text, "odd line")
    text = run("sh", "pip install x", host, env={"CODE_EXECUTE_PACKAGES": "web (javascript): for pages (python): no\n"})["stderr"]
    tap.contains(text, "no environment with other Python packages")


def test_what_is_there_already():
    code = "import importlib.metadata, json\nprint(json.dumps([[d.metadata['Name'], d.version] for d in importlib.metadata.distributions()]))"
    there = json.loads(run("python", code)["stdout"])
    if not there:
        raise tap.Skip("this Python has nothing beyond its standard library")
    name, version = there[0]
    for wanted in (name, f"{name}=={version}", f"-q {name.upper()}"):
        output = run("sh", f"pip install {wanted}")
        tap.equal((output["exit_code"], output["stdout"], output["stderr"]), (0, f"Requirement already satisfied: {name} ({version})\n", ""), output)
    for wanted in (f"{name}==0.0.0.1", f"{name} no-such-thing", f"-r {name}"):
        tap.equal(run("sh", f"pip install {wanted}")["exit_code"], 1, wanted)
    output = run("sh", f"pip install '{name}<{version}'")
    tap.equal((output["exit_code"], output["stdout"], output["stderr"].splitlines()[0]),
              (1, "", f"pip: cannot install {name}: {FIXED}. Trying again, or another installer, does not help."), output)
    if modes.MODE == "process" and run("sh", "python3 -I -m pip --version")["exit_code"] == 0:  # elsewhere pip ends by an exception of its own
        for command in ("pip", "python3 -m pip"):
            output = run("sh", f"{command} install '{name}>={version}'")
            tap.equal((output["exit_code"], output["stderr"]), (0, ""), output)
            tap.contains(output["stdout"], "already satisfied")
    listed = re.search("^Python packages that are there: (.*?)(?: and [0-9]+ more.*)?\\.$", run("sh", "pip install no-such-thing")["stderr"], re.M)[1].split(", ")
    tap.equal(sorted(set(listed) - {name for name, _ in there}), [], "names that are none of Python's")
    tap.contains(listed, min((name for name, _ in there), key=str.lower))


def test_what_installs_nothing_is_passed_on():
    has_pip = run("sh", "python3 -I -m pip --version")["exit_code"] == 0
    if not has_pip:
        output = run("sh", "python3 -m pip list")
        tap.equal((output["exit_code"], output["stderr"].splitlines()[0]), (127, "pip: the command itself is not installed, and this sandbox has no network."), output)
        tap.contains(run("python", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import pip'], capture_output=True, text=True).stderr)")["stdout"],
                     "ModuleNotFoundError: No module named 'pip'")
        raise tap.Skip("no pip in the sandbox")
    own = run("sh", "python3 -I -m pip --version")["stdout"]
    tap.equal(run("sh", "python3 -m pip --version")["stdout"], own)
    tap.equal(run("python", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import pip, pip._internal; print(pip.__version__)'], capture_output=True, text=True).stdout)")["stdout"].strip(),
              own.split()[1])
    tap.equal(run("sh", "python3 -m pip freeze")["exit_code"], 0)
    output = run("sh", "python3 -m pip install --no-index no-such-thing")
    tap.equal(output["exit_code"], 1, output)
    tap.lacks(output["stderr"], FIXED)
    if modes.MODE != "docker" and shutil.which("pip", path="/usr/local/bin:/usr/bin:/bin"):
        tap.contains(run("sh", "pip show pip")["stdout"], "Name: pip\n")
    if modes.MODE != "docker" and shutil.which("npm", path="/usr/local/bin:/usr/bin:/bin"):
        tap.contains(run("sh", "npm --version; npm ls")["stdout"], "(empty)")


def test_no_text_of_a_stranger_comes_back():
    text = run("sh", "pip install \"$(printf 'a\\033[31m')\" 'x>=1' ../y")["stderr"]
    tap.equal(text.splitlines()[0], f"pip: cannot install x: {FIXED}. Trying again, or another installer, does not help.")


def test_a_run_with_a_network_has_the_machines_own():
    if modes.MODE == "unprivileged" or modes.MODE == "docker":
        raise tap.Skip("the engine of the tests and this mode have no network to give")
    host = Host(("sandbox.exec", "sandbox.exec.network"))
    code = "command -v pip npm; echo ${PYTHONPATH-none} $PATH"
    result = provider.with_policy({"network": {"allowed": True}}, lambda: provider.invoke({"language": "sh", "code": code, "network": True}, host)[1])
    tap.lacks(result["stdout"], "installers")
    tap.contains(result["stdout"], "none /")
    tap.contains(run("sh", code)["stdout"], "installers/pip", "the positive control")


tap.run(globals())
