/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's section "environments": sets of packages, of what lock file each is built, and where
 * a build takes the packages from. Pure code; runs in the gateway on the calling thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"
#include "vocabulary/endpoint.h"
#include "vocabulary/language.h"

#define DESCRIPTION_LIMIT 512 /* bytes; a model reads it */
#define BYTES_LEAST       (INT64_C(1) << 20)
#define BYTES_MOST        (INT64_C(1) << 30) /* of the archive that a build leaves, too */
#define BYTES_USUAL       (UINT64_C(1) << 30)
#define INODES_LEAST      16
#define INODES_MOST       10000000
#define INODES_USUAL      200000

#define AT(member) .offset = offsetof(struct policy_environment, member)

static bool check_name(const struct json_place *place, const char *name)
{
    if (!endpoint_name_valid(name))
        return json_place_refuse(place,
                                 "must be an environment's name: a-z, 0-9 and \"-\", a letter "
                                 "first, at most %d bytes",
                                 ENDPOINT_NAME_LIMIT);
    return strcmp(name, ENVIRONMENT_SYSTEM) != 0 ||
           json_place_refuse(place, "this name means what the machine's interpreter has");
}

static bool check_module(const struct json_place *place, const char *name)
{
    return policy_check_plain_name(place, name, "._");
}

static bool read_language(const struct json_place *place, json_t *value, void *object)
{
    struct policy_environment *environment = object;
    const char *names[ENVIRONMENT_LANGUAGE_COUNT + 1] = {NULL};
    const char *name;
    for (unsigned i = 0; i < ENVIRONMENT_LANGUAGE_COUNT; i++)
        names[i] = environment_language_find(i)->language;
    return json_read_string(place, value, 1, SIZE_MAX, &name) &&
           json_choose(place, names, name, &environment->language);
}

static const struct json_member members[] = {
    {"language", .read = read_language},
    {"lock", &member_text, AT(lock), 1, PATH_LIMIT, .check = json_check_absolute_path},
    {"description", &member_text, AT(description), 0, DESCRIPTION_LIMIT, .optional = true,
     .check = json_check_no_control},
    {"prepare", &policy_strings, AT(prepare), .optional = true, .check = check_module},
    {"endpoints", &policy_strings, AT(endpoints), .optional = true,
     .check = policy_check_endpoint_name},
    {"wheelhouse", &member_text, AT(wheelhouse), 1, PATH_LIMIT, .optional = true,
     .check = policy_check_view_path},
    {"build_scripts", &member_boolean, AT(build_scripts), .optional = true},
    {"sha256", &policy_sha256, AT(sha256), .optional = true},
    {"bytes", &member_uint64, AT(bytes), BYTES_LEAST, BYTES_MOST, .optional = true},
    {"inodes", &member_uint64, AT(inodes), INODES_LEAST, INODES_MOST, .optional = true},
    {0},
};

static bool check_endpoints(const struct json_place *place, const struct policy *policy,
                            char *const *names)
{
    struct json_place list = json_place_named(place, "endpoints");
    for (size_t i = 0; names[i]; i++) {
        struct json_place item = json_place_item(&list, i);
        if (!policy_find_endpoint(policy, names[i]))
            return json_place_refuse(&item, "is not in \"endpoints\" of the policy");
    }
    return true;
}

/* What only some languages have. */
static bool check_whole(const struct json_place *place, const struct policy *policy,
                        const struct policy_environment *environment)
{
    const struct environment_language_row *row = environment_language_find(environment->language);
    struct json_place prepare = json_place_named(place, "prepare");
    struct json_place wheelhouse = json_place_named(place, "wheelhouse");
    if (!row->has_preparation && environment->prepare[0])
        return json_place_refuse(&prepare, "an interpreter of %s imports nothing beforehand",
                                 row->language);
    if (!row->has_wheelhouse && environment->wheelhouse)
        return json_place_refuse(&wheelhouse, "packages of %s come from endpoints alone",
                                 row->language);
    return check_endpoints(place, policy, environment->endpoints);
}

/* What is absent is empty, and never NULL. */
static bool complete(struct policy_environment *environment)
{
    if (!environment->description)
        environment->description = copy_bytes("", 0);
    if (!environment->prepare)
        environment->prepare = string_list_new(0);
    if (!environment->endpoints)
        environment->endpoints = string_list_new(0);
    return environment->description && environment->prepare && environment->endpoints;
}

static bool read_environment(const struct json_place *place, json_t *value, void *item,
                             void *object)
{
    struct policy_environment *environment = item;
    environment->bytes = BYTES_USUAL;
    environment->inodes = INODES_USUAL;
    if (!json_read_members(place, value, members, environment))
        return false;
    if (!complete(environment))
        return json_place_out_of_memory(place);
    return check_whole(place, object, environment);
}

const struct json_items policy_environments = {
    .size = sizeof(struct policy_environment),
    .count = offsetof(struct policy, environment_count),
    .name = offsetof(struct policy_environment, name),
    .check_name = check_name,
    .members = members,
    .read = read_environment,
};

/* A ":" separates directories where interpreters are told of them. */
bool policy_check_environments_directory(const struct json_place *place, const char *path)
{
    return policy_check_view_path(place, path) &&
           (!strchr(path, ':') || json_place_refuse(place, "must not have a \":\""));
}

const struct policy_environment *policy_find_environment(const struct policy *policy,
                                                         const char *name)
{
    for (size_t i = 0; i < policy->environment_count; i++)
        if (strcmp(policy->environments[i].name, name) == 0)
            return &policy->environments[i];
    return NULL;
}

char **policy_name_environments(const struct policy *policy)
{
    CLEANUP(cleanup_string_list) char **lines = string_list_new(0);
    for (size_t i = 0; lines && i < policy->environment_count; i++) {
        const struct policy_environment *environment = &policy->environments[i];
        char line[ENDPOINT_NAME_LIMIT + DESCRIPTION_LIMIT + 32];
        (void)snprintf(line, sizeof(line), "%s (%s): %s", environment->name,
                       environment_language_find(environment->language)->language,
                       environment->description);
        if (!string_list_append(&lines, line))
            return NULL;
    }
    return TAKE_POINTER(lines);
}
