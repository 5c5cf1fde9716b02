# SPDX-License-Identifier: Apache-2.0
"""How long a run takes to its first output in a real cluster, one after the other: from a pod that waits, and from one that is made for it.
The pool is full before each warm run. By hand: scripts/check-cluster measure_pods"""
import os
import time

import tap

import kubernetes_mode as mode
from provider import Host, Provider

WARM_RUNS = int(os.environ.get("MEASURE_WARM_RUNS", "100"))
COLD_RUNS = int(os.environ.get("MEASURE_COLD_RUNS", "10"))
READY = 2
PROGRAMS = {"python": "print(1)", "sh": "echo 1"}
provider = Provider()


def first_output(language):
    """The time to the first output and to the result, in milliseconds."""
    heard = []
    begin = time.monotonic()
    output = provider.invoke({"language": language, "code": PROGRAMS[language]}, Host(on_output=lambda *_: heard.append(time.monotonic())))[1]
    end = time.monotonic()
    tap.equal((output["status"], output["stdout"]), ("completed", "1\n"), output["error"])
    return (heard[0] - begin) * 1000, (end - begin) * 1000


def fill(language):
    row = "python" if language == "python" else "none"
    tap.eventually(lambda: provider.pool("kubernetes")[1][row]["ready"] == READY, "the pool is full", 120)


def percentile(values, part):
    return sorted(values)[max(0, -(-len(values) * part // 100) - 1)]


def show(name, times):
    for what, values in zip(("first output", "result"), zip(*times)):
        print(f"# {name}, {what}: {len(values)} runs, p50 {percentile(values, 50):.1f} ms, p95 {percentile(values, 95):.1f} ms, "
              f"p99 {percentile(values, 99):.1f} ms, most {max(values):.1f} ms", flush=True)


def test_the_time_to_the_first_output():
    for language in PROGRAMS:
        tap.equal(provider.use_policy(mode.policy(ready=READY)), 0, "policy")
        first_output(language)
        before = provider.counters()["sandboxes_ready"]
        times = []
        for _ in range(WARM_RUNS):
            fill(language)
            times.append(first_output(language))
        tap.equal(provider.counters()["sandboxes_ready"] - before, WARM_RUNS, "runs that a pod waited for")
        show(f"{language}, warm", times)
        tap.equal(provider.use_policy(mode.policy()), 0, "policy")
        first_output(language)
        mode.none_left()
        show(f"{language}, cold", [first_output(language) for _ in range(COLD_RUNS)])
        mode.none_left()


tap.run(globals())
