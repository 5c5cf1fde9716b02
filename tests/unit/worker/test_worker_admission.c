/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's room: what is accepted, what has to come again, and what never fits. One thread. */
#include <string.h>

#include "backends/worker/admission.h"
#include "protocol/run_description.h"
#include "tap_suite.h"

#define MIB UINT64_C(1048576)

static struct remote_offer offer_of(uint64_t memory_bytes)
{
    return (struct remote_offer){.purpose = RUN_PURPOSE_PROGRAM, .memory_bytes = memory_bytes};
}

static uint32_t verdict(struct worker_admission *admission, const struct remote_offer *offer)
{
    return worker_admission_judge(admission, offer).verdict;
}

START_TEST(runs_are_counted)
{
    struct worker_admission admission = {.max_runs = 2, .memory_total_bytes = 1024 * MIB};
    const struct remote_offer offer = offer_of(MIB);
    ck_assert_uint_eq(verdict(&admission, &offer), REMOTE_ACCEPTED);
    ck_assert_uint_eq(verdict(&admission, &offer), REMOTE_ACCEPTED);
    struct remote_answer busy = worker_admission_judge(&admission, &offer);
    ck_assert_uint_eq(busy.verdict, REMOTE_BUSY);
    ck_assert_uint_ge(busy.retry_after_ms, WORKER_RETRY_MINIMUM_MS);
    ck_assert_str_eq(busy.reason, "2 runs are under way, which is the most");
    worker_admission_release(&admission, &offer, 10);
    ck_assert_uint_eq(verdict(&admission, &offer), REMOTE_ACCEPTED);
    ck_assert_uint_eq(worker_admission_capacity(&admission).runs, 2);
}
END_TEST

/* What is left of them on their connections: a gateway that never takes their ends gets no more. */
START_TEST(ended_runs_leave_in_their_time)
{
    struct worker_admission admission = {.max_runs = 2, .memory_total_bytes = 1024 * MIB};
    const struct remote_offer offer = offer_of(MIB);
    for (uint32_t i = 0; i < admission.max_runs + WORKER_LEAVING_MOST; i++) {
        ck_assert_uint_eq(verdict(&admission, &offer), REMOTE_ACCEPTED);
        worker_admission_release(&admission, &offer, 10);
    }
    ck_assert_uint_eq(admission.runs, 0);
    struct remote_answer busy = worker_admission_judge(&admission, &offer);
    ck_assert_uint_eq(busy.verdict, REMOTE_BUSY);
    ck_assert_str_eq(busy.reason, "gateways have not taken the ends of 66 runs yet");
    worker_admission_forget(&admission, &offer);
    ck_assert_uint_eq(verdict(&admission, &offer), REMOTE_ACCEPTED);
}
END_TEST

/* Files that have not been taken are memory still. */
START_TEST(memory_is_summed)
{
    struct worker_admission admission = {.max_runs = 100, .memory_total_bytes = 100 * MIB};
    const struct remote_offer most = offer_of(60 * MIB);
    const struct remote_offer rest = offer_of(40 * MIB);
    ck_assert_uint_eq(verdict(&admission, &most), REMOTE_ACCEPTED);
    ck_assert_uint_eq(verdict(&admission, &most), REMOTE_BUSY);
    ck_assert_uint_eq(verdict(&admission, &rest), REMOTE_ACCEPTED);
    ck_assert_uint_eq(worker_admission_capacity(&admission).memory_free_bytes, 0);
    worker_admission_release(&admission, &most, 1);
    worker_admission_release(&admission, &rest, 1);
    ck_assert_uint_eq(admission.runs, 0);
    ck_assert_uint_eq(worker_admission_capacity(&admission).memory_free_bytes, 0);
    ck_assert_uint_eq(verdict(&admission, &most), REMOTE_BUSY);
    worker_admission_forget(&admission, &most);
    ck_assert_uint_eq(verdict(&admission, &most), REMOTE_ACCEPTED);
    worker_admission_release(&admission, &most, 1);
    worker_admission_forget(&admission, &most);
    worker_admission_forget(&admission, &rest);
    ck_assert_uint_eq(worker_admission_capacity(&admission).memory_free_bytes, 100 * MIB);
}
END_TEST

START_TEST(too_much_is_refused_for_good)
{
    struct worker_admission admission = {.max_runs = 1, .memory_total_bytes = 100 * MIB};
    const struct remote_offer more = offer_of(100 * MIB + 1);
    const struct remote_offer endless = offer_of(UINT64_MAX);
    const struct remote_offer unlimited = offer_of(0);
    struct remote_answer answer = worker_admission_judge(&admission, &more);
    ck_assert_uint_eq(answer.verdict, REMOTE_REFUSED);
    ck_assert_ptr_nonnull(strstr(answer.reason, "104857601 bytes"));
    ck_assert_ptr_nonnull(strstr(answer.remedy, "memory_total_bytes"));
    ck_assert_uint_eq(verdict(&admission, &endless), REMOTE_REFUSED);
    answer = worker_admission_judge(&admission, &unlimited);
    ck_assert_uint_eq(answer.verdict, REMOTE_REFUSED);
    ck_assert_ptr_nonnull(strstr(answer.reason, "no limit"));
    ck_assert_uint_eq(admission.runs, 0);
}
END_TEST

START_TEST(sweep_needs_no_memory)
{
    struct worker_admission admission = {.max_runs = 1, .memory_total_bytes = MIB};
    const struct remote_offer sweep = {.purpose = RUN_PURPOSE_SWEEP, .memory_bytes = 10 * MIB};
    ck_assert_uint_eq(verdict(&admission, &sweep), REMOTE_ACCEPTED);
    ck_assert_uint_eq(admission.memory_bytes, 0);
    worker_admission_release(&admission, &sweep, 1);
    worker_admission_forget(&admission, &sweep);
    ck_assert_uint_eq(admission.memory_bytes, 0);
}
END_TEST

START_TEST(nothing_is_taken_while_it_drains)
{
    struct worker_admission admission = {
        .max_runs = 1, .memory_total_bytes = 100 * MIB, .drains = true};
    const struct remote_offer offer = offer_of(MIB);
    ck_assert_uint_eq(verdict(&admission, &offer), REMOTE_DRAINING);
    ck_assert_uint_eq(admission.runs, 0);
}
END_TEST

static uint64_t retry_after(uint64_t held_ms, unsigned runs)
{
    struct worker_admission admission = {.max_runs = runs, .memory_total_bytes = 1024 * MIB};
    const struct remote_offer offer = offer_of(MIB);
    ck_assert_uint_eq(verdict(&admission, &offer), REMOTE_ACCEPTED);
    worker_admission_release(&admission, &offer, held_ms);
    for (unsigned i = 0; i < runs; i++)
        ck_assert_uint_eq(verdict(&admission, &offer), REMOTE_ACCEPTED);
    return worker_admission_judge(&admission, &offer).retry_after_ms;
}

START_TEST(retry_follows_how_long_runs_take)
{
    ck_assert_uint_eq(retry_after(8000, 1), 8000);
    ck_assert_uint_eq(retry_after(8000, 4), 2000);
    ck_assert_uint_eq(retry_after(1, 1), WORKER_RETRY_MINIMUM_MS);
    ck_assert_uint_eq(retry_after(UINT64_C(3600000), 1), WORKER_RETRY_MAXIMUM_MS);
}
END_TEST

START_TEST(sessions_say_nothing_about_runs)
{
    struct worker_admission admission = {.max_runs = 1, .memory_total_bytes = 1024 * MIB};
    struct remote_offer session = offer_of(MIB);
    session.is_session = 1;
    ck_assert_uint_eq(verdict(&admission, &session), REMOTE_ACCEPTED);
    worker_admission_release(&admission, &session, UINT64_C(3600000));
    ck_assert_uint_eq(admission.held_ms, 0);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("worker admission");
    tcase_add_test(cases, runs_are_counted);
    tcase_add_test(cases, ended_runs_leave_in_their_time);
    tcase_add_test(cases, memory_is_summed);
    tcase_add_test(cases, too_much_is_refused_for_good);
    tcase_add_test(cases, sweep_needs_no_memory);
    tcase_add_test(cases, nothing_is_taken_while_it_drains);
    tcase_add_test(cases, retry_follows_how_long_runs_take);
    tcase_add_test(cases, sessions_say_nothing_about_runs);
    return run_suite("worker admission", &cases, 1);
}
