/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders to the broker of endpoints and its events, without the version before them, so that seeds
 * outlive one. What is taken is safe and is written again as the same bytes; cut anywhere, or with
 * a byte more, it is refused.
 */
#include "base/cleanup.h"
#include "fuzz.h"
#include "protocol/orders/egress_event.h"
#include "protocol/orders/egress_order.h"
#include "protocol/run_event.h"

#define VERSION_LENGTH 4
#define CUTS_LIMIT     512 /* of a longer message only some places */

typedef bool taker(const unsigned char *message, size_t length);

static bool takes_order(const unsigned char *message, size_t length)
{
    struct egress_order order;
    bool taken = egress_order_decode(message, length, &order);
    if (taken)
        egress_order_clear(&order);
    return taken;
}

static bool takes_event(const unsigned char *message, size_t length)
{
    struct egress_event event;
    bool taken = egress_event_decode(message, length, &event);
    if (taken)
        egress_event_clear(&event);
    return taken;
}

static bool is_taken(taker *takes, const unsigned char *message, size_t length)
{
    CLEANUP_FREE unsigned char *exact = fuzz_exact(message, length);
    return takes(exact, length);
}

static void must_be_whole(taker *takes, const unsigned char *message, size_t length)
{
    size_t step = length <= CUTS_LIMIT ? 1 : length / CUTS_LIMIT + 1;
    for (size_t cut = 0; cut < length; cut += step)
        MUST(!is_taken(takes, message, cut));
    MUST(!is_taken(takes, message, length - 1));
    CLEANUP_FREE unsigned char *longer = calloc(1, length + 1);
    MUST(longer != NULL);
    memcpy(longer, message, length);
    MUST(!is_taken(takes, longer, length + 1));
}

static void must_be_one_line(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        MUST((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

static void must_be_one_line_each(char *const *texts)
{
    for (; *texts; texts++) {
        MUST((*texts)[0] != '\0');
        must_be_one_line(*texts, strlen(*texts));
    }
}

static void check_endpoint(const struct egress_endpoint *endpoint)
{
    bool has_credential = endpoint->credential.length > 0;
    MUST(endpoint->name[0] >= 'a' && endpoint->name[0] <= 'z');
    MUST(strlen(endpoint->name) <= EGRESS_NAME_LIMIT);
    MUST(has_credential == (endpoint->auth != EGRESS_AUTH_NONE));
    MUST(!has_credential || strncmp(endpoint->base_url, "https://", 8) == 0);
    MUST(!has_credential || !endpoint->tunnel);
    must_be_one_line(endpoint->base_url, strlen(endpoint->base_url));
    must_be_one_line(endpoint->auth_name, strlen(endpoint->auth_name));
    must_be_one_line(endpoint->auth_prefix, strlen(endpoint->auth_prefix));
    must_be_one_line((const char *)endpoint->credential.bytes, endpoint->credential.length);
    must_be_one_line_each(endpoint->headers);
    must_be_one_line_each(endpoint->request_headers);
    must_be_one_line_each(endpoint->response_headers);
    for (size_t i = 0; i < endpoint->rule_count; i++) {
        must_be_one_line_each(endpoint->rules[i].methods);
        for (char *const *path = endpoint->rules[i].paths; *path; path++)
            MUST((*path)[0] == '/');
    }
}

static void try_order(const unsigned char *message, size_t length)
{
    struct egress_order order;
    if (!egress_order_decode(message, length, &order))
        return;
    MUST(strspn(order.run_id, "0123456789abcdef") == RUN_ID_LENGTH);
    MUST(!order.session || order.endpoint_count == 0);
    for (size_t i = 0; i < order.endpoint_count; i++)
        check_endpoint(&order.endpoints[i]);
    size_t again_length = 0;
    CLEANUP_FREE unsigned char *again = egress_order_encode(&order, &again_length);
    MUST(again && again_length == length && memcmp(again, message, length) == 0);
    egress_order_clear(&order);
    must_be_whole(takes_order, message, length);
}

static void try_event(const unsigned char *message, size_t length)
{
    struct egress_event event;
    unsigned char again[EGRESS_EVENT_MESSAGE_LIMIT];
    if (!egress_event_decode(message, length, &event))
        return;
    must_be_one_line(event.text, strlen(event.text));
    must_be_one_line(event.record.path, strlen(event.record.path));
    MUST(egress_decision_name((enum egress_decision)event.record.decision) != NULL);
    MUST(egress_event_encode(&event, again) == length && memcmp(again, message, length) == 0);
    egress_event_clear(&event);
    must_be_whole(takes_event, message, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t length = VERSION_LENGTH + size;
    CLEANUP_FREE unsigned char *message = calloc(1, length);
    MUST(message != NULL);
    message[0] = PROTOCOL_VERSION;
    if (size)
        memcpy(message + VERSION_LENGTH, data, size);
    try_order(message, length);
    try_event(message, length);
    return 0;
}
