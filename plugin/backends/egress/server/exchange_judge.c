/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the decision on one request: see exchange.h. Runs in the broker. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "backends/egress/rules/headers.h"
#include "backends/egress/server/exchange.h"
#include "base/cleanup.h"

#define REQUEST_HEADERS_LIMIT 100

/* A head, as it is walked. */
struct head {
    struct exchange *exchange;
    size_t count;
    size_t lengths; /* headers that say how long the body is */
    bool is_chunked;
    const char *bad_name; /* of a header that passes, and cannot be sent */
    bool out_of_memory;
};

static void read_length(struct head *head, const char *value)
{
    char *end = NULL;
    head->lengths++;
    head->exchange->body_length = strtoull(value, &end, 10);
    if (!*value || *end || strspn(value, "0123456789") != strlen(value) ||
        head->exchange->body_length > INT64_MAX)
        head->lengths++; /* cannot be read: as bad as two */
}

static enum MHD_Result see_header(void *user, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    struct head *head = user;
    const struct endpoint_state *endpoint = head->exchange->endpoint;
    head->count++;
    if (!value)
        value = "";
    if (strcasecmp(name, "content-length") == 0) {
        read_length(head, value);
    } else if (strcasecmp(name, "transfer-encoding") == 0) {
        head->lengths++;
        head->is_chunked = strcasecmp(value, "chunked") == 0;
        head->exchange->body_length = TRANSFER_UNKNOWN;
    } else if (endpoint && *value && request_header_passes(endpoint->order, name)) {
        if (!header_value_is_good(value))
            head->bad_name = name;
        else if (!header_list_add(&head->exchange->headers, name, value))
            head->out_of_memory = true;
    }
    return MHD_YES;
}

/* Faults in the form of the request: no reader could tell for sure where it ends or what it is.
 * false: it is refused, and the connection ends with it. */
static bool form_is_good(struct exchange *exchange, const struct head *head, const char *version)
{
    const char *fault = NULL;
    if (strcmp(version, MHD_HTTP_VERSION_1_1) != 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0)
        fault = "the version of HTTP must be 1.1 or 1.0";
    else if (head->count > REQUEST_HEADERS_LIMIT)
        fault = "the request has too many headers";
    else if (head->lengths > 1)
        fault = "the request says in two ways how long its body is";
    else if (exchange->body_length == TRANSFER_UNKNOWN && !head->is_chunked)
        fault = "the request's transfer encoding is not supported";
    else if (strcmp(exchange->method, "HEAD") == 0 && exchange->body_length > 0)
        fault = "a HEAD request must not have a body";
    if (!fault)
        return true;
    exchange->close = true;
    exchange_deny(exchange, 400, EGRESS_DENIED, "bad_request", "%s", fault);
    return false;
}

static void deny_all(struct exchange *exchange, bool between)
{
    exchange_deny(exchange, 403, EGRESS_DENIED, "policy_denied", "%s",
                  between ? "no cell of this session is running: endpoints are reached from a cell "
                            "that names them"
                          : "this cell's request has named no endpoint");
}

static void deny_unknown(struct exchange *exchange)
{
    const struct egress_order *order = &exchange->context->endpoints->order;
    char names[EGRESS_TEXT_LIMIT / 2] = "";
    size_t used = 0;
    for (size_t i = 0; i < order->endpoint_count && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 order->endpoints[i].name);
    CLEANUP_FREE char *name = printable_text(exchange->target.name, EGRESS_NAME_LIMIT);
    exchange_deny(exchange, 403, EGRESS_DENIED, "policy_denied",
                  "there is no endpoint %s; this run has: %s", name && *name ? name : "of no name",
                  names);
}

/* false: it is denied. */
static bool target_is_allowed(struct exchange *exchange)
{
    const struct target *target = &exchange->target;
    const struct egress_endpoint *order = exchange->endpoint ? exchange->endpoint->order : NULL;
    const struct egress_order *all = &exchange->context->endpoints->order;
    enum rule_outcome outcome;
    if (all->endpoint_count == 0) {
        deny_all(exchange, all->session);
    } else if (target->fault) {
        exchange_deny(exchange, 403, EGRESS_DENIED, "policy_denied", "%s", target->fault);
    } else if (!order) {
        deny_unknown(exchange);
    } else if (order->tunnel) {
        exchange_deny(exchange, 403, EGRESS_DENIED, "policy_denied",
                      "the endpoint takes CONNECT only");
    } else if (strcmp(exchange->method, "CONNECT") == 0 || strcmp(exchange->method, "TRACE") == 0 ||
               (outcome = rules_judge(order, exchange->method, target->path)) == RULE_NOT_METHOD) {
        exchange_deny(exchange, 403, EGRESS_DENIED, "policy_denied", "method %s is not allowed",
                      exchange->method);
    } else if (outcome == RULE_NOT_PATH) {
        exchange_deny(exchange, 403, EGRESS_DENIED, "policy_denied",
                      "method %s is not allowed for this path", exchange->method);
    } else if (order->auth == EGRESS_AUTH_QUERY &&
               target_has_parameter(target->query, order->auth_name)) {
        exchange_deny(exchange, 403, EGRESS_DENIED, "policy_denied",
                      "the query has the parameter that the broker adds");
    } else {
        return true;
    }
    return false;
}

static bool budget_is_left(struct exchange *exchange)
{
    struct endpoint_state *endpoint = exchange->endpoint;
    const struct egress_limits *limits = &endpoint->order->limits;
    if (endpoint->requests >= limits->requests) {
        exchange_deny(exchange, 429, EGRESS_BUDGET, "budget_exhausted",
                      "the run has made its %" PRIu64 " requests", limits->requests);
        return false;
    }
    if (exchange->body_length != TRANSFER_UNKNOWN &&
        exchange->body_length > limits->request_bytes) {
        exchange_deny(exchange, 413, EGRESS_BUDGET, "budget_exhausted",
                      "the request's body is longer than %" PRIu64 " bytes", limits->request_bytes);
        return false;
    }
    endpoint->requests++;
    return true;
}

void exchange_judge(struct exchange *exchange, const char *method, const char *version)
{
    struct head head = {.exchange = exchange};
    exchange->method = printable_text(method, EGRESS_RECORD_METHOD_LIMIT);
    if (!exchange->method || !exchange->raw_target ||
        !target_parse(exchange->raw_target, &exchange->target)) {
        exchange_deny(exchange, 503, EGRESS_FAILED, "out_of_memory", "the broker is out of memory");
        return;
    }
    exchange->endpoint = endpoints_find(exchange->context->endpoints, exchange->target.name);
    (void)MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, see_header, &head);
    if (!form_is_good(exchange, &head, version) || !target_is_allowed(exchange))
        return;
    if (head.bad_name)
        exchange_deny(exchange, 400, EGRESS_DENIED, "bad_request",
                      "the header %.64s has a control character or is too long", head.bad_name);
    else if (head.out_of_memory)
        exchange_deny(exchange, 503, EGRESS_FAILED, "out_of_memory", "the broker is out of memory");
    else
        exchange->accepted = budget_is_left(exchange);
}
