/* SPDX-License-Identifier: Apache-2.0 */
/* The table of approvals that wait for a client's next try. Under the server's lock. */
#include "mcp/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monotonic_clock.h"

bool rounds_init(struct rounds *rounds, struct failure *failure)
{
    *rounds = (struct rounds){0};
    return request_state_make_key(rounds->key, failure);
}

void rounds_close(struct rounds *rounds, struct round *round)
{
    for (struct round **link = &rounds->first; *link; link = &(*link)->next) {
        if (*link != round)
            continue;
        *link = round->next;
        rounds->count--;
        free(round->message);
        free(round);
        return;
    }
}

void rounds_clear(struct rounds *rounds)
{
    while (rounds->first)
        rounds_close(rounds, rounds->first);
}

static void forget_old(struct rounds *rounds)
{
    int64_t now = monotonic_ms();
    for (struct round *round = rounds->first, *next = NULL; round; round = next) {
        next = round->next;
        if (now >= round->forget_ms)
            rounds_close(rounds, round);
    }
}

bool rounds_open(struct rounds *rounds, const char *request_sha256, const char *principal,
                 uint64_t token, int wait_ms, const char *message)
{
    forget_old(rounds);
    struct round *round = rounds->count < ROUNDS_LIMIT ? calloc(1, sizeof(*round)) : NULL;
    char *copy = round ? strdup(message) : NULL;
    if (!copy) {
        free(round);
        return false;
    }
    round->message = copy;
    round->token = token;
    round->wait_ms = wait_ms;
    round->forget_ms = monotonic_ms() + ROUNDS_KEPT_MS;
    (void)snprintf(round->request_sha256, sizeof(round->request_sha256), "%s", request_sha256);
    (void)snprintf(round->principal, sizeof(round->principal), "%s", principal);
    round->next = rounds->first;
    rounds->first = round;
    rounds->count++;
    return true;
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

bool rounds_make_state(struct rounds *rounds, struct round *round, const char *call_sha256,
                       char ret_state[REQUEST_STATE_LIMIT])
{
    if (!request_state_make_nonce(round->nonce))
        return false;
    const struct request_state_subject subject = {
        .nonce = round->nonce,
        .request_sha256 = round->request_sha256,
        .principal = round->principal,
        .call_sha256 = call_sha256,
        .expires_ms = monotonic_ms() + round->wait_ms,
    };
    request_state_make(rounds->key, &subject, ret_state);
    return true;
}

struct round *rounds_of_state(struct rounds *rounds, const char *state, const char *principal,
                              const char *call_sha256, enum request_state_verdict *ret_verdict)
{
    char nonce[REQUEST_STATE_NONCE + 1];
    *ret_verdict =
        request_state_check(rounds->key, state, principal, call_sha256, monotonic_ms(), nonce);
    if (*ret_verdict != REQUEST_STATE_GOOD)
        return NULL;
    for (struct round *round = rounds->first; round; round = round->next) {
        if (strcmp(round->nonce, nonce) == 0)
            return round;
    }
    *ret_verdict = REQUEST_STATE_EXPIRED;
    return NULL;
}
