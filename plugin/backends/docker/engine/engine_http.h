/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the Engine API, as many at once as there are runs, on one thread: libcurl's multi
 * interface, with every answer bounded in size and time. A taken-over connection (attach) is had
 * from the same place, and is then read and written raw. Runs in the docker backend.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/docker/engine/engine_address.h"

#define ENGINE_ANSWER_LIMIT     (4U << 20)
#define ENGINE_TIME_MS          15000 /* for an answer that needs no waiting */
#define ENGINE_CONNECT_LIMIT_MS 5000

struct engine_client; /* one a process */

struct engine_client *engine_client_new(void);
void engine_client_free(struct engine_client *client);

/* Waits until something happens on the extra descriptors or with a call, at most so long, and calls
 * the done functions that are due. -1 with errno where waiting itself fails. */
int engine_client_wait(struct engine_client *client, struct curl_waitfd *extra, size_t count,
                       int timeout_ms);

/* What came back. fault.problem is ENGINE_PROBLEM_NONE whenever there is an answer, whatever it
 * says; for a connection that was asked for, the status is 0. */
struct engine_answer {
    struct engine_fault fault;
    long status;
    const char *body; /* with a NUL behind it; the call's own */
    size_t length;
};

struct engine_call;
/* The call is over and, unless it was for a connection, freed when this returns. It may start
 * others and cancel others. */
typedef void engine_done(void *user, const struct engine_answer *answer);
/* One line of an answer that comes in lines, without its end; the bytes are the call's own. */
typedef void engine_line(void *user, const char *bytes, size_t length);

struct engine_request {
    const struct engine_address *address;
    const char *method;
    const char *path;    /* from "/" on, already fit for a URL */
    const char *body;    /* JSON, NULL: none */
    uint64_t timeout_ms; /* 0: no limit */
    bool connection;     /* connect only: method, path and body are not used */
    engine_line *line;   /* NULL: the answer is kept whole; else only its last, unended line is */
    engine_done *done;
    void *user;
};

/* Begins; everything of the request but user is copied. NULL when out of memory. */
struct engine_call *engine_call_start(struct engine_client *client,
                                      const struct engine_request *request);
/* Ends the call without an answer, or closes its connection. NULL is fine. */
void engine_call_cancel(struct engine_call *call);

/* On a connection that is done. -1 with EAGAIN: not now; with anything else: broken. 0 from receive
 * is the end, which over TLS only the engine itself can make. After bytes came, more may be waiting
 * where poll() does not see them: only after EAGAIN is the descriptor worth waiting for. Over TLS
 * what was to be sent when it said EAGAIN must be the next thing sent, from the same place. */
int engine_connection_fd(const struct engine_call *call);
ssize_t engine_connection_send(struct engine_call *call, const void *bytes, size_t length);
ssize_t engine_connection_receive(struct engine_call *call, void *bytes, size_t capacity);
