/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the host's answers to a run's questions arrive: those to calls of its tools, and those to
 * approvals of such calls. One table of the process has the tokens that are open; any thread
 * answers one, which is copied and wakes the run. The rest belongs to the thread inside
 * tool_invoke() whose run it is. The mutex is never held during a callback.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "host/host.h"

struct tool_inbox;

/* One answer; owned by the inbox until tool_inbox_take(). */
struct tool_inbox_answer {
    struct tool_inbox_answer *next;
    uint64_t token;
    enum token_kind kind;
    size_t length;
    char bytes[]; /* with a NUL behind them */
};

/* {.wake_fd = -1} is none. */
struct tool_inbox {
    int wake_fd; /* becomes readable when an answer arrives */
    struct tool_inbox_answer *first;
    struct tool_inbox_answer **end;
};

/* *ret must stay where it is until tool_inbox_close(). */
bool tool_inbox_open(struct tool_inbox *ret, struct error *error);
/* No token of it is open any more, and what has arrived is wiped. */
void tool_inbox_close(struct tool_inbox *inbox);

/* Opens a token whose answer has at most limit bytes. false without memory or entropy. */
bool tool_inbox_expect(struct tool_inbox *inbox, enum token_kind kind, size_t limit,
                       uint64_t *ret_token);
/* The token is unknown from now on; false where it was already, or its answer has arrived. */
bool tool_inbox_forget(struct tool_inbox *inbox, uint64_t token);
/* The oldest answer, for the caller to tool_inbox_answer_free(); NULL: there is none. */
struct tool_inbox_answer *tool_inbox_take(struct tool_inbox *inbox);
void tool_inbox_answer_free(struct tool_inbox_answer *answer);

/* tool_reply_call(), and tool_reply_approval() for a token that no request for a run has.
 * TOOL_INVALID: bytes is NULL or too long, and an empty answer has arrived in its place. */
int32_t tool_inbox_reply(enum token_kind kind, uint64_t token, const char *bytes, size_t length);

/* In a child of fork(): no token is open. Takes no lock. */
void tool_inbox_after_fork(void);
