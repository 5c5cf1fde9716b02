/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers of one configuration (struct remote_options): discovered, connected to, and one of
 * them chosen for a run. The backend has one such set for each configuration that runs come with,
 * and lets go of one that none has come with for a while. Single-threaded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/remote/client/discovery.h"
#include "backends/remote/client/worker.h"

#define WORKERS_MESSAGE_LIMIT 200

struct run;

struct workers {
    struct workers *next;
    struct wire_bytes bytes; /* the options as they came */
    struct remote_options options;
    struct worker_context context;
    struct discovery discovery;
    struct worker *first;
    uint64_t last_id;
    struct run *runs; /* all that came with it */
    uint64_t used_us; /* when the last of them came or went */
};

/* Begins to discover. NULL: the options are none, or there is no memory. */
struct workers *workers_new(struct event_loop *loop, struct resolver *resolver,
                            const struct wire_bytes *options);
/* Its runs are told that their workers are lost. */
void workers_free(struct workers *workers, const char *why);

/* How many are usable and not asked yet, and how many may become usable soon. Where none is usable
 * they are woken. */
void workers_count(struct workers *workers, const struct placing *placing, size_t *ret_usable,
                   size_t *ret_connecting);
/* One of those that are usable and not asked; NULL: there is none. */
struct worker *workers_draw(struct workers *workers, const struct placing *placing);
/* Writes the reasons of the workers that are not usable, as far as there is room. Returns the
 * number of all workers. */
size_t workers_explain(const struct workers *workers, char ret[WORKERS_MESSAGE_LIMIT]);
/* Writes the state of each worker into parts, at most "most" of them. Returns their number. */
size_t workers_parts(const struct workers *workers, struct backend_part *parts, size_t most);
