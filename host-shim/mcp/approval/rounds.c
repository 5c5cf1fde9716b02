/* SPDX-License-Identifier: Apache-2.0 */
/* The table of approvals that wait for a client's next try. Under the server's lock. */
#include "mcp/approval/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic_clock.h"

bool rounds_init(struct rounds *rounds, struct failure *failure)
{
    *rounds = (struct rounds){0};
    return request_state_make_key(rounds->key, failure);
}

static void close_round(struct rounds *rounds, struct round *round)
{
    for (struct round **link = &rounds->first; *link; link = &(*link)->next) {
        if (*link != round)
            continue;
        *link = round->next;
        rounds->count--;
        free(round->nonces);
        json_decref(round->request);
        free(round);
        return;
    }
}

void rounds_clear(struct rounds *rounds)
{
    while (rounds->first)
        close_round(rounds, rounds->first);
}

static void forget_old(struct rounds *rounds)
{
    int64_t now = monotonic_ms();
    for (struct round *round = rounds->first, *next = NULL; round; round = next) {
        next = round->next;
        if (now >= round->forget_ms)
            close_round(rounds, round);
    }
}

struct round *rounds_find(struct rounds *rounds, const char *request_sha256, const char *principal)
{
    forget_old(rounds);
    for (struct round *round = rounds->first; round; round = round->next) {
        if (strcmp(round->request_sha256, request_sha256) == 0 &&
            strcmp(round->principal, principal) == 0)
            return round;
    }
    return NULL;
}

static struct round *new_round(struct rounds *rounds, const char *request_sha256,
                               const char *principal, json_t *request)
{
    struct round *round = rounds->count < ROUNDS_LIMIT ? calloc(1, sizeof(*round)) : NULL;
    if (!round)
        return NULL;
    round->request = json_incref(request);
    (void)snprintf(round->request_sha256, sizeof(round->request_sha256), "%s", request_sha256);
    (void)snprintf(round->principal, sizeof(round->principal), "%s", principal);
    round->next = rounds->first;
    rounds->first = round;
    rounds->count++;
    return round;
}

bool rounds_open(struct rounds *rounds, const char *request_sha256, const char *principal,
                 uint64_t token, int wait_ms, json_t *request)
{
    struct round *round = rounds_find(rounds, request_sha256, principal);
    if (!round)
        round = new_round(rounds, request_sha256, principal, request);
    if (!round)
        return false;
    round->token = token;
    round->wait_ms = wait_ms;
    round->forget_ms = monotonic_ms() + ROUNDS_KEPT_MS;
    return true;
}

static void drop_nonce(struct round *round, size_t index)
{
    round->nonce_count--;
    memmove(round->nonces[index], round->nonces[index + 1],
            (round->nonce_count - index) * sizeof(*round->nonces));
}

static const char *add_nonce(struct round *round)
{
    if (round->nonce_count == ROUNDS_STATES)
        drop_nonce(round, 0);
    void *grown = reallocarray(round->nonces, round->nonce_count + 1, sizeof(*round->nonces));
    if (!grown)
        return NULL;
    round->nonces = grown;
    char *nonce = round->nonces[round->nonce_count];
    if (!request_state_make_nonce(nonce))
        return NULL;
    round->nonce_count++;
    return nonce;
}

static bool take_nonce(struct round *round, const char *nonce)
{
    for (size_t i = 0; i < round->nonce_count; i++) {
        if (strcmp(round->nonces[i], nonce) != 0)
            continue;
        drop_nonce(round, i);
        return true;
    }
    return false;
}

bool rounds_make_state(struct rounds *rounds, struct round *round, const char *call_sha256,
                       char ret_state[REQUEST_STATE_LIMIT])
{
    const char *nonce = add_nonce(round);
    if (!nonce)
        return false;
    const struct request_state_subject subject = {
        .nonce = nonce,
        .request_sha256 = round->request_sha256,
        .principal = round->principal,
        .call_sha256 = call_sha256,
        .expires_ms = monotonic_ms() + round->wait_ms,
    };
    request_state_make(rounds->key, &subject, ret_state);
    return true;
}

struct round *rounds_take_state(struct rounds *rounds, const char *state, const char *principal,
                                const char *call_sha256, enum request_state_verdict *ret_verdict)
{
    char nonce[REQUEST_STATE_NONCE + 1];
    *ret_verdict =
        request_state_check(rounds->key, state, principal, call_sha256, monotonic_ms(), nonce);
    if (*ret_verdict != REQUEST_STATE_GOOD)
        return NULL;
    for (struct round *round = rounds->first; round; round = round->next) {
        if (take_nonce(round, nonce))
            return round;
    }
    *ret_verdict = REQUEST_STATE_EXPIRED;
    return NULL;
}

void rounds_answered(struct rounds *rounds, struct round *round)
{
    if (round->nonce_count == 0)
        close_round(rounds, round);
}
