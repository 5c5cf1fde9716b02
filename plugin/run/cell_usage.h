/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor time of a cell of a session that lives on: of all processes of its sandbox, as the
 * kernel tells it in /proc. A look costs more than a short cell, so the first one comes once the
 * cell has lasted for a while, and the time before it is not counted. Where the gateway cannot look
 * into the sandbox, it asks the backend behind the cell, which has looked at the same times. Runs
 * in the gateway, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/process_stat.h"
#include "protocol/run_event.h"

#define CELL_USAGE_AFTER_US UINT64_C(10000)   /* as its limit (backends/common/session_clock.h) */
#define CELL_USAGE_SHARE    UINT64_C(200)     /* how many times a look the cell has to last */
#define CELL_USAGE_LIMIT_US UINT64_C(1000000) /* for the backend to answer */

struct cell_usage {
    pid_t first; /* 0: nobody can look, or nobody could */
    uint64_t begin_us;
    uint64_t cost_us; /* of a look; 0: there was none yet */
    struct tree_time base;
    uint64_t asks_after_us; /* 0: the backend is not asked */
    uint64_t asked_us;      /* 0: it was not yet */
    bool is_told;
    struct tree_time told;
};

/* first: see struct run_event. asks_after_ms: as in the mode's row. */
void cell_usage_begin(struct cell_usage *usage, pid_t first, uint64_t asks_after_ms);
/* For poll(2): no longer than until the first look, or the end of the time for an answer. */
int cell_usage_wait_ms(const struct cell_usage *usage, int timeout_ms);
/* To be called whenever the cell has been waited for. */
void cell_usage_look(struct cell_usage *usage);
/* Of a cell that has ended. Is its backend to be asked now? true: once. */
bool cell_usage_asks(struct cell_usage *usage);
/* Is the answer still to come? */
bool cell_usage_awaits(const struct cell_usage *usage);
void cell_usage_take(struct cell_usage *usage, const struct run_usage *told);
/* Of a cell that has ended, while its processes are there. The times are unknown where it was too
 * short. */
struct run_usage cell_usage_end(const struct cell_usage *usage, uint64_t wall_us);
