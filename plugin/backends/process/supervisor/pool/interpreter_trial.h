/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trial of modules that only a program names: before they may be imported outside of a sandbox,
 * an interpreter imports them in one. It reports the files that were read and other effects. Runs
 * in the supervisor.
 */
#pragma once

#include <stdbool.h>

#include "backends/process/supervisor/launch/sandbox_handle.h"
#include "protocol/preparation_outcome.h"

#define INTERPRETER_TRIAL_US (UINT64_C(60) * 1000000) /* how long one may take */

/* Begins a trial; sandbox_handle_stirs() tells its end. NULL: no sandbox could be made. */
struct sandbox_handle *interpreter_trial_start(const struct sandbox_template *template,
                                               const struct run_limits *limits,
                                               struct run_environment *environment);

/* The result of a trial: may its modules be imported outside of a sandbox? Yes where each is
 * absent, or belongs to the distribution, had no effect, and read no file that another user than
 * root and that of this process can change. false: *reterr. */
bool interpreter_trial_was_good(const struct sandbox_handle *trial,
                                struct preparation_outcome *reterr);
