# SPDX-License-Identifier: Apache-2.0
"""The filters that both modes make of the list of system calls: test_seccomp_modes.py LIST COMPILER PROGRAMS PROFILE PROFILE-WITH-NETWORK.

A profile becomes a filter as an engine makes one. Both modes' filters then judge the same calls, and must agree; and what the
compiler of the list refuses."""
import copy
import errno
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import tap
from oracles import seccomp_filters

LIST, COMPILER, PROGRAMS, *PROFILES = sys.argv[1:]
NUMBERS = 600
HIGH = 1 << 40
KILLS = {seccomp_filters.KILL_PROCESS: "killed", seccomp_filters.KILL_THREAD: "killed", seccomp_filters.NOTIFY: "killed"}
LOW, SAMPLE = range(20), 1000
FILTERS = ("list", "list-with-attributes", "guard", "guard-with-network", "guard-with-endpoints", "guard-unprivileged")
listed = json.loads(pathlib.Path(LIST).read_text())


def programs():
    with tempfile.TemporaryDirectory() as scratch:
        paths = [pathlib.Path(scratch, name) for name in FILTERS]
        subprocess.run([PROGRAMS, *paths], check=True)
        return [seccomp_filters.instructions(path.read_bytes()) for path in paths]


OF_LIST, WITH_ATTRIBUTES, *GUARDS, UNPRIVILEGED = programs()
ENDPOINTS = 2  # of GUARDS; the profiles have no such variant


def signed(action):
    """As the kernel compares what several filters say: the least wins."""
    return (action ^ 1 << 31) & 0xffff0000


def of_process(network, call, arguments, architecture=seccomp_filters.ARCHITECTURE):
    verdicts = [seccomp_filters.verdict(program, call, arguments, architecture) for program in (GUARDS[network], OF_LIST)]
    return told(min(verdicts, key=signed))


def told(verdict):
    return KILLS.get(verdict, verdict)


def tests_of(name, network):
    groups = [group for key in ("guard", "allow") for group in listed[key]
              if name in group["syscalls"] and "when" in group and "blueprint" not in group]
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


def of_unprivileged(call, arguments):
    verdicts = [seccomp_filters.verdict(program, call, arguments) for program in (UNPRIVILEGED, WITH_ATTRIBUTES)]
    return min(verdicts, key=signed)


ERRORS = {name: seccomp_filters.ERRNO | getattr(errno, name) for name in ("EPERM", "EAFNOSUPPORT", "ENOSYS", "EOPNOTSUPP")}
ANY = 77  # an argument that no test looks for
CLONE = 17  # SIGCHLD: a plain fork
PR_SET_CHILD_SUBREAPER, PR_SET_NAME, PR_SET_DUMPABLE = 36, 15, 4
SHARED, PRIVATE, ANONYMOUS = 1, 2, 32
FLAGS = 0o2000000 | 0o4000  # SOCK_CLOEXEC, SOCK_NONBLOCK
CLONE_PARENT = 0x8000
UNPRIVILEGED_CALLS = {
    "EAFNOSUPPORT": [("socket", family, kind) for family in (0, 1, 2, 10, 16, 17, 38, 40, 44) for kind in (1, 2, 5)]
    + [("socketpair", 1, kind | flags) for kind in (0, 2, 3, 4, 6, 7, 8, 9, 10, 13, 15) for flags in (0, FLAGS)]
    + [("socketpair", 2, 1), ("socketpair", 16, 1)],
    "EPERM": [(name, 3, ANY, 16) for name in ("bind", "listen", "accept", "accept4", "connect")]
    + [("sendto", 3, ANY, 1, 0, ANY, 16), ("sendto", 3, ANY, 1, 0, 1 << 40, 16), ("vmsplice", 3, ANY, 1, 0)]
    + [("mmap", 0, 4096, 3, kind | ANONYMOUS, HIGH) for kind in (SHARED, 3)]
    + [(name, pid, ANY) for name in ("prlimit64", "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity")
       for pid in (1, 2, 4711, (1 << 32) - 1, (1 << 64) - 1)]
    + [("setpriority", 0, 1), ("setpriority", 0, 4711), ("setpriority", 1, 4711), ("setpriority", 2, 0)]
    + [("prctl", PR_SET_CHILD_SUBREAPER, 1), ("prctl", HIGH | PR_SET_CHILD_SUBREAPER, 1), ("prctl", PR_SET_DUMPABLE, 0), ("prctl", HIGH | PR_SET_DUMPABLE), ("clone", CLONE | CLONE_PARENT)]
    + [call for bits in (0o4755, 0o2755, 0o6000) for call in (
        ("open", ANY, 0o100 | 1, bits), ("open", ANY, 0o20200000 | 1, bits), ("openat", 3, ANY, 0o102, bits),
        ("openat", 3, ANY, 0o20200002, bits), ("creat", ANY, bits), ("mknod", ANY, 0o100000 | bits), ("mknodat", 3, ANY, 0o10000 | bits))]
    + [("unshare", 0x10000000), ("setns", 3), ("mount",), ("ptrace", 16), ("process_vm_readv", 1), ("pidfd_getfd", 3), ("kcmp", 1),
       ("inotify_init1",), ("fanotify_init",), ("io_uring_setup",), ("bpf",), ("userfaultfd",), ("perf_event_open",), ("keyctl",),
       ("ioprio_set", 1), ("ioctl", 0, 0x5412)],
    "ENOSYS": [(name, ANY, ANY) for name in (
        "shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl",
        "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr", "memfd_create", "clone3", "openat2", "setxattrat")]
    + [("memfd_create", ANY, 4), ("shmget", 1, 1, 2048)],
    "EOPNOTSUPP": [(name, ANY) for name in ("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
                                            "getxattr", "lgetxattr", "listxattr", "llistxattr")]
    # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY, BTRFS_IOC_SUBVOL_CREATE, FICLONE, SIOCGIFCONF
    + [("ioctl", 3, request) for request in (0x40086602, 0x401c5820, 0x40806685, 0x5000940e, 0x40049409, 0x8912)],
    "allowed": [("socketpair", 1, kind | flags) for kind in (1, 5) for flags in (0, FLAGS)]
    + [("sendto", 3, ANY, 1, 0, 0, 0), ("sendmsg", 3), ("recvfrom", 3), ("clone", CLONE), ("fork",), ("kill", 4711, 9)]
    + [("mmap", 0, 4096, 3, kind, 3) for kind in (SHARED, PRIVATE, PRIVATE | ANONYMOUS)]
    + [(name, 0, ANY) for name in ("prlimit64", "sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity")]
    + [("setpriority", 0, 0), ("setpriority", 1, 0), ("getpriority", 0, 4711), ("prctl", PR_SET_NAME), ("prctl", PR_SET_DUMPABLE, 1)]
    + [("open", ANY, 1, 0o6755), ("openat", 3, ANY, 1, 0o6755), ("open", ANY, 0o101, 0o1777), ("openat", 3, ANY, 0o101, 0o755),
       ("creat", ANY, 0o1777), ("mknod", ANY, 0o100755), ("mknodat", 3, ANY, 0o100755)]
    # TCGETS, FIONREAD, FIONBIO, FIOCLEX, TCGETS2
    + [("ioctl", 0, request) for request in (0x5401, 0x541b, 0x5421, 0x5451, 0x802c542a)]
    + [("fgetxattr", 3), ("flistxattr", 3), ("setsid",), ("setpgid",), ("mknod",), ("fcntl", 3, 8, 1)],
    "held": [(name, ANY) for name in ("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes",
                                      "utimensat", "futimesat", "reboot")],
}
TOLD = {**ERRORS, "allowed": seccomp_filters.ALLOW, "held": seccomp_filters.NOTIFY}


def number_of(name):
    known = seccomp_filters.number(name)
    return known if known >= 0 else listed["numbers"].get(name, -1)


def test_the_unprivileged_blueprint_is_narrower():
    for answer, calls in UNPRIVILEGED_CALLS.items():
        for name, *arguments in calls:
            if number_of(name) >= 0:
                tap.equal(hex(of_unprivileged(number_of(name), arguments)), hex(TOLD[answer]), f"{name}{tuple(arguments)}")


def test_the_unprivileged_blueprint_gives_nothing_else():
    """What the others refuse or kill is never allowed there."""
    names = {number_of(name): name for key in ("allow", "refuse", "kill") for group in listed[key] for name in group["syscalls"]}
    emulated = {name for group in listed["emulate"] for name in group["syscalls"]}
    for number in range(NUMBERS):
        for arguments in calls_of(names.get(number, ""), False):
            without = min((seccomp_filters.verdict(program, number, arguments) for program in (GUARDS[0], OF_LIST)), key=signed)
            held = names.get(number) in emulated and without == seccomp_filters.ALLOW
            if without != seccomp_filters.ALLOW:
                tap.equal(told(of_unprivileged(number, arguments)) != seccomp_filters.ALLOW, True, (number, arguments))
            tap.equal(of_unprivileged(number, arguments) == seccomp_filters.NOTIFY, held or without == seccomp_filters.NOTIFY, (number, held))


FAST_OPEN, DONTWAIT = 0x20000000, 0x40
TYPES = range(16)
ENDPOINT_CALLS = {
    "EAFNOSUPPORT": [("socket", family, 1) for family in (0, *range(3, 48), HIGH | 1, HIGH | 2, (1 << 32) | 2)]
    + [("socket", 2, kind | flags) for kind in TYPES if kind != 1 for flags in (0, FLAGS)]
    + [("socket", 2, 1, protocol) for protocol in (1, 2, 5, 7, 17, 33, 132, 262, HIGH | 6)]
    + [("socketpair", family, 1) for family in (0, 2, 10, 16, HIGH | 1)],
    "EPERM": [("listen", 3, backlog) for backlog in (0, 1, 128, HIGH)]
    + [(name, 3, ANY, 1, flags) for name in ("sendto", "sendmmsg") for flags in (FAST_OPEN, FAST_OPEN | DONTWAIT, HIGH | FAST_OPEN)]
    + [("sendmsg", 3, ANY, flags) for flags in (FAST_OPEN, FAST_OPEN | DONTWAIT)],
    "EOPNOTSUPP": [(name, 3, level, 1) for name in ("setsockopt", "getsockopt") for level in (0, 2, 5, 17, 41, 132, 255, 263, 282, 284, HIGH | 1, HIGH | 6)]
    + [("setsockopt", 3, 1, option) for option in range(128) if option not in (2, 7, 8, 9, 13, 16, 20, 21)]
    + [("setsockopt", 3, 6, option) for option in range(64) if option not in (1, 4, 5, 6)]
    + [("getsockopt", 3, 6, option) for option in range(64) if option not in (1, 4, 5, 6, 11)]
    + [("setsockopt", 3, level, HIGH | 1) for level in (1, 6)],
    "allowed": [("socket", 2, 1 | flags, protocol) for flags in (0, FLAGS, 0o4000) for protocol in (0, 6)]
    + [("socket", 1, kind) for kind in (1, 2, 5)] + [("socketpair", 1, kind) for kind in (1, 2, 5)]
    + [("setsockopt", 3, 1, option) for option in (2, 7, 8, 9, 13, 16, 20, 21)] + [("setsockopt", 3, 6, option) for option in (1, 4, 5, 6)]
    + [("getsockopt", 3, 6, option) for option in (1, 4, 5, 6, 11)] + [("getsockopt", 3, 1, option) for option in (3, 4, 17)]
    + [("sendto", 3, ANY, 1, DONTWAIT), ("sendmsg", 3, ANY, DONTWAIT), ("connect", 3, ANY, 16), ("bind", 3, ANY, 16), ("accept4", 3)],
}


def test_endpoints_have_tcp_to_connect_with_and_no_more():
    for answer, calls in ENDPOINT_CALLS.items():
        for name, *arguments in calls:
            found = of_process(ENDPOINTS, number_of(name), arguments)
            tap.equal(hex(found), hex(TOLD[answer]), f"{name}{tuple(arguments)}")


def test_but_for_sockets_endpoints_have_what_others_have():
    """What is without network is refused with endpoints too, except TCP itself."""
    names = {number_of(name): name for key in ("allow", "refuse", "kill") for group in listed[key] for name in group["syscalls"]}
    for number in range(NUMBERS):
        for arguments in calls_of(names.get(number, ""), False):
            without, found = (of_process(which, number, arguments) for which in (0, ENDPOINTS))
            if without != found and found == seccomp_filters.ALLOW:
                tap.equal((names[number], *arguments[:2]), ("socket", 2, arguments[1]), "what endpoints have beyond others")


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
        (lambda found: found["guard"][0].pop("when"), "from one blueprint or runs with endpoints only"),
        (lambda found: found["guard"][0].update(network="other"), "network true, false or"),
        (lambda found: found["guard"][0].update(network=1), "network true, false or"),
        (lambda found: found["guard"][0].update(blueprint="other"), "blueprint must be one of"),
        (lambda found: found["guard"][0].update(blueprint="unprivileged", network=True), "goes without network"),
        (lambda found: found["emulate"][0].pop("blueprint"), "emulate: attributes of files: members must be"),
        (lambda found: found["emulate"][0]["syscalls"].append("ptrace"), "nothing to take away"),
        (lambda found: found["refuse"][0].update(error="ENOSYS"), "error must be one of"),
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
