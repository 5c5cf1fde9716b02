/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of calls of tools and their answers, as both ends know them
 * (docs/internals/tools-inside.md): u32 length of the payload, u8 kind and the payload, all numbers
 * little endian. Pure code, any process.
 */
#pragma once

#define TOOL_FRAME_CALL      5 /* its kind, among those of results (results/results.h) */
#define TOOL_FRAME_HEADER    5 /* bytes ahead of each payload */
#define TOOL_CALL_HEADER     6 /* u32 number, u16 length of the name; ahead of name and arguments */
#define TOOL_TOOLS_HEADER    4 /* u32 calls that may be open at the same time; ahead of the tools */
#define TOOL_ARGUMENTS_LIMIT (1 << 20) /* bytes of one call, whatever the policy allows */

/* The kinds of frames on the reply pipe. */
enum tool_frame {
    /* The first one, always: u32 calls that may be open, a JSON array of the run's tools. */
    TOOL_FRAME_TOOLS = 1,
    TOOL_FRAME_ANSWER = 2, /* u32 number of the call, u8 form, the rest by form */
};

/* The form of the rest of an answer's frame. */
enum tool_answer_form {
    TOOL_ANSWER_JSON = 1,    /* any value */
    TOOL_ANSWER_TEXT = 2,    /* UTF-8 */
    TOOL_ANSWER_BYTES = 3,   /* u8 length of the MIME type, MIME type, bytes */
    TOOL_ANSWER_CONTENT = 4, /* a JSON array of blocks */
    TOOL_ANSWER_ERROR = 5,   /* a JSON object {"code", "message", "retryable"} */
};
