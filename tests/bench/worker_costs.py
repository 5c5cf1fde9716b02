# SPDX-License-Identifier: Apache-2.0
"""What a number of workers gives: the throughput of four beside one, and how fairly a gateway drains calls that wait for them."""
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "remote"))
from gateway import PROVIDER, Absent, Gateway

SLOTS = 4  # runs at a time that the gateway has for each worker
ROOM = 4 * SLOTS  # of a worker: it is drawn by chance, and a run's place is free a moment after the run
CALLERS = 64
PRINCIPALS = 10
QUEUED = 1000
WAITING = "import time\ntime.sleep(0.2)\nprint(3)"  # as one that asks somebody else
COMPUTING = "x = 0\nfor i in range(300000):\n    x += i\nprint(3)"
LIMITS = {name: {"default": 240000, "max": 240000} for name in ("wall_ms", "cpu_ms")}


def processors():
    return sorted(os.sched_getaffinity(0))


@contextlib.contextmanager
def fleet(count):
    """The policy of a gateway with so many workers on this machine, each bound to a processor, in turns."""
    os.environ.setdefault("CODE_EXECUTE_SO", PROVIDER)
    if not pathlib.Path(PROVIDER).with_name("code-execute-worker").exists():
        raise Absent("code-execute-worker is not built: it takes OpenSSL 3")
    if not shutil.which("taskset"):
        raise Absent("taskset is not here")
    import workers
    own = processors()
    with tempfile.TemporaryDirectory(prefix="code-execute-fleet-") as directory, contextlib.ExitStack() as stack:
        os.chmod(directory, 0o755)
        files = workers.Authorities(directory)
        places, started = [], []
        for number in range(count):
            bound = ["taskset", "-c", str(own[number % len(own)])]
            worker = stack.enter_context(workers.Worker(directory, files.worker, before=bound, max_runs=ROOM, memory_total_bytes=1 << 40,
                                                        pool={"ready": SLOTS, "most": SLOTS}))
            started.append(worker)
            host, port = worker.await_ready().address
            places.append({"name": workers.WORKER, "address": f"{host}:{port}"})
        tls = {name: str(files.gateway / file) for name, file in (("authority", "ca.pem"), ("certificate", "cert.pem"), ("key", "key.pem"))}
        yield {"version": 1, "modes": {"default": "remote", "allowed": ["remote"]}, "limits": LIMITS,
               "max_runs": SLOTS * count, "max_queued": 2 * QUEUED, "memory_total_bytes": 1 << 36,
               "pools": {"remote": {"ready": SLOTS, "most": SLOTS, "idle_ms": 60000}}, "remote": {"workers": places, "tls": tls}}, started


def per_second(told, name):
    """Runs of a turn by its median."""
    times = told["turns_ms"][name]
    if told["reason"] or not times:
        raise Absent(told["reason"] or "no turn has ended in time")
    return CALLERS * 1000 / statistics.median(times)


def throughput():
    figures = {}
    with fleet(1) as (one, _), fleet(4) as (four, _), Gateway() as small, Gateway() as large:
        small.use_policy(one)
        large.use_policy(four)
        for name, code in (("waiting", WAITING), ("computing", COMPUTING)):
            contestants = [{"name": "runs", "request": {"language": "python", "code": code}}]
            told = {}
            for count, gateway in ((1, small), (4, large)):
                told[count] = gateway.contest(contestants, expect="3\n", rounds=5, callers=CALLERS, each=1, warm_up=1, pause_ms=200, budget_ms=60000,
                                              attempts=1)
            figures[name] = {"one": per_second(told[1], "runs"), "four": per_second(told[4], "runs")}
    return figures


def drained(policy, counts):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(policy, file)
        file.flush()
        done = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("drain.py"), file.name, str(policy["max_runs"]), json.dumps(counts)],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[1] / "support"), "CODE_EXECUTE_SO": PROVIDER,
                                   "LD_LIBRARY_PATH": str(pathlib.Path(PROVIDER).parent)})
    if done.returncode != 0:
        raise Absent((done.stderr.strip().splitlines() or ["it ended"])[-1])
    return json.loads(done.stdout)


def index_of(shares):
    """Jain's: 1 where all have the same, 1/n where one has all."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def fairness():
    """All calls of the first principal come first, then those of the second, and so on."""
    with fleet(2) as (policy, _):
        each = QUEUED // PRINCIPALS
        told = drained(policy, [each] * PRINCIPALS)
        half = told["order"][:QUEUED // 2]
        shares = [half.count(f"principal-{number}") for number in range(PRINCIPALS)]
        few = each // 2
        uneven = drained(policy, [QUEUED - few * (PRINCIPALS - 1)] + [few] * (PRINCIPALS - 1))
        last = max(place for place, principal in enumerate(uneven["order"]) if principal != "principal-0")
    return {"calls": QUEUED, "principals": PRINCIPALS, "index_at_half": index_of(shares), "least_at_half": min(shares), "most_at_half": max(shares),
            "per_second": QUEUED / told["seconds"], "few": few, "few_done_at": (last + 1) / QUEUED,
            "few_done_at_best": few * PRINCIPALS / QUEUED}


def cpu_ms(pid, with_children=False):
    """Of all its threads; of what it has waited for as well."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:15 if with_children else 13])) * 1000 / os.sysconf("SC_CLK_TCK")


def backend_of(pid, name):
    """The pid of the backend program of that name which serves this process: it holds a pidfd of it."""
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text() == name[:15] + "\n" and any(
                    f"Pid:\t{pid}\n" in info.read_text() for info in (entry / "fdinfo").iterdir()):
                return int(entry.name)
    raise Absent("only root sees the backends")


def shares():
    """The processor time that each program spends on a run; the backend's with the programs that it runs."""
    with fleet(1) as (policy, [worker]), Gateway() as gateway:
        gateway.use_policy(policy)
        order = {"expect": "3\n", "callers": 4, "warm_up": 1, "pause_ms": 100, "budget_ms": 60000, "attempts": 1, "each": 10}
        contestants = [{"name": "runs", "request": {"language": "python", "code": "print(3)"}}]
        gateway.contest(contestants, rounds=1, **order)
        where = {"gateway": (gateway.pid, False), "its end of the connection": (backend_of(gateway.pid, "code-execute-remote"), False),
                 "worker": (worker.process.pid, False), "its backend with the programs": (backend_of(worker.process.pid, "code-execute-process"), True)}
        before = {name: cpu_ms(*at) for name, at in where.items()}
        told = gateway.contest(contestants, rounds=25, **{**order, "warm_up": 0})
        spent = {name: cpu_ms(*at) - before[name] for name, at in where.items()}
    runs = len(told["runs_ms"]["runs"])
    if told["reason"] or not runs:
        raise Absent(told["reason"] or "no run has ended in time")
    return {"runs": runs, "cpu_ms": {name: value / runs for name, value in spent.items()}}


def workers_of_a_fleet():
    return {"processors": len(processors()), "shares": shares(), "throughput": throughput(), "fairness": fairness()}


def lines(told):
    if "fleet" not in told:
        return []
    fleet_told, fair = told["fleet"], told["fleet"]["fairness"]
    shown = [f"workers, {SLOTS} runs at a time for each, bound to one of {fleet_told['processors']} processors in turns:"]
    for name, figures in fleet_told["throughput"].items():
        shown.append(f"  programs that are {name}: 1 worker {figures['one']:.0f} runs/s, 4 workers {figures['four']:.0f} runs/s, "
                     f"ratio {figures['four'] / figures['one']:.2f}")
    spent = ", ".join(f"{name} {value:.2f}" for name, value in fleet_told["shares"]["cpu_ms"].items())
    shown.append(f"  processor time of a run (python, warm, of {fleet_told['shares']['runs']}), ms: {spent}")
    shown.append(f"  {fair['calls']} calls that wait, of {fair['principals']} principals: when half have ended, of each {fair['least_at_half']} to "
                 f"{fair['most_at_half']} (Jain's index {fair['index_at_half']:.3f}); {fair['per_second']:.0f} runs/s")
    shown.append(f"  the same, one principal with all the others' and {fair['few']} of each other: theirs have ended at {fair['few_done_at']:.0%} "
                 f"({fair['few_done_at_best']:.0%} at best)")
    return shown
