/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading approval rules, and whether one applies. Pure code; runs in the gateway on the calling
 * thread.
 */
#include "policy/policy_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"
#include "request/request.h"

#define REASON_LIMIT  1024
#define RULE_ID_LIMIT 64

bool policy_check_sha256(const struct json_place *place, const char *text)
{
    return ascii_is_hex(text, SHA256_HEX_LENGTH) ||
           json_place_refuse(place, "must be a SHA-256 of 64 lower-case hexadecimal digits");
}

static bool read_condition(const struct json_place *place, json_t *value,
                           const struct json_member *member, void *target)
{
    bool condition;
    (void)member;
    if (!json_read_boolean(place, value, &condition))
        return false;
    *(int *)target = condition;
    return true;
}

/* Absent: any, -1. */
static const struct json_kind condition = {.read = read_condition};

/* true, false, or the names that it is about. */
static bool read_secrets(const struct json_place *place, json_t *value, void *object)
{
    struct policy_rule *rule = object;
    if (json_is_array(value))
        return policy_read_strings(place, value, 1, policy_check_secret_name, &rule->secret_names);
    if (!json_is_boolean(value))
        return json_place_refuse(place, "must be true or false, or a list of secrets' names");
    rule->secrets = json_is_true(value);
    return true;
}

static bool read_endpoints(const struct json_place *place, json_t *value, void *object)
{
    struct policy_rule *rule = object;
    if (json_is_array(value))
        return policy_read_strings(place, value, 1, policy_check_endpoint_name,
                                   &rule->endpoint_names);
    if (!json_is_boolean(value))
        return json_place_refuse(place, "must be true or false, or a list of endpoints' names");
    rule->endpoints = json_is_true(value);
    return true;
}

/* An id begins with a letter, so that it is never mistaken for a rule's index. */
static bool check_id(const struct json_place *place, const char *id)
{
    return (policy_is_plain_name(id, "._-") && !strchr("0123456789_", id[0])) ||
           json_place_refuse(place, "must be a letter, then letters, digits and any of ._-");
}

#define AT(member) .offset = offsetof(struct policy_rule, member)

static bool read_size(const struct json_place *place, json_t *value, void *object)
{
    static const struct json_member members[] = {
        {"min", &member_uint64, AT(code_least), 0, REQUEST_CODE_LIMIT, .optional = true},
        {"max", &member_uint64, AT(code_most), 0, REQUEST_CODE_LIMIT, .optional = true},
        {0},
    };
    const struct policy_rule *rule = object;
    struct json_place least = json_place_named(place, "min");
    return json_read_members(place, value, members, object) &&
           (rule->code_least <= rule->code_most ||
            json_place_refuse(&least, "is more than \"max\""));
}

/* Elsewhere it would have no effect, and look as if it had. */
static bool read_with(const struct json_place *place, json_t *value, void *object)
{
    struct policy_rule *rule = object;
    if (!rule_allows_by_code(rule))
        return json_place_refuse(
            place,
            "is allowed only in a rule that allows by \"code_sha256\", without \"request_sha256\"");
    return rule_inputs_read(place, value, &rule->with);
}

/* A list of names, of which one must be the request's. */
#define NAMES &policy_strings, .minimum = 1, .optional = true

static const struct json_member rule_members[] = {
    {"decision", &member_choice, AT(decision), .names = policy_decisions},
    {"id", &member_text, AT(id), 1, RULE_ID_LIMIT, .optional = true, .check = check_id},
    {"languages", NAMES, AT(languages), .check = policy_check_language},
    {"modes", NAMES, AT(modes), .check = policy_check_mode},
    {"code_sha256", NAMES, AT(code_sha256), .check = policy_check_sha256},
    {"request_sha256", NAMES, AT(request_sha256), .check = policy_check_sha256},
    {"principals", NAMES, AT(principals)},
    {"with", &member_object, AT(with), .optional = true, .members = rule_inputs_members,
     .read = read_with},
    {"network", &condition, AT(network), .optional = true},
    {"secrets", &policy_strings, AT(secret_names), .optional = true, .read = read_secrets},
    {"endpoints", &policy_strings, AT(endpoint_names), .optional = true, .read = read_endpoints},
    {"code_bytes", .optional = true, .read = read_size},
    {"reason", &member_text, AT(reason), 1, REASON_LIMIT, .optional = true},
    {.name = "match"}, /* policy_examples_agree() */
    {.name = "not_match"},
    {0},
};

static bool id_is_new(const struct json_place *place, const struct policy_rule *rules,
                      const struct policy_rule *rule)
{
    struct json_place id_place = json_place_named(place, "id");
    for (size_t i = 0; rule->id && &rules[i] < rule; i++)
        if (rules[i].id && strcmp(rules[i].id, rule->id) == 0)
            return json_place_refuse(&id_place, "is already the id of rule %zu", i);
    return true;
}

static bool read_rule(const struct json_place *place, json_t *value, void *item, void *object)
{
    const struct policy *policy = object;
    struct policy_rule *rule = item;
    *rule = (struct policy_rule){
        .network = -1, .secrets = -1, .endpoints = -1, .code_most = UINT64_MAX};
    return json_read_members(place, value, rule_members, rule) &&
           id_is_new(place, policy->rules, rule) &&
           policy_examples_agree(place, value, rule, policy->default_mode);
}

const struct json_items policy_rules = {
    .size = sizeof(struct policy_rule),
    .count = offsetof(struct policy, rule_count),
    .members = rule_members,
    .read = read_rule,
};

/* wanted and names: the rule's; the request asks for count of them. */
static bool names_apply(const struct policy_rule *rule, int wanted, char *const *names,
                        const char *const *asked, size_t count)
{
    if (!names)
        return wanted < 0 || (wanted != 0) == (count > 0);
    size_t named = 0;
    for (size_t i = 0; i < count; i++)
        named += string_list_contains(names, asked[i]);
    return named > 0 && (rule->decision != APPROVAL_ALLOW || named == count);
}

static bool code_applies(const struct policy_rule *rule, struct rule_facts *facts)
{
    if (facts->code_bytes < rule->code_least || facts->code_bytes > rule->code_most)
        return false;
    if (!rule->code_sha256)
        return true;
    /* The same code does something else where other code has defined what it calls. */
    if (facts->history && rule->decision == APPROVAL_ALLOW)
        return false;
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
           names_apply(rule, rule->secrets, rule->secret_names, facts->secrets,
                       facts->secret_count) &&
           names_apply(rule, rule->endpoints, rule->endpoint_names, facts->endpoints,
                       facts->endpoint_count) &&
           code_applies(rule, facts) && request_applies(rule, facts);
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
    if (facts->endpoint_count > 0 && !rule->endpoint_names)
        return "endpoints";
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
