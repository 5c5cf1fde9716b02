/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program gets for a call of a tool: the forms of an answer, the codes of its errors, and
 * the bytes of both as they go over the reply pipe. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
