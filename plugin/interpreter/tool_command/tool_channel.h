/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one process among all of a run that call tools at the same time, over the two
 * descriptors that they have in common (docs/internals/tools-inside.md). Each takes its own answer
 * from the socket; that of a process that has ended is dropped by the next one that reads. In a
 * cell of a session there is another way (tool_cell.h). Single-threaded; runs in the command that
 * calls tools.
 */
#pragma once

#include <stddef.h>

#include "protocol/tool_protocol.h"

/* {0} is none. */
struct tool_reply {
    enum tool_answer_form form;
    unsigned char *bytes; /* what stands behind the form in the frame, and room for one more */
    size_t length;
    unsigned char *frame; /* owned: free() */
};

/* Calls a tool by the name that the gateway knows; the arguments have at most TOOL_ARGUMENTS_LIMIT
 * bytes. NULL and *ret; or why there is no answer, static. */
const char *tool_channel_call(const char *name, const void *arguments, size_t length,
                              struct tool_reply *ret);

/* What the gateway tells of the tools: a JSON array, or an error where the cell has none. In a run
 * the first process takes it off the socket, and leaves it for the others (tool_listing.h). NULL
 * and *ret; or why not, static. */
const char *tool_channel_listing(struct tool_reply *ret);
