# SPDX-License-Identifier: Apache-2.0
"""The layers of process mode that a control takes away: each name is some lines of the file that knock_out.c reads. What is let in
is the test's own: its directory, its sockets, its shared memory, the process that it started itself.

Below them the mutants: every step of both lists, every namespace, group of system calls, limit and mount flag, taken away in turn."""
import dataclasses
import json
import pathlib

from canaries import SANDBOX_USER

POLICY = pathlib.Path(__file__).parents[2] / "policies" / "seccomp" / "calls.json"

STEPS = ("check_user_namespace check_pid_namespace check_mount_namespace check_network_namespace check_ipc_namespace check_uts_namespace "
         "enter_control_groups enter_identity become_unreadable disable_nested_namespaces set_host_name raise_loopback "
         "limit_socket_memory hand_over_endpoints make_mounts_private build_view mount_scratch show_read_only_paths show_workspace show_interpreter_files write_identity_files make_devices mount_proc make_view_read_only "
         "pivot_into_view write_files enter_cgroup_namespace drop_capabilities start_session close_other_descriptors enter_home become_readable_again "
         "limit_resources forbid_new_privileges restrict_by_landlock restrict_system_calls hand_over_listener").split()
UNPRIVILEGED_STEPS = ("check_supervision note_inheritance enter_control_groups become_subreaper become_prompt become_unreadable clear_capabilities "
                      "forbid_new_privileges enter_outer_domain start_guardian start_session close_other_descriptors enter_home "
                      "become_first_victim adopt_for_shell enter_inner_domain restrict_system_calls hand_over_listener write_files limit_resources").split()
ONLY_ENDPOINTS = "only for runs with endpoints, of which the next table is"  # test_endpoint_knockouts.c
NAMESPACES = "user pid mount network ipc uts".split()
RLIMITS = "core memlock sigpending msgqueue rtprio nice nofile fsize cpu nproc data".split()


def knockouts(canaries):
    home = canaries.directory.parent / "home"
    names = {
        "bind": [f"bind {canaries.directory}"],
        "gateway-home": [f"bind {home}"],
        "shared-file": [f"bind {canaries.shared}"],
        "sysfs": ["bind /sys"],
        "host-proc": ["proc host"],
        "leaked-descriptor": [f"leak {canaries.directory}", "step close_other_descriptors"],
        "user": [f"user {SANDBOX_USER}"],
        "root-user": ["user 0"],
        "terminal": ["bind /dev"],
        "processes": ["namespace pid", "step check_pid_namespace"],
        "network": ["namespace network", "step check_network_namespace"],
        "ipc": ["namespace ipc", "step check_ipc_namespace"],
        "readable-init": ["readable init"],
        "capabilities": ["capabilities all"],
        "landlock": ["step restrict_by_landlock"],
        "seccomp": ["step restrict_system_calls"],
        "default": ["seccomp default"],
        "interfaces": ["seccomp interfaces"],
        "memory": ["cgroup memory"],
        "pids": ["cgroup pids", "rlimit nproc"],
        "group-pids": ["cgroup pids"],
        "scratch-size": ["scratch size"],
        "scratch-inodes": ["scratch inodes"],
        "read-only-mounts": ["mount read-only"],
        "workspace-overlay": ["workspace bind"],
    }
    names.update({f"rlimit-{name}": [f"rlimit {name}"] for name in RLIMITS})
    names.update({f"no-{name}-namespace": [f"namespace {name}"] for name in NAMESPACES})
    names.update({name: [f"step {name}"] for name in STEPS})
    return names


@dataclasses.dataclass
class Mutant:
    name: str
    lines: list           # for knock_out.c
    attacks: list         # each is about this layer; the first that gets through catches it
    reason: str = ""      # where nothing does: why nothing is lost
    beside: tuple = ()    # names of knockouts() for what else has to be absent, so that ...
    shown: str = ""       # ... this attack gets through


def step_mutants():
    attacks = {"set_host_name": "C60-node-name.sh", "enter_cgroup_namespace": "A11-cgroup-path.sh",
               "limit_resources": "D64-descriptors.c", "restrict_system_calls": "C36-trace-child.c"}
    reasons = {
        "check_user_namespace": ("a check; the namespace is there",),
        "check_pid_namespace": ("a check; the namespace is there", ("processes", "user", "landlock"), "B26-kill-by-number.sh"),
        "check_mount_namespace": ("a check; the namespace is there",),
        "check_network_namespace": ("a check; the namespace is there", ("network", "landlock"), "C42-abstract-socket.pl"),
        "check_ipc_namespace": ("a check; the namespace is there", ("ipc",), "C55-shared-memory.c"),
        "check_uts_namespace": ("a check; the namespace is there",),
        "become_unreadable": ("the change of ids has made it so already", ("readable-init", "landlock"), "C39-init.sh"),
        "disable_nested_namespaces": ("seccomp refuses new namespaces", ("seccomp",), "A5-clone-user.c"),
        "make_mounts_private": ("the mounts of a new user namespace are slaves of the machine's: nothing goes out (mount_namespaces(7))",),
        "show_workspace": ("shows something; a run without it sees less",),
        "show_interpreter_files": ("shows something; a run without it sees less",),
        "become_readable_again": ("gives something back to the program of a copied interpreter",),
        "enter_control_groups": ("what was not entered counts as missing, and other limits take its place",),
        "write_identity_files": ("names, no boundary",),
        "make_devices": ("shows something; a run without it sees less",),
        "mount_proc": ("shows something; a run without it sees less",),
        "make_view_read_only": ("Landlock gives no rights there", ("landlock",), "A2-write-view.sh"),
        "drop_capabilities": ("execve of an ordinary user loses them", ("capabilities", "seccomp", "landlock"), "A14-mount-tmpfs.c"),
        "start_session": ("no terminal is to be had, and the supervisor, in whose group it stays, is another user's",),
        "close_other_descriptors": ("all that is open is close-on-exec", ("leaked-descriptor", "landlock"), "A3-inherited-descriptor.sh"),
        "hand_over_listener": ("without it a call that ends a run fails instead",),
        "enter_home": ("where a program starts is no boundary",),
        **{name: (ONLY_ENDPOINTS,) for name in ("raise_loopback", "limit_socket_memory", "hand_over_endpoints")},
        "restrict_by_landlock": ("the second check behind the mounts", ("make_view_read_only",), "A2-write-view.sh"),
    }
    for name in STEPS:
        yield Mutant(f"step {name}", [f"step {name}"], [attacks[name]] if name in attacks else [], *reasons.get(name, ()))


def namespace_mutants():
    for name in NAMESPACES:
        yield Mutant(f"namespace {name}", [f"namespace {name}"], [])


def seccomp_mutants():
    listed = json.loads(POLICY.read_text())
    attacks = {"namespaces and mounts": "C53-unshare-high-bits.c", "other processes": "C36-trace-child.c",
               "large kernel surfaces": "C50-add-key.c", "the machine": "C50-host-name.c", "attacks": "C50-kexec.c",
               "watching files": "C55-watch-files.c", "the first process": "C56-limit-first-process.c",
               "leases and notices": "C55-lease-file.c", "huge pages of a map": "D63-huge-pages.c",
               "huge pages of a memory file": "D63-huge-pages.c", "the first process's priority": "B31-slow-first-process.c",
               "new namespaces": "B32-clone-parent.c", "terminal input": "C41-terminal-input.c",
               "socket families without network": "C44-netlink.c", "default": "C58-new-call.c", "interfaces": "C51-i386-call.c"}
    reasons = {
        "namespaces and mounts": ("no capabilities, and no namespace may be made that has them", ("disable_nested_namespaces",),
                                  "C53-unshare-high-bits.c"),
        "the machine": ("no capabilities", ("capabilities",), "C50-host-name.c"),
        "exit request": ("the kernel has nothing behind the call",),
        "huge pages of a shared memory": ("the kernel wants a privilege for it",),
        "terminal input": ("there is no terminal in the view", ("terminal", "landlock"), "C41-terminal-input.c"),
        "protocols with network": ("only for runs with network, which this suite has none of",),
        "socket families with network": ("only for runs with network, which this suite has none of",),
    }
    reasons.update({group["name"]: (ONLY_ENDPOINTS,) for group in listed["guard"] if group.get("network") == "endpoints"})
    names = [group["name"] for key in ("refuse", "kill", "guard") for group in listed[key] if "blueprint" not in group] + ["default", "interfaces"]
    for name in names:
        yield Mutant(f"seccomp {name}", [f"seccomp {name}"], [attacks[name]] if name in attacks else [], *reasons.get(name, ()))


def limit_mutants():
    attacks = {"core": "D73-core-file.sh", "memlock": "D59-lock-memory.c", "sigpending": "C56-pending-signals.c",
               "msgqueue": "C55-message-queue.c", "rtprio": "B31-real-time.c", "nice": "B31-more-priority.c",
               "nofile": "D64-descriptors.c", "fsize": "A15-large-file.sh", "cpu": "B24-deaf-spinner.c", "nproc": "B20-fork-bomb.c"}
    reasons = {"rtprio": ("a machine gives none unless it is told to",), "nice": ("a machine gives none unless it is told to",),
               "nproc": ("the control group refuses first", ("group-pids",), "B20-fork-bomb.c"),
               "msgqueue": ("Landlock gives no rights on the kernel's own file systems", ("landlock",), "C55-message-queue.c"),
               "data": ("only where no control group counts memory",)}
    for name in RLIMITS:
        yield Mutant(f"rlimit {name}", [f"rlimit {name}"], [attacks[name]] if name in attacks else [], *reasons.get(name, ()))
    yield Mutant("cgroup memory", ["cgroup memory"], ["D61-memory-bomb.c"])
    yield Mutant("cgroup pids", ["cgroup pids"], ["B20-fork-bomb.c"])
    yield Mutant("scratch size", ["scratch size"], ["A15-fill-scratch.sh"])
    yield Mutant("scratch inodes", ["scratch inodes"], ["A16-many-files.sh"])


def mount_mutants():
    yield Mutant("mounts read-only", ["mount read-only"], ["A2-write-shown.sh"])
    yield Mutant("mounts nosuid", ["mount nosuid"], [], "no new privileges, and ids that the namespace does not have")
    yield Mutant("mounts nodev", ["mount nodev"], [], "no node can be made in a user namespace")
    yield Mutant("mounts noexec", ["mount noexec"], [], "devices, which are no programs")
    yield Mutant("workspace by an overlay", ["workspace bind"], ["C43-workspace-socket.py"])
    yield Mutant("first process dumpable", ["readable init"], ["C39-init.sh"], "Landlock keeps a program from processes without its rules",
                 ("landlock",), "C39-init.sh")


def own_groups():
    """Of the list of system calls, those of the blueprint without namespaces alone."""
    listed = json.loads(POLICY.read_text())
    return [group["name"] for key in ("guard", "emulate") for group in listed[key] if "blueprint" in group]


def unprivileged_step_mutants():
    attacks = {"enter_inner_domain": "A1-read-file.c", "restrict_system_calls": "C36-trace-child.c", "limit_resources": "D64-descriptors.c",
               "become_subreaper": "B20-orphans.c", "enter_outer_domain": "B28-descendant.sh", "clear_capabilities": "B31-real-time.c"}
    reasons = {
        "check_supervision": ("a check; what it asks /proc for is there",),
        "note_inheritance": ("a copied interpreter counts with the memory of its original then, which is more and not less",),
        "adopt_for_shell": ("gives the main program of a shell's session its orphans; without it the init has them",),
        "enter_control_groups": ("what was not entered counts as missing, and the init counts in its place",),
        "become_prompt": ("a wish to the scheduler, which an older kernel does not know",),
        "become_unreadable": ("the inner domain keeps programs from what is outside of it", ("enter_inner_domain",), "C39-own-init.py"),
        "start_guardian": ("the supervisor kills what a killed init leaves, as long as it lives", ("spared-orphans",), "B28-outlive-first-process.c"),
        "start_session": ("no terminal is to be had, and the inner domain keeps signals from the group that it stays in",),
        "close_other_descriptors": ("all that is open is close-on-exec", ("leaked-descriptor", "enter_inner_domain"), "A3-inherited-descriptor.c"),
        "enter_home": ("where a program starts is no boundary",),
        "become_first_victim": ("whom the kernel ends where a machine has no memory left is no boundary of the run",),
        "hand_over_listener": ("the calls that the init would answer fail instead",),
    }
    for name in UNPRIVILEGED_STEPS:
        yield Mutant(f"step {name}", [f"step {name}"], [attacks[name]] if name in attacks else [], *reasons.get(name, ()))


def unprivileged_seccomp_mutants():
    memory = "memory files,shared memory without a file,memory in pipes,memory in sockets,memory in rules"
    setuid = "set-user-ID files by open,set-user-ID files by openat,set-user-ID files by creat and mknod,set-user-ID files by mknodat," \
        "set-user-ID files by openat2"
    attacks = {"no sockets": "C43-datagram-socket.c", "pairs of connected sockets": "C43-datagram-pair.c",
               "addresses of sockets": "C42-take-name.c", "inter-process communication of the machine": "C55-shared-memory.c",
               "disk without writing": "A15-take-without-writing.c", "other processes of the same user": "B31-slow-own-init.c",
               "priorities of the same user's processes": "B31-slow-own-init.c", "orphans": "B28-adopt-orphans.c",
               "hidden processes": "C39-hide.c", "requests to files and devices": "A2-file-requests.c",
               "extended attributes": "A2-extended-attributes.c", "attributes of files": "A2-attributes.c",
               **dict.fromkeys(memory.split(","), "D62-uncounted-memory.c"), **dict.fromkeys(setuid.split(","), "A8-make-setuid.c")}
    reasons = {"sending to an address": ("no socket is to be had that sends to one", ("pairs of connected sockets",), "C43-datagram-address.c")}
    for name in own_groups():
        yield Mutant(f"seccomp {name}", [f"seccomp {name}"], [attacks[name]] if name in attacks else [], *reasons.get(name, ()))


def unprivileged_mutants():
    return [*unprivileged_step_mutants(), *unprivileged_seccomp_mutants(), Mutant("supervision", ["supervision all"], ["A16-many-files.py"]),
            Mutant("orphans killed by the supervisor", ["orphans spared"], [], "the guardian kills what a killed init leaves", ("start_guardian",),
                   "B28-outlive-first-process.c")]


def mutants():
    return [*step_mutants(), *namespace_mutants(), *seccomp_mutants(), *limit_mutants(), *mount_mutants()]
