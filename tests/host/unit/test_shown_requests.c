/* SPDX-License-Identifier: Apache-2.0 */
/* What toolhost shows an approver of a request, and the decisions that it takes. */
#include <stdlib.h>
#include <string.h>

#include "approval/approval.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "tap_suite.h"

START_TEST(decision_is_exactly_one_word)
{
    static const struct {
        const char *text;
        enum approval_word word;
    } cases[] = {
        {"{\"decision\":\"allow_once\"}", APPROVAL_WORD_ALLOW_ONCE},
        {" {\"decision\":\"allow_once\",\"reason\":\"ok\"}\n", APPROVAL_WORD_ALLOW_ONCE},
        {"{\"decision\":\"approve\"}", APPROVAL_WORD_ALLOW_ONCE},
        {"{\"decision\":\"allow_once\",\"request_sha256\":\"ab\"}", APPROVAL_WORD_ALLOW_ONCE},
        {"{\"decision\":\"allow_session\"}", APPROVAL_WORD_ALLOW_SESSION},
        {"{\"decision\":\"allow_always\"}", APPROVAL_WORD_ALLOW_ALWAYS},
        {"{\"decision\":\"allow_cells\"}", APPROVAL_WORD_ALLOW_CELLS},
        {"{\"decision\":\"cells\"}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"cancel\"}", APPROVAL_WORD_CANCEL},
        {"{\"decision\":\"edit\",\"arguments\":{}}", APPROVAL_WORD_EDIT},
        {"{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}", APPROVAL_WORD_ALLOW_ONCE},
        {"{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\",\"updatedInput\":{}}}",
         APPROVAL_WORD_EDIT},
        {"{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\",\"updatedInput\":1}}",
         APPROVAL_WORD_DENY},
        {"{\"hookSpecificOutput\":{\"permissionDecision\":\"ask\"}}", APPROVAL_WORD_UNAVAILABLE},
        {"{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}", APPROVAL_WORD_DENY},
        {"{\"hookSpecificOutput\":\"allow\"}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"approve\",\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}",
         APPROVAL_WORD_DENY},
        {"{\"decision\":\"block\"}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"approve\",\"continue\":false}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"edit\"}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"allow_once\",\"arguments\":{}}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"allow_once\",\"request_sha256\":\"cd\"}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"allow_once\",\"request_sha256\":7}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"deny\",\"decision\":\"allow_once\"}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"allow\"}", APPROVAL_WORD_DENY},
        {"{\"decision\":\"ALLOW_ONCE\"}", APPROVAL_WORD_DENY},
        {"{\"decision\":true}", APPROVAL_WORD_DENY},
        {"{}", APPROVAL_WORD_DENY},
        {"", APPROVAL_WORD_DENY},
        {"null", APPROVAL_WORD_DENY},
        {"{\"decision\":\"allow_once\"} x", APPROVAL_WORD_DENY},
    };
    json_auto_t *request = json_pack("{s:s}", "request_sha256", "ab");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(approval_clear) struct approval_decision decision = {0};
        approval_read_decision(cases[i].text, strlen(cases[i].text), request, &decision);
        ck_assert_msg(decision.word == cases[i].word, "%s", cases[i].text);
        ck_assert_int_eq(decision.arguments != NULL, decision.word == APPROVAL_WORD_EDIT);
    }
}
END_TEST

static long until_failure; /* allocations of jansson's that still go through */

static void *allocate(size_t size)
{
    return until_failure-- == 0 ? NULL : malloc(size);
}

START_TEST(a_decision_is_told_whole_or_not_at_all)
{
    static const struct approval_decision decision = {
        APPROVAL_WORD_ALLOW_ALWAYS, .approver = "somebody", .reason = "because of something"};
    static const char whole[] = "{\"decision\":\"allow_always\",\"approver\":\"somebody\","
                                "\"reason\":\"because of something\",\"request_sha256\":\"hash\"}";
    static const char without_reason[] = "{\"decision\":\"allow_always\","
                                         "\"approver\":\"somebody\",\"request_sha256\":\"hash\"}";
    unsigned told = 0;
    json_auto_t *request = json_pack("{s:s}", "request_sha256", "hash");
    for (long i = 0; told < 2; i++) {
        until_failure = i;
        json_set_alloc_funcs(allocate, free);
        CLEANUP_FREE char *text = approval_decision_text(&decision, request);
        json_set_alloc_funcs(malloc, free);
        if (text && strcmp(text, without_reason) != 0)
            ck_assert_str_eq(text, whole);
        told += until_failure >= 0 && text != NULL; /* none failed */
        ck_assert_int_lt(i, 1000);
    }
}
END_TEST

START_TEST(request_says_what_it_takes)
{
    json_auto_t *silent = json_object();
    json_auto_t *strict = json_pack("{s:[s,i]}", "allowed_decisions", "edit", 1);
    for (int word = 0; word < APPROVAL_WORD_COUNT; word++) {
        bool usual = word == APPROVAL_WORD_ALLOW_ONCE || word == APPROVAL_WORD_DENY;
        ck_assert_int_eq(approval_offers(silent, (enum approval_word)word), usual);
        ck_assert_int_eq(approval_offers(strict, (enum approval_word)word),
                         word == APPROVAL_WORD_EDIT);
    }
}
END_TEST

/* Rows are broken between members, and no value can draw a member or a row. */
START_TEST(request_is_laid_out_for_reading)
{
    json_auto_t *request =
        json_loads("{\"limits\":{\"first\":1000000000,\"second\":2000000000},"
                   "\"environment\":{\"A\":\"1\\\", \\n\\\"B: 2\"},"
                   "\"content_findings\":["
                   "{\"line\":3,\"message\":\"m\",\"rule\":\"r\",\"file\":\"f.py\"},{}],"
                   "\"content_findings_more\":0}",
                   0, NULL);
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_uint_eq(approval_show(out, request, 40, 60), 0);
    (void)fclose(out);
    ck_assert_str_eq(text, "  limits        | \"first\": 1000000000,\n"
                           "                | \"second\": 2000000000\n"
                           "  environment   | \"A\": \"1\\\", \\n\\\"B: 2\"\n"
                           "  finding       | f.py line 3: m (r)\n"
                           "  finding       | line 0: ? (?)\n");
}
END_TEST

/* Each by itself, in the order of the list, and nothing of it can draw another row. */
START_TEST(request_shows_its_endpoints)
{
    json_auto_t *request =
        json_pack("{s:b, s:[{s:s, s:s, s:n}, {s:s, s:b}], s:[ss]}", "network", 0,
                  "endpoint_definitions", "name", "github", "base_url", "https://api.github.com",
                  "secret", "name", "b\nnetwork", "tunnel", 1, "endpoints", "github", "b");
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_uint_eq(approval_show(out, request, 120, 60), 0);
    (void)fclose(out);
    ck_assert_str_eq(text, "  network       | false\n"
                           "  endpoint      | \"name\": \"github\", \"base_url\": "
                           "\"https://api.github.com\", \"secret\": null\n"
                           "  endpoint      | \"name\": \"b\\nnetwork\", \"tunnel\": true\n"
                           "  endpoints     | [\"github\",\"b\"]\n");
}
END_TEST

static void expect_history(const char *history, const char *shown)
{
    json_auto_t *request = json_pack("{s:s, s:o}", "session", "talk", "session_history",
                                     json_loads(history, JSON_DECODE_ANY, NULL));
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_uint_eq(approval_show(out, request, 80, 60), 0);
    (void)fclose(out);
    ck_assert_str_eq(text, shown);
}

/* The conversation is the gateway's; the session is what the code would run in. Neither a line of
 * code nor a name can draw another part of its row. */
START_TEST(request_shows_what_ran_in_its_session)
{
    expect_history("{\"cells\":[],\"history_sha256\":null,\"id\":\"new\"}",
                   "  conversation  | talk\n"
                   "  session       | new\n");
    expect_history(
        "{\"id\":\"s_1\",\"count\":3,\"cells\":["
        "{\"first_line\":\"a\\\", 1 name\\u001B\",\"exit_code\":0,\"defined\":[\"x\"]},"
        "{\"language\":\"ba\\u001bsh\",\"first_line\":\"b\",\"exit_code\":-1,\"defined\":null,"
        "\"undone\":true},"
        "{\"first_line\":\"c\",\"exit_code\":1,\"defined\":[\"1\",\"2\",\"3\",\"4\",\"5\","
        "\"6\",\"7\",\"8\",\"long-------------------\\u00e9\"]}]}",
        "  conversation  | talk\n"
        "  session       | s_1, cell 4\n"
        "  cell 1        | exit 0: \"a\\\", 1 name\\u001B\", 1 name: [\"x\"]\n"
        "  cell 2        | undone, ba<U+001B>sh, no exit code: \"b\"\n"
        "  cell 3        | exit 1: \"c\", 9 names, the last: "
        "[\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"\n"
        "                | long-------------------\"]\n");
    expect_history(
        "{\"cells\":[],\"id\":\"new\",\"secrets\":{\"KEY\":\"my-key\"}}",
        "  conversation  | talk\n"
        "  session       | new\n"
        "  its secrets   | {\"KEY\":\"my-key\"}\n"
        "                | they stay until the session ends: later cells can read them\n");
    expect_history("{\"cells\":[{\"first_line\":\"a\",\"exit_code\":0}],\"id\":\"s_1\","
                   "\"secrets\":{\"KEY\":\"my\\u001bkey\"}}",
                   "  conversation  | talk\n"
                   "  session       | s_1, cell 2\n"
                   "  its secrets   | {\"KEY\":\"my\\u001Bkey\"}\n"
                   "                | this cell can read them: its session was begun with them\n"
                   "  cell 1        | exit 0: \"a\"\n");
    static const char shared[] =
        "{\"cells\":[{\"first_line\":\"a\",\"exit_code\":0}],\"id\":\"s_1\","
        "\"shares_sandbox_with\":%d}";
    static const char told[] = "  conversation  | talk\n"
                               "  session       | s_1, cell 2\n"
                               "%s"
                               "  cell 1        | exit 0: \"a\"\n";
    static const char *const words[] = {
        "", "                | shares its sandbox, by fork, with 1 other: not shown here\n",
        "                | shares its sandbox, by fork, with 2 others: not shown here\n"};
    for (int i = 0; i < 3; i++) {
        char history[160];
        char shown[400];
        (void)snprintf(history, sizeof(history), shared, i);
        (void)snprintf(shown, sizeof(shown), told, words[i]);
        expect_history(history, shown);
    }
    expect_history("[1]", "  conversation  | talk\n"
                          "  session       | [1]\n");
}
END_TEST

START_TEST(request_shows_the_last_cells_of_a_long_history)
{
    json_auto_t *cells = json_array();
    for (int i = 1; i <= 22; i++)
        json_array_append_new(cells, json_pack("{s:s, s:i}", "first_line", "f()", "exit_code", i));
    json_auto_t *request = json_pack("{s:{s:s, s:i, s:O}}", "session_history", "id", "s", "count",
                                     122, "cells", cells);
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    (void)approval_show(out, request, 80, APPROVAL_SHOW_ALL);
    (void)fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "  session       | s, cell 123\n"
                                       "                | ... 102 earlier cells not shown\n"
                                       "  cell 103      | exit 3: \"f()\"\n"));
    ck_assert_ptr_nonnull(strstr(text, "  cell 122      | exit 22: \"f()\"\n"));
}
END_TEST

/* A member that this toolhost does not know is shown all the same. */
START_TEST(request_hides_nothing)
{
    json_auto_t *request =
        json_loads("{\"tool\":\"t\",\"code\":\"x\",\"image\":\"big\",\"files\":[{\"path\":\"p\","
                   "\"content\":\"one\\ntwo\"}],\"odd\\u001bname\":[1]}",
                   0, NULL);
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_uint_eq(approval_show(out, request, 80, 60), 0);
    (void)fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "image"));
    ck_assert_ptr_nonnull(strstr(text, "{\"path\":\"p\"}"));
    ck_assert_ptr_nonnull(strstr(text, "2 | two"));
    ck_assert_ptr_nonnull(strstr(text, "odd<U+001B>name"));
}
END_TEST

int main(void)
{
    TCase *requests = tcase_create("shown requests");
    tcase_add_test(requests, decision_is_exactly_one_word);
    tcase_add_test(requests, a_decision_is_told_whole_or_not_at_all);
    tcase_add_test(requests, request_says_what_it_takes);
    tcase_add_test(requests, request_hides_nothing);
    tcase_add_test(requests, request_shows_its_endpoints);
    tcase_add_test(requests, request_shows_what_ran_in_its_session);
    tcase_add_test(requests, request_shows_the_last_cells_of_a_long_history);
    tcase_add_test(requests, request_is_laid_out_for_reading);
    return run_suite("host", &requests, 1);
}
