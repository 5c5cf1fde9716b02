/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's file of metrics (--metrics): written when the server starts, every two seconds from
 * then on by a thread of its own, and removed at the end. What the provider found out by trying is
 * as old as the server; its counters are asked for anew.
 */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#include "failure.h"
#include "provider.h"

struct metrics {
    const char *path; /* NULL: none are written */
    const struct provider *provider;
    json_t *status;
    int end_fd;
    bool runs;
    pthread_t thread;
};

/* path may be NULL; it and the provider are borrowed until metrics_stop(). false where the file
 * cannot be written. Main thread. */
bool metrics_start(struct metrics *metrics, const char *path, const struct provider *provider,
                   const json_t *status, struct failure *failure);
/* Waits for the thread. One that is all zero is fine. Main thread. */
void metrics_stop(struct metrics *metrics);
