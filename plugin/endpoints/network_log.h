/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests to endpoints that a run has made, as the broker tells them behind its end: rows of
 * the result's member "network". Runs in the gateway, on the thread inside tool_invoke().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "protocol/orders/egress_event.h"
#include "json/json_text.h"

struct network_log {
    const char *const
        *names; /* of the run's endpoints, in the order of its registration; borrowed */
    size_t name_count;
    struct json_draft rows; /* the elements of an array */
    size_t row_count;
    struct egress_totals totals;
    bool complete; /* the broker has said that there is no more */
};

/* Takes a record or the totals; any other event is left. */
void network_log_take(struct network_log *log, const struct egress_event *event);
/* The array. */
void network_log_write(const struct network_log *log, struct json_draft *draft, const char *name);
void network_log_clear(struct network_log *log);
