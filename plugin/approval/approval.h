/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approval requests under way: a token each, answered at most once, bound to the SHA-256 of the
 * request. The table is the provider's one shared state between the call that waits and the thread
 * that answers. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "approval/approval_decision.h"
#include "base/error.h"
#include "tool_provider.h"
#include "json/canonical.h"

#define APPROVAL_REQUESTS_LIMIT 1024 /* kept at a time, answered or not; more are refused */
#define APPROVAL_GRANTS_LIMIT   1024 /* that stand; for more the oldest are forgotten */
#define APPROVAL_PENDING_MS \
    600000                     /* how long a pending request can be answered, and its grant used */
#define APPROVAL_RUN_MS 600000 /* how long after its answer a call can still begin to run */

/* The decision and its approver, for result and audit. */
struct approval_outcome {
    char decision[32]; /* "not_required", a name of approval_answer, "pending", "" before the gate
                          got there */
    char id[APPROVAL_ID_LENGTH + 1];
    char approver[APPROVAL_TEXT_LIMIT];
    char reason[APPROVAL_TEXT_LIMIT];
    char edited_from[SHA256_HEX_LENGTH + 1]; /* the request that was shown, where another runs */
    char *arguments;     /* of an edit: the arguments to run instead; owned by the holder of the
                          * outcome */
    uint64_t expires_ms; /* on CLOCK_MONOTONIC; 0: never */
};

/* The question; all borrowed until approval_obtain() returns. */
struct approval_question {
    const char *request_sha256; /* SHA256_HEX_LENGTH digits */
    const char *principal;      /* whose request it is; NULL: the host has not said */
    const char *session;        /* the same; NULL: all that name none are one session */
    unsigned answers;           /* APPROVAL_ANSWER_BITs that count; deny and cancel always do */
    uint64_t timeout_ms;        /* how long an answer is waited for */
    uint64_t max_waiting;       /* calls that wait for one at the same time */
    /* The request's JSON for that approval id, new; NULL denies. */
    char *(*make_request)(void *user, const char *id);
    /* Is the call cancelled? Asked while waiting. */
    bool (*cancelled)(void *user);
    void *user;
};

/* Gets the decision: uses an answer that the same principal's identical request has got earlier and
 * that still stands, or asks the host. true: run the request, or the one of outcome->arguments
 * (new) instead. false with error APPROVAL_DENIED, APPROVAL_MISMATCH (the decision names another
 * request), APPROVAL_REPLAYED (the token got a second, different answer before the first was used),
 * APPROVAL_UNAVAILABLE, APPROVAL_TIMEOUT, APPROVAL_PENDING, CANCELLED, OUT_OF_MEMORY or
 * TOO_MANY_REQUESTS: a principal has at most as many calls waiting, and requests kept, as it leaves
 * room for, so one alone has half of max_waiting and of APPROVAL_REQUESTS_LIMIT. *outcome is filled
 * either way. */
bool approval_obtain(const struct tool_host *host, const struct approval_question *question,
                     struct approval_outcome *outcome, struct error *error);

/* Does the decision still hold, right before the run? false with APPROVAL_TIMEOUT. */
bool approval_holds(const struct approval_outcome *outcome, struct error *error);

/* tool_reply_approval() */
int32_t approval_reply(uint64_t token, const char *decision_json);

/* How many calls wait for their answer. */
uint64_t approval_waiting_count(void);

/* Wakes every waiting call, so that it looks whether it is cancelled. */
void approval_wake_all(void);

/* Forgets every grant and pending request, for tool_shutdown(). Waiting calls end as denied. */
void approval_forget_all(void);

/* In a child of fork(): no request, and no grant. Takes no lock. */
void approval_after_fork(void);
