/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial of the worker's own backend: it applies every layer of the mode, as for a run, and runs
 * nothing. Readiness depends on it. One at a time, and nothing waits for it. Runs in
 * code-execute-worker.
 */
#pragma once

#include <stdint.h>

#include "backends/common/event_loop.h"
#include "backends/worker/configuration.h"
#include "backends/worker/local_backend.h"
#include "base/error.h"
#include "protocol/layers.h"

struct trial {
    struct event_loop *loop;
    struct local_backend *backend;
    const struct worker_configuration *configuration;
    /* It has ended; error NULL: runs can be had. */
    void (*ended)(void *user, const struct error *error);
    void *user;
    struct watch events;
    struct timer time;
    int outputs[2]; /* the read ends of its pipes */
    /* The last trial's LAYER_BITs; LAYER_COUNT: none has failed. After a failure no further layer
     * was tried. */
    uint64_t applied, missing;
    uint32_t failed_layer;
};

/* The other members, all borrowed, are set; the rest is made here. */
void trial_init(struct trial *trial);
/* Begins one, unless one is under way. ended() is called at once where it cannot begin. */
void trial_begin(struct trial *trial);
/* The remedy for a layer of that mode; error_number: that of the failure, else 0. Static text. */
const char *trial_layer_remedy(enum worker_mode mode, enum isolation_layer layer, int error_number);
/* Gives up one that is under way, without a word. */
void trial_clear(struct trial *trial);
