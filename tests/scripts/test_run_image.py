# SPDX-License-Identifier: Apache-2.0
"""deploy/image/build without an engine: what it hands to one. test_run_image.py GUEST"""
import os
import pathlib
import subprocess
import sys
import tempfile

import tap

GUEST = pathlib.Path(sys.argv[1])
BUILD = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "image" / "build"


def build(*arguments):
    return subprocess.run([BUILD, *arguments], capture_output=True, text=True, check=False)


def test_the_image_has_the_guest_and_its_commands():
    with tempfile.TemporaryDirectory() as directory:
        done = build("--guest", GUEST, "--base", "registry.example/base:1", "--context", directory)
        tap.equal((done.returncode, done.stderr), (0, ""), "build")
        root = pathlib.Path(directory, "root")
        tap.equal((root / ".code-execute-guest").read_bytes(), GUEST.read_bytes(), "the guest")
        tap.equal((root / ".code-execute-guest").stat().st_mode & 0o7777, 0o555, "its mode")
        installers = root / ".code-execute-installers"
        links = {path.name: os.readlink(path) for path in installers.iterdir() if path.is_symlink()}
        tap.equal(set(links.values()), {"/.code-execute-guest"}, links)
        tap.true({"pip", "npm", "uv"} <= set(links), links)
        tap.contains((installers / "pip.py").read_text(encoding="utf-8"), "SPDX-License-Identifier")
        tap.contains(pathlib.Path(directory, "Dockerfile").read_text(encoding="utf-8"), "\nFROM registry.example/base:1\nCOPY root/ /\n")


def test_a_command_that_is_not_whole_is_refused():
    for arguments in ((), ("--guest", GUEST), ("tag",), ("--guest", GUEST, "--surplus", "tag")):
        done = build(*arguments)
        tap.equal(done.returncode, 2, arguments)
        tap.contains(done.stderr, "build --guest FILE")
    done = build("--guest", "/nothere", "--context", "/nothere")
    tap.equal((done.returncode, done.stderr), (1, "build: no guest: /nothere\n"), "no guest")


tap.run(globals())
