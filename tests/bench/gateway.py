# SPDX-License-Identifier: Apache-2.0
"""The gateway in C (gateway.c) that is measured, ordered about over its standard input."""
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CODE_EXECUTE_BUILD", ROOT / "build"))
PROVIDER = os.environ.get("CODE_EXECUTE_SO", str(BUILD / "plugin" / "code_execute.so"))
OURS = "code-execute"


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
