# SPDX-License-Identifier: Apache-2.0
"""One attack at a time, against whichever backend: the gateway's process, the request, what the canaries and the watch say of the
run, and what has to be as it was after it.

Kinds of evidence found here, besides those of canaries.py and watch.py:
  proof   a random word that the payload prints only where it got through: for what leaves no trace outside
  left    a process of the run lives on          time    it took longer than it may
  stderr, error, result, json   the program has forged this part of the result          secret  the secret is in the output
"""
import contextlib
import json
import os
import pathlib
import secrets
import select
import signal
import subprocess
import sys
import time

import modes
import tap
from canaries import SANDBOX_USER, as_user
from watch import LIMITS

HERE = pathlib.Path(__file__).parent
TOO_LONG_S = 3.0 * tap.SLOW
LONG_S = 4.0 * tap.SLOW  # how long an attack goes on that is about time
STEPS = 40               # in so many parts, where it does something in between
ANSWER_S = 60 * tap.SLOW
BARE_S = 30 * tap.SLOW
LONGEST_MS = 20000 * tap.SLOW
# A busy machine shows these by itself, and a payload that prints all it finds the proof: only where an attack is about them.
ONLY_WHERE_DECLARED = {"time", "cputime", "cores", "proof"}


class Gateway:
    def __init__(self, home, token, plugin=None):
        self.home = home
        keep = {name: os.environ[name] for name in ("CODE_EXECUTE_SO", "LD_PRELOAD", "ASAN_OPTIONS") if name in os.environ}
        if plugin:
            keep["CODE_EXECUTE_SO"] = str(plugin)
        self.process = subprocess.Popen(
            [sys.executable, HERE / "gateway.py"], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**keep, "PYTHONPATH": str(HERE.parent / "support"), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"],
                 "HOME": str(home), "TMPDIR": str(home), "CANARY": token})
        self.policy, self.ready_for, self.missing = None, {}, []
        self.take()

    def take(self):
        if not select.select([self.process.stdout], [], [], ANSWER_S)[0]:
            raise AssertionError(f"the gateway has not answered for {ANSWER_S} s")
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the gateway has died")
        return json.loads(line)

    def ask(self, order):
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()
        return self.take()

    def use(self, policy):
        if policy != self.policy:
            if self.ask({"policy": policy})["prepared"]:
                raise AssertionError(f"the policy is not taken: {policy}")
            self.policy, self.ready_for = policy, {}

    def renew(self):
        """A new backend, which reads what is taken away now."""
        self.ask({"reset": True})
        self.policy, self.ready_for = None, {}

    def ready(self, language):
        """The error of a first run, None where the language runs. The plugin's own trial is over after it."""
        if language not in self.ready_for:
            result = self.ask({"request": {"language": language, "code": "\n"}})["result"]
            self.ready_for[language], self.missing = result["error"], result["isolation"]["missing"]
        return self.ready_for[language]

    def is_full(self, kinds):
        """Are there as many sandboxes as are wanted, of so many kinds?"""
        wanted = [row for row in self.ask({"pool": "process"}).values() if row["wanted"] > 0]
        return len(wanted) == kinds and all(row["ready"] == row["wanted"] for row in wanted)

    def counts(self, backend):
        """Descriptors and threads of the gateway and of its backend, and what lies in its home."""
        found = {"home": sorted(str(path) for path in self.home.rglob("*"))}
        here = f"{os.path.dirname(os.path.realpath(os.environ['CODE_EXECUTE_SO']))}/"
        programs = {}
        for pid in modes.all_processes():
            with contextlib.suppress(OSError):
                programs[pid] = os.readlink(f"/proc/{pid}/exe")
        ours = {pid for pid, program in programs.items() if program.startswith(here) and program.rpartition("/")[2] == backend}
        ours -= modes.below(pid for pid in ours if is_of_another(pid, self.process.pid) and not ours & {parent_of(pid)})
        ready = ready_sandboxes(ours)
        for pid in programs:
            with contextlib.suppress(OSError):
                if pid == self.process.pid or pid in ours - {member for pair in ready for member in pair}:
                    role = "gateway" if pid == self.process.pid else backend
                    for kind in ("fd", "task"):
                        found[f"{kind} of {role}"] = found.get(f"{kind} of {role}", 0) + len(os.listdir(f"/proc/{pid}/{kind}"))
                elif stat_of(pid) == ("Z", self.process.pid):
                    found["zombies"] = found.get("zombies", 0) + 1
        if ready:
            found[f"fd of {backend}"] -= FDS_OF_READY * len(ready)
        return found

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def stat_of(pid):
    """State and parent of a process."""
    with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        state, parent = file.read().rpartition(b")")[2].split(None, 2)[:2]
    return state.decode(), int(parent)


def parent_of(pid):
    try:
        return stat_of(pid)[1]
    except OSError:
        return None


def is_of_another(supervisor, gateway):
    """Is it known to be the backend of another gateway, which runs the same build beside this one?"""
    hosts = modes.hosts_of(supervisor)
    return bool(hosts) and gateway not in hosts


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def ready_sandboxes(ours):
    """Those that are kept ready: an init whose one child is no program yet, as (init, child)."""
    return [(init, below[0]) for supervisor in ours for init in children(supervisor)
            if init in ours and len(below := children(init)) == 1 and below[0] in ours]


FDS_OF_READY = 2  # that the supervisor has for each


class Outcome:
    def __init__(self, result, raw, seconds, words):
        self.result, self.raw, self.seconds, self.words = result, raw, seconds, words
        self.output = "".join([result.get("stdout") or "", result.get("stderr") or "", raw["stdout"], raw["stderr"]])
        self.evidence = set()

    @property
    def ending(self):
        return self.result.get("status"), self.result.get("cause")

    @property
    def was_refused_for_now(self):
        return bool((self.result.get("error") or {}).get("retryable")) and not self.tried

    @property
    def tried(self):
        return self.words["TRIED"] in self.output

    def forged(self):
        """What of the program's own words stands where only the plugin's belong."""
        result, found, word = self.result, set(), self.words["FORGED"]
        if word in (result.get("stderr") or ""):
            found.add("stderr")
        if word in json.dumps(result.get("error")):
            found.add("error")
        if result.get("run_id") == word:
            found.add("result")
        if result.get("status") == "no JSON":
            found.add("json")
        return found

    def own_evidence(self):
        found = self.forged()
        for kind, seen in (("proof", self.words["PROOF"] in self.output), ("secret", self.words["SECRET"] in self.output),
                           ("time", self.seconds > TOO_LONG_S)):
            if seen:
                found.add(kind)
        return found

    def tell(self):
        error = (self.result.get("error") or {}).get("message")
        return f"{self.ending} evidence {sorted(self.evidence)} error {error!r} output {self.output[:300]!r}"


def naive(answer):
    """The result as a host would have it that takes what the program prints for the result, or pastes it into one."""
    raw = answer["raw"]["stdout"]
    try:
        answer["result"] = json.loads(raw.splitlines()[-1])
    except (ValueError, IndexError):
        try:
            answer["result"] = json.loads('{"stdout":"' + raw.replace("\n", "\\n") + '"}')
        except ValueError:
            answer["result"] = {"status": "no JSON"}


def processes_with(word):
    """Those that have the word in their environment, on the whole machine."""
    found = []
    for pid in modes.all_processes():
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
                if word in file.read():
                    found.append(pid)
    return found


def end_processes_with(word):
    """What an attack has left where a layer is away must not outlive the test. Whether there was any."""
    pids = processes_with(word)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(pids)


class Harness:
    def __init__(self, backend, canaries, scratch, token):
        self.backend, self.canaries, self.scratch = backend, canaries, scratch
        home = scratch / "home"
        home.mkdir()
        (home / "file").write_text(token)
        self.token, self.gateway = token, Gateway(home, token)
        self.own_gateway, self.other_gateway = self.gateway, None
        self.runs = 0

    def policy(self, limits=None, mode=None):
        merged = {**LIMITS, **(limits or {})}
        given = self.backend.policy if mode is None else {"modes": {"default": mode, "allowed": [mode]}}
        return {**given, "approval": {"default": "allow"}, "secrets": {"allowed": ["*"]},
                "capabilities": ["sandbox.exec", "sandbox.exec.secrets", "sandbox.exec.files", "sandbox.exec.limits.extended",
                                 "sandbox.exec.mode.none", *self.backend.capabilities],
                "workspace": {"below": [str(self.canaries.workspace.directory)]},
                "limits": {**{name: {"default": value, "max": max(value, LONGEST_MS) if name == "wall_ms" else value}
                              for name, value in merged.items()},
                           "sandbox_exec_wall_ms": {"default": LIMITS["wall_ms"], "max": LONGEST_MS}}}

    def take_away(self, plugin):
        """Runs go to the gateway that has this plugin, until restore()."""
        if plugin:
            self.other_gateway = self.other_gateway or Gateway(self.own_gateway.home, self.token, plugin)
            self.gateway = self.other_gateway
            self.gateway.renew()

    def restore(self):
        self.backend.restore(self.canaries)
        if self.gateway is not self.own_gateway:
            self.gateway.renew()
            self.gateway = self.own_gateway

    def words(self):
        return {name: secrets.token_hex(12) for name in ("TRIED", "PROOF", "FORGED", "SECRET")}

    def environment(self, words):
        gateway = self.own_gateway
        return {**self.canaries.environment(), **self.backend.environment(),
                "GATEWAY": str(gateway.process.pid), "GATEWAY_HOME": str(gateway.home), "LONG": str(LONG_S), "STEP": str(LONG_S / STEPS),
                **{name: words[name] for name in ("TRIED", "PROOF", "FORGED")}}

    def run(self, attack, timeout=None, plain_secret=False, by_naive_host=False):
        """The gateway's policy is in force and ready, the layers are as they shall be."""
        words = self.words()
        request = attack.request(self.environment(words), self.scratch)
        secret = {}
        if "secret" in attack.evidence:
            if plain_secret:
                request["env"]["KEY"] = words["SECRET"]
            else:
                request["secrets"], secret = {"KEY": "{{secret:key}}"}, {"key": words["SECRET"]}
        if timeout:
            request["timeout_ms"] = timeout * tap.SLOW
        self.backend.watch.forget()
        settle = self.backend.settling()
        context = {"workspace": str(self.canaries.workspace.directory)} if attack.fields.get("workspace") else None
        answer = self.gateway.ask({"request": request, "secrets": secret, "context": context})
        settle()
        if answer["result"]["error"]:
            self.gateway.ready_for = {}  # the plugin may try its sandbox anew, which shall not meet what is taken away next
        if by_naive_host:
            naive(answer)
        return self.judge(attack, Outcome(answer["result"], answer["raw"], answer["seconds"], words))

    def bare(self, attack, user=SANDBOX_USER):
        """Without any backend, as a user who owns nothing."""
        words = self.words()
        folder = self.scratch / "bare"
        folder.mkdir(exist_ok=True)
        os.chmod(folder, 0o777)
        begin = time.monotonic()
        self.backend.watch.forget()
        process = subprocess.Popen(
            attack.command(self.scratch), env={**self.environment(words), "PATH": "/usr/bin:/bin"}, cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, **as_user(user))
        try:
            stdout, stderr = (text.decode("latin-1") for text in process.communicate(timeout=BARE_S))
            result = {"status": "completed", "stdout": stdout, "stderr": stderr, "error": None}
            return self.judge(attack, Outcome(result, {"stdout": "", "stderr": ""}, time.monotonic() - begin, words))
        finally:
            end_processes_with(words["TRIED"].encode())

    def judge(self, attack, outcome):
        self.runs += 1
        found = outcome.own_evidence() | self.canaries.evidence(outcome.output) | self.backend.watch.evidence()
        if end_processes_with(outcome.words["TRIED"].encode()):
            found.add("left")
        outcome.evidence = found - (ONLY_WHERE_DECLARED - attack.evidence)
        return outcome

    def state(self):
        """What must be the same before and after every run."""
        files = [entry.path for folder in ("/tmp", "/var/tmp", "/dev/shm") for entry in os.scandir(folder)
                 if self.is_sandboxs(entry)]
        return {**self.gateway.counts(self.backend.backend_process()), **self.backend.leftovers(), "files": files}

    def settled_state(self):
        """The state when it does not change: no sandbox is being made ready."""
        states = [self.state()]
        while len(states) < 2 or (states[-1] != states[-2] and len(states) < 40):
            time.sleep(0.1)
            states.append(self.state())
        return states[-1]

    @staticmethod
    def is_sandboxs(entry):
        with contextlib.suppress(OSError):
            return entry.stat(follow_symlinks=False).st_uid == SANDBOX_USER
        return False

    def close(self):
        for gateway in filter(None, (self.own_gateway, self.other_gateway)):
            gateway.close()
        self.canaries.clear()
        self.backend.close()
