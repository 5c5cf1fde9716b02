/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CONNECT to the hosts that the run has a tunnel to. TLS is the program's own: the broker compares
 * the name of its ClientHello, and counts bytes. Each new connection of a run with tunnels comes
 * here first; one that does not begin with CONNECT goes to the HTTP server. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/common/event_loop.h"
#include "backends/egress/upstream/endpoints.h"
#include "backends/egress/upstream/records.h"

struct tunnel;

/* The tunnels of a run. */
struct tunnels {
    struct event_loop *loop;
    struct endpoints *endpoints;
    struct records *records;
    void (*take_other)(void *user, int connection); /* takes it over */
    void *user;
    struct tunnel *first;
    size_t count;
};

/* Takes over the connection. */
void tunnel_begin(struct tunnels *tunnels, int connection);
/* Closes all of them, and records them. */
void tunnels_end(struct tunnels *tunnels);
