/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run without isolation (mode none): its subreaper, which every descendant is re-parented to
 * (PR_SET_CHILD_SUBREAPER), so that none outlives the run. The subreaper is the supervisor's own
 * code in a process of its own.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "protocol/run_description.h"

#define UNCONFINED_INPUTS_FD 4
#define UNCONFINED_FILES_FD  5

/* Body of the subreaper. Descriptors 0-2 are the run's, 3 is the report socket, 4 RUN_FD_INPUTS,
 * which it closes before anything is started, and 5 RUN_FD_FILES. directory is a
 * fresh directory of the run's own, which the subreaper removes at the end. Takes the description's
 * environment. */
_Noreturn void unconfined_keep(struct run_description *description, const char *directory);

/* Stops, then kills every child of this process but the spared, and everything below them. Stopping
 * all first keeps a fork bomb from growing faster than it is killed. Does not wait. true: there was
 * none. The supervisor calls it as well: a program may kill its subreaper, whose children then
 * become the supervisor's. */
bool orphans_kill(bool (*is_spared)(pid_t pid, void *user), void *user);
