/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_rules: what each condition looks at, what a rule's examples refuse, and the order of deny,
 * ask and allow over rules made at random.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/random.h"
#include "base/cleanup.h"
#include "policy/policy.h"
#include "tap_suite.h"

#define HASH_OF_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HASH_OF_ONE   "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" /* 1 */

static void cleanup_policy(struct policy **policy)
{
    policy_unref(*policy);
}

/* A policy of that one rule. */
static struct policy *load_rule(const char *rule, struct error *error)
{
    char text[2048];
    int length =
        snprintf(text, sizeof(text), "{\"approval\":{\"default\":\"ask\",\"rules\":[%s]}}", rule);
    ck_assert_int_lt(length, (int)sizeof(text));
    return policy_load_text("test", text, (size_t)length, error);
}

#define RULE(decision, members) "{\"decision\":\"" decision "\"," members "}"
#define MATCH(members)          RULE("allow", "\"match\":[{\"language\":\"sh\"" members "}]")
#define WITH(members)           RULE("allow", "\"code_sha256\":[\"" HASH_OF_ONE "\"],\"with\":{" members "}")
#define LOOKS(condition, example) \
    RULE("allow", condition ",\"match\":[{\"language\":\"sh\"," example "}]")

static const struct {
    const char *rule, *message;
} refused[] = {
    {RULE("allow", "\"id\":\"\""), "/id: must not be empty"},
    {RULE("allow", "\"id\":\"a b\""), "/id: must be a letter, then"},
    {RULE("allow", "\"id\":\"1a\""), "/id: must be a letter, then"},
    {RULE("allow", "\"id\":\"_a\""), "/id: must be a letter, then"},
    {RULE("allow", "\"id\":7"), "/id: must be a string"},
    {RULE("allow", "\"secrets\":[]"), "/secrets: must have at least 1 member"},
    {RULE("allow", "\"secrets\":[\"*\"]"), "/secrets/0: must be a secret's name"},
    {RULE("allow", "\"secrets\":{}"), "/secrets: must be true or false, or a list"},
    {RULE("allow", "\"endpoints\":[]"), "/endpoints: must have at least 1 member"},
    {RULE("allow", "\"endpoints\":[\"A\"]"), "/endpoints/0: must be an endpoint"},
    {RULE("allow", "\"endpoints\":\"a\""), "/endpoints: must be true or false, or a list"},
    {RULE("allow", "\"code_sha256\":\"" HASH_OF_ONE "\""), "/code_sha256: must be an array"},
    {RULE("allow", "\"code_sha256\":[\"" HASH_OF_ONE "0\"]"), "/code_sha256/0: must be a SHA-256"},
    {RULE("allow", "\"code_sha256\":[\"" HASH_OF_ONE " \"]"), "/code_sha256/0: must be a SHA-256"},
    {RULE("allow",
          "\"code_sha256\":[\"E3B0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"]"),
     "/code_sha256/0: must be a SHA-256"},
    {RULE("allow", "\"code_bytes\":5"), "/code_bytes: must be an object"},
    {RULE("allow", "\"code_bytes\":{\"least\":5}"), "/code_bytes/least: unknown member"},
    {RULE("allow", "\"code_bytes\":{\"min\":-1}"), "/code_bytes/min: must be an integer between 0"},
    {RULE("allow", "\"code_bytes\":{\"max\":1048577}"),
     "/code_bytes/max: must be an integer between 0"},
    {RULE("allow", "\"code_bytes\":{\"min\":5,\"max\":4}"),
     "/code_bytes/min: is more than \"max\""},
    {RULE("allow", "\"with\":{}"),
     "/with: is allowed only in a rule that allows by \"code_sha256\""},
    {RULE("deny", "\"code_sha256\":[\"" HASH_OF_ONE "\"],\"with\":{}"),
     "/with: is allowed only in a rule"},
    {RULE("allow", "\"code_sha256\":[\"" HASH_OF_ONE "\"],\"request_sha256\":[\"" HASH_OF_ONE
                   "\"],\"with\":{}"),
     "/with: is allowed only in a rule"},
    {WITH("\"arg\":1"), "/with/arg: unknown member"},
    {WITH("\"args\":[1]"), "/with/args/0: must be a string"},
    {WITH("\"env\":{\"A B\":\"\"}"), "/with/env/A B: a variable's name"},
    {WITH("\"env\":{\"A\":null}"), "/with/env/A: must be a string"},
    {WITH("\"stdin_sha256\":\"1\""), "/with/stdin_sha256: must be a SHA-256"},
    {WITH("\"files\":{\"a\":\"1\"}"), "/with/files/a: must be a SHA-256"},
    {WITH("\"files\":{\"../a\":\"" HASH_OF_ONE "\"}"), "/with/files/..~1a: must not have empty"},
    {WITH("\"files\":{\"\":\"" HASH_OF_ONE "\"}"), "/with/files/: a file's path must be of 1 to"},
    {WITH("\"image\":\"\""), "/with/image: must not be empty"},
    {WITH("\"secrets\":{\"A\":\"{{secret:a}}\"}"), "/with/secrets/A: must be a secret's name"},
    {RULE("allow", "\"request_sha256\":[]"), "/request_sha256: must have at least 1 member"},
    {MATCH(",\"workspace\":1"), "/match/0/workspace: must be true or false"},
    {MATCH(",\"request_sha256\":\"1\""), "/match/0/request_sha256: must be a SHA-256"},
    {MATCH(",\"with\":{\"env\":1}"), "/match/0/with/env: must be an object"},
    {MATCH(",\"secrets\":[\"a\"],\"with\":{\"secrets\":{\"A\":\"a\"}}"),
     "/match/0/with: has secrets, and so does \"secrets\": only one of them may"},
    {RULE("allow", "\"principals\":[]"), "/principals: must have at least 1 member"},
    {RULE("allow", "\"principals\":[\"\"]"), "/principals/0: must not be empty"},
    {RULE("allow", "\"match\":{}"), "/match: must be an array"},
    {RULE("allow", "\"match\":[]"), "/match: must have at least 1 member"},
    {RULE("allow", "\"match\":[1]"), "/match/0: must be an object"},
    {RULE("allow", "\"match\":[{}]"), "/match/0/language: missing"},
    {RULE("allow", "\"match\":[{\"language\":\"py\"}]"), "/match/0/language: unknown language"},
    {MATCH(",\"lang\":1"), "/match/0/lang: unknown member"},
    {MATCH(",\"mode\":1"), "/match/0/mode: must be a string"},
    {MATCH(",\"mode\":\"vm\""), "/match/0/mode: must be docker, "},
    {MATCH(",\"network\":\"no\""), "/match/0/network: must be true or false"},
    {MATCH(",\"secrets\":true"), "/match/0/secrets: must be an array"},
    {MATCH(",\"secrets\":[1]"), "/match/0/secrets/0: must be a string"},
    {MATCH(",\"secrets\":[\"a\",\"a b\"]"), "/match/0/secrets/1: must be a secret's name"},
    {MATCH(",\"endpoints\":true"), "/match/0/endpoints: must be an array"},
    {MATCH(",\"endpoints\":[\"a\",\"a b\"]"), "/match/0/endpoints/1: must be an endpoint"},
    {MATCH(",\"principal\":null"), "/match/0/principal: must be a string"},
    {MATCH(",\"code\":1"), "/match/0/code: must be a string"},
    {MATCH(",\"code\":\"1\",\"code_bytes\":1"),
     "/match/0/code: cannot be given together with its hash or size"},
    {MATCH(",\"code\":\"1\",\"code_sha256\":\"" HASH_OF_ONE "\""),
     "/match/0/code: cannot be given together with its hash or size"},
    {MATCH(",\"code_bytes\":-1"), "/match/0/code_bytes: must be an integer"},
    {MATCH(",\"code_sha256\":1"), "/match/0/code_sha256: must be a string"},
    {MATCH(",\"code_sha256\":\"1\""), "/match/0/code_sha256: must be a SHA-256"},
    {RULE("deny",
          "\"languages\":[\"lua\"],\"match\":[{\"language\":\"lua\"},{\"language\":\"sh\"}]"),
     "/match/1: the rule (without an id) does not apply to this example"},
    {RULE("deny",
          "\"id\":\"no-lua\",\"languages\":[\"lua\"],\"not_match\":[{\"language\":\"lua\"}]"),
     "/not_match/0: the rule (no-lua) applies to this example"},
    {RULE("deny", "\"not_match\":[{\"language\":\"lua\"}]"),
     "/not_match/0: the rule (without an id) applies to this example"},
    {RULE("deny", "\"not_match\":[]"), "/not_match: must have at least 1 member"},
};

START_TEST(refuses_and_names_rule_and_place)
{
    struct error error;
    static const char place[] = "policy test: /approval/rules/0";
    ck_assert_ptr_null(load_rule(refused[_i].rule, &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
    ck_assert_msg(strncmp(error.message, place, strlen(place)) == 0 &&
                      strncmp(error.message + strlen(place), refused[_i].message,
                              strlen(refused[_i].message)) == 0,
                  "\"%s\" instead of \"%s\"", error.message, refused[_i].message);
}
END_TEST

START_TEST(an_id_is_given_once)
{
    struct error error;
    ck_assert_ptr_null(
        load_rule("{\"decision\":\"ask\"},{\"decision\":\"ask\",\"id\":\"b\"},"
                  "{\"decision\":\"ask\",\"id\":\"a\"},{\"decision\":\"deny\",\"id\":\"a\"}",
                  &error));
    ck_assert_str_eq(error.message,
                     "policy test: /approval/rules/3/id: is already the id of rule 2");
}
END_TEST

#define BY_CODE "\"languages\":[\"sh\"],\"code_sha256\":[\"" HASH_OF_ONE "\"]"

/* The examples are the test: each rule applies to the first and not to the second. */
static const struct {
    const char *decision, *condition, *match, *not_match;
} conditions[] = {
    {"ask", "\"languages\":[\"sh\",\"lua\"]", "", NULL},
    {"ask", "\"modes\":[\"docker\"]", "\"mode\":\"docker\"", "\"mode\":\"process\""},
    {"ask", "\"modes\":[\"process\"]", "\"network\":false", "\"mode\":\"none\""},
    {"ask", "\"network\":true", "\"network\":true", "\"network\":false"},
    {"ask", "\"network\":false", "\"secrets\":[]", "\"network\":true"},
    {"ask", "\"secrets\":true", "\"secrets\":[\"a\"]", "\"secrets\":[]"},
    {"ask", "\"secrets\":false", "\"secrets\":[]", "\"secrets\":[\"a\"]"},
    /* One of the names is enough to ask or deny; to allow it takes all of them. */
    {"ask", "\"secrets\":[\"a\",\"b\"]", "\"secrets\":[\"c\",\"b\"]", "\"secrets\":[\"c\"]"},
    {"deny", "\"secrets\":[\"a\"]", "\"secrets\":[\"a\",\"c\"]", "\"secrets\":[]"},
    {"allow", "\"secrets\":[\"a\",\"b\"]", "\"secrets\":[\"b\",\"a\"]",
     "\"secrets\":[\"a\",\"c\"]"},
    {"allow", "\"secrets\":[\"a\"]", "\"secrets\":[\"a\"]", "\"secrets\":[]"},
    {"ask", "\"endpoints\":true", "\"endpoints\":[\"a\"]", "\"endpoints\":[]"},
    {"ask", "\"endpoints\":false", "\"secrets\":[\"a\"]", "\"endpoints\":[\"a\"]"},
    {"ask", "\"endpoints\":[\"a\",\"b\"]", "\"endpoints\":[\"c\",\"b\"]", "\"endpoints\":[\"c\"]"},
    {"deny", "\"endpoints\":[\"a\"]", "\"endpoints\":[\"a\",\"c\"]", "\"secrets\":[\"a\"]"},
    {"allow", "\"endpoints\":[\"a\",\"b\"]", "\"endpoints\":[\"b\",\"a\"]",
     "\"endpoints\":[\"a\",\"c\"]"},
    {"allow", "\"endpoints\":[\"a\"]", "\"endpoints\":[\"a\"]", "\"endpoints\":[]"},
    {"ask", "\"code_bytes\":{\"min\":2}", "\"code\":\"ab\"", "\"code\":\"a\""},
    {"ask", "\"code_bytes\":{\"max\":2}", "\"code_bytes\":2", "\"code_bytes\":3"},
    {"ask", "\"code_bytes\":{\"min\":1,\"max\":1}", "\"code\":\"1\"", "\"mode\":\"process\""},
    {"ask", "\"code_sha256\":[\"" HASH_OF_EMPTY "\",\"" HASH_OF_ONE "\"]", "\"code\":\"1\"",
     "\"code\":\"2\""},
    {"ask", "\"code_sha256\":[\"" HASH_OF_ONE "\"]", "\"code_sha256\":\"" HASH_OF_ONE "\"",
     "\"code_sha256\":\"" HASH_OF_EMPTY "\""},
    {"ask", "\"code_sha256\":[\"" HASH_OF_ONE "\"]", "\"code\":\"1\"", "\"code_bytes\":1"},
    {"allow", BY_CODE "", "\"code\":\"1\"", "\"code\":\"1\",\"with\":{\"args\":[\"a\"]}"},
    {"allow", BY_CODE "", "\"code\":\"1\",\"with\":{}",
     "\"code\":\"1\",\"with\":{\"env\":{\"BASH_ENV\":\"x\"}}"},
    {"allow", BY_CODE "", "\"code\":\"1\",\"mode\":\"docker\"",
     "\"code\":\"1\",\"with\":{\"image\":\"a\"}"},
    {"allow", BY_CODE "", "\"code\":\"1\",\"principal\":\"a\"",
     "\"code\":\"1\",\"workspace\":true"},
    {"allow", BY_CODE "", "\"code\":\"1\",\"network\":false", "\"code\":\"1\",\"network\":true"},
    {"allow", BY_CODE "", "\"code\":\"1\",\"secrets\":[]", "\"code\":\"1\",\"secrets\":[\"a\"]"},
    {"allow", BY_CODE "", "\"code\":\"1\",\"endpoints\":[]",
     "\"code\":\"1\",\"endpoints\":[\"a\"]"},
    {"allow", BY_CODE ",\"endpoints\":[\"a\"]", "\"code\":\"1\",\"endpoints\":[\"a\"]",
     "\"code\":\"1\",\"endpoints\":[\"a\",\"b\"]"},
    {"deny", BY_CODE "", "\"code\":\"1\",\"endpoints\":[\"a\"]", "\"code\":\"2\""},
    {"allow", BY_CODE ",\"network\":true", "\"code\":\"1\",\"network\":true", "\"code\":\"1\""},
    {"allow", BY_CODE ",\"with\":{\"args\":[\"a\"]}", "\"code\":\"1\",\"with\":{\"args\":[\"a\"]}",
     "\"code\":\"1\""},
    {"allow", BY_CODE ",\"with\":{\"env\":{\"A\":\"b\"}}",
     "\"code\":\"1\",\"with\":{\"env\":{\"A\":\"b\"}}",
     "\"code\":\"1\",\"with\":{\"env\":{\"A\":\"c\"}}"},
    {"allow", BY_CODE ",\"with\":{\"secrets\":{\"K\":\"a\"}}",
     "\"code\":\"1\",\"with\":{\"secrets\":{\"K\":\"a\"}}",
     "\"code\":\"1\",\"with\":{\"secrets\":{\"J\":\"a\"}}"},
    {"allow", BY_CODE ",\"with\":{\"secrets\":{\"K\":\"a\"}}",
     "\"code\":\"1\",\"with\":{\"secrets\":{\"K\":\"a\"}}", "\"code\":\"1\",\"secrets\":[\"a\"]"},
    {"allow", BY_CODE ",\"with\":{\"files\":{\"f\":\"" HASH_OF_ONE "\"}}",
     "\"code\":\"1\",\"with\":{\"files\":{\"f\":\"" HASH_OF_ONE "\"}}",
     "\"code\":\"1\",\"with\":{\"files\":{\"g\":\"" HASH_OF_ONE "\"}}"},
    {"allow", BY_CODE ",\"with\":{\"stdin_sha256\":\"" HASH_OF_ONE "\"}",
     "\"code\":\"1\",\"with\":{\"stdin_sha256\":\"" HASH_OF_ONE "\"}",
     "\"code\":\"1\",\"with\":{\"stdin_sha256\":\"" HASH_OF_EMPTY "\"}"},
    {"allow", "\"request_sha256\":[\"" HASH_OF_ONE "\"]",
     "\"request_sha256\":\"" HASH_OF_ONE "\",\"with\":{\"args\":[\"a\"]}",
     "\"request_sha256\":\"" HASH_OF_EMPTY "\""},
    {"allow", "\"request_sha256\":[\"" HASH_OF_ONE "\"]", "\"request_sha256\":\"" HASH_OF_ONE "\"",
     "\"request_sha256\":\"" HASH_OF_ONE "\",\"workspace\":true"},
    {"deny", "\"request_sha256\":[\"" HASH_OF_ONE "\"]",
     "\"request_sha256\":\"" HASH_OF_ONE "\",\"workspace\":true", "\"code\":\"1\""},
    /* What asks or denies is not narrowed by what is beside the code. */
    {"deny", BY_CODE, "\"code\":\"1\",\"workspace\":true,\"with\":{\"args\":[\"a\"]}",
     "\"code\":\"2\""},
    {"ask", "\"principals\":[\"alice\"]", "\"principal\":\"alice\"", "\"principal\":\"Alice\""},
    {"ask", "\"principals\":[\"alice\"]", "\"principal\":\"alice\"", "\"network\":false"},
    {"ask", "\"languages\":[\"sh\"],\"network\":true,\"principals\":[\"a\"]",
     "\"network\":true,\"principal\":\"a\"", "\"network\":false,\"principal\":\"a\""},
};

static struct policy *load_condition(size_t i, const char *match, const char *not_match,
                                     struct error *error)
{
    char rule[1024];
    (void)snprintf(rule, sizeof(rule),
                   "{\"decision\":\"%s\",%s,\"match\":[{\"language\":\"sh\"%s%s}],\"not_match\":"
                   "[{\"language\":\"%s\"%s%s}]}",
                   conditions[i].decision, conditions[i].condition, match[0] != '\0' ? "," : "",
                   match, not_match == NULL ? "perl" : "sh", not_match == NULL ? "" : ",",
                   not_match == NULL ? "" : not_match);
    return load_rule(rule, error);
}

START_TEST(a_condition_holds_what_it_says)
{
    struct error error;
    size_t i = (size_t)_i;
    CLEANUP(cleanup_policy)
    struct policy *policy = load_condition(i, conditions[i].match, conditions[i].not_match, &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    /* The other way round both are wrong, and the first is told. */
    if (conditions[i].not_match == NULL)
        return;
    ck_assert_ptr_null(load_condition(i, conditions[i].not_match, conditions[i].match, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "/match/0: the rule (without an id) does not"));
}
END_TEST

START_TEST(a_secret_may_want_to_be_asked_for)
{
    static const char text[] =
        "{\"approval\":{\"rules\":[{\"decision\":\"allow\"}]},\"secrets\":{\"allowed\":[\"*\"],"
        "\"rules\":{\"dear\":{\"approval\":\"ask\"},\"cheap\":{}}}}";
    static const char *const secrets[] = {"cheap", "other", "dear"};
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *policy = policy_load_text("test", text, strlen(text), &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    struct rule_facts facts = {.language = "sh", .secrets = secrets, .secret_count = 2, .code = ""};
    struct policy_verdict verdict = policy_decide(policy, &facts);
    ck_assert_int_eq(verdict.decision, APPROVAL_ALLOW);
    ck_assert_ptr_null(verdict.secret);
    facts.secret_count = 3;
    verdict = policy_decide(policy, &facts);
    ck_assert_int_eq(verdict.decision, APPROVAL_ASK);
    ck_assert_int_eq(verdict.rule, 0);
    ck_assert_str_eq(verdict.secret, "dear");
}
END_TEST

#define ENDPOINT(name, more) "\"" name "\":{\"base_url\":\"https://a.b\",\"allow\":[]" more "}"

/* Where the rules allow the run, and also where one of them names the endpoint. */
START_TEST(an_endpoint_wants_to_be_asked_for_unless_it_says_otherwise)
{
    static const char text[] =
        "{\"approval\":{\"rules\":[{\"decision\":\"allow\",\"endpoints\":[\"dear\",\"cheap\"]}]},"
        "\"endpoints\":{" ENDPOINT("dear", "") "," ENDPOINT("cheap",
                                                            ",\"approval\":\"never\"") "}}";
    static const char *const endpoints[] = {"cheap", "dear"};
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *policy = policy_load_text("test", text, strlen(text), &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    struct rule_facts facts = {
        .language = "sh", .endpoints = endpoints, .endpoint_count = 1, .code = ""};
    struct policy_verdict verdict = policy_decide(policy, &facts);
    ck_assert_int_eq(verdict.decision, APPROVAL_ALLOW);
    ck_assert_ptr_null(verdict.endpoint);
    facts.endpoint_count = 2;
    verdict = policy_decide(policy, &facts);
    ck_assert_int_eq(verdict.decision, APPROVAL_ASK);
    ck_assert_str_eq(verdict.endpoint, "dear");
}
END_TEST

static const char *pick_decision(uint64_t *random)
{
    static const char *const names[] = {"allow", "ask", "deny"};
    return names[random_below(random, 3)];
}

/* Whatever the rules: with one more that denies the answer is never weaker, their order does not
 * matter, and the answer is the strictest of those that apply. */
START_TEST(more_rules_never_weaken_a_denial)
{
    uint64_t random = UINT64_C(0x9E3779B97F4A7C15);
    for (int round = 0; round < 300; round++) {
        char forward[1024] = "";
        char backward[1024] = "";
        enum approval_decision strictest = APPROVAL_ALLOW;
        bool any = false;
        size_t count = 1 + random_below(&random, 5);
        for (size_t i = 0; i < count; i++) {
            const char *decision = pick_decision(&random);
            bool applies = random_below(&random, 2) == 0;
            char rule[128];
            char before[1024];
            (void)snprintf(rule, sizeof(rule), "{\"decision\":\"%s\",\"network\":%s}", decision,
                           applies ? "true" : "false");
            memcpy(before, backward, sizeof(before));
            (void)snprintf(forward + strlen(forward), sizeof(forward) - strlen(forward), "%s%s",
                           i > 0 ? "," : "", rule);
            (void)snprintf(backward, sizeof(backward), "%s%s%.800s", rule, i > 0 ? "," : "",
                           before);
            enum approval_decision said = decision[0] == 'd'   ? APPROVAL_DENY
                                          : decision[1] == 's' ? APPROVAL_ASK
                                                               : APPROVAL_ALLOW;
            any = any || applies;
            if (applies && said > strictest)
                strictest = said;
        }
        struct error error;
        struct rule_facts facts = {.language = "sh", .network = true, .code = ""};
        CLEANUP(cleanup_policy) struct policy *policy = load_rule(forward, &error);
        CLEANUP(cleanup_policy) struct policy *other = load_rule(backward, &error);
        ck_assert_ptr_nonnull(policy);
        ck_assert_ptr_nonnull(other);
        enum approval_decision expected = any ? strictest : APPROVAL_ASK;
        ck_assert_msg(policy_decide(policy, &facts).decision == expected, "%s", forward);
        ck_assert_msg(policy_decide(other, &facts).decision == expected, "%s", backward);
    }
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("rules")};
    tcase_add_loop_test(cases[0], refuses_and_names_rule_and_place, 0, COUNT_OF(refused));
    tcase_add_test(cases[0], an_id_is_given_once);
    tcase_add_loop_test(cases[0], a_condition_holds_what_it_says, 0, COUNT_OF(conditions));
    tcase_add_test(cases[0], a_secret_may_want_to_be_asked_for);
    tcase_add_test(cases[0], an_endpoint_wants_to_be_asked_for_unless_it_says_otherwise);
    tcase_add_test(cases[0], more_rules_never_weaken_a_denial);
    return run_suite("policy_rules", cases, COUNT_OF(cases));
}
