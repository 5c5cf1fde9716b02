/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial of the worker's own backend: it applies every layer of the mode, as for a run, and runs
 * nothing. That is what readiness is made of. One at a time, and nobody waits for it. Runs in
 * code-execute-worker.
 */
#pragma once

#include <stdint.h>

#include "backends/common/event_loop.h"
#include "backends/worker/configuration.h"
#include "backends/worker/local_backend.h"
#include "base/error.h"

struct trial {
    struct event_loop *loop;
    struct local_backend *backend;
    const struct worker_configuration *configuration;
    /* It has ended; error NULL: runs can be had. */
    void (*ended)(void *user, const struct error *error);
    void *user;
    struct watch events;
    struct timer time;
    int outputs[2];   /* the read ends of its pipes */
    uint64_t missing; /* LAYER_BITs that the last good one was without */
};

/* The other members, all borrowed, are set; the rest is made here. */
void trial_init(struct trial *trial);
/* Begins one, unless one is under way. ended() is called at once where it cannot begin. */
void trial_begin(struct trial *trial);
/* Gives up one that is under way, without a word. */
void trial_clear(struct trial *trial);
