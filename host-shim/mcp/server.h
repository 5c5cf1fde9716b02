/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost as a server of the Model Context Protocol. The main thread reads what clients send and
 * answers what can be answered at once; each tool call has a thread of its own, of which there are
 * only so many; each client has one that writes. They share a struct server.
 */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "base/failure.h"
#include "host/provider.h"
#include "host/tool_call.h"
#include "mcp/approval/input_required.h"
#include "mcp/control.h"
#include "mcp/result/catalogue.h"
#include "options/options.h"

#define SERVER_LINE_LIMIT (16u << 20)
#define SERVER_CALLS      32u  /* at a time, where --max-calls says nothing */
#define SERVER_END_MS     1500 /* how long runs may take to end */

struct call;
struct connection;

/* Made and ended by server_run(); any thread, with the lock where it is said. */
struct server {
    const struct options *options;
    const struct provider *provider;
    const struct tool_grants *grants;
    json_t *context; /* of every call */
    json_t *status;  /* the provider's, or NULL */
    struct catalogue catalogue;
    int wake_fd;                    /* an event: the main thread has something to look after */
    uint64_t tool_lists;            /* of the main thread: so many were known for the catalogue */
    struct connection *connections; /* of the main thread */
    struct control control;         /* of the main thread */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* monotonic clock */
    /* Under the lock. */
    struct call *calls;
    size_t call_count;
    uint64_t last_call;
    struct input_required input_required;
};

static inline void server_lock(struct server *server)
{
    (void)pthread_mutex_lock(&server->lock);
}

static inline void server_unlock(struct server *server)
{
    (void)pthread_mutex_unlock(&server->lock);
}

static inline void server_wake(struct server *server)
{
    event_set(server->wake_fd);
}

/* Serves until standard input ends or a signal comes, or with options->listen until a signal comes.
 * status (or NULL) is the provider's, out where standard output is now. */
bool server_run(const struct options *options, const struct provider *provider,
                const struct tool_grants *grants, json_t *context, json_t *status, int out,
                struct failure *failure);
