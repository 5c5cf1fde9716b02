/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a program's calls of tools. A call comes on the results pipe: its payload is a
 * stranger's. What goes back over the reply pipe has the same header (run/frame_reader.h): u32
 * length of the payload, u8 kind, both little endian as all numbers here. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/tool_protocol.h"
#include "tools/tool_answer.h"
#include "tools/tool_definition.h"

#define TOOL_ANSWER_HEADER 10 /* of the frame: with the header of every frame */

struct tool_call_frame {
    uint32_t number; /* the program's own for this call, not 0 */
    char name[TOOL_NAME_LIMIT + 1];
    const char *arguments; /* borrowed from the payload, without a NUL; not looked at yet */
    size_t arguments_length;
};

/* The answer to a call that cannot be one. */
struct tool_refusal {
    enum tool_error_code code;
    const char *message; /* static */
};

/* The longest payload that a call with so many bytes of arguments has. */
size_t tool_call_frame_limit(size_t arguments_limit);
/* true: *ret is the call, whose name is UTF-8 without control characters. false: refuse the call of
 * ret->number; or, where that is 0, the payload is no call, and nobody waits for an answer. */
bool tool_call_frame_read(const unsigned char *payload, size_t length, size_t arguments_limit,
                          struct tool_call_frame *ret, struct tool_refusal *ret_refusal);

/* What goes ahead of the answer's bytes. An answer has less than 4 GiB. */
void tool_answer_frame_header(uint32_t number, const struct tool_answer *answer,
                              unsigned char ret[TOOL_ANSWER_HEADER]);
/* The whole frame TOOL_FRAME_TOOLS, new, of a list of tool_list_select(). NULL: out of memory. */
unsigned char *tool_list_frame(const struct tool_list *tools, uint32_t max_in_flight,
                               size_t *ret_length);
