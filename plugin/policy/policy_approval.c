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

const char *const policy_decisions[] = {
    [APPROVAL_ALLOW] = "allow", [APPROVAL_ASK] = "ask", [APPROVAL_DENY] = "deny", NULL};

/* In the order of enum approver_decision. */
static const char *const approver_decisions[] = {"once", "session", "always", "deny",
                                                 "edit", "cells",   NULL};

static bool check_approver_decision(const struct json_place *place, const char *name)
{
    unsigned choice;
    return json_choose(place, approver_decisions, name, &choice);
}

/* An approver can always deny. */
static bool read_approver_decisions(const struct json_place *place, json_t *value, void *object)
{
    struct policy *policy = object;
    CLEANUP(cleanup_string_list) char **names = NULL;
    if (!policy_read_strings(place, value, 1, check_approver_decision, &names))
        return false;
    policy->approver_decisions = APPROVER_DENY;
    for (size_t i = 0; approver_decisions[i]; i++)
        if (string_list_contains(names, approver_decisions[i]))
            policy->approver_decisions |= 1u << i;
    return true;
}

#define AT(member) .offset = offsetof(struct policy, member)

const struct json_member policy_approval_members[] = {
    {"default", &member_choice, AT(approval_default), .names = policy_decisions},
    {"timeout_ms", &member_uint64, AT(approval_timeout_ms), 1, APPROVAL_TIMEOUT_LIMIT},
    {"max_waiting", &member_uint64, AT(approval_max_waiting), 1, APPROVAL_WAITING_LIMIT},
    {"in_band", &member_boolean, AT(approval_in_band)},
    {"decisions", .read = read_approver_decisions},
    {"rules", &member_list, AT(rules), 0, POLICY_LIST_LIMIT, .items = &policy_rules},
    {0},
};

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

/* The same of the endpoints. */
static const char *endpoint_that_asks(const struct policy *policy, const struct rule_facts *facts)
{
    for (size_t i = 0; i < facts->endpoint_count; i++) {
        const struct policy_endpoint *endpoint = policy_find_endpoint(policy, facts->endpoints[i]);
        if (endpoint && endpoint->ask)
            return facts->endpoints[i];
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
        verdict.endpoint = endpoint_that_asks(policy, facts);
        verdict.decision = verdict.secret || verdict.endpoint ? APPROVAL_ASK : APPROVAL_ALLOW;
    }
    return verdict;
}
