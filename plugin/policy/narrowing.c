/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and applying the narrowing of a context. Runs in the gateway, on the thread inside
 * tool_invoke() or tool_prepare(). */
#include "policy/narrowing.h"

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

static bool read_list(const struct json_place *place, json_t *value, policy_string_check *check,
                      char ***ret)
{
    return !value || policy_read_strings(place, value, 0, check, ret);
}

static bool read_network(const struct json_place *place, const json_t *value, bool *ret)
{
    *ret = true;
    return !value || json_read_boolean(place, value, ret);
}

/* "allow" would have no effect, and could be mistaken for a grant. */
static bool read_approval(const struct json_place *place, const json_t *value,
                          enum approval_decision *ret)
{
    *ret = APPROVAL_ALLOW;
    if (!value)
        return true;
    if (!policy_read_decision(place, value, ret))
        return false;
    if (*ret != APPROVAL_ALLOW)
        return true;
    return json_place_refuse(place, "must be ask or deny");
}

bool narrowing_read(const struct json_place *place, json_t *value, struct narrowing *ret)
{
    static const char *const members[] = {"limits",   "languages",    "network",
                                          "approval", "capabilities", NULL};
    struct json_place limits = json_place_named(place, "limits");
    struct json_place languages = json_place_named(place, "languages");
    struct json_place network = json_place_named(place, "network");
    struct json_place approval = json_place_named(place, "approval");
    struct json_place capabilities = json_place_named(place, "capabilities");
    ret->json = json_incref(value);
    return json_read_known_members(place, value, members) &&
           policy_read_ceilings(&limits, json_object_get(value, "limits"), &ret->ceilings) &&
           read_list(&languages, json_object_get(value, "languages"), policy_check_language,
                     &ret->languages) &&
           read_network(&network, json_object_get(value, "network"), &ret->network) &&
           read_approval(&approval, json_object_get(value, "approval"), &ret->approval) &&
           read_list(&capabilities, json_object_get(value, "capabilities"), policy_check_capability,
                     &ret->capabilities);
}

void narrowing_clear(struct narrowing *narrowing)
{
    json_decref(narrowing->json);
    string_list_free(narrowing->languages);
    string_list_free(narrowing->capabilities);
    *narrowing = (struct narrowing){0};
}

static bool check_languages(const struct json_place *place, char *const *languages,
                            const struct policy *policy)
{
    for (size_t i = 0; languages && languages[i]; i++) {
        struct json_place item = json_place_item(place, i);
        if (!policy_find_language(policy, languages[i]))
            return json_place_refuse(&item, "the policy does not offer %s", languages[i]);
    }
    return true;
}

static bool check_capabilities(const struct json_place *place, char *const *capabilities,
                               const struct policy *policy)
{
    for (size_t i = 0; capabilities && capabilities[i]; i++) {
        struct json_place item = json_place_item(place, i);
        if (!capability_list_covers(policy->capabilities, capabilities[i]))
            return json_place_refuse(&item, "the policy does not grant %.160s", capabilities[i]);
    }
    return true;
}

static bool check_network(const struct json_place *place, const struct narrowing *narrowing,
                          const struct policy *policy)
{
    struct json_place network = json_place_named(place, "network");
    bool asked = json_is_true(json_object_get(narrowing->json, "network"));
    if (!asked || policy->network_allowed)
        return true;
    return json_place_refuse(&network, "the policy allows no network");
}

bool narrowing_check(const struct narrowing *narrowing, const struct policy *policy,
                     struct error *error)
{
    struct json_place root = json_place_root("policy denied: context", ERROR_POLICY_DENIED, error);
    struct json_place place = json_place_named(&root, "policy");
    struct json_place limits = json_place_named(&place, "limits");
    struct json_place languages = json_place_named(&place, "languages");
    struct json_place capabilities = json_place_named(&place, "capabilities");
    if (!narrowing->json || (policy_check_ceilings(&limits, policy, &narrowing->ceilings) &&
                             check_languages(&languages, narrowing->languages, policy) &&
                             check_network(&place, narrowing, policy) &&
                             check_capabilities(&capabilities, narrowing->capabilities, policy)))
        return true;
    error_set_hint(error, "the gateway's context_json can only narrow the operator's policy; "
                          "no change of the request helps");
    return false;
}

json_t *narrowing_json(const struct narrowing *narrowing)
{
    return narrowing->json ? json_incref(narrowing->json) : json_null();
}

bool narrowing_leaves_language(const struct narrowing *narrowing, const char *language)
{
    return !narrowing->languages || string_list_contains(narrowing->languages, language);
}

bool narrowing_leaves_network(const struct narrowing *narrowing)
{
    return !narrowing->json || narrowing->network;
}

bool narrowing_leaves_capability(const struct narrowing *narrowing, enum capability capability,
                                 const char *parameter)
{
    return !narrowing->capabilities ||
           capability_list_grants(narrowing->capabilities, capability, parameter);
}

struct policy_limits narrowing_limits(const struct narrowing *narrowing,
                                      const struct policy_limits *limits)
{
    struct policy_limits left = *limits;
    if (narrowing->json)
        policy_lower_limits(&left, &narrowing->ceilings);
    return left;
}

enum approval_decision narrowing_decision(const struct narrowing *narrowing,
                                          enum approval_decision decision)
{
    return narrowing->approval > decision ? narrowing->approval : decision;
}
