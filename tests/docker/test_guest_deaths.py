# SPDX-License-Identifier: Apache-2.0
"""SIGKILL for the first process of a container at each of its frames, on a real engine: the run gets an answer that is right, what had
come by then is in it, no container stays, and the next run works. A proxy in front of the engine counts the guest's frames; what the guest
has sent beyond the last one is lost with it. By hand: scripts/with-engine tests/docker/test_guest_deaths.py"""
import base64
import os
import pathlib
import sys
import tempfile
import threading

os.environ["CODE_EXECUTE_TEST_MODE"] = "docker"
ROOT = pathlib.Path(__file__).parents[2]
os.environ.setdefault("CODE_EXECUTE_SO", str(ROOT / "build" / "plugin" / "code_execute.so"))
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("support", "escape")]
import engine
import guest
import tap
from engine_proxy import EngineProxy, Plan, ask, engine_frame
from modes import Provider
from provider import NOT_RUN, OK, Host

RIGHTS = ("sandbox.exec", "sandbox.exec.files")
# Every kind of frame, more than one of most: two of standard output, results, and files whose content takes two frames or none.
PROGRAM = ("import os, sys\nprint('one', flush=True)\nprint('two', file=sys.stderr, flush=True)\ndisplay('shown')\n"
           "open('a', 'w').write('x')\nopen('b', 'w').write('y' * 100000)\nos.symlink('a', 'c')\nprint('three', flush=True)\n'value'")
KINDS = {"facts", "waiting", "started", "stdout", "stderr", "results", "ended", "files", "collected"}
SHOWN = ("status", "cause", "exit_code", "signal", "stdout", "stderr", "files_omitted", "notes", "error")
FILES = {"a": b"x", "b": b"y" * 100000}


class Observer:
    """Which container it is: there is one at a time."""

    def __init__(self):
        self.id = None

    def starting(self, identity):
        self.id = identity

    def started(self, identity):
        pass

    given = removing = started


class Death:
    """Of the guest of one run, behind so many frames, counted from the first of a kind on; torn: in the middle of the next one. Keeps what
    has passed by then."""

    def __init__(self, frames=sys.maxsize, torn=False, since="facts"):
        self.left, self.torn, self.since = frames, torn, since
        self.kinds, self.streams = [], dict.fromkeys(guest.STREAMS, b"")
        self.answer = None  # the engine's to the kill
        self.over = threading.Event()

    def passes(self, frame):
        """What of a frame does."""
        kind = guest.KINDS[frame[4] - 1]
        counts = kind == self.since or self.since in self.kinds
        part = frame if not counts or self.left else frame[:len(frame) - len(frame) // 3 - 1] if self.torn else b""
        if kind in self.streams:
            self.streams[kind] += part[guest.HEADER.size:]
        if part == frame:
            self.kinds.append(kind)
            self.left -= counts
        return part

    def has_all_files(self):
        return (len(guest.FILE_FRAMES), b"") in whole_frames(self.streams["files"])


class DeadlyProxy(EngineProxy):
    def __init__(self, path):
        super().__init__(path, engine.HOST.removeprefix("unix://"), Observer())
        self.plan, self.death = Plan(stream="deadly"), Death()

    def retell(self, answer, connection):
        death, seen = self.death, b""
        try:
            while len(head := answer.read(8)) == 8:
                data = answer.read(int.from_bytes(head[4:], "big"))
                seen += data if head[0] == 1 else b""
                while not death.answer and len(seen) >= (whole := self.length_of(seen)):
                    self.take(seen[:whole], death, connection)
                    seen = seen[whole:]
        finally:
            death.over.set()

    @staticmethod
    def length_of(seen):
        return guest.HEADER.size + (guest.HEADER.unpack_from(seen)[0] if len(seen) >= guest.HEADER.size else 0)

    def take(self, frame, death, connection):
        passes = death.passes(frame)
        if passes:
            connection.sendall(engine_frame(1, passes))
        if passes != frame:
            death.answer = ask(self.engine, f"/containers/{self.observer.id}/kill", "POST")


def whole_frames(data):
    """Those of a stream of files or results, as (kind, payload)."""
    found, at = [], 0
    while at + guest.HEADER.size <= len(data):
        length, kind = guest.HEADER.unpack_from(data, at)
        at += guest.HEADER.size + length
        if at <= len(data):
            found.append((kind, data[at - length:at]))
    return found


def check_files(result, sent, what):
    """Those that had come whole are whole, and what is missing is said."""
    kinds = [guest.FILE_FRAMES[kind - 1] for kind, _ in whole_frames(sent)]
    named = {file["path"]: file for file in result["files"]}
    whole = {path: base64.b64decode(file["content"]) if file["encoding"] == "base64" else file["content"].encode()
             for path, file in named.items() if "content" in file}
    tap.equal(whole, dict(list(FILES.items())[:kinds.count("end")]), what)
    tap.equal(named["c"]["omitted"] if "c" in named else None, "not_regular" if "omitted" in kinds else None, what)
    lost = {path for path, file in named.items() if file.get("omitted") == "lost"}
    tap.equal(lost, {list(FILES)[kinds.count("end")]} if kinds.count("begin") > kinds.count("end") else set(), what)
    if "last" in kinds:
        tap.equal(result["files_omitted"], None, what)
    else:
        tap.equal(result["files_omitted"]["reason"], "lost", what)
        tap.true(any("may be missing" in note for note in result["notes"]), what)


def check(code, result, kinds, streams, exit_code, what):
    if "started" not in kinds:
        tap.equal((code, result["status"], result["stdout"], result["files"]), (NOT_RUN, "error", "", []), what)
        tap.equal((result["error"]["code"], result["error"]["retryable"]), ("backend_failed", True), what)
        return
    tap.equal((code, result["error"] and result["error"]["code"]), (OK, None if "ended" in kinds else "killed_by_signal"), what)
    tap.equal((result["stdout"], result["stderr"]), (streams["stdout"].decode(), streams["stderr"].decode()), what)
    tap.equal(len(result["results"]), sum(kind == 1 for kind, _ in whole_frames(streams["results"])), what)
    end = (result["status"], result["cause"], result["exit_code"], result["signal"])
    if "ended" in kinds:
        tap.equal(end, ("completed", "exit", exit_code, None), what)
        check_files(result, streams["files"], what)
    else:
        tap.equal(end, ("killed", "signal", None, "SIGKILL"), what)
        tap.equal((result["files"], result["files_omitted"] and result["files_omitted"]["reason"]), ([], "lost"), what)


class Case:
    def __init__(self, directory):
        self.proxy = DeadlyProxy(f"{directory}/engine.sock")
        self.provider = Provider({"docker": {"host": f"unix://{directory}/engine.sock"}})

    def run(self, code):
        return self.provider.invoke({"language": "python", "code": code}, Host(RIGHTS))

    def works(self, what):
        self.proxy.death = Death()
        code, result = self.run("print('again')")
        tap.equal((code, result["error"], result["stdout"]), (OK, None, "again\n"), what)
        engine.none_left()

    def kill_behind(self, frames, since, exit_code):
        """Whether the guest was killed: it may have sent no more than that."""
        torn = frames % 2 == 1
        death = self.proxy.death = Death(frames, torn, since)
        code, result = self.run(f"{PROGRAM}\nif {exit_code}: raise SystemExit({exit_code})")
        engine.none_left()
        tap.true(death.over.wait(60 * tap.SLOW), "the stream of a container that has gone is over")
        what = f"{death.kinds}{' and a part' * torn}: {death.answer} {({name: result[name] for name in SHOWN})}"
        # Who has all files waits for no further word; and after a bad end the guest ends by itself.
        ends_itself = death.has_all_files() or exit_code
        tap.true(ends_itself or death.answer and death.answer[0] == 204, what)
        check(code, result, death.kinds, death.streams, exit_code, what)
        return bool(death.answer)

    def kill_at_each(self, frames, since, exit_code):
        """Behind so many frames, one more, and so on."""
        self.works("the trial and the first run")
        while self.kill_behind(frames, since, exit_code):
            if frames % 5 == 0:
                self.works(f"the run after the one behind {frames} frames")
            frames += 1
        tap.equal(set(self.proxy.death.kinds) | {"collected"}, KINDS, "every kind of frame")
        self.works("at the end")
        self.provider.reset()
        self.proxy.close()
        print(f"# killed behind up to {frames - 1} frames")


def test_each_frame_of_a_program_that_ends_well():
    with tempfile.TemporaryDirectory(prefix="code-execute-deaths-") as directory:
        Case(directory).kill_at_each(0, "facts", 0)


def test_each_frame_behind_a_bad_end():
    """What has killed the guest, or that it ended by itself, changes nothing about the program's end."""
    with tempfile.TemporaryDirectory(prefix="code-execute-deaths-") as directory:
        Case(directory).kill_at_each(1, "ended", 3)


tap.run(globals())
