/* SPDX-License-Identifier: Apache-2.0 */
/* Looking a policy's file over. Runs in the gateway on the calling thread. */
#include "policy/lint/policy_lint.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "json/json_input.h"
#include "json/json_place.h"

/* A time that somebody may have written in seconds. Below FEW_MS no interpreter has started. */
#define FEW_MS    100
#define SECOND_MS 1000

/* The effect of the patch on a member of the built-in policy (NULL: it has no such member). */
static void look_at_member(struct lint *lint, const struct json_place *place, const json_t *patch,
                           const json_t *builtin)
{
    bool says_nothing = json_is_object(patch) && json_object_size(patch) == 0;
    if (json_is_null(patch) && !builtin)
        lint_add(lint, LINT_WARNING, place->pointer, NULL,
                 "does nothing: null removes a member of the built-in policy, which has "
                 "none of this name");
    else if (says_nothing && json_object_size(builtin) > 0)
        lint_add(lint, LINT_WARNING, place->pointer, NULL,
                 "does nothing: the file is merged onto the built-in policy, and an "
                 "empty object changes nothing");
}

static bool is_time(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, "_ms") == 0;
}

static void look_at_time(struct lint *lint, const struct json_place *place, const json_t *value)
{
    json_int_t time = json_integer_value(value);
    bool of_a_person = strcmp(place->pointer, "/approval/timeout_ms") == 0;
    if (!json_is_integer(value) || time <= 0 || time >= SECOND_MS)
        return;
    lint_add(lint, time < FEW_MS || of_a_person ? LINT_WARNING : LINT_NOTICE, place->pointer, NULL,
             "%lld milliseconds are less than a second: if seconds were meant, write %lld",
             (long long)time, (long long)time * SECOND_MS);
}

/* A number, or its default and its maximum. */
static void look_at_times(struct lint *lint, const struct json_place *place, json_t *value)
{
    static const char *const bounds[] = {"default", "max"};
    look_at_time(lint, place, value);
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        struct json_place bound = json_place_named(place, bounds[i]);
        look_at_time(lint, &bound, json_object_get(value, bounds[i]));
    }
}

/* Depth is the file's, which its reader bounds. */
static void walk(struct lint *lint, const struct json_place *place, json_t *patch, json_t *builtin)
{
    const char *name;
    size_t length;
    json_t *value;
    json_object_keylen_foreach(patch, name, length, value)
    {
        struct json_place member = json_place_member(place, name, length);
        json_t *before = json_object_getn(builtin, name, length);
        look_at_member(lint, &member, value, before);
        if (is_time(name))
            look_at_times(lint, &member, value);
        walk(lint, &member, value, before);
    }
}

static bool takes_something_away(json_t *patch)
{
    const char *name;
    json_t *value;
    json_object_foreach(patch, name, value)
    {
        if (json_is_null(value))
            return true;
    }
    return false;
}

/* The languages that are offered and not in the patch, as far as they fit. */
static bool join_others(const struct policy *policy, const json_t *patch, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < policy->language_count; i++)
        if (!json_object_get(patch, policy->languages[i].name))
            text_add_name(text, size, policy->languages[i].name);
    return text[0] != '\0';
}

/* false too when out of memory. */
static bool changes_nothing(const json_t *builtin, json_t *patch)
{
    json_auto_t *merged = json_deep_copy(builtin);
    return merged && merge_patch(merged, patch) && json_equal(merged, builtin);
}

/* A list of languages is easily taken for all there are. */
static void look_at_languages(struct lint *lint, json_t *file, json_t *builtin)
{
    char others[256];
    json_t *patch = json_object_get(file, "languages");
    if (json_object_size(patch) == 0 || json_object_get(file, "only_languages") ||
        takes_something_away(patch) || !join_others(lint->policy, patch, others, sizeof(others)))
        return;
    if (changes_nothing(json_object_get(builtin, "languages"), patch))
        lint_add(lint, LINT_WARNING, "/languages", NULL,
                 "does nothing: the built-in policy has the same, and offers %s as well; "
                 "\"only_languages\" is the complete list of what is offered",
                 others);
    else
        lint_add(lint, LINT_NOTICE, "/languages", NULL,
                 "%s are offered as well: the file is merged onto the built-in policy; "
                 "\"only_languages\" is the complete list of what is offered",
                 others);
}

/* The findings about languages that no run can use. */
static void look_at_languages_below(struct lint *lint, const json_t *file,
                                    const char *const path[2])
{
    const char *name;
    json_t *value;
    json_t *patch = json_object_get(file, path[0]);
    patch = path[1] ? json_object_get(patch, path[1]) : patch;
    json_object_foreach(patch, name, value)
    {
        char place[128];
        if (json_is_null(value) || policy_find_language(lint->policy, name))
            continue;
        (void)snprintf(place, sizeof(place), "/%s%s%s/%s", path[0], path[1] ? "/" : "",
                       path[1] ? path[1] : "", name);
        lint_add(lint, LINT_WARNING, place, NULL,
                 "does nothing: the policy does not offer the language");
    }
}

void lint_file(struct lint *lint)
{
    static const char *const languages[] = {"languages", NULL};
    static const char *const checks[] = {"content_checks", "languages"};
    const struct policy *policy = lint->policy;
    struct error unused;
    struct json_place root = json_place_root("policy", ERROR_INVALID_POLICY, &unused);
    if (!policy->patch)
        return;
    json_auto_t *builtin = policy_builtin_json(&unused);
    if (!builtin) {
        lint->failed = true;
        return;
    }
    walk(lint, &root, policy->patch, builtin);
    look_at_languages(lint, policy->patch, builtin);
    look_at_languages_below(lint, policy->patch, languages);
    for (size_t i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const char *const images[] = {sandbox_mode_name((enum sandbox_mode)i), "images"};
        if (sandbox_mode_row((enum sandbox_mode)i)->has_images)
            look_at_languages_below(lint, policy->patch, images);
    }
    look_at_languages_below(lint, policy->patch, checks);
}
