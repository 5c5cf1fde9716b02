# SPDX-License-Identifier: Apache-2.0
"""A gateway and a worker in two network namespaces, by the commands of docs/scale.md and no others.
By hand: scripts/check-cluster test_two_machines"""
import os
import pathlib
import re
import subprocess
import sys

import tap

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from scale_page import User, commands, install

DIRECTORY = os.environ.get("CODE_EXECUTE_TEST_NODES")
if not DIRECTORY:
    tap.skip_all("no namespaces (scripts/with-nodes)")

HOME = pathlib.Path(DIRECTORY, "home")
HOME.mkdir(mode=0o700)
install()
user = User(HOME)


def test_the_page():
    [authority], [machines] = commands("An authority"), commands("Two machines on one")
    user.do(authority)
    # The worker goes on behind the last command, with what it prints to.
    said = HOME / "said"
    with said.open("w") as file:
        ended = subprocess.run(["bash", "-euc", machines], cwd=HOME, env=user.environment, stdin=subprocess.DEVNULL,
                               stdout=file, stderr=file, timeout=300, check=False)
    text = said.read_text()
    tap.equal(ended.returncode, 0, text)
    tap.true(re.search(r"^  usable  worker\.example: 10\.77\.0\.2:7443, mode process", text, re.M), text)
    tap.contains(text, "\n18446744073709551616\n")


tap.run(globals())
