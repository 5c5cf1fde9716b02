/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processor time of a cell of a session that lives on: of all processes of its sandbox, as the
 * kernel tells it in /proc. A look costs more than a short cell, so the first one comes once the
 * cell has lasted for a while, and the time before it is not counted. Runs in the gateway, on the
 * thread inside tool_invoke().
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/process_stat.h"
#include "protocol/run_event.h"

#define CELL_USAGE_AFTER_US UINT64_C(10000) /* as its limit (backends/common/session_clock.h) */
#define CELL_USAGE_SHARE    UINT64_C(200)   /* how many times a look the cell has to last */

struct cell_usage {
    pid_t first; /* 0: nobody can look, or nobody could */
    uint64_t begin_us;
    uint64_t cost_us; /* of a look; 0: there was none yet */
    struct tree_time base;
};

/* first: see struct run_event. */
void cell_usage_begin(struct cell_usage *usage, pid_t first);
/* For poll(2): no longer than until the first look. */
int cell_usage_wait_ms(const struct cell_usage *usage, int timeout_ms);
/* To be called whenever the cell has been waited for. */
void cell_usage_look(struct cell_usage *usage);
/* Of a cell that has ended, while its processes are there. Unknown where it was too short. */
void cell_usage_end(const struct cell_usage *usage, struct run_usage *ret);
