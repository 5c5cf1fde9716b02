# SPDX-License-Identifier: Apache-2.0
"""What a run by a copy of a prepared interpreter takes at the least, without a sandbox around it (fork_floor.py), beside a bare
interpreter: by that the figures of warm Python can be judged."""
import json
import os
import pathlib
import statistics
import subprocess

import cases
from gateway import Absent, Gateway

NAME = "unprivileged-python-floor"
PREPARED = ("collections", "datetime", "functools", "itertools", "json", "math", "random", "re")  # as the built-in policy has them


def floor(rounds):
    python = cases.PYTHON.command[0]
    if not os.access(python, os.X_OK):
        raise Absent(f"{python} is not installed")
    script = pathlib.Path(__file__).with_name("fork_floor.py")
    with Gateway() as gateway:
        bare = gateway.contest([{"name": "bare", "argv": list(cases.PYTHON.command)}], expect=cases.PYTHON.prints, rounds=min(rounds, 50),
                               warm_up=3, pause_ms=10, budget_ms=10000)["runs_ms"]["bare"]
    told = json.loads(subprocess.run([python, script, str(rounds), *PREPARED], check=True, stdout=subprocess.PIPE).stdout)
    figures = {name: {"p50_ms": statistics.median(copy.pop("runs_ms")), **copy} for name, copy in told.items()}
    return {"bare_ms": statistics.median(bare), "copies": figures}


def lines(told):
    if NAME not in told:
        return
    bare, copies = told[NAME]["bare_ms"], told[NAME]["copies"]
    for name, copy in copies.items():
        spent = f", processor time {copy['processor_ms']:.2f} ms" if "processor_ms" in copy else ""
        yield f"floor: a copy of a prepared interpreter without a sandbox ({name}): {copy['p50_ms']:.2f} ms, {copy['p50_ms'] / bare:.3f} of bare{spent}"
