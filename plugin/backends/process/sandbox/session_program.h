/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A further interpreter of a session, for another language: a child of the init that goes through
 * the steps of the first one's payload. Processes of the session are there already, as the same
 * user, so it stays unreadable to them until its execve, when every layer is on. The view may not
 * have our files for its language: they come in a memfd, and it writes them to a directory of its
 * own below /tmp. Runs in the init of a sandbox and in that child, single-threaded; the files are
 * packed in the supervisor.
 */
#pragma once

#include "backends/process/program/main_program.h"
#include "backends/process/sandbox/sandbox.h"

/* In the supervisor: a sealed memfd with the files of that runner (enum run_interpreter), and the
 * command that calls tools where it is wanted; or -1 with errno. */
int session_program_files(uint32_t runner, bool tool_command);

/* In the init, once: its sandbox, which lives as long as the process. */
void session_program_init(const struct sandbox *sandbox);

/* In the init: takes the order SANDBOX_PROGRAM off the supervisor's socket, where it is next,
 * starts the program, and answers with REPORT_PROGRAM. Where it has not started in time it is
 * killed. */
void session_program_add(struct main_program *program, int supervisor);
