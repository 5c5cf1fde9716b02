# SPDX-License-Identifier: Apache-2.0
"""Many sessions for a while, each with a cell now and then: what gateway and backend hold each minute, looked at from outside. In each
session a variable counts its cells, so one that was lost, or silently began anew, is noticed."""
import statistics
import time

import costs
from gateway import Absent, Gateway

SESSIONS = 64  # of each language as many
CELLS_A_MINUTE = 1000  # of all sessions together, so each has been stopped when its next cell comes
WARM_UP = 110  # cells of each session: an approver is shown the last 100, and the gateway keeps their texts
POLICY = {"pools": {"process": {"ready": 0}}, "memory_total_bytes": 1 << 36,
          "sessions": {"max_total": SESSIONS, "max_per_principal": SESSIONS, "max_cells": 100000, "checkpoints": 3}}
ENDS = 20  # seconds at most, until all sandboxes are gone
SHELL = ("x=0", "x=$((x + 1))", "echo $x")
# Language: the first cell, each further one, and what prints the count.
LANGUAGES = {"python": ("x = 0", "x += 1", "print(x)"), "javascript": ("let x = 0", "x += 1; void 0", "console.log(x)"),
             "bash": SHELL, "sh": SHELL}


class Session:
    def __init__(self, gateway, language):
        self.gateway, self.language, self.count = gateway, language, 0
        first, self.further, self.show = LANGUAGES[language]
        self.id = "new"
        self.id = self.execute(first)["session"]["id"]

    def execute(self, code, **request):
        result = self.gateway.order("invoke", request={"language": self.language, "code": code, "session": self.id, **request})
        if result["status"] != "completed" or result["exit_code"] != 0:
            raise Absent(f"a cell of {self.language} failed: {result['status']} {result['error']}")
        return result

    def cell(self):
        before = time.monotonic()
        self.execute(self.further)
        self.count += 1
        return (time.monotonic() - before) * 1000

    def check(self):
        shown = self.execute(self.show, session_action="end")["stdout"]
        if shown != f"{self.count}\n":
            raise Absent(f"a session of {self.language} says {shown!r} behind {self.count} cells")


def private_bytes(pid):
    try:
        return costs.private_bytes(pid)
    except (FileNotFoundError, ProcessLookupError):
        return 0  # a checkpoint that is ending


def held(gateway):
    told = costs.held(gateway)
    outside, sandboxes = costs.find_backend(gateway)
    # What is not private either, because the sandboxes' inits are forks of it and have not written to it.
    told["backend"]["anonymous_bytes"] = sum(costs.field_kib(costs.read(pid, "status"), "RssAnon") for pid in outside)
    told["sandboxes"]["processes"] = sum(map(len, sandboxes))
    told["sandboxes"]["private_bytes"] = sum(private_bytes(pid) for group in sandboxes for pid in group)
    return told


def wait_for_the_ends(gateway):
    end = time.monotonic() + ENDS
    while time.monotonic() < end:
        try:
            if not costs.find_backend(gateway)[1]:
                return
        except (FileNotFoundError, ProcessLookupError):
            pass  # one that was ending
        time.sleep(0.05)


def soak(minutes, count=SESSIONS, warm_up=WARM_UP):
    with Gateway() as gateway:
        gateway.use_policy(POLICY)
        sessions = [Session(gateway, list(LANGUAGES)[number % len(LANGUAGES)]) for number in range(count)]
        for _ in range(warm_up):
            for session in sessions:
                session.cell()
        times, each_minute, begin = [], [held(gateway)], time.monotonic()
        for number in range(int(minutes * CELLS_A_MINUTE)):
            time.sleep(max(0, begin + number * 60 / CELLS_A_MINUTE - time.monotonic()))
            times.append(sessions[number % count].cell())
            if (number + 1) % CELLS_A_MINUTE == 0:
                each_minute.append(held(gateway))
        took = time.monotonic() - begin
        for session in sessions:
            session.check()
        wait_for_the_ends(gateway)
        return {"sessions": count, "cells": len(times), "seconds": took, "cell_ms": statistics.median(times), "slowest_ms": max(times),
                "each_minute": each_minute, "after_the_end": held(gateway)}


def lines(told):
    yield (f"soak: {told['sessions']} sessions, {told['cells']} cells in {told['seconds']:.0f} s, a cell {told['cell_ms']:.2f} ms, "
           f"the slowest {told['slowest_ms']:.0f} ms; each has counted all its cells")
    for when, now in [*((f"minute {minute}", now) for minute, now in enumerate(told["each_minute"])), ("at the end", told["after_the_end"])]:
        gateway, backend, sandboxes = now["gateway"], now["backend"], now["sandboxes"]
        yield (f"soak: {when}: gateway {gateway['private_bytes'] // 1024} KiB, {gateway['descriptors']} descriptors; backend "
               f"{backend['anonymous_bytes'] // 1024} KiB, {backend['descriptors']} descriptors; {sandboxes['count']} sandboxes with "
               f"{sandboxes['processes']} processes and {sandboxes['private_bytes'] // 1024} KiB")
