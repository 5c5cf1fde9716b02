/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the policy's "content_checks". A rule that could never apply is a mistake of who wrote
 * it, and refused. Pure code; runs in the gateway on the calling thread.
 */
#include "policy_content.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "policy_parse.h"
#include "string_list.h"

#define TIMEOUT_LIMIT 60000 /* ms */

static bool check_module(const struct json_place *place, const char *name)
{
    size_t length = strlen(name);
    if (policy_is_plain_name(name, "_.") && name[length - 1] != '.' && strstr(name, "..") == NULL)
        return true;
    return json_place_refuse(place, "must be a name, or names with dots between");
}

static bool read_action(const struct json_place *place, const json_t *object,
                        enum content_action *ret)
{
    static const char *const names[] = {[CONTENT_WARN] = "warn", [CONTENT_REFUSE] = "refuse"};
    struct json_place action = json_place_named(place, "action");
    const char *name;
    size_t choice;
    if (!json_read_string(&action, json_object_get(object, "action"), 1, 16, &name))
        return false;
    if (!policy_choose(name, names, COUNT_OF(names), &choice))
        return json_place_refuse(&action, "must be warn or refuse");
    *ret = (enum content_action)choice;
    return true;
}

/* Absent is false. */
static bool read_flag(const struct json_place *place, const json_t *object, const char *name,
                      bool *ret)
{
    const json_t *value = json_object_get(object, name);
    struct json_place flag = json_place_named(place, name);
    return value == NULL || json_read_boolean(&flag, value, ret);
}

/* Absent (NULL) is not the same as empty. */
static bool read_names(const struct json_place *place, const json_t *object, const char *name,
                       char ***ret)
{
    json_t *value = json_object_get(object, name);
    struct json_place list = json_place_named(place, name);
    return value == NULL || policy_read_strings(&list, value, 0, check_module, ret);
}

/* Python is read by its syntax tree. */
static bool parse_python(const struct json_place *place, json_t *value, struct content_rules *rules)
{
    static const char *const members[] = {
        "action", "required", "allowed_modules", "forbidden_modules", "forbidden_names", NULL};
    return json_read_known_members(place, value, members) &&
           read_names(place, value, "allowed_modules", &rules->allowed_modules) &&
           read_names(place, value, "forbidden_modules", &rules->forbidden_modules) &&
           read_names(place, value, "forbidden_names", &rules->forbidden_names);
}

static bool parse_rules(const struct json_place *place, const char *language, json_t *value,
                        struct content_rules *rules)
{
    if (!policy_check_language(place, language) ||
        !policy_copy_text(place, language, &rules->language) || !json_read_object(place, value) ||
        !read_action(place, value, &rules->action) ||
        !read_flag(place, value, "required", &rules->required))
        return false;
    return strcmp(language, "python") == 0
               ? parse_python(place, value, rules)
               : json_place_refuse(place, "only python has content checks");
}

static bool parse_languages(const struct json_place *place, json_t *value,
                            struct policy_content *content)
{
    const char *name;
    json_t *member;
    if (!json_read_object(place, value))
        return false;
    content->languages = calloc(json_object_size(value) + 1, sizeof(*content->languages));
    if (content->languages == NULL)
        return json_place_out_of_memory(place);
    json_object_foreach(value, name, member)
    {
        struct json_place language = json_place_member(place, name, strlen(name));
        if (!parse_rules(&language, name, member, &content->languages[content->language_count++]))
            return false;
    }
    return true;
}

bool policy_parse_content(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"timeout_ms", "languages", NULL};
    struct json_place timeout = json_place_named(place, "timeout_ms");
    struct json_place languages = json_place_named(place, "languages");
    int64_t timeout_ms;
    if (!json_read_known_members(place, value, members) ||
        !json_read_integer(&timeout, json_object_get(value, "timeout_ms"), 1, TIMEOUT_LIMIT,
                           &timeout_ms))
        return false;
    policy->content.timeout_ms = (uint64_t)timeout_ms;
    return parse_languages(&languages, json_object_get(value, "languages"), &policy->content);
}

const struct content_rules *policy_content_find(const struct policy_content *content,
                                                const char *language)
{
    for (size_t i = 0; i < content->language_count; i++)
        if (strcmp(content->languages[i].language, language) == 0)
            return &content->languages[i];
    return NULL;
}

static void clear_rules(struct content_rules *rules)
{
    for (size_t i = 0; i < rules->token_count; i++) {
        free(rules->tokens[i].name);
        free(rules->tokens[i].message);
        string_list_free(rules->tokens[i].sequence);
    }
    free(rules->tokens);
    free(rules->language);
    string_list_free(rules->allowed_modules);
    string_list_free(rules->forbidden_modules);
    string_list_free(rules->forbidden_names);
}

void policy_content_clear(struct policy_content *content)
{
    for (size_t i = 0; i < content->language_count; i++)
        clear_rules(&content->languages[i]);
    free(content->languages);
    string_list_free(content->command.argv);
    *content = (struct policy_content){0};
}
