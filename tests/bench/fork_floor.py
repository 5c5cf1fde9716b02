# SPDX-License-Identifier: Apache-2.0
"""What a copy of a prepared interpreter costs without any sandbox: the least that a run by such a copy can take. Runs in the machine's
Python with the modules that are its arguments, behind the number of rounds. Prints its figures in JSON."""
import gc
import json
import os
import resource
import sys
import time

for name in sys.argv[2:]:
    __import__(name)
CODE = "print(2**64)"
COPIES = {  # what a copy does, and how many of them there are one in the other, as init, guardian and program are
    "it ends at once": (1, lambda: None),
    "it runs the program": (1, lambda: exec(compile(CODE, "main.py", "exec"), {"__name__": "__main__"})),
    "the third of three in a row runs it": (3, lambda: exec(compile(CODE, "main.py", "exec"), {"__name__": "__main__"})),
}


def copy(depth, act):
    """Of a copy, so many in a row: each waits for the next one. A plain end, as the init asks for it, that takes nothing apart."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)
    if depth > 1:
        copy(depth - 1, act)
    else:
        act()
        sys.stdout.flush()
    os._exit(0)


def wait_and_act(go, told):
    """A copy that has run the program once, so that all pages that it writes to are its own, and waits until it is to run it."""
    COPIES["it runs the program"][1]()
    os.write(told, b"w")
    os.read(go, 1)
    COPIES["it runs the program"][1]()
    sys.stdout.flush()
    os.write(told, b"e")
    os._exit(0)


def measure_waiting(rounds):
    """From the word to a copy that waits until it says that the program has ended."""
    times = []
    for _ in range(rounds):
        (go, goes), (tells, told) = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            wait_and_act(go, told)
        os.read(tells, 1)
        time.sleep(0.005)
        begin = time.monotonic()
        os.write(goes, b"g")
        os.read(tells, 1)
        times.append((time.monotonic() - begin) * 1000)
        os.waitpid(pid, 0)
        for fd in go, goes, tells, told:
            os.close(fd)
    return {"runs_ms": times}


def used():
    """The processor time of this process and all that it has waited for, in milliseconds."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * 1000


def measure(depth, act, rounds):
    times, before = [], used()
    for _ in range(rounds):
        begin = time.monotonic()
        copy(depth, act)
        times.append((time.monotonic() - begin) * 1000)
        time.sleep(0.005)
    return {"runs_ms": times, "processor_ms": (used() - before) / rounds}


sys.stdout = open(os.devnull, "w")
gc.collect()
gc.freeze()
rounds = int(sys.argv[1])
json.dump({**{name: measure(*how, rounds) for name, how in COPIES.items()}, "it has run it, waits and runs it again": measure_waiting(rounds)}, sys.__stdout__)
