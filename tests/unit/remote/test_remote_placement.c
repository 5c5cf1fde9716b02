/* SPDX-License-Identifier: Apache-2.0 */
/* Which worker a run is offered to, and what becomes of an offer, without a connection. */
#include <stdio.h>
#include <string.h>

#include "backends/remote/client/placement.h"
#include "base/error.h"
#include "tap_suite.h"

#define S UINT64_C(1000000)

START_TEST(one_worker_is_drawn_whatever_the_chance)
{
    const struct candidate one[] = {{1, 5, 1}};
    for (uint64_t random = 0; random < 100; random++)
        ck_assert_uint_eq(placement_draw(one, 1, random * UINT64_C(0x9E3779B97F4A7C15)), 0);
}
END_TEST

/* Of two, always the one with more room; the slots count, not the runs alone. */
START_TEST(of_two_the_emptier_is_drawn)
{
    const struct candidate pairs[][2] = {
        {{1, 0, 4}, {2, 1, 4}},
        {{1, 3, 16}, {2, 2, 4}},
        {{1, 0, 0}, {2, 7, 7}},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        for (uint64_t random = 0; random < 100; random++)
            ck_assert_uint_eq(placement_draw(pairs[i], 2, random * UINT64_C(0x9E3779B97F4A7C15)),
                              0);
}
END_TEST

/* The fullest of all is never drawn, and each other one is. */
START_TEST(of_many_all_but_the_fullest_are_drawn)
{
    const struct candidate many[] = {{1, 1, 8}, {2, 2, 8}, {3, 8, 8}, {4, 0, 8}};
    size_t drawn[4] = {0};
    uint64_t random = 1;
    for (int i = 0; i < 4000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        drawn[placement_draw(many, 4, random ^ (random >> 29))]++;
    }
    ck_assert_uint_eq(drawn[2], 0);
    ck_assert_uint_gt(drawn[0], 0);
    ck_assert_uint_gt(drawn[1], 0);
    ck_assert_uint_gt(drawn[3], drawn[0]);
    ck_assert_uint_gt(drawn[0], drawn[1]);
}
END_TEST

START_TEST(a_run_asks_one_after_the_other)
{
    struct placing placing = {.begun_us = 10 * S};
    ck_assert_int_eq(placing_next(&placing, 2, 0, 10 * S), PLACING_ASK);
    placing_asked(&placing, 7);
    ck_assert(placing_has_asked(&placing, 7));
    ck_assert(!placing_has_asked(&placing, 8));
    placing_unanswered(&placing);
    ck_assert_int_eq(placing_next(&placing, 1, 0, 15 * S), PLACING_ASK);
    ck_assert_int_eq(placing_next(&placing, 0, 0, 15 * S), PLACING_FAIL);
    /* However many there are: the plugin waits for no more than so long. */
    ck_assert_int_eq(placing_next(&placing, 1, 1, 10 * S + PLACING_LIMIT_US), PLACING_FAIL);
}
END_TEST

START_TEST(a_connection_that_is_being_made_is_waited_for)
{
    struct placing placing = {.begun_us = 10 * S};
    ck_assert_int_eq(placing_next(&placing, 0, 1, 10 * S), PLACING_WAIT);
    ck_assert_int_eq(placing_next(&placing, 0, 1, placing_deadline_us(&placing, 0)), PLACING_FAIL);
    ck_assert_int_eq(placing_next(&placing, 0, 0, 10 * S), PLACING_FAIL);
    /* One that is there already is asked at once, but by a trial. */
    ck_assert_int_eq(placing_next(&placing, 1, 1, 10 * S), PLACING_ASK);
    placing.is_trial = true;
    ck_assert_int_eq(placing_next(&placing, 1, 1, 10 * S), PLACING_WAIT);
    ck_assert_int_eq(placing_next(&placing, 1, 1, placing_deadline_us(&placing, 1)), PLACING_ASK);
    ck_assert_int_eq(placing_next(&placing, 1, 0, 10 * S), PLACING_ASK);
}
END_TEST

static struct run_event failure_of(const struct placing *placing, size_t workers,
                                   const char *reasons)
{
    struct run_event event = {.type = 0};
    placing_fail(placing, workers, reasons, &event);
    ck_assert_uint_eq(event.type, RUN_EVENT_ENDED);
    ck_assert_uint_eq(event.failure, RUN_FAILURE_BACKEND);
    ck_assert_str_ne(event.remedy, "");
    return event;
}

START_TEST(all_busy_names_the_least_time)
{
    struct placing placing = {.begun_us = 1};
    const struct remote_answer later = {.verdict = REMOTE_BUSY, .retry_after_ms = 900};
    const struct remote_answer sooner = {.verdict = REMOTE_BUSY, .retry_after_ms = 300};
    const struct remote_answer drains = {.verdict = REMOTE_DRAINING};
    placing_declined(&placing, &drains);
    struct run_event event = failure_of(&placing, 3, "");
    ck_assert_uint_eq(event.problem_code, ERROR_TOO_MANY_REQUESTS);
    ck_assert_uint_gt(event.retry_after_ms, 0);
    placing_declined(&placing, &later);
    placing_declined(&placing, &sooner);
    event = failure_of(&placing, 3, "w: refused");
    ck_assert_uint_eq(event.problem_code, ERROR_TOO_MANY_REQUESTS);
    ck_assert_uint_eq(event.retry_after_ms, 300);
    /* A worker's word is not taken for more than the plugin takes. */
    const struct remote_answer never = {.verdict = REMOTE_BUSY, .retry_after_ms = UINT64_MAX};
    struct placing alone = {.asked_count = 0};
    placing_declined(&alone, &never);
    placing_fail(&alone, 1, "", &event);
    ck_assert_uint_eq(event.retry_after_ms, RUN_RETRY_AFTER_LIMIT);
}
END_TEST

/* Of two that were busy, one has room when it is too late to be asked in its turn. */
START_TEST(a_busy_worker_that_has_room_is_asked_again)
{
    struct placing placing = {.begun_us = 10 * S};
    const struct remote_answer busy = {.verdict = REMOTE_BUSY, .retry_after_ms = 300};
    ck_assert(!placing_has_room(&placing, 7, 10 * S)); /* it was not asked */
    placing_asked(&placing, 7);
    placing_declined(&placing, &busy);
    ck_assert_int_eq(placing_next(&placing, 1, 0, 10 * S), PLACING_ASK);
    placing_asked(&placing, 8);
    ck_assert(placing_has_room(&placing, 7, 10 * S + 1)); /* while the other one is asked */
    ck_assert(!placing_has_asked(&placing, 7));
    ck_assert(!placing_has_room(&placing, 8, 10 * S + 1)); /* it has not said that it is busy */
    placing_declined(&placing, &busy);
    ck_assert_int_eq(placing_next(&placing, 1, 0, 10 * S + 1), PLACING_ASK);
    placing_asked(&placing, 7);
    placing_declined(&placing, &busy);
    ck_assert_uint_eq(placing.busy, 2);
    ck_assert_int_eq(placing_next(&placing, 0, 0, 10 * S + 2), PLACING_WAIT);
    ck_assert(placing_has_room(&placing, 8, 10 * S + ROOM_WAIT_US - 1));
    placing_asked(&placing, 8);
    placing_declined(&placing, &busy);
    /* There is an end of it, however often one says that it has room. */
    ck_assert(!placing_has_room(&placing, 8, 10 * S + ROOM_WAIT_US));
    ck_assert_int_eq(placing_next(&placing, 0, 0, 10 * S + ROOM_WAIT_US), PLACING_FAIL);
}
END_TEST

START_TEST(a_refusal_and_a_silence_have_their_words)
{
    struct placing placing = {.begun_us = 1};
    const struct remote_answer refused = {
        .verdict = REMOTE_REFUSED, .reason = "no sessions here", .remedy = "do without"};
    struct run_event event = failure_of(&placing, 0, "");
    ck_assert_ptr_nonnull(strstr(event.message, "no worker: none was discovered"));
    event = failure_of(&placing, 2, "w-1: the certificate has expired");
    ck_assert_uint_eq(event.problem_code, ERROR_BACKEND_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(event.message, "w-1: the certificate has expired"));
    placing_declined(&placing, &refused);
    event = failure_of(&placing, 2, "");
    ck_assert_ptr_nonnull(strstr(event.message, "no sessions here"));
    ck_assert_str_eq(event.remedy, "do without");
}
END_TEST

/* Only one that cannot have run may be called again without a thought. */
START_TEST(a_lost_run_says_whether_it_may_have_run)
{
    const struct remote_details worker = {.attested_by = "w-1.example"};
    struct run_event event = {.type = 0};
    placing_lost(&worker, false, "reset", &event);
    ck_assert(error_code_retryable((enum error_code)event.problem_code));
    placing_lost(&worker, true, "reset", &event);
    ck_assert_uint_eq(event.problem_code, ERROR_WORKER_LOST);
    ck_assert(!error_code_retryable((enum error_code)event.problem_code));
    ck_assert_ptr_nonnull(strstr(event.message, "w-1.example"));
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("remote placement")};
    tcase_add_test(cases[0], one_worker_is_drawn_whatever_the_chance);
    tcase_add_test(cases[0], of_two_the_emptier_is_drawn);
    tcase_add_test(cases[0], of_many_all_but_the_fullest_are_drawn);
    tcase_add_test(cases[0], a_run_asks_one_after_the_other);
    tcase_add_test(cases[0], a_connection_that_is_being_made_is_waited_for);
    tcase_add_test(cases[0], all_busy_names_the_least_time);
    tcase_add_test(cases[0], a_busy_worker_that_has_room_is_asked_again);
    tcase_add_test(cases[0], a_refusal_and_a_silence_have_their_words);
    tcase_add_test(cases[0], a_lost_run_says_whether_it_may_have_run);
    return run_suite("remote placement", cases, sizeof(cases) / sizeof(*cases));
}
