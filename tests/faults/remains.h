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
/* Of a directory that is there; "": there is none. */
bool is_empty(const char *directory);
/* At the beginning: mounts of other programs do not come into this process's namespace from now on.
 * Where that is not permitted, they do. */
void keep_mounts_apart(void);
/* Behind that: there are none for this process and what it starts, as in most containers. */
void hide_control_groups(void);
/* Mounts of this process's own namespace. */
size_t count_mounts(void);
/* There are more than before. Fewer are the new measure: with the directory of another program's
 * mount, which it removes in its own namespace, the mount goes from this one too (rmdir(2)). */
bool mounts_are_left(size_t *before);
