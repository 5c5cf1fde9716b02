/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a run's wall time it has spent waiting for the gateway's tools: the time in which a
 * call was open, less the processor time that the program's processes used meanwhile, up to a
 * limit. Pure code, for a backend's supervisor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* {.limit_us = ...} is a new one. */
struct waiting_clock {
    uint64_t limit_us;  /* the most that is not charged */
    uint64_t credit_us; /* that is not, so far */
    bool waits;
    uint64_t
        since_us; /* while it waits: the time, and the processor time, up to which it is settled */
    uint64_t processor_us;
};

/* A call is open. */
void waiting_clock_begin(struct waiting_clock *clock, uint64_t now_us, uint64_t processor_us);
/* Counts what has gone by while it waits. */
void waiting_clock_settle(struct waiting_clock *clock, uint64_t now_us, uint64_t processor_us);
/* The same, and no call is open any more. */
void waiting_clock_end(struct waiting_clock *clock, uint64_t now_us, uint64_t processor_us);
