/* SPDX-License-Identifier: Apache-2.0 */
/* What one run of a contestant gave, and the contestant that is a command. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define ATTEMPT_OUTPUT_LIMIT 4096
#define ATTEMPT_REASON_LIMIT 256

struct attempt {
    bool good;                         /* it ended with status 0 */
    char reason[ATTEMPT_REASON_LIMIT]; /* why not */
    char output[ATTEMPT_OUTPUT_LIMIT]; /* the begin of its standard output ... */
    size_t kept;                       /* ... which is that many bytes */
    uint64_t total;                    /* of all of it */
    double ms;
};

static inline double clock_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Starts the command, reads it to its end, and waits for it. argv[0] is a path. The environment has
 * PATH and HOME alone; standard input and errors are /dev/null. The time taken is from before its
 * pipe is made until it has been waited for. Any thread. */
void spawned_run(char *const argv[], struct attempt *ret);
