/* SPDX-License-Identifier: Apache-2.0 */
/* The policy's "content_checks": what is refused and where, and that absent, empty and full lists
 * are three things. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy.h"
#include "tap_suite.h"

#define PYTHON(members) \
    "{\"content_checks\":{\"languages\":{\"python\":{\"action\":\"warn\"" members "}}}}"

#define COMMAND(members) "{\"content_checks\":{\"command\":{\"action\":\"warn\"" members "}}}"

static const struct {
    const char *patch;
    const char *message; /* its beginning, behind "policy test: /content_checks" */
} refused[] = {
    {"{\"content_checks\":null}", ": missing"},
    {"{\"content_checks\":{\"x\":1}}", "/x: unknown member"},
    {"{\"content_checks\":{\"timeout_ms\":0}}", "/timeout_ms: must be an integer between 1"},
    {"{\"content_checks\":{\"host\":1}}", "/host: must be an object"},
    {"{\"content_checks\":{\"host\":{}}}", "/host/action: missing"},
    {"{\"content_checks\":{\"host\":{\"action\":\"warn\",\"required\":1}}}",
     "/host/required: must be true or false"},
    {"{\"content_checks\":{\"host\":{\"action\":\"warn\",\"argv\":[]}}}",
     "/host/argv: unknown member"},
    {"{\"content_checks\":{\"command\":1}}", "/command: must be an object"},
    {"{\"content_checks\":{\"command\":{}}}", "/command/action: missing"},
    {COMMAND(",\"x\":1"), "/command/x: unknown member"},
    {COMMAND(",\"required\":1"), "/command/required: must be true or false"},
    {COMMAND(""), "/command/argv: missing"},
    {COMMAND(",\"argv\":[]"), "/command/argv: must have at least 1"},
    {COMMAND(",\"argv\":[\"/a\"]"), "/command/timeout_ms: missing"},
    {COMMAND(",\"argv\":[\"/a\"],\"timeout_ms\":60001"), "/command/timeout_ms: must be"},
    {COMMAND(",\"argv\":[\"a\"],\"timeout_ms\":1"), "/command/argv/0: must be an absolute path"},
    {"{\"content_checks\":{\"languages\":null}}", "/languages: missing"},
    {"{\"content_checks\":{\"languages\":{\"cobol\":{}}}}", "/languages/cobol: unknown language"},
    {"{\"content_checks\":{\"languages\":{\"python\":1}}}", "/languages/python: must be an object"},
    {"{\"content_checks\":{\"languages\":{\"python\":{}}}}", "/languages/python/action: missing"},
    {"{\"content_checks\":{\"languages\":{\"python\":{\"action\":\"deny\"}}}}",
     "/languages/python/action: must be warn or refuse"},
    {PYTHON(",\"tokens\":[]"), "/languages/python/tokens: unknown member"},
    {PYTHON(",\"required\":1"), "/languages/python/required: must be true or false"},
    {PYTHON(",\"allowed_modules\":{}"), "/languages/python/allowed_modules: must be an array"},
    {PYTHON(",\"forbidden_modules\":[\"a b\"]"),
     "/languages/python/forbidden_modules/0: must be a name"},
    {PYTHON(",\"forbidden_modules\":[\"os\",\"a..b\"]"),
     "/languages/python/forbidden_modules/1: must be a name"},
    {PYTHON(",\"forbidden_modules\":[\"a.\"]"),
     "/languages/python/forbidden_modules/0: must be a name"},
    {PYTHON(",\"forbidden_modules\":[\".a\"]"),
     "/languages/python/forbidden_modules/0: must be a name"},
    {PYTHON(",\"forbidden_names\":[\"\"]"),
     "/languages/python/forbidden_names/0: must not be empty"},
    {PYTHON(",\"forbidden_names\":[1]"), "/languages/python/forbidden_names/0: must be a string"},
};

/* What is gone, in each shape, and the replacement that the hint names. */
static const struct {
    const char *patch;
    const char *message;
    const char *hint; /* part of it */
} removed[] = {
#define OTHER(language, rules)                                               \
    {                                                                        \
        "{\"content_checks\":{\"languages\":{\"" language "\":" rules "}}}", \
            "policy test: /content_checks/languages/" language               \
            ": rules for this language were removed; only python has rules", \
            "\"content_checks.command\", for example with semgrep"           \
    }
    OTHER("ruby", "{\"action\":\"refuse\",\"tokens\":[{\"name\":\"a\",\"message\":\"b\","
                  "\"sequence\":[\"system\"]}]}"),
    OTHER("javascript", "{\"action\":\"warn\",\"tokens\":[]}"),
    OTHER("sh", "{}"),
    OTHER("bash", "1"),
#define ENFORCED(value)                                                                    \
    {                                                                                      \
        PYTHON(",\"allowed_modules\":[],\"enforce_imports\":" value),                      \
            "policy test: /content_checks/languages/python/enforce_imports: was removed: " \
            "a program could undo the hook",                                               \
            "\"allowed_modules\" is checked before the program runs"                       \
    }
    ENFORCED("true"),
    ENFORCED("false"),
    ENFORCED("1"),
};

static struct policy *load(const char *patch, struct error *error)
{
    return policy_load_text("test", patch, strlen(patch), error);
}

START_TEST(refuses_with_the_place)
{
    char wanted[256];
    struct error error;
    ck_assert_ptr_null(load(refused[_i].patch, &error));
    (void)snprintf(wanted, sizeof(wanted), "policy test: /content_checks%s", refused[_i].message);
    ck_assert_msg(strncmp(error.message, wanted, strlen(wanted)) == 0, "%s", error.message);
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
}
END_TEST

START_TEST(refuses_removed_checks_with_their_replacement)
{
    struct error error;
    ck_assert_ptr_null(load(removed[_i].patch, &error));
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);
    ck_assert_str_eq(error.message, removed[_i].message);
    ck_assert_msg(strstr(error.hint, removed[_i].hint) != NULL, "%s", error.hint);
}
END_TEST

START_TEST(an_empty_list_is_a_list)
{
    struct error error;
    struct policy *policy = load(PYTHON(",\"allowed_modules\":[]"), &error);
    const struct content_rules *rules = policy_content_find(&policy->content, "python");
    ck_assert_ptr_nonnull(rules->allowed_modules);
    ck_assert_uint_eq(string_list_count(rules->allowed_modules), 0);
    ck_assert_ptr_null(rules->forbidden_modules);
    ck_assert_ptr_null(policy_content_find(&policy->content, "ruby"));
    policy_unref(policy);
}
END_TEST

START_TEST(null_takes_a_list_away)
{
    struct error error;
    struct policy *policy = load(PYTHON(",\"allowed_modules\":null,\"required\":true"), &error);
    const struct content_rules *rules = policy_content_find(&policy->content, "python");
    ck_assert_ptr_null(rules->allowed_modules);
    ck_assert(rules->required);
    ck_assert_int_eq(rules->action, CONTENT_WARN);
    policy_unref(policy);
}
END_TEST

START_TEST(reads_what_is_said)
{
    struct error error;
    struct policy *policy =
        load("{\"content_checks\":{\"timeout_ms\":7,\"languages\":{\"python\":{\"action\":"
             "\"refuse\",\"forbidden_modules\":[\"os\",\"xml.sax\"],\"forbidden_names\":[\"eval\"]}"
             "}}}",
             &error);
    ck_assert_uint_eq(policy->content.timeout_ms, 7);
    const struct content_rules *rules = policy_content_find(&policy->content, "python");
    ck_assert_int_eq(rules->action, CONTENT_REFUSE);
    ck_assert(!rules->required);
    ck_assert(string_list_contains(rules->forbidden_modules, "xml.sax"));
    ck_assert(string_list_contains(rules->forbidden_names, "eval"));
    policy_unref(policy);
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("content_checks")};
    tcase_add_loop_test(cases[0], refuses_with_the_place, 0, COUNT_OF(refused));
    tcase_add_loop_test(cases[0], refuses_removed_checks_with_their_replacement, 0,
                        COUNT_OF(removed));
    tcase_add_test(cases[0], an_empty_list_is_a_list);
    tcase_add_test(cases[0], null_takes_a_list_away);
    tcase_add_test(cases[0], reads_what_is_said);
    return run_suite("policy content", cases, COUNT_OF(cases));
}
