/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's secrets section: which may be requested, for which languages and modes, and whether
 * an approval is needed. Pure code; runs in the gateway on the calling thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"
#include "vocabulary/handle.h"

#define ANY_SECRET "*"

static bool check_secret(const struct json_place *place, const char *name)
{
    if (strcmp(name, ANY_SECRET) == 0 || handle_name_valid(name, strlen(name)))
        return true;
    return json_place_refuse(place, "must be a secret's name or \"*\"");
}

static bool read_names(const struct json_place *place, json_t *value, policy_string_check *check,
                       char ***ret)
{
    return !value || policy_read_strings(place, value, 1, check, ret);
}

/* "ask", or absent: as the approval rules say. */
static bool read_approval(const struct json_place *place, const json_t *value, bool *ret)
{
    const char *approval;
    if (!value)
        return true;
    if (!json_read_string(place, value, 1, 16, &approval))
        return false;
    if (strcmp(approval, "ask") != 0)
        return json_place_refuse(place, "must be \"ask\", or absent");
    *ret = true;
    return true;
}

static bool read_rule(const struct json_place *place, const char *name, json_t *value,
                      struct policy_secret *secret)
{
    static const char *const members[] = {"languages", "modes", "approval", NULL};
    struct json_place languages = json_place_named(place, "languages");
    struct json_place modes = json_place_named(place, "modes");
    struct json_place approval = json_place_named(place, "approval");
    return check_secret(place, name) && json_read_known_members(place, value, members) &&
           policy_copy_text(place, name, &secret->name) &&
           read_names(&languages, json_object_get(value, "languages"), policy_check_language,
                      &secret->languages) &&
           read_names(&modes, json_object_get(value, "modes"), policy_check_mode, &secret->modes) &&
           read_approval(&approval, json_object_get(value, "approval"), &secret->ask);
}

static bool read_rules(const struct json_place *place, json_t *value, struct policy *policy)
{
    if (!value)
        return true;
    if (!json_read_object(place, value))
        return false;
    if (json_object_size(value) > POLICY_LIST_LIMIT)
        return json_place_refuse(place, "must have at most %d members", POLICY_LIST_LIMIT);
    policy->secret_rules = calloc(json_object_size(value) + 1, sizeof(*policy->secret_rules));
    if (!policy->secret_rules)
        return json_place_out_of_memory(place);
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        struct json_place rule_place = json_place_named(place, name);
        /* Counted first: a half-read one is the policy's to free. */
        struct policy_secret *secret = &policy->secret_rules[policy->secret_rule_count++];
        if (!read_rule(&rule_place, name, json_object_iter_value(at), secret))
            return false;
    }
    return true;
}

bool policy_parse_secrets(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"allowed", "rules", "providers", "delivery", NULL};
    struct json_place allowed = json_place_named(place, "allowed");
    struct json_place rules = json_place_named(place, "rules");
    struct json_place providers = json_place_named(place, "providers");
    struct json_place delivery = json_place_named(place, "delivery");
    return json_read_known_members(place, value, members) &&
           policy_read_strings(&allowed, json_object_get(value, "allowed"), 0, check_secret,
                               &policy->secrets) &&
           read_rules(&rules, json_object_get(value, "rules"), policy) &&
           policy_read_secret_providers(&providers, json_object_get(value, "providers"), policy) &&
           policy_read_secret_delivery(&delivery, json_object_get(value, "delivery"), policy);
}

void policy_secrets_free(struct policy_secret *secrets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(secrets[i].name);
        string_list_free(secrets[i].languages);
        string_list_free(secrets[i].modes);
    }
    free(secrets);
}

bool policy_allows_secret(const struct policy *policy, const char *name)
{
    return string_list_contains(policy->secrets, ANY_SECRET) ||
           string_list_contains(policy->secrets, name);
}

const struct policy_secret *policy_find_secret(const struct policy *policy, const char *name)
{
    const struct policy_secret *any = NULL;
    for (size_t i = 0; i < policy->secret_rule_count; i++) {
        const struct policy_secret *secret = &policy->secret_rules[i];
        if (strcmp(secret->name, name) == 0)
            return secret;
        if (strcmp(secret->name, ANY_SECRET) == 0)
            any = secret;
    }
    return any;
}
