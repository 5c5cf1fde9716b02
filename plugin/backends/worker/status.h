/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health and metrics of a worker over HTTP, for an orchestrator and a collector: GET /live, /ready
 * and /metrics (metrics.c). Nothing of a run is in them. Runs in code-execute-worker, one thread.
 * Where libmicrohttpd is not there, the configuration refuses to ask for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/common/event_loop.h"
#include "backends/worker/admission.h"
#include "backends/worker/gateways.h"
#include "base/error.h"

struct status_server;

struct status_source {
    /* NULL if the worker is ready for runs; else the reason, borrowed until the next turn of the
     * loop. */
    const char *(*obstacle)(void *user);
    /* Prometheus' text exposition format, new; NULL: no memory. */
    char *(*metrics)(void *user);
    void *user;
};

/* Listens there; NULL with the error. source is borrowed until status_server_free(). */
struct status_server *status_server_new(struct event_loop *loop, const char *address,
                                        const struct status_source *source, struct error *error);
void status_server_free(struct status_server *server); /* NULL is fine */

/* The sources of the metrics; borrowed. */
struct worker_facts {
    const struct worker_admission *admission;
    const struct gateways *gateways;
    uint64_t backend_starts;
    int64_t certificate_expires_s; /* of the epoch */
    bool is_ready;
};

/* The text of the metrics, new; NULL: no memory. */
char *worker_metrics(const struct worker_facts *facts);
