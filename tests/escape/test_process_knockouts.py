# SPDX-License-Identifier: Apache-2.0
"""Each layer of process mode is taken away in turn (process_knockouts.py, knock_out.c). It is caught when no run is made any more,
when a run does not do what it shall, or when an attack that is about the layer gets through. Where nothing catches it the table says
what stands behind it, and an attack shows that it counts where that is absent too.

  test_process_knockouts.py [--report FILE]    appends the table to FILE. ESCAPE_LONG=1 (or CODE_EXECUTE_TEST_LONG=1) makes every attack
                                               of process mode meet what nothing catches by itself
"""
import contextlib
import os
import pathlib
import re
import secrets
import shutil
import sys

os.environ.setdefault("ESCAPE_BACKEND", "process")
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tap
from catalogue import FOLDER, attacks, load
from process_knockouts import NAMESPACES, RLIMITS, STEPS, UNPRIVILEGED_STEPS, mutants, unprivileged_mutants
from report import append_table
from test_attacks import BACKEND, Suite, start

SOURCES = pathlib.Path(__file__).parents[2] / "plugin" / "backends" / "process"
LONG = "1" in (os.environ.get("ESCAPE_LONG"), os.environ.get("CODE_EXECUTE_TEST_LONG"))
# What gets through a mutant of its own, or is about time alone.
OFTEN_MISSED = {"time", "cputime", "left", "json", "result", "secret"}
TRIES = 2  # a busy machine can hide what is measured in time
HEAD = """
## Knock-outs of {blueprint}

`tests/escape/test_process_knockouts.py --report` makes this table. It removes each layer from the backend in turn, with the product's objects linked
around `knock_out.c`. *Refused*: no run is made. *Attack*: it gets through only without the layer.

| layer taken away | caught by |
|---|---|
"""


class Refused(Exception):
    pass


class Knockouts:
    def __init__(self, suite):
        self.suite, self.harness, self.backend = suite, suite.harness, suite.backend
        self.table = {}
        self.suite.make_ready(load(FOLDER / "A2-write-view.sh"))
        self.missing = self.plain_run()["isolation"]["missing"]  # what this machine does not have anyway

    def plain_run(self, word=""):
        return self.harness.gateway.ask({"request": {"language": "sh", "code": f"echo {word}"}})["result"]

    def check_run(self):
        """A run that does what it shall, or the exception that says what it does instead."""
        word = secrets.token_hex(8)
        self.harness.gateway.use(self.harness.policy())
        result = self.plain_run(word)
        if error := result["error"]:
            raise Refused(f"refused: {error['message']}")
        if missing := set(result["isolation"]["missing"]) - set(self.missing):
            raise Refused(f"told: the result says that {', '.join(sorted(missing))} is missing")
        if result["stdout"] != word + "\n":
            raise Refused(f"no run: {result['status']} {result['exit_code']} {(result['stdout'] + result['stderr']).strip()[:80]}")

    def shows(self, attack):
        """Whether the attack gets through as the backend is now."""
        timeout = next((int(word[8:]) for word in attack.words("control process") if word.startswith("timeout=")), None)
        self.suite.make_ready(attack)
        outcome = self.harness.run(attack, timeout)
        if outcome.evidence & {"file", "death"}:
            self.harness.canaries.plant()
        return bool(outcome.evidence & attack.evidence)

    def gets_through(self, name, lines):
        """Whether the attack does where these lines and what is given for it are absent."""
        attack = load(FOLDER / name)
        more = [line for word in attack.words("given process") for line in self.backend.known[word]]
        for _ in range(TRIES):
            try:
                self.harness.take_away(self.backend.take_away_lines(lines + more))
                if self.shows(attack):
                    return True
            finally:
                self.harness.restore()
        return False

    def first_that_gets_through(self, lines):
        """Of all attacks, each once, and on the same backend where nothing is given for it."""
        every = [attack for attack in attacks("process") if not attack.evidence & OFTEN_MISSED]
        try:
            self.harness.take_away(self.backend.take_away_lines(lines))
            for attack in every:
                with contextlib.suppress(tap.Skip):  # what it wants is not there
                    if not attack.words("given process") and self.shows(attack):
                        return attack.name
        finally:
            self.harness.restore()
        return next((attack.name for attack in every if attack.words("given process") and self.gets_through(attack.name, lines)), None)

    def catch(self, mutant):
        try:
            self.harness.take_away(self.backend.take_away_lines(mutant.lines))
            self.check_run()
        except Refused as refused:
            return str(refused)
        finally:
            self.harness.restore()
        name = next((name for name in mutant.attacks if self.gets_through(name, mutant.lines)), None)
        if not name and LONG and mutant.reason and BACKEND == "process":
            name = self.first_that_gets_through(mutant.lines)
        return f"attack: {name}" if name else None

    def knock_out(self, mutant):
        caught = self.catch(mutant)
        if not caught and not mutant.reason:
            for name in mutant.attacks:
                attack = load(FOLDER / name)
                if "may-lack" in attack.fields and not self.harness.bare(attack, os.geteuid()).evidence & attack.evidence:
                    self.table[mutant.name] = f"not on this machine: {attack.fields['may-lack']}"
                    raise tap.Skip(f"nothing of it shows without a sandbox either: {attack.fields['may-lack']}")
            self.table[mutant.name] = "NOTHING"
        tap.true(caught or mutant.reason, "nothing catches it, and there is no reason")
        if not caught:
            caught = f"nothing: {mutant.reason}"
            if mutant.shown:
                also = [line for word in mutant.beside for line in self.backend.known[word]]
                tap.true(self.gets_through(mutant.shown, mutant.lines + also),
                         f"{mutant.shown} does not get through without {mutant.beside} either")
                caught += f"; without {', '.join(mutant.beside)} too, {mutant.shown} gets through"
        self.table[mutant.name] = caught

    @staticmethod
    def complete():
        """What is knocked out is what the product has, name by name."""
        text = {path.name: path.read_text() for path in SOURCES.rglob("*.c")}
        steps = {}
        for name, rows in re.findall(r'struct step (\w+)\[\] = {(.*?)\n};', text["blueprint.c"], re.DOTALL):
            steps[name] = re.findall(r'STEP_[A-Z]+, "(\w+)"', rows)
        tap.equal(sorted(steps["init_steps"] + steps["ready_steps"] + steps["run_steps"]), sorted(STEPS), "steps")
        tap.equal(sorted(steps["unprivileged_init_steps"] + steps["unprivileged_ready_steps"] + steps["run_steps"]),
                  sorted(UNPRIVILEGED_STEPS), "steps without namespaces")
        tap.equal(len(set(re.findall(r"{CLONE_NEW\w+", text["namespaces.c"]))), len(NAMESPACES), "namespaces")
        limits = re.findall(r"\(RLIMIT_(\w+),", text["resource_limits.c"])
        tap.equal(sorted(name.lower() for name in limits), sorted(RLIMITS), "limits")

    def unchanged(self):
        """The test's backend with nothing taken away is as good as the product's."""
        try:
            self.harness.take_away(self.backend.take_away_lines(["nothing nothing"]))
            self.check_run()
        finally:
            self.harness.restore()
        for name in ("C36-trace-child.c", "D64-descriptors.c", "A2-write-view.sh", "C39-init.sh", "A16-many-files.py", "A1-read-file.c"):
            tap.true(not self.gets_through(name, ["nothing nothing"]), f"{name} gets through the backend that lacks nothing")

    def every_attack(self):
        """The search through all attacks finds one where a layer is absent that some are about, also behind many that are stopped."""
        tap.contains(str(self.first_that_gets_through(["seccomp attacks"])), "C50-", "an attack that gets through")

    def cases(self):
        cases = {"test_lists": self.complete, "test_nothing": self.unchanged}
        if LONG and BACKEND == "process":
            cases["test_every_attack"] = self.every_attack
        for mutant in {"process": mutants, "unprivileged": unprivileged_mutants}[BACKEND]():
            cases[f"test_{mutant.name}".replace(" ", "-")] = lambda mutant=mutant: self.knock_out(mutant)
        return cases

    def summary(self):
        texts = list(self.table.values())

        def count(*beginnings):
            return sum(text.startswith(beginnings) for text in texts)

        return (f"{len(texts)} layers taken away: {count('refused', 'no run')} make no run, {count('told')} are told by the result, "
                f"{count('attack')} let an attack through, {count('nothing')} have another layer behind them or lose nothing, "
                f"{sum('too, ' in text for text in texts)} of these shown by an attack without it, {count('not on')} not to be shown here")


def main():
    harness = start()
    try:
        knockouts = Knockouts(Suite(harness))
        tap.run(knockouts.cases())
    finally:
        harness.close()
        shutil.rmtree(harness.scratch)
        for row in knockouts.table.items():
            print("# " + " | ".join(row))
        print("# " + knockouts.summary(), flush=True)
        if "--report" in sys.argv:
            head = HEAD.format(blueprint={"process": "process mode", "unprivileged": "process mode without namespaces"}[BACKEND])
            append_table(sys.argv[sys.argv.index("--report") + 1], head, knockouts.table.items(), knockouts.summary())


if __name__ == "__main__":
    main()
