/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoints of one run: their order, their pools of connections, what is under way and what was
 * used up, and what the redaction looks for. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/egress/upstream/pool.h"
#include "base/locked_memory.h"
#include "protocol/orders/egress_order.h"
#include "redaction/redaction.h"

struct endpoint_state {
    const struct egress_endpoint *order;
    struct pool *pool;
    uint64_t requests;           /* that were let through */
    uint64_t in_flight;          /* now */
    struct redaction *redaction; /* empty where there is no credential */
};

struct endpoints {
    struct egress_order order;
    struct endpoint_state states[EGRESS_ENDPOINTS_LIMIT];
    struct locked_memory credentials; /* of all: those of the order point into it */
    bool has_tunnel;
};

/* Takes over the order; false when out of memory. Cleared by endpoints_clear() in any case. */
bool endpoints_begin(struct endpoints *endpoints, struct egress_order *order, struct pools *pools);
/* Wipes the credentials. No transfer of the run is under way. */
void endpoints_clear(struct endpoints *endpoints);
/* NULL: the run has none of that name. */
struct endpoint_state *endpoints_find(struct endpoints *endpoints, const char *name);
uint32_t endpoints_index(const struct endpoints *endpoints, const struct endpoint_state *state);
