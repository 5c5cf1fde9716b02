/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First processes that nobody waits for any more: answered for, or never used. They are reaped as
 * they end, and their groups removed as soon as the kernel lets go of them. Runs in the supervisor,
 * single-threaded.
 */
#pragma once

#include "backends/process/supervisor/launch/sandbox_handle.h"

struct reaper {
    int epoll; /* readable when one has ended */
    struct run_environment *environment;
    struct sandbox_handle *first;
};

/* false with errno. */
bool reaper_open(struct reaper *ret, struct run_environment *environment);
/* Takes it. Whoever has not ended by itself was killed before. */
void reaper_add(struct reaper *reaper, struct sandbox_handle *process);
/* Reaps who has ended, and tries the groups again that were busy. */
void reaper_handle(struct reaper *reaper);
/* When to try again, CLOCK_MONOTONIC in microseconds; 0: nothing is to be tried. */
uint64_t reaper_next(const struct reaper *reaper, uint64_t now);
bool reaper_has(const struct reaper *reaper, pid_t pid);
