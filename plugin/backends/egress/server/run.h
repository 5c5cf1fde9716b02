/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run, from its order to its last event: its listener, its connections, its records. A run ends
 * with its socket for events. One thread.
 */
#pragma once

#include <stdbool.h>

#include "backends/common/event_loop.h"
#include "backends/egress/upstream/pool.h"
#include "protocol/orders/egress_order.h"

struct runs; /* all of the broker */

/* NULL: out of memory. */
struct runs *runs_new(struct event_loop *loop, struct pools *pools);
/* Takes over the descriptors, and answers on EGRESS_FD_EVENTS. */
void runs_begin(struct runs *runs, const int fds[EGRESS_FD_COUNT]);
/* Does what became possible, for each run; whether anything was done. */
bool runs_settle(struct runs *runs);
/* Ends all of them without records. */
void runs_free(struct runs *runs);
