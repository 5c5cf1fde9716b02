/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's "secrets": {"providers", "delivery"}: the sources of secrets that the host does not
 * have, and how a secret reaches the program. Pure code; runs in the gateway on the calling thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"
#include "secrets/secret_provider.h"
#include "vocabulary/environment.h"
#include "vocabulary/handle.h"

#define PROVIDERS_LIMIT      16
#define ARGUMENTS_LIMIT      64
#define ARGUMENT_BYTES_LIMIT 1024
#define TIMEOUT_MS_DEFAULT   10000
#define TIMEOUT_MS_LIMIT     120000

static bool read_optional_boolean(const struct json_place *place, const json_t *value, bool *ret)
{
    return !value || json_read_boolean(place, value, ret);
}

static bool read_directory(const struct json_place *place, json_t *value,
                           struct secret_provider *provider)
{
    struct json_place directory = json_place_named(place, "directory");
    const char *path;
    return json_read_string(&directory, json_object_get(value, "directory"), 1, POLICY_PATH_LIMIT,
                            &path) &&
           policy_check_path(&directory, path) &&
           policy_copy_text(&directory, path, &provider->directory);
}

static bool read_systemd(const struct json_place *place, json_t *value,
                         struct secret_provider *provider)
{
    static const char *const members[] = {"type", "directory", NULL};
    return json_read_known_members(place, value, members) &&
           (!json_object_get(value, "directory") || read_directory(place, value, provider));
}

static bool read_files(const struct json_place *place, json_t *value,
                       struct secret_provider *provider)
{
    static const char *const members[] = {"type", "directory", "shared", "links", NULL};
    struct json_place shared = json_place_named(place, "shared");
    struct json_place links = json_place_named(place, "links");
    return json_read_known_members(place, value, members) &&
           read_directory(place, value, provider) &&
           read_optional_boolean(&shared, json_object_get(value, "shared"), &provider->shared) &&
           read_optional_boolean(&links, json_object_get(value, "links"), &provider->links);
}

/* Never the empty prefix: that would offer every variable of the gateway. */
static bool read_environment(const struct json_place *place, json_t *value,
                             struct secret_provider *provider)
{
    static const char *const members[] = {"type", "prefix", NULL};
    struct json_place prefix_place = json_place_named(place, "prefix");
    const char *prefix;
    if (!json_read_known_members(place, value, members) ||
        !json_read_string(&prefix_place, json_object_get(value, "prefix"), 1,
                          ENVIRONMENT_NAME_LIMIT, &prefix))
        return false;
    if (!environment_name_valid(prefix, strlen(prefix)))
        return json_place_refuse(&prefix_place, "must be the prefix of a variable's name");
    return policy_copy_text(&prefix_place, prefix, &provider->prefix);
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
    if (!environment_name_valid(name, strlen(name)))
        return json_place_refuse(place, "must be a variable's name");
    return true;
}

static bool read_argv(const struct json_place *place, json_t *value,
                      struct secret_provider *provider)
{
    if (!policy_read_strings(place, value, 2, check_argument, &provider->argv))
        return false;
    struct json_place program = json_place_item(place, 0);
    if (string_list_count(provider->argv) > ARGUMENTS_LIMIT)
        return json_place_refuse(place, "must have at most %d members", ARGUMENTS_LIMIT);
    if (!policy_check_path(&program, provider->argv[0]))
        return false;
    if (!string_list_contains(provider->argv + 1, SECRET_NAME_PLACEHOLDER))
        return json_place_refuse(place, "must have the argument \"" SECRET_NAME_PLACEHOLDER "\"");
    return true;
}

static bool read_timeout(const struct json_place *place, const json_t *value,
                         struct secret_provider *provider)
{
    int64_t timeout_ms = TIMEOUT_MS_DEFAULT;
    if (value && !json_read_integer(place, value, 1, TIMEOUT_MS_LIMIT, &timeout_ms))
        return false;
    provider->timeout_ms = (uint64_t)timeout_ms;
    return true;
}

static bool read_command(const struct json_place *place, json_t *value,
                         struct secret_provider *provider)
{
    static const char *const members[] = {"type",    "argv",       "environment",
                                          "inherit", "timeout_ms", NULL};
    struct json_place argv = json_place_named(place, "argv");
    struct json_place environment = json_place_named(place, "environment");
    struct json_place inherit = json_place_named(place, "inherit");
    struct json_place timeout = json_place_named(place, "timeout_ms");
    json_t *variables = json_object_get(value, "environment");
    return json_read_known_members(place, value, members) &&
           read_argv(&argv, json_object_get(value, "argv"), provider) &&
           (!variables || environment_read(&environment, variables, ARGUMENTS_LIMIT,
                                           ARGUMENT_BYTES_LIMIT, &provider->environment)) &&
           policy_read_optional_strings(&inherit, json_object_get(value, "inherit"), check_variable,
                                        &provider->inherit) &&
           read_timeout(&timeout, json_object_get(value, "timeout_ms"), provider);
}

static bool read_provider(const struct json_place *place, json_t *value,
                          struct secret_provider *provider)
{
    static const char *const types[] = {
        [SECRET_PROVIDER_SYSTEMD] = "systemd",
        [SECRET_PROVIDER_FILES] = "files",
        [SECRET_PROVIDER_ENVIRONMENT] = "environment",
        [SECRET_PROVIDER_COMMAND] = "command",
    };
    static bool (*const readers[])(const struct json_place *, json_t *,
                                   struct secret_provider *) = {
        [SECRET_PROVIDER_SYSTEMD] = read_systemd,
        [SECRET_PROVIDER_FILES] = read_files,
        [SECRET_PROVIDER_ENVIRONMENT] = read_environment,
        [SECRET_PROVIDER_COMMAND] = read_command,
    };
    struct json_place type_place = json_place_named(place, "type");
    const char *type;
    size_t kind;
    if (!json_read_object(place, value) ||
        !json_read_string(&type_place, json_object_get(value, "type"), 1, 32, &type))
        return false;
    if (!policy_choose(type, types, COUNT_OF(types), &kind))
        return json_place_refuse(&type_place, "must be systemd, files, environment or command");
    provider->kind = (enum secret_provider_kind)kind;
    return readers[kind](place, value, provider);
}

bool policy_read_secret_providers(const struct json_place *place, json_t *value,
                                  struct policy *policy)
{
    if (!value)
        return true;
    if (!json_read_array(place, value, 0, PROVIDERS_LIMIT))
        return false;
    policy->secret_providers =
        calloc(json_array_size(value) + 1, sizeof(*policy->secret_providers));
    if (!policy->secret_providers)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item = json_place_item(place, i);
        /* Counted first: a half-read one is the policy's to free. */
        struct secret_provider *provider =
            &policy->secret_providers[policy->secret_provider_count++];
        if (!read_provider(&item, json_array_get(value, i), provider))
            return false;
    }
    return true;
}

void policy_secret_providers_free(struct secret_provider *providers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(providers[i].directory);
        free(providers[i].prefix);
        string_list_free(providers[i].argv);
        string_list_free(providers[i].environment);
        string_list_free(providers[i].inherit);
    }
    free(providers);
}

static bool read_way(const struct json_place *place, const json_t *value, bool *ret_file)
{
    static const char *const ways[] = {"environment", "file"};
    const char *way;
    size_t index;
    if (!json_read_string(place, value, 1, 32, &way))
        return false;
    if (!policy_choose(way, ways, COUNT_OF(ways), &index))
        return json_place_refuse(place, "must be environment or file");
    *ret_file = index == 1;
    return true;
}

bool policy_read_secret_delivery(const struct json_place *place, json_t *value,
                                 struct policy *policy)
{
    if (!value)
        return true;
    struct json_place any = json_place_named(place, "*");
    if (!json_read_object(place, value))
        return false;
    if (json_object_size(value) > POLICY_LIST_LIMIT)
        return json_place_refuse(place, "must have at most %d members", POLICY_LIST_LIMIT);
    if (json_object_get(value, "*") &&
        !read_way(&any, json_object_get(value, "*"), &policy->secrets_are_files))
        return false;
    policy->secrets_otherwise = string_list_new(json_object_size(value));
    if (!policy->secrets_otherwise)
        return json_place_out_of_memory(place);
    char **end = policy->secrets_otherwise;
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        struct json_place item = json_place_named(place, name);
        bool is_file;
        if (strcmp(name, "*") == 0)
            continue;
        if (!handle_name_valid(name, strlen(name)))
            return json_place_refuse(&item, "must be a secret's name or \"*\"");
        if (!read_way(&item, json_object_iter_value(at), &is_file))
            return false;
        if (is_file != policy->secrets_are_files && !policy_copy_text(&item, name, end++))
            return false;
    }
    return true;
}

bool policy_secret_is_file(const struct policy *policy, const char *name)
{
    return policy->secrets_are_files != string_list_contains(policy->secrets_otherwise, name);
}
