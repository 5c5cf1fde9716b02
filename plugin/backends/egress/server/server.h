/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server of one run: a daemon of libmicrohttpd without a listener, fed with the
 * connections that the run's listener has accepted. A run's connections, memory and requests are
 * limited by themselves. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/common/event_loop.h"
#include "backends/egress/upstream/endpoints.h"
#include "backends/egress/upstream/records.h"

#define SERVER_CONNECTIONS 64

struct server;

/* ends_connections: each behind its first answer. NULL: out of memory or descriptors. */
struct server *server_new(struct event_loop *loop, struct endpoints *endpoints,
                          struct records *records, bool ends_connections);
/* Takes over the connection; false where it was closed. */
bool server_adopt(struct server *server, int connection);
size_t server_connection_count(const struct server *server);
/* Does what became possible since the last call; whether anything was done. */
bool server_settle(struct server *server);
/* Closes every connection, and records what was under way. NULL is fine. */
void server_free(struct server *server);
