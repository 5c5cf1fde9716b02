/* SPDX-License-Identifier: Apache-2.0 */
/* Orders to the broker of endpoints and its events: each member comes back as it was sent, and an
 * order that could put a credential in the wrong place is not taken. One thread. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "protocol/orders/egress_event.h"
#include "protocol/orders/egress_order.h"
#include "tap_suite.h"

#define TEXT(name, text) static char name[] = text
TEXT(name, "github");
TEXT(url, "https://api.example:8443/v1");
TEXT(plain_url, "http://127.0.0.1:80");
TEXT(get, "GET");
TEXT(head, "HEAD");
TEXT(issues, "/repos/*/issues");
TEXT(user, "robot");
TEXT(prefix, "Token ");
TEXT(accept, "accept: application/json");
TEXT(extra, "x-extra");
TEXT(principal, "alice");
static unsigned char credential[] = "s3cret", ca[] = "PEM";

static char *methods[] = {get, head, NULL};
static char *paths[] = {issues, NULL};
static char *extras[] = {extra, NULL};
static char *lines[] = {accept, NULL};
static char *none[] = {NULL};

static struct egress_rule rules[2];
static struct egress_endpoint endpoints[2];

static struct egress_order acceptable(void)
{
    rules[0] = (struct egress_rule){.methods = methods, .paths = paths};
    rules[1] = (struct egress_rule){.methods = none, .paths = none};
    endpoints[0] = (struct egress_endpoint){
        .name = name,
        .base_url = url,
        .rules = rules,
        .rule_count = 2,
        .auth = EGRESS_AUTH_HEADER,
        .auth_name = extra,
        .auth_prefix = prefix,
        .credential = {credential, 6},
        .request_headers = extras,
        .response_headers = extras,
        .headers = lines,
        .limits = {1, 2, 3, 4, 5},
        .private_addresses = 1,
        .ca = {ca, 3},
    };
    endpoints[1] = (struct egress_endpoint){
        .name = user, .base_url = url, .tunnel = 1, .limits = {.timeout_ms = 1, .in_flight = 1}};
    struct egress_order order = {
        .principal = principal, .endpoints = endpoints, .endpoint_count = COUNT_OF(endpoints)};
    memset(order.run_id, 'a', RUN_ID_LENGTH);
    return order;
}

static bool comes_through(const struct egress_order *order, struct egress_order *ret)
{
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = egress_order_encode(order, &length);
    return message && egress_order_decode(message, length, ret);
}

static bool is_taken(const struct egress_order *order)
{
    struct egress_order read = {.endpoint_count = 0};
    bool taken = comes_through(order, &read);
    egress_order_clear(&read);
    return taken;
}

START_TEST(an_order_comes_back)
{
    struct egress_order sent = acceptable();
    CLEANUP(egress_order_clear) struct egress_order read = {.endpoint_count = 0};
    ck_assert(comes_through(&sent, &read));
    ck_assert_str_eq(read.run_id, sent.run_id);
    ck_assert_str_eq(read.principal, principal);
    ck_assert_uint_eq(read.endpoint_count, 2);
    const struct egress_endpoint *first = &read.endpoints[0];
    ck_assert_str_eq(first->name, name);
    ck_assert_str_eq(first->base_url, url);
    ck_assert_uint_eq(first->rule_count, 2);
    ck_assert_str_eq(first->rules[0].methods[1], head);
    ck_assert_str_eq(first->rules[0].paths[0], issues);
    ck_assert_ptr_null(first->rules[1].methods[0]);
    ck_assert_uint_eq(first->auth, EGRESS_AUTH_HEADER);
    ck_assert_str_eq(first->auth_prefix, prefix);
    ck_assert_mem_eq(first->credential.bytes, credential, 6);
    ck_assert_str_eq(first->request_headers[0], extra);
    ck_assert_str_eq(first->headers[0], accept);
    ck_assert_mem_eq(&first->limits, &endpoints[0].limits, sizeof(first->limits));
    ck_assert_uint_eq(first->private_addresses, 1);
    ck_assert_mem_eq(first->ca.bytes, ca, 3);
    ck_assert_uint_eq(read.endpoints[1].tunnel, 1);
    ck_assert_uint_eq(read.endpoints[1].ca.length, 0);
}
END_TEST

START_TEST(a_cut_or_longer_order_is_refused)
{
    struct egress_order order = acceptable();
    struct egress_order read;
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = egress_order_encode(&order, &length);
    ck_assert_ptr_nonnull(message);
    for (size_t cut = 0; cut < length; cut++)
        ck_assert(!egress_order_decode(message, cut, &read));
    CLEANUP_FREE unsigned char *longer = calloc(1, length + 1);
    ck_assert_ptr_nonnull(longer);
    memcpy(longer, message, length);
    ck_assert(!egress_order_decode(longer, length + 1, &read));
    longer[0]++;
    ck_assert(!egress_order_decode(longer, length, &read));
}
END_TEST

/* Each changes one member of an order that is taken. */
#define REFUSED(change)                           \
    do {                                          \
        struct egress_order order = acceptable(); \
        ck_assert(is_taken(&order));              \
        change;                                   \
        ck_assert(!is_taken(&order));             \
    } while (0)

START_TEST(a_credential_goes_nowhere_else)
{
    TEXT(split, "x\r\ny");
    TEXT(colon, "a:b");
    TEXT(nothing, "");
    static unsigned char lines_in_it[] = "a\nb";
    REFUSED(endpoints[0].base_url = plain_url);
    REFUSED(endpoints[0].auth = EGRESS_AUTH_NONE);
    REFUSED(endpoints[0].credential.length = 0);
    REFUSED(endpoints[0].auth_name = split);
    REFUSED(endpoints[0].auth_name = nothing);
    REFUSED(endpoints[0].auth_prefix = split);
    REFUSED((endpoints[0].credential = (struct wire_bytes){lines_in_it, 3}));
    REFUSED((endpoints[0].auth = EGRESS_AUTH_BASIC, endpoints[0].auth_name = colon));
    REFUSED((endpoints[0].auth = EGRESS_AUTH_QUERY, endpoints[0].auth_name = nothing));
    REFUSED(endpoints[0].tunnel = 1);
}
END_TEST

START_TEST(plain_http_is_for_private_addresses_without_a_credential)
{
    struct egress_order order = acceptable();
    endpoints[0].auth = EGRESS_AUTH_NONE;
    endpoints[0].credential.length = 0;
    endpoints[0].base_url = plain_url;
    ck_assert(is_taken(&order));
    endpoints[0].private_addresses = 0;
    ck_assert(!is_taken(&order));
}
END_TEST

START_TEST(names_and_headers_are_checked)
{
    TEXT(upper, "Github");
    TEXT(digit, "1a");
    TEXT(upper_header, "X-Extra");
    TEXT(no_colon, "accept");
    TEXT(two_lines, "a: b\r\nc: d");
    TEXT(space, "a b");
    TEXT(user_url, "https://user@host");
    TEXT(other, "ftp://host");
    TEXT(no_host, "https:///x");
    TEXT(relative, "repos");
    char *bad_names[] = {upper_header, NULL}, *bad_line[] = {no_colon, NULL};
    char *bad_lines[] = {two_lines, NULL}, *bad_method[] = {space, NULL};
    char *bad_path[] = {relative, NULL};
    REFUSED(endpoints[0].name = upper);
    REFUSED(endpoints[0].name = digit);
    REFUSED(endpoints[1].name = name);
    REFUSED(endpoints[0].request_headers = bad_names);
    REFUSED(endpoints[0].response_headers = bad_names);
    REFUSED(endpoints[0].headers = bad_line);
    REFUSED(endpoints[0].headers = bad_lines);
    REFUSED(rules[0].methods = bad_method);
    REFUSED(rules[0].paths = bad_path);
    REFUSED(endpoints[0].base_url = user_url);
    REFUSED(endpoints[0].base_url = other);
    REFUSED(endpoints[0].base_url = no_host);
    REFUSED(endpoints[0].limits.timeout_ms = 0);
    REFUSED(endpoints[0].limits.timeout_ms = EGRESS_TIMEOUT_LIMIT + 1);
    REFUSED(endpoints[0].limits.in_flight = 0);
    REFUSED(endpoints[0].limits.in_flight = EGRESS_IN_FLIGHT_LIMIT + 1);
    REFUSED(endpoints[0].auth = EGRESS_AUTH_COUNT);
    REFUSED(order.run_id[3] = 'A');
    REFUSED(order.session = 1);
    REFUSED(order.session = 2);
    REFUSED(order.endpoint_count = EGRESS_ENDPOINTS_LIMIT + 1);
}
END_TEST

static struct egress_event record(void)
{
    struct egress_event event = {
        .type = EGRESS_EVENT_RECORD,
        .record = {.endpoint = 1,
                   .method = get,
                   .path = issues,
                   .status = 403,
                   .decision = EGRESS_DENIED,
                   .reason = user,
                   .bytes_in = 1,
                   .bytes_out = 2,
                   .duration_ms = 3},
        .totals = {5, 6, 7, 8, 9, 10},
    };
    memset(event.record.query_sha256, 'f', 64);
    return event;
}

static bool event_comes_through(const struct egress_event *event, struct egress_event *ret)
{
    unsigned char message[EGRESS_EVENT_MESSAGE_LIMIT];
    size_t length = egress_event_encode(event, message);
    return length > 0 && egress_event_decode(message, length, ret);
}

START_TEST(an_event_comes_back)
{
    struct egress_event sent = record();
    CLEANUP(egress_event_clear) struct egress_event read = {.type = 0};
    ck_assert(event_comes_through(&sent, &read));
    ck_assert_uint_eq(read.type, EGRESS_EVENT_RECORD);
    ck_assert_str_eq(read.text, "");
    ck_assert_str_eq(read.record.method, get);
    ck_assert_str_eq(read.record.path, issues);
    ck_assert_str_eq(read.record.reason, user);
    ck_assert_str_eq(read.record.query_sha256, sent.record.query_sha256);
    ck_assert_uint_eq(read.record.endpoint, 1);
    ck_assert_uint_eq(read.record.status, 403);
    ck_assert_uint_eq(read.record.decision, EGRESS_DENIED);
    ck_assert_uint_eq(read.record.duration_ms, 3);
    ck_assert_mem_eq(&read.totals, &sent.totals, sizeof(read.totals));
    ck_assert_str_eq(egress_decision_name(EGRESS_BUDGET), "budget_exhausted");
}
END_TEST

#define EVENT_REFUSED(change)                           \
    do {                                                \
        struct egress_event event = record();           \
        struct egress_event read = {.type = 0};         \
        ck_assert(event_comes_through(&event, &read));  \
        egress_event_clear(&read);                      \
        change;                                         \
        ck_assert(!event_comes_through(&event, &read)); \
    } while (0)

START_TEST(an_event_out_of_range_is_refused)
{
    TEXT(line, "a\nb");
    TEXT(high, "\xc3\xa4");
    char long_path[EGRESS_RECORD_PATH_LIMIT + 2] = "";
    memset(long_path, 'a', sizeof(long_path) - 1);
    EVENT_REFUSED(event.type = 0);
    EVENT_REFUSED(event.type = EGRESS_EVENT_TYPE_COUNT);
    EVENT_REFUSED(event.record.decision = EGRESS_DECISION_COUNT);
    EVENT_REFUSED(event.record.status = 1000);
    EVENT_REFUSED(event.record.path = line);
    EVENT_REFUSED(event.record.path = high);
    EVENT_REFUSED(event.record.path = long_path);
    EVENT_REFUSED(event.record.method = line);
    EVENT_REFUSED(event.text = line);
    EVENT_REFUSED(event.record.reason = high);
    EVENT_REFUSED(event.record.query_sha256[5] = 'G');
    EVENT_REFUSED(event.record.query_sha256[63] = '\0');
    EVENT_REFUSED(event.record.bytes_in = UINT64_MAX);
    EVENT_REFUSED(event.totals.requests = UINT64_MAX);
}
END_TEST

/* The longest strings and hash fit into one message. */
START_TEST(the_longest_record_is_sent)
{
    char path[EGRESS_RECORD_PATH_LIMIT + 1] = "", reason[EGRESS_TEXT_LIMIT + 1] = "";
    char method[EGRESS_RECORD_METHOD_LIMIT + 1] = "";
    memset(path, 'p', sizeof(path) - 1);
    memset(reason, 'r', sizeof(reason) - 1);
    memset(method, 'm', sizeof(method) - 1);
    struct egress_event event = record();
    struct egress_event read = {.type = 0};
    event.record.path = path;
    event.record.reason = reason;
    event.text = reason;
    event.record.method = method;
    ck_assert(event_comes_through(&event, &read));
    egress_event_clear(&read);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("egress");
    tcase_add_test(cases, an_order_comes_back);
    tcase_add_test(cases, a_cut_or_longer_order_is_refused);
    tcase_add_test(cases, a_credential_goes_nowhere_else);
    tcase_add_test(cases, plain_http_is_for_private_addresses_without_a_credential);
    tcase_add_test(cases, names_and_headers_are_checked);
    tcase_add_test(cases, an_event_comes_back);
    tcase_add_test(cases, an_event_out_of_range_is_refused);
    tcase_add_test(cases, the_longest_record_is_sent);
    return run_suite("egress", &cases, 1);
}
