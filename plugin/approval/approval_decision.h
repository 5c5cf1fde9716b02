/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of an approver, and their parser. The words are those of tool_reply_approval() in
 * abi/tool_provider.h. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>

#include "request/request.h"
#include "json/canonical.h"

#define APPROVAL_ID_LENGTH  32  /* of an approval's id: ours has hexadecimal digits */
#define APPROVAL_TEXT_LIMIT 256 /* bytes of approver and reason, with the NUL; more is cut off */
#define APPROVAL_DECISION_BYTES_LIMIT \
    (REQUEST_BYTES_LIMIT + (16u << 10)) /* an edit holds a whole request */

/* As far as the policy has them, in its order: enum approver_decision. */
enum approval_answer {
    APPROVAL_ANSWER_ALLOW_ONCE,
    APPROVAL_ANSWER_ALLOW_SESSION, /* the provider remembers it for principal and session */
    APPROVAL_ANSWER_ALLOW_ALWAYS,  /* the host remembers it, and answers the next time itself */
    APPROVAL_ANSWER_DENY,
    APPROVAL_ANSWER_EDIT,        /* run these arguments instead */
    APPROVAL_ANSWER_ALLOW_CELLS, /* the request's session remembers it, for its further cells */
    APPROVAL_ANSWER_CANCEL,      /* end the call, rather than tell the agent what to change */
    APPROVAL_ANSWER_ALLOW_RUN,   /* of a call of a tool: all calls of it that this run makes */
    APPROVAL_ANSWER_UNAVAILABLE, /* the host could ask nobody; never offered, always taken */
    APPROVAL_ANSWER_COUNT
};

#define APPROVAL_ANSWER_BIT(answer) (1u << (answer))
#define APPROVAL_ANSWERS_ALL        (APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_COUNT) - 1)

struct approval_decision_text {
    enum approval_answer answer;
    char request_sha256[SHA256_HEX_LENGTH + 1]; /* "" when absent */
    char id[APPROVAL_ID_LENGTH + 1];            /* under which the host keeps it; "" when absent */
    char approver[APPROVAL_TEXT_LIMIT];         /* "" when absent, as the reason */
    char reason[APPROVAL_TEXT_LIMIT];
    char *arguments; /* of an edit, new: a JSON object; else NULL */
};

const char *approval_answer_name(enum approval_answer answer);
/* The members that a decision may have beside its word, NULL at the end. */
const char *const *approval_decision_members(void);
/* Does the program run by it? */
bool approval_answer_allows(enum approval_answer answer);

/* true and *ret (approval_decision_clear()); false for anything that is not exactly one of the
 * words with the members that belong to it, and when out of memory. */
bool approval_decision_read(const char *decision_json, struct approval_decision_text *ret);
/* {"pending_id": ID} and nothing else: no decision, but the id under which the host keeps the
 * request that waits. */
bool approval_pending_id_read(const char *decision_json, char ret[APPROVAL_ID_LENGTH + 1]);
void approval_decision_clear(struct approval_decision_text *decision);
