/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that asks for its approval, and the host that is asked: what it says, and what it does
 * inside the callback. Single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "approval/approval.h"

#define HASH       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ALLOW_ONCE "{\"decision\":\"allow_once\"}"

/* What the host does inside the callback. */
struct asker {
    uint32_t verdict;
    const char *answer; /* NULL: none yet */
    bool forgets;
    bool asks_again; /* an identical call of another thread, as it were */
    bool cancelled;
    bool speechless;     /* the request cannot be made */
    uint64_t timeout_ms; /* 0: TIMEOUT_MS */
    const char *hash;    /* NULL: HASH */
    unsigned answers;    /* 0: all */
    unsigned asked;
    uint64_t token;
    int32_t reply;
    bool allowed;
    struct approval_outcome outcome;
    struct error error;
};

/* What a call without members of its own asks; user is NULL. */
extern const struct approval_question question;

/* Sets what came of it; outcome.arguments are the caller's then. */
void ask(struct asker *asker);

/* A request that waits for its answer, from a call that is over; returns its token. */
uint64_t leave_pending(void);

/* Nothing was kept of what failed: the next call asks, and is heard. */
void expect_unused_table(void);
