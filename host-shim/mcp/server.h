/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost as a server of the Model Context Protocol. The main thread reads what clients send and
 * answers what can be answered at once; each tool call has a thread of its own, of which there are
 * only so many; each client has one that writes.
 */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "failure.h"
#include "mcp/artifacts.h"
#include "mcp/catalogue.h"
#include "mcp/rounds.h"
#include "options.h"
#include "provider.h"
#include "tool_call.h"

#define SERVER_LINE_LIMIT (16u << 20)
#define SERVER_CALLS      32u  /* at a time, where --max-calls says nothing */
#define SERVER_END_MS     1500 /* how long runs may take to end */

struct call;

struct server {
    const struct options *options;
    const struct provider *provider;
    const struct tool_grants *grants;
    json_t *context; /* of every call */
    struct catalogue catalogue;
    int wake_fd; /* an event: the main thread has something to look after */
    struct connection *connections;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* monotonic clock */
    /* Under the lock. */
    struct call *calls;
    size_t call_count;
    uint64_t last_call;
    struct rounds rounds;
    struct artifacts artifacts;
};

/* Serves until standard input ends or a signal comes, or with options->listen until a signal comes.
 * status (or NULL) is the provider's, out where standard output is now. */
bool server_run(const struct options *options, const struct provider *provider,
                const struct tool_grants *grants, json_t *context, const json_t *status, int out,
                struct failure *failure);

void server_lock(struct server *server);
void server_unlock(struct server *server);
void server_wake(struct server *server);

/* A line on standard error; any thread. Waits for nobody: a line that nobody reads is lost. */
void server_notice(const char *text);
