/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pseudo-random numbers that are the same in every run, so that a failure can be repeated.
 * Single-threaded test process.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* 0..limit-1 */
static inline size_t random_below(uint64_t *state, size_t limit)
{
    return (size_t)(random_next(state) % limit);
}
