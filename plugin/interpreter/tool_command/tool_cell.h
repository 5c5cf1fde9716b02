/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call in a cell of a shell's session, where the main program of the session has the channel
 * (interpreter/shell/shell_tools.h) and this process asks it (tool_frame.h). Single-threaded; runs
 * in the command that calls tools.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interpreter/tool_command/tool_channel.h"

/* Whether RUN_TOOLS_FD leads there. */
bool tool_cell_is_there(void);

/* ask: TOOL_ASK_CALL, with its frame, or TOOL_ASK_LISTING. NULL and *ret, whose form is that of an
 * error where there are no tools; or why there is no answer, static. */
const char *tool_cell_ask(char ask, const unsigned char *frame, size_t length,
                          struct tool_reply *ret);
