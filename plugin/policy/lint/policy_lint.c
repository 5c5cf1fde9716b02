/* SPDX-License-Identifier: Apache-2.0 */
/* Examining a loaded policy. Runs in the gateway on the calling thread. */
#include "policy/lint/policy_lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "base/utf8.h"
#include "protocol/layers.h"
#include "vocabulary/capability.h"

#define PLACE_LIMIT   320
#define MESSAGE_LIMIT 1024
#define NAMES_LIMIT   256 /* bytes of a list of languages */

void lint_add(struct lint *lint, const char *level, const char *place, const char *rule,
              const char *format, ...)
{
    char message[MESSAGE_LIMIT];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    utf8_end_whole(message);
    json_t *finding = json_pack("{s:s, s:s, s:s?, s:s}", "level", level, "place", place, "rule",
                                rule, "message", message);
    if (json_array_append_new(lint->findings, finding) != 0)
        lint->failed = true;
}

/* Another rule that applies wherever this one does, and says as much or more; of two that say the
 * same the first is the one that decides. SIZE_MAX: none. */
static size_t find_shadowing_rule(const struct policy *policy, size_t at)
{
    const struct policy_rule *rule = &policy->rules[at];
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct policy_rule *other = &policy->rules[i];
        bool prevails =
            other->decision > rule->decision || (other->decision == rule->decision && i < at);
        if (prevails && policy_rule_covers(policy, other, rule))
            return i;
    }
    return SIZE_MAX;
}

static void look_at_rules(struct lint *lint)
{
    const struct policy *policy = lint->policy;
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        char place[PLACE_LIMIT];
        (void)snprintf(place, sizeof(place), "/approval/rules/%zu", i);
        const char *idle = policy_rule_is_idle(policy, rule);
        size_t shadow = !idle ? find_shadowing_rule(policy, i) : SIZE_MAX;
        if (idle)
            lint_add(lint, LINT_WARNING, place, rule->id, "the rule can never apply: %s", idle);
        if (shadow != SIZE_MAX)
            lint_add(lint, LINT_WARNING, place, rule->id,
                     "the rule never decides: rule %zu applies to the same requests and takes "
                     "precedence",
                     shadow);
    }
}

/* Whether the policy has secrets that need no approval by their own rules. */
static bool gives_secrets_unasked(const struct policy *policy)
{
    bool unasked = false;
    for (size_t i = 0; policy->secrets[i]; i++) {
        const struct policy_secret *rule = policy_find_secret(policy, policy->secrets[i]);
        unasked = unasked || !rule || !rule->ask;
    }
    return unasked;
}

static bool gives_endpoints_unasked(const struct policy *policy)
{
    for (size_t i = 0; i < policy->endpoint_count; i++)
        if (!policy->endpoints[i].ask)
            return true;
    return false;
}

/* An absent condition holds for everything: easily forgotten in a rule that allows. */
static void look_at_width(struct lint *lint)
{
    const struct policy *policy = lint->policy;
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        char place[PLACE_LIMIT];
        (void)snprintf(place, sizeof(place), "/approval/rules/%zu", i);
        if (rule->decision != APPROVAL_ALLOW && rule->code_sha256)
            lint_add(lint, LINT_NOTICE, place, rule->id,
                     "the rule is easy to evade: one more space in the code changes its hash");
        if (rule->decision != APPROVAL_ALLOW || rule->code_sha256 || rule->request_sha256 ||
            policy_rule_is_idle(policy, rule))
            continue;
        if (rule->secrets < 0 && !rule->secret_names && gives_secrets_unasked(policy))
            lint_add(lint, LINT_WARNING, place, rule->id,
                     "the rule is wider than it looks: without \"secrets\" it allows any code with "
                     "any secret that the policy lists");
        if (rule->endpoints < 0 && !rule->endpoint_names && gives_endpoints_unasked(policy))
            lint_add(lint, LINT_WARNING, place, rule->id,
                     "the rule is wider than it looks: without \"endpoints\" it allows any code "
                     "with any endpoint whose \"approval\" is \"never\"");
        if (rule->network < 0 && policy->network_allowed)
            lint_add(lint, LINT_WARNING, place, rule->id,
                     "the rule is wider than it looks: without \"network\" it allows any code with "
                     "the network");
    }
}

static bool grants(const struct policy *policy, enum capability capability, const char *parameter)
{
    return capability_list_grants(policy->capabilities, capability, parameter);
}

static void look_at_capabilities(struct lint *lint)
{
    const struct policy *policy = lint->policy;
    if (!grants(policy, CAPABILITY_EXEC, NULL))
        lint_add(lint, LINT_WARNING, "/capabilities", NULL,
                 "nothing can run: sandbox.exec is not granted");
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *row = policy_mode_row(policy, (enum sandbox_mode)i);
        if (policy->mode_allowed[i] && row->needs != CAPABILITY_EXEC &&
            !grants(policy, row->needs, NULL))
            lint_add(lint, LINT_WARNING, "/capabilities", NULL,
                     "nothing can run in mode %s: %s is not granted", row->name,
                     capability_name(row->needs));
    }
    if (policy->network_allowed && !grants(policy, CAPABILITY_NETWORK, NULL))
        lint_add(lint, LINT_WARNING, "/network/allowed", NULL,
                 "no request can use the network: sandbox.exec.network is not granted as a whole");
}

/* Whether some rule lets programs run in that mode without an approval. */
static bool runs_unasked(const struct policy *policy, const char *mode)
{
    bool unasked = policy->approval_default == APPROVAL_ALLOW;
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        unasked = unasked || (rule->decision == APPROVAL_ALLOW &&
                              (!rule->modes || string_list_contains(rule->modes, mode)));
    }
    return unasked;
}

static void look_at_mode_without_isolation(struct lint *lint, enum sandbox_mode mode)
{
    const struct policy *policy = lint->policy;
    const char *name = sandbox_mode_name(mode);
    if (policy->default_mode == mode)
        lint_add(lint, LINT_WARNING, "/modes/default", NULL,
                 "programs run without isolation unless the gateway sets another mode");
    if (runs_unasked(policy, name))
        lint_add(lint, LINT_WARNING, "/modes/allowed", NULL,
                 "programs may run in mode %s without approval: it isolates nothing", name);
    else
        lint_add(lint, LINT_NOTICE, "/modes/allowed", NULL,
                 "mode %s isolates nothing, and \"require\" does not apply to it", name);
}

/* A variant that the policy chooses in another section has a finding of its own. */
static void look_at_workers(struct lint *lint, enum sandbox_mode mode)
{
    const struct sandbox_mode_row *row = policy_mode_row(lint->policy, mode);
    char place[PLACE_LIMIT];
    if (!lint->policy->mode_allowed[mode] || row->isolation != RUN_ISOLATION_UNPRIVILEGED ||
        row->variant_of)
        return;
    (void)snprintf(place, sizeof(place), "/%s/mode", row->name);
    lint_add(lint, LINT_NOTICE, place, NULL,
             "programs of mode %s have no namespaces on their workers: docs/threat-model.md says "
             "what they reach there",
             row->name);
}

static void look_at_modes(struct lint *lint)
{
    const struct policy *policy = lint->policy;
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        if (policy->mode_allowed[i] && !sandbox_mode_row((enum sandbox_mode)i)->isolation)
            look_at_mode_without_isolation(lint, (enum sandbox_mode)i);
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *row = policy_mode_row(policy, (enum sandbox_mode)i);
        uint64_t layers = policy->required_layers | row->mandatory_layers;
        if (policy->mode_allowed[i] && row->isolation && (layers & LAYER_BIT(LAYER_CGROUP)) == 0)
            lint_add(lint, LINT_NOTICE, "/require", NULL,
                     "without \"cgroup\", %s mode also runs on machines that cannot cap memory and "
                     "processes of a whole tree",
                     row->name);
        look_at_workers(lint, (enum sandbox_mode)i);
    }
}

static void look_at_isolation(struct lint *lint)
{
    const struct policy *policy = lint->policy;
    const struct sandbox_mode_row *row = sandbox_mode_row(policy->process_means);
    bool chosen = row->variant_of && policy->mode_allowed[policy->process_means];
    if (chosen)
        lint_add(lint, LINT_NOTICE, "/process/isolation", NULL,
                 "mode %s has no namespaces: docs/threat-model.md says what programs reach then, "
                 "and which limits are only supervised",
                 row->variant_of->name);
    else if (row->variant_of)
        lint_add(lint, LINT_WARNING, "/process/isolation", NULL,
                 "does nothing: \"modes.allowed\" does not have %s", row->variant_of->name);
    if (policy->scratch_directory[0] != '\0' && !chosen)
        lint_add(lint, LINT_WARNING, "/process/scratch_directory", NULL,
                 "does nothing: only runs without namespaces have a directory there");
}

static void look_at_floor(struct lint *lint)
{
    if (lint->policy->approval_default == APPROVAL_ALLOW)
        lint_add(lint, LINT_WARNING, "/approval/default", NULL,
                 "a request that no rule applies to runs without approval");
    look_at_modes(lint);
    look_at_isolation(lint);
}

static void look_at_secret_rule(struct lint *lint, const struct policy_secret *secret)
{
    const struct policy *policy = lint->policy;
    char place[PLACE_LIMIT];
    (void)snprintf(place, sizeof(place), "/secrets/rules/%s", secret->name);
    if (strcmp(secret->name, "*") != 0 && !policy_allows_secret(policy, secret->name))
        lint_add(lint, LINT_WARNING, place, NULL, "\"secrets.allowed\" does not list this secret");
    if (!lint_offers_language(policy, secret->languages))
        lint_add(lint, LINT_WARNING, place, NULL,
                 "it cannot be used: the policy offers none of its languages");
    if (!lint_allows_mode(policy, secret->modes))
        lint_add(lint, LINT_WARNING, place, NULL,
                 "it cannot be used: the policy allows none of its modes");
}

static void look_at_secrets(struct lint *lint)
{
    const struct policy *policy = lint->policy;
    for (size_t i = 0; policy->secrets[i]; i++) {
        bool any = strcmp(policy->secrets[i], "*") == 0;
        char place[PLACE_LIMIT];
        (void)snprintf(place, sizeof(place), "/secrets/allowed/%zu", i);
        if (!grants(policy, CAPABILITY_SECRETS, any ? NULL : policy->secrets[i]))
            lint_add(lint, LINT_WARNING, place, NULL,
                     "the secret %s cannot be used: sandbox.exec.secrets is not granted for it",
                     policy->secrets[i]);
    }
    for (size_t i = 0; i < policy->secret_rule_count; i++)
        look_at_secret_rule(lint, &policy->secret_rules[i]);
}

enum image_state { IMAGE_SETTLED, IMAGE_UNSETTLED, IMAGE_ABSENT };

static enum image_state image_state(const struct policy *policy, enum sandbox_mode mode,
                                    const char *language)
{
    const struct policy_image *image = policy_find_image(policy, mode, language);
    if (!image)
        return IMAGE_ABSENT;
    return policy_image_is_settled(policy, mode, image->name) ? IMAGE_SETTLED : IMAGE_UNSETTLED;
}

/* The languages whose image in that mode is so, as far as they fit; how many. */
static size_t join_languages(const struct policy *policy, enum sandbox_mode mode,
                             enum image_state state, char text[NAMES_LIMIT])
{
    size_t count = 0;
    text[0] = '\0';
    for (size_t i = 0; i < policy->language_count; i++) {
        const char *name = policy->languages[i].name;
        if (image_state(policy, mode, name) != state)
            continue;
        text_add_name(text, NAMES_LIMIT, name);
        count++;
    }
    return count;
}

/* alone: no other mode is allowed. A language without an image is one that cannot run at all then.
 */
static void look_at_images_of(struct lint *lint, enum sandbox_mode mode, bool alone)
{
    const struct policy *policy = lint->policy;
    const struct policy_images *images = &policy->images[mode];
    const char *level = alone ? LINT_WARNING : LINT_NOTICE;
    char names[NAMES_LIMIT];
    char what[64] = "run";
    char place[64];
    char offered[64];
    (void)snprintf(place, sizeof(place), "/%s/images", sandbox_mode_name(mode));
    (void)snprintf(offered, sizeof(offered), "/%s/offered", sandbox_mode_name(mode));
    if (!alone)
        (void)snprintf(what, sizeof(what), "run in %s mode", sandbox_mode_name(mode));
    if (alone && join_languages(policy, mode, IMAGE_SETTLED, names) == 0)
        lint_add(lint, level, place, NULL, "nothing can run yet: no language has a usable image");
    if (join_languages(policy, mode, IMAGE_UNSETTLED, names) > 0)
        lint_add(
            lint, level, place, NULL,
            "cannot %s yet: %s. Their images have no digest%s, or a placeholder for one: write "
            "NAME@sha256:DIGEST (docker images --digests), or leave them out of \"only_languages\"",
            what, names, images->require_digest ? ", which require_digest demands" : "");
    if (join_languages(policy, mode, IMAGE_ABSENT, names) > 0)
        lint_add(lint, level, place, NULL, "cannot %s: %s. They have no image", what, names);
    for (size_t i = 0; i < string_list_count(images->offered); i++)
        if (!policy_image_is_settled(policy, mode, images->offered[i]))
            lint_add(lint, LINT_WARNING, offered, NULL,
                     "the image %s cannot be used: it has no digest, or a placeholder for one",
                     images->offered[i]);
}

static void look_at_images(struct lint *lint)
{
    const bool *allowed = lint->policy->mode_allowed;
    int count = 0;
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        count += allowed[i];
    for (int i = 0; i < SANDBOX_MODE_COUNT; i++)
        if (allowed[i] && sandbox_mode_row((enum sandbox_mode)i)->has_images)
            look_at_images_of(lint, (enum sandbox_mode)i, count == 1);
}

json_t *policy_lint(const struct policy *policy)
{
    json_auto_t *findings = json_array();
    struct lint lint = {.policy = policy, .findings = findings};
    lint_file(&lint);
    look_at_capabilities(&lint);
    look_at_floor(&lint);
    look_at_rules(&lint);
    look_at_width(&lint);
    look_at_secrets(&lint);
    lint_endpoints(&lint);
    look_at_images(&lint);
    return lint.failed ? NULL : TAKE_POINTER(findings);
}
