/* SPDX-License-Identifier: Apache-2.0 */
/* Registering a run with the broker of endpoints: see endpoint_delivery.h. Runs in the gateway, on
 * the thread inside tool_invoke(). */
#include "gate/endpoint_delivery.h"

#include <string.h>

#include "base/cleanup.h"
#include "endpoints/broker_client.h"
#include "policy/policy.h"
#include "secrets/secret.h"

/* The order, and the credentials that it borrows. */
struct delivery {
    struct egress_endpoint endpoints[REQUEST_ENDPOINTS_LIMIT];
    struct secret_value credentials[REQUEST_ENDPOINTS_LIMIT];
};

static void clear_delivery(struct delivery *delivery)
{
    for (size_t i = 0; i < REQUEST_ENDPOINTS_LIMIT; i++)
        secret_value_clear(&delivery->credentials[i]);
}

/* A line break would begin a header of its own, and libcurl's texts end at a NUL. */
static bool fits_in_header(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] < ' ' || bytes[i] == 0x7f)
            return false;
    return length > 0;
}

static bool read_credential(struct call *call, const struct policy_endpoint *endpoint,
                            struct secret_value *ret, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    const struct secret_sources sources = {
        .host = &call->host,
        .providers = policy->secret_providers,
        .provider_count = policy->secret_provider_count,
        .cancel_fd = call->registration.cancel_fd,
    };
    if (!secret_value_read(&sources, endpoint->secret, ret, error)) {
        error_add_context(error, "the endpoint \"%s\"", endpoint->order.name);
        return false;
    }
    if (fits_in_header(ret->memory.bytes, ret->length))
        return true;
    error_set(error, ERROR_SECRET_UNUSABLE,
              "the secret \"%s\" of the endpoint \"%s\" is empty, or has a line break or another "
              "control character, and cannot be sent",
              endpoint->secret, endpoint->order.name);
    return false;
}

static bool fill_endpoint(struct call *call, size_t index, struct delivery *ret,
                          struct error *error)
{
    const struct policy_endpoint *endpoint = call->endpoints[index];
    struct secret_value *credential = &ret->credentials[index];
    ret->endpoints[index] = endpoint->order; /* lends its texts */
    if (endpoint->order.auth == EGRESS_AUTH_NONE)
        return true;
    if (!read_credential(call, endpoint, credential, error))
        return false;
    ret->endpoints[index].credential =
        (struct wire_bytes){credential->memory.bytes, credential->length};
    return true;
}

static bool register_run(struct call *call, struct delivery *delivery, struct error *error)
{
    struct egress_order order = {
        .principal = call->context.principal,
        .endpoints = delivery->endpoints,
        .endpoint_count = call->endpoint_count,
    };
    memcpy(order.run_id, call->run_id, sizeof(order.run_id));
    return broker_register(&order, call->registration.cancel_fd, &call->broker_run, error);
}

bool deliver_endpoints(struct call *call, struct error *error)
{
    if (call->endpoint_count == 0)
        return true;
    if (!endpoint_variables_set(call)) {
        error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the variables of the endpoints");
        return false;
    }
    CLEANUP(clear_delivery) struct delivery delivery = {0};
    for (size_t i = 0; i < call->endpoint_count; i++)
        if (!fill_endpoint(call, i, &delivery, error))
            return false;
    return register_run(call, &delivery, error);
}

void endpoints_end(struct call *call)
{
    if (call->endpoint_count == 0)
        return;
    const char *names[REQUEST_ENDPOINTS_LIMIT];
    for (size_t i = 0; i < call->endpoint_count; i++)
        names[i] = call->endpoints[i]->order.name;
    call->network.names = names;
    call->network.name_count = call->endpoint_count;
    broker_end(&call->broker_run, &call->network);
    call->network.names = NULL;
    call->network.name_count = 0;
    if (!call->network.complete)
        call_note(call, "the broker of endpoints has ended during the run: the program's requests "
                        "to its endpoints failed from then on, and \"network\" does not list them");
    if (call->network.totals.omitted > 0)
        call_note(call,
                  "the program has made %llu requests to its endpoints, of which the first "
                  "are listed",
                  (unsigned long long)call->network.totals.requests);
}
