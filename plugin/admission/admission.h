/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: a call that is about to start processes takes a run slot first, and waits its turn
 * where all are taken (run_queue.h). The gateway's own thread waits, inside tool_invoke(). It is
 * woken alone: by a call that gives a slot back, by its cancellation, or by its time. Any thread.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "admission/run_queue.h"
#include "base/error.h"

/* The bounds of "retry_after_ms". */
#define ADMISSION_RETRY_MINIMUM_MS 100
#define ADMISSION_RETRY_MAXIMUM_MS 60000

enum admission_state { ADMISSION_OUTSIDE, ADMISSION_WAITS, ADMISSION_IN, ADMISSION_DISPLACED };

/* A call's; all zero at first, and inner but for waited_ms. */
struct admission {
    struct run_queue_entry entry;
    enum admission_state state;
    const atomic_bool *cancelled; /* borrowed */
    pthread_cond_t changed;       /* of this one's state; there while it waits */
    uint64_t since_ms;            /* has had its slot since then */
    uint64_t waited_ms;           /* for slots, in total */
};

/* The facts of a call; all borrowed until admission_enter() returns, and principal until
 * admission_leave(). */
struct admission_terms {
    const char *principal;        /* NULL: the host has not said */
    uint64_t max_runs;            /* the policy's */
    uint64_t max_queued;          /* the policy's */
    uint64_t memory_bytes;        /* the run's limit */
    uint64_t memory_total_bytes;  /* the policy's; 0: no bound */
    uint64_t patience_ms;         /* how long it may wait */
    const atomic_bool *cancelled; /* becomes true before admission_wake_cancelled() */
};

/* Takes a slot, at once or in its turn; admission_leave() gives it back. false with error
 * TOO_MANY_REQUESTS (the queue is full, or patience_ms are over) and its retry_after_ms, or
 * CANCELLED while it waited. */
bool admission_enter(struct admission *admission, const struct admission_terms *terms,
                     struct error *error);
/* Harmless without a slot. */
void admission_leave(struct admission *admission);

/* The call's share of the memory becomes its session's: it is not given back with the slot, but
 * released when the session ends. The number of its bytes. */
uint64_t admission_keep_memory(struct admission *admission);
void admission_release_memory(uint64_t bytes);

/* Wakes the waiting calls that are cancelled. */
void admission_wake_cancelled(void);

struct admission_counts {
    uint64_t running;
    uint64_t queued;
};

struct admission_counts admission_count(void);

/* In a child of fork(): no call runs or waits. Takes no lock. */
void admission_after_fork(void);

/* How long until as many calls as now wait, and one more, have had their turn, within the bounds
 * above: held_ms is how long a slot is held. admission.c takes the average of the last few runs, or
 * the time of those under way where that is longer. places is not 0. */
uint64_t admission_retry_after_ms(double held_ms, uint64_t queued, uint64_t places);
