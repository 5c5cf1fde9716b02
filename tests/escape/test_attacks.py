# SPDX-License-Identifier: Apache-2.0
"""Every payload of attacks/ against one backend (ESCAPE_BACKEND, docker where nothing is said), and each one's positive control:
the same payload where the layers that stop it are absent. An attack passes when the canaries show nothing, the run ended as
its header says, and the machine is as before; a control passes when they show what the header says.

  test_attacks.py [--report FILE]    appends the table to FILE
  TEST_CASES="test_A1-read-file.sh ..." in the environment runs some of them. In process mode an attack that is written in several
  languages has its control in the first of them; ESCAPE_LONG=1 (or CODE_EXECUTE_TEST_LONG=1) in all.
"""
import os
import pathlib
import secrets
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
os.environ.setdefault("CODE_EXECUTE_SO", str(HERE.parents[1] / "build" / "plugin" / "code_execute.so"))
sys.path.insert(0, str(HERE.parent / "support"))
import gvisor
import tap
from canaries import Canaries
from catalogue import attacks, compiled, every_attack
from docker_backend import DockerBackend
from harness import Harness
from process_backend import ProcessBackend
from report import Report, append_text
from unprivileged_backend import UnprivilegedBackend, attacks_without_namespaces

BACKEND = os.environ.get("ESCAPE_BACKEND", "docker")
RUNS_BETWEEN_NORMAL = 4
IDLE_CONNECTIONS = 16  # as many as requests were under way at once; what is lost each time comes to more within a round
CONTROL_TRIES = 3  # what is measured in time can be missed once
TRIES = 3          # and a busy machine can show nothing but time, or an engine that starts no container for once
OF_TIME = {"time", "cputime"}
LONG = "1" in (os.environ.get("ESCAPE_LONG"), os.environ.get("CODE_EXECUTE_TEST_LONG"))


class Suite:
    def __init__(self, harness):
        self.harness, self.backend, self.canaries = harness, harness.backend, harness.canaries
        self.report, self.since_normal, self.baseline = Report(BACKEND), 0, None

    def make_ready(self, attack, limits=None, mode=None):
        self.harness.gateway.use(self.harness.policy(limits, mode))
        error = self.harness.gateway.ready(attack.language)
        if error and error["code"] == "runtime_not_found":
            raise tap.Skip(f"{attack.language} is not there: {error['message']}")
        tap.equal(error, None, "a first run")
        if reason := self.backend.lacks(attack, self.harness.gateway.missing):
            raise tap.Skip(reason)

    def check_host(self):
        """Nothing is left, and the gateway still does what it is for."""
        end = time.monotonic() + 8 * tap.SLOW
        while (worse := self.worse(self.harness.state())) and time.monotonic() < end:
            time.sleep(0.05)
        if worse:
            before, self.baseline = self.baseline, self.harness.state()  # what is left now is not the next one's fault
            tap.equal({name: self.baseline.get(name) for name in worse}, {name: before.get(name) for name in worse}, "the machine")

    def worse(self, now):
        """The members that are not as before. Of descriptors some may be idle connections to the engine."""
        before = self.baseline
        return [name for name in before | now if (now.get(name, 0) > before.get(name, 0) + IDLE_CONNECTIONS if name.startswith("fd ")
                                                  else now.get(name) != before.get(name))]

    def check_normal_run(self):
        word = secrets.token_hex(8)
        settle = self.backend.settling()
        answer = self.harness.gateway.ask({"request": {"language": "sh", "code": f"echo {word}"}})
        settle()
        tap.equal(answer["result"]["stdout"], word + "\n", f"a normal run after an attack: {answer['result'].get('error')}")
        self.since_normal = 0

    def attack(self, attack):
        given = attack.words(f"given {BACKEND}")
        self.backend.keep_ready(not given)
        self.make_ready(attack)
        if self.baseline is None:
            kept = getattr(self.backend, "kept", ())
            for language in kept:  # what waits for them is part of how the machine is found
                self.harness.gateway.ready(language)
                self.harness.gateway.ask({"request": {"language": language, "code": "0"}})
            self.check_normal_run()
            if kept:
                tap.eventually(lambda: self.harness.gateway.is_full(len(kept)), "as many sandboxes as are kept", 60)
            self.baseline = self.harness.settled_state()
        try:
            self.take_away(attack, given)
            self.backend.await_ready()
            for _ in range(TRIES):
                outcome = self.harness.run(attack)
                if outcome.evidence - OF_TIME or not (outcome.evidence or outcome.was_refused_for_now):
                    break
        finally:
            self.harness.restore()
        if "ModuleNotFoundError" in outcome.output:
            raise tap.Skip(f"the python there is too small: {outcome.output.splitlines()[-1]}")
        if reason := self.backend.not_stopped(attack):
            tap.true(outcome.evidence & attack.evidence, f"it is stopped, and is on the list of what is not: {outcome.tell()}")
            raise tap.Skip(f"not stopped: {reason}")
        if outcome.evidence:
            self.report.escaped += 1
            self.canaries.plant()
            raise AssertionError(f"ESCAPED: {outcome.tell()}")
        tap.true(outcome.tried, f"it was not tried: {outcome.tell()}")
        tap.true(outcome.ending in gvisor.endings(attack.endings), f"it ended otherwise than {attack.endings}: {outcome.tell()}")
        self.check_host()
        self.since_normal += 1
        if self.since_normal >= RUNS_BETWEEN_NORMAL:
            self.check_normal_run()

    def take_away(self, attack, names, stream=None, limits=None):
        """A backend that is another program has to be ready again."""
        if plugin := self.backend.take_away(names, stream):
            self.harness.take_away(plugin)
            self.make_ready(attack, limits)

    def control_run(self, attack, words):
        options = dict(word.split("=", 1) for word in words if "=" in word and ":" not in word)
        limits = {name: int(value) for name, value in (word[6:].split("=") for word in words if word.startswith("limit:"))}
        if words == ["bare"]:
            return self.harness.bare(attack)
        self.backend.keep_ready(False)
        self.make_ready(attack, limits, "none" if "none" in words else None)
        stream = next((word[7:] for word in words if word.startswith("stream:")), None)
        names = [word for word in words + attack.words(f"given {BACKEND}") if self.backend.knows(word)]
        try:
            self.take_away(attack, names, stream, limits)
            timeout = int(options["timeout"]) if "timeout" in options else None
            return self.harness.run(attack, timeout, "plain-secret" in words, "naive" in words)
        finally:
            self.harness.restore()

    def control(self, attack):
        if gvisor.ON_GVISOR and BACKEND == "docker":
            raise tap.Skip("what is taken away for a control is runc's: it has its control there")
        words = attack.words(f"control {BACKEND}") or ["impossible", "no control is written for this backend yet"]
        if words[0] == "impossible":
            raise tap.Skip(" ".join(words[1:]))
        for _ in range(CONTROL_TRIES):
            outcome = self.control_run(attack, words)
            if outcome.evidence & {"file", "death"}:
                self.canaries.plant()
            if outcome.evidence & attack.evidence:
                return
        if "may-lack" in attack.fields and not self.harness.bare(attack, os.geteuid()).evidence & attack.evidence:
            raise tap.Skip(f"nothing of it shows without a sandbox either: {attack.fields['may-lack']}")
        if os.geteuid() != 0 and not self.harness.bare(attack).evidence & attack.evidence:
            raise tap.Skip("takes root: an ordinary user gets nothing of it without a sandbox either")
        raise AssertionError(f"the control shows nothing of {sorted(attack.evidence)}: {outcome.tell()}")

    def order(self, attack, part):
        """What goes on under one policy comes together: a change of it costs a trial, and the pool that was there before."""
        if part == "attack":
            return 0, bool(attack.words(f"given {BACKEND}")), []
        words = attack.words(f"control {BACKEND}")
        return 1, "none" in words, sorted(word for word in words if word.startswith("limit:"))

    def cases(self, found):
        seen, wanted = set(), []
        for attack in found:
            others = seen if BACKEND == "process" and not LONG else ()
            wanted += [(attack, part) for part in ("attack", "control") if part == "attack" or attack.entry not in others]
            seen.add(attack.entry)
        functions = {"attack": self.attack, "control": self.control}
        return {f"test_{attack.name}{' control' if part == 'control' else ''}".replace(" ", "-"):
                lambda attack=attack, part=part: self.report.note(attack, part, lambda: functions[part](attack))
                for attack, part in sorted(wanted, key=lambda case: self.order(*case))}


def start():
    if os.geteuid() != 0 and BACKEND == "docker":
        tap.skip_all("processes of another user and canaries of root take root")
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="escape-"))
    scratch.chmod(0o755)
    try:
        backend = {"docker": DockerBackend, "process": ProcessBackend, "unprivileged": UnprivilegedBackend}[BACKEND](scratch)
    except BaseException:
        shutil.rmtree(scratch)
        raise
    canaries = None
    try:
        token = secrets.token_hex(16)
        compiled(HERE / "read-as-owner.c", scratch)
        canaries = Canaries(scratch / "canary", token, compiled(HERE / "sentinel.c", scratch), backend.other)
        for problem in backend.prepare(canaries):
            print(f"# addresses of the throw-away network: {problem}")
        harness = Harness(backend, canaries, scratch, token)
    except BaseException:
        if canaries:
            canaries.clear()
        backend.close()
        shutil.rmtree(scratch)
        raise

    def end(*_):
        harness.close()
        shutil.rmtree(scratch)
        os._exit(1)
    signal.signal(signal.SIGTERM, end)  # the runner's patience has an end; what was started here goes with it
    return harness


def main():
    if os.environ.get("ESCAPE_IN_LONG_FORM") and not LONG:
        tap.skip_all("the attacks once more: CODE_EXECUTE_TEST_LONG=1")
    harness = start()
    suite = Suite(harness)
    try:
        tap.run(suite.cases(attacks_without_namespaces(every_attack()) if BACKEND == "unprivileged" else attacks(BACKEND)))
    finally:
        harness.close()
        shutil.rmtree(harness.scratch)
        print("# " + suite.report.summary(harness.runs), flush=True)
        if "--report" in sys.argv:
            append_text(sys.argv[sys.argv.index("--report") + 1], suite.report.text(harness.runs))


if __name__ == "__main__":
    main()
