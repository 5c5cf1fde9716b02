# SPDX-License-Identifier: Apache-2.0
"""docs/abi.md is true: its gateway compiles and runs its input. Its tables are generated (test docs)."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(TOP / "tests" / "support"))
import tap
from provider import OK, Host, Provider

PAGE = (TOP / "docs" / "abi.md").read_text(encoding="utf-8")


def block(language, heading):
    """The first block of that language behind the heading."""
    part = PAGE[PAGE.index(f"\n## {heading}\n"):]
    return re.search(rf"^```{language}\n(.*?)^```$", part, re.S | re.M)[1]


INPUT = block("json", "A minimal gateway")


def test_the_gateway_runs_the_input():
    if not shutil.which("cc"):
        raise tap.Skip("no cc")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "gateway.c"
        source.write_text(block("c", "A minimal gateway"), encoding="utf-8")
        program = pathlib.Path(folder) / "gateway"
        subprocess.run(["cc", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", f"-I{TOP / 'abi'}", "-o", program, source, "-ldl"],
                       check=True, env={**os.environ, "LD_PRELOAD": ""})
        done = subprocess.run([program, os.environ["CODE_EXECUTE_SO"], INPUT], capture_output=True, text=True)
        tap.equal(done.returncode, 0, done.stderr)
        tap.equal(json.loads(done.stdout)["stdout"], "42\n")
        tap.equal([json.loads(line)["event"] for line in done.stderr.splitlines()], ["start", "end"], "audit records")
        # The control: what it does not grant is refused.
        refused = subprocess.run([program, os.environ["CODE_EXECUTE_SO"], json.dumps({**json.loads(INPUT), "files": [
            {"path": "a", "content": ""}]})], capture_output=True, text=True)
        tap.equal((refused.returncode, json.loads(refused.stdout)["error"]["message"]), (1, "access denied: sandbox.exec.files"))


def test_an_ordinary_request_needs_one_capability():
    asked = []

    def check(capability, verdict):
        asked.append(capability.decode())
        verdict[0] = 0x600DCA11

    code, result = Provider().invoke(json.loads(INPUT), Host(check_capability=check))
    tap.equal((code, result["stdout"], asked), (OK, "42\n", ["sandbox.exec"]))


tap.run(globals())
