/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program gets for a call of a tool: the forms of an answer, the codes of its errors, the
 * bytes of both as they go over the reply pipe, and how the gateway's reply becomes one. Pure code,
 * any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/tool_protocol.h"

/* X(constant, name, meaning). Programs branch on the names: they are never renamed. */
#define TOOL_ERRORS(X)                                                                          \
    X(INVALID_ARGUMENTS, "invalid_arguments", "the arguments do not fit the tool's schema")     \
    X(UNKNOWN_TOOL, "unknown_tool", "the run has no tool of that name")                         \
    X(POLICY_DENIED, "policy_denied", "the policy does not allow the call")                     \
    X(ACCESS_DENIED, "access_denied", "policy or host does not grant the capability")           \
    X(APPROVAL_DENIED, "approval_denied", "the approver said no")                               \
    X(APPROVAL_PENDING, "approval_pending", "the approval request waits for its answer")        \
    X(APPROVAL_TIMEOUT, "approval_timeout", "nobody answered the approval request in time")     \
    X(LIMIT_EXCEEDED, "limit_exceeded", "more calls, in flight, a second or bytes than may be") \
    X(TIMEOUT, "timeout", "the tool did not answer in time")                                    \
    X(CANCELLED, "cancelled", "the call was cancelled")                                         \
    X(HOST_DENIED, "host_denied", "the gateway refused the call")                               \
    X(HOST_FAILED, "host_failed", "the gateway's answer cannot be used")                        \
    X(TOOL_ERROR, "tool_error", "the tool itself answered with an error")                       \
    X(UNAVAILABLE, "unavailable", "no calls are answered any more")

enum tool_error_code {
#define X(constant, name, meaning) TOOL_ERROR_##constant,
    TOOL_ERRORS(X)
#undef X
        TOOL_ERROR_COUNT
};

const char *tool_error_name(enum tool_error_code code);
const char *tool_error_meaning(enum tool_error_code code);

#define TOOL_MESSAGE_LIMIT   4096 /* bytes of an error's message */
#define TOOL_MIME_TYPE_LIMIT 127  /* bytes */

/* {0} is none. */
struct tool_answer {
    enum tool_answer_form form;
    enum tool_error_code code; /* of TOOL_ANSWER_ERROR */
    unsigned char *bytes;      /* owned: what stands behind the form in the frame */
    size_t length;
};

/* The message (UTF-8, or else "?" in the place of what is none) is cut to TOOL_MESSAGE_LIMIT.
 * false: out of memory. */
bool tool_error_answer(enum tool_error_code code, const char *message, bool retryable,
                       struct tool_answer *ret);
/* Wipes and releases it; an empty one is fine. */
void tool_answer_clear(struct tool_answer *answer);

#define TOOL_REPLY_DEPTH_LIMIT  60     /* of arrays and objects */
#define TOOL_REPLY_VALUES_LIMIT 262144 /* a table of 25 000 rows with ten columns */

/* Reads the gateway's reply (tool_reply_call() in abi/tool_provider.h). The text is the gateway's,
 * what it says a tool's: a stranger's. The reply is the result of a tool as MCP has it, {"content":
 * [blocks], "structured_content"?, "is_error"?}, with MCP's spellings of names too, and whatever
 * else it may have. The answer is:
 *   is_error: the error tool_error, with the text of its blocks;
 *   structured_content: JSON;
 *   no block: the JSON null; one of text: text, or, where the tool has an output schema, the JSON
 *   that the text is; one of data: bytes; several, or a link: content.
 * false: it is none (INVALID_HOST, and the message says why), or the answer would have more than
 * limit bytes, or OUT_OF_MEMORY. */
bool tool_reply_read(const char *reply_json, size_t length, size_t limit, bool has_output_schema,
                     struct tool_answer *ret, struct error *error);
