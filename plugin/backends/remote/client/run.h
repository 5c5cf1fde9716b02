/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run: its offers, and then the events and orders between the plugin and its worker. All other
 * data goes from the descriptors to the connection directly. A run is freed when it is over, from
 * any of these functions or from event_loop_turn(). Single-threaded.
 */
#pragma once

#include "backends/remote/client/workers.h"
#include "protocol/channel.h"
#include "protocol/run_description.h"

/* Takes the descriptors; description is borrowed. */
void run_begin(struct workers *workers, const struct run_description *description,
               const int fds[RUN_FD_COUNT]);
/* Workers have come or gone: tries again for the runs that wait for one. */
void runs_reconsider(struct workers *workers);
/* A worker has told that it has room. */
void runs_hear_of_room(struct workers *workers, const struct worker *worker);
/* The backend ends, or drops the workers: closes all descriptors of their runs. */
void runs_abandon(struct workers *workers);
