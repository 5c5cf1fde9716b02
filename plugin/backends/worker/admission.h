/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a worker takes a run that a gateway offers: so many runs at a time, and no more memory
 * than it has for all of them. A run that is taken has a place until it has ended, and its memory
 * until nothing of it is left: its files may still be on their way. Pure code; runs in
 * code-execute-worker.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/remote/link/remote_messages.h"

/* The bounds of "retry_after_ms". */
#define WORKER_RETRY_MINIMUM_MS 100
#define WORKER_RETRY_MAXIMUM_MS 60000
/* Of ended runs so many more than "max_runs" may wait for their gateways to take their ends. */
#define WORKER_LEAVING_MOST 64

/* {.max_runs, .memory_total_bytes} is a new one. */
struct worker_admission {
    uint32_t max_runs;
    uint64_t memory_total_bytes;
    bool drains; /* nothing is taken any more */
    uint32_t runs;
    uint32_t leaving;      /* that have ended, and of which something is left on a connection */
    uint64_t memory_bytes; /* of both */
    uint64_t held_ms;      /* how long the last runs have had their place; 0: none has ended */
};

/* The answer to an offer. Where it is ACCEPTED, the run has its place and its memory. */
struct remote_answer worker_admission_judge(struct worker_admission *admission,
                                            const struct remote_offer *offer);
/* The run of that offer, which was accepted, has ended. held_ms: how long it had its place. Its
 * memory, and what is left of it on its connection, count until worker_admission_forget(). */
void worker_admission_release(struct worker_admission *admission, const struct remote_offer *offer,
                              uint64_t held_ms);
void worker_admission_forget(struct worker_admission *admission, const struct remote_offer *offer);
/* The capacity that gateways are told. */
struct remote_capacity worker_admission_capacity(const struct worker_admission *admission);
