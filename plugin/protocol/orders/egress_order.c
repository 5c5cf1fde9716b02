/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the message form of an order to the broker of endpoints, and the checks of one. Runs in the
 * plugin (encode) and in the broker (decode), on any thread.
 */
#include "protocol/orders/egress_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "protocol/run_event.h"
#include "protocol/wire_fields.h"

#define NAME_BODY ASCII_LOWER ASCII_DIGITS "-"
/* RFC 9110 section 5.6.2 */
#define TOKEN ASCII_ALPHANUMERIC "!#$%&'*+-.^_`|~"

#define NUMBER(member, most)  WIRE_NUMBER(struct egress_endpoint, member, most)
#define STRING(member, limit) WIRE_STRING(struct egress_endpoint, member, limit)
#define HEADERS(member) \
    WIRE_STRINGS(struct egress_endpoint, member, EGRESS_HEADERS_LIMIT, EGRESS_HEADER_LIMIT)

static const struct wire_field order_fields[] = {
    WIRE_TEXT(struct egress_order, run_id),
    WIRE_STRING(struct egress_order, principal, EGRESS_PRINCIPAL_LIMIT),
    WIRE_NUMBER(struct egress_order, session, 1),
};

/* The rules are behind them. */
static const struct wire_field endpoint_fields[] = {
    STRING(name, EGRESS_NAME_LIMIT),
    STRING(base_url, EGRESS_URL_LIMIT),
    NUMBER(tunnel, 1),
    NUMBER(auth, EGRESS_AUTH_COUNT - 1),
    STRING(auth_name, EGRESS_HEADER_LIMIT),
    STRING(auth_prefix, EGRESS_HEADER_LIMIT),
    WIRE_BYTES(struct egress_endpoint, credential, EGRESS_CREDENTIAL_LIMIT),
    HEADERS(request_headers),
    HEADERS(response_headers),
    HEADERS(headers),
    NUMBER(limits.requests, INT64_MAX),
    NUMBER(limits.request_bytes, INT64_MAX),
    NUMBER(limits.response_bytes, INT64_MAX),
    NUMBER(limits.timeout_ms, EGRESS_TIMEOUT_LIMIT),
    NUMBER(limits.in_flight, EGRESS_IN_FLIGHT_LIMIT),
    NUMBER(private_addresses, 1),
    WIRE_BYTES(struct egress_endpoint, ca, EGRESS_CA_LIMIT),
};

static const struct wire_field rule_fields[] = {
    WIRE_STRINGS(struct egress_rule, methods, EGRESS_METHODS_LIMIT, EGRESS_METHOD_LIMIT),
    WIRE_PATHS(struct egress_rule, paths, EGRESS_PATHS_LIMIT, EGRESS_PATH_LIMIT),
};

static void put_endpoint(struct wire_writer *writer, const struct egress_endpoint *endpoint)
{
    wire_put_fields(writer, endpoint_fields, COUNT_OF(endpoint_fields), endpoint);
    if (endpoint->rule_count > EGRESS_RULES_LIMIT) {
        writer->failed = true;
        return;
    }
    wire_put_u32(writer, (uint32_t)endpoint->rule_count);
    for (size_t i = 0; i < endpoint->rule_count; i++)
        wire_put_fields(writer, rule_fields, COUNT_OF(rule_fields), &endpoint->rules[i]);
}

unsigned char *egress_order_encode(const struct egress_order *order, size_t *ret_length)
{
    struct wire_writer writer = {.limit = EGRESS_ORDER_LIMIT};
    wire_put_u32(&writer, PROTOCOL_VERSION);
    wire_put_fields(&writer, order_fields, COUNT_OF(order_fields), order);
    if (order->endpoint_count > EGRESS_ENDPOINTS_LIMIT)
        writer.failed = true;
    wire_put_u32(&writer, (uint32_t)order->endpoint_count);
    for (size_t i = 0; i < order->endpoint_count && !writer.failed; i++)
        put_endpoint(&writer, &order->endpoints[i]);
    return wire_take_message(&writer, ret_length);
}

/* Bytes that could end a header or a request line, or begin another. */
static bool has_control_bytes(const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++)
        if (byte[i] < 0x20 || byte[i] == 0x7f)
            return true;
    return false;
}

static bool name_is_good(const char *name)
{
    return strspn(name, ASCII_LOWER) > 0 && ascii_consists_of(name, SIZE_MAX, NAME_BODY);
}

static bool header_names_are_good(char *const *names)
{
    for (; *names; names++)
        if (!ascii_consists_of(*names, SIZE_MAX, TOKEN) || strpbrk(*names, ASCII_UPPER))
            return false;
    return true;
}

static bool header_lines_are_good(char *const *lines)
{
    for (; *lines; lines++) {
        size_t name_length = strspn(*lines, TOKEN);
        if (name_length == 0 || (*lines)[name_length] != ':' ||
            has_control_bytes(*lines, strlen(*lines)))
            return false;
    }
    return true;
}

static bool methods_are_good(const struct egress_endpoint *endpoint)
{
    for (size_t i = 0; i < endpoint->rule_count; i++)
        for (char *const *method = endpoint->rules[i].methods; *method; method++)
            if (!ascii_consists_of(*method, SIZE_MAX, TOKEN))
                return false;
    return true;
}

/* The credential fits where it is put. */
static bool auth_is_good(const struct egress_endpoint *endpoint)
{
    const struct wire_bytes *credential = &endpoint->credential;
    const char *name = endpoint->auth_name;
    if (has_control_bytes(name, strlen(name)) ||
        has_control_bytes(endpoint->auth_prefix, strlen(endpoint->auth_prefix)) ||
        has_control_bytes(credential->bytes, credential->length))
        return false;
    if (endpoint->auth == EGRESS_AUTH_NONE)
        return credential->length == 0;
    if (endpoint->auth == EGRESS_AUTH_HEADER && !ascii_consists_of(name, SIZE_MAX, TOKEN))
        return false;
    if (endpoint->auth == EGRESS_AUTH_BASIC && strchr(name, ':'))
        return false;
    return credential->length > 0 && (endpoint->auth != EGRESS_AUTH_QUERY || name[0] != '\0');
}

/* Nothing goes over plain HTTP but to a private address without a credential. */
static bool url_is_good(const struct egress_endpoint *endpoint)
{
    const char *url = endpoint->base_url;
    if (has_control_bytes(url, strlen(url)) || strpbrk(url, " @?#\\"))
        return false;
    if (strncmp(url, "https://", 8) == 0)
        return url[8] != '\0' && url[8] != '/';
    return strncmp(url, "http://", 7) == 0 && url[7] != '\0' && url[7] != '/' &&
           endpoint->private_addresses && endpoint->auth == EGRESS_AUTH_NONE && !endpoint->tunnel;
}

static bool endpoint_is_good(const struct egress_endpoint *endpoint)
{
    bool whole = name_is_good(endpoint->name) && url_is_good(endpoint) && auth_is_good(endpoint) &&
                 header_names_are_good(endpoint->request_headers) &&
                 header_names_are_good(endpoint->response_headers) &&
                 header_lines_are_good(endpoint->headers) && methods_are_good(endpoint) &&
                 endpoint->limits.timeout_ms > 0 && endpoint->limits.in_flight > 0;
    return whole &&
           (!endpoint->tunnel || (endpoint->rule_count == 0 && endpoint->auth == EGRESS_AUTH_NONE));
}

static bool order_is_good(const struct egress_order *order)
{
    if (!ascii_is_hex(order->run_id, RUN_ID_LENGTH) ||
        (order->session && order->endpoint_count > 0))
        return false;
    for (size_t i = 0; i < order->endpoint_count; i++) {
        if (!endpoint_is_good(&order->endpoints[i]))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(order->endpoints[i].name, order->endpoints[k].name) == 0)
                return false;
    }
    return true;
}

static void get_endpoint(struct wire_reader *reader, struct egress_endpoint *endpoint)
{
    wire_get_fields(reader, endpoint_fields, COUNT_OF(endpoint_fields), endpoint);
    size_t count = wire_get_u32(reader);
    if (count > EGRESS_RULES_LIMIT)
        reader->failed = true;
    if (reader->failed || count == 0)
        return;
    endpoint->rules = calloc(count, sizeof(*endpoint->rules));
    if (!endpoint->rules) {
        reader->failed = true;
        return;
    }
    while (endpoint->rule_count < count && !reader->failed)
        wire_get_fields(reader, rule_fields, COUNT_OF(rule_fields),
                        &endpoint->rules[endpoint->rule_count++]);
}

static void get_endpoints(struct wire_reader *reader, struct egress_order *order)
{
    size_t count = wire_get_u32(reader);
    if (count > EGRESS_ENDPOINTS_LIMIT)
        reader->failed = true;
    if (reader->failed || count == 0)
        return;
    order->endpoints = calloc(count, sizeof(*order->endpoints));
    if (!order->endpoints) {
        reader->failed = true;
        return;
    }
    while (order->endpoint_count < count && !reader->failed)
        get_endpoint(reader, &order->endpoints[order->endpoint_count++]);
}

bool egress_order_decode(const unsigned char *message, size_t length, struct egress_order *ret)
{
    if (length > EGRESS_ORDER_LIMIT)
        return false;
    struct wire_reader reader = {.bytes = message, .length = length};
    if (wire_get_u32(&reader) != PROTOCOL_VERSION)
        return false;
    struct egress_order order = {.endpoint_count = 0};
    wire_get_fields(&reader, order_fields, COUNT_OF(order_fields), &order);
    get_endpoints(&reader, &order);
    if (reader.failed || reader.offset != length || !order_is_good(&order)) {
        egress_order_clear(&order);
        return false;
    }
    *ret = order;
    return true;
}

static void egress_endpoint_clear(struct egress_endpoint *endpoint)
{
    if (endpoint->credential.bytes)
        explicit_bzero(endpoint->credential.bytes, endpoint->credential.length);
    for (size_t i = 0; i < endpoint->rule_count; i++)
        wire_release_fields(rule_fields, COUNT_OF(rule_fields), &endpoint->rules[i]);
    free(endpoint->rules);
    wire_release_fields(endpoint_fields, COUNT_OF(endpoint_fields), endpoint);
    *endpoint = (struct egress_endpoint){0};
}

void egress_order_clear(struct egress_order *order)
{
    for (size_t i = 0; i < order->endpoint_count; i++)
        egress_endpoint_clear(&order->endpoints[i]);
    free(order->endpoints);
    wire_release_fields(order_fields, COUNT_OF(order_fields), order);
    *order = (struct egress_order){.endpoint_count = 0};
}
