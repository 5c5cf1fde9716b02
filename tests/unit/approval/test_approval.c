/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approval with answers, timeouts, cancellations and shutdowns at the same time: whoever was told
 * that an answer counts is right, and nothing is used twice. Threads of this test are the
 * gateway's; to be run with -Db_sanitize=thread as well.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "approval/approval.h"
#include "call/call_registry.h"
#include "tap_suite.h"

#define THREADS    8
#define ROUNDS     200
#define LONG_MS    60000
#define ALLOW_ONCE "{\"decision\":\"allow_once\"}"
#define HASH       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_HASH "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

/* One call and its host: says verdict, and shows the token to the other threads. */
struct asker {
    uint32_t verdict;
    void (*approve)(void *, uint64_t, const char *, uint32_t *); /* NULL: says verdict */
    uint64_t timeout_ms;
    uint64_t max_waiting; /* 0: any number */
    const char *session;
    _Atomic uint64_t token; /* 0: not asked yet */
    atomic_uint asked;
    bool registered;
    struct registered_call call;
    bool allowed;
    struct approval_outcome outcome;
    struct error error;
};

static void request_approval(void *user, uint64_t token, const char *request_json,
                             uint32_t *verdict)
{
    struct asker *asker = user;
    ck_assert_str_eq(request_json, "{}");
    (void)atomic_fetch_add(&asker->asked, 1);
    *verdict = asker->verdict;
    atomic_store(&asker->token, token);
}

static char *make_request(void *user, const char *id)
{
    (void)user;
    return strlen(id) == APPROVAL_ID_LENGTH ? strdup("{}") : NULL;
}

static bool is_cancelled(void *user)
{
    struct asker *asker = user;
    return asker->registered && atomic_load(&asker->call.cancelled);
}

static bool ask_about(struct asker *asker, const char *hash, const char *principal)
{
    const struct tool_host host = {.user = asker,
                                   .request_approval =
                                       asker->approve != NULL ? asker->approve : request_approval};
    const struct approval_question question = {
        .request_sha256 = hash,
        .principal = principal,
        .session = asker->session,
        .answers = APPROVAL_ANSWERS_ALL,
        .timeout_ms = asker->timeout_ms,
        .max_waiting = asker->max_waiting > 0 ? asker->max_waiting : UINT64_MAX,
        .make_request = make_request,
        .cancelled = is_cancelled,
        .user = asker,
    };
    return approval_obtain(&host, &question, &asker->outcome, &asker->error);
}

static void ask(struct asker *asker)
{
    asker->allowed = ask_about(asker, HASH, "alice");
}

static void *ask_in_thread(void *user)
{
    ask(user);
    return NULL;
}

/* As the gate does it: counted in while it asks. */
static void *ask_as_call(void *user)
{
    struct asker *asker = user;
    asker->registered = call_register(&asker->call, 7, &asker->error);
    if (!asker->registered)
        return NULL;
    ask(asker);
    call_unregister(&asker->call);
    return NULL;
}

static pthread_t start(void *(*function)(void *), void *user)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, function, user), 0);
    return thread;
}

static void pause_us(long microseconds)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}

static uint64_t await_token(struct asker *asker)
{
    uint64_t token = 0;
    while ((token = atomic_load(&asker->token)) == 0)
        pause_us(20);
    return token;
}

START_TEST(an_answer_counts_or_the_timeout_does)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct asker asker = {.verdict = TOOL_VERDICT_LATER, .timeout_ms = 3};
        pthread_t thread = start(ask_in_thread, &asker);
        uint64_t token = await_token(&asker);
        pause_us(1500 + i % 20 * 100);
        int32_t reply = approval_reply(token, ALLOW_ONCE);
        (void)pthread_join(thread, NULL);
        ck_assert_int_eq(asker.allowed, reply == TOOL_ACCEPTED);
        if (!asker.allowed)
            ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_TIMEOUT);
        ck_assert_str_eq(asker.outcome.decision, asker.allowed ? "allow_once" : "deny");
    }
}
END_TEST

static void *cancel_seven(void *unused)
{
    (void)unused;
    (void)call_cancel(7);
    return NULL;
}

static void *shut_down(void *unused)
{
    (void)unused;
    call_cancel_all_and_wait();
    call_admit_again();
    approval_forget_all();
    return NULL;
}

/* The answer and the end come from two threads at once. */
static void race_answer_with(void *(*end)(void *))
{
    for (int i = 0; i < ROUNDS; i++) {
        struct asker asker = {.verdict = TOOL_VERDICT_LATER, .timeout_ms = LONG_MS};
        pthread_t call = start(ask_as_call, &asker);
        uint64_t token = await_token(&asker);
        pthread_t ender = start(end, NULL);
        pause_us(i % 10 * 10);
        int32_t reply = approval_reply(token, ALLOW_ONCE);
        (void)pthread_join(call, NULL);
        (void)pthread_join(ender, NULL);
        ck_assert_int_eq(asker.allowed, reply == TOOL_ACCEPTED);
        if (!asker.allowed)
            ck_assert_int_eq(asker.error.code, ERROR_CANCELLED);
        ck_assert_int_eq(approval_reply(token, ALLOW_ONCE), TOOL_UNKNOWN);
        ck_assert_uint_eq(call_count(), 0);
    }
}

START_TEST(an_answer_counts_or_the_cancellation_does)
{
    race_answer_with(cancel_seven);
}
END_TEST

START_TEST(an_answer_counts_or_the_shutdown_does)
{
    race_answer_with(shut_down);
}
END_TEST

struct replier {
    uint64_t token;
    int32_t reply;
};

static void *reply_in_thread(void *user)
{
    struct replier *replier = user;
    replier->reply = approval_reply(replier->token, ALLOW_ONCE);
    return NULL;
}

START_TEST(a_token_is_answered_once)
{
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct asker asker = {.verdict = TOOL_VERDICT_LATER, .timeout_ms = LONG_MS};
        pthread_t call = start(ask_in_thread, &asker);
        struct replier repliers[THREADS];
        pthread_t threads[THREADS];
        uint64_t token = await_token(&asker);
        for (int j = 0; j < THREADS; j++) {
            repliers[j] = (struct replier){.token = token};
            threads[j] = start(reply_in_thread, &repliers[j]);
        }
        int accepted = 0;
        for (int j = 0; j < THREADS; j++) {
            (void)pthread_join(threads[j], NULL);
            accepted += repliers[j].reply == TOOL_ACCEPTED;
        }
        (void)pthread_join(call, NULL);
        ck_assert_int_eq(accepted, 1);
        ck_assert(asker.allowed);
    }
}
END_TEST

/* Identical calls of eight threads, behind a pending request that got the decision. */
static int calls_allowed_by(const char *decision)
{
    struct asker first = {.verdict = TOOL_VERDICT_PENDING, .timeout_ms = LONG_MS};
    ask(&first);
    ck_assert(!first.allowed);
    ck_assert_int_eq(first.error.code, ERROR_APPROVAL_PENDING);
    ck_assert_str_eq(first.outcome.decision, "pending");
    ck_assert_int_eq(approval_reply(first.token, decision), TOOL_ACCEPTED);
    struct asker askers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        askers[i] = (struct asker){.verdict = TOOL_VERDICT_DENY, .timeout_ms = LONG_MS};
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(ask_in_thread, &askers[i]);
    int allowed = 0;
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        allowed += askers[i].allowed;
        ck_assert(!askers[i].allowed || askers[i].asked == 0);
        ck_assert(askers[i].allowed || askers[i].error.code == ERROR_APPROVAL_DENIED);
    }
    approval_forget_all();
    return allowed;
}

START_TEST(a_pending_grant_is_used_once)
{
    for (int i = 0; i < ROUNDS / 4; i++)
        ck_assert_int_eq(calls_allowed_by(ALLOW_ONCE), 1);
}
END_TEST

START_TEST(a_session_grant_holds_until_forgotten)
{
    ck_assert_int_eq(calls_allowed_by("{\"decision\":\"allow_session\"}"), THREADS);
    struct asker asker = {.timeout_ms = LONG_MS};
    ask(&asker);
    ck_assert(!asker.allowed);
}
END_TEST

START_TEST(a_pending_denial_is_told_once)
{
    ck_assert_int_eq(calls_allowed_by("{\"decision\":\"deny\",\"reason\":\"no\"}"), 0);
}
END_TEST

START_TEST(a_decision_for_another_request_denies)
{
    struct asker first = {.verdict = TOOL_VERDICT_PENDING, .timeout_ms = LONG_MS};
    ask(&first);
    ck_assert_int_eq(approval_reply(first.token,
                                    "{\"decision\":\"allow_once\",\"request_sha256\":\"" OTHER_HASH
                                    "\"}"),
                     TOOL_INVALID);
    struct asker second = {.verdict = TOOL_VERDICT_ALLOW, .timeout_ms = LONG_MS};
    ask(&second);
    ck_assert(!second.allowed);
    ck_assert_uint_eq(second.asked, 0);
    ck_assert_int_eq(second.error.code, ERROR_APPROVAL_MISMATCH);
    ck_assert_str_eq(second.error.message,
                     "approval mismatch: the decision was made for another request");
}
END_TEST

START_TEST(a_grant_for_another_request_is_not_used)
{
    struct asker asker = {.verdict = TOOL_VERDICT_PENDING, .timeout_ms = LONG_MS};
    ask(&asker);
    ck_assert_int_eq(approval_reply(asker.token, ALLOW_ONCE), TOOL_ACCEPTED);
    asker.verdict = TOOL_VERDICT_DENY;
    ck_assert(!ask_about(&asker, OTHER_HASH, "alice"));
    ck_assert_uint_eq(asker.asked, 2);
}
END_TEST

START_TEST(a_grant_serves_its_principal_only)
{
    static const char *const others[] = {"bob", "", NULL};
    struct asker asker = {.verdict = TOOL_VERDICT_PENDING, .timeout_ms = LONG_MS};
    ask(&asker);
    ck_assert_int_eq(approval_reply(asker.token, ALLOW_ONCE), TOOL_ACCEPTED);
    asker.verdict = TOOL_VERDICT_DENY;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert(!ask_about(&asker, HASH, others[i]));
    ck_assert_uint_eq(asker.asked, 4);
    ck_assert(ask_about(&asker, HASH, "alice"));
    ck_assert_uint_eq(asker.asked, 4);
}
END_TEST

static bool ask_in_session(struct asker *asker, const char *principal, const char *session)
{
    asker->session = session;
    return ask_about(asker, HASH, principal);
}

START_TEST(a_session_grant_serves_its_session_only)
{
    static const char *const others[][2] = {
        {"alice", "two"}, {"alice", ""}, {"alice", NULL}, {"bob", "one"}, {NULL, "one"}};
    struct asker asker = {.verdict = TOOL_VERDICT_PENDING, .timeout_ms = LONG_MS};
    ck_assert(!ask_in_session(&asker, "alice", "one"));
    ck_assert_int_eq(approval_reply(asker.token, "{\"decision\":\"allow_session\"}"),
                     TOOL_ACCEPTED);
    asker.verdict = TOOL_VERDICT_DENY;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            ck_assert(!ask_in_session(&asker, others[i][0], others[i][1]));
        ck_assert_uint_eq(asker.asked, 1 + 5 * (round + 1));
        for (int i = 0; i < 3; i++)
            ck_assert(ask_in_session(&asker, "alice", "one"));
        ck_assert_uint_eq(asker.asked, 1 + 5 * (round + 1));
    }
}
END_TEST

/* How many questions it can leave behind that nobody answers. */
static unsigned leave_questions(struct asker *asker, const char *principal)
{
    unsigned count = 0;
    char hash[SHA256_HEX_LENGTH + 1];
    do {
        (void)snprintf(hash, sizeof(hash), "%064x", count++);
        ck_assert(!ask_about(asker, hash, principal));
    } while (asker->error.code == ERROR_APPROVAL_PENDING);
    ck_assert_int_eq(asker->error.code, ERROR_TOO_MANY_REQUESTS);
    return count - 1;
}

START_TEST(pending_requests_leave_room_for_other_principals)
{
    struct asker asker = {.verdict = TOOL_VERDICT_PENDING, .timeout_ms = LONG_MS};
    ck_assert_uint_eq(leave_questions(&asker, "alice"), APPROVAL_REQUESTS_LIMIT / 2);
    ck_assert_uint_eq(asker.asked, APPROVAL_REQUESTS_LIMIT / 2);
    ck_assert_uint_eq(leave_questions(&asker, "bob"), APPROVAL_REQUESTS_LIMIT / 4);
    ck_assert_uint_eq(leave_questions(&asker, NULL), APPROVAL_REQUESTS_LIMIT / 8);
    ck_assert_int_eq(approval_reply(asker.token, ALLOW_ONCE), TOOL_ACCEPTED);
    approval_forget_all();
    ck_assert_int_eq(approval_reply(asker.token, ALLOW_ONCE), TOOL_UNKNOWN);
    ask(&asker);
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_PENDING);
}
END_TEST

static void answer_too_late(void *user, uint64_t token, const char *request_json, uint32_t *verdict)
{
    const struct timespec a_while = {.tv_nsec = 20 * 1000000};
    request_approval(user, token, request_json, verdict);
    (void)nanosleep(&a_while, NULL);
}

/* As an answer that comes by its token. A host that gives up at the deadline says no, and nobody
 * has denied. */
START_TEST(a_verdict_that_comes_too_late_is_none)
{
    struct asker asker = {.verdict = _i == 0 ? TOOL_VERDICT_ALLOW : TOOL_VERDICT_DENY,
                          .approve = answer_too_late,
                          .timeout_ms = 10};
    ck_assert(!ask_about(&asker, HASH, "alice"));
    ck_assert_int_eq(asker.error.code, ERROR_APPROVAL_TIMEOUT);
    ck_assert_str_eq(asker.outcome.decision, "deny");
    asker.timeout_ms = LONG_MS;
    ck_assert(ask_about(&asker, HASH, "alice") == (_i == 0));
}
END_TEST

static void grant_session(void *user, uint64_t token, const char *request_json, uint32_t *verdict)
{
    request_approval(user, token, request_json, verdict);
    ck_assert_int_eq(approval_reply(token, "{\"decision\":\"allow_session\"}"), TOOL_ACCEPTED);
}

static bool get_session_grant(struct asker *asker, unsigned number)
{
    char hash[SHA256_HEX_LENGTH + 1];
    (void)snprintf(hash, sizeof(hash), "%064x", number);
    asker->approve = grant_session;
    return ask_about(asker, hash, "alice");
}

START_TEST(grants_that_stand_stop_nobody)
{
    struct asker other = {.verdict = TOOL_VERDICT_PENDING, .timeout_ms = LONG_MS};
    struct asker asker = {.timeout_ms = LONG_MS};
    ck_assert(!ask_about(&other, HASH, "bob"));
    for (unsigned i = 0; i < 2 * APPROVAL_GRANTS_LIMIT; i++)
        ck_assert_msg(get_session_grant(&asker, i), "%u: %s", i, asker.error.message);
    ck_assert_uint_eq(asker.asked, 2 * APPROVAL_GRANTS_LIMIT);
    /* The latest are remembered; an older one is asked about again. */
    ck_assert(get_session_grant(&asker, 2 * APPROVAL_GRANTS_LIMIT - 1));
    ck_assert(get_session_grant(&asker, APPROVAL_GRANTS_LIMIT));
    ck_assert_uint_eq(asker.asked, 2 * APPROVAL_GRANTS_LIMIT);
    ck_assert(get_session_grant(&asker, APPROVAL_GRANTS_LIMIT - 1));
    ck_assert_uint_eq(asker.asked, 2 * APPROVAL_GRANTS_LIMIT + 1);
    /* What somebody else has asked is not forgotten for them. */
    ck_assert_int_eq(approval_reply(other.token, ALLOW_ONCE), TOOL_ACCEPTED);
    ck_assert(ask_about(&other, HASH, "bob"));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("approval");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, an_answer_counts_or_the_timeout_does);
    tcase_add_test(cases, an_answer_counts_or_the_cancellation_does);
    tcase_add_test(cases, an_answer_counts_or_the_shutdown_does);
    tcase_add_test(cases, a_token_is_answered_once);
    tcase_add_test(cases, a_pending_grant_is_used_once);
    tcase_add_test(cases, a_session_grant_holds_until_forgotten);
    tcase_add_test(cases, a_pending_denial_is_told_once);
    tcase_add_test(cases, a_decision_for_another_request_denies);
    tcase_add_test(cases, a_grant_for_another_request_is_not_used);
    tcase_add_test(cases, a_grant_serves_its_principal_only);
    tcase_add_test(cases, a_session_grant_serves_its_session_only);
    tcase_add_test(cases, pending_requests_leave_room_for_other_principals);
    tcase_add_test(cases, grants_that_stand_stop_nobody);
    tcase_add_loop_test(cases, a_verdict_that_comes_too_late_is_none, 0, 2);
    return run_suite("approval", &cases, 1);
}
