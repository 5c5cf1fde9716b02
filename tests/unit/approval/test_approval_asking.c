/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approval: what can be asked; without memory, without randomness, and when the call or the request
 * ends first. Single-threaded.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "asker.h"
#include "tap_suite.h"

void *__real_calloc(size_t count, size_t size);
ssize_t __real_getrandom(void *bytes, size_t length, unsigned flags);
void *__wrap_calloc(size_t count, size_t size);
ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags);

static bool no_memory;
static unsigned random_calls;
static unsigned random_fails_at; /* which call of getrandom(); 0: none */
static unsigned zeroes_until;    /* calls before this one give zeroes */

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory ? NULL : __real_calloc(count, size);
}

ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags)
{
    random_calls++;
    if (random_calls == random_fails_at) {
        errno = EINTR;
        return -1;
    }
    if (random_calls >= zeroes_until)
        return __real_getrandom(bytes, length, flags);
    memset(bytes, 0, length);
    return (ssize_t)length;
}

START_TEST(a_host_that_offers_nobody_denies)
{
    const struct tool_host host = {0};
    struct approval_outcome outcome;
    struct error error;
    ck_assert(!approval_obtain(&host, &question, &outcome, &error));
    ck_assert_int_eq(error.code, ERROR_APPROVAL_UNAVAILABLE);
}
END_TEST

START_TEST(no_approval_is_asked_without_memory)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW};
    no_memory = true;
    ask(&asker);
    no_memory = false;
    ck_assert(!asker.allowed);
    ck_assert_int_eq(asker.error.code, ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(asker.asked, 0);
    expect_unused_table();
}
END_TEST

/* For the token, for the id. */
START_TEST(no_approval_is_asked_without_randomness)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW};
    random_fails_at = (unsigned)_i;
    ask(&asker);
    ck_assert(!asker.allowed);
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_UNAVAILABLE);
    ck_assert_uint_eq(asker.asked, 0);
    ck_assert_uint_eq(random_calls, (unsigned)_i);
    expect_unused_table();
}
END_TEST

START_TEST(no_token_is_zero)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW};
    zeroes_until = 3;
    ask(&asker);
    ck_assert_uint_eq(random_calls, 4); /* token and id twice */
    ck_assert_uint_ne(asker.token, 0);
    ck_assert(asker.allowed);
}
END_TEST

START_TEST(a_request_that_cannot_be_made_is_denied_unasked)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW, .speechless = true};
    ask(&asker);
    ck_assert(!asker.allowed);
    ck_assert_uint_eq(asker.asked, 0);
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_DENIED);
    expect_unused_table();
}
END_TEST

START_TEST(a_cancelled_call_does_not_wait)
{
    struct asker asker = {.verdict = TOOL_VERDICT_LATER, .cancelled = true};
    ask(&asker);
    ck_assert(!asker.allowed);
    ck_assert_int_eq(asker.error.code, ERROR_CANCELLED);
    ck_assert_str_eq(asker.outcome.decision, "deny");
    expect_unused_table();
}
END_TEST

START_TEST(no_call_waits_beyond_its_time)
{
    struct asker asker = {.verdict = TOOL_VERDICT_LATER, .timeout_ms = 20};
    ask(&asker);
    ck_assert(!asker.allowed);
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_TIMEOUT);
    ck_assert_int_eq(approval_reply(asker.token, ALLOW_ONCE), TOOL_UNKNOWN);
    expect_unused_table();
}
END_TEST

START_TEST(an_identical_call_asks_for_itself_while_one_is_asking)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW, .asks_again = true};
    ask(&asker);
    ck_assert(asker.allowed);
}
END_TEST

START_TEST(a_request_forgotten_during_the_callback_is_denied)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW, .forgets = true};
    ask(&asker);
    ck_assert(!asker.allowed);
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_DENIED);
    expect_unused_table();
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("asking");
    tcase_add_test(cases, a_host_that_offers_nobody_denies);
    tcase_add_test(cases, no_approval_is_asked_without_memory);
    tcase_add_loop_test(cases, no_approval_is_asked_without_randomness, 1, 3);
    tcase_add_test(cases, no_token_is_zero);
    tcase_add_test(cases, a_request_that_cannot_be_made_is_denied_unasked);
    tcase_add_test(cases, a_cancelled_call_does_not_wait);
    tcase_add_test(cases, no_call_waits_beyond_its_time);
    tcase_add_test(cases, an_identical_call_asks_for_itself_while_one_is_asking);
    tcase_add_test(cases, a_request_forgotten_during_the_callback_is_denied);
    return run_suite("approval_asking", &cases, 1);
}
