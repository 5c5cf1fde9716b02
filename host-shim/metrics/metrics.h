/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's metrics: in a file (--metrics), written when the server starts, every two seconds
 * from then on, and removed at the end; and over HTTP (--metrics-listen), made for each request. A
 * thread of their own does both. What the provider found out by trying is as old as the server; its
 * counters, and what it has ready, are asked for anew.
 */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/failure.h"
#include "host/provider.h"

struct metrics {
    const char *path; /* NULL: none are written */
    int listener;     /* -1: no HTTP */
    const struct provider *provider;
    json_t *status;
    int end_fd;
    bool runs;
    pthread_t thread;
};

#define METRICS_NONE                  \
    {                                 \
        .listener = -1, .end_fd = -1, \
    }

/* path and address may be NULL; path and the provider are borrowed until metrics_stop(). false
 * where the file cannot be written, or the address cannot be listened on. Main thread. */
bool metrics_start(struct metrics *metrics, const char *path, const char *address,
                   const struct provider *provider, const json_t *status, struct failure *failure);
/* Waits for the thread, for a second and a half at most. Main thread. */
void metrics_stop(struct metrics *metrics);
