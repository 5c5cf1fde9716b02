/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between plugin and backend: whole ones survive, broken ones are refused. Of a run's
 * description: test_run_description.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "protocol/layers.h"
#include "protocol/orders/secret_order.h"
#include "protocol/pool_report.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"
#include "protocol/wire.h"
#include "tap_suite.h"

START_TEST(secret_order_survives_whole)
{
    char program[] = "/bin/pass", show[] = "show", name[] = "a b", variable[] = "A=1";
    char *argv[] = {program, show, name, NULL};
    char *environment[] = {variable, NULL};
    const struct secret_order order = {argv, environment, 1234};
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = secret_order_encode(&order, &length);
    ck_assert_ptr_nonnull(message);
    struct secret_order decoded = {0};
    for (size_t cut = 0; cut < length; cut++)
        ck_assert(!secret_order_decode(message, cut, &decoded));
    ck_assert(secret_order_decode(message, length, &decoded));
    ck_assert_str_eq(decoded.argv[2], "a b");
    ck_assert_str_eq(decoded.environment[0], "A=1");
    ck_assert_uint_eq(decoded.timeout_ms, 1234);
    secret_order_clear(&decoded);
    ck_assert_ptr_null(decoded.argv);
}
END_TEST

/* A relative program, none, and an order that no datagram carries. */
START_TEST(secret_order_without_sense_is_refused)
{
    static char large[SECRET_ORDER_LIMIT];
    char program[] = "/bin/pass";
    char *relative[] = {program + 1, NULL};
    char *none[] = {NULL};
    char *huge[] = {program, large, NULL};
    char **lists[] = {relative, none, huge};
    memset(large, 'x', sizeof(large) - 1);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct secret_order order = {lists[i], none, 1};
        struct secret_order decoded;
        size_t length = 0;
        CLEANUP_FREE unsigned char *message = secret_order_encode(&order, &length);
        ck_assert_int_eq(message == NULL, lists[i] == huge);
        ck_assert(message == NULL || !secret_order_decode(message, length, &decoded));
    }
}
END_TEST

START_TEST(secret_reply_is_whole_or_refused)
{
    unsigned char message[SECRET_REPLY_HEADER + 3] = {0};
    struct secret_reply reply = {.outcome = SECRET_OUTCOME_VALUE, .length = 3};
    secret_reply_encode(&reply, message);
    for (size_t length = 0; length < sizeof(message); length++)
        ck_assert(!secret_reply_decode(message, length, &reply));
    ck_assert(secret_reply_decode(message, sizeof(message), &reply));
    ck_assert_uint_eq(reply.length, 3);
    message[0] = SECRET_OUTCOME_STATUS; /* no value comes with a failure */
    ck_assert(!secret_reply_decode(message, sizeof(message), &reply));
    message[0] = SECRET_OUTCOME_COUNT;
    ck_assert(!secret_reply_decode(message, sizeof(message), &reply));
    reply = (struct secret_reply){.outcome = SECRET_OUTCOME_SIGNAL, .detail = 9};
    secret_reply_encode(&reply, message);
    ck_assert(secret_reply_decode(message, SECRET_REPLY_HEADER, &reply));
    ck_assert_uint_eq(reply.detail, 9);
}
END_TEST

START_TEST(strings_with_nul_are_refused)
{
    struct wire_writer writer = {.limit = 64};
    wire_put_bytes(&writer, "a\0b", 3);
    struct wire_reader reader = {.bytes = writer.bytes, .length = writer.length};
    ck_assert_ptr_null(wire_get_string(&reader, 16));
    ck_assert(reader.failed);
    free(writer.bytes);
}
END_TEST

START_TEST(wire_keeps_its_limits)
{
    struct wire_writer writer = {.limit = 10};
    wire_put_u64(&writer, UINT64_C(0x0102030405060708));
    ck_assert(!writer.failed);
    ck_assert_uint_eq(writer.bytes[0], 8);
    wire_put_u32(&writer, 1);
    ck_assert(writer.failed);
    ck_assert_uint_eq(writer.length, 8);
    struct wire_reader reader = {.bytes = writer.bytes, .length = writer.length};
    ck_assert_uint_eq(wire_get_u64(&reader), UINT64_C(0x0102030405060708));
    ck_assert_uint_eq(wire_get_u32(&reader), 0);
    ck_assert(reader.failed);
    static const unsigned char huge[] = {0xff, 0xff, 0xff, 0xff, 'x'};
    reader = (struct wire_reader){.bytes = huge, .length = sizeof(huge)};
    size_t length;
    ck_assert_ptr_null(wire_get_bytes(&reader, SIZE_MAX, &length));
    ck_assert(reader.failed);
    free(writer.bytes);
}
END_TEST

static struct run_event sample_event(void)
{
    return (struct run_event){
        .type = RUN_EVENT_ENDED,
        .isolation = {.applied = LAYERS_MANDATORY, .missing = LAYER_BIT(LAYER_CGROUP)},
        .cause = RUN_CAUSE_SIGNAL,
        .exit_code = -1,
        .signal = 11,
        .error_number = 13,
        .message = "why",
        .usage = {.wall_us = 1, .user_us = RUN_USAGE_UNKNOWN, .process_refusals = UINT64_MAX},
        .swept = 3,
        .preparation = PREPARATION_THREADS,
        .details = {.length = 3, .bytes = "o\0o"},
        .image_id = "sha256:1",
    };
}

START_TEST(event_survives)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event event = sample_event();
    memset(event.message, 'm', sizeof(event.message) - 1);
    memset(event.groups, 'g', sizeof(event.groups) - 1);
    size_t length = run_event_encode(&event, message);
    ck_assert_uint_gt(length, 0);
    struct run_event decoded;
    ck_assert(run_event_decode(message, length, &decoded));
    ck_assert_int_eq(decoded.exit_code, -1);
    ck_assert_int_eq(decoded.signal, 11);
    ck_assert_str_eq(decoded.message, event.message);
    ck_assert_str_eq(decoded.groups, event.groups);
    ck_assert_uint_eq(decoded.usage.process_refusals, UINT64_MAX);
    ck_assert_uint_eq(decoded.usage.user_us, RUN_USAGE_UNKNOWN);
    ck_assert_uint_eq(decoded.swept, 3);
    ck_assert_uint_eq(decoded.preparation, PREPARATION_THREADS);
    ck_assert_uint_eq(decoded.details.length, 3);
    ck_assert_mem_eq(decoded.details.bytes, "o\0o", 3);
    ck_assert_str_eq(decoded.image_id, "sha256:1");
    ck_assert_uint_eq(decoded.isolation.missing, LAYER_BIT(LAYER_CGROUP));
    for (size_t cut = 0; cut < length; cut++)
        ck_assert(!run_event_decode(message, cut, &decoded));
}
END_TEST

static bool event_decodes(const struct run_event *event)
{
    unsigned char message[RUN_EVENT_MESSAGE_LIMIT];
    struct run_event decoded;
    return run_event_decode(message, run_event_encode(event, message), &decoded);
}

START_TEST(events_out_of_range_are_refused)
{
    struct run_event event = sample_event();
    ck_assert(event_decodes(&event));
    event.type = 0;
    ck_assert(!event_decodes(&event));
    event = sample_event();
    event.cause = RUN_CAUSE_COUNT;
    ck_assert(!event_decodes(&event));
    event = sample_event();
    event.failure = RUN_FAILURE_COUNT;
    ck_assert(!event_decodes(&event));
    event = sample_event();
    event.failed_layer = LAYER_COUNT;
    ck_assert(!event_decodes(&event));
    event = sample_event();
    event.preparation = PREPARATION_COUNT;
    ck_assert(!event_decodes(&event));
    event = sample_event();
    event.isolation.applied = ~UINT64_C(0);
    ck_assert(!event_decodes(&event));
}
END_TEST

START_TEST(pool_report_is_whole_or_refused)
{
    unsigned char message[POOL_REPORT_LENGTH + 1] = {0};
    struct pool_report report = {.rows = {{1, 2, 3}, {RUN_POOL_LIMIT, 0, RUN_USAGE_UNKNOWN}}};
    struct pool_report decoded = {.rows = {{.ready = 77}}};
    pool_report_encode(&report, message);
    for (size_t length = 0; length <= sizeof(message); length++)
        ck_assert(pool_report_decode(message, length, &decoded) == (length == POOL_REPORT_LENGTH));
    for (size_t i = 0; i < RUN_INTERPRETER_COUNT; i++) {
        ck_assert_uint_eq(decoded.rows[i].ready, report.rows[i].ready);
        ck_assert_uint_eq(decoded.rows[i].wanted, report.rows[i].wanted);
        ck_assert_uint_eq(decoded.rows[i].memory_bytes, report.rows[i].memory_bytes);
    }
    struct pool_report bad[] = {report, report};
    bad[0].rows[2].ready = RUN_POOL_LIMIT + 1;
    bad[1].rows[2].memory_bytes = (uint64_t)INT64_MAX + 1;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        pool_report_encode(&bad[i], message);
        ck_assert(!pool_report_decode(message, POOL_REPORT_LENGTH, &decoded));
    }
    pool_report_encode(&report, message);
    message[0]++; /* the version */
    ck_assert(!pool_report_decode(message, POOL_REPORT_LENGTH, &decoded));
    ck_assert_uint_eq(decoded.rows[0].ready, 1);
}
END_TEST

/* What an interpreter tells its supervisor. */
START_TEST(outcomes_survive)
{
    enum preparation_kind kind = (enum preparation_kind)_i;
    struct preparation_outcome outcome;
    char words[PREPARATION_WORDS];
    size_t length = preparation_write('u', kind, "a detail with blanks", words);
    ck_assert_int_eq(words[0], 'u');
    preparation_read(words + 1, length - 1, &outcome);
    ck_assert_uint_eq(outcome.kind, kind);
    ck_assert_str_eq(outcome.detail, "a detail with blanks");
    char longest[2 * PREPARATION_DETAIL];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    length = preparation_write('u', kind, longest, words);
    ck_assert_uint_lt(length, PREPARATION_WORDS);
    preparation_read(words + 1, length - 1, &outcome);
    ck_assert_uint_eq(strlen(outcome.detail), PREPARATION_DETAIL - 1);
}
END_TEST

START_TEST(an_unknown_outcome_is_a_failure)
{
    static const char *const none[] = {"", " ", "copie", "copiedd x", "COPIED", "\xff\xfe"};
    struct preparation_outcome outcome;
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        preparation_read(none[i], strlen(none[i]), &outcome);
        ck_assert_uint_eq(outcome.kind, PREPARATION_FAILED);
    }
    preparation_read("copied", strlen("copied"), &outcome);
    ck_assert_uint_eq(outcome.kind, PREPARATION_COPIED);
    ck_assert_str_eq(outcome.detail, "");
}
END_TEST

START_TEST(layers_have_names)
{
    for (unsigned int layer = 0; layer < LAYER_COUNT; layer++) {
        ck_assert_uint_gt(strlen(isolation_layer_name((enum isolation_layer)layer)), 0);
        ck_assert_uint_gt(strlen(isolation_layer_meaning((enum isolation_layer)layer)), 0);
    }
    ck_assert_str_eq(run_cause_name(RUN_CAUSE_WALL_TIMEOUT), "wall_timeout");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("protocol");
    tcase_add_test(cases, secret_order_survives_whole);
    tcase_add_test(cases, secret_order_without_sense_is_refused);
    tcase_add_test(cases, secret_reply_is_whole_or_refused);
    tcase_add_test(cases, strings_with_nul_are_refused);
    tcase_add_test(cases, wire_keeps_its_limits);
    tcase_add_test(cases, event_survives);
    tcase_add_test(cases, events_out_of_range_are_refused);
    tcase_add_test(cases, pool_report_is_whole_or_refused);
    tcase_add_loop_test(cases, outcomes_survive, 0, PREPARATION_COUNT);
    tcase_add_test(cases, an_unknown_outcome_is_a_failure);
    tcase_add_test(cases, layers_have_names);
    return run_suite("protocol", &cases, 1);
}
