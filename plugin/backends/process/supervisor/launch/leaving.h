/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First processes that nobody waits for any more: answered for, or never used. They are reaped as
 * they end, and their groups removed as soon as the kernel lets go of them. Runs in the supervisor,
 * single-threaded.
 */
#pragma once

#include "backends/process/supervisor/launch/first_process.h"

struct leaving {
    int epoll; /* readable when one has ended */
    struct first_process *first;
};

/* false with errno. */
bool leaving_open(struct leaving *ret);
/* Takes it. Whoever has not ended by itself was killed before. */
void leaving_add(struct leaving *leaving, struct run_environment *environment,
                 struct first_process *process);
/* Reaps who has ended, and tries the groups again that were busy. */
void leaving_handle(struct leaving *leaving, struct run_environment *environment);
/* When to try again, CLOCK_MONOTONIC in microseconds; 0: nothing is to be tried. */
uint64_t leaving_next(const struct leaving *leaving, uint64_t now);
bool leaving_has(const struct leaving *leaving, pid_t pid);
