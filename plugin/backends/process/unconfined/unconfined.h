/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run without isolation (mode none): its subreaper, which every descendant is re-parented to
 * (PR_SET_CHILD_SUBREAPER), so that none outlives the run. The subreaper is the supervisor's own
 * code in a process of its own.
 */
#pragma once

#include "protocol/run_description.h"

/* Body of the subreaper. Descriptors 0-2 are the run's, 3 is the report socket. directory is a
 * fresh directory of the run's own, which the subreaper removes at the end. Takes the description's
 * environment. */
_Noreturn void unconfined_keep(struct run_description *description, const char *directory);
