/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's approval section: reading its rules, and deciding by them. Pure code; runs in the
 * gateway on the calling thread.
 */
#include <stdlib.h>

#include "cleanup.h"
#include "policy_parse.h"
#include "string_list.h"

#define APPROVAL_TIMEOUT_LIMIT 86400000 /* ms: a day */
#define APPROVAL_WAITING_LIMIT 1024     /* as many as approval.c remembers */
#define REASON_LIMIT           1024

static bool read_decision(const struct json_place *place, const json_t *value,
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

/* true, false or absent (-1: any). */
static bool read_condition(const struct json_place *place, const json_t *value, int *ret)
{
    bool condition;
    *ret = -1;
    if (value == NULL)
        return true;
    if (!json_read_boolean(place, value, &condition))
        return false;
    *ret = condition;
    return true;
}

static bool read_names(const struct json_place *place, json_t *value, policy_string_check *check,
                       char ***ret)
{
    return value == NULL || policy_read_strings(place, value, 1, check, ret);
}

static bool read_reason(const struct json_place *place, const json_t *value, char **ret)
{
    const char *reason;
    if (value == NULL)
        return true;
    if (!json_read_string(place, value, 1, REASON_LIMIT, &reason))
        return false;
    return policy_copy_text(place, reason, ret);
}

static bool parse_rule(const struct json_place *place, json_t *value, struct policy_rule *rule)
{
    static const char *const members[] = {"decision", "languages", "modes", "network",
                                          "secrets",  "reason",    NULL};
    if (!json_read_known_members(place, value, members))
        return false;
    struct json_place decision = json_place_named(place, "decision");
    struct json_place languages = json_place_named(place, "languages");
    struct json_place modes = json_place_named(place, "modes");
    struct json_place network = json_place_named(place, "network");
    struct json_place secrets = json_place_named(place, "secrets");
    struct json_place reason = json_place_named(place, "reason");
    return read_decision(&decision, json_object_get(value, "decision"), &rule->decision) &&
           read_names(&languages, json_object_get(value, "languages"), policy_check_language,
                      &rule->languages) &&
           read_names(&modes, json_object_get(value, "modes"), policy_check_mode, &rule->modes) &&
           read_condition(&network, json_object_get(value, "network"), &rule->network) &&
           read_condition(&secrets, json_object_get(value, "secrets"), &rule->secrets) &&
           read_reason(&reason, json_object_get(value, "reason"), &rule->reason);
}

static bool parse_rules(const struct json_place *place, json_t *value, struct policy *policy)
{
    if (!json_read_array(place, value, 0, POLICY_LIST_LIMIT))
        return false;
    policy->rules = calloc(json_array_size(value) + 1, sizeof(*policy->rules));
    if (policy->rules == NULL)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place rule_place = json_place_item(place, i);
        policy->rule_count++; /* first: a half-read rule is the policy's to free */
        if (!parse_rule(&rule_place, json_array_get(value, i), &policy->rules[i]))
            return false;
    }
    return true;
}

bool policy_parse_approval(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"default", "timeout_ms", "max_waiting", "rules", NULL};
    struct json_place default_place = json_place_named(place, "default");
    struct json_place timeout_place = json_place_named(place, "timeout_ms");
    struct json_place waiting_place = json_place_named(place, "max_waiting");
    struct json_place rules_place = json_place_named(place, "rules");
    int64_t timeout;
    int64_t max_waiting;

    if (!json_read_known_members(place, value, members) ||
        !read_decision(&default_place, json_object_get(value, "default"),
                       &policy->approval_default) ||
        !json_read_integer(&timeout_place, json_object_get(value, "timeout_ms"), 1,
                           APPROVAL_TIMEOUT_LIMIT, &timeout) ||
        !json_read_integer(&waiting_place, json_object_get(value, "max_waiting"), 1,
                           APPROVAL_WAITING_LIMIT, &max_waiting))
        return false;
    policy->approval_timeout_ms = (uint64_t)timeout;
    policy->approval_max_waiting = (uint64_t)max_waiting;
    return parse_rules(&rules_place, json_object_get(value, "rules"), policy);
}

static bool rule_applies(const struct policy_rule *rule, const char *language,
                         enum sandbox_mode mode, bool network, bool secrets)
{
    return (rule->languages == NULL || string_list_contains(rule->languages, language)) &&
           (rule->modes == NULL || string_list_contains(rule->modes, sandbox_mode_name(mode))) &&
           (rule->network < 0 || (rule->network != 0) == network) &&
           (rule->secrets < 0 || (rule->secrets != 0) == secrets);
}

enum approval_decision policy_decide(const struct policy *policy, const char *language,
                                     enum sandbox_mode mode, bool network, bool secrets,
                                     int *ret_rule)
{
    enum approval_decision decision = policy->approval_default;
    *ret_rule = -1;
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        if (!rule_applies(rule, language, mode, network, secrets))
            continue;
        /* The enum's order is the strictness: allow < ask < deny. */
        if (*ret_rule < 0 || rule->decision > decision) {
            decision = rule->decision;
            *ret_rule = (int)i;
        }
    }
    return decision;
}
