/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approval: what counts as an answer, and for how long, with a clock that is this program's.
 * Single-threaded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asker.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define OTHER_HASH      "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define EDIT(arguments) "{\"decision\":\"edit\",\"arguments\":" arguments "}"

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

static time_t later_s; /* how much later than it is */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    int result = __real_clock_gettime(clock, ret);
    ret->tv_sec += later_s;
    return result;
}

/* Whatever the verdict says beside it. */
START_TEST(an_answer_inside_the_callback_counts)
{
    struct asker asker = {.verdict = TOOL_VERDICT_DENY, .answer = ALLOW_ONCE};
    ask(&asker);
    ck_assert(asker.allowed);
    ck_assert_int_eq(asker.reply, TOOL_ACCEPTED);
    expect_unused_table();
}
END_TEST

START_TEST(a_session_granted_inside_the_callback_stays)
{
    struct asker first = {.answer = "{\"decision\":\"allow_session\"}"};
    struct asker second = {.verdict = TOOL_VERDICT_DENY};
    ask(&first);
    ck_assert(first.allowed);
    later_s = APPROVAL_PENDING_MS / 1000 + 1;
    ask(&second);
    ck_assert(second.allowed);
    ck_assert_uint_eq(second.asked, 0);
    ck_assert_str_eq(second.outcome.decision, "allow_session");
}
END_TEST

/* Its session remembers it, and not this table. */
START_TEST(an_answer_for_cells_is_no_grant_for_the_request)
{
    struct asker first = {.answer = "{\"decision\":\"allow_cells\"}"};
    struct asker second = {.verdict = TOOL_VERDICT_DENY};
    ask(&first);
    ck_assert(first.allowed);
    ck_assert_str_eq(first.outcome.decision, "allow_cells");
    ask(&second);
    ck_assert(!second.allowed);
    ck_assert_uint_eq(second.asked, 1);
    expect_unused_table();
}
END_TEST

START_TEST(a_pending_request_is_not_asked_about_twice)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW};
    (void)leave_pending();
    ask(&asker);
    ck_assert_uint_eq(asker.asked, 0);
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_PENDING);
}
END_TEST

START_TEST(an_answer_to_another_token_is_none)
{
    uint64_t token = leave_pending();
    ck_assert_int_eq(approval_reply(token + 1, ALLOW_ONCE), TOOL_UNKNOWN);
    ck_assert_int_eq(approval_reply(token, ALLOW_ONCE), TOOL_ACCEPTED);
}
END_TEST

START_TEST(grants_of_two_requests_are_used_in_any_order)
{
    struct asker other = {.verdict = TOOL_VERDICT_PENDING, .hash = OTHER_HASH};
    struct asker one = {.verdict = TOOL_VERDICT_DENY};
    uint64_t token = leave_pending();
    ask(&other);
    ck_assert_int_eq(approval_reply(token, ALLOW_ONCE), TOOL_ACCEPTED);
    ck_assert_int_eq(approval_reply(other.token, ALLOW_ONCE), TOOL_ACCEPTED);
    ask(&one);
    ask(&other);
    ck_assert(one.allowed && other.allowed);
    ck_assert_uint_eq(one.asked, 0);
    ck_assert_uint_eq(other.asked, 1);
    expect_unused_table();
}
END_TEST

START_TEST(a_pending_request_expires)
{
    uint64_t token = leave_pending();
    later_s = APPROVAL_PENDING_MS / 1000 + 1;
    ck_assert_int_eq(approval_reply(token, ALLOW_ONCE), TOOL_UNKNOWN);
    expect_unused_table();
}
END_TEST

START_TEST(a_grant_expires_unused)
{
    ck_assert_int_eq(approval_reply(leave_pending(), ALLOW_ONCE), TOOL_ACCEPTED);
    later_s = APPROVAL_PENDING_MS / 1000 + 1;
    struct asker asker = {.verdict = TOOL_VERDICT_DENY};
    ask(&asker);
    ck_assert(!asker.allowed);
    ck_assert_uint_eq(asker.asked, 1);
}
END_TEST

static const struct {
    const char *decision;
    int32_t reply;
    const char *error; /* of the call that comes for the answer; NULL: allowed */
} answers[] = {
    {ALLOW_ONCE, TOOL_ACCEPTED, NULL},
    {"{\"decision\":\"allow_once\",\"request_sha256\":\"" HASH "\"}", TOOL_ACCEPTED, NULL},
    {"{\"decision\":\"allow_once\",\"request_sha256\":\"\",\"approver\":\"bob\"}", TOOL_ACCEPTED,
     NULL},
    {"{\"decision\":\"deny\"}", TOOL_ACCEPTED, "approval denied"},
    {"{\"decision\":\"deny\",\"reason\":\"no\"}", TOOL_ACCEPTED, "approval denied: no"},
    {"{\"decision\":\"allow_once\",\"request_sha256\":\"0123\"}", TOOL_INVALID,
     "approval denied: the decision could not be read"},
    {"{\"decision\":\"allow\"}", TOOL_INVALID, "approval denied: the decision could not be read"},
    {"{\"decision\":\"allow_once\",\"request_sha256\":\"" OTHER_HASH "\"}", TOOL_INVALID,
     "approval mismatch: the decision was made for another request"},
    {"{\"decision\":\"allow_always\",\"reason\":\"known\"}", TOOL_ACCEPTED, NULL},
    {"{\"decision\":\"allow_cells\"}", TOOL_ACCEPTED, NULL},
    {"{\"decision\":\"allow_cells\",\"arguments\":{}}", TOOL_INVALID,
     "approval denied: the decision could not be read"},
    {"{\"decision\":\"cells\"}", TOOL_INVALID, "approval denied: the decision could not be read"},
    {"{\"decision\":\"cancel\"}", TOOL_ACCEPTED, "cancelled by the approver"},
    {"{\"decision\":\"cancel\",\"reason\":\"lunch\"}", TOOL_ACCEPTED,
     "cancelled by the approver: lunch"},
    {EDIT("{\"a\":1}"), TOOL_ACCEPTED, NULL},
    {EDIT("[]"), TOOL_INVALID, "approval denied: the decision could not be read"},
    {EDIT("{\"a\":1.5}"), TOOL_INVALID, "approval denied: the decision could not be read"},
    {"{\"decision\":\"edit\"}", TOOL_INVALID, "approval denied: the decision could not be read"},
    {"{\"decision\":\"allow_once\",\"arguments\":{}}", TOOL_INVALID,
     "approval denied: the decision could not be read"},
    {"{\"decision\":true}", TOOL_INVALID, "approval denied: the decision could not be read"},
    {"{\"decision\":\"allow_once\",\"for\":\"ever\"}", TOOL_INVALID,
     "approval denied: the decision could not be read"},
    {"{}", TOOL_INVALID, "approval denied: the decision could not be read"},
    {"allow_once", TOOL_INVALID, "approval denied: the decision could not be read"},
    {"", TOOL_INVALID, "approval denied: the decision could not be read"},
    {NULL, TOOL_INVALID, "approval denied: the decision could not be read"},
};

START_TEST(only_a_decision_that_can_be_read_allows)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW};
    uint64_t token = leave_pending();
    ck_assert_int_eq(approval_reply(token, answers[_i].decision), answers[_i].reply);
    /* One answer counts. */
    ck_assert_int_eq(approval_reply(token, answers[_i].decision), TOOL_UNKNOWN);
    ask(&asker);
    ck_assert_uint_eq(asker.asked, 0);
    ck_assert_int_eq(asker.allowed, answers[_i].error == NULL);
    if (answers[_i].error != NULL)
        ck_assert_str_eq(asker.error.message, answers[_i].error);
    free(asker.outcome.arguments);
    expect_unused_table();
}
END_TEST

/* What the first answer was, what came behind it, and what is left. */
static const struct {
    const char *first;
    const char *second;
    enum error_code refusal; /* ERROR_CODE_COUNT: it runs */
} replays[] = {
    {ALLOW_ONCE, ALLOW_ONCE, ERROR_CODE_COUNT},
    {ALLOW_ONCE, "{\"decision\":\"allow_once\",\"approver\":\"bob\"}", ERROR_CODE_COUNT},
    {ALLOW_ONCE, "nonsense", ERROR_CODE_COUNT},
    {ALLOW_ONCE, "{\"decision\":\"deny\"}", ERROR_APPROVAL_REPLAYED},
    {ALLOW_ONCE, "{\"decision\":\"cancel\"}", ERROR_APPROVAL_REPLAYED},
    {ALLOW_ONCE, "{\"decision\":\"allow_session\"}", ERROR_APPROVAL_REPLAYED},
    {ALLOW_ONCE, "{\"decision\":\"allow_cells\"}", ERROR_APPROVAL_REPLAYED},
    {ALLOW_ONCE, EDIT("{}"), ERROR_APPROVAL_REPLAYED},
    {EDIT("{\"a\":1}"), EDIT("{\"a\":1}"), ERROR_CODE_COUNT},
    {EDIT("{\"a\":1}"), EDIT("{\"a\":2}"), ERROR_APPROVAL_REPLAYED},
    {EDIT("{\"a\":1}"), ALLOW_ONCE, ERROR_APPROVAL_REPLAYED},
    {"{\"decision\":\"deny\"}", ALLOW_ONCE, ERROR_APPROVAL_DENIED},
    {"{\"decision\":\"cancel\"}", ALLOW_ONCE, ERROR_CANCELLED},
};

START_TEST(a_second_answer_never_adds_to_the_first)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW};
    bool runs = replays[_i].refusal == ERROR_CODE_COUNT;
    uint64_t token = leave_pending();
    ck_assert_int_eq(approval_reply(token, replays[_i].first), TOOL_ACCEPTED);
    ck_assert_int_eq(approval_reply(token, replays[_i].second), TOOL_UNKNOWN);
    ask(&asker);
    ck_assert_uint_eq(asker.asked, 0);
    ck_assert_int_eq(asker.allowed, runs);
    if (!runs)
        ck_assert_int_eq(asker.error.code, replays[_i].refusal);
    free(asker.outcome.arguments);
    expect_unused_table();
}
END_TEST

START_TEST(a_standing_grant_ends_with_another_answer)
{
    struct asker asker = {.answer = "{\"decision\":\"allow_session\"}"};
    ask(&asker);
    ck_assert(asker.allowed);
    ck_assert_int_eq(approval_reply(asker.token, "{\"decision\":\"allow_session\"}"), TOOL_UNKNOWN);
    ask(&asker);
    ck_assert(asker.allowed);
    ck_assert_int_eq(approval_reply(asker.token, "{\"decision\":\"deny\"}"), TOOL_UNKNOWN);
    ask(&asker);
    ck_assert(!asker.allowed);
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_REPLAYED);
    ck_assert_uint_eq(asker.asked, 1);
    expect_unused_table();
}
END_TEST

START_TEST(only_offered_decisions_count)
{
    struct asker asker = {.answer = "{\"decision\":\"allow_session\"}",
                          .answers = APPROVAL_ANSWER_BIT(APPROVAL_ANSWER_ALLOW_ONCE)};
    ask(&asker);
    ck_assert_int_eq(asker.reply, TOOL_INVALID);
    ck_assert(!asker.allowed);
    ck_assert_str_eq(asker.error.message,
                     "approval denied: the request does not accept this decision");
    asker.answer = "{\"decision\":\"cancel\"}"; /* offered or not */
    ask(&asker);
    ck_assert_int_eq(asker.reply, TOOL_ACCEPTED);
    ck_assert_int_eq(asker.error.code, ERROR_CANCELLED);
    asker.answer = ALLOW_ONCE;
    ask(&asker);
    ck_assert(asker.allowed);
}
END_TEST

START_TEST(an_edit_hands_its_arguments_to_one_call)
{
    struct asker first = {.verdict = TOOL_VERDICT_DENY};
    struct asker second = first;
    ck_assert_int_eq(approval_reply(leave_pending(), EDIT("{\"b\":[2], \"a\":1}")), TOOL_ACCEPTED);
    ask(&first);
    ck_assert(first.allowed);
    ck_assert_str_eq(first.outcome.decision, "edit");
    ck_assert_str_eq(first.outcome.arguments, "{\"b\":[2],\"a\":1}");
    free(first.outcome.arguments);
    ask(&second);
    ck_assert_uint_eq(second.asked, 1);
    ck_assert(!second.allowed);
}
END_TEST

START_TEST(an_unused_edit_is_forgotten_whole)
{
    ck_assert_int_eq(approval_reply(leave_pending(), EDIT("{}")), TOOL_ACCEPTED);
    approval_forget_all();
    expect_unused_table();
}
END_TEST

/* With the cut at the end of a character, and inside of one. */
START_TEST(long_words_are_cut_between_characters)
{
    char decision[2048];
    struct asker asker = {.answer = decision};
    size_t length =
        (size_t)snprintf(decision, sizeof(decision),
                         "{\"decision\":\"allow_once\",\"approver\":\"%s", _i == 0 ? "a" : "");
    for (int i = 0; i < 400; i++, length += 2)
        memcpy(decision + length, "\xC3\xA9", 2);
    memcpy(decision + length, "\"}", 3);
    ask(&asker);
    ck_assert(asker.allowed);
    ck_assert_uint_eq(strlen(asker.outcome.approver), APPROVAL_TEXT_LIMIT - 1 - (size_t)_i);
}
END_TEST

START_TEST(a_decision_holds_for_a_while)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW};
    struct approval_outcome never = {.decision = "not_required"};
    ask(&asker);
    ck_assert(approval_holds(&asker.outcome, &asker.error));
    later_s = APPROVAL_RUN_MS / 1000 + 1;
    ck_assert(!approval_holds(&asker.outcome, &asker.error));
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_TIMEOUT);
    ck_assert(approval_holds(&never, &asker.error));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("answers");
    tcase_add_test(cases, an_answer_inside_the_callback_counts);
    tcase_add_test(cases, a_session_granted_inside_the_callback_stays);
    tcase_add_test(cases, an_answer_for_cells_is_no_grant_for_the_request);
    tcase_add_test(cases, a_pending_request_is_not_asked_about_twice);
    tcase_add_test(cases, an_answer_to_another_token_is_none);
    tcase_add_test(cases, grants_of_two_requests_are_used_in_any_order);
    tcase_add_test(cases, a_pending_request_expires);
    tcase_add_test(cases, a_grant_expires_unused);
    tcase_add_loop_test(cases, only_a_decision_that_can_be_read_allows, 0, COUNT_OF(answers));
    tcase_add_loop_test(cases, a_second_answer_never_adds_to_the_first, 0, COUNT_OF(replays));
    tcase_add_test(cases, a_standing_grant_ends_with_another_answer);
    tcase_add_test(cases, only_offered_decisions_count);
    tcase_add_test(cases, an_edit_hands_its_arguments_to_one_call);
    tcase_add_test(cases, an_unused_edit_is_forgotten_whole);
    tcase_add_loop_test(cases, long_words_are_cut_between_characters, 0, 2);
    tcase_add_test(cases, a_decision_holds_for_a_while);
    return run_suite("approval_answers", &cases, 1);
}
