/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every backend's reports to the plugin about a run, and the refusal of a run that has not begun.
 * Runs in the supervisors, single-threaded.
 */
#pragma once

#include <stdint.h>

#include "protocol/channel.h"
#include "protocol/run_event.h"

/* Microseconds of CLOCK_MONOTONIC. */
uint64_t monotonic_us(void);
/* The earlier of two times, of which 0 is never. */
uint64_t earlier_us(uint64_t one, uint64_t other);

/* Without waiting; nothing where the socket is -1 or its peer is gone. */
void run_event_send(int socket, const struct run_event *event);

/* Makes it the end of a run that did not start, or was lost. */
void run_event_fail(struct run_event *event, enum run_failure failure, int error_number,
                    const char *message);

void run_fds_close(const int fds[RUN_FD_COUNT]);

/* Answers a run that cannot be taken, and closes its descriptors. */
void run_refuse(const int fds[RUN_FD_COUNT], int error_number, const char *message);
