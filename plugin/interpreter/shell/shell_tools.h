/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of tools that processes of a shell's session make by the command `tool`. The channel of
 * a cell (RUN_RESULTS_FD, RUN_TOOLS_FD) is here alone, because a shell can take no socket and a
 * process that is killed may not leave a frame without its rest. What calls sends whole frames over
 * a socket of its own (interpreter/tool_command/tool_frame.h), and belongs to the cell under way
 * when it asks. Without one, or where that has no tools, it hears so at once. Runs in the main
 * program of a shell's session, which it never keeps waiting while a cell is executed.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "interpreter/tool_command/tool_locks.h"

#define SHELL_TOOLS_ASKING \
    (TOOL_CELL_SLOTS + 4) /* processes at one time; others wait to be taken */
#define SHELL_TOOLS_WATCHED (SHELL_TOOLS_ASKING + 3)

/* The shell's end of the socket on which processes ask, the caller's to close; -1 with errno. */
int shell_tools_open(void);

/* Around a cell. The end is told behind what is left of a frame that has been begun; open calls end
 * with it, and RUN_TOOLS_FD is closed. */
void shell_tools_begin_cell(bool has_tools);
void shell_tools_end_cell(void);

/* What to wait for, and what to do then. */
void shell_tools_watch(struct pollfd ret[SHELL_TOOLS_WATCHED]);
void shell_tools_serve(const struct pollfd ready[SHELL_TOOLS_WATCHED]);
