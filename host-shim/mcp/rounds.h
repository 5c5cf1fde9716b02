/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approvals that wait for a client's next try, as the revision 2026-07-28 does it: the call has
 * been answered with "input_required", and the client sends it again with what its person said.
 * One entry a request; each state handed out for it serves once. Under the server's lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "mcp/request_state.h"

#define ROUNDS_LIMIT   256u
#define ROUNDS_KEPT_MS 900000 /* longer than a provider remembers a pending request */

struct round {
    struct round *next;
    char nonce[REQUEST_STATE_NONCE + 1]; /* of the one state that serves */
    char request_sha256[65];
    char principal[64];
    uint64_t token; /* the provider's, for tool_reply_approval() */
    int wait_ms;    /* how long a state is good */
    int64_t forget_ms;
    char *message; /* what the person is shown */
};

struct rounds {
    unsigned char key[REQUEST_STATE_KEY];
    struct round *first;
    size_t count;
};

bool rounds_init(struct rounds *rounds, struct failure *failure);
void rounds_clear(struct rounds *rounds);

/* A round for a request that the provider remembers as pending under the token; the message is
 * copied. false: too many wait, or out of memory. */
bool rounds_open(struct rounds *rounds, const char *request_sha256, const char *principal,
                 uint64_t token, int wait_ms, const char *message);
/* The round of an earlier call for the same request; NULL where there is none. */
struct round *rounds_find(struct rounds *rounds, const char *request_sha256, const char *principal);
/* A new state for the round, good for that call; the states before serve no more. */
bool rounds_make_state(struct rounds *rounds, struct round *round, const char *call_sha256,
                       char ret_state[REQUEST_STATE_LIMIT]);
/* Which round is it the state of? NULL with REQUEST_STATE_EXPIRED where it has served before, or
 * is too old to be remembered. */
struct round *rounds_of_state(struct rounds *rounds, const char *state, const char *principal,
                              const char *call_sha256, enum request_state_verdict *ret_verdict);
/* Ends it; no state of it serves again. */
void rounds_close(struct rounds *rounds, struct round *round);
