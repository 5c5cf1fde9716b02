/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's languages: how each is run, how its interpreter is kept ready, and which are
 * offered. Pure code; runs in the gateway on the calling thread.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

#define FILE_NAME_LIMIT    64
#define PACKAGE_NAME_LIMIT 128
#define NAMED_LIMIT        64

static bool check_file(const struct json_place *place, const char *name)
{
    return policy_check_plain_name(place, name, "._-");
}

static bool check_package(const struct json_place *place, const char *name)
{
    return policy_check_plain_name(place, name, ".+-");
}

static bool check_module(const struct json_place *place, const char *name)
{
    return policy_check_plain_name(place, name, "._-/@");
}

static bool check_imported_module(const struct json_place *place, const char *name)
{
    return policy_check_plain_name(place, name, "._");
}

static bool check_word(const struct json_place *place, const char *word)
{
    return (word[0] != '\0' && policy_is_plain_name(word, "_")) ||
           json_place_refuse(place, "a word must be letters, digits and _");
}

#define AT(member) .offset = offsetof(struct policy_named_modules, member)

static const struct json_member named_modules[] = {
    {"modules", &policy_strings, AT(modules), .check = check_imported_module},
    {0},
};

/* The value is the list itself. */
static bool read_named_modules(const struct json_place *place, json_t *value, void *item,
                               void *object)
{
    struct policy_named_modules *named = item;
    (void)object;
    return policy_read_strings(place, value, 0, check_imported_module, &named->modules);
}

static const struct json_items named_items = {
    .size = sizeof(struct policy_named_modules),
    .count = offsetof(struct policy_preparation, named_count),
    .name = offsetof(struct policy_named_modules, word),
    .check_name = check_word,
    .members = named_modules,
    .read = read_named_modules,
};

#undef AT
#define AT(member) .offset = offsetof(struct policy_preparation, member)

/* Only Python can be copied, and told what to import. */
static const struct json_member python_preparation[] = {
    {.name = "interpreter"},
    {"fork", &member_boolean, AT(fork)},
    {"import", &policy_strings, AT(modules), .check = check_imported_module},
    {"import_named", &member_map, AT(named), .maximum = NAMED_LIMIT, .optional = true,
     .items = &named_items},
    {"renew_runs", &member_uint64, AT(renew_runs), 1, RUN_RENEW_LIMIT},
    {"renew_ms", &member_uint64, AT(renew_ms), 1, (int64_t)RUN_POOL_IDLE_LIMIT},
    {0},
};

static const struct json_member other_preparation[] = {{.name = "interpreter"}, {0}};

static bool read_preparation(const struct json_place *place, json_t *value, void *object)
{
    static const char *const names[] = {
        [RUN_INTERPRETER_PYTHON - 1] = "python", [RUN_INTERPRETER_NODE - 1] = "node", NULL};
    static const struct json_member interpreter = {"interpreter", &member_choice, .names = names};
    struct policy_preparation *preparation = &((struct policy_language *)object)->preparation;
    unsigned choice;
    if (!json_read_object(place, value) || !json_read_member(place, value, &interpreter, &choice))
        return false;
    preparation->interpreter = (enum run_interpreter)(choice + 1);
    return json_read_members(place, value,
                             preparation->interpreter == RUN_INTERPRETER_PYTHON ? python_preparation
                                                                                : other_preparation,
                             preparation);
}

#undef AT
#define AT(member) .offset = offsetof(struct policy_language, member)

static const struct json_member language_members[] = {
    {"argv", &policy_argv, AT(argv)},
    {"file", &member_text, AT(file), 1, FILE_NAME_LIMIT, .check = check_file},
    {"package", &member_text, AT(package), 1, PACKAGE_NAME_LIMIT, .check = check_package},
    {"environment", &policy_environment, AT(environment), .optional = true},
    {"read_only", &policy_strings, AT(read_only), .optional = true,
     .check = policy_check_view_path},
    {"modules", &policy_strings, AT(modules), .optional = true, .check = check_module},
    {"prepare", &member_object, AT(preparation), .optional = true, .members = python_preparation,
     .read = read_preparation},
    {"limits", .read = policy_read_language_limits},
    {0},
};

/* Its limits are the policy's, with its own in their place. */
static bool read_language(const struct json_place *place, json_t *value, void *item, void *object)
{
    struct policy_language *language = item;
    language->limits = ((const struct policy *)object)->limits;
    return json_read_members(place, value, language_members, language);
}

const struct json_items policy_languages = {
    .size = sizeof(struct policy_language),
    .count = offsetof(struct policy, language_count),
    .name = offsetof(struct policy_language, name),
    .check_name = policy_check_language,
    .members = language_members,
    .read = read_language,
};

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

static void clear_language(struct policy_language *language)
{
    free(language->name);
    json_clear_members(language_members, language);
}

bool policy_read_only_languages(const struct json_place *place, json_t *value, void *object)
{
    struct policy *policy = object;
    CLEANUP(cleanup_string_list) char **names = NULL;
    size_t kept = 0;
    if (!policy_read_strings(place, value, 1, policy_check_language, &names) ||
        !check_offered(place, names, policy))
        return false;
    for (size_t i = 0; i < policy->language_count; i++) {
        struct policy_language *language = &policy->languages[i];
        if (string_list_contains(names, language->name))
            policy->languages[kept++] = *language;
        else
            clear_language(language);
    }
    policy->language_count = kept;
    return true;
}
