/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The birth of a run's first process: the init of a sandbox, or the subreaper of an unconfined run.
 * Neither function waits for the new process. Runs in the supervisor.
 */
#pragma once

#include "backends/process/supervisor/fork_server/fork_server.h"
#include "backends/process/supervisor/launch/sandbox_handle.h"

/* Starts the init of a sandbox, a copy of interpreter where one is given, and lets it go on: maps
 * written, control group made. It then waits for its run. process has its place and its group, and
 * gets pid, pidfd and report. 0, or -1 with *reterr filled and nothing left behind. */
int launch_sandbox(const struct run_environment *environment,
                   const struct sandbox_template *template, struct fork_server *interpreter,
                   struct sandbox_handle *process, struct launch_failure *reterr);

/* The same for a subreaper, without any layer; process has its directory. The child takes what is
 * secret in its copy of the description; the descriptors stay the caller's. */
int launch_unconfined(struct run_description *description, const int fds[RUN_FD_COUNT],
                      struct sandbox_handle *process, struct launch_failure *reterr);
