# SPDX-License-Identifier: Apache-2.0
"""Each field of the constant container configuration is changed in turn, between docker mode and the engine. Truthful: the
read-back must refuse the container and name the field, and nothing is left of it. Lying: the engine says that all is as asked;
then the guest's report, the stream or an attack must show it, or the table says why nothing is lost.

  test_knockouts.py [--report FILE]    appends the table to FILE. ESCAPE_LONG=1 (or CODE_EXECUTE_TEST_LONG=1) lies about every field
"""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from catalogue import FOLDER, load
from engine_proxy import Plan
from knockout_fields import fields
from report import append_table
from test_attacks import Suite, start

LONG = "1" in (os.environ.get("ESCAPE_LONG"), os.environ.get("CODE_EXECUTE_TEST_LONG"))
HEAD = """
## Knock-outs of docker mode

`tests/escape/test_knockouts.py --report` with `ESCAPE_LONG=1` makes this table. It changes each field of the container's configuration on
the way to the engine. *Read-back*: the plugin's answer to an engine that reports the change. *Lie*: the attack or check that reveals the change
where the engine reports none.

| field | read-back | lie |
|---|---|---|
"""


class Knockouts:
    def __init__(self, suite):
        self.suite, self.harness, self.backend = suite, suite.harness, suite.backend
        self.table = {}

    def ask(self):
        return self.harness.gateway.ask({"request": {"language": "sh", "code": "echo ran"}})["result"]

    def with_plan(self, plan, run):
        self.backend.proxy.plan = plan
        try:
            return run()
        finally:
            self.backend.restore(self.harness.canaries)
            tap.eventually(lambda: self.backend.leftovers()["containers"] == [], "the container is removed", 10)

    def ready(self):
        self.harness.gateway.use(self.harness.policy())
        tap.equal(self.harness.gateway.ready("sh"), None, "a first run")

    def truthful(self, field):
        tap.true(field.catcher or field.reason, "nothing catches a lie about it, and there is no reason")
        self.ready()
        made = self.backend.proxy.made
        result = self.with_plan(Plan([field.change]), self.ask)
        error = result["error"] or {"code": None, "message": ""}
        if not field.compared:
            tap.equal((error["message"], result["stdout"]), ("", "ran\n"), "a field that is not compared")
            return self.set(field, 0, "not compared")
        if self.backend.proxy.made == made:
            return self.set(field, 0, f"the engine refuses it: {error['message'][-90:]}")
        if error["code"] == "sandbox_unavailable" and "docker warns" in error["message"]:
            return self.set(field, 0, f"the engine warns: {error['message'][-90:]}")
        tap.equal(error["code"], "sandbox_unavailable", error["message"])
        tap.contains(error["message"], f"{field.message} differs", "the refusal")
        return self.set(field, 0, "caught: " + error["message"].split(": ")[-1].removesuffix(" differs"))

    def lying(self, field):
        """A lie about the configuration, and, for an attack to show, about what the guest reports."""
        self.ready()
        if field.catcher in ("report", "stream"):
            result = self.with_plan(Plan([field.change], lie_inspect=True), self.ask)
            tap.true(result["error"] is not None, f"the {field.catcher} should have shown it: {result}")
            return self.set(field, 1, f"{field.catcher}: {result['error']['message'][:110]}")
        if not field.catcher:
            return self.set(field, 1, f"nothing: {field.reason}")
        attack = load(FOLDER / field.catcher)
        self.suite.make_ready(attack)
        plan = Plan([field.change, self.backend.without_guests_layers], lie_inspect=True, lie_report=True)
        outcome = self.with_plan(plan, lambda: self.harness.run(attack))
        if outcome.evidence & {"file", "death"}:
            self.harness.canaries.plant()
        if not outcome.evidence & attack.evidence and "may-lack" in attack.fields and not (
                self.harness.bare(attack, os.geteuid()).evidence & attack.evidence):
            raise tap.Skip(f"this machine does not have it: {attack.fields['may-lack']}")
        tap.true(outcome.evidence & attack.evidence, f"{attack.name} does not show it: {outcome.tell()}")
        return self.set(field, 1, f"attack: {attack.name}")

    def set(self, field, column, text):
        self.table.setdefault(field.name, ["", "not in this run"])[column] = text

    def cases(self, found):
        cases = {}
        for field in found:
            name = f"test_{field.name}".replace(" ", "-")
            cases[name + "-told"] = lambda field=field: self.truthful(field)
            if LONG or field.often:
                cases[name + "-lied"] = lambda field=field: self.lying(field)
        return cases

    def rows(self):
        return [(name, *cells) for name, cells in self.table.items()]

    def summary(self):
        told, lied = ([row[column] for row in self.rows()] for column in (1, 2))
        return (f"{len(told)} fields: {sum(text.startswith('caught') for text in told)} caught by the read-back, "
                f"{sum(text.startswith('the engine') for text in told)} not made by the engine, {told.count('not compared')} not compared; "
                f"of the lies {sum(text.startswith(('report', 'stream')) for text in lied)} shown by report or stream, "
                f"{sum(text.startswith('attack') for text in lied)} by an attack, {sum(text.startswith('nothing') for text in lied)} harmless")


def main():
    harness = start()
    knockouts = Knockouts(Suite(harness))
    try:
        tap.run(knockouts.cases(fields(harness.canaries.directory, harness.backend.other.id)))
    finally:
        harness.close()
        shutil.rmtree(harness.scratch)
        for row in knockouts.rows():
            print("# " + " | ".join(row))
        print("# " + knockouts.summary(), flush=True)
        if "--report" in sys.argv:
            append_table(sys.argv[sys.argv.index("--report") + 1], HEAD, knockouts.rows(), knockouts.summary())


if __name__ == "__main__":
    main()
