/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a cell of a session leaves: collected as those of a run, but of a tree that goes
 * on. Its processes are stopped meanwhile. Runs in the init of a sandbox, single-threaded.
 */
#pragma once

#include "backends/process/program/main_program.h"

/* Which directory is collected from, as long as the process. Ahead of the rest. */
void cell_files_init(const char *home);

/* Notes all files that are there as told of: they are back, and nobody has changed them. */
void cell_files_note(void);

/* Takes the order SANDBOX_COLLECT_CELL off the supervisor's socket, where it is next, and hands
 * over what is new or changed since the order before. Where the processes do not stop in time, the
 * frames say so, and nothing is collected. */
void cell_files_collect(struct main_program *program, int supervisor);
