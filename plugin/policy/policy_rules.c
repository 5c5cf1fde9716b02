/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading approval rules, and whether one applies. Pure code; runs in the gateway on the calling
 * thread.
 */
#include "policy/policy_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"
#include "request/request.h"
#include "vocabulary/handle.h"

#define REASON_LIMIT  1024
#define RULE_ID_LIMIT 64

/* true, false or absent (-1: any). */
static bool read_condition(const struct json_place *place, const json_t *value, int *ret)
{
    bool condition;
    *ret = -1;
    if (!value)
        return true;
    if (!json_read_boolean(place, value, &condition))
        return false;
    *ret = condition;
    return true;
}

static bool read_names(const struct json_place *place, json_t *value, policy_string_check *check,
                       char ***ret)
{
    return !value || policy_read_strings(place, value, 1, check, ret);
}

static bool check_secret_name(const struct json_place *place, const char *name)
{
    if (handle_name_valid(name, strlen(name)))
        return true;
    return json_place_refuse(place, "must be a secret's name");
}

/* true, false, or the names that it is about. */
static bool read_secrets(const struct json_place *place, json_t *value, struct policy_rule *rule)
{
    rule->secrets = -1;
    if (json_is_array(value))
        return policy_read_strings(place, value, 1, check_secret_name, &rule->secret_names);
    if (!value)
        return true;
    if (json_typeof(value) != JSON_TRUE && json_typeof(value) != JSON_FALSE)
        return json_place_refuse(place, "must be true or false, or a list of secrets' names");
    return read_condition(place, value, &rule->secrets);
}

bool policy_check_sha256(const struct json_place *place, const char *text)
{
    if (strlen(text) == SHA256_HEX_LENGTH && strspn(text, "0123456789abcdef") == SHA256_HEX_LENGTH)
        return true;
    return json_place_refuse(place, "must be a SHA-256 of 64 lower-case hexadecimal digits");
}

static bool read_bound(const struct json_place *place, const json_t *value, uint64_t *ret)
{
    int64_t bound;
    if (!value)
        return true;
    if (!json_read_integer(place, value, 0, REQUEST_CODE_LIMIT, &bound))
        return false;
    *ret = (uint64_t)bound;
    return true;
}

static bool read_size(const struct json_place *place, json_t *value, struct policy_rule *rule)
{
    static const char *const members[] = {"min", "max", NULL};
    rule->code_least = 0;
    rule->code_most = UINT64_MAX;
    if (!value)
        return true;
    struct json_place least = json_place_named(place, "min");
    struct json_place most = json_place_named(place, "max");
    if (!json_read_known_members(place, value, members) ||
        !read_bound(&least, json_object_get(value, "min"), &rule->code_least) ||
        !read_bound(&most, json_object_get(value, "max"), &rule->code_most))
        return false;
    if (rule->code_least <= rule->code_most)
        return true;
    return json_place_refuse(&least, "is more than \"max\"");
}

static bool read_reason(const struct json_place *place, const json_t *value, char **ret)
{
    const char *reason;
    if (!value)
        return true;
    return json_read_string(place, value, 1, REASON_LIMIT, &reason) &&
           policy_copy_text(place, reason, ret);
}

/* An id begins with a letter, so that it is never mistaken for a rule's index. */
static bool read_id(const struct json_place *place, const json_t *value, char **ret)
{
    const char *id;
    if (!value)
        return true;
    if (!json_read_string(place, value, 1, RULE_ID_LIMIT, &id))
        return false;
    if (!policy_is_plain_name(id, "._-") || strchr("0123456789_", id[0]))
        return json_place_refuse(place, "must be a letter, then letters, digits and any of ._-");
    return policy_copy_text(place, id, ret);
}

bool policy_read_decision(const struct json_place *place, const json_t *value,
                          enum approval_decision *ret)
{
    static const char *const names[] = {
        [APPROVAL_ALLOW] = "allow", [APPROVAL_ASK] = "ask", [APPROVAL_DENY] = "deny"};
    const char *name;
    size_t choice;
    if (!json_read_string(place, value, 1, 16, &name))
        return false;
    if (!policy_choose(name, names, COUNT_OF(names), &choice))
        return json_place_refuse(place, "must be allow, ask or deny");
    *ret = (enum approval_decision)choice;
    return true;
}

static bool read_who_and_what(const struct json_place *place, const json_t *value,
                              struct policy_rule *rule)
{
    struct json_place languages = json_place_named(place, "languages");
    struct json_place modes = json_place_named(place, "modes");
    struct json_place hashes = json_place_named(place, "code_sha256");
    struct json_place requests = json_place_named(place, "request_sha256");
    struct json_place principals = json_place_named(place, "principals");
    return read_names(&languages, json_object_get(value, "languages"), policy_check_language,
                      &rule->languages) &&
           read_names(&modes, json_object_get(value, "modes"), policy_check_mode, &rule->modes) &&
           read_names(&hashes, json_object_get(value, "code_sha256"), policy_check_sha256,
                      &rule->code_sha256) &&
           read_names(&requests, json_object_get(value, "request_sha256"), policy_check_sha256,
                      &rule->request_sha256) &&
           read_names(&principals, json_object_get(value, "principals"), NULL, &rule->principals);
}

/* Elsewhere it would have no effect, and look as if it had. */
static bool read_with(const struct json_place *place, json_t *value, struct policy_rule *rule)
{
    if (value && !rule_allows_by_code(rule))
        return json_place_refuse(
            place,
            "is allowed only in a rule that allows by \"code_sha256\", without \"request_sha256\"");
    return rule_inputs_read(place, value, &rule->with);
}

static bool read_rule(const struct json_place *place, json_t *value, struct policy_rule *rule)
{
    static const char *const members[] = {"decision",       "id",         "languages",   "modes",
                                          "network",        "secrets",    "code_sha256", "with",
                                          "request_sha256", "code_bytes", "principals",  "reason",
                                          "match",          "not_match",  NULL};
    struct json_place decision = json_place_named(place, "decision");
    struct json_place id = json_place_named(place, "id");
    struct json_place network = json_place_named(place, "network");
    struct json_place secrets = json_place_named(place, "secrets");
    struct json_place with = json_place_named(place, "with");
    struct json_place size = json_place_named(place, "code_bytes");
    struct json_place reason = json_place_named(place, "reason");
    return json_read_known_members(place, value, members) &&
           policy_read_decision(&decision, json_object_get(value, "decision"), &rule->decision) &&
           read_id(&id, json_object_get(value, "id"), &rule->id) &&
           read_who_and_what(place, value, rule) &&
           read_with(&with, json_object_get(value, "with"), rule) &&
           read_condition(&network, json_object_get(value, "network"), &rule->network) &&
           read_secrets(&secrets, json_object_get(value, "secrets"), rule) &&
           read_size(&size, json_object_get(value, "code_bytes"), rule) &&
           read_reason(&reason, json_object_get(value, "reason"), &rule->reason);
}

static bool id_is_new(const struct json_place *place, const struct policy_rule *rules, size_t at)
{
    struct json_place id_place = json_place_named(place, "id");
    for (size_t i = 0; rules[at].id && i < at; i++)
        if (rules[i].id && strcmp(rules[i].id, rules[at].id) == 0)
            return json_place_refuse(&id_place, "is already the id of rule %zu", i);
    return true;
}

bool policy_rules_read(const struct json_place *place, json_t *value, enum sandbox_mode usual_mode,
                       struct policy_rule **ret, size_t *ret_count)
{
    if (!json_read_array(place, value, 0, POLICY_LIST_LIMIT))
        return false;
    struct policy_rule *rules = calloc(json_array_size(value) + 1, sizeof(*rules));
    *ret = rules;
    if (!rules)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place rule_place = json_place_item(place, i);
        json_t *rule_json = json_array_get(value, i);
        (*ret_count)++; /* first: a half-read rule is the caller's to free */
        if (!read_rule(&rule_place, rule_json, &rules[i]) || !id_is_new(&rule_place, rules, i) ||
            !policy_examples_agree(&rule_place, rule_json, &rules[i], usual_mode))
            return false;
    }
    return true;
}

void policy_rules_free(struct policy_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(rules[i].id);
        string_list_free(rules[i].languages);
        string_list_free(rules[i].modes);
        string_list_free(rules[i].secret_names);
        string_list_free(rules[i].code_sha256);
        string_list_free(rules[i].request_sha256);
        rule_inputs_clear(&rules[i].with);
        string_list_free(rules[i].principals);
        free(rules[i].reason);
    }
    free(rules);
}

static bool secrets_apply(const struct policy_rule *rule, const struct rule_facts *facts)
{
    if (!rule->secret_names)
        return rule->secrets < 0 || (rule->secrets != 0) == (facts->secret_count > 0);
    size_t named = 0;
    for (size_t i = 0; i < facts->secret_count; i++)
        named += string_list_contains(rule->secret_names, facts->secrets[i]);
    return named > 0 && (rule->decision != APPROVAL_ALLOW || named == facts->secret_count);
}

static bool code_applies(const struct policy_rule *rule, struct rule_facts *facts)
{
    if (facts->code_bytes < rule->code_least || facts->code_bytes > rule->code_most)
        return false;
    if (!rule->code_sha256)
        return true;
    if (facts->code_sha256[0] == '\0' && facts->code)
        sha256_hex(facts->code, (size_t)facts->code_bytes, facts->code_sha256);
    return string_list_contains(rule->code_sha256, facts->code_sha256);
}

/* The content of a workspace is in no hash, so no hash allows a run with one. */
static bool request_applies(const struct policy_rule *rule, const struct rule_facts *facts)
{
    if (!rule->request_sha256)
        return true;
    return facts->request_sha256 &&
           string_list_contains(rule->request_sha256, facts->request_sha256) &&
           (rule->decision != APPROVAL_ALLOW || !facts->workspace);
}

static bool conditions_hold(const struct policy_rule *rule, struct rule_facts *facts)
{
    return (!rule->languages || string_list_contains(rule->languages, facts->language)) &&
           (!rule->modes || string_list_contains(rule->modes, sandbox_mode_name(facts->mode))) &&
           (rule->network < 0 || (rule->network != 0) == facts->network) &&
           (!rule->principals ||
            (facts->principal && string_list_contains(rule->principals, facts->principal))) &&
           secrets_apply(rule, facts) && code_applies(rule, facts) && request_applies(rule, facts);
}

bool rule_allows_by_code(const struct policy_rule *rule)
{
    return rule->decision == APPROVAL_ALLOW && rule->code_sha256 && !rule->request_sha256;
}

/* The same bytes are another program in another language. */
static const char *find_unnamed(const struct policy_rule *rule, const struct rule_facts *facts)
{
    if (!rule->languages)
        return "language";
    if (facts->network && rule->network != 1)
        return "network";
    if (facts->workspace)
        return "workspace";
    if (facts->secret_count != string_list_count(rule->with.secrets))
        return "secrets"; /* of an example the names may be known without their variables */
    return facts->inputs ? rule_inputs_difference(&rule->with, facts->inputs) : "inputs";
}

const char *rule_does_not_name(const struct policy_rule *rule, struct rule_facts *facts)
{
    return rule_allows_by_code(rule) && conditions_hold(rule, facts) ? find_unnamed(rule, facts)
                                                                     : NULL;
}

bool rule_applies(const struct policy_rule *rule, struct rule_facts *facts)
{
    return conditions_hold(rule, facts) &&
           (!rule_allows_by_code(rule) || !find_unnamed(rule, facts));
}
