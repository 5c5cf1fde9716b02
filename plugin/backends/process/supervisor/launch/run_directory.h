/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of runs on the machine, where these have no file view of their own. The first
 * process of a run removes its own, and the supervisor does where that could not; what supervisors
 * that were killed have left, the next one removes. Runs in the supervisor.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "backends/process/messages/interpreter_protocol.h"

#define RUN_DIRECTORY_PLACES 2

struct run_directory {
    char path[RUN_DIRECTORY_SIZE]; /* "": there is none */
    int lock;                      /* sandbox/own_directory.h; -1: without */
};

/* Where runs have theirs: in the directory that the policy has chosen, or where it has chosen none
 * ("") in the usual ones, as a read-only machine may have /dev/shm alone. How many there are. */
size_t run_directory_places(const char *chosen, const char *ret[RUN_DIRECTORY_PLACES]);

/* Makes one below that place, for this user alone. 0, or -1 with errno and *ret empty: also where
 * the path is too long. */
int run_directory_make(const char *place, struct run_directory *ret);
/* The same with the content that a sandbox needs, and locked. */
int run_directory_make_own(const char *place, struct run_directory *ret);
/* Of a run that never began; and what is left of others in this process. */
void run_directory_clear(struct run_directory *directory);

/* Removes what the first process has left: a tree of the run's making may take long, so a child
 * does it. 0: nothing is left, or a child cannot be made; it is then found by a later sweep. */
pid_t run_directory_begin_removal(struct run_directory *directory, int *ret_pidfd);

/* Has a child remove the directories below a place that are this user's, that
 * run_directory_make_own() made, and for which nobody holds the lock. How many there are; where
 * there are any *ret_pid and *ret_pidfd are the child's. A bounded number at a time. */
size_t run_directories_sweep(const char *place, pid_t *ret_pid, int *ret_pidfd);
