# SPDX-License-Identifier: Apache-2.0
"""From times to percentiles, ratios and tables."""
import math
import os
import platform
import statistics

from gateway import OURS


def percentile(values, percent):
    """The smallest value that so many percent of all are not above: with fewer than 100 runs, p99 is the slowest."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * percent / 100) - 1)]


def summarise_one(times, turns):
    row = {"runs": len(times), "p50_ms": statistics.median(times), "p95_ms": percentile(times, 95),
           "p99_ms": percentile(times, 99)}
    if len(times) > len(turns):
        row["runs_per_second"] = len(times) / (sum(turns) / 1000)
    return row


def spread(ours, its):
    """Between which ratios half of the rounds are; none where failures have left gaps, or where there are too few."""
    if len(ours) != len(its) or len(ours) < 4:
        return None
    quartiles = statistics.quantiles([our / it for our, it in zip(ours, its)], n=4)
    return [quartiles[0], quartiles[2]]


def spreads(case, told):
    """Of the rounds' ratios, by the name of the contestant: as the ratios of summarise()."""
    if case.callers == 1:
        return {name: spread(told["runs_ms"][OURS], times) for name, times in told["runs_ms"].items() if name != OURS}
    return {name: spread(times, told["turns_ms"][OURS]) for name, times in told["turns_ms"].items() if name != OURS}


def summarise(case, told, absent):
    """One case of bench.json. Alone, ratios are of medians (small is good); at once, of runs a second (great is good)."""
    rows = {name: summarise_one(times, told["turns_ms"][name]) for name, times in told["runs_ms"].items() if times}
    ratio_of = "p50_ms" if case.callers == 1 else "runs_per_second"
    ours = rows[OURS]
    return {"name": case.name, "callers": case.callers, **ours, "ratio_of": ratio_of,
            "ratios": {name: ours[ratio_of] / row[ratio_of] for name, row in rows.items() if name != OURS},
            "spreads": spreads(case, told), "contestants": rows, "failures": told["failures"], "failure": told["reason"], "absent": absent}


def table(cases):
    yield "| case | | runs | p50 | p95 | p99 | runs / s | ours / it | in half of the rounds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for case in cases:
        for name, row in case["contestants"].items():
            ratio = f"{case['ratios'][name]:.3f}" if name in case["ratios"] else ""
            between = "{:.3f} to {:.3f}".format(*case["spreads"][name]) if case["spreads"].get(name) else ""
            rate = f"{row['runs_per_second']:.0f}" if "runs_per_second" in row else ""
            failures = case["failures"].get(name, 0)
            yield (f"| {case['name'] if name == OURS else ''} | {name} | {row['runs']}{f' ({failures} failed)' if failures else ''} "
                   f"| {row['p50_ms']:.2f} ms | {row['p95_ms']:.2f} ms | {row['p99_ms']:.2f} ms | {rate} | {ratio} | {between} |")


def machine():
    return {"cores": os.cpu_count(), "load": os.getloadavg()[0], "linux": platform.release().split("-")[0],
            "user": os.geteuid()}


def heading(about):
    return (f"{about['cores']} cores, load {about['load']:.1f}, Linux {about['linux']}, user {about['user']}. Ratios: of one caller, "
            "of medians (small is good); of more, of runs a second (great is good). Of fewer than 100 runs p99 is the slowest, "
            "of fewer than 20 p95 too.")
