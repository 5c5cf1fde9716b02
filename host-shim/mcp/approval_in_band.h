/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approval by the person at the client (elicitation). In revisions with a handshake the call waits
 * while the client asks; from 2026-07-28 on it is answered with "input_required" and the client
 * sends it again. Only used where the operator has named no other approver. What decides is the
 * answer of the client to the very question, bound to the request's hash; nothing in a tool's input
 * and nothing a client calls itself leads here. On the thread of the call unless said otherwise.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "approval/approval.h"
#include "tool_provider.h"

struct call;
struct server;
struct connection;
struct session_revision;

/* The person's answer to the question about that request; it serves once. */
struct in_band_answer {
    bool given;
    enum approval_word word;
    json_t *request; /* owned */
    uint64_t token;  /* under which the provider may remember the request */
};

struct in_band {
    void (*ask_elsewhere)(void *user, uint64_t token, const char *request_json, uint32_t *verdict);
    struct in_band_answer answer;
    bool cannot_ask; /* approval is needed, and the client has no form to ask with */
    char request_sha256[65];
    uint64_t questions; /* how many the client was asked */
    /* With a handshake; under the server's lock. */
    bool run_is_over;     /* nothing is waited for any more */
    char question_id[40]; /* "" while nothing is asked */
    json_t *response;     /* owned; NULL while there is none */
};

/* Takes request_approval of the host over where the client's person is to decide. */
void in_band_attach(struct call *call, struct tool_host *host);
/* Before the provider is called: hands it the person's answer to the try before. */
void in_band_deliver(struct call *call);
/* After the provider was called: the questions about its program's calls wait no more. */
void in_band_end(struct call *call);
/* What the call must be answered with instead of the provider's output: an error, or
 * "input_required"; NULL: with the output. New. */
json_t *in_band_reply(struct call *call, const json_t *output);

/* Main thread. The state and the responses of a try. ret_answer is filled where the person has
 * decided; *ret_reply (new) where the question must be put again, or where the state is forged.
 * true: go on with the call. */
bool in_band_read_try(struct connection *connection, const json_t *id, const json_t *params,
                      const struct session_revision *session, const char *call_sha256,
                      struct in_band_answer *ret_answer, json_t **ret_reply);
/* Main thread, under the server's lock: the client's response to the question; NULL: an error. */
void in_band_take_response(struct call *call, json_t *result);

void in_band_answer_clear(struct in_band_answer *answer);
void in_band_clear(struct in_band *in_band);
