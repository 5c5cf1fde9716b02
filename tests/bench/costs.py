# SPDX-License-Identifier: Apache-2.0
"""What process mode costs while nothing runs, for much output, and after many runs, looked at from outside of the gateway; and
what values, files and looking through output cost."""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))  # behind the bench's own, which has an engine.py as well
import cases
from gateway import BUILD, OURS, Absent, Gateway
from packages import library_python, python_packages

MIB = 1 << 20
FLOOD = 1 << 30
FLOOD_LIMIT = {"default": 8 * FLOOD, "max": 8 * FLOOD}
FLOOD_POLICY = {"limits": {"output_total_bytes": FLOOD_LIMIT, "wall_ms": {"default": 200000, "max": 300000},
                           "cpu_ms": {"default": 200000, "max": 300000}}}
FILES_POLICY = {"limits": {"scratch_bytes": {"default": 1 << 28, "max": 1 << 28}, "memory_bytes": {"default": 1 << 29, "max": 1 << 30}}}
SETTLE = 1.5  # seconds until what a run has used is ready again
IDLE = 5


def read(pid, name):
    return pathlib.Path(f"/proc/{pid}/{name}").read_text()


def field_kib(text, name):
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(name + ":")) * 1024


def private_bytes(pid):
    """The memory that is this process's alone."""
    rollup = read(pid, "smaps_rollup")
    return field_kib(rollup, "Private_Clean") + field_kib(rollup, "Private_Dirty")


def processor_ns(pid):
    return int(read(pid, "schedstat").split()[0])


def parents():
    """Every process of the machine with its parent."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def is_backend(pid, watched):
    """Whether it is a backend that holds a pidfd of that gateway."""
    try:
        return read(pid, "comm").startswith("code-execute-pr") and any(
            f"\nPid:\t{watched}\n" in read(pid, f"fdinfo/{fd}") for fd in os.listdir(f"/proc/{pid}/fdinfo"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False


def find_backend(gateway):
    """The supervisor of a gateway and its sandboxes: of each the processes."""
    tree = parents()
    candidates = [pid for pid in tree if is_backend(pid, gateway.pid)]
    if len(candidates) != 1:
        raise Absent(f"the backend's process is not to be found ({len(candidates)} of its kind)")
    supervisor, sandboxes, outside = candidates[0], {}, []
    for pid in tree:
        parent = pid
        while parent in tree and parent != supervisor:
            parent = tree[parent]
        if parent != supervisor:
            continue
        namespace = os.readlink(f"/proc/{pid}/ns/pid")
        if namespace == os.readlink(f"/proc/{supervisor}/ns/pid"):
            outside.append(pid)
        else:
            sandboxes.setdefault(namespace, []).append(pid)
    return outside, list(sandboxes.values())


def run_some(gateway, program, count, callers=1):
    """Times are kept of the last turn alone: what they take is the bench's own memory."""
    each = min(25, max(1, count // callers))
    told = gateway.contest([{"name": OURS, "request": {"language": program.language, "code": program.code}}], expect=program.prints,
                           rounds=1, callers=callers, each=each, warm_up=max(0, count // (callers * each) - 1), budget_ms=0)
    if told["reason"]:
        raise Absent(told["reason"])
    return told


def idle():
    """Memory and processor time of a backend whose python sandboxes are ready, while nobody calls."""
    with Gateway() as gateway:
        gateway.use_policy(*cases.WARM)
        run_some(gateway, cases.PYTHON, 8)
        time.sleep(SETTLE)
        outside, sandboxes = find_backend(gateway)
        everyone = [gateway.pid, *outside, *(pid for group in sandboxes for pid in group)]
        before = {pid: processor_ns(pid) for pid in everyone}
        time.sleep(IDLE)
        spent = {pid: processor_ns(pid) - before[pid] for pid in everyone}
        each = [sum(private_bytes(pid) for pid in group) for group in sandboxes]
        return {"sandboxes": len(each), "sandbox_private_bytes": max(each, default=0),
                "sandbox_processes": max(map(len, sandboxes), default=0),
                "backend_private_bytes": sum(private_bytes(pid) for pid in outside), "backend_processes": len(outside),
                "together_pss_bytes": sum(field_kib(read(pid, "smaps_rollup"), "Pss") for pid in everyone if pid != gateway.pid),
                "gateway_private_bytes": private_bytes(gateway.pid), "idle_seconds": IDLE,
                "processor_ms": sum(spent.values()) / 1e6}


def peak(gateway):
    return field_kib(read(gateway.pid, "status"), "VmHWM")


def output(rounds):
    """A GiB through the whole product, beside a command that is read by the same gateway."""
    shell = ["/bin/sh", "-c", f"head -c {FLOOD} /dev/zero"]
    flood = {"name": OURS, "request": {"language": "sh", "code": shell[2], "timeout_ms": 200000}}
    with Gateway() as gateway:
        gateway.use_policy({**FLOOD_POLICY, **cases.WARM[0]})
        run_some(gateway, cases.Program("sh", f"head -c {3 * MIB} /dev/zero | tr '\\0' x | tail -c 3", "xxx", ()), 3)
        pathlib.Path(f"/proc/{gateway.pid}/clear_refs").write_text("5")  # the peak begins anew
        before = peak(gateway)
        told = gateway.contest([flood], expect_bytes=FLOOD, rounds=1, warm_up=0)
        grown = peak(gateway) - before
        both = gateway.contest([flood, {"name": "bare", "argv": shell}], expect_bytes=FLOOD, rounds=rounds, warm_up=0, pause_ms=10,
                               budget_ms=30000)
    for reason in (told["reason"], both["reason"]):
        if reason:
            raise Absent(reason)
    rates = {name: FLOOD / MIB / (sorted(times)[len(times) // 2] / 1000) for name, times in both["runs_ms"].items()}
    return {"bytes": FLOOD, "runs": len(both["runs_ms"][OURS]), "mib_per_second": rates[OURS], "bare_mib_per_second": rates["bare"],
            "ratio": rates[OURS] / rates["bare"], "gateway_growth_bytes": grown}


def held(gateway):
    outside, sandboxes = find_backend(gateway)

    def of(pids):
        return {"private_bytes": sum(map(private_bytes, pids)),
                "descriptors": sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids),
                "threads": sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids)}
    return {"gateway": of([gateway.pid]), "backend": of(outside), "sandboxes": {"count": len(sandboxes)}}


def many(runs):
    """What is held more after many warm runs than after a tenth of them."""
    with Gateway() as gateway:
        gateway.use_policy(*cases.WARM)
        run_some(gateway, cases.SH, max(50, runs // 10), callers=4)
        time.sleep(SETTLE)
        before = held(gateway)
        run_some(gateway, cases.SH, runs, callers=4)
        time.sleep(SETTLE)
        after = held(gateway)
    return {"runs": runs, "growth": {name: {what: after[name][what] - value for what, value in values.items()}
                                     for name, values in before.items()}}


def ours(name, code, **request):
    return {"name": name, "request": {"language": "python", "code": code, **request}}


def medians(told):
    if told["reason"]:
        raise Absent(told["reason"])
    return {name: statistics.median(times) for name, times in told["runs_ms"].items()}


def grown_by(gateway, contestants, **order):
    """How far the gateway's memory rises in such a run, beyond what the ones before have left."""
    pathlib.Path(f"/proc/{gateway.pid}/clear_refs").write_text("5")  # the peak begins anew
    before = peak(gateway)
    medians(gateway.contest(contestants, rounds=1, warm_up=0, **order))
    return peak(gateway) - before


def values(rounds=200):
    """A warm run whose last line has a value, beside one whose last line has none."""
    with Gateway() as gateway:
        gateway.use_policy(*cases.WARM)
        told = medians(gateway.contest([ours("value", "1+1"), ours("none", "x=1+1")], expect="", rounds=rounds, warm_up=5, pause_ms=10,
                                       budget_ms=20000))
    return {"value_ms": told["value"], "none_ms": told["none"], "added_ms": told["value"] - told["none"]}


class Jupyter:
    """A kernel in an interpreter that has one: JUPYTER_PYTHON, else Debian's."""

    def __enter__(self):
        python = os.environ.get("JUPYTER_PYTHON", "/usr/bin/python3")
        if subprocess.run([python, "-c", "import ipykernel, jupyter_client"], stderr=subprocess.DEVNULL, check=False).returncode:
            raise Absent(f"{python} has no ipykernel and jupyter_client (JUPYTER_PYTHON names one that has)")
        self.process = subprocess.Popen([python, str(pathlib.Path(__file__).with_name("jupyter_kernel.py"))], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def execute(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def sessions(rounds=20, cells=20):
    """A cell, beside the same in a Jupyter kernel, in turns; and what an idle session holds."""
    times, kernel_times, absent = [], [], None
    with Gateway() as gateway, contextlib.ExitStack() as stack:
        try:
            kernel = stack.enter_context(Jupyter())
        except Absent as reason:
            kernel, absent = None, str(reason)
        gateway.use_policy({**cases.WARM[0], "sessions": {"max_total": 4}})
        begun = gateway.order("invoke", request={"language": "python", "code": "x = 1", "session": "new"})
        cell = ours("cell", "x+1", session=begun["session"]["id"])
        for _ in range(rounds):
            told = gateway.contest([cell], expect="", rounds=cells, warm_up=1, budget_ms=20000)
            medians(told)
            times += told["runs_ms"]["cell"]
            if kernel:
                kernel.execute("x = 1")
                kernel_times += [kernel.execute("x+1") for _ in range(cells)]
        told = {"cell_ms": statistics.median(times), "cells": len(times), **idle_session(gateway)}
    if not kernel:
        return {**told, "kernel_absent": absent}
    return {**told, "kernel_ms": statistics.median(kernel_times), "ratio": told["cell_ms"] / statistics.median(kernel_times)}


# Forks as a checkpoint does, and leaves the child asleep; as many of them live as a session keeps checkpoints.
BARE_FORK = """child = os.fork()
if child == 0: signal.pause()
children.append(child)
if len(children) > 3: os.kill(children.pop(0), 9)
while len(children) == 3 and os.waitpid(-1, os.WNOHANG)[0]: pass
"""
# The same text to compile and to execute, but for the fork and what it needs: what both have is no part of the fork's cost.
NO_FORK = BARE_FORK.replace("os.fork()", "os.getpid()").replace("os.kill(children.pop(0), 9)", "children.pop(0)").replace(
    "os.waitpid(-1, os.WNOHANG)[0]", "os.getppid() < 0")


def checkpoints(rounds=10, cells=10):
    """What a checkpoint adds to a cell, beside what a bare fork() in a cell adds, in turns: each with what it costs afterwards."""
    told = {}
    with Gateway() as gateway, Gateway() as keeper:
        gateway.use_policy({**cases.WARM[0], "sessions": {"max_total": 8}})
        keeper.use_policy({**cases.WARM[0], "sessions": {"max_total": 8, "checkpoints": 3}})
        for heap in (10, 50):
            first = f"import os, signal\nchildren = []\nheap = [bytes(4096) for _ in range({heap} * 256)]"
            contests = [begin_cells(gateway, first, "y = 1"), begin_cells(keeper, first, "y = 1"), begin_cells(gateway, first, NO_FORK),
                        begin_cells(gateway, first, BARE_FORK)]
            times = [[], [], [], []]
            for number in range(rounds):
                for contest, taken in list(zip(contests, times))[::-1 if number % 2 else 1]:
                    taken += contest(cells)
            plain, kept, without, bare = map(statistics.median, times)
            undone, at_once = ([timed_undo(keeper, first, pause) for _ in range(rounds)] for pause in (SETTLE, 0))
            copied, back = zip(*(timed_copy(keeper, first) for _ in range(rounds)))
            told[heap] = {"checkpoint_ms": kept - plain, "fork_ms": bare - without, "ratio": (kept - plain) / (bare - without),
                          "undo_ms": statistics.median(undone), "undo_at_once_ms": statistics.median(at_once),
                          "copy_ms": statistics.median(copied), "back_ms": statistics.median(back)}
    return told


def begin_cells(gateway, first, code):
    """A function that executes the code so often in a session of its own, and tells how long each cell took."""
    begun = gateway.order("invoke", request={"language": "python", "code": first, "session": "new"})
    cell = ours("cell", code, session=begun["session"]["id"])

    def contest(count):
        told = gateway.contest([cell], expect="", rounds=count, warm_up=1, budget_ms=20000)
        medians(told)
        return told["runs_ms"]["cell"]
    return contest


def timed(gateway, code, session, **more):
    """The result, and how long the whole call took, milliseconds."""
    before = time.monotonic()
    result = gateway.order("invoke", request={"language": "python", "code": code, "session": session, **more})
    taken = time.monotonic() - before
    if result["error"]:
        raise Absent(result["error"]["message"])
    return result, taken * 1000


def begin_and_write(gateway, first):
    """A session whose last cell has written to a file."""
    session = timed(gateway, first, "new")[0]["session"]["id"]
    timed(gateway, "open('a', 'w').write('x')", session)
    return session


def timed_undo(gateway, first, pause):
    """After a pause in seconds, in which the session is stopped. Without one, the next session's sandbox is made ready meanwhile."""
    session = begin_and_write(gateway, first)
    time.sleep(pause)
    taken = timed(gateway, "\n", session, session_action="undo")[1]
    timed(gateway, "y = 1", session, session_action="end")
    return taken


def timed_copy(gateway, first):
    """A fork, and the first cell of the session that was copied, which puts the copy to sleep and wakes this one."""
    session = begin_and_write(gateway, first)
    copy, taken = timed(gateway, "\n", session, session_action="fork")
    back = timed(gateway, "y = 1", session)[1]
    for each in (session, copy["session"]["id"]):
        timed(gateway, "\n", each, session_action="end")
    return taken, back


def idle_session(gateway):
    """The memory of its interpreter alone, and its processor time while nothing happens."""
    time.sleep(SETTLE)
    _, sandboxes = find_backend(gateway)
    [interpreter] = [pid for group in sandboxes for pid in group if "\nState:\tT" in read(pid, "status")]
    before = processor_ns(interpreter)
    time.sleep(IDLE)
    return {"session_private_bytes": private_bytes(interpreter), "session_processor_ms": (processor_ns(interpreter) - before) / 1e6}


def policy_with_matplotlib():
    """Warm, with the distribution's or else PyPI's, imported before the run."""
    python = {"prepare": {"import": ["matplotlib.pyplot"], "import_named": None}}
    if not library_python.has(library_python.DISTRIBUTION, "matplotlib"):
        try:
            site = str(python_packages.site_packages(python_packages.install(library_python.LISTED, BUILD)))
        except python_packages.Unavailable as reason:
            raise Absent(f"{library_python.DISTRIBUTION} has no module matplotlib, and {reason}") from None
        python |= {"read_only": [site], "environment": {"PYTHONPATH": site}}
    return {**cases.WARM[0], "languages": {"python": python}}


def charts(rounds=30, points=10000, times=100):
    """A line of matplotlib that is shown, beside one that the program saves by itself, both beyond one that is not drawn; and the
    reading of its points."""
    plot = f"import io, matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.plot(range({points}))\n"
    save, close = "figure.savefig(io.BytesIO())\n", "plt.close()"
    read = f"members = display.__self__.load('charts')['members']\nfor _ in range({times}): members(figure)\n"
    contestants = [ours("shown", plot), ours("saved", plot + save + close), ours("made", plot + close),
                   ours("read", plot + save + read + close)]
    with Gateway() as gateway:
        gateway.use_policy(policy_with_matplotlib())
        told = medians(gateway.contest(contestants, expect="", rounds=rounds, warm_up=3, pause_ms=300, budget_ms=100000))
    shown, saved = told["shown"] - told["made"], told["saved"] - told["made"]
    return {"points": points, "run_ms": told["shown"], "shown_ms": shown, "saved_ms": saved, "ratio": shown / saved,
            "read_ms": (told["read"] - told["saved"]) / times}


def artifacts(rounds=15, files=4, mebibytes=16):
    """Files of a run on their way to the host, beside a loop that hashes and copies as many; of both, what is beyond the making of
    the files."""
    code = f"for i in range({files}):\n    with open(f'{{i}}', 'wb') as file:\n        for _ in range({mebibytes}): file.write(bytes({MIB}))\nprint('made')"
    bare = [str(BUILD / "tests" / "bench" / "bench_copy"), str(files), str(mebibytes)]
    contestants = [ours("collected", code), ours("left", code, outputs=["none"]), {"name": "copied", "argv": [*bare, "copy"]},
                   {"name": "made", "argv": [*bare, "make"]}]
    with Gateway() as gateway:
        gateway.use_policy({**FILES_POLICY, **cases.WARM[0]})
        told = medians(gateway.contest(contestants, expect="made\n", rounds=rounds, warm_up=2, pause_ms=10, budget_ms=40000))
        grown = grown_by(gateway, contestants[:1], expect="made\n")
    collected, copied = told["collected"] - told["left"], told["copied"] - told["made"]
    return {"bytes": files * mebibytes * MIB, "mib_per_second": files * mebibytes / collected * 1000,
            "bare_mib_per_second": files * mebibytes / copied * 1000, "ratio": copied / collected, "gateway_growth_bytes": grown}


def inputs(mebibytes=100):
    """A file by reference: what the gateway's memory grows by."""
    with Gateway() as gateway, tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        file.truncate(mebibytes * MIB)
        gateway.use_policy({**FILES_POLICY, **cases.WARM[0]})
        gateway.order("lend", path=file.name)
        contestant = ours("read", "print(len(open('a', 'rb').read()))", files=[{"path": "a", "ref": "lent"}])
        expect = f"{mebibytes * MIB}\n"
        told = medians(gateway.contest([contestant], expect=expect, rounds=3, warm_up=1, budget_ms=10000))
        grown = grown_by(gateway, [contestant], expect=expect)
    return {"bytes": mebibytes * MIB, "run_ms": told["read"], "gateway_growth_bytes": grown}


def redaction(mebibytes=512):
    """How fast output is looked through for twenty secrets, without a run: MiB/s by their length and the kind of output."""
    return json.loads(subprocess.run([BUILD / "tests" / "bench" / "bench_redaction", str(mebibytes)], check=True,
                                     stdout=subprocess.PIPE).stdout)


def lines(told):
    """The figures of bench.json's costs in words."""
    if "idle" in told:
        idle_told = told["idle"]
        yield (f"idle: a ready python sandbox has {idle_told['sandbox_private_bytes'] / MIB:.2f} MiB of its own "
               f"({idle_told['sandbox_processes']} processes), the backend {idle_told['backend_private_bytes'] / MIB:.2f} MiB, "
               f"all together with what they share {idle_told['together_pss_bytes'] / MIB:.2f} MiB; in "
               f"{idle_told['idle_seconds']} s gateway, backend and {idle_told['sandboxes']} sandboxes took "
               f"{idle_told['processor_ms']:.2f} ms of processor time")
    if "output" in told:
        flood = told["output"]
        yield (f"output: {flood['bytes'] // MIB} MiB at {flood['mib_per_second']:.0f} MiB/s (bare {flood['bare_mib_per_second']:.0f}, "
               f"ours / bare {flood['ratio']:.2f}); the gateway's peak grew by {flood['gateway_growth_bytes'] // 1024} KiB")
    if "many" in told:
        grown = told["many"]["growth"]
        yield (f"after {told['many']['runs']} more warm runs: gateway {grown['gateway']['private_bytes'] // 1024:+} KiB, "
               f"{grown['gateway']['descriptors']:+} descriptors, {grown['gateway']['threads']:+} threads; backend "
               f"{grown['backend']['private_bytes'] // 1024:+} KiB, {grown['backend']['descriptors']:+} descriptors; "
               f"sandboxes {grown['sandboxes']['count']:+}")
    if "values" in told:
        yield "values: 1+1 takes {value_ms:.2f} ms, x=1+1 takes {none_ms:.2f} ms: the value adds {added_ms:.2f} ms".format(**told["values"])
    if "sessions" in told:
        cell = told["sessions"]
        beside = f"a Jupyter kernel takes {cell['kernel_ms']:.2f} ms (ours / kernel {cell['ratio']:.3f})" if "ratio" in cell else cell["kernel_absent"]
        yield (f"sessions: a cell takes {cell['cell_ms']:.2f} ms; {beside}; an idle session's interpreter has "
               f"{cell['session_private_bytes'] / MIB:.2f} MiB of its own and took {cell['session_processor_ms']:.2f} ms of processor time in {IDLE} s")
    for heap, cell in told.get("checkpoints", {}).items():
        yield (f"checkpoints: with {heap} MiB of heap one adds {cell['checkpoint_ms']:.2f} ms to a cell, a bare fork {cell['fork_ms']:.2f} ms "
               f"(ours / bare {cell['ratio']:.2f}); undoing a cell takes {cell['undo_ms']:.2f} ms, and "
               f"{cell['undo_at_once_ms']:.2f} ms right behind the session's begin; copying the session "
               f"{cell['copy_ms']:.2f} ms, and then a cell of the first one {cell['back_ms']:.2f} ms")
    if "charts" in told:
        yield ("charts: a line of {points} points that is shown adds {shown_ms:.1f} ms to a run, savefig() alone {saved_ms:.1f} ms "
               "(ours / alone {ratio:.2f}); its data is read in {read_ms:.2f} ms".format(**told["charts"]))
    if "artifacts" in told:
        out = told["artifacts"]
        yield (f"artifacts: {out['bytes'] // MIB} MiB at {out['mib_per_second']:.0f} MiB/s (hashed and copied alone "
               f"{out['bare_mib_per_second']:.0f}, ours / alone {out['ratio']:.2f}); the gateway's peak grew by "
               f"{out['gateway_growth_bytes'] // 1024} KiB")
    if "inputs" in told:
        given = told["inputs"]
        yield (f"inputs: a file of {given['bytes'] // MIB} MiB by reference, a run of {given['run_ms']:.0f} ms; the gateway's peak grew by "
               f"{given['gateway_growth_bytes'] // 1024} KiB")
    if "redaction" in told:
        for length, rates in told["redaction"]["mib_per_second"].items():
            yield (f"redaction: {told['redaction']['secrets']} secrets of {length} bytes: " +
                   ", ".join(f"{rate} MiB/s of {kind}" for kind, rate in rates.items()))
