/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many sandboxes of a template are kept ready: one more for each run that found none, fewer
 * when some were of no use to anybody for a while. Pure, no system call, any process.
 */
#pragma once

#include <stdint.h>

struct warm_pool_size {
    uint32_t least;
    uint32_t most; /* not less than that */
    uint32_t wanted;
    uint32_t lowest; /* how few were left in this period */
    uint64_t period_us;
    uint64_t period_end_us;
};

/* The bounds, which may be others than before; a new one (all zero) begins with the least. */
void warm_pool_size_set(struct warm_pool_size *size, uint32_t least, uint32_t most,
                        uint64_t period_us, uint64_t now);
/* A run came and found so many; 0: none for it. */
void warm_pool_size_note(struct warm_pool_size *size, uint32_t found);
/* Ends a period that is over: wanted shrinks by the number that no run has used in it. */
void warm_pool_size_pass(struct warm_pool_size *size, uint32_t count, uint64_t now);
