/* SPDX-License-Identifier: Apache-2.0 */
/* Registering a run with the broker of endpoints: see endpoint_delivery.h. Runs in the gateway, on
 * the thread inside tool_invoke(). */
#include "gate/endpoint_delivery.h"

#include <string.h>

#include "base/cleanup.h"
#include "endpoints/broker_client.h"
#include "gate/cell_action.h"
#include "gate/choice/endpoint_plan.h"
#include "gate/gate.h"
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
    if (!call_read_secret(call, endpoint->secret, ret, error)) {
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

static struct egress_order make_order(const struct call *call, struct delivery *delivery)
{
    struct egress_order order = {
        .principal = call->context.principal,
        .endpoints = delivery->endpoints,
        .endpoint_count = call->endpoint_count,
    };
    memcpy(order.run_id, call->run_id, sizeof(order.run_id));
    return order;
}

static bool register_run(struct call *call, const struct egress_order *order, struct error *error)
{
    return broker_register(order, call->registration.cancel_fd, &call->broker_run, error);
}

/* The session's own registration reaches nothing. */
static bool register_cell(struct call *call, const struct egress_order *of_cell,
                          struct error *error)
{
    struct egress_order of_session = *of_cell;
    of_session.endpoints = NULL;
    of_session.endpoint_count = 0;
    of_session.session = 1;
    if (!call->session && !register_run(call, &of_session, error))
        return false;
    close_fd(TAKE_FD(call->cell_endpoints));
    call->cell_endpoints = broker_order_seal(of_cell, error);
    return call->cell_endpoints >= 0;
}

bool deliver_endpoints(struct call *call, struct error *error)
{
    if (call->endpoint_count == 0 && !endpoint_plan_of_session(call))
        return true;
    CLEANUP(clear_delivery) struct delivery delivery = {0};
    for (size_t i = 0; i < call->endpoint_count; i++)
        if (!fill_endpoint(call, i, &delivery, error))
            return false;
    const struct egress_order order = make_order(call, &delivery);
    return call->request.session ? register_cell(call, &order, error)
                                 : register_run(call, &order, error);
}

static void note_requests(struct call *call)
{
    const struct egress_totals *totals = &call->network.totals;
    if (!call->network.complete)
        call_note(call, "the broker of endpoints has ended during the run: the program's requests "
                        "to its endpoints failed from then on, and \"network\" does not list them");
    if (totals->omitted > 0)
        call_note(call,
                  "the program has made %llu requests to its endpoints, of which the first "
                  "are listed",
                  (unsigned long long)totals->requests);
    if (totals->between > 0)
        call_note(call,
                  "%llu requests to endpoints were refused since the cell before: endpoints are "
                  "reached while a cell runs that names them",
                  (unsigned long long)totals->between);
}

/* Ends what that registration reaches, and takes the requests down. */
static void end_with(struct call *call, struct broker_run *run,
                     void (*end)(struct broker_run *run, struct network_log *log))
{
    const char *names[REQUEST_ENDPOINTS_LIMIT];
    for (size_t i = 0; i < call->endpoint_count; i++)
        names[i] = call->endpoints[i]->order.name;
    call->network.names = names;
    call->network.name_count = call->endpoint_count;
    end(run, &call->network);
    call->network.names = NULL;
    call->network.name_count = 0;
    note_requests(call);
}

void endpoints_end(struct call *call)
{
    if (call->endpoint_count > 0 && !call->request.session)
        end_with(call, &call->broker_run, broker_end);
}

/* The caller of a first cell has no id of its session yet. */
static bool fail_cell(struct call *call, struct error *error)
{
    if (cell_is_first(call) || cell_has_action(call, REQUEST_SESSION_FORK))
        session_lose_alone(call->session, SESSION_LOSS_CRASHED);
    error_set_hint(error, "work without endpoints, or begin another session with \"session\": "
                          "\"" SESSION_NEW "\"");
    return false;
}

/* A cell that names none goes without a broker, too. */
bool endpoints_begin_cell(struct call *call, struct error *error)
{
    if (!endpoint_plan_of_session(call))
        return true;
    struct broker_run *run = &call->session->sandbox->broker_run;
    CLEANUP_CLOSE int order = TAKE_FD(call->cell_endpoints);
    if (call->endpoint_count == 0 && run->events < 0)
        return true;
    return broker_begin_cell(run, order, error) || fail_cell(call, error);
}

void endpoints_end_cell(struct call *call)
{
    if (endpoint_plan_of_session(call) && call->session->sandbox->broker_run.events >= 0)
        end_with(call, &call->session->sandbox->broker_run, broker_end_cell);
}
