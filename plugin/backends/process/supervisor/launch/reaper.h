/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First processes that no call waits for any more: their run was answered, or they were never used.
 * They are reaped as they end, and their groups removed as soon as the kernel allows it. Runs in
 * the supervisor, single-threaded.
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
/* Takes the process, which has ended or was killed. */
void reaper_add(struct reaper *reaper, struct sandbox_handle *process);
/* Reaps those that have ended, and retries the groups that were busy. */
void reaper_handle(struct reaper *reaper);
/* When to try again, CLOCK_MONOTONIC in microseconds; 0: nothing is to be tried. */
uint64_t reaper_next(const struct reaper *reaper, uint64_t now);
bool reaper_has(const struct reaper *reaper, pid_t pid);
