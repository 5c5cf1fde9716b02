/* SPDX-License-Identifier: Apache-2.0 */
/* What a run could have left, as the kernel's own tables have it. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Children of the supervisor, zombies too. */
bool has_children(pid_t supervisor);
/* Control groups of sandboxes. */
bool has_groups_of_runs(pid_t supervisor);
/* At the beginning: mounts of other programs do not come into this process's namespace from now on.
 * Where that is not permitted, they do. */
void keep_mounts_apart(void);
/* Mounts of this process's own namespace. */
size_t count_mounts(void);
