/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the policy's "content_checks". A check that was removed is refused with its replacement:
 * ignoring it would let programs through unread. Pure code; runs in the gateway on the calling
 * thread.
 */
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_parse.h"

#define TIMEOUT_LIMIT 60000 /* ms */

static bool check_module(const struct json_place *place, const char *name)
{
    size_t length = strlen(name);
    return (policy_is_plain_name(name, "_.") && name[length - 1] != '.' && !strstr(name, "..")) ||
           json_place_refuse(place, "must be a name, or names with dots between");
}

static bool refuse_enforced_imports(const struct json_place *place, json_t *value, void *object)
{
    (void)value;
    (void)object;
    (void)json_place_refuse(place, "was removed: a program could undo the hook");
    error_set_hint(
        place->error,
        "remove \"enforce_imports\"; with \"action\": \"refuse\" and \"required\": true, "
        "\"allowed_modules\" is checked before the program runs");
    return false;
}

static const char *const actions[] = {[CONTENT_WARN] = "warn", [CONTENT_REFUSE] = "refuse", NULL};

#define AT(member) .offset = offsetof(struct content_rules, member)

static const struct json_member python_members[] = {
    {"enforce_imports", .optional = true, .read = refuse_enforced_imports},
    {"action", &member_choice, AT(action), .names = actions},
    {"required", &member_boolean, AT(required), .optional = true},
    {"allowed_modules", &policy_strings, AT(allowed_modules), .optional = true,
     .check = check_module},
    {"forbidden_modules", &policy_strings, AT(forbidden_modules), .optional = true,
     .check = check_module},
    {"forbidden_names", &policy_strings, AT(forbidden_names), .optional = true,
     .check = check_module},
    {0},
};

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

static bool read_languages(const struct json_place *place, json_t *value,
                           const struct json_member *member, void *target)
{
    struct content_rules **python = target;
    (void)member;
    if (!json_read_object(place, value))
        return false;
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        struct json_place language = json_place_named(place, name);
        if (strcmp(name, "python") != 0)
            return refuse_other_language(&language, name);
        *python = calloc(1, sizeof(**python));
        if (!*python)
            return json_place_out_of_memory(&language);
        if (!json_read_members(&language, json_object_iter_value(at), python_members, *python))
            return false;
    }
    return true;
}

static void clear_languages(const struct json_member *member, void *target)
{
    struct content_rules **python = target;
    (void)member;
    if (*python)
        json_clear_members(python_members, *python);
    free(TAKE_POINTER(*python));
}

static const struct json_kind languages = {.read = read_languages, .clear = clear_languages};

static bool read_argv(const struct json_place *place, json_t *value, void *object)
{
    struct content_outsider *command = object;
    struct json_place program = json_place_item(place, 0);
    return policy_read_strings(place, value, 1, NULL, &command->argv) &&
           json_check_absolute_path(&program, command->argv[0]);
}

#undef AT
#define AT(member) .offset = offsetof(struct content_outsider, member)
#define ACTION                                                 \
    {                                                          \
        "action", &member_choice, AT(action), .names = actions \
    }
#define REQUIRED                                                    \
    {                                                               \
        "required", &member_boolean, AT(required), .optional = true \
    }

static const struct json_member host_members[] = {ACTION, REQUIRED, {0}};

static const struct json_member command_members[] = {
    ACTION,
    REQUIRED,
    {"argv", &policy_strings, AT(argv), .read = read_argv},
    {"timeout_ms", &member_uint64, AT(timeout_ms), 1, TIMEOUT_LIMIT},
    {0},
};

#undef AT
#define AT(member) .offset = offsetof(struct policy_content, member)

/* Without a host its findings are warnings; without a command there is none. */
const struct json_member policy_content_members[] = {
    {"timeout_ms", &member_uint64, AT(timeout_ms), 1, TIMEOUT_LIMIT},
    {"languages", &languages, AT(python)},
    {"host", &member_object, AT(host), .optional = true, .members = host_members},
    {"command", &member_object, AT(command), .optional = true, .members = command_members},
    {0},
};

const struct content_rules *policy_content_find(const struct policy_content *content,
                                                const char *language)
{
    return strcmp(language, "python") == 0 ? content->python : NULL;
}
