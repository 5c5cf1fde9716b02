/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and applying the narrowing of a context. Runs in the gateway, on the thread inside
 * tool_invoke() or tool_prepare(). */
#include "policy/narrowing.h"

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

static bool read_ceilings(const struct json_place *place, json_t *value, void *object)
{
    return policy_read_ceilings(place, value, &((struct narrowing *)object)->ceilings);
}

/* "allow" would have no effect, and could be mistaken for a grant. */
static bool read_approval(const struct json_place *place, json_t *value, void *object)
{
    static const char *const names[] = {
        [APPROVAL_ASK - 1] = "ask", [APPROVAL_DENY - 1] = "deny", NULL};
    struct narrowing *narrowing = object;
    const char *name;
    unsigned choice;
    if (!json_read_string(place, value, 1, SIZE_MAX, &name) ||
        !json_choose(place, names, name, &choice))
        return false;
    narrowing->approval = (enum approval_decision)(choice + 1);
    return true;
}

#define AT(member) .offset = offsetof(struct narrowing, member)

static const struct json_member process_members[] = {
    {"isolation", &policy_isolation, AT(process_means), .optional = true},
    {0},
};

static const struct json_member members[] = {
    {"process", &member_object, .optional = true, .members = process_members},
    {"limits", .read = read_ceilings},
    {"languages", &policy_strings, AT(languages), .optional = true, .check = policy_check_language},
    {"files", &policy_transfer_ceilings, AT(transfers), .optional = true,
     .members = policy_files_members},
    {"results", &policy_transfer_ceilings, AT(transfers), .optional = true,
     .members = policy_results_members},
    {"network", &member_boolean, AT(network), .optional = true},
    {"endpoints", &policy_strings, AT(endpoints), .optional = true,
     .check = policy_check_endpoint_name},
    {"approval", .optional = true, .read = read_approval},
    {"capabilities", &policy_strings, AT(capabilities), .optional = true,
     .check = policy_check_capability},
    {0},
};

bool narrowing_read(const struct json_place *place, json_t *value, struct narrowing *ret)
{
    *ret = (struct narrowing){.json = json_incref(value),
                              .network = true,
                              .process_means = SANDBOX_MODE_COUNT,
                              .approval = APPROVAL_ALLOW};
    policy_open_transfers(&ret->transfers);
    return json_read_members(place, value, members, ret);
}

void narrowing_clear(struct narrowing *narrowing)
{
    json_decref(narrowing->json);
    json_clear_members(members, narrowing);
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

static bool check_endpoints(const struct json_place *place, char *const *endpoints,
                            const struct policy *policy)
{
    for (size_t i = 0; endpoints && endpoints[i]; i++) {
        struct json_place item = json_place_item(place, i);
        if (!policy_find_endpoint(policy, endpoints[i]))
            return json_place_refuse(&item, "the policy does not offer %s", endpoints[i]);
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

/* A variant is the weaker one, so only the policy can choose it. */
static bool check_isolation(const struct json_place *place, const struct narrowing *narrowing,
                            const struct policy *policy)
{
    struct json_place process = json_place_named(place, "process");
    struct json_place isolation = json_place_named(&process, "isolation");
    enum sandbox_mode means = narrowing->process_means;
    if (means == SANDBOX_MODE_COUNT || means == policy->process_means ||
        !sandbox_mode_row(means)->variant_of)
        return true;
    return json_place_refuse(&isolation, "the policy's is stronger");
}

bool narrowing_check(const struct narrowing *narrowing, const struct policy *policy,
                     struct error *error)
{
    struct json_place root = json_place_root("policy denied: context", ERROR_POLICY_DENIED, error);
    struct json_place place = json_place_named(&root, "policy");
    struct json_place limits = json_place_named(&place, "limits");
    struct json_place languages = json_place_named(&place, "languages");
    struct json_place endpoints = json_place_named(&place, "endpoints");
    struct json_place capabilities = json_place_named(&place, "capabilities");
    if (!narrowing->json ||
        (policy_check_ceilings(&limits, policy, &narrowing->ceilings) &&
         policy_check_transfers(&place, narrowing->json, &policy->transfers,
                                &narrowing->transfers) &&
         check_languages(&languages, narrowing->languages, policy) &&
         check_endpoints(&endpoints, narrowing->endpoints, policy) &&
         check_network(&place, narrowing, policy) && check_isolation(&place, narrowing, policy) &&
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

enum sandbox_mode narrowing_mode(const struct narrowing *narrowing, enum sandbox_mode mode)
{
    if (!narrowing->json || narrowing->process_means == SANDBOX_MODE_COUNT)
        return mode;
    bool replaced =
        sandbox_mode_row(mode)->variant_of == sandbox_mode_row(narrowing->process_means);
    return replaced ? narrowing->process_means : mode;
}

/* Namespaces are for the mode in whose place a variant stands, and for workers as well. */
bool narrowing_check_mode(const struct narrowing *narrowing, const struct policy *policy,
                          enum sandbox_mode mode, struct error *error)
{
    if (!narrowing->json || narrowing->process_means != SANDBOX_MODE_PROCESS ||
        policy_mode_row(policy, mode)->isolation != RUN_ISOLATION_UNPRIVILEGED)
        return true;
    error_set(error, ERROR_SANDBOX_UNAVAILABLE,
              "sandbox unavailable: the gateway wants namespaces for this call, and programs of "
              "mode %s have none",
              sandbox_mode_name(mode));
    error_set_hint(error, "no change of the request helps: ask the operator for another mode");
    return false;
}

bool narrowing_leaves_endpoint(const struct narrowing *narrowing, const char *name)
{
    return !narrowing->endpoints || string_list_contains(narrowing->endpoints, name);
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

struct policy_transfers narrowing_transfers(const struct narrowing *narrowing,
                                            const struct policy_transfers *transfers)
{
    struct policy_transfers left = *transfers;
    if (narrowing->json)
        policy_lower_transfers(&left, &narrowing->transfers);
    return left;
}

enum approval_decision narrowing_decision(const struct narrowing *narrowing,
                                          enum approval_decision decision)
{
    return narrowing->approval > decision ? narrowing->approval : decision;
}
