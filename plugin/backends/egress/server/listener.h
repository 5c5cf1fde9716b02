/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run's connections come from: its backend hands over a listener, connections, or a
 * stream that carries their bytes, by the run's intake. One thread.
 */
#pragma once

#include <stdbool.h>

#include "backends/common/event_loop.h"
#include "backends/egress/server/relay.h"

struct listener {
    struct event_loop *loop;
    struct watch intake;
    struct watch socket;
    int intake_fd;       /* owned; -1: closed */
    int socket_fd;       /* owned; -1: none yet */
    struct relay *relay; /* NULL: its connections do not come as frames */
    bool full;           /* no connection is taken for now */
    /* Takes over a connection; whether another one could be taken behind it. */
    bool (*take)(void *user, int connection);
    void *user;
};

/* Takes over the descriptor; false where it cannot be watched. */
bool listener_begin(struct listener *listener, int intake);
/* There is room again. */
void listener_go_on(struct listener *listener);
/* Closes the connections that nobody has taken yet, and all that a relay has. */
void listener_drop(struct listener *listener);
void listener_end(struct listener *listener);
