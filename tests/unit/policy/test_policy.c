/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy: what its members mean, what the shipped one says, the rules' decisions, the file.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/docker/messages/docker_messages.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy.h"
#include "policy/policy_parse.h"
#include "protocol/layers.h"
#include "tap_suite.h"
#include "vocabulary/capability.h"
#include "vocabulary/language.h"

static struct policy *load(const char *patch, struct error *error)
{
    return policy_load_text("test", patch, strlen(patch), error);
}

static void cleanup_policy(struct policy **policy)
{
    policy_unref(*policy);
}

static struct docker_options options_of(const struct policy *policy)
{
    struct docker_options options;
    ck_assert(docker_options_read(&policy->options[SANDBOX_MODE_DOCKER], &options));
    return options;
}

START_TEST(members_that_a_language_leaves_out_are_empty)
{
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *policy = load(
        "{\"languages\":{\"python\":{\"environment\":null,\"read_only\":null,\"modules\":null}},"
        "\"docker\":{\"images\":{\"ruby\":null,\"lua\":{\"image\":\"l\"}},\"offered\":null}}",
        &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    const struct policy_language *python = policy_find_language(policy, "python");
    ck_assert_uint_eq(string_list_count(python->environment), 0);
    ck_assert_uint_eq(string_list_count(python->read_only), 0);
    ck_assert_uint_eq(string_list_count(python->modules), 0);
    ck_assert_uint_eq(string_list_count(policy->images[SANDBOX_MODE_DOCKER].offered), 0);
    ck_assert_ptr_null(policy_find_image(policy, SANDBOX_MODE_DOCKER, "ruby"));
    ck_assert_str_eq(policy_find_image(policy, SANDBOX_MODE_DOCKER, "lua")->name, "l");
    ck_assert_ptr_null(policy_find_image(policy, SANDBOX_MODE_DOCKER, "lua")->argv);
}
END_TEST

START_TEST(built_in_is_as_promised)
{
    struct error error;
    CLEANUP(cleanup_policy) struct policy *policy = policy_load_builtin(&error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    ck_assert_str_eq(policy->source, "built-in");
    ck_assert_uint_eq(strlen(policy->sha256), 64);
    ck_assert_int_eq(policy->default_mode, SANDBOX_MODE_PROCESS);
    ck_assert(policy->mode_allowed[SANDBOX_MODE_DOCKER]);
    ck_assert(!policy->mode_allowed[SANDBOX_MODE_NONE]);
    ck_assert(policy->required_layers == 0);
    ck_assert_int_eq(policy->approval_default, APPROVAL_ASK);
    ck_assert(!policy->network_allowed);
    ck_assert(!policy_allows_secret(policy, "a"));
    ck_assert_uint_eq(policy->limits.wall_ms.default_value, 10000);
    ck_assert_uint_eq(policy->limits.wall_ms.maximum, 300000);
    ck_assert_uint_eq(policy->limits.sandbox_exec_wall_ms.default_value, 5000);
    ck_assert_uint_eq(policy->limits.memory_bytes.default_value, 256u << 20);
    ck_assert_uint_eq(policy->limits.output_total_bytes.default_value, 64u << 20);
    ck_assert_uint_eq(policy->outer_uid_base, 2000000000);
    ck_assert_uint_eq(policy->outer_uid_count, 65536);
    for (int i = 0; i < CAPABILITY_COUNT; i++)
        ck_assert_int_eq(capability_list_grants(policy->capabilities, (enum capability)i, NULL),
                         i != CAPABILITY_MODE_NONE && i != CAPABILITY_MODE_UNPRIVILEGED);
}
END_TEST

/* A path of the environment may hold any bytes, and status and questions tell it. */
START_TEST(its_source_is_text)
{
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *policy = policy_load_text("/p\xFF.json", "{}", 2, &error);
    ck_assert_ptr_nonnull(policy);
    ck_assert_str_eq(policy->source, "/p\xEF\xBF\xBD.json");
}
END_TEST

START_TEST(built_in_runs_every_language)
{
    struct error error;
    size_t count;
    const struct language *languages = languages_all(&count);
    CLEANUP(cleanup_policy) struct policy *policy = policy_load_builtin(&error);
    ck_assert_uint_eq(policy->language_count, count);
    for (size_t i = 0; i < count; i++) {
        const struct policy_language *language = policy_find_language(policy, languages[i].name);
        ck_assert_msg(language != NULL, "%s", languages[i].name);
        ck_assert_str_eq(language->argv[1], "{file}");
    }
    ck_assert_ptr_null(policy_find_language(policy, "py"));
}
END_TEST

START_TEST(patches_as_rfc_7386_says)
{
    struct error error;
    CLEANUP(cleanup_policy) struct policy *builtin = policy_load_builtin(&error);
    CLEANUP(cleanup_policy) struct policy *empty = load("{}", &error);
    ck_assert_str_eq(empty->sha256, builtin->sha256);
    CLEANUP(cleanup_policy)
    struct policy *patched =
        load("{\"limits\":{\"wall_ms\":{\"default\":7}},\"languages\":{\"lua\":null},"
             "\"runtime_path\":[\"/opt/bin\"],\"secrets\":{\"allowed\":[\"*\"]},"
             "\"require\":[\"cgroup\",\"landlock\"],\"environment\":{\"B\":\"2\",\"A\":\"1\"}}",
             &error);
    ck_assert_msg(patched != NULL, "%s", error.message);
    ck_assert_str_ne(patched->sha256, builtin->sha256);
    ck_assert_uint_eq(patched->limits.wall_ms.default_value, 7);
    ck_assert_uint_eq(patched->limits.wall_ms.maximum, 300000);
    ck_assert_ptr_null(policy_find_language(patched, "lua"));
    ck_assert_ptr_nonnull(policy_find_language(patched, "perl"));
    ck_assert_str_eq(patched->runtime_path[0], "/opt/bin");
    ck_assert_ptr_null(patched->runtime_path[1]);
    ck_assert(policy_allows_secret(patched, "anything"));
    ck_assert(patched->required_layers == (LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_LANDLOCK)));
    ck_assert_str_eq(policy_find_image(patched, SANDBOX_MODE_DOCKER, "ruby")->name,
                     "ruby:3.3-alpine");
    ck_assert_ptr_null(policy_find_image(patched, SANDBOX_MODE_DOCKER, "ruby")->argv);
    ck_assert_str_eq(policy_find_image(patched, SANDBOX_MODE_DOCKER, "typescript")->argv[0],
                     "node");
    ck_assert(policy_offers_image(patched, SANDBOX_MODE_DOCKER, "node:22-slim"));
    ck_assert(!policy_offers_image(patched, SANDBOX_MODE_DOCKER, "node"));
    CLEANUP(docker_options_clear) struct docker_options options = options_of(patched);
    ck_assert_str_eq(options.host, "");
    ck_assert_str_eq(patched->environment[0], "A=1");
    ck_assert_str_eq(patched->environment[1], "B=2");
}
END_TEST

START_TEST(variables_for_want_of_a_network_may_be_absent)
{
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *policy = load("{\"environment_without_network\":{\"A\":\"b\"}}", &error);
    ck_assert_uint_eq(string_list_count(policy->environment_without_network), 3);
    CLEANUP(cleanup_policy)
    struct policy *absent = load("{\"environment_without_network\":null}", &error);
    ck_assert_uint_eq(string_list_count(absent->environment_without_network), 0);
    ck_assert_ptr_null(load("{\"environment_without_network\":{\"1\":\"\"}}", &error));
    ck_assert_ptr_nonnull(strstr(error.message, "/environment_without_network/1: "));
}
END_TEST

START_TEST(offers_only_the_languages_it_names)
{
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *all = load("{\"docker\":{\"images\":\"one:1\"}}", &error);
    CLEANUP(cleanup_policy)
    struct policy *policy =
        load("{\"languages\":{\"sh\":{\"file\":\"a.sh\"}},\"docker\":{\"images\":\"one:1\"},"
             "\"only_languages\":[\"sh\",\"python\",\"sh\"]}",
             &error);
    ck_assert_uint_eq(policy->language_count, 2);
    ck_assert_str_eq(policy_find_language(policy, "sh")->file, "a.sh");
    ck_assert_str_eq(policy_find_language(policy, "python")->file, "main.py");
    ck_assert_ptr_null(policy_find_language(policy, "lua"));
    ck_assert_uint_eq(policy->images[SANDBOX_MODE_DOCKER].count, 2);
    ck_assert_str_ne(policy->sha256, all->sha256);
    CLEANUP(cleanup_policy) struct policy *absent = load("{\"only_languages\":null}", &error);
    ck_assert_uint_eq(absent->language_count, all->language_count);
}
END_TEST

/* Of a language: what it says, and the policy's where it says nothing. */
START_TEST(a_language_has_limits_of_its_own)
{
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *policy =
        load("{\"limits\":{\"cpu_ms\":{\"default\":11}},\"languages\":{\"r\":{\"limits\":"
             "{\"wall_ms\":{\"default\":70000,\"max\":600000},\"memory_bytes\":{\"max\":"
             "2147483648}}}}}",
             &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    const struct policy_limits *of_r = &policy_find_language(policy, "r")->limits;
    ck_assert_uint_eq(of_r->wall_ms.default_value, 70000);
    ck_assert_uint_eq(of_r->wall_ms.maximum, 600000);
    ck_assert_uint_eq(of_r->memory_bytes.default_value, 256u << 20);
    ck_assert_uint_eq(of_r->memory_bytes.maximum, UINT64_C(2) << 30);
    ck_assert_uint_eq(of_r->cpu_ms.default_value, 11);
    ck_assert_mem_eq(&policy_find_language(policy, "python")->limits, &policy->limits,
                     sizeof(policy->limits));
}
END_TEST

START_TEST(a_secret_has_its_own_rule_or_that_of_all)
{
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *policy = load("{\"secrets\":{\"allowed\":[\"a\"],\"rules\":{\"a\":{},\"*\":{"
                                 "\"languages\":[\"sh\"],\"modes\":[\"docker\"],\"approval\":"
                                 "\"ask\"}}}}",
                                 &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    const struct policy_secret *own = policy_find_secret(policy, "a");
    ck_assert_str_eq(own->name, "a");
    ck_assert_ptr_null(own->languages);
    ck_assert(!own->ask);
    const struct policy_secret *other = policy_find_secret(policy, "b");
    ck_assert_str_eq(other->name, "*");
    ck_assert_str_eq(other->languages[0], "sh");
    ck_assert_str_eq(other->modes[0], "docker");
    ck_assert(other->ask);
    ck_assert(!policy_allows_secret(policy, "b"));
    CLEANUP(cleanup_policy) struct policy *builtin = policy_load_builtin(&error);
    ck_assert_ptr_null(policy_find_secret(builtin, "a"));
}
END_TEST

START_TEST(a_host_has_a_longest_name)
{
    struct error error;
    for (int length = 253; length <= 254; length++) {
        char patch[512];
        (void)snprintf(patch, sizeof(patch), "{\"capabilities\":[\"sandbox.exec.network=%0*d:1\"]}",
                       length, 1);
        CLEANUP(cleanup_policy) struct policy *policy = load(patch, &error);
        ck_assert_int_eq(policy != NULL, length == 253);
    }
}
END_TEST

static char exec_only[] = "sandbox.exec", all_secrets[] = "sandbox.exec.secrets",
            one_secret[] = "sandbox.exec.secrets=a", no_secrets[] = "!sandbox.exec.secrets",
            not_that_secret[] = "!sandbox.exec.secrets=a", unknown[] = "sandbox.exec.secret";

static const struct {
    const char *delivery;
    bool a, b;
} deliveries[] = {
    {"{}", false, false},
    {"{\"*\":\"environment\"}", false, false},
    {"{\"*\":\"file\"}", true, true},
    {"{\"a\":\"file\"}", true, false},
    {"{\"a\":\"environment\",\"*\":\"file\"}", false, true},
    {"{\"*\":\"file\",\"a\":\"file\"}", true, true},
};

START_TEST(says_how_a_secret_is_delivered)
{
    char text[200];
    (void)snprintf(text, sizeof(text), "{\"secrets\":{\"delivery\":%s}}", deliveries[_i].delivery);
    struct error error;
    CLEANUP(cleanup_policy) struct policy *policy = load(text, &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    ck_assert(policy_secret_is_file(policy, "a") == deliveries[_i].a);
    ck_assert(policy_secret_is_file(policy, "b") == deliveries[_i].b);
}
END_TEST

static const struct {
    char *list[4];
    const char *granted; /* of: all secrets, a, b */
} grants[] = {
    {{NULL}, "---"},
    {{exec_only, unknown}, "---"},
    {{exec_only, all_secrets}, "*ab"},
    {{one_secret}, "-a-"},
    {{no_secrets}, "---"},
    {{all_secrets, no_secrets}, "---"},
    {{no_secrets, all_secrets, one_secret}, "---"},
    {{not_that_secret, all_secrets}, "--b"},
    {{all_secrets, one_secret, not_that_secret}, "--b"},
    {{one_secret, not_that_secret}, "---"},
};

START_TEST(a_denial_wins_over_any_grant)
{
    const char *const wanted[] = {NULL, "a", "b"};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        ck_assert_int_eq(capability_list_grants(grants[_i].list, CAPABILITY_SECRETS, wanted[i]),
                         grants[_i].granted[i] != '-');
    ck_assert(!capability_list_grants(grants[_i].list, CAPABILITY_NETWORK, NULL));
}
END_TEST

START_TEST(so_many_secrets_have_rules_and_no_more)
{
    struct error error;
    for (int count = POLICY_LIST_LIMIT; count <= POLICY_LIST_LIMIT + 1; count++) {
        char patch[8192] = "{\"secrets\":{\"rules\":{\"s0\":{}";
        for (int i = 1; i < count; i++)
            (void)snprintf(patch + strlen(patch), sizeof(patch) - strlen(patch), ",\"s%d\":{}", i);
        (void)snprintf(patch + strlen(patch), sizeof(patch) - strlen(patch), "}}}");
        CLEANUP(cleanup_policy) struct policy *policy = load(patch, &error);
        ck_assert_int_eq(policy != NULL, count == POLICY_LIST_LIMIT);
    }
    ck_assert_ptr_nonnull(strstr(error.message, "/secrets/rules: must have at most 256 members"));
}
END_TEST

START_TEST(an_approver_can_always_deny)
{
    struct error error;
    CLEANUP(cleanup_policy) struct policy *builtin = policy_load_builtin(&error);
    ck_assert_uint_eq(builtin->approver_decisions, APPROVER_ONCE | APPROVER_SESSION |
                                                       APPROVER_ALWAYS | APPROVER_DENY |
                                                       APPROVER_EDIT);
    CLEANUP(cleanup_policy)
    struct policy *policy = load("{\"approval\":{\"decisions\":[\"once\",\"always\"]}}", &error);
    ck_assert_uint_eq(policy->approver_decisions, APPROVER_ONCE | APPROVER_ALWAYS | APPROVER_DENY);
    CLEANUP(cleanup_policy)
    struct policy *cells = load("{\"approval\":{\"decisions\":[\"cells\"]}}", &error);
    ck_assert_uint_eq(cells->approver_decisions, APPROVER_CELLS | APPROVER_DENY);
}
END_TEST

static const char rules[] = "{\"approval\":{\"default\":\"ask\",\"rules\":["
                            "{\"decision\":\"allow\",\"languages\":[\"python\",\"sh\"],\"network\":"
                            "false,\"secrets\":false},"
                            "{\"decision\":\"ask\",\"languages\":[\"sh\"]},"
                            "{\"decision\":\"deny\",\"modes\":[\"none\"],\"reason\":\"never\"},"
                            "{\"decision\":\"deny\",\"network\":true,\"secrets\":true}]}}";

static const struct {
    const char *language;
    enum sandbox_mode mode;
    bool network, secrets;
    enum approval_decision decision;
    int rule;
} decisions[] = {
    {"python", SANDBOX_MODE_PROCESS, false, false, APPROVAL_ALLOW, 0},
    {"python", SANDBOX_MODE_DOCKER, false, false, APPROVAL_ALLOW, 0},
    {"python", SANDBOX_MODE_PROCESS, true, false, APPROVAL_ASK, -1},
    {"python", SANDBOX_MODE_PROCESS, false, true, APPROVAL_ASK, -1},
    {"python", SANDBOX_MODE_PROCESS, true, true, APPROVAL_DENY, 3},
    {"python", SANDBOX_MODE_NONE, false, false, APPROVAL_DENY, 2},
    {"sh", SANDBOX_MODE_PROCESS, false, false, APPROVAL_ASK, 1},
    {"sh", SANDBOX_MODE_NONE, true, true, APPROVAL_DENY, 2},
    {"perl", SANDBOX_MODE_PROCESS, false, false, APPROVAL_ASK, -1},
};

START_TEST(decides_deny_before_ask_before_allow)
{
    struct error error;
    static const char *const secrets[] = {"a"};
    struct rule_facts facts = {.language = decisions[_i].language,
                               .mode = decisions[_i].mode,
                               .network = decisions[_i].network,
                               .secrets = secrets,
                               .secret_count = decisions[_i].secrets,
                               .code = ""};
    CLEANUP(cleanup_policy) struct policy *policy = load(rules, &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    struct policy_verdict verdict = policy_decide(policy, &facts);
    ck_assert_int_eq(verdict.decision, decisions[_i].decision);
    ck_assert_int_eq(verdict.rule, decisions[_i].rule);
    ck_assert_str_eq(policy->rules[2].reason, "never");
}
END_TEST

/* A rule also overrides a stricter default: that is what the operator wrote it for. */
START_TEST(rules_override_the_default)
{
    struct error error;
    struct rule_facts lua = {.language = "lua", .mode = SANDBOX_MODE_PROCESS, .code = ""};
    struct rule_facts sh = {.language = "sh", .mode = SANDBOX_MODE_PROCESS, .code = ""};
    CLEANUP(cleanup_policy)
    struct policy *policy = load("{\"approval\":{\"default\":\"deny\",\"rules\":[{\"decision\":"
                                 "\"allow\",\"languages\":[\"lua\"]}]}}",
                                 &error);
    ck_assert_int_eq(policy_decide(policy, &lua).decision, APPROVAL_ALLOW);
    ck_assert_int_eq(policy_decide(policy, &sh).decision, APPROVAL_DENY);
    ck_assert_int_eq(policy_decide(policy, &sh).rule, -1);
}
END_TEST

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(reads_regular_files_only)
{
    struct error error;
    char directory[] = "/tmp/test_policy.XXXXXX";
    char path[64];
    char expected[160];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    (void)snprintf(path, sizeof(path), "%s/policy.json", directory);

    ck_assert_ptr_null(policy_load_file(path, &error));
    (void)snprintf(expected, sizeof(expected),
                   "policy %s: cannot be read: No such file or directory", path);
    ck_assert_str_eq(error.message, expected);
    ck_assert_int_eq(error.code, ERROR_INVALID_POLICY);

    ck_assert_ptr_null(policy_load_file(directory, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "not a regular file"));

    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_ptr_null(policy_load_file(path, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "not a regular file"));
    ck_assert_int_eq(unlink(path), 0);

    CLEANUP_FREE char *long_text = malloc(POLICY_FILE_LIMIT + 1);
    memset(long_text, ' ', POLICY_FILE_LIMIT + 1);
    long_text[0] = '{';
    long_text[1] = '}';
    write_file(path, long_text, POLICY_FILE_LIMIT + 1);
    ck_assert_ptr_null(policy_load_file(path, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "longer than 1048576 bytes"));
    write_file(path, long_text, POLICY_FILE_LIMIT);
    CLEANUP(cleanup_policy) struct policy *policy = policy_load_file(path, &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    ck_assert_str_eq(policy->source, path);

    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(is_shared_by_reference)
{
    struct error error;
    struct policy *policy = policy_load_builtin(&error);
    ck_assert_ptr_eq(policy_ref(policy), policy);
    policy_unref(policy);
    ck_assert_str_eq(policy->source, "built-in");
    policy_unref(policy);
    policy_unref(NULL);
}
END_TEST

START_TEST(one_image_may_serve_all_languages)
{
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *policy = load("{\"docker\":{\"images\":\"all@sha256:1\",\"pull\":\"missing\","
                                 "\"offered\":[\"more:1\"],\"runtime\":\"runsc\"}}",
                                 &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    ck_assert_uint_eq(policy->images[SANDBOX_MODE_DOCKER].count, policy->language_count);
    for (size_t i = 0; i < policy->language_count; i++)
        ck_assert_str_eq(
            policy_find_image(policy, SANDBOX_MODE_DOCKER, policy->languages[i].name)->name,
            "all@sha256:1");
    ck_assert(policy_offers_image(policy, SANDBOX_MODE_DOCKER, "more:1"));
    ck_assert(!policy_offers_image(policy, SANDBOX_MODE_DOCKER, "python:3.11-slim"));
    ck_assert_int_eq((int)policy->images[SANDBOX_MODE_DOCKER].pull, RUN_PULL_MISSING);
    CLEANUP(docker_options_clear) struct docker_options options = options_of(policy);
    ck_assert_str_eq(options.runtime, "runsc");
}
END_TEST

#define DIGEST "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* An engine's image has no guest in it, so a cluster's is another one. */
START_TEST(each_mode_has_images_of_its_own)
{
    struct error error;
    CLEANUP(cleanup_policy)
    struct policy *policy =
        load("{\"modes\":{\"default\":\"docker\",\"allowed\":[\"docker\",\"kubernetes\"]},"
             "\"docker\":{\"images\":{\"sh\":\"engine:1\"},\"offered\":[\"more:1\"]},"
             "\"kubernetes\":{\"images\":{\"sh\":\"cluster" DIGEST "\"}}}",
             &error);
    ck_assert_msg(policy != NULL, "%s", error.message);
    ck_assert_str_eq(policy_find_image(policy, SANDBOX_MODE_DOCKER, "sh")->name, "engine:1");
    ck_assert_str_eq(policy_find_image(policy, SANDBOX_MODE_KUBERNETES, "sh")->name,
                     "cluster" DIGEST);
    ck_assert_ptr_nonnull(policy_find_image(policy, SANDBOX_MODE_DOCKER, "python"));
    ck_assert_ptr_null(policy_find_image(policy, SANDBOX_MODE_KUBERNETES, "python"));
    ck_assert_ptr_null(policy_find_image(policy, SANDBOX_MODE_PROCESS, "sh"));
    ck_assert(policy_offers_image(policy, SANDBOX_MODE_DOCKER, "more:1"));
    ck_assert(!policy_offers_image(policy, SANDBOX_MODE_KUBERNETES, "more:1"));
    ck_assert(!policy_offers_image(policy, SANDBOX_MODE_KUBERNETES, "engine:1"));
    ck_assert(!policy_offers_image(policy, SANDBOX_MODE_DOCKER, "cluster" DIGEST));
    ck_assert(policy_image_is_settled(policy, SANDBOX_MODE_DOCKER, "engine:1"));
    ck_assert(!policy_image_is_settled(policy, SANDBOX_MODE_KUBERNETES, "engine:1"));
}
END_TEST

int main(void)
{
    TCase *cases[] = {tcase_create("parts"), tcase_create("built-in"), tcase_create("rules"),
                      tcase_create("file")};
    tcase_add_loop_test(cases[0], says_how_a_secret_is_delivered, 0, COUNT_OF(deliveries));
    tcase_add_test(cases[0], members_that_a_language_leaves_out_are_empty);
    tcase_add_test(cases[0], each_mode_has_images_of_its_own);
    tcase_add_test(cases[0], its_source_is_text);
    tcase_add_test(cases[1], one_image_may_serve_all_languages);
    tcase_add_test(cases[1], built_in_is_as_promised);
    tcase_add_test(cases[1], built_in_runs_every_language);
    tcase_add_test(cases[1], variables_for_want_of_a_network_may_be_absent);
    tcase_add_test(cases[1], offers_only_the_languages_it_names);
    tcase_add_test(cases[1], patches_as_rfc_7386_says);
    tcase_add_test(cases[1], a_language_has_limits_of_its_own);
    tcase_add_test(cases[1], a_secret_has_its_own_rule_or_that_of_all);
    tcase_add_test(cases[1], an_approver_can_always_deny);
    tcase_add_test(cases[1], so_many_secrets_have_rules_and_no_more);
    tcase_add_test(cases[1], a_host_has_a_longest_name);
    tcase_add_loop_test(cases[1], a_denial_wins_over_any_grant, 0, COUNT_OF(grants));
    tcase_add_loop_test(cases[2], decides_deny_before_ask_before_allow, 0, COUNT_OF(decisions));
    tcase_add_test(cases[2], rules_override_the_default);
    tcase_add_test(cases[3], reads_regular_files_only);
    tcase_add_test(cases[3], is_shared_by_reference);
    return run_suite("policy", cases, COUNT_OF(cases));
}
