# SPDX-License-Identifier: Apache-2.0
"""What the kernel ends where the memory of a session runs out: processes of the cell, and none of its checkpoints. The scores are read from
outside of the sandbox."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / name) for name in ("support", "faults")]
import ordinary_user
import tap
from checkpointed import AMPLE_MS, RIGHTS, call, provider, use
import modes
from modes import MODE

MIB = 1 << 20
HIGHEST = 1000  # of oom_score_adj
NAME = f"oom-{os.getpid()}"
PREPARED = f"""import ctypes, os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
def name(word): ctypes.CDLL(None).prctl(15, word.encode())
def hold(word, children=0):
    name(word)
    for _ in range(children):
        if os.fork() == 0:
            signal.sigwait({{signal.SIGUSR1}})
            os._exit(0)
    signal.sigwait({{signal.SIGUSR1}})
    for _ in range(children):
        os.wait()
name('{NAME}-0')"""


def cell(code, session="new", state="kept", **more):
    result = call(code, session, **more)[1]
    tap.equal(result["session"] and result["session"]["state"], state, result)
    return result


def begin(code=PREPARED, **more):
    return cell(code, **more)["session"]["id"]


def processes():
    """By the number of each outside: its number inside, its name, and its score. Of the sandbox that has our name."""
    found = {}
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            status = dict(line.split(":\t", 1) for line in (directory / "status").read_text().splitlines() if ":\t" in line)
            if status["State"][0] == "Z":  # the interpreter waits for it ahead of its next cell
                continue
            found[int(directory.name)] = (os.readlink(directory / "ns/pid"), int(status["NSpid"].split()[-1]), status["Name"], int((directory / "oom_score_adj").read_text()))
        except (OSError, KeyError):
            continue
    spaces = {space for space, _, name, _ in found.values() if name.startswith(NAME)}
    return {pid: rest for pid, (space, *rest) in found.items() if space in spaces}


def named(word):
    return [pid for pid, (_, name, _) in processes().items() if name == f"{NAME}-{word}"]


def scores(word):
    """Above that of the sandbox's first process, or the highest there is: those of the processes of that name, and of the others."""
    seen = processes().values()
    own = next(score for number, _, score in seen if number == 1)

    def above(score):
        return score if score == HIGHEST else score - own  # a runtime may have given the first process a score of its own
    return ([above(score) for number, name, score in seen if name == f"{NAME}-{word}"],
            [above(score) for number, name, score in seen if name != f"{NAME}-{word}" and number != 1])


class Held:
    """A cell that waits, with so many children, until it is looked at."""

    def __init__(self, session, word, children=0, **more):
        self.word, self.results = word, []
        self.thread = threading.Thread(target=lambda: self.results.append(call(f"hold('{NAME}-{word}', {children})", session, **more)[1]))
        self.thread.start()
        tap.eventually(lambda: len(named(word)) == 1 + children, f"the processes of the cell {word}")

    def result(self):
        for pid in named(self.word):
            os.kill(pid, signal.SIGUSR1)
        self.thread.join()
        tap.equal(self.results[0]["status"], "completed", self.results[0])
        return self.results[0]


def check(session, word, sleeping, children=2, **more):
    """Holds a cell that has so many processes asleep beside it."""
    held = Held(session, word, children, **more)
    tap.eventually(lambda: len(scores(word)[1]) == sleeping, f"the checkpoints of the cell {word}; the oldest one may go a little later")
    its, others = scores(word)
    result = held.result()
    tap.equal((set(others), set(its)), ({0}, {1000}), word)
    return result["session"]["id"]


def test_every_process_of_a_cell_has_a_higher_score_than_every_checkpoint():
    use(3)
    session = begin()
    check(session, 1, 2)
    check(session, 2, 3)
    check(session, 3, 3)
    cell("os._exit(1)", session, "restored")
    check(session, 4, 3)
    check(session, 5, 3, session_action="undo")
    check(session, 6, 2, session_action="undo", count=2)
    check(session, 7, 3)


def test_the_same_of_copies_that_take_turns():
    use(2)
    first = begin()
    check(first, 1, 2)
    second = check(first, 2, 3 + 1, session_action="fork")
    third = check(second, 3, 3 + 2 + 1, session_action="fork")
    for turn in range(2):
        for number, session in enumerate((first, second, third)):
            held = Held(session, f"{turn}{number}", 1)
            its, others = scores(held.word)
            held.result()
            tap.equal((set(others), set(its)), ({0}, {1000}), (turn, number))
            tap.true(len(others) >= 2 + 2, others)
    cell("os._exit(1)", second, "restored")
    check(second, 4, 3 + 3 + 2)
    cell("pass", third, session_action="undo")
    check(third, 5, 3 + 3 + 2)


def test_a_process_that_an_earlier_cell_has_left():
    use(3)
    session = begin()
    cell(f"name('{NAME}-left')\nchild = os.fork()\nif child == 0:\n    signal.sigwait({{signal.SIGUSR1}})\n    os._exit(0)\nname('{NAME}-1')", session)
    held = Held(session, 2)
    left, its = scores("left")[0], scores(2)[0]
    tap.equal(held.result()["session"]["checkpoint"], "processes")
    tap.equal((left, its), ([1000], [1000]))


def test_a_program_cannot_lower_its_score():
    """The control: outside, the same file can be written to."""
    use(3)
    session = begin()
    lower = "try:\n    with open('/proc/self/oom_score_adj', 'w') as file:\n        file.write('0')\nexcept OSError as error:\n    print(error.errno)\nprint(open('/proc/self/oom_score_adj').read())"
    tap.equal(cell(lower, session)["stdout"], "30\n1000\n\n", "EROFS")
    held = Held(session, 2)
    for pid in named(2):
        pathlib.Path(f"/proc/{pid}/oom_score_adj").write_text("999")
        tap.equal(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text(), "999\n")
    held.result()


def test_a_gateway_of_an_ordinary_user():
    provider.reset()
    tap.eventually(lambda: not processes(), "no session of another case is left")
    copies = ordinary_user.Copies("process")
    shutil.copytree(pathlib.Path(os.environ["CODE_EXECUTE_SO"]).with_name("interpreter"), copies.directory / "interpreter", ignore=shutil.ignore_patterns("*.p"))
    script = f"""import sys
sys.path[:0] = ["{copies.directory}/tests/support", "{copies.directory}/tests/process"]
from modes import Provider
from provider import Host
provider, host = Provider(), Host({RIGHTS!r})
provider.use_policy({{"sessions": {{"max_total": 1, "checkpoints": 3}}, "limits": {{"wall_ms": {{"default": {AMPLE_MS}}}}}}})
session = "new"
for code in {[PREPARED, f"name('{NAME}-1')", f"hold('{NAME}-2', 2)"]!r}:
    result = provider.invoke({{"language": "python", "code": code, "session": session}}, host)[1]
    session = result["session"]["id"]
    print(result["session"]["checkpoint"])
"""
    try:
        with copies.start([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                tap.eventually(lambda: len(named(2)) == 3 or process.poll() is not None, "the cell waits")
                seen = scores(2) if process.poll() is None else None
            finally:
                for pid in named(2):
                    os.kill(pid, signal.SIGUSR1)
            output, errors = process.communicate()
    finally:
        copies.close()
    tap.equal((output, errors), ("taken\n" * 3, ""))
    tap.equal(seen, ([1000] * 3, [0] * 3))


def test_where_no_score_is_higher_the_result_says_so():
    own = pathlib.Path("/proc/self/oom_score_adj")
    before = own.read_text()
    own.write_text("1000")
    try:
        use(3)
        first = cell("x = 1")
        word = "exposed" if first["isolation"]["details"]["cgroup_memory"] else "taken"
        tap.equal((first["session"]["checkpoint"], first["session"]["undoable"]), (word, 1))
        second = cell("x = 2", first["session"]["id"])
        tap.equal((second["session"]["checkpoint"], second["session"]["undoable"]), (word, 2))
        restored = cell("import os\nos._exit(1)", first["session"]["id"], "restored")
        tap.equal((restored["session"]["checkpoint"], restored["session"]["undoable"]), ("taken", 2))
        third = cell("print(x)", first["session"]["id"], session_action="undo")
        tap.equal((third["session"]["checkpoint"], third["stdout"]), (word, "1\n"), "and it can be undone all the same")
        copy = cell("print(x)", first["session"]["id"], session_action="fork")
        tap.equal((copy["session"]["checkpoint"], copy["stdout"]), (word, "1\n"))
    finally:
        provider.reset()
        own.write_text(before)


# Gives up most of what the checkpoint has, and spends it in children that are smaller than the checkpoint.
SPENDS = """del big
children = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        filled = b'x' * (6 << 20)
        time.sleep(0.3)
        os._exit(0)
    children.append(child)
statuses = [os.waitpid(child, 0)[1] for child in children]
print(statuses.count(9))
if 9 in statuses:
    os.kill(os.getpid(), 9)"""


def limited():
    """A session of 96 MiB with 60 in a variable; skips where no group counts memory."""
    result = cell("import os, time\nx = 'kept'\nbig = b'x' * (60 << 20)", memory_bytes=96 * MIB)
    if not result["isolation"]["details"]["cgroup_memory"]:
        raise tap.Skip("no control group counts memory here")
    return result["session"]["id"]


def test_a_cell_that_spends_what_its_checkpoint_holds():
    use(3)
    session = limited()
    for _ in range(8):
        result = cell(SPENDS, session, "restored")
        tap.equal((result["status"], result["error"]["code"], result["session"]["checkpoint"]), ("killed", "memory_limit", "taken"), result)
        tap.equal(cell("print(x, len(big))", session)["stdout"], f"kept {60 * MIB}\n")


def test_a_cell_that_spends_what_the_checkpoints_of_copies_hold():
    use(3)
    first = limited()
    second = cell("y = 1", first, session_action="fork")["session"]["id"]
    for _ in range(4):
        cell(SPENDS, second, "restored")
        tap.equal(cell("print(x, len(big), 'y' in globals())", first)["stdout"], f"kept {60 * MIB} False\n")
        tap.equal(cell("print(x, len(big), y)", second)["stdout"], f"kept {60 * MIB} 1\n")


# In docker mode (tests/docker/meson.build) the program's /proc is the container's.
if MODE == "docker":
    del test_a_program_cannot_lower_its_score, test_a_gateway_of_an_ordinary_user, test_where_no_score_is_higher_the_result_says_so

# Without namespaces the others' scores and numbers are the machine's; see ../test_unprivileged_sessions.py.
modes.run_cases(globals(), None, ("a_cell_that_spends_what_its_checkpoint_holds", "a_cell_that_spends_what_the_checkpoints_of_copies_hold"))
