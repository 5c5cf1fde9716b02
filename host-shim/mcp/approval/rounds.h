/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approvals that wait for a client's next try, as the revision 2026-07-28 does it: the call has
 * been answered with "input_required", and the client sends it again with what its person said.
 * One entry a request. Identical calls may wait side by side, each with a state of its own, and
 * each state serves once. Under the server's lock.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "mcp/approval/request_state.h"

#define ROUNDS_LIMIT   256u
#define ROUNDS_KEPT_MS 900000 /* longer than a provider remembers a pending request */
#define ROUNDS_STATES  1024u  /* of one round: as many as calls may be made at the same time */

struct round {
    struct round *next;
    char (*nonces)[REQUEST_STATE_NONCE + 1]; /* of the states that have not served, oldest first */
    size_t nonce_count;
    char request_sha256[65];
    char principal[64];
    uint64_t token; /* the provider's, for tool_reply_approval() */
    int wait_ms;    /* how long a state is good */
    int64_t forget_ms;
    json_t *request; /* what the person is asked about */
};

struct rounds {
    unsigned char key[REQUEST_STATE_KEY];
    struct round *first;
    size_t count;
};

bool rounds_init(struct rounds *rounds, struct failure *failure);
void rounds_clear(struct rounds *rounds);

/* A round for a request that the provider remembers as pending under the token, which takes the
 * place of one before; the request is held. false: too many wait, or out of memory. */
bool rounds_open(struct rounds *rounds, const char *request_sha256, const char *principal,
                 uint64_t token, int wait_ms, json_t *request);
/* The round of an earlier call for the same request; NULL where there is none. */
struct round *rounds_find(struct rounds *rounds, const char *request_sha256, const char *principal);
/* A new state for the round, good for that call. false: no random numbers, or out of memory. */
bool rounds_make_state(struct rounds *rounds, struct round *round, const char *call_sha256,
                       char ret_state[REQUEST_STATE_LIMIT]);
/* Which round is it the state of? It does not serve again. NULL with REQUEST_STATE_EXPIRED where it
 * has served before, or is too old to be remembered. */
struct round *rounds_take_state(struct rounds *rounds, const char *state, const char *principal,
                                const char *call_sha256, enum request_state_verdict *ret_verdict);
/* The person has decided about a state that was taken: the round ends with its last one. */
void rounds_answered(struct rounds *rounds, struct round *round);
