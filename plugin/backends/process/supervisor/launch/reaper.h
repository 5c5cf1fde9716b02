/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First processes that no call waits for any more: their run was answered, or they were never used.
 * They are reaped as they end, and their groups removed as soon as the kernel allows it. Runs in
 * the supervisor, single-threaded.
 */
#pragma once

#include "backends/process/supervisor/launch/sandbox_handle.h"

#define SWEPT_PLACES 4

struct reaper {
    int epoll; /* readable when one has ended */
    struct run_environment *environment;
    struct sandbox_handle *first;
    char swept[SWEPT_PLACES][RUN_DIRECTORY_SIZE]; /* places, "": none yet */
    uint32_t strays;                              /* directories that were found there */
};

/* false with errno. */
bool reaper_open(struct reaper *ret, struct run_environment *environment);
/* Takes the process, which has ended or was killed. A child removes what files are left of it, and
 * is then reaped in its stead. */
void reaper_add(struct reaper *reaper, struct sandbox_handle *process);
/* Reaps those that have ended, and retries the groups that were busy. */
void reaper_handle(struct reaper *reaper);
/* When to try again, CLOCK_MONOTONIC in microseconds; 0: nothing is to be tried. */
uint64_t reaper_next(const struct reaper *reaper, uint64_t now);
/* Begins to remove the directories of runs whose supervisors are gone, from the places of runs of
 * such a scratch directory: of each place once, so a supervisor does it with its first run there.
 */
void reaper_sweep(struct reaper *reaper, const char *scratch_directory);
bool reaper_has(const struct reaper *reaper, pid_t pid);
