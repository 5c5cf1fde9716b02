/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the Engine API, many at once on one thread: libcurl's multi interface, with every
 * answer bounded in size and time. A connection that a request takes over (attach) is opened here
 * too, and is then read and written raw. Runs in the docker backend.
 */
#pragma once

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/docker/engine/engine_address.h"

#define ENGINE_ANSWER_LIMIT     (4U << 20)
#define ENGINE_TIME_MS          15000 /* for an answer that needs no waiting */
#define ENGINE_CONNECT_LIMIT_MS 5000

/* One a process. NULL where libcurl cannot be set up. */
CURLM *engine_client_new(void);
void engine_client_free(CURLM *client);

/* Waits for the extra descriptors or a call, at most timeout_ms, and calls the done functions that
 * are due. -1 with errno where waiting itself fails. */
int engine_client_wait(CURLM *client, struct curl_waitfd *extra, size_t count, int timeout_ms);

/* fault.problem is ENGINE_PROBLEM_NONE where the engine has answered, whatever the status. For a
 * connection the status is 0. */
struct engine_answer {
    struct engine_fault fault;
    long status;
    const char *body; /* with a NUL behind it; the call owns it */
    size_t length;
};

struct engine_call;
/* The call is over and, unless it was for a connection, freed when this returns. It may start
 * others and cancel others. */
typedef void engine_done(void *user, const struct engine_answer *answer);
/* One line of an answer that comes in lines, without its end; the call owns the bytes. */
typedef void engine_line(void *user, const char *bytes, size_t length);

/* At most capacity bytes of an archive; 0: its end; ENGINE_READ_FAILED: the call is to fail. */
typedef size_t engine_read(void *user, char *bytes, size_t capacity);
#define ENGINE_READ_FAILED SIZE_MAX

struct engine_request {
    const struct engine_address *address;
    const char *method;
    const char *path;             /* from "/" on, already fit for a URL */
    const char *body;             /* JSON, NULL: none */
    const unsigned char *archive; /* a tar archive instead; NULL: none */
    size_t archive_length;
    engine_read *read;   /* gives the bytes of an archive of any length instead, and the call fails
                            where nothing moves for half a minute; NULL: none */
    uint64_t timeout_ms; /* 0: no limit */
    bool connection;     /* connect only: method, path and body are not used */
    engine_line *line;   /* NULL: the answer is kept whole; else only its last, incomplete line */
    engine_done *done;
    void *user;
};

/* Begins; everything of the request but user is copied. NULL when out of memory. */
struct engine_call *engine_call_start(CURLM *client, const struct engine_request *request);
/* Ends the call without an answer, or closes its connection. NULL is fine. */
void engine_call_cancel(struct engine_call *call);

/* For a connection whose done function was called. -1 with EAGAIN: not now; with any other errno:
 * the connection is broken. 0 from receive is the end, which over TLS only the engine itself can
 * make. Received bytes may be buffered where poll() does not see them: wait for the descriptor only
 * after EAGAIN. Over TLS, the bytes that met EAGAIN must be the next to be sent, from the same
 * address. */
int engine_connection_fd(const struct engine_call *call);
ssize_t engine_connection_send(struct engine_call *call, const void *bytes, size_t length);
ssize_t engine_connection_receive(struct engine_call *call, void *bytes, size_t capacity);

/* The answer's JSON object (new) where the status is the expected one; else NULL with the fault:
 * the engine of that name ("": docker) refused to do what. creating: the request creates a
 * container, which podman's API refuses with this configuration. */
json_t *engine_answer_take(const struct engine_answer *answer, long expected, const char *name,
                           bool creating, const char *what, struct engine_fault *fault);
/* The engine's own message, as the fault. */
void engine_answer_refusal(const struct engine_answer *answer, const char *name, bool creating,
                           const char *what, struct engine_fault *fault);

/* engine_failure.c: why there was no answer; one fault for each reason that needs another action of
 * the operator. words: what libcurl left in CURLOPT_ERRORBUFFER. */
void engine_failure_explain(CURL *easy, CURLcode result, const struct engine_address *address,
                            const char *words, struct engine_fault *fault);
