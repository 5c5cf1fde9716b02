/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a cell leaves, on their way from its session's sandbox (protocol/session.h). Runs
 * on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "run/run.h"
#include "run/session_run.h"

/* What is wanted of a cell, before its description is wiped. -1: nothing. false with
 * BACKEND_FAILED or OUT_OF_MEMORY. */
bool session_files_describe(const struct run_description *cell, int *ret_wanted,
                            struct error *error);

/* Tells the backend that the cell has ended, and hands its files to run->files. cause: the cell's;
 * one that was ordered to end has less time for them. */
void session_files_collect(const struct session_run *session, struct run *run, int wanted,
                           enum run_cause cause);
