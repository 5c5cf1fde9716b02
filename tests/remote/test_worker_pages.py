# SPDX-License-Identifier: Apache-2.0
"""The page about workers against the program, and the unit against systemd."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import tap
import workers

workers.need_program()

TOP = pathlib.Path(os.environ["SOURCE"])
UNIT = pathlib.Path(os.environ["WORKER_UNIT"])
JUNK = None  # of no member's type


def members_of_the_page():
    """As dotted names."""
    page = (TOP / "docs/scale.md").read_text()
    table = re.search(r"^\| member \| value \| absent \|\n(.*?)\n\n", page, re.S | re.M).group(1)
    return [name for row in table.splitlines()[1:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def refusal(name):
    """What the program says to junk in that member's place."""
    outer, _, inner = name.partition(".")
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "worker.json"
        # Of another mode a section is refused only once it could be read.
        whole = workers.configuration_of(pathlib.Path("/nonexistent"))
        around = {"tls": whole["tls"], "outer_uids": {"first": 100000, "count": 1}}
        whole[outer] = {**around.get(outer, {}), inner: JUNK} if inner else JUNK
        path.write_text(json.dumps(whole))
        done = subprocess.run([workers.PROGRAM, "--check", "--config", path], capture_output=True, text=True, check=False)
        tap.equal(done.returncode, 1, done)
        return done.stderr


def test_each_member_of_the_page_is_read():
    names = members_of_the_page()
    tap.true(len(names) > 20, names)
    for name in names:
        told = refusal(name)
        tap.contains(told, f": /{name.replace('.', '/')}: ")
        tap.lacks(told, "unknown member")
    # The positive control.
    tap.contains(refusal("pool.of_another_name"), "/pool/of_another_name: unknown member")


def test_each_member_that_is_read_is_on_the_page():
    source = (TOP / "plugin/backends/worker/configuration.c").read_text()
    rows = set(re.findall(r'^ +\{"(\w+)", &', source, re.M))
    sections = {"tls", "outer_uids", "pool", "process", "docker"}
    inner = {"image"}  # of an item of images, which is a text
    tap.equal({part for name in members_of_the_page() for part in name.split(".")}, rows - inner, "members")
    tap.true(sections <= rows, rows)


def test_example_of_the_page_is_right():
    page = (TOP / "docs/scale.md").read_text()
    example = re.search(r"## A worker\n.*?```json\n(.*?)```", page, re.S).group(1)
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "worker.json"
        path.write_text(example)
        done = subprocess.run([workers.PROGRAM, "--check", "--config", path], capture_output=True, text=True, check=False)
    tap.contains(done.stdout, "ca.pem", "it got as far as the files of the example")


def test_systemd_understands_the_unit():
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        raise tap.Skip("systemd-analyze is not there")
    text = UNIT.read_text()
    command = re.search(r"^ExecStart=(\S+)", text, re.M).group(1)
    tap.true(command.endswith("/code-execute-worker"), command)
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / UNIT.name
        path.write_text(text.replace(command, str(workers.PROGRAM)))
        done = subprocess.run([analyze, "verify", path], capture_output=True, text=True, check=False)
        # The positive control.
        path.write_text(text.replace("[Service]\n", "[Service]\nKillModus=mixed\n"))
        wrong = subprocess.run([analyze, "verify", path], capture_output=True, text=True, check=False)
    tap.equal(done.returncode, 0, done.stderr)
    told = [line for line in done.stderr.splitlines() if UNIT.name in line and "DelegateSubgroup" not in line]  # before systemd 254
    tap.equal(told, [], "complaints")
    tap.contains(wrong.stderr, "KillModus")


if __name__ == "__main__":
    tap.run(globals())
