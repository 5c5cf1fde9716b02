/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's languages: how each is run, and which are offered. Pure code; runs in the gateway on
 * the calling thread.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"
#include "vocabulary/environment.h"

#define FILE_NAME_LIMIT    64
#define PACKAGE_NAME_LIMIT 128
#define FILE_PLACEHOLDER   "{file}"

static bool read_name(const struct json_place *place, const json_t *value, size_t limit,
                      const char *others, char **ret)
{
    const char *name;
    if (!json_read_string(place, value, 1, limit, &name))
        return false;
    if (!policy_is_plain_name(name, others))
        return json_place_refuse(place, "must be letters, digits and any of %s", others);
    return policy_copy_text(place, name, ret);
}

bool policy_read_argv(const struct json_place *place, json_t *value, char ***ret)
{
    if (!policy_read_strings(place, value, 1, NULL, ret))
        return false;
    if (!string_list_contains(*ret + 1, FILE_PLACEHOLDER))
        return json_place_refuse(place, "must have the argument \"" FILE_PLACEHOLDER "\"");
    return true;
}

static bool read_optional_environment(const struct json_place *place, json_t *value, char ***ret)
{
    if (value)
        return environment_read(place, value, POLICY_LIST_LIMIT, POLICY_STRING_LIMIT, ret);
    *ret = string_list_new(0);
    if (*ret)
        return true;
    return json_place_out_of_memory(place);
}

static bool check_module(const struct json_place *place, const char *name)
{
    if (policy_is_plain_name(name, "._-/@"))
        return true;
    return json_place_refuse(place, "must be letters, digits and any of ._-/@");
}

static bool parse_language(const struct json_place *place, const char *name, json_t *value,
                           struct policy_language *language)
{
    static const char *const members[] = {"argv",        "file",      "package",
                                          "environment", "read_only", "modules",
                                          "prepare",     "limits",    NULL};
    if (!policy_check_language(place, name) || !json_read_known_members(place, value, members) ||
        !policy_copy_text(place, name, &language->name))
        return false;
    struct json_place argv = json_place_named(place, "argv");
    struct json_place file = json_place_named(place, "file");
    struct json_place package = json_place_named(place, "package");
    struct json_place environment = json_place_named(place, "environment");
    struct json_place read_only = json_place_named(place, "read_only");
    struct json_place modules = json_place_named(place, "modules");
    struct json_place prepare = json_place_named(place, "prepare");
    struct json_place limits = json_place_named(place, "limits");
    return policy_read_argv(&argv, json_object_get(value, "argv"), &language->argv) &&
           read_name(&file, json_object_get(value, "file"), FILE_NAME_LIMIT, "._-",
                     &language->file) &&
           read_name(&package, json_object_get(value, "package"), PACKAGE_NAME_LIMIT, ".+-",
                     &language->package) &&
           read_optional_environment(&environment, json_object_get(value, "environment"),
                                     &language->environment) &&
           policy_read_optional_strings(&read_only, json_object_get(value, "read_only"),
                                        policy_check_view_path, &language->read_only) &&
           policy_read_optional_strings(&modules, json_object_get(value, "modules"), check_module,
                                        &language->modules) &&
           policy_read_preparation(&prepare, json_object_get(value, "prepare"),
                                   &language->preparation) &&
           policy_read_language_limits(&limits, json_object_get(value, "limits"),
                                       &language->limits);
}

bool policy_parse_languages(const struct json_place *place, json_t *value, struct policy *policy)
{
    if (!json_read_object(place, value))
        return false;
    policy->languages = calloc(json_object_size(value) + 1, sizeof(*policy->languages));
    if (!policy->languages)
        return json_place_out_of_memory(place);
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        struct json_place language_place = json_place_named(place, name);
        policy->languages[policy->language_count].limits = policy->limits;
        policy->language_count++; /* first: a half-read one is the policy's to free */
        if (!parse_language(&language_place, name, json_object_iter_value(at),
                            &policy->languages[policy->language_count - 1]))
            return false;
    }
    policy_bound_shapes(&policy->limits); /* languages may raise what is as the file has it */
    return true;
}

static bool check_offered(const struct json_place *place, char *const *names,
                          const struct policy *policy)
{
    for (size_t i = 0; names[i]; i++) {
        struct json_place item = json_place_item(place, i);
        if (!policy_find_language(policy, names[i]))
            return json_place_refuse(&item, "is not in \"languages\"");
    }
    return true;
}

bool policy_parse_only_languages(const struct json_place *place, json_t *value,
                                 struct policy *policy)
{
    CLEANUP(cleanup_string_list) char **names = NULL;
    size_t kept = 0;
    if (!value)
        return true;
    if (!policy_read_strings(place, value, 1, policy_check_language, &names) ||
        !check_offered(place, names, policy))
        return false;
    for (size_t i = 0; i < policy->language_count; i++) {
        struct policy_language *language = &policy->languages[i];
        if (string_list_contains(names, language->name))
            policy->languages[kept++] = *language;
        else
            policy_language_clear(language);
    }
    policy->language_count = kept;
    return true;
}

void policy_language_clear(struct policy_language *language)
{
    free(language->name);
    string_list_free(language->argv);
    free(language->file);
    free(language->package);
    string_list_free(language->environment);
    string_list_free(language->read_only);
    string_list_free(language->modules);
    policy_preparation_clear(&language->preparation);
}
