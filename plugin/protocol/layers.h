/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The isolation layers that a backend can put around a run, and its report of them. One table names
 * them for the policy ("require"), the result ("isolation"), the doctor and the documentation. A
 * backend reports a layer as applied only after the call that applies it has succeeded in that run.
 */
#pragma once

#include <stdint.h>

/* X(constant, name, what it does) in the order in which the process backend applies them. */
#define ISOLATION_LAYERS(X)                                                                       \
    X(USER_NAMESPACE, "user_namespace", "an identity of its own, without rights outside")         \
    X(PID_NAMESPACE, "pid_namespace", "sees and signals only its own processes; dies as a whole") \
    X(MOUNT_NAMESPACE, "mount_namespace", "mounts of its own")                                    \
    X(NETWORK_NAMESPACE, "network_namespace", "no network interface but a loopback that is down") \
    X(IPC_NAMESPACE, "ipc_namespace", "System V and POSIX IPC of its own")                        \
    X(UTS_NAMESPACE, "uts_namespace", "a host name of its own")                                   \
    X(CGROUP, "cgroup", "memory and processes capped and counted for the whole tree")             \
    X(CGROUP_NAMESPACE, "cgroup_namespace", "the host's cgroup paths are not seen")               \
    X(READ_ONLY_ROOT, "read_only_root", "pivot_root into a read-only view of the runtimes")       \
    X(SCRATCH, "scratch", "a writable memory file system with size and inode caps")               \
    X(PROC, "proc", "a /proc of its own with nothing but its own processes")                      \
    X(CAPABILITIES, "capabilities", "every capability dropped, the bounding set included")        \
    X(RESOURCE_LIMITS, "resource_limits", "setrlimit: files, processes, memory, core, CPU")       \
    X(NO_NEW_PRIVILEGES, "no_new_privileges", "set-user-ID programs give nothing")                \
    X(LANDLOCK, "landlock", "a second check on paths, abstract sockets and signals")              \
    X(SECCOMP, "seccomp", "system calls outside the allow-list do not exist")

enum isolation_layer {
#define X(constant, name, meaning) LAYER_##constant,
    ISOLATION_LAYERS(X)
#undef X
        LAYER_COUNT
};

#define LAYER_BIT(layer) (UINT64_C(1) << (layer))
#define LAYERS_ALL       (LAYER_BIT(LAYER_COUNT) - 1)
/* The ones without which process mode never runs, whatever the policy says. */
#define LAYERS_MANDATORY \
    (LAYERS_ALL & ~(LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_PROC)))

/* The layer's name as users read it; layer < LAYER_COUNT. */
const char *isolation_layer_name(enum isolation_layer layer);
const char *isolation_layer_meaning(enum isolation_layer layer);

/* Facts beside the bits, as seen by the backend in that run. */
struct isolation_report {
    uint64_t applied;              /* LAYER_BITs */
    uint64_t missing;              /* wanted, but not to be had on this machine */
    uint32_t landlock_abi;         /* 0: none */
    uint32_t cgroup_version;       /* 0: none, 1, 2 */
    uint32_t cgroup_has_memory;    /* the memory controller caps this run */
    uint32_t cgroup_has_pids;      /* the pids controller caps this run */
    uint32_t outer_uid;            /* the uid the run has outside, as the backend sees it */
    uint32_t seccomp_instructions; /* length of the loaded filter */
};
