/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of a run whose sandbox gives no descriptor away: they come as frames over one
 * stream (guest/channels/connection_relay.h), and each becomes a socket of the broker's own. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/common/event_loop.h"
#include "guest/channels/connection_relay.h"

struct relay {
    struct event_loop *loop;
    struct watch stream;
    struct watch sockets;
    struct connection_relay connections;
    int stream_fd; /* owned; -1: there is none */
    unsigned char frames[RELAY_FRAME_LIMIT];
    size_t begin; /* of those that are not sent */
    size_t end;
    /* Takes over a connection. */
    bool (*take)(void *user, int connection);
    void *user;
};

/* Takes over the stream; NULL, and the stream is still the caller's, where it cannot be served. */
struct relay *relay_new(struct event_loop *loop, int stream, bool (*take)(void *user, int fd),
                        void *user);
/* Ends all of its connections; others may come. */
void relay_reset(struct relay *relay);
/* The same for good. NULL is fine. */
void relay_free(struct relay *relay);
