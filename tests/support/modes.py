# SPDX-License-Identifier: Apache-2.0
"""The sandbox mode that a suite's cases run in: CODE_EXECUTE_TEST_MODE, "process", "unprivileged" (process mode without namespaces),
"docker", or "remote" with a worker beside. The cases are the same; what has to be done otherwise in a mode is here, and what a mode answers otherwise is the table of
golden.py."""
import contextlib
import ctypes
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import provider
import tap

MODE = os.environ.get("CODE_EXECUTE_TEST_MODE", "process")
BACKEND = {"unprivileged": "process"}.get(MODE, MODE)  # a variant has the program of the mode in whose place it stands
TOP = pathlib.Path(__file__).resolve().parents[2]  # docker mode reads this file by a longer way
# What a policy and a host have to grant for the mode, beside what a case is about.
RIGHT = {"unprivileged": "sandbox.exec.mode.unprivileged"}.get(MODE)
ON_PODMAN = os.environ.get("CODE_EXECUTE_TEST_PODMAN") == "1"
RUNTIME = os.environ.get("CODE_EXECUTE_TEST_RUNTIME") or None
LONG = os.environ.get("CODE_EXECUTE_TEST_LONG") == "1"
POOL = int(os.environ.get("CODE_EXECUTE_TEST_POOL", "0"))  # sandboxes that are kept ready
LANGUAGES = ("python", "javascript", "typescript", "sh", "bash", "zsh", "ruby", "php", "perl", "lua", "r")
POLICIES = {
    "process": {"pools": {"process": {"ready": POOL, "most": POOL}}},
    "unprivileged": {"process": {"isolation": "unprivileged"}, "pools": {"process": {"ready": POOL, "most": POOL}}},
}
# Languages whose interpreter is kept, and their programs' files.
INTERPRETED = {"python": "main.py", "javascript": "main.js"}
# Where a program in Python finds the stream of its results (RUN_RESULTS_FD of plugin/protocol/run_description.h).
RESULTS_FD = 63
# What of ours a program in Python has open: in a container also /dev/null in the place of its own file (main_run.py).
OWN_FDS = {RESULTS_FD, 61} if MODE == "docker" else {RESULTS_FD}
# Does a run end with its backend? A container does not know whose it is: the next backend removes it.
ENDS_WITH_BACKEND = MODE != "docker"

# For cases that are not about time, where the program ends by itself: as long as any policy allows, for a slow machine's sake.
ALL_THE_TIME = {"limits": {name: {"default": 300000, "max": 300000} for name in ("wall_ms", "cpu_ms")}}

if os.environ.get("CODE_EXECUTE_TEST_IN_LONG_FORM") and not LONG:
    tap.skip_all("these cases run in this mode another way; so too in the long form: CODE_EXECUTE_TEST_LONG=1")
if MODE == "remote":
    import remote_worker
    POLICIES[MODE] = remote_worker.policy(POOL)
if MODE == "unprivileged":
    POLICIES[MODE]["capabilities"] = json.loads((TOP / "policies" / "default.json").read_text())["capabilities"]
if MODE == "docker":
    import engine  # with Python's client of HTTP: as much to import as all else here
    POLICIES[MODE] = {"pools": {"docker": {"ready": POOL}}, "modes": {"default": "docker", "allowed": ["docker"]},
                      "docker": {"host": engine.HOST, "images": {language: engine.IMAGE for language in LANGUAGES}}}
    engine.needed(podman=ON_PODMAN)
    # What is not about the engine's runtime has the faster one: a fifth less processor time a container.
    if not RUNTIME and not LONG and os.environ.get("CODE_EXECUTE_TEST_PREFERS_CRUN") and "crun" in engine.runtimes():
        RUNTIME = "crun"
    if RUNTIME:
        POLICIES[MODE]["docker"]["runtime"] = RUNTIME


def merged(policy, patch):
    """The patch on the policy, as RFC 7396 has it."""
    result = dict(policy)
    for name, value in patch.items():
        own = result.get(name)
        result[name] = merged(own if isinstance(own, dict) else {}, value) if isinstance(value, dict) else value
    return result


def in_mode(policy):
    """The same with the capability of the mode, where it has one."""
    return {**policy, "capabilities": [*policy["capabilities"], RIGHT]} if RIGHT and "capabilities" in policy else policy


def at_home(text):
    """With the home directory and that of temporary files as they are called where a program has a file view: without namespaces they are
    others for each run."""
    if MODE != "unprivileged":
        return text
    return re.sub(r"/\S*/code-execute-[^/\s]*/(home|tmp)\b", lambda found: {"home": "/home/sandbox", "tmp": "/tmp"}[found[1]], text)


def in_places(code):
    """A program in Python that names directories of a file view, with its own in their places where it has none."""
    if MODE != "unprivileged":
        return code
    variables = {"/home/sandbox": "HOME", "/tmp": "TMPDIR"}
    return re.sub(r"'(/home/sandbox|/tmp)(/[^']*)?'", lambda found: f"(__import__('os').environ['{variables[found[1]]}'] + '{found[2] or ''}')", code)


def grant_mode(host):
    """To a host that grants anything. One that grants nothing is a case of its own."""
    if RIGHT and isinstance(host, provider.Host) and host.capabilities:
        host.capabilities.add(RIGHT)


class Provider(provider.Provider):
    """Calls are in the suite's mode from the first one on, and again after each reset. On a slow machine, programs for which no
    case and no policy of its own says otherwise have all the time; exact results want the shipped limits, by an empty policy."""

    def __init__(self, policy=None):
        super().__init__()
        if policy is None:
            policy = ALL_THE_TIME if tap.SLOW > 1 else {}
        self.policy = merged(POLICIES[MODE], policy)
        self.in_force, self.sessions = None, set()
        self.warmed = {}  # language: did an interpreter wait, under the policy in force?
        self.begin()

    def begin(self):
        if self.policy:
            self.use_policy({})

    def use_policy(self, policy, sandbox=None):
        self.warmed, self.in_force = {}, policy
        return super().use_policy(in_mode(merged(self.policy, policy)), sandbox)

    def invoke(self, request, host=None, tool="code_execute"):
        """Where sandboxes are kept ready, one with a waiting interpreter is there before the call."""
        grant_mode(host)
        if POOL and MODE == "process" and isinstance(request, dict) and request.get("language") in INTERPRETED:
            self.await_interpreter(request["language"])
        code, result = super().invoke(request, host, tool)
        if result and result.get("session"):
            self.sessions.add(result["session"]["id"])
        return code, result

    def await_interpreter(self, language):
        """A short while; not where the policy in force keeps none, or wants an answer first."""
        def waits():
            return any(interpreter_waits(pid) and INTERPRETED[language] in pathlib.Path(f"/proc/{pid}/cmdline").read_text()
                       for pid in awaited_descendants(os.getpid()))
        if self.warmed.get(language) is False or waits():
            return
        super().invoke({"language": language, "code": "0"}, provider.Host())
        self.warmed[language] = tap.within(waits, 3)

    def with_policy(self, policy, case, sandbox=None):
        """The case with that policy in force."""
        tap.equal(self.use_policy(policy, sandbox), provider.OK, "prepare")
        try:
            return case()
        finally:
            self.reset()

    def begin_anew(self, policy):
        """That policy in force, and no session of an earlier case. In docker mode a gateway that has it goes on: behind a reset the first
        call of each language is tried in a container of its own."""
        if MODE != "docker" or policy != self.in_force:
            self.reset()
            return self.use_policy(policy)
        for session in self.sessions:
            self.library.tool_end_session(session.encode())
        self.sessions.clear()
        tap.eventually(lambda: self.counters()["sessions"] == 0, "no session of an earlier case is left", 60)
        return provider.OK

    def change_policy(self, policy):
        """That policy in force. In docker mode the gateway goes on: its containers are made once, and wait for the next case. Where it has
        that policy already it is not told it again, which would have it try each language anew."""
        if MODE != "docker":
            self.reset()
        return provider.OK if policy == self.in_force else self.use_policy(policy)

    def forget(self):
        """As loaded, without the suite's mode."""
        self.in_force, self.sessions = None, set()
        super().reset()

    def reset(self):
        self.forget()
        self.begin()


def run_cases(cases, of_docker_mode, without_namespaces=None, needing_namespaces=None):
    """Runs a suite's cases and ends; in docker mode (../docker/meson.build) and in process mode without namespaces
    (../process/sessions/meson.build) those of these names alone. needing_namespaces: of the latter mode, in the long form all but these."""
    if MODE == "unprivileged" and LONG and needing_namespaces is not None:
        cases = {name: case for name, case in cases.items() if name.removeprefix("test_") not in needing_namespaces}
    elif (names := {"docker": of_docker_mode, "unprivileged": without_namespaces}.get(MODE)) is not None:
        cases = {f"test_{name}": cases[f"test_{name}"] for name in names}
    tap.run(cases)


def run_but(shown, cases):
    """Runs a suite's cases and ends. Those of the first names are shown by another round, so that they are left to the long form here."""
    tap.equal([name for name in shown if f"test_{name}" not in cases], [], "names of cases")
    if not LONG and not os.environ.get("TEST_CASES"):
        cases = {name: case for name, case in cases.items() if name.removeprefix("test_") not in shown}
    tap.run(cases)


def run_in_every_mode(cases, of_the_gateway):
    """The same, where what the gateway does by itself is the same in every mode: the cases of these names run in process mode without a
    pool."""
    run_but(of_the_gateway if MODE != "process" or POOL else [], cases)


def run_with_node(cases, of_docker_mode, policy, languages=("javascript",), **of_unprivileged):
    """The same, in docker mode in an image that has the machine's Node as well: the policy's member "docker" then says so, for the
    languages."""
    if MODE != "docker":
        run_cases(cases, of_docker_mode, **of_unprivileged)
    files = engine.files_of_node()
    if not files:
        tap.skip_all("no Node in the machine's own directories of programs")
    with engine.image_with(files) as image:
        policy["docker"] = {"images": dict.fromkeys(languages, image)}
        run_cases(cases, of_docker_mode)


def gateway(script, *, before=(), arguments=(), **options):
    """A gateway of its own: a Python process that runs the script with these names imported."""
    names = (f"import json, sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
             "from modes import Provider\nfrom provider import Host\n")
    return subprocess.Popen([*before, sys.executable, "-c", names + script, *arguments], stdout=subprocess.PIPE, text=True, **options)


@functools.cache
def built(plugin):
    """The directory of a plugin's programs."""
    return os.path.dirname(os.path.realpath(plugin))


def is_interpreter(pid):
    """Was the process started, or copied from one that was, to wait for a run of this build?"""
    files = f"PYTHONPATH={built(os.environ['CODE_EXECUTE_SO'])}/interpreter"
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            variables = b"\0" + file.read() + b"\0"
    except OSError:
        return False
    return b"\0" + files.encode() in variables or b"\0CODE_EXECUTE_INTERPRETER=wait\0" in variables


def interpreter_waits(pid):
    """Is it still without its run, which would come over a socket?"""
    try:
        return is_interpreter(pid) and any(os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:") for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def hosts_of(backend):
    """The processes of which it holds a pidfd, its gateway among them; None where nobody may look."""
    folder, found = pathlib.Path(f"/proc/{backend}/fdinfo"), set()
    try:
        for entry in folder.iterdir():
            try:
                found |= {int(line.split()[1]) for line in entry.read_text().splitlines() if line.startswith("Pid:")}
            except FileNotFoundError:
                continue  # closed meanwhile
    except OSError:
        return None
    return found


def all_processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parent_of(pid):
    """OSError where the process has gone."""
    with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        return int(file.read().rpartition(b")")[2].split(None, 2)[1])


def backends():
    """Every process on the machine that runs this build's backend of the mode, a sandbox's first one too."""
    program, found = f"{built(os.environ['CODE_EXECUTE_SO'])}/code-execute-{BACKEND}", []
    for pid in all_processes():
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/exe") == program:
                found.append(pid)
    return found


def watches(backend, host):
    """Does it hold a pidfd of that process?"""
    folder = f"/proc/{backend}/fdinfo"
    try:
        for fd in os.listdir(folder):
            with open(f"{folder}/{fd}", "rb", buffering=0) as file:
                if b"\nPid:\t%d\n" % host in file.read():
                    return True
    except OSError:
        pass
    return False


def descendants(host):
    """Everything below the backends of that gateway, which are no children of it: they hold a pidfd of it."""
    return below(backend for backend in backends() if watches(backend, host))


def awaited_descendants(host):
    """The same for a condition that is asked again and again: by the kernel's lists of children, which may lack one as others end."""
    found, wanted = set(), [backend for backend in backends() if watches(backend, host)]
    while wanted:
        pid = wanted.pop()
        found.add(pid)
        with contextlib.suppress(OSError):  # it has ended
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as file:
                    wanted += [child for child in map(int, file.read().split()) if child not in found]
    return found


def processes():
    """Every process on the machine that runs this build's backend of the mode, or an interpreter that it keeps: {pid: parent}."""
    found, running = {}, set(backends())
    for pid in running if BACKEND != "process" else all_processes():
        with contextlib.suppress(OSError):
            if pid in running or is_interpreter(pid):
                found[pid] = parent_of(pid)
    return found


def adopt_orphans():
    """From here on this process is the parent of backends, which leave their gateways. The machine runs others of the same build
    at the same time, such as another suite's doctor. prctl(2), PR_SET_CHILD_SUBREAPER"""
    tap.equal(ctypes.CDLL(None).prctl(36, 1, 0, 0, 0), 0, "prctl")


def below(roots):
    """Those processes and all that stem from them."""
    found, children, wanted = set(), {}, list(roots)
    for pid in all_processes() if wanted else ():
        with contextlib.suppress(OSError):
            children.setdefault(parent_of(pid), []).append(pid)
    while wanted:
        pid = wanted.pop()
        if pid not in found:
            found.add(pid)
            wanted += children.get(pid, [])
    return found


def own_processes():
    """As processes(), of this process' gateways: after adopt_orphans()."""
    ours = below({os.getpid()})
    return {pid: parent for pid, parent in processes().items() if pid in ours}


def long_time(number=0):
    """An argument for sleep that no other process on the machine has, such as another checkout's tests."""
    return str(100000000 + os.getpid() * 100 + number)


def sleeps(argument):
    """Is "sleep ARGUMENT" running in a sandbox?"""
    if MODE == "docker":
        return engine.running(f"sleep {argument}")
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes() == f"sleep\0{argument}\0".encode():
                return True
        except OSError:
            continue
    return False


def left():
    """What is there of runs and of backends, after adopt_orphans(): equal before and after, or something was left behind."""
    return sorted(own_processes()), sorted(engine.containers()) if MODE == "docker" else []
