/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the next call may begin, so that no more than a rate begin in a second and as many at once
 * (the generic cell rate algorithm, ITU-T I.371). Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* {.per_s = ...} is an unused one. */
struct tool_rate {
    uint64_t per_s;
    uint64_t next_us; /* when the allowance would be whole again */
};

#define TOOL_RATE_BURST_US UINT64_C(1000000)

/* 0: one may begin now; else how many microseconds from now. */
static inline uint64_t tool_rate_wait_us(const struct tool_rate *rate, uint64_t now_us)
{
    uint64_t step_us = TOOL_RATE_BURST_US / rate->per_s;
    uint64_t limit_us = now_us + TOOL_RATE_BURST_US;
    return rate->next_us + step_us > limit_us ? rate->next_us + step_us - limit_us : 0;
}

static inline void tool_rate_take(struct tool_rate *rate, uint64_t now_us)
{
    uint64_t from_us = rate->next_us > now_us ? rate->next_us : now_us;
    rate->next_us = from_us + TOOL_RATE_BURST_US / rate->per_s;
}
