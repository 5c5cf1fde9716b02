/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The revision of the Model Context Protocol that a request uses, and what its client can do. Up to
 * 2025-11-25 a handshake settles both for the connection; from 2026-07-28 on each request carries
 * them in its _meta. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define SESSION_MODERN_REVISION  "2026-07-28"
#define SESSION_BATCHED_REVISION "2025-03-26" /* the one that has arrays of messages */
#define SESSION_CLIENT_LIMIT     96u

struct session_revision {
    bool modern;                       /* 2026-07-28 or later */
    const char *revision;              /* one of the supported; static */
    bool elicitation;                  /* the client can show a form */
    char client[SESSION_CLIENT_LIMIT]; /* the name it gives itself; for logs only */
    char traceparent[56];              /* "" where there is none */
    json_t *progress_token;            /* owned; NULL: no progress is wanted */
};

struct session_problem {
    int code;
    char message[256];
    json_t *data; /* new, or NULL */
};

/* Does the request name its own revision, as requests do from 2026-07-28 on? */
bool session_is_modern(const json_t *params);
/* From a request's _meta; false says what is wrong with it. */
bool session_read_modern(const json_t *params, struct session_revision *ret,
                         struct session_problem *problem);
/* From initialize's params: the revision that was asked for, or the latest with a handshake. */
void session_read_handshake(const json_t *params, struct session_revision *ret);
/* A request on a connection with a handshake: adds what the request itself carries. */
void session_read_request(const struct session_revision *connection, const json_t *params,
                          struct session_revision *ret);
void session_clear(struct session_revision *session);

/* Revision (a number that grows) "YYYY-MM-DD" or later? */
bool session_is_at_least(const struct session_revision *session, const char *revision);
/* All supported revisions, latest first; new. */
json_t *session_supported_revisions(void);
