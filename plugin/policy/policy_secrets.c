/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's secrets section: which may be requested, for which languages and modes, whether an
 * approval is needed, the sources of secrets that the host does not have, and how a secret reaches
 * the program. Pure code; runs in the gateway on the calling thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"
#include "secrets/secret_provider.h"
#include "vocabulary/environment.h"
#include "vocabulary/handle.h"

#define ANY_SECRET           "*"
#define PROVIDERS_LIMIT      16
#define ARGUMENTS_LIMIT      64
#define ARGUMENT_BYTES_LIMIT 1024
#define TIMEOUT_MS_DEFAULT   10000
#define TIMEOUT_MS_LIMIT     120000

static bool check_secret(const struct json_place *place, const char *name)
{
    return strcmp(name, ANY_SECRET) == 0 || handle_name_valid(name, strlen(name)) ||
           json_place_refuse(place, "must be a secret's name or \"*\"");
}

/* "ask", or absent: as the approval rules say. */
static bool read_rule_approval(const struct json_place *place, json_t *value, void *object)
{
    struct policy_secret *secret = object;
    const char *approval;
    if (!json_read_string(place, value, 1, 16, &approval))
        return false;
    secret->ask = strcmp(approval, "ask") == 0;
    return secret->ask || json_place_refuse(place, "must be \"ask\", or absent");
}

#define AT(member) .offset = offsetof(struct policy_secret, member)

static const struct json_member rule_members[] = {
    {"languages", &policy_strings, AT(languages), 1, .optional = true,
     .check = policy_check_language},
    {"modes", &policy_strings, AT(modes), 1, .optional = true, .check = policy_check_mode},
    {"approval", .optional = true, .read = read_rule_approval},
    {0},
};

static const struct json_items rules = {
    .size = sizeof(struct policy_secret),
    .count = offsetof(struct policy, secret_rule_count),
    .name = offsetof(struct policy_secret, name),
    .check_name = check_secret,
    .members = rule_members,
};

/* Never the empty prefix: that would offer every variable of the gateway. */
static bool check_prefix(const struct json_place *place, const char *prefix)
{
    return environment_name_valid(prefix, strlen(prefix)) ||
           json_place_refuse(place, "must be the prefix of a variable's name");
}

static bool check_argument(const struct json_place *place, const char *argument)
{
    if (strlen(argument) > ARGUMENT_BYTES_LIMIT)
        return json_place_refuse(place, "must be at most %d bytes long", ARGUMENT_BYTES_LIMIT);
    if (strstr(argument, SECRET_NAME_PLACEHOLDER) && strcmp(argument, SECRET_NAME_PLACEHOLDER) != 0)
        return json_place_refuse(place,
                                 "\"" SECRET_NAME_PLACEHOLDER "\" must be a separate argument");
    return true;
}

static bool check_variable(const struct json_place *place, const char *name)
{
    return environment_name_valid(name, strlen(name)) ||
           json_place_refuse(place, "must be a variable's name");
}

static bool read_argv(const struct json_place *place, json_t *value, void *object)
{
    struct secret_provider *provider = object;
    if (!policy_read_strings(place, value, 2, check_argument, &provider->argv))
        return false;
    struct json_place program = json_place_item(place, 0);
    if (string_list_count(provider->argv) > ARGUMENTS_LIMIT)
        return json_place_refuse(place, "must have at most %d members", ARGUMENTS_LIMIT);
    if (!json_check_absolute_path(&program, provider->argv[0]))
        return false;
    return string_list_contains(provider->argv + 1, SECRET_NAME_PLACEHOLDER) ||
           json_place_refuse(place, "must have the argument \"" SECRET_NAME_PLACEHOLDER "\"");
}

static bool read_environment(const struct json_place *place, json_t *value, void *object)
{
    struct secret_provider *provider = object;
    return environment_read(place, value, ARGUMENTS_LIMIT, ARGUMENT_BYTES_LIMIT,
                            &provider->environment);
}

static const char *const provider_types[] = {
    [SECRET_PROVIDER_SYSTEMD] = "systemd",
    [SECRET_PROVIDER_FILES] = "files",
    [SECRET_PROVIDER_ENVIRONMENT] = "environment",
    [SECRET_PROVIDER_COMMAND] = "command",
    NULL,
};

#undef AT
#define AT(member) .offset = offsetof(struct secret_provider, member)
#define TYPE                                                      \
    {                                                             \
        "type", &member_choice, AT(kind), .names = provider_types \
    }

static const struct json_member systemd_members[] = {
    TYPE,
    {"directory", &member_text, AT(directory), 1, PATH_LIMIT, .optional = true,
     .check = json_check_absolute_path},
    {0},
};

static const struct json_member files_members[] = {
    TYPE,
    {"directory", &member_text, AT(directory), 1, PATH_LIMIT, .check = json_check_absolute_path},
    {"shared", &member_boolean, AT(shared), .optional = true},
    {"links", &member_boolean, AT(links), .optional = true},
    {0},
};

static const struct json_member environment_members[] = {
    TYPE,
    {"prefix", &member_text, AT(prefix), 1, ENVIRONMENT_NAME_LIMIT, .check = check_prefix},
    {0},
};

static const struct json_member command_members[] = {
    TYPE,
    {"argv", &policy_strings, AT(argv), .read = read_argv},
    {"environment", &policy_environment, AT(environment), .optional = true,
     .read = read_environment},
    {"inherit", &policy_strings, AT(inherit), .optional = true, .check = check_variable},
    {"timeout_ms", &member_uint64, AT(timeout_ms), 1, TIMEOUT_MS_LIMIT, .optional = true},
    {0},
};

/* A row a type; all of them together release what a provider owns. */
static const struct json_member members_of_types[] = {
    [SECRET_PROVIDER_SYSTEMD] = {"systemd", &member_object, .members = systemd_members},
    [SECRET_PROVIDER_FILES] = {"files", &member_object, .members = files_members},
    [SECRET_PROVIDER_ENVIRONMENT] = {"environment", &member_object, .members = environment_members},
    [SECRET_PROVIDER_COMMAND] = {"command", &member_object, .members = command_members},
    {0},
};

static bool read_provider(const struct json_place *place, json_t *value, void *item, void *object)
{
    static const struct json_member type = TYPE;
    struct secret_provider *provider = item;
    (void)object;
    provider->timeout_ms = TIMEOUT_MS_DEFAULT;
    return json_read_object(place, value) && json_read_member(place, value, &type, provider) &&
           json_read_members(place, value, members_of_types[provider->kind].members, provider);
}

static const struct json_items providers = {
    .size = sizeof(struct secret_provider),
    .count = offsetof(struct policy, secret_provider_count),
    .members = members_of_types,
    .read = read_provider,
};

static bool read_way(const struct json_place *place, const json_t *object, const char *name,
                     bool *ret_file)
{
    static const char *const ways[] = {"environment", "file", NULL};
    const struct json_member member = {name, &member_choice, .names = ways, .optional = true};
    unsigned way = *ret_file;
    if (!json_read_member(place, object, &member, &way))
        return false;
    *ret_file = way == 1;
    return true;
}

/* "*" is the way of every secret that is not named. */
static bool read_delivery(const struct json_place *place, json_t *value, void *object)
{
    struct policy *policy = object;
    if (!json_read_object(place, value))
        return false;
    if (json_object_size(value) > POLICY_LIST_LIMIT)
        return json_place_refuse(place, "must have at most %d members", POLICY_LIST_LIMIT);
    if (!read_way(place, value, ANY_SECRET, &policy->secrets_are_files))
        return false;
    policy->secrets_otherwise = string_list_new(json_object_size(value));
    if (!policy->secrets_otherwise)
        return json_place_out_of_memory(place);
    char **end = policy->secrets_otherwise;
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        struct json_place item = json_place_named(place, name);
        bool is_file = false;
        if (!check_secret(&item, name) || !read_way(place, value, name, &is_file))
            return false;
        if (strcmp(name, ANY_SECRET) != 0 && is_file != policy->secrets_are_files &&
            !json_copy_text(&item, name, end++))
            return false;
    }
    return true;
}

#undef AT
#define AT(member) .offset = offsetof(struct policy, member)

const struct json_member policy_secrets_members[] = {
    {"allowed", &policy_strings, AT(secrets), .check = check_secret},
    {"rules", &member_map, AT(secret_rules), .maximum = POLICY_LIST_LIMIT, .optional = true,
     .items = &rules},
    {"providers", &member_list, AT(secret_providers), .maximum = PROVIDERS_LIMIT, .optional = true,
     .items = &providers},
    {"delivery", &policy_strings, AT(secrets_otherwise), .optional = true, .read = read_delivery},
    {0},
};

bool policy_secret_is_file(const struct policy *policy, const char *name)
{
    return policy->secrets_are_files != string_list_contains(policy->secrets_otherwise, name);
}

bool policy_allows_secret(const struct policy *policy, const char *name)
{
    return string_list_contains(policy->secrets, ANY_SECRET) ||
           string_list_contains(policy->secrets, name);
}

const struct policy_secret *policy_find_secret(const struct policy *policy, const char *name)
{
    const struct policy_secret *any = NULL;
    for (size_t i = 0; i < policy->secret_rule_count; i++) {
        const struct policy_secret *secret = &policy->secret_rules[i];
        if (strcmp(secret->name, name) == 0)
            return secret;
        if (strcmp(secret->name, ANY_SECRET) == 0)
            any = secret;
    }
    return any;
}
