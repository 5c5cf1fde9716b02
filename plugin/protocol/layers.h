/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The isolation layers that a backend can put around a run, and its report of them. One table names
 * them for the policy ("require"), the result ("isolation"), the doctor and the documentation. A
 * backend reports a layer as applied only after the call that applies it has succeeded in that run.
 */
#pragma once

#include <stdint.h>

/* Why a layer cannot be had, where several have the same reason. */
#define LAYER_REMEDY_NAMESPACE                                                                   \
    "the kernel needs this kind of namespace, and the container or AppArmor profile around the " \
    "gateway must allow it; see also sysctl user.max_*_namespaces"
#define LAYER_REMEDY_MOUNT                                                                     \
    "Linux 5.12 or newer is needed (mount_setattr), and AppArmor or the container around the " \
    "gateway must allow mounts inside a user namespace"
#define LAYER_REMEDY_NONE \
    "this should work on every supported kernel (Linux 5.12 or newer): report it"

/* X(constant, name, what it does, in process mode, what an operator can do where that does not have
 * it) in the order in which the process backend applies them. MANDATORY: process mode never runs
 * without it, whatever the policy says; WANTED: it does, unless the policy requires the layer;
 * WITH_ENDPOINTS: MANDATORY for runs with endpoints, and not there for others. */
#define ISOLATION_LAYERS(X)                                                                        \
    X(USER_NAMESPACE, "user_namespace", "an identity of its own, without rights outside",          \
      MANDATORY,                                                                                   \
      "inside a container, the engine forbids user namespaces: give it a seccomp profile that "    \
      "allows the calls named in docs/operations.md (clone, unshare, mount, ...), or use "         \
      "CODE_EXEC_SANDBOX=docker where the policy allows it, or process mode without namespaces "   \
      "(policies/in-container.json); else the kernel needs CONFIG_USER_NS")                        \
    X(PID_NAMESPACE, "pid_namespace", "sees and signals only its own processes; dies as a whole",  \
      MANDATORY, LAYER_REMEDY_NAMESPACE)                                                           \
    X(MOUNT_NAMESPACE, "mount_namespace", "mounts of its own", MANDATORY, LAYER_REMEDY_NAMESPACE)  \
    X(NETWORK_NAMESPACE, "network_namespace",                                                      \
      "no network interface but a loopback, which is down unless the run has endpoints",           \
      MANDATORY, LAYER_REMEDY_NAMESPACE)                                                           \
    X(IPC_NAMESPACE, "ipc_namespace", "System V and POSIX IPC of its own", MANDATORY,              \
      LAYER_REMEDY_NAMESPACE)                                                                      \
    X(UTS_NAMESPACE, "uts_namespace", "a host name of its own", MANDATORY, LAYER_REMEDY_NAMESPACE) \
    X(CGROUP, "cgroup", "memory and processes capped and counted for the whole tree", WANTED,      \
      "run the gateway in a leaf of a delegated cgroup (systemd: Delegate=yes and "                \
      "DelegateSubgroup=gateway in its unit, see docs/operations.md), or take \"cgroup\" "         \
      "out of the policy's \"require\"")                                                           \
    X(ENDPOINT_BROKER, "endpoint_broker",                                                          \
      "the run's endpoints are reached through one loopback port, at which the gateway's broker "  \
      "answers",                                                                                   \
      WITH_ENDPOINTS, LAYER_REMEDY_NONE)                                                           \
    X(CGROUP_NAMESPACE, "cgroup_namespace", "the host's cgroup paths are not seen", MANDATORY,     \
      LAYER_REMEDY_NAMESPACE)                                                                      \
    X(READ_ONLY_ROOT, "read_only_root", "pivot_root into a read-only view of the runtimes",        \
      MANDATORY, LAYER_REMEDY_MOUNT)                                                               \
    X(SCRATCH, "scratch", "a writable memory file system with size and inode caps", MANDATORY,     \
      LAYER_REMEDY_MOUNT)                                                                          \
    X(PROC, "proc", "a /proc of its own with nothing but its own processes", WANTED,               \
      "inside a container, /proc is masked: start it with --security-opt "                         \
      "systempaths=unconfined (Docker) or procMount: Unmasked (Kubernetes), or take "              \
      "\"proc\" out of the policy's \"require\"")                                                  \
    X(CAPABILITIES, "capabilities", "every capability dropped, the bounding set included",         \
      MANDATORY, LAYER_REMEDY_NONE)                                                                \
    X(RESOURCE_LIMITS, "resource_limits", "setrlimit: files, processes, memory, core, CPU",        \
      MANDATORY, LAYER_REMEDY_NONE)                                                                \
    X(NO_NEW_PRIVILEGES, "no_new_privileges", "set-user-ID programs give nothing", MANDATORY,      \
      LAYER_REMEDY_NONE)                                                                           \
    X(LANDLOCK, "landlock", "a second check on paths, abstract sockets and signals", WANTED,       \
      "the kernel needs Landlock (CONFIG_SECURITY_LANDLOCK, and landlock in lsm=), or take "       \
      "\"landlock\" out of the policy's \"require\"")                                              \
    X(SECCOMP, "seccomp", "system calls outside the allow-list do not exist", MANDATORY,           \
      "the kernel needs CONFIG_SECCOMP_FILTER")

enum isolation_layer {
#define X(constant, ...) LAYER_##constant,
    ISOLATION_LAYERS(X)
#undef X
        LAYER_COUNT
};

#define LAYER_BIT(layer) (UINT64_C(1) << (layer))
#define LAYERS_ALL       (LAYER_BIT(LAYER_COUNT) - 1)
/* Without those that only some runs have. */
#define LAYERS_EVERY_RUN (LAYERS_ALL & ~LAYER_BIT(LAYER_ENDPOINT_BROKER))
/* The ones without which process mode never runs. */
#define LAYER_BIT_MANDATORY(layer) | LAYER_BIT(layer)
#define LAYER_BIT_WANTED(layer)
#define LAYER_BIT_WITH_ENDPOINTS(layer)
#define LAYER_BIT_IF_MANDATORY(constant, name, meaning, need, remedy) \
    LAYER_BIT_##need(LAYER_##constant)
#define LAYERS_MANDATORY (UINT64_C(0) ISOLATION_LAYERS(LAYER_BIT_IF_MANDATORY))

/* Process mode without namespaces never runs without these. */
#define LAYERS_UNPRIVILEGED                                             \
    (LAYER_BIT(LAYER_CAPABILITIES) | LAYER_BIT(LAYER_RESOURCE_LIMITS) | \
     LAYER_BIT(LAYER_NO_NEW_PRIVILEGES) | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SECCOMP))
/* Where it may write a cgroup, it has that as well. It never has any of the others. */
#define LAYERS_UNPRIVILEGED_POSSIBLE (LAYERS_UNPRIVILEGED | LAYER_BIT(LAYER_CGROUP))

/* Docker mode never runs without these: the layers of every hardened container. A user namespace is
 * the engine's choice, and Landlock the choice of its kernel. gVisor shows the path of a control
 * group. */
#define LAYERS_DOCKER                                                                   \
    (LAYERS_EVERY_RUN & ~(LAYER_BIT(LAYER_USER_NAMESPACE) | LAYER_BIT(LAYER_LANDLOCK) | \
                          LAYER_BIT(LAYER_CGROUP_NAMESPACE)))

/* Mode kubernetes the same, but that each pod has an interface of the cluster's network. Whether it
 * reaches anything is tried, and its programs get no socket of a network in either case. */
#define LAYERS_KUBERNETES (LAYERS_DOCKER & ~LAYER_BIT(LAYER_NETWORK_NAMESPACE))

/* The layer's name as users read it; layer < LAYER_COUNT. */
const char *isolation_layer_name(enum isolation_layer layer);
const char *isolation_layer_meaning(enum isolation_layer layer);
const char *isolation_layer_remedy(enum isolation_layer layer);

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
