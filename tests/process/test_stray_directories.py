# SPDX-License-Identifier: Apache-2.0
"""The directories of runs without namespaces that nobody was left to remove: the next gateway removes them, and no others."""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "faults")]
import common
import provider as abi
import tap
from provider import Host

CAPABILITIES = ("sandbox.exec", "sandbox.exec.mode.unprivileged")
SWEPT_AT_ONCE = 32
PLACE = pathlib.Path(tempfile.mkdtemp(prefix="stray-directories-", dir="/dev/shm"))
POLICY = json.loads((ROOT / "policies" / "in-container.json").read_text())
POLICY["process"]["scratch_directory"] = str(PLACE)
POLICY["pools"] = {"process": {"ready": 0}}  # each that waits has a directory as well
provider = abi.Provider()


def run(code="true", language="sh"):
    """In a backend that was started for it."""
    provider.reset()
    provider.use_policy(POLICY)
    _, result = provider.invoke({"language": language, "code": code}, Host(CAPABILITIES))
    tap.equal(result["error"], None, result)
    return result["stdout"]


def names():
    return sorted(path.name for path in PLACE.iterdir())


def make(name="code-execute-1-abcDEF", lock=True):
    """What a supervisor makes, with something of a program in it."""
    directory = PLACE / name
    (directory / "home" / "deep").mkdir(parents=True)
    (directory / "tmp").mkdir()
    (directory / "home" / "deep" / "file").write_text("x")
    if lock:
        (directory / "lock").touch()
    return directory


@contextlib.contextmanager
def emptied():
    try:
        yield
    finally:
        for path in PLACE.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def expect_swept(*kept):
    """A run's own is gone as well by then."""
    tap.eventually(lambda: names() == sorted(kept), f"{kept} is left, and nothing else")


def test_what_the_dead_left_is_removed():
    with emptied():
        directory = make()
        (directory / "home" / "closed").mkdir(mode=0)
        run()
        expect_swept()


def test_what_is_not_a_runs_stays():
    with emptied():
        make("code-execute-1-abcDEG")  # the control
        others = [make(name) for name in ("code-execute-x-abcDEF", "code-execute-1-abcDE", "code-execute-1-abcDEF0", "code-execute--abcDEF",
                                          "code-execute-1-abc_EF", "xcode-execute-1-abcDEF", "code-execute-1-abcDEF.old")]
        others += [make("code-execute-1-noLock", lock=False), PLACE / "code-execute-1-aFileX", PLACE / "code-execute-1-linkED", make("target")]
        others[-3].touch()
        others[-2].symlink_to("target")
        (make("code-execute-1-lockLN") / "lock").unlink()
        (PLACE / "code-execute-1-lockLN" / "lock").symlink_to("../target/lock")
        (make("code-execute-1-lockFF") / "lock").unlink()
        os.mkfifo(PLACE / "code-execute-1-lockFF" / "lock")
        kept = [path.name for path in others] + ["code-execute-1-lockLN", "code-execute-1-lockFF"]
        if os.geteuid() == 0:
            for name, part in (("code-execute-1-theirs", "."), ("code-execute-1-theirL", "lock")):
                os.chown(make(name) / part, 65534, 65534)
                kept.append(name)
        run()
        expect_swept(*kept)
        for name in kept:
            if (PLACE / name).is_dir():
                tap.equal((PLACE / name / "home" / "deep" / "file").read_text(), "x", name)


def test_no_link_is_followed():
    with emptied(), tempfile.TemporaryDirectory(dir="/dev/shm") as outside:
        (pathlib.Path(outside) / "file").write_text("kept")
        home = make() / "home"
        (home / "link").symlink_to(outside)
        (home / "deep" / "link").symlink_to(outside)
        (home.parent / "tmp").rmdir()
        (home.parent / "tmp").symlink_to(outside)
        run()
        expect_swept()
        tap.equal(os.listdir(outside), ["file"], "behind the links")


def test_one_start_removes_a_bounded_number():
    with emptied():
        for number in range(SWEPT_AT_ONCE + 2):
            make(f"code-execute-1-{number:06}")
        run()
        tap.eventually(lambda: len(names()) == 2, "the first ones are removed")
        run()
        expect_swept()


def test_doctor_counts_them():
    with emptied():
        make()
        provider.reset()
        provider.use_policy(POLICY)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(POLICY, file)
            file.flush()
            told = provider.prepare(policy_file=file.name, sweep=True)[1]["sweep"]
        tap.equal([row["removed"] for row in told if row["mode"] == "unprivileged"], [1], told)
        expect_swept()


HOLD = "echo said; sleep 60"


@contextlib.contextmanager
def gateway():
    """Of its own with a run under way; its pid, the supervisor's, the init's and the guardian's, and the run's directory."""
    script = f"""
import sys
sys.path[:0] = {sys.path[:2]!r}
import provider as abi
provider = abi.Provider()
provider.use_policy({POLICY!r})
provider.invoke({{"language": "sh", "code": {HOLD!r}}},
                abi.Host({CAPABILITIES!r}, on_output=lambda stream, data, length: print("said", flush=True)))
"""
    before = set(names())
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pids = [process.pid]
    try:
        tap.equal(process.stdout.readline(), "said\n", "the program is there")
        [directory] = set(names()) - before
        supervisor = int(directory.split("-")[2])
        [init] = [pid for pid in common.children(supervisor) if common.children(pid)]
        [guardian] = [pid for pid in common.children(init) if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("code-execute")]
        pids += [supervisor, init, guardian]
        yield pids, PLACE / directory
    finally:
        for pid in reversed(pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def has_ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def kill(*pids):
    """As one: none sees the end of another before its own."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    tap.eventually(lambda: all(has_ended(pid) for pid in pids), "they have ended")


def test_a_living_run_of_another_gateway_stays():
    with emptied(), gateway() as (pids, directory):
        make()  # the control
        run()
        expect_swept(directory.name)
        tap.true((directory / "home").is_dir(), "its files stay as well")


def test_nothing_is_removed_before_the_last_has_ended():
    """The init holds the directory without its supervisor. Its guardian goes on when it ends, even where it was stopped."""
    with emptied(), gateway() as ((host, supervisor, init, guardian), directory):
        os.kill(init, signal.SIGSTOP)
        kill(host, supervisor)
        run()
        expect_swept(directory.name)
        kill(init)
        tap.eventually(lambda: has_ended(guardian), "the guardian has ended the tree")
        run()
        expect_swept()


def test_a_program_cannot_touch_the_lock():
    attempts = ("os.open(lock, os.O_RDONLY)", "os.open(lock, os.O_WRONLY)", "os.unlink(lock)", "os.rename(lock, 'lock')", "os.link(lock, 'lock')",
                "os.rename(os.getcwd(), '../other')", "os.mkdir('../../code-execute-1-abcDEF')", "os.open('..', os.O_RDONLY)")
    code = "import os\nlock = '../lock'\n" + "".join(f"try:\n    {attempt}\n    print({attempt!r})\nexcept PermissionError: pass\nexcept OSError as error: "
                                                    f"print({attempt!r}, error) if error.errno != 18 else None\n" for attempt in attempts)
    with emptied():
        tap.equal(run(code, "python"), "", "what got through")
        (make() / "home" / "program.py").write_text(code)
        done = subprocess.run([sys.executable, "program.py"], cwd=PLACE / "code-execute-1-abcDEF" / "home", capture_output=True, text=True, check=True)
        tap.contains(done.stdout, attempts[0], "positive control: the same user without a domain")


def test_a_lock_of_another_keeps_it():
    """The lock decides, whoever holds it; the number in the name does not."""
    with emptied():
        directory = make(f"code-execute-{os.getpid()}-abcDEF")
        with open(directory / "lock", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            run()
            expect_swept(directory.name)
        run()
        expect_swept()


try:
    tap.run(globals())
finally:
    provider.library.tool_shutdown()
    shutil.rmtree(PLACE)
