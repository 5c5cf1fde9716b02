/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run as the supervisor sees it: from the description to ENDED. Runs in the supervisor, which
 * is single-threaded; no function here waits for anything a run controls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backends/common/run_answer.h"
#include "backends/process/supervisor/launch/sandbox_handle.h"
#include "backends/process/supervisor/pool/pool.h"
#include "protocol/channel.h"

struct run;

/* The sources of events of a run. */
enum run_source {
    RUN_SOURCE_SOCKET, /* orders of the plugin */
    RUN_SOURCE_REPORT, /* reports of the init */
    RUN_SOURCE_PIDFD,  /* the init has ended */
    RUN_SOURCE_COUNT
};

/* Starts the run that the descriptors describe, which it takes. NULL where the run is over already
 * (ENDED was sent) or there is no memory for it; then *ret_failed is a first process that is of no
 * use and the caller's, or NULL. slot is unique among the living runs. */
struct run *run_start(struct pool *pool, uint32_t slot, const int fds[RUN_FD_COUNT],
                      struct sandbox_handle **ret_failed);
/* -1 once it is of no more use. */
int run_source_fd(const struct run *run, enum run_source source);
uint32_t run_slot(const struct run *run);
/* Of the init or subreaper; 0 once it is reaped. */
pid_t run_pid(const struct run *run);

/* Handles a source that is ready. true: the run is over, ENDED was sent, and run_free() is due. */
bool run_handle(struct run *run, enum run_source source);

/* When the run must be looked at again at the latest, CLOCK_MONOTONIC in microseconds; 0: never. */
uint64_t run_deadline(const struct run *run);
/* Acts when its deadline has passed. is_run tells the first processes of all runs from other
 * children. true: the run is over, as with run_handle(). */
bool run_expire(struct run *run, bool (*is_run)(pid_t pid, void *user), void *user);
/* Kills the run, whose sources cannot be watched; its end is found by run_expire(). */
void run_fail_watch(struct run *run, int error_number);
/* Kills the run without an answer. */
void run_abandon(struct run *run);

/* Releases the run; its first process is the caller's. */
struct sandbox_handle *run_free(struct run *run);
