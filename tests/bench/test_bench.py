#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/bench --quick: bench.json has what is promised of it, and what is measured is what it says."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parent)]

import cases
import costs
import excesses
import floors
import figures
import soak
import tap
import tool_costs
import worker_costs
from gateway import NAMESPACES, OURS, ROOT, Absent, Gateway, alternate

PROMISED = {"process-sh-warm", "process-sh-cold", "process-python-warm", "process-numpy-warm", "process-javascript-warm",
            "process-python-throughput"}
HI = {"name": OURS, "request": {"language": "sh", "code": "echo hi"}}


def test_every_promised_case_is_there_or_has_a_reason():
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "bench.json"
        done = subprocess.run([ROOT / "scripts" / "bench", "--quick", "--no-build", "--runs", "3", "--only", "process",
                               "--json", file], stdout=subprocess.PIPE, text=True, check=True)
        told = json.loads(file.read_text())
    reasons = {entry["name"]: entry["reason"] for entry in told["absent"]}
    names = [case["name"] for case in told["cases"]]
    tap.equal(sorted([*names, *reasons]), sorted(PROMISED), "the cases")
    tap.true(all(reasons.values()), "a reason each")
    for case in told["cases"]:
        tap.contains(done.stdout, f"| {case['name']} | {OURS} |", "the table")
        tap.true(0 < case["p50_ms"] <= case["p95_ms"] <= case["p99_ms"], f"percentiles of {case['name']}")
        tap.true(case["runs"] >= 1, f"runs of {case['name']}")
        tap.equal(set(case["ratios"]) | set(case["absent"]), {"bare", "bwrap"}, f"what {case['name']} is paired with")
        tap.true(all(ratio > 0 for ratio in case["ratios"].values()), f"ratios of {case['name']}")
        tap.equal(set(case["failures"].values()), {0}, f"failures of {case['name']}")


def configured_as_by_quickstart(directory):
    """Only faster to compile."""
    subprocess.run(["meson", "setup", directory, ROOT, "-Dtests=false", "-Ddocker=disabled", "-Doptimization=0"], check=True,
                   stdout=subprocess.DEVNULL)
    return pathlib.Path(directory)


def bench(directory, *options):
    environment = {name: value for name, value in os.environ.items() if name != "CODE_EXECUTE_SO"} | {"CODE_EXECUTE_BUILD": str(directory)}
    return subprocess.run([ROOT / "scripts" / "bench", "--quick", "--no-build", "--runs", "1", "--only", "process-sh-cold", *options],
                          env=environment, capture_output=True, text=True)


def test_a_build_without_the_programs_is_one_line():
    with tempfile.TemporaryDirectory() as directory:
        done = bench(configured_as_by_quickstart(directory))
    tap.equal(done.returncode, 1, "status")
    tap.equal(done.stderr, f"bench: {directory}/tests/bench/bench_gateway is not built: run scripts/bench without --no-build\n", "what it says")


def contest(contestants, **order):
    with Gateway() as gateway:
        gateway.use_policy(*cases.COLD)
        return gateway.contest(contestants, **{"rounds": 2, "budget_ms": 60000, "warm_up": 1, **order})


def test_each_caller_has_its_runs():
    told = contest([HI, {"name": "bare", "argv": ["/bin/sh", "-c", "echo hi"]}], expect="hi\n", callers=3, each=2)
    tap.equal({name: len(times) for name, times in told["runs_ms"].items()}, {OURS: 12, "bare": 12})
    tap.equal({name: len(times) for name, times in told["turns_ms"].items()}, {OURS: 2, "bare": 2})
    tap.equal(told["reason"], None)


def test_two_gateways_take_turns_as_the_commands_do():
    contestants = [HI, {**HI, "name": NAMESPACES}, {"name": "bare", "argv": ["/bin/sh", "-c", "echo hi"]},
                   {"name": "other", "argv": ["/bin/echo", "ho"]}]
    with Gateway() as first, Gateway() as second:
        first.use_policy(*cases.UNPRIVILEGED_COLD)
        second.use_policy(*cases.COLD)
        missing = [gateway.order("invoke", request=HI["request"])["isolation"]["missing"] for gateway in (first, second)]
        told = alternate({OURS: first, NAMESPACES: second}, contestants, expect="hi\n", rounds=3, budget_ms=60000, warm_up=1, callers=2, each=2)
    tap.equal(["pid_namespace" in layers for layers in missing], [True, False], "what each of both lacks")
    tap.equal({name: len(times) for name, times in told["runs_ms"].items()}, {OURS: 12, NAMESPACES: 12, "bare": 12, "other": 0})
    tap.equal({name: len(times) for name, times in told["turns_ms"].items()}, dict.fromkeys(told["runs_ms"], 3))
    tap.equal(told["failures"], {OURS: 0, NAMESPACES: 0, "bare": 0, "other": 16})
    tap.contains(told["reason"], "it printed 3 bytes: ho")


def test_rounds_are_told_by_the_ratios_that_half_of_them_have():
    one, many = ({"runs_ms": {OURS: [2, 4, 6, 8], "bare": [2, 2, 2, 2]}, "turns_ms": {OURS: [1, 1, 1, 1], "bare": [1, 2, 3, 4]}},
                 {"runs_ms": {OURS: [2, 4, 6], "bare": [2, 2, 2, 2]}, "turns_ms": {OURS: [1, 1, 1, 1], "bare": [1, 2, 3, 4]}})
    [alone, at_once] = (next(case for case in cases.CASES if case.callers == callers) for callers in (1, 8))
    tap.equal(figures.spreads(alone, one), {"bare": [1.25, 3.75]}, "of runs, where small is good")
    tap.equal(figures.spreads(at_once, one), {"bare": [1.25, 3.75]}, "of turns, where great is good")
    tap.equal(figures.spreads(alone, many), {"bare": None}, "a run is missing")


def test_cases_without_namespaces_have_all_others_beside_them():
    for case in (case for case in cases.CASES if not case.is_docker and not case.is_remote):
        is_one = case.name.startswith("unprivileged-")
        tap.equal({name for name, *_ in cases.others(case)}, {"bwrap", "sandlock"} if is_one else {"bwrap"}, case.name)
        if case.program is cases.SH:
            names = [contestant["name"] for contestant in cases.process_contestants(case)[0]]
            tap.equal(names[:3 if is_one else 2], [OURS, NAMESPACES, "bare"] if is_one else [OURS, "bare"], case.name)


def test_cases_of_a_worker_have_the_same_without_one_beside_them():
    remote = [case for case in cases.CASES if case.is_remote]
    tap.true(remote, "there is one")
    for case in remote:
        names = [contestant["name"] for contestant in cases.process_contestants(case)[0]]
        tap.equal(names, [OURS, cases.LOCAL, "bare"], case.name)


def test_fairness_is_one_where_all_have_the_same():
    tap.equal((worker_costs.index_of([5] * 10), worker_costs.index_of([50] + [0] * 9)), (1, 0.1))
    told = {"fleet": {"processors": 2, "throughput": {"waiting": {"one": 10, "four": 40}}, "shares": {"runs": 7, "cpu_ms": {"worker": 0.5}},
                      "fairness": {"calls": 1000, "principals": 10, "index_at_half": 1, "least_at_half": 49, "most_at_half": 51, "per_second": 60,
                                   "few": 50, "few_done_at": 0.5, "few_done_at_best": 0.5}}}
    tap.contains("\n".join(worker_costs.lines(told)), "ratio 4.00")
    tap.equal(worker_costs.lines({}), [])


def test_a_contestant_with_other_output_fails():
    told = contest([HI, {"name": "other", "argv": ["/bin/echo", "ho"]},
                    {"name": "ill", "argv": ["/bin/sh", "-c", "echo hi; exit 3"]},
                    {"name": "none", "argv": ["/nonexistent"]}], expect="hi\n")
    tap.equal(told["failures"], {OURS: 0, "other": 3, "ill": 3, "none": 3})
    told = contest([HI], expect="ho\n", attempts=2)
    tap.equal((told["failures"], told["runs_ms"]), ({OURS: 6}, {OURS: []}))
    tap.contains(told["reason"], "it printed 3 bytes: hi")


def test_a_policy_that_is_refused_is_a_reason():
    with Gateway() as gateway:
        gateway.use_policy({"no such member": 1}, *cases.COLD)
        try:
            gateway.use_policy({"no such member": 1})
        except Absent as reason:
            tap.contains(str(reason), "unknown member")
        else:
            tap.true(False, "it was taken")


def test_looking_through_output_has_a_rate_for_each_kind():
    told = costs.redaction(8)
    tap.equal(told["secrets"], 20)
    for length in ("40", "8"):
        rates = told["mib_per_second"][length]
        tap.equal(set(rates), {"log", "base64", "zeroes"}, length)
        tap.true(all(rate > 0 for rate in rates.values()), length)
    tap.equal(len(list(costs.lines({"redaction": told}))), 2)


def test_calls_of_tools_are_counted_and_timed():
    told = tool_costs.measured(cases.WARM, calls=64, rounds=2)
    tap.true(0 < told["p50_ms"] <= told["p99_ms"], told)
    tap.equal(set(told["calls_per_s"]), {"threads", "aio", "frames"})
    tap.true(all(rate > 0 for rate in told["calls_per_s"].values()), told)
    tap.equal(len(list(tool_costs.lines({"tools": told}))), 1)


def test_the_floor_of_a_copy_is_told():
    told = floors.floor(2)
    tap.equal(len(list(floors.lines({floors.NAME: told}))), 4, "the lines")
    tap.true(all(copy["p50_ms"] > 0 for copy in told["copies"].values()) and told["bare_ms"] > 0, told)


def test_what_is_beyond_a_supervised_limit_is_measured():
    try:
        told = excesses.excesses(1)
    except Absent as reason:
        raise tap.Skip(str(reason)) from None
    tap.equal(set(told), {"memory_bytes", "processes", "scratch_bytes"})
    tap.equal(len(list(excesses.lines({"excesses": told}))), 3, "the lines")


def test_sessions_count_their_cells_for_a_while():
    told = soak.soak(0.02, count=4, warm_up=1)
    tap.equal((told["sessions"], told["cells"], len(told["each_minute"])), (4, 20, 1), told)
    now, end = told["each_minute"][0], told["after_the_end"]
    tap.true(min(now["gateway"]["private_bytes"], now["backend"]["anonymous_bytes"], now["sandboxes"]["private_bytes"]) > 0, now)
    tap.equal((now["sandboxes"]["count"], end["sandboxes"]["count"]), (4, 0), told)
    tap.equal(len(list(soak.lines(told))), 3, "the lines")


tap.run(globals())
