/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the policy about a call. Runs in the gateway, on the thread inside tool_invoke(). */
#include "gate/decision.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "gate/cell.h"

/* The facts of a call, and what they point to. */
struct call_facts {
    struct rule_facts facts;
    const char *secrets[REQUEST_SECRETS_LIMIT];
    const char *endpoints[REQUEST_ENDPOINTS_LIMIT];
    struct rule_inputs inputs;
};

static void clear_facts(struct call_facts *facts)
{
    rule_inputs_clear(&facts->inputs);
}

/* Files are hashed, so only where a rule wants to know. */
static bool needs_inputs(const struct policy *policy)
{
    for (size_t i = 0; i < policy->rule_count; i++)
        if (rule_allows_by_code(&policy->rules[i]))
            return true;
    return false;
}

/* Without memory the inputs are not known, and nothing is allowed by its code. */
static void collect_facts(const struct call *call, struct call_facts *ret)
{
    const struct request *request = &call->request;
    size_t secret_count = call_secrets(call, ret->secrets);
    for (size_t i = 0; i < call->endpoint_count; i++)
        ret->endpoints[i] = call->endpoints[i]->order.name;
    ret->facts = (struct rule_facts){
        .language = request->language->name,
        .mode = call->configuration.mode,
        .network = request->network,
        .secrets = ret->secrets,
        .secret_count = secret_count,
        .endpoints = ret->endpoints,
        .endpoint_count = call->endpoint_count,
        .code = request->code,
        .code_bytes = request->code_length,
        .principal = call->context.principal,
        .workspace = call->context.workspace != NULL,
        .history = cell_has_history(call),
        .request_sha256 = call->request_sha256,
    };
    if (needs_inputs(call->configuration.policy) && rule_inputs_of_request(request, &ret->inputs))
        ret->facts.inputs = &ret->inputs;
}

struct policy_verdict decision_of(const struct call *call)
{
    CLEANUP(clear_facts) struct call_facts known = {.inputs = {.args = NULL}};
    collect_facts(call, &known);
    struct policy_verdict verdict = policy_decide(call->configuration.policy, &known.facts);
    enum approval_decision decision =
        narrowing_decision(&call->context.narrowing, verdict.decision);
    verdict.narrowed = decision != verdict.decision;
    verdict.decision = decision;
    return verdict;
}

void decision_name(const struct policy *policy, const struct policy_verdict *verdict, char *ret,
                   size_t size)
{
    if (verdict->rule < 0)
        (void)snprintf(ret, size, "policy:default");
    else if (policy->rules[verdict->rule].id)
        (void)snprintf(ret, size, "policy:rule:%s", policy->rules[verdict->rule].id);
    else
        (void)snprintf(ret, size, "policy:rule:%d", verdict->rule);
}

void decision_note_unnamed(struct call *call)
{
    const struct policy *policy = call->configuration.policy;
    CLEANUP(clear_facts) struct call_facts known = {.inputs = {.args = NULL}};
    collect_facts(call, &known);
    for (size_t i = 0; i < policy->rule_count; i++) {
        const char *what = rule_does_not_name(&policy->rules[i], &known.facts);
        const struct policy_verdict of_rule = {.rule = (int)i};
        char name[128];
        decision_name(policy, &of_rule, name, sizeof(name));
        if (what)
            call_note(call, "%s allows this code, but does not name the request's %s", name, what);
    }
}

static bool check_secret(const struct call *call, const char *name, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    const char *language = call->request.language->name;
    const char *mode = sandbox_mode_name(call->configuration.mode);
    const struct policy_secret *secret = policy_find_secret(policy, name);
    if (!policy_allows_secret(policy, name)) {
        error_set(error, ERROR_SECRET_NOT_ALLOWED, "the policy does not list the secret: %s", name);
        return false;
    }
    if (secret && secret->languages && !string_list_contains(secret->languages, language))
        error_set(error, ERROR_SECRET_NOT_ALLOWED,
                  "the policy does not allow the secret %s for the language %s", name, language);
    else if (secret && secret->modes && !string_list_contains(secret->modes, mode))
        error_set(error, ERROR_SECRET_NOT_ALLOWED,
                  "the policy does not allow the secret %s in mode %s", name, mode);
    else
        return true;
    error_set_hint(error, "leave the secret out, or ask the operator to change its entry in the "
                          "policy's \"secrets.rules\"");
    return false;
}

bool decision_check_secrets(const struct call *call, struct error *error)
{
    const char *names[REQUEST_SECRETS_LIMIT];
    size_t count = call_secrets(call, names);
    for (size_t i = 0; i < count; i++)
        if (!check_secret(call, names[i], error))
            return false;
    return true;
}

bool decision_check_rules(const struct call *call, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    struct policy_verdict verdict = decision_of(call);
    if (verdict.decision != APPROVAL_DENY)
        return true;
    if (verdict.narrowed) {
        error_set(error, ERROR_POLICY_DENIED,
                  "policy denied: the gateway does not let this caller run anything");
        error_set_hint(error, "no change of the request helps; ask the gateway's operator");
        return false;
    }
    if (verdict.rule < 0) {
        error_set(error, ERROR_POLICY_DENIED, "policy denied: the default is deny");
        return false;
    }
    const struct policy_rule *rule = &policy->rules[verdict.rule];
    error_set(error, ERROR_POLICY_DENIED, "policy denied: approval rule %d%s%s%s%s%s", verdict.rule,
              rule->id ? " (" : "", rule->id ? rule->id : "", rule->id ? ")" : "",
              rule->reason ? ": " : "", rule->reason ? rule->reason : "");
    return false;
}
