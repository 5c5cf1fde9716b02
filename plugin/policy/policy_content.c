/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the policy's "content_checks". A check that was removed is refused with its replacement:
 * ignoring it would let programs through unread. Pure code; runs in the gateway on the calling
 * thread.
 */
#include "policy/policy_content.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

#define TIMEOUT_LIMIT 60000 /* ms */

static bool check_module(const struct json_place *place, const char *name)
{
    size_t length = strlen(name);
    if (policy_is_plain_name(name, "_.") && name[length - 1] != '.' && !strstr(name, ".."))
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
    return !value || json_read_boolean(&flag, value, ret);
}

/* Absent (NULL) is not the same as empty. */
static bool read_names(const struct json_place *place, const json_t *object, const char *name,
                       char ***ret)
{
    json_t *value = json_object_get(object, name);
    struct json_place list = json_place_named(place, name);
    return !value || policy_read_strings(&list, value, 0, check_module, ret);
}

static bool refuse_enforced_imports(const struct json_place *place)
{
    struct json_place member = json_place_named(place, "enforce_imports");
    (void)json_place_refuse(&member, "was removed: a program could undo the hook");
    error_set_hint(
        member.error,
        "remove \"enforce_imports\"; with \"action\": \"refuse\" and \"required\": true, "
        "\"allowed_modules\" is checked before the program runs");
    return false;
}

static bool parse_python(const struct json_place *place, json_t *value, struct content_rules *rules)
{
    static const char *const members[] = {
        "action", "required", "allowed_modules", "forbidden_modules", "forbidden_names", NULL};
    if (!json_read_object(place, value))
        return false;
    if (json_object_get(value, "enforce_imports"))
        return refuse_enforced_imports(place);
    return read_action(place, value, &rules->action) &&
           read_flag(place, value, "required", &rules->required) &&
           json_read_known_members(place, value, members) &&
           read_names(place, value, "allowed_modules", &rules->allowed_modules) &&
           read_names(place, value, "forbidden_modules", &rules->forbidden_modules) &&
           read_names(place, value, "forbidden_names", &rules->forbidden_names);
}

static bool refuse_other_language(const struct json_place *place, const char *language)
{
    if (!policy_check_language(place, language))
        return false;
    (void)json_place_refuse(place, "rules for this language were removed; only python has rules");
    error_set_hint(place->error,
                   "remove this member, and have a command check %s programs: "
                   "\"content_checks.command\", for example with semgrep",
                   language);
    return false;
}

static bool parse_languages(const struct json_place *place, json_t *value,
                            struct policy_content *content)
{
    if (!json_read_object(place, value))
        return false;
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        struct json_place language = json_place_named(place, name);
        if (strcmp(name, "python") != 0)
            return refuse_other_language(&language, name);
        content->python = calloc(1, sizeof(*content->python));
        if (!content->python)
            return json_place_out_of_memory(&language);
        if (!parse_python(&language, json_object_iter_value(at), content->python))
            return false;
    }
    return true;
}

/* Absent: its findings are warnings. */
static bool parse_host(const struct json_place *place, json_t *value, struct content_outsider *host)
{
    static const char *const members[] = {"action", "required", NULL};
    return !value || (json_read_known_members(place, value, members) &&
                      read_action(place, value, &host->action) &&
                      read_flag(place, value, "required", &host->required));
}

/* Absent: there is none. */
static bool parse_command(const struct json_place *place, json_t *value,
                          struct content_outsider *command)
{
    static const char *const members[] = {"action", "required", "argv", "timeout_ms", NULL};
    struct json_place argv = json_place_named(place, "argv");
    struct json_place timeout = json_place_named(place, "timeout_ms");
    int64_t timeout_ms;
    if (!value)
        return true;
    if (!json_read_known_members(place, value, members) ||
        !read_action(place, value, &command->action) ||
        !read_flag(place, value, "required", &command->required) ||
        !policy_read_strings(&argv, json_object_get(value, "argv"), 1, NULL, &command->argv) ||
        !json_read_integer(&timeout, json_object_get(value, "timeout_ms"), 1, TIMEOUT_LIMIT,
                           &timeout_ms))
        return false;
    command->timeout_ms = (uint64_t)timeout_ms;
    struct json_place program = json_place_item(&argv, 0);
    return policy_check_path(&program, command->argv[0]);
}

bool policy_parse_content(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"timeout_ms", "languages", "host", "command", NULL};
    struct json_place timeout = json_place_named(place, "timeout_ms");
    struct json_place languages = json_place_named(place, "languages");
    struct json_place host = json_place_named(place, "host");
    struct json_place command = json_place_named(place, "command");
    int64_t timeout_ms;
    if (!json_read_known_members(place, value, members) ||
        !json_read_integer(&timeout, json_object_get(value, "timeout_ms"), 1, TIMEOUT_LIMIT,
                           &timeout_ms))
        return false;
    policy->content.timeout_ms = (uint64_t)timeout_ms;
    return parse_languages(&languages, json_object_get(value, "languages"), &policy->content) &&
           parse_host(&host, json_object_get(value, "host"), &policy->content.host) &&
           parse_command(&command, json_object_get(value, "command"), &policy->content.command);
}

const struct content_rules *policy_content_find(const struct policy_content *content,
                                                const char *language)
{
    return strcmp(language, "python") == 0 ? content->python : NULL;
}

static void clear_rules(struct content_rules *rules)
{
    string_list_free(rules->allowed_modules);
    string_list_free(rules->forbidden_modules);
    string_list_free(rules->forbidden_names);
}

void policy_content_clear(struct policy_content *content)
{
    if (content->python)
        clear_rules(content->python);
    free(content->python);
    string_list_free(content->command.argv);
    *content = (struct policy_content){0};
}
