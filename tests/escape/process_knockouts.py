# SPDX-License-Identifier: Apache-2.0
"""The layers of process mode that a control takes away: each name is some lines of the file that knock_out.c reads. What is let in
is the test's own: its directory, its sockets, its shared memory, the process that it started itself."""
from canaries import SANDBOX_USER

STEPS = ("enter_identity check_own_pid_namespace become_unreadable disable_nested_namespaces set_host_name make_mounts_private build_view "
         "mount_scratch show_read_only_paths show_workspace write_identity_files make_devices mount_proc make_view_read_only "
         "pivot_into_view write_files enter_cgroup_namespace drop_capabilities start_session close_other_descriptors enter_home "
         "limit_resources forbid_new_privileges restrict_by_landlock restrict_system_calls").split()
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
        "processes": ["namespace pid", "step check_own_pid_namespace"],
        "network": ["namespace network"],
        "ipc": ["namespace ipc"],
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
    }
    names.update({f"rlimit-{name}": [f"rlimit {name}"] for name in RLIMITS})
    names.update({f"no-{name}-namespace": [f"namespace {name}"] for name in NAMESPACES})
    names.update({name: [f"step {name}"] for name in STEPS})
    return names
