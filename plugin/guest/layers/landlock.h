/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Landlock rulesets of programs in a sandbox (landlock(7); the kernel's
 * userspace-api/landlock.rst). Where there are mounts they are a second check behind them, alike in
 * all modes; where there are none they are the first. Runs in the process that is restricted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LANDLOCK_ABI_SCOPES 6 /* the first that has them: Linux 6.12 */

/* What may be done to a path and what is below it. */
enum landlock_access {
    LANDLOCK_READ, /* and execute */
    LANDLOCK_DEVICE,
    LANDLOCK_READ_FILE, /* one, and no more than that */
    LANDLOCK_SCRATCH,
};

struct landlock_rule {
    const char *path; /* one that does not exist needs no rule */
    enum landlock_access access;
};

/* What this kernel knows of it; 0: it has none. */
int landlock_abi(void);
/* What it may do with TCP, where the kernel knows that (ABI 4). */
enum landlock_network {
    LANDLOCK_NETWORK_NONE,
    LANDLOCK_NETWORK_ENDPOINTS, /* connect to RUN_ENDPOINTS_PORT, whatever the address is */
    LANDLOCK_NETWORK_ALL,
    LANDLOCK_NETWORKS
};

/* Restricts the calling process, after no_new_privs. The ABI in force, or -1 with errno. */
int landlock_restrict(enum landlock_network network);
/* The same with other rules than those of a sandbox's own file view, and without network; of a list
 * after the devices, which may always be used. */
int landlock_restrict_to(const struct landlock_rule *rules, size_t count);
/* The same with the network. */
int landlock_restrict_files(const struct landlock_rule *rules, size_t count);
/* Only signals and abstract sockets, to the calling process and what descends from it. EOPNOTSUPP:
 * this kernel has no scopes. */
int landlock_restrict_scope(void);
