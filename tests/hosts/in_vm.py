# SPDX-License-Identifier: Apache-2.0
"""The cases of the virtual machine, run by root in it (test_vm.py): Debian's kernel, and cgroup version 2 alone. Gateways are root
in a subtree with systemd's mark, an ordinary user in a subtree of its own, and both where nothing is delegated."""
import functools
import json
import os
import pathlib
import re
import sys

import observe
import tap
from vm import CGROUPS, HERE, open_the_way, start, subtree

RELEASE = tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups()))


@functools.cache
def gateway(identity, group=None):
    done = start(identity, [sys.executable, HERE / "gateway.py", subtree(group or identity)], group)
    tap.equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def doctor(identity, group=None):
    done = start(identity, [os.environ["TOOLHOST"], "doctor", "--plugin", os.environ["CODE_EXECUTE_SO"]], group,
                 CODE_EXEC_SANDBOX="process")
    return done.returncode, done.stdout


def ended(result):
    return result["status"], result["cause"]


def setting(name, value):
    pathlib.Path("/proc/sys", name).write_text(value)


def test_the_host_is_as_described():
    tap.equal(pathlib.Path("/proc/self/cgroup").read_text(), "0::/gateway/leaf\n", "one hierarchy, of version 2")
    tap.equal((CGROUPS / "cgroup.subtree_control").read_text().split(), ["memory", "pids"])
    print(f"# Linux {os.uname().release}")


def a_group_of_its_own(identity):
    seen = gateway(identity)
    tap.equal(seen["own"], f"0::/{identity}/leaf", "the gateway is where it was")
    details, isolation = seen["inside"]["isolation"]["details"], seen["inside"]["isolation"]
    tap.equal(isolation["missing"], [])
    tap.equal(ended(seen["inside"]), ("cancelled", "cancelled"))
    tap.equal((details["cgroup_version"], details["cgroup_memory"], details["cgroup_pids"]), (2, True, True), details)
    tap.equal(seen["inside"]["stdout"], "0::/\n1000\n0\nready\n", "from inside: no path of the host's, no control group to write")
    tap.true(seen["groups"], "the run's group was there while it ran")
    group = seen["groups"][0]
    tap.equal((group["memory.max"], group["memory.oom.group"], group["pids.max"]), (["268435456"], ["1"], ["65"]), group)
    tap.equal(group.get("memory.swap.max", ["0"]), ["0"])
    tap.true(len(group["cgroup.procs"]) >= 2, f"the whole tree is in it: {group}")


def test_doctor_tells_where_the_groups_are():
    """A limit on the gateway's own group does not cover its runs: they are beside it."""
    for identity in ("root", "user"):
        status, report = doctor(identity)
        tap.equal(status, 0, report)
        tap.contains(report, f"  applied  cgroup: version 2: memory pids, below {CGROUPS / identity}\n")


def limits_hold(identity):
    seen = gateway(identity)
    tap.equal(ended(seen["hog"]), ("killed", "memory_limit"), seen["hog"])
    tap.equal(ended(seen["bomb"])[1], "process_limit", seen["bomb"])
    tap.equal(seen["bomb"]["stdout"], "9 11\n", "the program and nine children are ten")
    usage = seen["hog"]["usage"]
    tap.true(32 << 20 < usage["peak_memory_bytes"] <= 64 << 20, usage)
    told = "pids.peak" in seen["groups"][0]  # since Linux 6.11, and wherever a distribution has brought it back to
    tap.equal(usage["processes"], 6 if told else None, "the sandbox's init, the program and its four children")
    tap.equal(seen["required"]["stdout"], "ran\n", seen["required"])
    # Not all of its group has ended: the checkpoint goes on.
    tap.equal(seen["cells"], [["exit", "kept", ""], ["memory_limit", "restored", ""], ["exit", "kept", "7\n"]])


def nothing_stays(identity):
    gateway(identity)
    tap.equal([entry.name for entry in subtree(identity).iterdir() if entry.is_dir()], ["leaf"])


def test_layers_are_seen_from_inside():
    for identity in ("root", "user"):
        observe.check(gateway(identity)["layers"], [])
        observe.check(gateway(identity, "nobody")["layers"], ["cgroup"])


def test_root_gets_a_group():
    a_group_of_its_own("root")


def test_an_ordinary_user_gets_a_group():
    a_group_of_its_own("user")


def test_limits_hold_for_root():
    limits_hold("root")


def test_limits_hold_for_an_ordinary_user():
    limits_hold("user")


def test_nothing_stays():
    nothing_stays("root")
    nothing_stays("user")


def test_landlock_of_an_older_kernel():
    if RELEASE != (6, 1):
        raise tap.Skip(f"Linux {os.uname().release} has another ABI")
    tap.equal((gateway("root")["landlock"], gateway("user")["landlock"]), (2, 2))


def without_delegation(identity):
    """Where nothing was delegated not even root takes it: it is another manager's tree."""
    seen = gateway(identity, "nobody")
    tap.equal((seen["inside"]["isolation"]["missing"], seen["groups"]), (["cgroup"], []))
    tap.equal((seen["hog"]["stdout"], seen["bomb"]["cause"]), ("4\n", "exit"), "what the same programs do without a group")
    tap.equal((seen["required"]["stdout"], seen["required"]["error"]["code"]), ("", "sandbox_unavailable"))
    tap.contains(seen["required"]["error"]["hint"], "Delegate=yes")
    status, report = doctor(identity, "nobody")
    tap.equal(status, 0, report)
    tap.contains(report, "missing  cgroup")
    tap.contains(report, "Delegate=yes")


def test_root_without_delegation():
    without_delegation("root")


def test_an_ordinary_user_without_delegation():
    without_delegation("user")


def test_root_in_the_delegated_group_itself():
    """Beside its processes there are no groups with limits, and the group above was not given."""
    os.setxattr(subtree("alone") / "leaf", "trusted.delegate", b"1")
    status, report = doctor("root", "alone")
    tap.equal(status, 0, report)
    tap.contains(report, "missing  cgroup")
    tap.contains(report, "DelegateSubgroup=")


RUN = ("import json; from provider import Host, Provider\n"
       "print(json.dumps(Provider().invoke({'language': 'sh', 'code': 'echo ran'}, Host())[1]))")


def forbidden(identity, remedy):
    result = json.loads(start(identity, [sys.executable, "-c", RUN]).stdout)
    tap.equal((result["stdout"], result["error"]["code"]), ("", "sandbox_unavailable"), result)
    tap.contains(result["error"]["message"], "user_namespace")
    tap.contains(result["error"]["hint"], remedy)
    status, report = doctor(identity)
    tap.equal(status, 1, report)
    tap.contains(report, "sandbox_unavailable")
    tap.contains(report, remedy)


def test_user_namespaces_forbidden_by_sysctl():
    before = pathlib.Path("/proc/sys/user/max_user_namespaces").read_text()
    setting("user/max_user_namespaces", "0")
    try:
        for identity in ("root", "user"):
            forbidden(identity, "sysctl -w user.max_user_namespaces=")
    finally:
        setting("user/max_user_namespaces", before)


def test_user_namespaces_forbidden_to_ordinary_users():
    """Debian's own setting: root is not meant by it."""
    if not pathlib.Path("/proc/sys/kernel/unprivileged_userns_clone").exists():
        raise tap.Skip("this kernel does not have kernel.unprivileged_userns_clone")
    setting("kernel/unprivileged_userns_clone", "0")
    try:
        forbidden("user", "sysctl -w kernel.unprivileged_userns_clone=1")
        tap.equal(json.loads(start("root", [sys.executable, "-c", RUN]).stdout)["stdout"], "ran\n")
    finally:
        setting("kernel/unprivileged_userns_clone", "1")


open_the_way()
tap.run(globals())
