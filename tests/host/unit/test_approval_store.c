/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store of approvals and the choice of an approver hold by themselves; behind them a
 * provider refuses as well, so that no whole call shows it. In a directory of the test's own.
 * Single-threaded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "approval/approval.h"
#include "approval/approval_grants.h"
#include "approval/approval_store.h"
#include "base/cleanup.h"
#include "tap_suite.h"

#define HASH          "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UPPER_HASH    "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"
#define REQUEST(more) "{\"request_sha256\":\"" HASH "\",\"principal\":\"alice\"" more "}"
#define TAKES(...)    REQUEST(",\"allowed_decisions\":[" __VA_ARGS__ "]")
#define ONCE          "\"allow_once\",\"deny\""
#define ALWAYS        "\"allow_once\",\"allow_always\",\"deny\""

static char directory[] = P_tmpdir "/test-approvals-XXXXXX";
static char store_path[64];
static char program_path[64];

static void make(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    (void)snprintf(store_path, sizeof(store_path), "%s/store", directory);
    (void)snprintf(program_path, sizeof(program_path), "%s/program", directory);
}

static void unmake(void)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

static struct approval_store *open_store(void)
{
    struct approval_store *store = NULL;
    struct failure failure = {.message = ""};
    ck_assert_msg(approval_store_open(store_path, true, &store, &failure), "%s", failure.message);
    return store;
}

/* The name of a request of alice's that was answered with yes. */
static void leave_answered(struct approval_store *store, bool any_call,
                           char ret_id[APPROVAL_STORE_ID + 1])
{
    const struct approval_subject subject = {HASH, "alice", NULL};
    struct failure failure = {.message = ""};
    ck_assert(approval_store_ask(store, &subject, TAKES(ONCE), any_call, 60, ret_id, &failure));
    ck_assert_msg(
        approval_store_answer(store, ret_id, APPROVAL_WORD_ALLOW_ONCE, "ann", "", 0, &failure),
        "%s", failure.message);
}

static enum approval_state take_identical(struct approval_store *store, const char *principal)
{
    const struct approval_subject subject = {HASH, principal, NULL};
    CLEANUP(approval_clear) struct approval_decision decision = {.word = APPROVAL_WORD_DENY};
    enum approval_state state;
    char id[APPROVAL_STORE_ID + 1];
    struct failure failure;
    ck_assert(approval_store_take_identical(store, &subject, id, &state, &decision, &failure));
    ck_assert(state != APPROVAL_STATE_ANSWERED || decision.word == APPROVAL_WORD_ALLOW_ONCE);
    return state;
}

START_TEST(an_answer_is_its_principals_and_used_once)
{
    char id[APPROVAL_STORE_ID + 1];
    CLEANUP(approval_store_close) struct approval_store *store = open_store();
    leave_answered(store, true, id);
    ck_assert_int_eq(take_identical(store, "bob"), APPROVAL_STATE_GONE);
    ck_assert_int_eq(take_identical(store, ""), APPROVAL_STATE_GONE);
    ck_assert_int_eq(take_identical(store, NULL), APPROVAL_STATE_GONE);
    ck_assert_int_eq(take_identical(store, "alice"), APPROVAL_STATE_ANSWERED);
    ck_assert_int_eq(take_identical(store, "alice"), APPROVAL_STATE_GONE);
}
END_TEST

START_TEST(an_answer_for_a_call_that_waits_is_for_no_other)
{
    char id[APPROVAL_STORE_ID + 1];
    enum approval_state state;
    struct failure failure;
    CLEANUP(approval_clear) struct approval_decision decision = {.word = APPROVAL_WORD_DENY};
    CLEANUP(approval_store_close) struct approval_store *store = open_store();
    leave_answered(store, false, id);
    ck_assert_int_eq(take_identical(store, "alice"), APPROVAL_STATE_GONE);
    ck_assert(approval_store_take_answer(store, id, &state, &decision, &failure));
    ck_assert_int_eq(state, APPROVAL_STATE_ANSWERED);
    ck_assert_int_eq(decision.word, APPROVAL_WORD_ALLOW_ONCE);
}
END_TEST

START_TEST(only_what_the_request_takes_is_an_answer)
{
    const struct approval_subject subject = {HASH, "alice", NULL};
    char id[APPROVAL_STORE_ID + 1];
    struct failure failure;
    CLEANUP(approval_store_close) struct approval_store *store = open_store();
    ck_assert(approval_store_ask(store, &subject, TAKES(ONCE), true, 60, id, &failure));
    ck_assert(
        !approval_store_answer(store, id, APPROVAL_WORD_ALLOW_ALWAYS, "ann", "", 60, &failure));
    ck_assert_str_eq(failure.code, "approval_not_offered");
    ck_assert_int_eq(take_identical(store, "alice"), APPROVAL_STATE_OPEN);
    ck_assert(approval_store_answer(store, id, APPROVAL_WORD_ALLOW_ONCE, "ann", "", 0, &failure));
    ck_assert_int_eq(take_identical(store, "alice"), APPROVAL_STATE_ANSWERED);
}
END_TEST

static bool is_granted(const char *request_json)
{
    const struct approver approver = {.mode = APPROVAL_ASK, .store = store_path};
    CLEANUP(approval_clear) struct approval_decision decision = {.word = APPROVAL_WORD_DENY};
    json_t *request = json_loads(request_json, 0, NULL);
    bool granted = approval_by_grant(&approver, request, &decision);
    json_decref(request);
    return granted;
}

START_TEST(a_grant_serves_only_who_takes_one)
{
    const struct approval_subject subject = {HASH, "alice", NULL};
    struct failure failure = {.message = ""};
    CLEANUP(approval_store_close) struct approval_store *store = open_store();
    ck_assert_msg(approval_store_add_grant(store, &subject, "ann", "", 60, &failure), "%s",
                  failure.message);
    ck_assert(is_granted(TAKES(ALWAYS)));
    ck_assert(!is_granted(TAKES(ONCE)));
    ck_assert(!is_granted(REQUEST("")));
}
END_TEST

START_TEST(a_hash_is_64_digits)
{
    static const char *const hashes[] = {"", "0123", HASH "0", HASH " ", UPPER_HASH};
    struct approval_subject subject;
    for (size_t i = 0; i < COUNT_OF(hashes); i++) {
        json_t *request = json_pack("{s:s}", "request_sha256", hashes[i]);
        ck_assert_msg(!approval_subject_of(request, &subject), "%s", hashes[i]);
        json_decref(request);
    }
    json_t *good = json_pack("{s:s}", "request_sha256", HASH);
    ck_assert(approval_subject_of(good, &subject));
    ck_assert_ptr_null(subject.principal);
    json_decref(good);
}
END_TEST

START_TEST(nobody_waits_longer_than_an_hour)
{
    static const struct {
        json_int_t asked;
        int wait;
    } waits[] = {{0, 120000}, {-5, 120000}, {1, 1}, {3600001, 3600000}, {INT64_MAX, 3600000}};
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        json_t *request = json_pack("{s:I}", "timeout_ms", waits[i].asked);
        ck_assert_int_eq(approval_wait_ms(request), waits[i].wait);
        json_decref(request);
    }
}
END_TEST

/* A program that answers so, whatever it is asked. */
static enum approval_word decide(const char *answer, const char *request_json, const char *reason)
{
    const struct approver approver = {
        .mode = APPROVAL_COMMAND, .target = program_path, .store = store_path};
    CLEANUP(approval_clear) struct approval_decision decision;
    FILE *program = fopen(program_path, "we");
    (void)fprintf(program, "#!/bin/sh\ncat >/dev/null\necho '{\"decision\":\"%s\"}'\n", answer);
    ck_assert_int_eq(fclose(program), 0);
    ck_assert_int_eq(chmod(program_path, 0700), 0);
    approval_decide(&approver, request_json, -1, &decision);
    ck_assert_msg(strstr(decision.reason, reason) != NULL, "%s", decision.reason);
    return decision.word;
}

START_TEST(whoever_answers_is_held_to_the_offer)
{
    ck_assert_int_eq(decide("allow_once", TAKES(ONCE), ""), APPROVAL_WORD_ALLOW_ONCE);
    ck_assert_int_eq(
        decide("allow_session", TAKES(ONCE), "this request does not accept the decision"),
        APPROVAL_WORD_DENY);
    ck_assert_int_eq(
        decide("allow_session", REQUEST(""), "this request does not accept the decision"),
        APPROVAL_WORD_DENY);
    ck_assert_int_eq(decide("allow_session", TAKES("\"allow_session\""), ""),
                     APPROVAL_WORD_ALLOW_SESSION);
    ck_assert_int_eq(
        decide("allow_cells", TAKES(ONCE), "this request does not accept the decision"),
        APPROVAL_WORD_DENY);
    ck_assert_int_eq(decide("allow_cells", TAKES("\"allow_cells\""), ""),
                     APPROVAL_WORD_ALLOW_CELLS);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("approval store")};
    tcase_set_timeout(cases[0], 30);
    tcase_add_checked_fixture(cases[0], make, unmake);
    tcase_add_test(cases[0], an_answer_is_its_principals_and_used_once);
    tcase_add_test(cases[0], an_answer_for_a_call_that_waits_is_for_no_other);
    tcase_add_test(cases[0], only_what_the_request_takes_is_an_answer);
    tcase_add_test(cases[0], a_grant_serves_only_who_takes_one);
    tcase_add_test(cases[0], a_hash_is_64_digits);
    tcase_add_test(cases[0], nobody_waits_longer_than_an_hour);
    tcase_add_test(cases[0], whoever_answers_is_held_to_the_offer);
    return run_suite("approval store", cases, COUNT_OF(cases));
}
