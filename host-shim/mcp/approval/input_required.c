/* SPDX-License-Identifier: Apache-2.0 */
/* The table of approvals that wait for a client's next request. Under the server's lock. */
#include "mcp/approval/input_required.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "base/digest.h"

bool input_required_init(struct input_required *table, struct failure *failure)
{
    *table = (struct input_required){0};
    return request_state_make_key(table->key, failure);
}

static void close_input(struct input_required *table, struct required_input *input)
{
    for (struct required_input **link = &table->first; *link; link = &(*link)->next) {
        if (*link != input)
            continue;
        *link = input->next;
        table->count--;
        free(input->nonces);
        json_decref(input->request);
        free(input);
        return;
    }
}

void input_required_clear(struct input_required *table)
{
    while (table->first)
        close_input(table, table->first);
}

static void forget_old(struct input_required *table)
{
    uint64_t now = monotonic_ms();
    for (struct required_input *input = table->first, *next = NULL; input; input = next) {
        next = input->next;
        if (now >= input->forget_ms)
            close_input(table, input);
    }
}

struct required_input *input_required_find(struct input_required *table, const char *request_sha256,
                                           const char *principal)
{
    forget_old(table);
    for (struct required_input *input = table->first; input; input = input->next) {
        if (strcmp(input->request_sha256, request_sha256) == 0 &&
            strcmp(input->principal, principal) == 0)
            return input;
    }
    return NULL;
}

static struct required_input *new_input(struct input_required *table, const char *request_sha256,
                                        const char *principal, json_t *request)
{
    struct required_input *input =
        table->count < INPUT_REQUIRED_LIMIT ? calloc(1, sizeof(*input)) : NULL;
    if (!input)
        return NULL;
    input->request = json_incref(request);
    (void)snprintf(input->request_sha256, sizeof(input->request_sha256), "%s", request_sha256);
    (void)snprintf(input->principal, sizeof(input->principal), "%s", principal);
    input->next = table->first;
    table->first = input;
    table->count++;
    return input;
}

bool input_required_open(struct input_required *table, const char *request_sha256,
                         const char *principal, uint64_t token, int wait_ms, json_t *request)
{
    struct required_input *input = input_required_find(table, request_sha256, principal);
    if (!input)
        input = new_input(table, request_sha256, principal, request);
    if (!input)
        return false;
    input->token = token;
    input->wait_ms = wait_ms;
    input->forget_ms = monotonic_ms() + INPUT_REQUIRED_KEPT_MS;
    return true;
}

static void drop_nonce(struct required_input *input, size_t index)
{
    input->nonce_count--;
    memmove(input->nonces[index], input->nonces[index + 1],
            (input->nonce_count - index) * sizeof(*input->nonces));
}

static const char *add_nonce(struct required_input *input)
{
    if (input->nonce_count == INPUT_REQUIRED_STATES)
        drop_nonce(input, 0);
    void *grown = reallocarray(input->nonces, input->nonce_count + 1, sizeof(*input->nonces));
    if (!grown)
        return NULL;
    input->nonces = grown;
    char *nonce = input->nonces[input->nonce_count];
    if (!hex_random(nonce, REQUEST_STATE_NONCE))
        return NULL;
    input->nonce_count++;
    return nonce;
}

static bool take_nonce(struct required_input *input, const char *nonce)
{
    for (size_t i = 0; i < input->nonce_count; i++) {
        if (strcmp(input->nonces[i], nonce) != 0)
            continue;
        drop_nonce(input, i);
        return true;
    }
    return false;
}

bool input_required_make_state(struct input_required *table, struct required_input *input,
                               const char *call_sha256, char ret_state[REQUEST_STATE_LIMIT])
{
    const char *nonce = add_nonce(input);
    if (!nonce)
        return false;
    const struct request_state_subject subject = {
        .nonce = nonce,
        .request_sha256 = input->request_sha256,
        .principal = input->principal,
        .call_sha256 = call_sha256,
        .expires_ms = monotonic_ms() + input->wait_ms,
    };
    request_state_make(table->key, &subject, ret_state);
    return true;
}

struct required_input *input_required_take_state(struct input_required *table, const char *state,
                                                 const char *principal, const char *call_sha256,
                                                 enum request_state_verdict *ret_verdict)
{
    char nonce[REQUEST_STATE_NONCE + 1];
    *ret_verdict =
        request_state_check(table->key, state, principal, call_sha256, monotonic_ms(), nonce);
    if (*ret_verdict != REQUEST_STATE_GOOD)
        return NULL;
    for (struct required_input *input = table->first; input; input = input->next) {
        if (take_nonce(input, nonce))
            return input;
    }
    *ret_verdict = REQUEST_STATE_EXPIRED;
    return NULL;
}

void input_required_answered(struct input_required *table, struct required_input *input)
{
    if (input->nonce_count == 0)
        close_input(table, input);
}
