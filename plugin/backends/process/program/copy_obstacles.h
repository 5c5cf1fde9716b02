/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of an interpreter its copy would not have, or would share with it, as /proc tells it: the
 * interpreter itself asks, or its init where programs can read nothing there. No state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Has the first thread of that process other children than so many? Also where that cannot be seen.
 */
bool copy_obstacles_has_children(pid_t pid, size_t known);

/* Has it a mapping that is shared and can be written to? Also where its mappings cannot be seen. */
bool copy_obstacles_shares_memory(pid_t pid);
