/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool call of a client, on a thread of its own from its start to its answer. Started, cancelled
 * and collected on the main thread.
 */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/host_callbacks.h"
#include "mcp/approval_in_band.h"
#include "mcp/connection.h"
#include "mcp/progress.h"
#include "mcp/wire/session_revision.h"

struct call {
    struct grants grants; /* first: what callbacks are given leads to the call */
    struct call *next;
    struct server *server;
    struct connection *connection; /* a reference */
    struct batch *batch;           /* or NULL */
    json_t *id;
    uint64_t number; /* the provider's name for the call */
    struct session_revision session;
    const json_t *tool; /* of the manifest */
    char *name;         /* as called */
    char *input_json;
    char *context_json;
    char digest[65]; /* SHA-256 of name and arguments */
    int cancelled_fd;
    pthread_t thread;
    struct progress progress;
    struct in_band in_band;
    /* Under the server's lock. */
    bool cancelled;
    bool cancel_accepted; /* the provider knew the call */
    bool finished;        /* its thread does nothing more but end */
};

/* A request of tools/call. */
struct call_order {
    const json_t *id;
    const json_t *tool;
    const char *name;
    const json_t *arguments;          /* an object */
    struct session_revision *session; /* taken over */
    struct batch *batch;
    struct in_band_answer answer; /* taken over: what the person said to an earlier try */
};

/* Starts it, or answers with an error. */
void call_start(struct connection *connection, struct call_order *order);

/* Of that connection and identifier; the answer will not be sent. id NULL: all of the connection's;
 * connection NULL: all. */
void call_cancel(struct server *server, const struct connection *connection, const json_t *id);
/* Is one of that identifier under way? */
bool call_is_known(struct server *server, const struct connection *connection, const json_t *id);
/* A client's answer to a question that was asked during one of its calls. */
void call_take_response(struct server *server, const struct connection *connection,
                        const json_t *id, json_t *result);

/* Joins and frees calls that are finished, repeats cancellations that came before the provider knew
 * the call, and sends progress that is due. Returns in how many milliseconds there is more to do,
 * -1: when the server is woken. */
int call_tend(struct server *server);
size_t call_count(struct server *server);

/* SHA-256 of name and arguments, in hexadecimal; false: out of memory. */
bool call_digest(const char *name, const json_t *arguments, char ret[65]);
