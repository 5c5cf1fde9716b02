# SPDX-License-Identifier: Apache-2.0
"""The filters that both modes make of the list of system calls: test_seccomp_modes.py LIST COMPILER PROGRAMS PROFILE PROFILE-WITH-NETWORK.

A profile becomes a filter as an engine makes one. Both modes' filters then judge the same calls, and must agree; and what the
compiler of the list refuses."""
import copy
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import seccomp_filters
import tap

LIST, COMPILER, PROGRAMS, *PROFILES = sys.argv[1:]
NUMBERS = 600
HIGH = 1 << 40
KILLS = {seccomp_filters.KILL_PROCESS: "killed", seccomp_filters.KILL_THREAD: "killed", seccomp_filters.NOTIFY: "killed"}
LOW, SAMPLE = range(20), 1000
listed = json.loads(pathlib.Path(LIST).read_text())


def programs():
    with tempfile.TemporaryDirectory() as scratch:
        paths = [pathlib.Path(scratch, name) for name in ("list", "guard", "guard-with-network")]
        subprocess.run([PROGRAMS, *paths], check=True)
        return [seccomp_filters.instructions(path.read_bytes()) for path in paths]


OF_LIST, *GUARDS = programs()


def signed(action):
    """As the kernel compares what several filters say: the least wins."""
    return (action ^ 1 << 31) & 0xffff0000


def of_process(network, call, arguments, architecture=seccomp_filters.ARCHITECTURE):
    verdicts = [seccomp_filters.verdict(program, call, arguments, architecture) for program in (GUARDS[network], OF_LIST)]
    return told(min(verdicts, key=signed))


def told(verdict):
    return KILLS.get(verdict, verdict)


def tests_of(name, network):
    groups = [group for key in ("guard", "allow") for group in listed[key] if name in group["syscalls"] and "when" in group]
    return [test for group in groups if group.get("network", network) == network for alternative in group["when"] for test in alternative]


def calls_of(name, network):
    """Arguments around each value that the list tests, and with each single bit of its lower half another."""
    values = {}
    for test in tests_of(name, network):
        value = test.get("equals", test.get("above"))
        around = {value, value - 1, value + 1, value | HIGH, 0, *LOW, *(value ^ 1 << bit for bit in range(33))}
        values.setdefault(test["argument"], set()).update(number for number in around if 0 <= number < 1 << 64)
    if not values:
        return [(0,) * 6, (HIGH | 1,) * 6]
    places = sorted(values)
    found = list(itertools.product(*(sorted(values[place]) for place in places)))
    if len(found) > SAMPLE:
        likely = list(itertools.product(*([value for value in sorted(values[place]) if value < 18] for place in places)))
        found = random.Random(1).sample(found, SAMPLE) + random.Random(2).sample(likely, min(SAMPLE, len(likely)))
    return [tuple(dict(zip(places, chosen)).get(place, 0) for place in range(6)) for chosen in found]


def both_agree(network):
    profile = seccomp_filters.of_profile(json.loads(pathlib.Path(PROFILES[network]).read_text()))
    names = {seccomp_filters.number(name): name for key in ("allow", "refuse", "kill", "absent") for group in listed[key]
             for name in group["syscalls"]}
    by_number = {number for name, number in listed["numbers"].items() if seccomp_filters.number(name) < 0}
    row = next(row for row in listed["differences"] if row["name"] == "calls by number")
    tap.equal(sorted(row["syscalls"]), sorted(listed["numbers"]), "the row names every call that has its number in the list")
    judged = 0
    for number in range(NUMBERS):
        for arguments in calls_of(names.get(number, ""), bool(network)):
            verdicts = of_process(network, number, arguments), told(seccomp_filters.verdict(profile, number, arguments))
            if number in by_number:  # as the list's differences say
                tap.equal(verdicts, (seccomp_filters.ALLOW, seccomp_filters.ERRNO | 38), number)
            else:
                tap.equal(verdicts[1], verdicts[0], f"docker's verdict on {names.get(number, number)}{arguments}, and process mode's")
            judged += 1
        foreign = (number, (), seccomp_filters.FOREIGN)
        tap.equal((of_process(network, *foreign), told(seccomp_filters.verdict(profile, *foreign))), ("killed", "killed"), foreign)
    tap.true(judged > NUMBERS + SAMPLE, "the list has arguments to judge")


def test_both_modes_agree_without_network():
    both_agree(0)


def test_both_modes_agree_with_network():
    both_agree(1)


def compiled(changed):
    """What the compiler says of a changed list; "" where it takes it."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "list.json")
        path.write_text(json.dumps(changed))
        return subprocess.run([COMPILER, "profile", path, path.with_name("profile")], stderr=subprocess.PIPE, text=True).stderr


def test_a_broken_list_is_refused():
    changes = (
        (lambda found: found.update(more=[]), "the list: members must be"),
        (lambda found: found.pop("kill"), "the list: members must be"),
        (lambda found: found["allow"][0].pop("reason"), "allow: files: members must be"),
        (lambda found: found["allow"][0].update(network=True), "allow: files: members must be"),
        (lambda found: found["refuse"][0].update(when=[]), "refuse: namespaces and mounts: members must be"),
        (lambda found: found["refuse"][0].update(error="EIO"), "error must be one of"),
        (lambda found: found["refuse"][0].update(reason=""), "name, reason"),
        (lambda found: found["kill"][0]["syscalls"].append("read"), "read is in files and in attacks"),
        (lambda found: found["guard"][0]["syscalls"].append("ptrace"), "nothing to take away"),
        (lambda found: found["guard"][0]["when"].append([]), "one test of each argument"),
        (lambda found: found["guard"][0]["when"].append([{"argument": 0, "equals": 0}] * 2), "one test of each argument"),
        (lambda found: found["guard"][0]["when"].append([{"argument": 6, "equals": 0}]), "no argument 6"),
        (lambda found: found["guard"][0]["when"].append([{"argument": 0}]), "a test has"),
        (lambda found: found["guard"][0]["when"].append([{"argument": 0, "above": 1, "mask": 1}]), "a test has"),
        (lambda found: found["guard"][0]["when"].append([{"argument": 0, "mask": 1, "equals": 2}]), "never holds"),
        (lambda found: found["guard"][0]["when"].append([{"argument": 0, "equals": -1}]), "no number of 64 bits"),
        (lambda found: found["guard"][0]["when"].append([{"argument": 0, "below": 1}]), "members must be"),
    )
    tap.equal(compiled(listed), "", "the list itself")
    for change, word in changes:
        changed = copy.deepcopy(listed)
        change(changed)
        tap.contains(compiled(changed), word, "what the compiler says")


tap.run(globals())
