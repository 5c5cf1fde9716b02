/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run as the supervisor sees it: from the description to ENDED, which is sent when its program
 * has ended and all its output was passed on; where it was killed or has failed, and on trial, when
 * its container is gone. The files that it has left are passed on behind ENDED. Runs in a
 * backend of containers, which is single-threaded; no function here waits.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/common/run_answer.h"
#include "backends/guest_runs/container/container.h"
#include "protocol/channel.h"
#include "protocol/checkpoint.h"
#include "protocol/session.h"

#define RUN_WATCHES_LIMIT (4 + SESSION_PROGRAMS_MOST) /* descriptors of one run */

struct run;
struct guest_end;
struct guest_measure;

/* Called for its container: see struct container_events. */
void run_check_guest(struct run *run);
void run_report_start(struct run *run);
void run_container_added(struct run *run, enum run_failure failure, const char *message);
void run_container_missing(struct run *run);
void run_container_failed(struct run *run, enum run_failure failure,
                          const struct engine_fault *fault);
bool run_measured(struct run *run, const struct guest_measure *measure);
void run_cell_restored(struct run *run, const struct guest_end *ended);
void run_branch_parked(struct run *run, enum checkpoint_word word);
void run_container_ended(struct run *run);
void run_container_finished(struct run *run);
void run_container_gone(struct run *run, const struct engine_fault *fault);

/* Starts the run that the descriptors describe, which it takes. NULL where it is over already
 * (ENDED was sent) or there is no memory for it. */
struct run *run_start(struct guest_environment *environment, const int fds[RUN_FD_COUNT]);
/* The descriptors to watch now; their number. */
size_t run_watches(const struct run *run, struct curl_waitfd watches[RUN_WATCHES_LIMIT]);
/* Takes the plugin's orders. */
void run_handle(struct run *run);
/* When it must be looked at again at the latest, CLOCK_MONOTONIC in microseconds; 0: never. */
uint64_t run_deadline(const struct run *run);
/* Its deadline has passed. */
void run_expire(struct run *run);
/* Kills the run without an answer. */
void run_abandon(struct run *run);
/* ENDED was sent, and its files were passed on: run_free() is due. */
bool run_is_over(const struct run *run);
void run_free(struct run *run);
