/* SPDX-License-Identifier: Apache-2.0 */
/* Owns a run's credentials in the broker, and their end: see endpoints.h. Runs in the broker. */
#include "backends/egress/upstream/endpoints.h"

#include <stdlib.h>
#include <string.h>

#include "backends/egress/upstream/credential.h"
#include "base/cleanup.h"

/* Into memory that is locked and not dumped. */
static bool move_credentials(struct endpoints *endpoints)
{
    struct egress_order *order = &endpoints->order;
    size_t total = 1;
    for (size_t i = 0; i < order->endpoint_count; i++)
        total += order->endpoints[i].credential.length;
    if (locked_memory_get(total, &endpoints->credentials) < 0)
        return false;
    unsigned char *next = endpoints->credentials.bytes;
    for (size_t i = 0; i < order->endpoint_count; i++) {
        struct wire_bytes *credential = &order->endpoints[i].credential;
        if (credential->length)
            memcpy(next, credential->bytes, credential->length);
        explicit_bzero(credential->bytes, credential->length);
        free(credential->bytes);
        credential->bytes = next;
        next += credential->length;
    }
    return true;
}

static bool begin_endpoint(struct endpoint_state *state, const struct egress_endpoint *order,
                           const char *principal, struct pools *pools)
{
    *state = (struct endpoint_state){
        .order = order,
        .redaction = redaction_new(),
        .pool = pool_obtain(pools, principal, order),
    };
    return state->redaction && state->pool && credential_redact(order, state->redaction);
}

bool endpoints_begin(struct endpoints *endpoints, struct egress_order *order, struct pools *pools)
{
    endpoints->order = *order;
    *order = (struct egress_order){.endpoint_count = 0};
    if (!move_credentials(endpoints))
        return false;
    for (size_t i = 0; i < endpoints->order.endpoint_count; i++) {
        const struct egress_endpoint *endpoint = &endpoints->order.endpoints[i];
        endpoints->has_tunnel |= endpoint->tunnel;
        if (!begin_endpoint(&endpoints->states[i], endpoint, endpoints->order.principal, pools))
            return false;
    }
    return true;
}

void endpoints_clear(struct endpoints *endpoints)
{
    for (size_t i = 0; i < endpoints->order.endpoint_count; i++) {
        redaction_free(endpoints->states[i].redaction);
        pool_release(endpoints->states[i].pool);
        /* Where they were moved, they are not the order's to free. */
        if (endpoints->credentials.bytes)
            endpoints->order.endpoints[i].credential = (struct wire_bytes){0};
    }
    locked_memory_clear(&endpoints->credentials);
    egress_order_clear(&endpoints->order);
    *endpoints = (struct endpoints){.has_tunnel = false};
}

struct endpoint_state *endpoints_find(struct endpoints *endpoints, const char *name)
{
    for (size_t i = 0; i < endpoints->order.endpoint_count; i++)
        if (strcmp(endpoints->order.endpoints[i].name, name) == 0)
            return &endpoints->states[i];
    return NULL;
}

uint32_t endpoints_index(const struct endpoints *endpoints, const struct endpoint_state *state)
{
    return (uint32_t)(state - endpoints->states);
}
