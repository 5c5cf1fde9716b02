/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trial of modules that nobody has asked to import outside of a sandbox: an interpreter imports
 * them in one, and tells which files that took and what they did besides. Runs in the supervisor.
 */
#pragma once

#include <stdbool.h>

#include "backends/process/supervisor/launch/sandbox_handle.h"
#include "protocol/preparation_outcome.h"

#define INTERPRETER_TRIAL_US (UINT64_C(60) * 1000000) /* how long one may take */

/* Begins one; its word makes it stir. NULL: no sandbox is to be had. */
struct sandbox_handle *interpreter_trial_start(const struct sandbox_template *template,
                                               const struct run_limits *limits,
                                               struct run_environment *environment);

/* Of one that stirs: may its modules be imported outside of a sandbox? That is so where each is
 * absent, or is the distribution's and has started, written and asked for nothing, and what files
 * were read can be changed by nobody but root and the user of this process. false: *reterr. */
bool interpreter_trial_was_good(const struct sandbox_handle *trial,
                                struct preparation_outcome *reterr);
