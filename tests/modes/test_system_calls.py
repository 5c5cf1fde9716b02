# SPDX-License-Identifier: Apache-2.0
"""What a sandbox answers to each system call there is, and to those with arguments that the list judges, made in a real run: it is
what policies/seccomp/calls.json says, and where the modes differ, the list says so and why."""
import base64
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import modes
import tap
from modes import Provider
from oracles import seccomp_filters
from provider import OK, Host

TOP = pathlib.Path(__file__).parents[2]
LIST = json.loads((TOP / "policies" / "seccomp" / "calls.json").read_text())
NUMBERS = 600          # more than any kernel has, and less than the bit that marks another interface
ALL_BITS = (1 << 64) - 1
# uretprobe and uprobe of x86-64, about which the kernel asks no filter: they are for its own trampolines, and fail elsewhere.
PAST_FILTERS = (335, 336)
provider = Provider({"limits": {name: {"default": 60000, "max": 60000} for name in ("wall_ms", "cpu_ms")}})


def number_of(name):
    known = seccomp_filters.number(name)
    return known if known >= 0 else LIST["numbers"].get(name, -1)


def named():
    """{number: name} of all that the list names."""
    return {number_of(name): name for verdict in ("allow", "refuse", "kill", "absent") for group in LIST[verdict]
            for name in group["syscalls"] if number_of(name) >= 0}


def holds(alternatives, arguments):
    def is_so(test):
        value = arguments[test["argument"]]
        return value > test["above"] if "above" in test else value & test.get("mask", ALL_BITS) == test["equals"]
    return any(all(map(is_so, tests)) for tests in alternatives)


def groups(verdict, name):
    return [group for group in LIST[verdict] if name in group["syscalls"] and group.get("network") in (None, False)
            and group.get("blueprint", modes.MODE) == modes.MODE]


def listed(name, arguments):
    """What the list says of a call in a run without a network."""
    for group in sorted(groups("guard", name), key=lambda group: "when" in group):  # a whole call first
        if "when" not in group or holds(group["when"], arguments):
            return group["error"]
    for verdict, answer in (("allow", "allowed"), ("refuse", None), ("kill", "killed")):
        for group in groups(verdict, name):
            if "when" not in group or holds(group["when"], arguments):
                return answer or group["error"]
    return "ENOSYS"


def judged_arguments(name):
    """Calls on both sides of each test that the list has for this one."""
    found = []
    for group in [group for verdict in ("guard", "allow") for group in groups(verdict, name) if "when" in group]:
        for alternative in group["when"]:
            arguments = [0] * 6
            for test in alternative:
                arguments[test["argument"]] = test.get("equals", test.get("above", 0) + 1)
            for test in alternative:
                for other in (arguments[test["argument"]], arguments[test["argument"]] - 1, arguments[test["argument"]] + 1,
                              arguments[test["argument"]] | 1 << 32, arguments[test["argument"]] ^ 1 << 5):
                    found.append([*arguments[:test["argument"]], other & ALL_BITS, *arguments[test["argument"] + 1:]])
    return [list(arguments) for arguments in dict.fromkeys(map(tuple, found))]


# What makes a call fail with ENOSYS although it is there; with zeroes it fails otherwise.
ZEROES = {"futex"}


def queries():
    """(number, name or "", arguments) of each call to make."""
    names = named()
    for number in range(NUMBERS):
        name = names.get(number, "")
        for arguments in judged_arguments(name) or [[0 if name in ZEROES else ALL_BITS] * 6]:
            yield number, name, arguments


CALLS = list(queries())


def key(call):
    """How a call is told in a failure."""
    number, name, arguments = call
    return name or number, tuple(arguments)


def compiled_probe(scratch):
    program = pathlib.Path(scratch) / "probe"
    source = pathlib.Path(__file__).with_name("call_probe.c")
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-O1", "-s", "-static", "-o", program, source], check=True)
    return program


def lines(calls):
    return "".join(f"{number} {' '.join(map(str, arguments))}\n" for number, _, arguments in calls)


def run_probe(calls):
    return_code, output = provider.invoke(
        {"language": "sh", "code": "chmod 700 probe && exec ./probe <calls\n", "files": [
            {"path": "probe", "content": base64.b64encode(PROBE.read_bytes()).decode(), "encoding": "base64"},
            {"path": "calls", "content": lines(calls)}]},
        Host(["sandbox.exec", "sandbox.exec.files"]))
    tap.equal(return_code, OK, output)
    return output


def answer_of(call, word):
    """An init that makes a call in the program's place answers as the kernel does behind all filters, which is that it is allowed."""
    is_emulated = listed(*call[1:]) == "allowed" and groups("emulate", call[1])
    return "allowed" if is_emulated and word not in ("ENOSYS", "killed") else word


def answers(mode):
    """What a run gets, by key(). In process mode a call that kills ends its run, which names it."""
    apart = [call for call in CALLS if mode != "docker" and call[1] and listed(*call[1:]) == "killed"]
    together = [call for call in CALLS if call not in apart]
    output = run_probe(together)
    tap.equal((output["mode"], output["status"], output["cause"], output["exit_code"]), (mode, "completed", "exit", 0), output["error"])
    found = {key(call): answer_of(call, word) for call, word in zip(together, output["stdout"].split(), strict=True)}
    for call in apart:
        output = run_probe([call])
        tap.equal((output["status"], output["cause"]), ("killed", "forbidden_syscall"), call)
        tap.contains(output["error"]["message"], call[1], "the call that ended the run")
        found[key(call)] = "killed"
    return found


def without_sandbox(calls):
    output = subprocess.run([PROBE], input=lines(calls), stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(map(key, calls), output.stdout.split(), strict=True))


def expected_by_list():
    """What the list says of each call. Calls newer than some kernels, and those past filters, are as they are without a sandbox."""
    expected = {key(call): listed(*call[1:]) for call in CALLS}
    kernel = without_sandbox([call for call in CALLS if call[1] in LIST["numbers"] or call[0] in PAST_FILTERS])
    return expected | {call: answer for call, answer in kernel.items() if answer != "allowed"}


def check_differences(mode, found, expected):
    """Each difference has one row of the list, and each row that holds here has a difference."""
    rows = [row for row in LIST["differences"] if row["mode"] == mode]
    used = set()
    for call, answer in found.items():
        if answer == expected[call]:
            continue
        fitting = [row["name"] for row in rows if (row["list"], row["answer"]) == (expected[call], answer)
                   and call[0] in row.get("syscalls", [call[0]])]
        tap.equal(len(fitting), 1, f"rows of differences for {call}, which gets {answer} and not {expected[call]}")
        used.update(fitting)
    for row in rows:
        tap.equal(row["engines"], "with an old libseccomp", f"engines that this test knows: {row['name']}")


def test_every_call_is_answered_as_listed():
    expected = expected_by_list()
    tap.true(len(set(expected.values()) & {"allowed", "killed", "EPERM", "ENOSYS", "EAFNOSUPPORT"}) == 5, "calls of every kind are made")
    tap.equal("EOPNOTSUPP" in expected.values(), modes.MODE == "unprivileged", "the groups of the mode are judged")
    check_differences(modes.MODE, answers(modes.MODE), expected)


if modes.MODE == "docker":
    def test_the_modes_differ_as_listed():
        found = answers("docker")
        other = {"modes": {"default": "process", "allowed": ["process"]}}
        expected = provider.with_policy(other, lambda: answers("process"))
        check_differences("docker", found, expected)


with tempfile.TemporaryDirectory() as scratch_directory:
    PROBE = compiled_probe(scratch_directory)
    tap.run(globals())
