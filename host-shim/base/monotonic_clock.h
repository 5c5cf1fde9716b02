/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines on the monotonic clock, in milliseconds. Any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t monotonic_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* For poll(): 0 when the deadline has passed. */
static inline int milliseconds_until(int64_t deadline_ms)
{
    int64_t left = deadline_ms - monotonic_ms();
    if (left < 0)
        return 0;
    return left > 3600000 ? 3600000 : (int)left;
}
