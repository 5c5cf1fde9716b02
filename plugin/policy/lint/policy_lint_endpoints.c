/* SPDX-License-Identifier: Apache-2.0 */
/* Looking the policy's endpoints over. Runs in the gateway on the calling thread. */
#include "policy/lint/policy_lint.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/path_form.h"
#include "base/string_list.h"
#include "vocabulary/capability.h"

#define PLACE_LIMIT 128

/* A path that the broker never sends: it decodes what needs no escape, and refuses the rest. */
static bool has_idle_escape(const char *pattern)
{
    for (const char *escape = strchr(pattern, '%'); escape; escape = strchr(escape + 1, '%')) {
        unsigned byte = 0;
        (void)sscanf(escape + 1, "%2x", &byte);
        bool is_plain = ascii_is_alphanumeric((char)byte) ||
                        (byte != 0 && byte < 0x80 && strchr("-._~", (int)byte));
        if (is_plain || byte < ' ' || byte == 0x7f || byte == '/' || byte == '\\')
            return true;
    }
    return false;
}

static void look_at_rule(struct lint *lint, const char *name, size_t number,
                         const struct egress_rule *rule)
{
    char place[PLACE_LIMIT];
    (void)snprintf(place, sizeof(place), "/endpoints/%s/allow/%zu", name, number);
    if (!rule->methods[0] || !rule->paths[0])
        lint_add(lint, LINT_WARNING, place, NULL, "allows nothing: it has no %s",
                 !rule->methods[0] ? "methods" : "paths");
    for (size_t i = 0; rule->paths[i]; i++)
        if (has_idle_escape(rule->paths[i]))
            lint_add(lint, LINT_WARNING, place, NULL,
                     "%.200s matches nothing: no path is sent with that escape", rule->paths[i]);
}

/* Does the one allow whatever the other does, as they are written? */
static bool covers(const struct egress_rule *outer, const struct egress_rule *inner)
{
    for (size_t i = 0; inner->methods[i]; i++)
        if (!string_list_contains(outer->methods, inner->methods[i]))
            return false;
    for (size_t i = 0; inner->paths[i]; i++)
        if (!string_list_contains(outer->paths, inner->paths[i]) &&
            !string_list_contains(outer->paths, "/**"))
            return false;
    return inner->methods[0] && inner->paths[0];
}

/* SIZE_MAX: none. Of two that say the same the later one is too many. */
static size_t find_covering_rule(const struct egress_endpoint *order, size_t at)
{
    const struct egress_rule *rules = order->rules;
    for (size_t i = 0; i < order->rule_count; i++)
        if (i != at && covers(&rules[i], &rules[at]) && (i < at || !covers(&rules[at], &rules[i])))
            return i;
    return SIZE_MAX;
}

static void look_at_rules(struct lint *lint, const struct egress_endpoint *order)
{
    char place[PLACE_LIMIT];
    (void)snprintf(place, sizeof(place), "/endpoints/%s/allow", order->name);
    if (order->rule_count == 0 && !order->tunnel)
        lint_add(lint, LINT_WARNING, place, NULL, "the endpoint allows no request");
    for (size_t i = 0; i < order->rule_count; i++) {
        size_t covering = find_covering_rule(order, i);
        look_at_rule(lint, order->name, i, &order->rules[i]);
        (void)snprintf(place, sizeof(place), "/endpoints/%s/allow/%zu", order->name, i);
        if (covering != SIZE_MAX)
            lint_add(lint, LINT_WARNING, place, NULL,
                     "does nothing: rule %zu allows all that it does", covering);
    }
}

static void look_at_secret(struct lint *lint, const struct policy_endpoint *endpoint)
{
    const struct policy *policy = lint->policy;
    char place[PLACE_LIMIT];
    (void)snprintf(place, sizeof(place), "/endpoints/%s/auth/secret", endpoint->order.name);
    if (!endpoint->secret)
        return;
    if (policy->secret_provider_count == 0)
        lint_add(lint, LINT_NOTICE, place, NULL,
                 "the secret %s has to come from the gateway: the policy has no provider",
                 endpoint->secret);
    if (policy_allows_secret(policy, endpoint->secret))
        lint_add(lint, LINT_WARNING, place, NULL,
                 "\"secrets.allowed\" lists %s as well: a program can ask for the secret itself, "
                 "and is not held to the endpoint",
                 endpoint->secret);
}

static bool can_be_carried(const struct policy *policy)
{
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        if (policy->mode_allowed[i] && !policy_mode_row(policy, (enum sandbox_mode)i)->no_endpoints)
            return true;
    return false;
}

static void look_at_use(struct lint *lint, const struct policy_endpoint *endpoint)
{
    const struct policy *policy = lint->policy;
    const struct egress_endpoint *order = &endpoint->order;
    char place[PLACE_LIMIT];
    (void)snprintf(place, sizeof(place), "/endpoints/%s", order->name);
    if (!capability_list_grants(policy->capabilities, CAPABILITY_ENDPOINTS, order->name))
        lint_add(lint, LINT_WARNING, place, NULL,
                 "the endpoint cannot be used: sandbox.exec.endpoints is not granted for it");
    if (!can_be_carried(policy))
        lint_add(lint, LINT_WARNING, place, NULL,
                 "the endpoint cannot be used: the policy allows no mode that has endpoints");
    if (!endpoint->ask && policy->approval_default == APPROVAL_ALLOW)
        lint_add(lint, LINT_WARNING, place, NULL,
                 "programs may reach the endpoint without approval");
    if (order->tunnel)
        lint_add(lint, LINT_NOTICE, place, NULL,
                 "nobody sees what goes through a tunnel: it is a way to upload");
}

/* Of two that lead to the same place one may allow what the other does not. */
static void look_at_overlap(struct lint *lint, size_t at)
{
    const struct policy *policy = lint->policy;
    const struct egress_endpoint *order = &policy->endpoints[at].order;
    char place[PLACE_LIMIT];
    (void)snprintf(place, sizeof(place), "/endpoints/%s/base_url", order->name);
    for (size_t i = 0; i < policy->endpoint_count; i++) {
        const struct egress_endpoint *other = &policy->endpoints[i].order;
        bool same = strcmp(other->base_url, order->base_url) == 0;
        if (i == at || order->tunnel || (same && (i > at || other->tunnel)))
            continue;
        /* With a URL as with a path: the same, or a beginning of it up to a "/". */
        if (path_is_within(order->base_url, other->base_url))
            lint_add(lint, LINT_NOTICE, place, NULL,
                     "is within that of %s: what one of them does not allow, the other may",
                     other->name);
    }
}

void lint_endpoints(struct lint *lint)
{
    const struct policy *policy = lint->policy;
    for (size_t i = 0; i < policy->endpoint_count; i++) {
        look_at_use(lint, &policy->endpoints[i]);
        look_at_rules(lint, &policy->endpoints[i].order);
        look_at_secret(lint, &policy->endpoints[i]);
        look_at_overlap(lint, i);
    }
}
