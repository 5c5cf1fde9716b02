/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's approval section, and deciding by its rules. Pure code; runs in the gateway on the
 * calling thread.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

#define APPROVAL_TIMEOUT_LIMIT 86400000 /* ms: a day */
#define APPROVAL_WAITING_LIMIT 1024     /* as many as approval.c remembers */

static const char *const approver_decisions[] = {"once", "session", "always", "deny", "edit"};

static bool check_approver_decision(const struct json_place *place, const char *name)
{
    size_t choice;
    if (policy_choose(name, approver_decisions, COUNT_OF(approver_decisions), &choice))
        return true;
    return json_place_refuse(place, "must be once, session, always, deny or edit");
}

/* In the order of enum approver_decision; an approver can always deny. */
static bool read_approver_decisions(const struct json_place *place, json_t *value, unsigned *ret)
{
    CLEANUP(cleanup_string_list) char **names = NULL;
    if (!policy_read_strings(place, value, 1, check_approver_decision, &names))
        return false;
    *ret = APPROVER_DENY;
    for (size_t i = 0; i < COUNT_OF(approver_decisions); i++)
        if (string_list_contains(names, approver_decisions[i]))
            *ret |= 1u << i;
    return true;
}

bool policy_parse_approval(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"default",   "timeout_ms", "max_waiting", "in_band",
                                          "decisions", "rules",      NULL};
    struct json_place default_place = json_place_named(place, "default");
    struct json_place timeout_place = json_place_named(place, "timeout_ms");
    struct json_place waiting_place = json_place_named(place, "max_waiting");
    struct json_place in_band_place = json_place_named(place, "in_band");
    struct json_place decisions_place = json_place_named(place, "decisions");
    struct json_place rules_place = json_place_named(place, "rules");
    int64_t timeout;
    int64_t max_waiting;

    if (!json_read_known_members(place, value, members) ||
        !policy_read_decision(&default_place, json_object_get(value, "default"),
                              &policy->approval_default) ||
        !json_read_integer(&timeout_place, json_object_get(value, "timeout_ms"), 1,
                           APPROVAL_TIMEOUT_LIMIT, &timeout) ||
        !json_read_integer(&waiting_place, json_object_get(value, "max_waiting"), 1,
                           APPROVAL_WAITING_LIMIT, &max_waiting) ||
        !json_read_boolean(&in_band_place, json_object_get(value, "in_band"),
                           &policy->approval_in_band) ||
        !read_approver_decisions(&decisions_place, json_object_get(value, "decisions"),
                                 &policy->approver_decisions))
        return false;
    policy->approval_timeout_ms = (uint64_t)timeout;
    policy->approval_max_waiting = (uint64_t)max_waiting;
    return policy_rules_read(&rules_place, json_object_get(value, "rules"), policy->default_mode,
                             &policy->rules, &policy->rule_count);
}

/* The first of the secrets that needs an approval by its own rule; NULL: none. */
static const char *secret_that_asks(const struct policy *policy, const struct rule_facts *facts)
{
    for (size_t i = 0; i < facts->secret_count; i++) {
        const struct policy_secret *secret = policy_find_secret(policy, facts->secrets[i]);
        if (secret && secret->ask)
            return facts->secrets[i];
    }
    return NULL;
}

struct policy_verdict policy_decide(const struct policy *policy, struct rule_facts *facts)
{
    struct policy_verdict verdict = {.decision = policy->approval_default, .rule = -1};
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        if (!rule_applies(rule, facts))
            continue;
        if (verdict.rule < 0 || rule->decision > verdict.decision) {
            verdict.decision = rule->decision;
            verdict.rule = (int)i;
        }
    }
    if (verdict.decision == APPROVAL_ALLOW) {
        verdict.secret = secret_that_asks(policy, facts);
        verdict.decision = verdict.secret ? APPROVAL_ASK : APPROVAL_ALLOW;
    }
    return verdict;
}
