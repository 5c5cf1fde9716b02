/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running and the waiting calls as a data structure: run slots and shares of the memory, and
 * before them a line of waiting calls for each principal. A line is first in, first out. The lines
 * take turns, one call each, so that a principal with many calls delays another's single call by
 * one turn only. Memory is the caller's: an entry is linked in, nothing is allocated. Pure code, no
 * lock: admission.c holds it under its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Filled by the caller: the first four. It must stay where it is for as long as it waits. */
struct run_queue_entry {
    const char *principal;       /* borrowed while it waits; NULL: the host has not said */
    uint64_t max_runs;           /* from 1: it starts only where fewer are running */
    uint64_t memory_bytes;       /* its limit */
    uint64_t memory_total_bytes; /* it starts only where no more are running with it; 0: no bound */

    struct run_queue_entry *next; /* of the same line */
    /* In the first entry of a line: */
    struct run_queue_entry *next_line;
    struct run_queue_entry *last;
    uint64_t length;
};

/* All zero: no call runs or waits. */
struct run_queue {
    uint64_t running;
    uint64_t memory_bytes; /* the limits of those that run, together */
    uint64_t queued;
    struct run_queue_entry *lines; /* the first one's turn is next */
};

enum run_queue_verdict { RUN_QUEUE_RUNS, RUN_QUEUE_WAITS, RUN_QUEUE_FULL };

/* Takes a slot if one is free and no call waits, else a place in the queue, else nothing. At a full
 * queue, a principal with fewer waiting calls still gets in: *ret_displaced is then the last call
 * of the longest line, which is no longer in the queue; else NULL. After RUN_QUEUE_WAITS the caller
 * asks run_queue_next(). */
enum run_queue_verdict run_queue_enter(struct run_queue *queue, struct run_queue_entry *entry,
                                       uint64_t max_queued, struct run_queue_entry **ret_displaced);

/* The next waiting call that may run, which then has its slot; NULL when there is none. To be
 * called until then after every change. */
struct run_queue_entry *run_queue_next(struct run_queue *queue);

/* Removes a waiting call. */
void run_queue_remove(struct run_queue *queue, struct run_queue_entry *entry);

/* Gives back the slot of a call that ran, and its share of the memory. */
void run_queue_leave(struct run_queue *queue, const struct run_queue_entry *entry);

/* Every waiting entry, once; visit must not change the queue. */
void run_queue_visit(const struct run_queue *queue, void (*visit)(struct run_queue_entry *entry));
