#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sandbox image's recipe: the Dockerfile and the build without a registry make the same image.

test_image.py POLICY_DIRECTORY
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tap

POLICIES = pathlib.Path(sys.argv[1])
RECIPE = POLICIES / "image"


def packages(variant):
    return subprocess.run([RECIPE / "list-packages", variant], capture_output=True, text=True, check=True).stdout.split()


def commands(name):
    """A recipe's text without comments, continued lines joined."""
    text = (RECIPE / name).read_text(encoding="utf-8").replace("\\\n", " ")
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def test_each_variant_has_the_smaller_one():
    minimal, full, large = (set(packages(variant)) for variant in ("minimal", "full", "large"))
    tap.true(minimal and minimal < full < large, f"{minimal} < {full} < {large}")


def test_an_unknown_variant_is_refused():
    answer = subprocess.run([RECIPE / "list-packages", "huge"], capture_output=True, text=True, check=False)
    tap.equal((answer.returncode, answer.stdout), (2, ""))


def test_the_large_variant_has_every_language_of_the_policy():
    languages = json.loads((POLICIES / "default.json").read_text(encoding="utf-8"))["languages"]
    tap.equal(sorted({language["package"] for language in languages.values()} - set(packages("large"))), [])


def test_both_take_the_packages_from_the_list_and_name_none():
    listed = "|".join(map(re.escape, sorted(packages("large"), key=len, reverse=True)))
    for name, use in (("Dockerfile", r"apt-get install -y --no-install-recommends \$\(/build/list-packages \"\$VARIANT\"\)\s+&&"),
                      ("build", r"--include=\"\$packages\"")):
        text = commands(name)
        tap.equal(len(re.findall(use, text)), 1, f"{name} installs the list")
        rest = re.sub(r"^#!.*|/bin/sh|/bin/bash", "", text)
        installs = [line for line in rest.splitlines() if "install" in line or "--include" in line]
        tap.equal([line for line in installs if re.search(rf"(?<![\w./-])({listed})(?![\w.-])", line)], [], name)


def test_both_are_finished_by_the_same_script():
    tap.contains(commands("Dockerfile"), "/build/finish /build")
    tap.contains(commands("build"), "/build/finish /build")


def test_both_are_the_same_debian():
    tap.contains(commands("Dockerfile"), "FROM debian:12-slim AS root")
    tap.contains(commands("build"), "suite=bookworm")


def test_mmdebstrap_inherits_no_descriptors():
    """Its hooks write to its own by number, and dash knows no number of two digits."""
    with tempfile.TemporaryDirectory() as directory, open(f"{directory}/inherited", "w", encoding="utf-8") as inherited:
        stand_in, seen = pathlib.Path(directory) / "mmdebstrap", pathlib.Path(directory) / "seen"
        stand_in.write_text('#!/bin/sh\nls -l /proc/$$/fd >"$SEEN"\nfor tar; do :; done\n: >"$tar"\n', encoding="utf-8")
        stand_in.chmod(0o755)
        more = [os.dup(inherited.fileno()) for _ in range(9)]
        try:
            subprocess.run([RECIPE / "build"], pass_fds=more, check=True, capture_output=True,
                           env={"PATH": f"{directory}:{os.environ['PATH']}", "XDG_CACHE_HOME": directory, "SEEN": str(seen)})
        finally:
            for number in more:
                os.close(number)
        opened = seen.read_text(encoding="utf-8")
        tap.contains(opened, str(seen), "control: descriptors are listed")
        for name in ("inherited", "code-execute/lock"):
            tap.lacks(opened, f"{directory}/{name}", "")


def test_the_image_runs_as_nobody():
    last = commands("Dockerfile").rsplit("FROM scratch", 1)[1]
    tap.equal(re.findall(r"^USER (.*)$", last, re.M), ["65534:65534"])
    # `build` gives the engine these instructions and no other.
    tap.equal(sorted(set(re.findall(r"^([A-Z]+) ", last, re.M))), ["CMD", "COPY", "ENV", "USER", "WORKDIR"])


tap.run(globals())
