/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission: threads that wait for a place, get it in their turn, are cancelled, displaced or too
 * late; nothing is left of any. What waits is seen in the counts before the next step is taken, so
 * that no order is left to chance.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "admission/admission.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define LONG_MS  60000
#define SHORT_MS 20
#define MANY     16
#define ROUNDS   200

struct caller {
    const char *principal;
    uint64_t max_queued;
    uint64_t patience_ms;
    atomic_bool cancelled;
    struct admission admission;
    bool entered;
    struct error error;
    unsigned place; /* how many had a place before it */
    pthread_t thread;
};

static atomic_uint places_taken;

static bool enter(struct caller *caller)
{
    const struct admission_terms terms = {
        .principal = caller->principal,
        .max_runs = 1,
        .max_queued = caller->max_queued,
        .patience_ms = caller->patience_ms,
        .cancelled = &caller->cancelled,
    };
    caller->entered = admission_enter(&caller->admission, &terms, &caller->error);
    if (caller->entered)
        caller->place = atomic_fetch_add(&places_taken, 1);
    return caller->entered;
}

static void *enter_and_leave(void *argument)
{
    struct caller *caller = argument;
    (void)enter(caller);
    admission_leave(&caller->admission);
    return NULL;
}

static void pause_briefly(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void await_queued(uint64_t count)
{
    while (admission_count().queued != count)
        pause_briefly();
}

static void start(struct caller *caller)
{
    ck_assert_int_eq(pthread_create(&caller->thread, NULL, enter_and_leave, caller), 0);
}

/* Starts them one behind the other. */
static void line_up(struct caller *callers, size_t count)
{
    uint64_t queued = admission_count().queued;
    for (size_t i = 0; i < count; i++) {
        start(&callers[i]);
        await_queued(queued + i + 1);
    }
}

static void join(struct caller *callers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(pthread_join(callers[i].thread, NULL), 0);
}

static void expect_nothing_left(void)
{
    struct admission_counts counts = admission_count();
    struct caller last = {.max_queued = 0, .patience_ms = LONG_MS};
    ck_assert_uint_eq(counts.running, 0);
    ck_assert_uint_eq(counts.queued, 0);
    ck_assert(enter(&last));
    ck_assert_uint_eq(last.admission.waited_ms, 0);
    admission_leave(&last.admission);
    admission_leave(&last.admission); /* once more is harmless */
    ck_assert_uint_eq(admission_count().running, 0);
}

#define CALLER(name)                                                    \
    {                                                                   \
        .principal = (name), .max_queued = MANY, .patience_ms = LONG_MS \
    }

START_TEST(each_gets_its_turn)
{
    static const unsigned order[] = {1, 3, 2, 4};
    struct caller first = CALLER("a");
    struct caller callers[] = {CALLER("a"), CALLER("a"), CALLER("b"), CALLER("b")};
    ck_assert(enter(&first));
    line_up(callers, COUNT_OF(callers));
    admission_leave(&first.admission);
    join(callers, COUNT_OF(callers));
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        ck_assert(callers[i].entered);
        ck_assert_uint_eq(callers[i].place, order[i]);
    }
    expect_nothing_left();
}
END_TEST

START_TEST(a_cancelled_call_goes_alone)
{
    struct caller first = CALLER("a");
    struct caller callers[] = {CALLER("a"), CALLER("a"), CALLER("a")};
    ck_assert(enter(&first));
    line_up(callers, COUNT_OF(callers));
    atomic_store(&callers[1].cancelled, true);
    admission_wake_cancelled();
    join(&callers[1], 1);
    ck_assert(!callers[1].entered);
    ck_assert_int_eq(callers[1].error.code, ERROR_CANCELLED);
    ck_assert_uint_eq(admission_count().queued, 2);
    admission_leave(&first.admission);
    join(&callers[0], 1);
    join(&callers[2], 1);
    ck_assert(callers[0].entered && callers[2].entered);
    ck_assert_uint_lt(callers[0].place, callers[2].place);
    expect_nothing_left();
}
END_TEST

/* Its turn has come before it has woken up to its cancellation. */
START_TEST(a_place_for_one_that_is_cancelled_comes_back)
{
    struct caller first = CALLER("a");
    struct caller callers[] = {CALLER("a"), CALLER("a")};
    ck_assert(enter(&first));
    line_up(callers, COUNT_OF(callers));
    atomic_store(&callers[0].cancelled, true);
    admission_leave(&first.admission);
    join(callers, COUNT_OF(callers));
    ck_assert(!callers[0].entered);
    ck_assert_int_eq(callers[0].error.code, ERROR_CANCELLED);
    ck_assert(callers[1].entered);
    expect_nothing_left();
}
END_TEST

START_TEST(patience_has_an_end)
{
    struct caller first = CALLER("a");
    struct caller late = CALLER("b");
    late.patience_ms = SHORT_MS;
    ck_assert(enter(&first));
    ck_assert(!enter(&late));
    ck_assert_int_eq(late.error.code, ERROR_TOO_MANY_REQUESTS);
    ck_assert_uint_ge(late.error.retry_after_ms, ADMISSION_RETRY_MINIMUM_MS);
    ck_assert_uint_ge(late.admission.waited_ms, SHORT_MS);
    ck_assert_uint_eq(admission_count().queued, 0);
    admission_leave(&late.admission);
    ck_assert_uint_eq(admission_count().running, 1);
    admission_leave(&first.admission);
    expect_nothing_left();
}
END_TEST

START_TEST(a_full_queue_refuses_at_once)
{
    struct caller first = CALLER("a");
    struct caller waits = CALLER("a");
    struct caller refused = {.principal = "a", .max_queued = 1, .patience_ms = LONG_MS};
    ck_assert(enter(&first));
    line_up(&waits, 1);
    ck_assert(!enter(&refused));
    ck_assert_int_eq(refused.error.code, ERROR_TOO_MANY_REQUESTS);
    ck_assert_uint_ge(refused.error.retry_after_ms, ADMISSION_RETRY_MINIMUM_MS);
    ck_assert_uint_eq(refused.admission.waited_ms, 0);
    admission_leave(&first.admission);
    join(&waits, 1);
    ck_assert(waits.entered);
    expect_nothing_left();
}
END_TEST

START_TEST(the_longest_line_makes_room)
{
    struct caller first = CALLER("a");
    struct caller callers[] = {CALLER("a"), CALLER("a")};
    struct caller other = {.principal = "b", .max_queued = 2, .patience_ms = LONG_MS};
    ck_assert(enter(&first));
    line_up(callers, COUNT_OF(callers));
    start(&other);
    join(&callers[1], 1);
    ck_assert(!callers[1].entered);
    ck_assert_int_eq(callers[1].error.code, ERROR_TOO_MANY_REQUESTS);
    ck_assert_uint_ne(callers[1].error.retry_after_ms, 0);
    ck_assert_uint_eq(admission_count().queued, 2);
    admission_leave(&first.admission);
    join(&callers[0], 1);
    join(&other, 1);
    ck_assert(callers[0].entered && other.entered);
    expect_nothing_left();
}
END_TEST

START_TEST(the_estimate)
{
    ck_assert_uint_eq(admission_retry_after_ms(0, 0, 64), ADMISSION_RETRY_MINIMUM_MS);
    ck_assert_uint_eq(admission_retry_after_ms(1000, 0, 1), 1000);
    ck_assert_uint_eq(admission_retry_after_ms(1000, 255, 64), 4000);
    ck_assert_uint_eq(admission_retry_after_ms(1e300, 4096, 1), ADMISSION_RETRY_MAXIMUM_MS);
    ck_assert_uint_eq(admission_retry_after_ms(60000, 1, 1), ADMISSION_RETRY_MAXIMUM_MS);
}
END_TEST

/* Callers of all kinds at once, cancellations in the middle: who got a place had it alone. */

static atomic_uint inside;

static void *come_and_go(void *argument)
{
    struct caller *caller = argument;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_store(&caller->cancelled, false);
        if (enter(caller)) {
            ck_assert_uint_eq(atomic_fetch_add(&inside, 1), 0);
            (void)atomic_fetch_sub(&inside, 1);
        }
        admission_leave(&caller->admission);
    }
    return NULL;
}

static atomic_bool is_over;

static void *cancel_again_and_again(void *argument)
{
    struct caller *callers = argument;
    for (size_t i = 0; !atomic_load(&is_over); i++) {
        atomic_store(&callers[i % MANY].cancelled, true);
        admission_wake_cancelled();
        pause_briefly();
    }
    return NULL;
}

START_TEST(many_come_and_go)
{
    static const char *const names[] = {NULL, "a", "b"};
    static struct caller callers[MANY];
    pthread_t canceller;
    for (size_t i = 0; i < MANY; i++) {
        callers[i].principal = names[i % COUNT_OF(names)];
        callers[i].max_queued = i % 4 == 0 ? 4 : MANY;
        callers[i].patience_ms = i % 5 == 0 ? 1 : LONG_MS;
        ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, come_and_go, &callers[i]), 0);
    }
    ck_assert_int_eq(pthread_create(&canceller, NULL, cancel_again_and_again, callers), 0);
    join(callers, MANY);
    atomic_store(&is_over, true);
    ck_assert_int_eq(pthread_join(canceller, NULL), 0);
    ck_assert_uint_ge(atomic_load(&places_taken), ROUNDS);
    expect_nothing_left();
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("admission")};
    tcase_set_timeout(cases[0], 60);
    tcase_add_test(cases[0], each_gets_its_turn);
    tcase_add_test(cases[0], a_cancelled_call_goes_alone);
    tcase_add_test(cases[0], a_place_for_one_that_is_cancelled_comes_back);
    tcase_add_test(cases[0], patience_has_an_end);
    tcase_add_test(cases[0], a_full_queue_refuses_at_once);
    tcase_add_test(cases[0], the_longest_line_makes_room);
    tcase_add_test(cases[0], the_estimate);
    tcase_add_test(cases[0], many_come_and_go);
    return run_suite("admission", cases, COUNT_OF(cases));
}
