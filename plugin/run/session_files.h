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

/* What is wanted of a cell that brings files, before its description is wiped. -1: nothing, or of
 * one that brings none. false with BACKEND_FAILED or OUT_OF_MEMORY. */
bool session_files_describe(const struct run_description *cell, int *ret_wanted,
                            struct error *error);

/* Tells the backend that the cell has ended, and hands its files to run->files. Where the working
 * directory is empty by the cell's own word, the sandbox is not asked: whoever lies there keeps its
 * own files back until a later cell. cause: the cell's; one that was ordered to end has less time
 * for them. */
void session_files_collect(const struct session_run *session, struct run *run, int wanted,
                           const struct cell_word *word, enum run_cause cause);
