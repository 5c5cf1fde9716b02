/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approval: what can be asked, what counts as an answer, and for how long; without memory, without
 * randomness, and with a clock that is this program's. Single-threaded.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "approval/approval.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define HASH            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_HASH      "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define TIMEOUT_MS      1000
#define ALLOW_ONCE      "{\"decision\":\"allow_once\"}"
#define EDIT(arguments) "{\"decision\":\"edit\",\"arguments\":" arguments "}"

void *__real_calloc(size_t count, size_t size);
ssize_t __real_getrandom(void *bytes, size_t length, unsigned flags);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
void *__wrap_calloc(size_t count, size_t size);
ssize_t __wrap_getrandom(void *bytes, size_t length, unsigned flags);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

static bool no_memory;
static unsigned random_calls;
static unsigned random_fails_at; /* which call of getrandom(); 0: none */
static unsigned zeroes_until;    /* calls before this one give zeroes */
static time_t later_s;           /* how much later than it is */

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

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    int result = __real_clock_gettime(clock, ret);
    ret->tv_sec += later_s;
    return result;
}

/* What the host does inside the callback. */
struct asker {
    uint32_t verdict;
    const char *answer; /* NULL: none yet */
    bool forgets;
    bool asks_again; /* an identical call of another thread, as it were */
    bool cancelled;
    bool speechless;     /* the request cannot be made */
    uint64_t timeout_ms; /* 0: TIMEOUT_MS */
    const char *hash;    /* NULL: HASH */
    unsigned answers;    /* 0: all */
    unsigned asked;
    uint64_t token;
    int32_t reply;
    bool allowed;
    struct approval_outcome outcome;
    struct error error;
};

static void ask(struct asker *asker);

static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    struct asker *asker = user;
    ck_assert_str_eq(request_json, "{}");
    asker->asked++;
    asker->token = token;
    *verdict = asker->verdict;
    if (asker->answer != NULL)
        asker->reply = approval_reply(token, asker->answer);
    if (asker->forgets)
        approval_forget_all();
    if (asker->asks_again) {
        struct asker other = {.verdict = TOOL_VERDICT_DENY};
        ask(&other);
        ck_assert_uint_eq(other.asked, 1);
        ck_assert(!other.allowed);
    }
}

static char *make_request(void *user, const char *id)
{
    const struct asker *asker = user;
    (void)id;
    return asker->speechless ? NULL : strdup("{}");
}

static bool is_cancelled(void *user)
{
    const struct asker *asker = user;
    return asker->cancelled;
}

static const struct approval_question question = {
    .request_sha256 = HASH,
    .principal = "alice",
    .answers = APPROVAL_ANSWERS_ALL,
    .timeout_ms = TIMEOUT_MS,
    .max_waiting = UINT64_MAX,
    .make_request = make_request,
    .cancelled = is_cancelled,
};

static void ask(struct asker *asker)
{
    const struct tool_host host = {.user = asker, .request_approval = request_approval};
    struct approval_question asked = question;
    asked.user = asker;
    if (asker->timeout_ms > 0)
        asked.timeout_ms = asker->timeout_ms;
    if (asker->hash != NULL)
        asked.request_sha256 = asker->hash;
    if (asker->answers != 0)
        asked.answers = asker->answers;
    asker->allowed = approval_obtain(&host, &asked, &asker->outcome, &asker->error);
}

/* A request that waits for its answer, from a call that is over. */
static uint64_t leave_pending(void)
{
    struct asker asker = {.verdict = TOOL_VERDICT_PENDING};
    ask(&asker);
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_PENDING);
    return asker.token;
}

/* Nothing was kept of what failed: the next call asks, and is heard. */
static void expect_unused_table(void)
{
    struct asker asker = {.verdict = TOOL_VERDICT_ALLOW};
    ask(&asker);
    ck_assert_uint_eq(asker.asked, 1);
    ck_assert(asker.allowed);
    ck_assert_str_eq(asker.outcome.decision, "allow_once");
    ck_assert_str_eq(asker.outcome.approver, "host");
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
    TCase *cases[] = {tcase_create("asking"), tcase_create("answers")};
    tcase_add_test(cases[0], a_host_that_offers_nobody_denies);
    tcase_add_test(cases[0], no_approval_is_asked_without_memory);
    tcase_add_loop_test(cases[0], no_approval_is_asked_without_randomness, 1, 3);
    tcase_add_test(cases[0], no_token_is_zero);
    tcase_add_test(cases[0], a_request_that_cannot_be_made_is_denied_unasked);
    tcase_add_test(cases[0], a_cancelled_call_does_not_wait);
    tcase_add_test(cases[0], no_call_waits_beyond_its_time);
    tcase_add_test(cases[0], an_identical_call_asks_for_itself_while_one_is_asking);
    tcase_add_test(cases[0], a_request_forgotten_during_the_callback_is_denied);
    tcase_add_test(cases[1], an_answer_inside_the_callback_counts);
    tcase_add_test(cases[1], a_session_granted_inside_the_callback_stays);
    tcase_add_test(cases[1], an_answer_for_cells_is_no_grant_for_the_request);
    tcase_add_test(cases[1], a_pending_request_is_not_asked_about_twice);
    tcase_add_test(cases[1], an_answer_to_another_token_is_none);
    tcase_add_test(cases[1], grants_of_two_requests_are_used_in_any_order);
    tcase_add_test(cases[1], a_pending_request_expires);
    tcase_add_test(cases[1], a_grant_expires_unused);
    tcase_add_loop_test(cases[1], only_a_decision_that_can_be_read_allows, 0, COUNT_OF(answers));
    tcase_add_loop_test(cases[1], a_second_answer_never_adds_to_the_first, 0, COUNT_OF(replays));
    tcase_add_test(cases[1], a_standing_grant_ends_with_another_answer);
    tcase_add_test(cases[1], only_offered_decisions_count);
    tcase_add_test(cases[1], an_edit_hands_its_arguments_to_one_call);
    tcase_add_test(cases[1], an_unused_edit_is_forgotten_whole);
    tcase_add_loop_test(cases[1], long_words_are_cut_between_characters, 0, 2);
    tcase_add_test(cases[1], a_decision_holds_for_a_while);
    return run_suite("approval_answers", cases, COUNT_OF(cases));
}
