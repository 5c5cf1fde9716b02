/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of gateways to this worker, and their runs: an offer is judged, an accepted run
 * gets its share, its description becomes one of this machine, and the local backend gets it. A
 * connection that ends takes its runs with it. Runs in code-execute-worker, one thread; it waits
 * for no gateway.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/common/event_loop.h"
#include "backends/remote/link/link.h"
#include "backends/worker/admission.h"
#include "backends/worker/configuration.h"
#include "backends/worker/local_backend.h"

#define GATEWAYS_MOST   64
#define HANDSHAKES_MOST 16 /* of them, that have not greeted yet */

/* Since the start. */
struct gateways_counts {
    uint64_t answers[REMOTE_VERDICT_END]; /* to offers */
    uint64_t refused_runs;                /* accepted, and then not to be had here */
    uint64_t ended_runs;
    uint64_t ended_runs_ms; /* how long they had their share, together */
    uint64_t connections;
    uint64_t refused_connections;
};

struct gateways {
    /* Set by the owner, borrowed. */
    struct event_loop *loop;
    const struct worker_configuration *configuration;
    struct worker_admission *admission;
    struct local_backend *backend;
    struct tls_context *context; /* of new connections; the owner may exchange it */
    /* Why no run is accepted now; NULL: they are. */
    const struct remote_answer *(*problem)(void *user);
    void *user;
    /* Its own. */
    struct gateway *first;
    unsigned count;
    unsigned handshakes;
    bool capacity_due; /* to be told */
    struct gateways_counts counts;
    uint64_t lines_second; /* about strangers, in that second */
    unsigned lines;
    uint64_t look_us; /* for runs that do not come */
    struct watch listener;
    struct timer time;  /* of what is due */
    struct timer pause; /* of the listener */
};

/* Listens; false with the error. */
bool gateways_open(struct gateways *gateways, struct error *error);
/* After each turn of the loop: does the due work of all connections. */
void gateways_settle(struct gateways *gateways);
/* No connection and no offer is accepted from now on, and all gateways are told. */
void gateways_drain(struct gateways *gateways);
/* Ends all connections, and tells the reason. */
void gateways_close(struct gateways *gateways, const char *reason);
