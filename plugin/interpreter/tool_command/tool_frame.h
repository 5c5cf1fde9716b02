/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command that calls tools and the main program of a shell's session both know: the
 * numbers in frames (protocol/tool_protocol.h), the longest call, and what one asks of the other.
 * In a cell RUN_TOOLS_FD of a shell and its children is a socket of datagrams. A process that calls
 * sends one of them: a byte, with the end of a stream socket. All else goes over that one: the
 * frame of a call, whose number the session's program chooses, and the frame that is the answer. So
 * no process gets what is another's, and what is under way ends with either side. Pure code.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "protocol/tool_protocol.h"

#define TOOL_ASK_CALL    'c' /* an answer's frame comes back */
#define TOOL_ASK_LISTING 'l' /* without a frame; that of the tools comes back, or an error's */

#define TOOL_ANSWER_HEADER  (TOOL_FRAME_HEADER + 5) /* u32 number, u8 form */
#define TOOL_LISTING_HEADER (TOOL_FRAME_HEADER + TOOL_TOOLS_HEADER)
#define TOOL_FRAME_LIMIT    (UINT32_C(1) << 30) /* bytes; a longer one is none */
#define TOOL_NAME_LIMIT     128                 /* bytes; no tool has a longer one */
#define TOOL_CALL_LIMIT \
    (TOOL_FRAME_HEADER + TOOL_CALL_HEADER + TOOL_NAME_LIMIT + TOOL_ARGUMENTS_LIMIT)

static inline uint32_t tool_frame_number(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline void tool_frame_put_number(uint32_t number, size_t width, unsigned char *ret)
{
    for (size_t i = 0; i < width; i++)
        ret[i] = (unsigned char)(number >> 8 * i);
}

/* Of the whole frame, whose header is there. */
static inline size_t tool_frame_size(const unsigned char *header)
{
    return (size_t)TOOL_FRAME_HEADER + tool_frame_number(header);
}
