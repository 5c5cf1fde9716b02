/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approvals that wait for a client's next request, as in revision 2026-07-28: the call is answered
 * with "input_required", and the client sends it again with what its user said. One entry a
 * request. Identical calls may wait side by side; each has a state of its own, and each state
 * serves once. Under the server's lock.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "mcp/approval/request_state.h"

#define INPUT_REQUIRED_LIMIT   256u
#define INPUT_REQUIRED_KEPT_MS 900000 /* longer than a provider remembers a pending request */
#define INPUT_REQUIRED_STATES  1024u  /* of one entry: calls that may be made at the same time */

struct required_input {
    struct required_input *next;
    char (*nonces)[REQUEST_STATE_NONCE + 1]; /* of the states that have not served, oldest first */
    size_t nonce_count;
    char request_sha256[65];
    char principal[64];
    uint64_t token; /* the provider's, for tool_reply_approval() */
    int wait_ms;    /* how long a state is good */
    uint64_t forget_ms;
    json_t *request; /* what the person is asked about */
};

struct input_required {
    unsigned char key[REQUEST_STATE_KEY];
    struct required_input *first;
    size_t count;
};

bool input_required_init(struct input_required *table, struct failure *failure);
void input_required_clear(struct input_required *table);

/* Adds an entry for a request that the provider remembers as pending under the token, or replaces
 * the one there is; holds the request. false: too many wait, or out of memory. */
bool input_required_open(struct input_required *table, const char *request_sha256,
                         const char *principal, uint64_t token, int wait_ms, json_t *request);
/* The entry of an earlier call for the same request; NULL where there is none. */
struct required_input *input_required_find(struct input_required *table, const char *request_sha256,
                                           const char *principal);
/* A new state for the entry, good for that call. false: no random numbers, or out of memory. */
bool input_required_make_state(struct input_required *table, struct required_input *input,
                               const char *call_sha256, char ret_state[REQUEST_STATE_LIMIT]);
/* The entry that the state belongs to; a state serves once. NULL with REQUEST_STATE_EXPIRED where
 * it has served before, or is too old to be remembered. */
struct required_input *input_required_take_state(struct input_required *table, const char *state,
                                                 const char *principal, const char *call_sha256,
                                                 enum request_state_verdict *ret_verdict);
/* The person has answered with a state that was taken. The entry ends with its last state. */
void input_required_answered(struct input_required *table, struct required_input *input);
