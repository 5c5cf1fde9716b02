/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing rules condition by condition. Runs in the gateway on the calling thread. */
#include "policy/lint/policy_lint.h"

#include <string.h>

#include "base/string_list.h"

static bool names_language(const struct policy_rule *rule, const char *language)
{
    return !rule->languages || string_list_contains(rule->languages, language);
}

static bool names_mode(const struct policy_rule *rule, enum sandbox_mode mode)
{
    return !rule->modes || string_list_contains(rule->modes, sandbox_mode_name(mode));
}

bool lint_offers_language(const struct policy *policy, char *const *languages)
{
    bool offers = !languages;
    for (size_t i = 0; !offers && i < policy->language_count; i++)
        offers = string_list_contains(languages, policy->languages[i].name);
    return offers;
}

bool lint_allows_mode(const struct policy *policy, char *const *modes)
{
    bool allows = !modes;
    for (int i = 0; !allows && i < SANDBOX_MODE_COUNT; i++)
        allows = policy->mode_allowed[i] &&
                 string_list_contains(modes, sandbox_mode_name((enum sandbox_mode)i));
    return allows;
}

static bool has_secret(const struct policy *policy, const struct policy_rule *rule)
{
    for (char **name = rule->secret_names; name && *name; name++)
        if (policy_allows_secret(policy, *name))
            return true;
    return !rule->secret_names && (rule->secrets != 1 || policy->secrets[0]);
}

static bool has_endpoint(const struct policy *policy, const struct policy_rule *rule)
{
    for (char **name = rule->endpoint_names; name && *name; name++)
        if (policy_find_endpoint(policy, *name))
            return true;
    return !rule->endpoint_names && (rule->endpoints != 1 || policy->endpoint_count > 0);
}

/* Secrets of which the policy lists one that the rule's "with" wants not, or the other way round.
 */
static bool secrets_agree(const struct policy *policy, const struct policy_rule *rule)
{
    size_t count = string_list_count(rule->with.secrets);
    size_t named = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = strchr(rule->with.secrets[i], '=') + 1;
        named += rule->secret_names && string_list_contains(rule->secret_names, name);
        if (!policy_allows_secret(policy, name))
            return false;
    }
    if (rule->secret_names)
        return count > 0 && named == count;
    return rule->secrets < 0 || (rule->secrets != 0) == (count > 0);
}

static bool image_is_possible(const struct policy *policy, const struct policy_rule *rule)
{
    for (int i = 0; rule->with.image && i < SANDBOX_MODE_COUNT; i++) {
        enum sandbox_mode mode = (enum sandbox_mode)i;
        if (sandbox_mode_row(mode)->has_images && policy->mode_allowed[i] &&
            names_mode(rule, mode) && policy_offers_image(policy, mode, rule->with.image))
            return true;
    }
    return !rule->with.image;
}

static const char *idle_by_code(const struct policy *policy, const struct policy_rule *rule)
{
    if (!rule->languages)
        return "it allows by code_sha256 without a language, and in another language the same code "
               "is another program";
    if (!secrets_agree(policy, rule))
        return "its \"with\" does not say which variable gets which of its secrets";
    if (rule->endpoints == 1)
        return "it allows by code_sha256 and does not name its endpoints";
    if (!image_is_possible(policy, rule))
        return "the policy does not offer the image of its \"with\"";
    return NULL;
}

const char *policy_rule_is_idle(const struct policy *policy, const struct policy_rule *rule)
{
    if (policy->language_count == 0 || !lint_offers_language(policy, rule->languages))
        return "the policy offers none of its languages";
    if (!lint_allows_mode(policy, rule->modes))
        return "the policy allows none of its modes";
    if (rule->network == 1 && !policy->network_allowed)
        return "the policy allows no network";
    if (!has_secret(policy, rule))
        return "the policy lists none of its secrets";
    if (!has_endpoint(policy, rule))
        return "the policy has none of its endpoints";
    return rule_allows_by_code(rule) ? idle_by_code(policy, rule) : NULL;
}

/* Of the languages that the policy offers. */
static bool covers_languages(const struct policy *policy, const struct policy_rule *outer,
                             const struct policy_rule *inner)
{
    for (size_t i = 0; i < policy->language_count; i++) {
        const char *name = policy->languages[i].name;
        if (names_language(inner, name) && !names_language(outer, name))
            return false;
    }
    return true;
}

static bool covers_modes(const struct policy *policy, const struct policy_rule *outer,
                         const struct policy_rule *inner)
{
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        enum sandbox_mode mode = (enum sandbox_mode)i;
        if (policy->mode_allowed[i] && names_mode(inner, mode) && !names_mode(outer, mode))
            return false;
    }
    return true;
}

static bool covers_network(const struct policy *policy, const struct policy_rule *outer,
                           const struct policy_rule *inner)
{
    /* By code, network is not asked for unless the rule names it. */
    bool inner_has_none = inner->network == 0 || !policy->network_allowed ||
                          (rule_allows_by_code(inner) && inner->network < 0);
    if (rule_allows_by_code(outer) && outer->network < 0)
        return inner_has_none;
    return outer->network < 0 || outer->network == inner->network ||
           (outer->network == 0 && inner_has_none);
}

/* An outer list of NULL is any; an inner one of NULL is everything there is. */
static bool covers_list(char *const *outer, char *const *inner)
{
    if (!outer)
        return true;
    if (!inner)
        return false;
    for (; *inner; inner++)
        if (!string_list_contains(outer, *inner))
            return false;
    return true;
}

/* Of names: one of them meets a rule that asks or denies; a rule that allows needs all requested
 * ones. */
static bool covers_secrets(const struct policy *policy, const struct policy_rule *outer,
                           const struct policy_rule *inner)
{
    if (rule_allows_by_code(outer))
        return true; /* covers_code(): both have the same */
    if (outer->secret_names)
        return covers_list(outer->secret_names, inner->secret_names);
    if (outer->secrets < 0)
        return true;
    if (outer->secrets == 1)
        return inner->secrets == 1 || inner->secret_names;
    return (inner->secrets == 0 || !policy->secrets[0]) && !inner->secret_names;
}

static bool covers_endpoints(const struct policy *policy, const struct policy_rule *outer,
                             const struct policy_rule *inner)
{
    bool has_none = policy->endpoint_count == 0;
    bool inner_has_none = (inner->endpoints == 0 || has_none ||
                           (rule_allows_by_code(inner) && inner->endpoints < 0)) &&
                          !inner->endpoint_names;
    if (outer->endpoint_names)
        return covers_list(outer->endpoint_names, inner->endpoint_names);
    if (outer->endpoints == 0 || rule_allows_by_code(outer))
        return inner_has_none;
    return outer->endpoints < 0 || inner->endpoints == 1 || inner->endpoint_names;
}

static bool covers_code(const struct policy_rule *outer, const struct policy_rule *inner)
{
    return outer->code_least <= inner->code_least && outer->code_most >= inner->code_most &&
           covers_list(outer->code_sha256, inner->code_sha256) &&
           covers_list(outer->request_sha256, inner->request_sha256) &&
           (!rule_allows_by_code(outer) ||
            (rule_allows_by_code(inner) && !rule_inputs_difference(&outer->with, &inner->with)));
}

bool policy_rule_covers(const struct policy *policy, const struct policy_rule *outer,
                        const struct policy_rule *inner)
{
    return !policy_rule_is_idle(policy, outer) && covers_languages(policy, outer, inner) &&
           covers_modes(policy, outer, inner) && covers_network(policy, outer, inner) &&
           covers_secrets(policy, outer, inner) && covers_endpoints(policy, outer, inner) &&
           covers_code(outer, inner) && covers_list(outer->principals, inner->principals);
}
