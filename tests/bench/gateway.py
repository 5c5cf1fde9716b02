# SPDX-License-Identifier: Apache-2.0
"""The gateway in C (gateway.c) that is measured, ordered about over its standard input."""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CODE_EXECUTE_BUILD", ROOT / "build"))
PROVIDER = os.environ.get("CODE_EXECUTE_SO", str(BUILD / "plugin" / "code_execute.so"))
OURS = "code-execute"
NAMESPACES = "namespaces"  # ours too, of a second gateway


class Absent(Exception):
    """A case, or one of its contestants, that cannot be had here, with the reason."""


class Gateway:
    """One process that has loaded the provider; ended on leaving."""

    def __enter__(self):
        self.process = subprocess.Popen([BUILD / "tests" / "bench" / "bench_gateway", PROVIDER], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env={"PATH": "/usr/bin:/bin"})
        self.pid = self.process.pid
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def send(self, what, **order):
        self.process.stdin.write(json.dumps({"do": what, **order}) + "\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the bench's gateway ended with status {self.process.wait()}")
        return json.loads(line)

    def order(self, what, **order):
        self.send(what, **order)
        return self.receive()

    def use_policy(self, *policies):
        """Puts the first of the policies in force that is taken; the others are for versions that do not know a member."""
        for policy in policies:
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(policy, file)
                file.flush()
                error = self.order("prepare", configuration={"policy_file": file.name})["error"]
            if error is None:
                return
        message = error["message"].replace(file.name, "of this case")
        raise Absent(f"the policy is refused: {message}")

    def contest(self, contestants, **order):
        told = self.order("contest", contestants=contestants, **order)
        if told["reason"]:
            told["reason"] = told["reason"].strip()
        return told


def alternate(gateways, contestants, *, rounds, warm_up, budget_ms, **order):
    """As Gateway.contest(), where the contestants are of several gateways, by their names; commands are any one's. Each round has an
    order of its own: else one of them would always have its turn while another's sandboxes are made ready."""
    told = {part: {contestant["name"]: [] for contestant in contestants} for part in ("runs_ms", "turns_ms")}
    told |= {"failures": dict.fromkeys(told["runs_ms"], 0), "reason": None}
    chance = random.Random(1)  # the same at each time
    commands = next(iter(gateways.values()))
    for number in range(warm_up + rounds):
        if number == warm_up:
            end = time.monotonic() + budget_ms / 1000
        elif number > warm_up and time.monotonic() > end:
            break
        for contestant in chance.sample(contestants, len(contestants)):
            name = contestant["name"]
            turn = gateways.get(name, commands).contest([contestant], rounds=1, warm_up=0, **order)
            told["failures"][name] += turn["failures"][name]
            told["reason"] = turn["reason"] or told["reason"]
            if number >= warm_up:
                told["runs_ms"][name] += turn["runs_ms"][name]
                told["turns_ms"][name] += turn["turns_ms"][name]
    return told
