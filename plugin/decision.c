/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the policy about a call. Runs in the gateway, on the thread inside tool_invoke(). */
#include "decision.h"

#include <stdio.h>

#include "cleanup.h"
#include "string_list.h"

struct policy_verdict decision_of(const struct call *call)
{
    const struct request *request = &call->request;
    const char *secrets[REQUEST_SECRETS_LIMIT];
    for (size_t i = 0; i < request->secret_count; i++)
        secrets[i] = request->secrets[i].name;
    struct rule_facts facts = {
        .language = request->language->name,
        .mode = call->configuration.mode,
        .network = request->network,
        .secrets = secrets,
        .secret_count = request->secret_count,
        .code = request->code,
        .code_bytes = request->code_length,
        .principal = call->context.principal,
    };
    struct policy_verdict verdict = policy_decide(call->configuration.policy, &facts);
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
    else if (policy->rules[verdict->rule].id != NULL)
        (void)snprintf(ret, size, "policy:rule:%s", policy->rules[verdict->rule].id);
    else
        (void)snprintf(ret, size, "policy:rule:%d", verdict->rule);
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
    if (secret != NULL && secret->languages != NULL &&
        !string_list_contains(secret->languages, language)) {
        error_set(error, ERROR_SECRET_NOT_ALLOWED,
                  "the policy does not give the secret %s to the language %s", name, language);
        return false;
    }
    if (secret != NULL && secret->modes != NULL && !string_list_contains(secret->modes, mode)) {
        error_set(error, ERROR_SECRET_NOT_ALLOWED,
                  "the policy does not give the secret %s to mode %s", name, mode);
        return false;
    }
    return true;
}

bool decision_check_secrets(const struct call *call, struct error *error)
{
    for (size_t i = 0; i < call->request.secret_count; i++)
        if (!check_secret(call, call->request.secrets[i].name, error))
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
                  "policy denied: the gateway lets nothing of this caller run");
        error_set_hint(error, "no change of the request helps; ask the gateway's operator");
        return false;
    }
    if (verdict.rule < 0) {
        error_set(error, ERROR_POLICY_DENIED, "policy denied: the default is deny");
        return false;
    }
    const struct policy_rule *rule = &policy->rules[verdict.rule];
    error_set(error, ERROR_POLICY_DENIED, "policy denied: approval rule %d%s%s%s%s%s", verdict.rule,
              rule->id != NULL ? " (" : "", rule->id != NULL ? rule->id : "",
              rule->id != NULL ? ")" : "", rule->reason != NULL ? ": " : "",
              rule->reason != NULL ? rule->reason : "");
    return false;
}
