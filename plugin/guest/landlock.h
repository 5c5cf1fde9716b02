/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Landlock ruleset of every program in a sandbox (landlock(7); the kernel's
 * userspace-api/landlock.rst): a second check behind the mounts, alike in all modes.
 */
#pragma once

#include <stdbool.h>

/* What this kernel knows of it; 0: it has none. */
int landlock_abi(void);
/* Restricts the calling process, after no_new_privs; network: it may use TCP. The ABI in force, or
 * -1 with errno. */
int landlock_restrict(bool network);
