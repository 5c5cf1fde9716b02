/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terms of one request: which revision of the Model Context Protocol it speaks, and what its
 * client can do. Revisions up to 2025-11-25 settle this in a handshake for the connection; from
 * 2026-07-28 on every request says it in its _meta. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define TERMS_MODERN_REVISION  "2026-07-28"
#define TERMS_BATCHED_REVISION "2025-03-26" /* the one that has arrays of messages */
#define TERMS_CLIENT_LIMIT     96u

struct terms {
    bool modern;                     /* 2026-07-28 or later */
    const char *revision;            /* one of the supported; static */
    bool elicitation;                /* the client can show a form */
    char client[TERMS_CLIENT_LIMIT]; /* what it calls itself; for logs alone */
    char traceparent[56];            /* "" where there is none */
    json_t *progress_token;          /* owned; NULL: no progress is wanted */
};

struct terms_problem {
    int code;
    char message[256];
    json_t *data; /* new, or NULL */
};

/* Does the request speak for itself, as requests do from 2026-07-28 on? */
bool terms_are_modern(const json_t *params);
/* From a request's _meta; false says what is wrong with it. */
bool terms_read_modern(const json_t *params, struct terms *ret, struct terms_problem *problem);
/* From initialize's params: the revision that was asked for, or the latest with a handshake. */
void terms_read_handshake(const json_t *params, struct terms *ret);
/* A request's own on a connection whose handshake said the rest. */
void terms_read_request(const struct terms *connection, const json_t *params, struct terms *ret);
void terms_clear(struct terms *terms);

/* Revision (a number that grows) "YYYY-MM-DD" or later? */
bool terms_at_least(const struct terms *terms, const char *revision);
/* All supported revisions, latest first; new. */
json_t *terms_supported(void);
