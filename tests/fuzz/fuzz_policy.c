/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operator's policy file: what is taken is within its ceilings, decides as a plain second reader
 * does, has the same hash with a blank behind it, and gives every language a description that a
 * backend takes; what is refused is told why in printable words.
 */
#include "base/cleanup.h"
#include "base/string_list.h"
#include "fuzz.h"
#include "gate/gate.h"
#include "policy/lint/policy_lint.h"
#include "policy/policy.h"
#include "request/request.h"
#include "run/describe.h"
#include "vocabulary/language.h"

static void check_limit(const struct policy_limit *limit, uint64_t minimum, uint64_t maximum)
{
    MUST(limit->default_value >= minimum && limit->default_value <= limit->maximum);
    MUST(limit->maximum <= maximum);
}

static void check_limits(const struct policy_limits *limits)
{
    static const uint64_t any = UINT64_C(64) << 40;
    check_limit(&limits->wall_ms, 1, REQUEST_TIMEOUT_LIMIT);
    check_limit(&limits->sandbox_exec_wall_ms, 1, REQUEST_TIMEOUT_LIMIT);
    check_limit(&limits->cpu_ms, 1, REQUEST_TIMEOUT_LIMIT);
    check_limit(&limits->memory_bytes, 16 << 20, any);
    check_limit(&limits->processes, 1, 4 << 20);
    check_limit(&limits->open_files, 16, 1 << 20);
    check_limit(&limits->file_bytes, 4096, any);
    check_limit(&limits->scratch_bytes, 65536, any);
    check_limit(&limits->scratch_inodes, 16, 1 << 30);
    check_limit(&limits->stdout_bytes, 1024, 64 << 20);
    check_limit(&limits->stderr_bytes, 1024, 64 << 20);
    check_limit(&limits->output_total_bytes, 4096, any);
}

/* No two runs at a time have one id, none is the host's, and none is (uid_t)-1. */
static void check_users(const struct policy *policy)
{
    MUST(policy->max_runs >= 1 && policy->max_runs <= 1024);
    MUST(policy->max_queued <= 4096);
    MUST(policy->approval_max_waiting >= 1 && policy->approval_max_waiting <= 1024);
    MUST(policy->outer_uid_base >= 65536 && policy->outer_uid_count >= policy->max_runs);
    MUST(policy->outer_uid_count <= UINT32_MAX - policy->outer_uid_base);
}

/* Every language's run fits into the memory of all. */
static void check_memory(const struct policy *policy)
{
    for (size_t i = 0; i < policy->language_count; i++)
        MUST(policy->languages[i].limits.memory_bytes.default_value <= policy->memory_total_bytes);
}

static void check_view(char *const *paths)
{
    static const char *const never[] = {"/proc", "/sys", "/dev"};
    for (; paths && *paths; paths++) {
        MUST((*paths)[0] == '/' && (*paths)[1] != '\0' && !strstr(*paths, "//"));
        MUST(!strstr(*paths, "/../") && !strstr(*paths, "/./"));
        for (size_t i = 0; i < COUNT_OF(never); i++) {
            size_t length = strlen(never[i]);
            MUST(strncmp(*paths, never[i], length) != 0 ||
                 ((*paths)[length] != '\0' && (*paths)[length] != '/'));
        }
    }
}

static bool names(char *const *list, const char *name)
{
    return !list || string_list_contains(list, name);
}

static const char hash_of_code[] =
    "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; /* of {} */

static const char hash_of_request[] =
    "0000000000000000000000000000000000000000000000000000000000000000";

/* The secret is in the variable KEY, and nothing else is beside the code. */
static bool names_all(const struct policy_rule *rule, const struct rule_facts *facts)
{
    const struct rule_inputs *with = &rule->with;
    bool key = string_list_count(with->secrets) == 1 && strcmp(with->secrets[0], "KEY=key") == 0;
    if (rule->decision != APPROVAL_ALLOW || rule->request_sha256)
        return true;
    if (!rule->code_sha256)
        return true;
    return rule->languages && (!facts->network || rule->network == 1) && !facts->workspace &&
           !string_list_count(with->args) && !string_list_count(with->environment) &&
           !string_list_count(with->files) && !with->image && !with->stdin_sha256[0] &&
           (facts->secret_count ? key : !string_list_count(with->secrets));
}

/* Of the rules that apply the strictest; with none, the default. */
static enum approval_decision decide_plainly(const struct policy *policy, struct rule_facts *facts)
{
    static const enum approval_decision strictest_first[] = {APPROVAL_DENY, APPROVAL_ASK,
                                                             APPROVAL_ALLOW};
    for (size_t i = 0; i < COUNT_OF(strictest_first); i++)
        for (size_t j = 0; j < policy->rule_count; j++) {
            const struct policy_rule *rule = &policy->rules[j];
            if (rule->decision == strictest_first[i] && names(rule->languages, facts->language) &&
                names(rule->modes, sandbox_mode_name(facts->mode)) &&
                (rule->network == -1 || rule->network == (int)facts->network) &&
                (rule->secrets == -1 || rule->secrets == (int)facts->secret_count) &&
                (!rule->secret_names ||
                 (facts->secret_count && names(rule->secret_names, "key"))) &&
                (!rule->principals || names(rule->principals, facts->principal)) &&
                rule->code_least <= 2 && 2 <= rule->code_most &&
                (!rule->code_sha256 || names(rule->code_sha256, hash_of_code)) &&
                (!rule->request_sha256 ||
                 (names(rule->request_sha256, hash_of_request) &&
                  !(facts->workspace && rule->decision == APPROVAL_ALLOW))) &&
                names_all(rule, facts))
                return rule->decision;
        }
    return policy->approval_default;
}

static void check_decisions(const struct policy *policy, const char *language,
                            enum sandbox_mode mode)
{
    for (int bits = 0; bits < 8; bits++) {
        static const char *const secrets[] = {"key"};
        static char in_variable[] = "KEY=key";
        char *pairs[] = {bits & 2 ? in_variable : NULL, NULL};
        const struct rule_inputs inputs = {.secrets = pairs};
        struct rule_facts facts = {.language = language,
                                   .mode = mode,
                                   .network = bits & 1,
                                   .secrets = secrets,
                                   .secret_count = bits & 2 ? 1 : 0,
                                   .code = "{}",
                                   .code_bytes = 2,
                                   .principal = "alice",
                                   .workspace = bits & 4,
                                   .inputs = &inputs,
                                   .request_sha256 = hash_of_request};
        struct policy_verdict verdict = policy_decide(policy, &facts);
        enum approval_decision of_rules = verdict.secret ? APPROVAL_ALLOW : verdict.decision;
        int rule = verdict.rule;
        MUST(of_rules == decide_plainly(policy, &facts));
        MUST(rule >= -1 && (rule < 0 || (size_t)rule < policy->rule_count));
        MUST(of_rules == (rule < 0 ? policy->approval_default : policy->rules[rule].decision));
        MUST(!verdict.secret || (verdict.decision == APPROVAL_ASK && (bits & 2)));
    }
}

static void check_description(const struct policy *policy, const struct policy_language *language,
                              enum sandbox_mode mode, bool network)
{
    const struct policy_image *image = policy_find_image(policy, mode, language->name);
    const struct trial_subject subject = {
        .policy = policy,
        .mode = mode,
        .language = language,
        .image = image ? image->name : NULL,
        .network = network,
    };
    struct run_description description;
    struct run_description decoded;
    size_t length = 0;
    MUST(describe_trial(&subject, &description));
    CLEANUP_FREE unsigned char *bytes = run_description_encode(&description, &length);
    MUST(bytes && run_description_decode(bytes, length, &decoded));
    MUST(decoded.isolation == sandbox_mode_row(mode)->isolation);
    run_description_clear(&decoded);
    run_description_clear(&description);
}

static void check_languages(const struct policy *policy)
{
    for (size_t i = 0; i < policy->language_count; i++) {
        const struct policy_language *language = &policy->languages[i];
        MUST(policy_find_language(policy, language->name) == language);
        MUST(string_list_contains(language->argv + 1, "{file}"));
        MUST(language->file[0] != '.' && !strchr(language->file, '/'));
        check_view(language->read_only);
        for (int mode = 0; mode < SANDBOX_MODE_COUNT; mode++) {
            check_decisions(policy, language->name, (enum sandbox_mode)mode);
            check_description(policy, language, (enum sandbox_mode)mode, false);
            check_description(policy, language, (enum sandbox_mode)mode, true);
        }
    }
}

/* Of a file with "only_languages" those of the list, and of any other those of the built-in policy
 * and the file that the file does not take away. */
static void check_offer(const struct policy *policy)
{
    const json_t *only = json_object_get(policy->patch, "only_languages");
    const json_t *patch = json_object_get(policy->patch, "languages");
    size_t offered = 0;
    size_t count;
    const struct language *all = languages_all(&count);
    for (size_t i = 0; i < count; i++) {
        bool listed = !json_is_array(only);
        for (size_t j = 0; j < json_array_size(only); j++)
            listed = listed || strcmp(json_string_value(json_array_get(only, j)), all[i].name) == 0;
        listed = listed && !json_is_null(json_object_get(patch, all[i].name));
        MUST((policy_find_language(policy, all[i].name) != NULL) == listed);
        offered += listed;
    }
    MUST(policy->language_count == offered);
}

/* Every finding names a place and says something, whatever the file is. */
static void check_findings(const struct policy *policy)
{
    json_auto_t *findings = policy_lint(policy);
    size_t index;
    const json_t *finding;
    MUST(json_is_array(findings));
    json_array_foreach(findings, index, finding)
    {
        MUST(json_string_value(json_object_get(finding, "place"))[0] == '/');
        MUST(json_string_length(json_object_get(finding, "message")) > 10);
    }
}

static void check(const struct policy *policy)
{
    check_offer(policy);
    check_findings(policy);
    MUST(policy->mode_allowed[policy->default_mode]);
    MUST(strspn(policy->sha256, "0123456789abcdef") == 64);
    check_limits(&policy->limits);
    check_users(policy);
    check_memory(policy);
    check_view(policy->read_only);
    check_view(policy->workspaces);
    check_languages(policy);
    for (int mode = 0; mode < SANDBOX_MODE_COUNT; mode++)
        for (size_t i = 0; i < policy->images[mode].count; i++)
            MUST(policy_offers_image(policy, (enum sandbox_mode)mode,
                                     policy->images[mode].by_language[i].name));
}

static void must_be_told(const struct error *error)
{
    MUST(error->code == ERROR_INVALID_POLICY);
    MUST(strncmp(error->message, "policy fuzz: ", 13) == 0 && error->hint[0]);
    for (const char *c = error->message; *c; c++)
        MUST(*c >= ' ' && *c <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error;
    CLEANUP_FREE uint8_t *exact = fuzz_exact(data, size);
    CLEANUP_FREE char *longer = malloc(size + 1);
    MUST(longer != NULL);
    if (size)
        memcpy(longer, data, size);
    longer[size] = ' ';
    struct policy *policy = policy_load_text("fuzz", (const char *)exact, size, &error);
    if (!policy)
        must_be_told(&error);
    struct policy *again = policy_load_text("fuzz", longer, size + 1, &error);
    MUST((again != NULL) == (policy != NULL));
    if (policy && again) {
        MUST(strcmp(policy->sha256, again->sha256) == 0);
        check(policy);
    }
    policy_unref(policy);
    policy_unref(again);
    return 0;
}
