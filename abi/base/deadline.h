/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in time on CLOCK_MONOTONIC, in milliseconds: the only clock that limits are measured with,
 * as nobody can set it. Any process, any thread.
 */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with a valid clock and pointer */
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* For pthread_cond_clockwait() with CLOCK_MONOTONIC. */
static inline struct timespec deadline_timespec(uint64_t deadline_ms)
{
    return (struct timespec){.tv_sec = (time_t)(deadline_ms / 1000),
                             .tv_nsec = (long)(deadline_ms % 1000) * 1000000};
}

/* For poll(): milliseconds until the deadline, rounded so that the wait does not end before it; 0
 * when past. */
static inline int deadline_poll_timeout(uint64_t deadline_ms)
{
    uint64_t now = monotonic_ms();
    if (deadline_ms <= now)
        return 0;
    uint64_t left = deadline_ms - now + 1;
    return left > INT_MAX ? INT_MAX : (int)left;
}
