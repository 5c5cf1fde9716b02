/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's members, by a table: its sections, the simple ones whole, and the kinds of members
 * that all sections share. Pure code; runs in the gateway on the calling thread.
 */
#include "policy/policy_parse.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/path_form.h"
#include "base/string_list.h"
#include "protocol/checkpoint.h"
#include "protocol/layers.h"
#include "request/request.h"
#include "vocabulary/capability.h"
#include "vocabulary/environment.h"
#include "vocabulary/handle.h"
#include "vocabulary/language.h"

#define UID_MINIMUM        65536 /* below: the host's own users, nobody, and distributions' ranges */
#define UID_MAXIMUM        UINT32_C(4294967294) /* (uid_t)-1 means "unchanged" to the kernel */
#define RUNS_LIMIT         1024
#define SESSIONS_MOST      1024
#define CELLS_LIMIT        100000
#define ENDPOINTS_LIMIT    64
#define ENVIRONMENTS_LIMIT 32
#define QUEUED_LIMIT       4096 /* each holds its request, and a thread of the gateway */

#define FILE_PLACEHOLDER "{file}"

bool policy_check_view_path(const struct json_place *place, const char *path)
{
    static const char *const made_by_sandbox[] = {"/proc", "/sys", "/dev"};
    if (!json_check_absolute_path(place, path))
        return false;
    if (path[1] == '\0')
        return json_place_refuse(place, "the root directory cannot be shown");
    for (size_t i = 0; i < COUNT_OF(made_by_sandbox); i++) {
        if (path_is_within(path, made_by_sandbox[i]))
            return json_place_refuse(place, "the host's %s is never shown", made_by_sandbox[i]);
    }
    return true;
}

bool policy_is_plain_name(const char *name, const char *others)
{
    if (name[0] == '.' || name[0] == '-')
        return false;
    while (*name != '\0') {
        if (!ascii_is_alphanumeric(*name) && !strchr(others, *name))
            return false;
        name++;
    }
    return true;
}

bool policy_check_language(const struct json_place *place, const char *name)
{
    const struct language *language = language_find(name);
    if (language && strcmp(language->name, name) == 0)
        return true;
    return json_place_refuse(place, "unknown language");
}

bool policy_check_capability(const struct json_place *place, const char *name)
{
    if (capability_entry_valid(name))
        return true;
    return json_place_refuse(place, "unknown capability, or one without such a parameter");
}

bool policy_read_strings(const struct json_place *place, json_t *value, size_t minimum,
                         json_text_check *check, char ***ret)
{
    if (!json_read_array(place, value, minimum, POLICY_LIST_LIMIT))
        return false;
    CLEANUP(cleanup_string_list) char **list = string_list_new(json_array_size(value));
    if (!list)
        return json_place_out_of_memory(place);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item_place = json_place_item(place, i);
        const char *string;
        if (!json_read_string(&item_place, json_array_get(value, i), 1, POLICY_STRING_LIMIT,
                              &string) ||
            (check && !check(&item_place, string)) || !json_copy_text(place, string, &list[i]))
            return false;
    }
    *ret = TAKE_POINTER(list);
    return true;
}

bool policy_check_plain_name(const struct json_place *place, const char *name, const char *others)
{
    return policy_is_plain_name(name, others) ||
           json_place_refuse(place, "must be letters, digits and any of %s", others);
}

bool policy_check_secret_name(const struct json_place *place, const char *name)
{
    return handle_name_valid(name, strlen(name)) ||
           json_place_refuse(place, "must be a secret's name");
}

static bool read_strings(const struct json_place *place, json_t *value,
                         const struct json_member *member, void *target)
{
    return policy_read_strings(place, value, (size_t)member->minimum, member->check, target);
}

static bool read_argv(const struct json_place *place, json_t *value,
                      const struct json_member *member, void *target)
{
    char ***argv = target;
    (void)member;
    return policy_read_strings(place, value, 1, NULL, argv) &&
           (string_list_contains(*argv + 1, FILE_PLACEHOLDER) ||
            json_place_refuse(place, "must have the argument \"" FILE_PLACEHOLDER "\""));
}

static void clear_strings(const struct json_member *member, void *target)
{
    char ***list = target;
    (void)member;
    string_list_free(TAKE_POINTER(*list));
}

static bool read_environment(const struct json_place *place, json_t *value,
                             const struct json_member *member, void *target)
{
    (void)member;
    if (!value)
        return json_place_refuse(place, "missing");
    return environment_read(place, value, POLICY_LIST_LIMIT, POLICY_STRING_LIMIT, target);
}

static bool read_sha256(const struct json_place *place, json_t *value,
                        const struct json_member *member, void *target)
{
    const char *hash;
    (void)member;
    if (!json_read_string(place, value, 1, POLICY_STRING_LIMIT, &hash) ||
        !policy_check_sha256(place, hash))
        return false;
    memcpy(target, hash, SHA256_HEX_LENGTH + 1);
    return true;
}

const struct json_kind policy_strings = {.read = read_strings, .clear = clear_strings};
const struct json_kind policy_argv = {.read = read_argv, .clear = clear_strings};
const struct json_kind policy_environment = {.read = read_environment, .clear = clear_strings};
const struct json_kind policy_sha256 = {.read = read_sha256};

static bool check_description(const struct json_place *place, json_t *value, void *object)
{
    const char *text;
    (void)object;
    return json_read_string(place, value, 0, POLICY_STRING_LIMIT, &text);
}

static bool read_version(const struct json_place *place, json_t *value, void *object)
{
    int64_t version;
    (void)object;
    return json_read_integer(place, value, 1, 1, &version);
}

#define AT(member) .offset = offsetof(struct policy, member)

static uint64_t layer_bit(const char *name)
{
    for (size_t i = 0; i < LAYER_COUNT; i++) {
        if (strcmp(isolation_layer_name((enum isolation_layer)i), name) == 0)
            return LAYER_BIT(i);
    }
    return 0;
}

static bool check_layer(const struct json_place *place, const char *name)
{
    return layer_bit(name) != 0 || json_place_refuse(place, "unknown layer");
}

/* Elsewhere a machine decides. A variant never has some, so every run of it would be refused. */
static bool can_be_had(const struct json_place *place, const struct policy *policy,
                       const char *name)
{
    const struct sandbox_mode_row *row = sandbox_mode_row(policy->process_means);
    if (!row->variant_of || !policy->mode_allowed[policy->process_means] ||
        (row->possible_layers & layer_bit(name)) != 0)
        return true;
    return json_place_refuse(place, "%s cannot be had with \"%s.isolation\" \"%s\"", name,
                             row->variant_of->name, row->name);
}

static bool read_required_layers(const struct json_place *place, json_t *value, void *object)
{
    struct policy *policy = object;
    CLEANUP(cleanup_string_list) char **names = NULL;
    if (!policy_read_strings(place, value, 0, check_layer, &names))
        return false;
    for (size_t i = 0; names[i]; i++) {
        struct json_place item = json_place_item(place, i);
        if (!can_be_had(&item, policy, names[i]))
            return false;
        policy->required_layers |= layer_bit(names[i]);
    }
    return true;
}

/* Every run and every session at the same time has a uid of its own: the process limit is counted
 * by uid. */
static bool read_outer_uids(const struct json_place *place, json_t *value, void *object)
{
    static const struct json_member members[] = {
        {"first", &member_uint32, AT(outer_uid_base), UID_MINIMUM, UID_MAXIMUM},
        {.name = "count"},
        {0},
    };
    const struct policy *policy = object;
    struct json_member count = {"count", &member_uint32, AT(outer_uid_count)};
    if (!json_read_members(place, value, members, object))
        return false;
    count.minimum = (int64_t)(policy->max_runs + policy->sessions.max_total);
    count.maximum = (int64_t)UID_MAXIMUM - policy->outer_uid_base + 1;
    return json_read_member(place, value, &count, object);
}

static const struct json_member network[] = {
    {"allowed", &member_boolean, AT(network_allowed)},
    {0},
};

static const struct json_member workspace[] = {
    {"below", &policy_strings, AT(workspaces), .check = policy_check_view_path},
    {0},
};

static const struct json_member view[] = {
    {"read_only", &policy_strings, AT(read_only), 1, .check = policy_check_view_path},
    {0},
};

static const struct json_member sessions[] = {
    {"max_total", &member_uint64, AT(sessions.max_total), 0, SESSIONS_MOST},
    {"max_per_principal", &member_uint64, AT(sessions.max_per_principal), 1, SESSIONS_MOST},
    {"max_cells", &member_uint64, AT(sessions.max_cells), 1, CELLS_LIMIT},
    {"idle_ms", &member_uint64, AT(sessions.idle_ms), 1000, RUN_SESSION_LIMIT},
    {"age_ms", &member_uint64, AT(sessions.age_ms), 1000, RUN_SESSION_LIMIT},
    {"checkpoints", &member_uint64, AT(sessions.checkpoints), 0, CHECKPOINTS_MOST},
    {0},
};

/* In this order: process, require and approval look at modes, outer_uids at max_runs and sessions,
 * languages at limits, only_languages and memory_total_bytes at languages. */
const struct json_member policy_members[] = {
    {"version", .read = read_version},
    {"description", .optional = true, .read = check_description},
    {"modes", .read = policy_read_modes},
    {"process", &member_object, .members = policy_process_members},
    {"require", .read = read_required_layers},
    {"capabilities", &policy_strings, AT(capabilities), .check = policy_check_capability},
    {"approval", &member_object, .members = policy_approval_members},
    {"network", &member_object, .members = network},
    {"endpoints", &member_map, AT(endpoints), .maximum = ENDPOINTS_LIMIT,
     .items = &policy_endpoints},
    {"workspace", &member_object, .members = workspace},
    {"secrets", &member_object, .members = policy_secrets_members},
    {"limits", .read = policy_read_limits},
    {"files", &member_object, AT(transfers), .members = policy_files_members},
    {"results", &member_object, AT(transfers), .members = policy_results_members},
    {"max_runs", &member_uint64, AT(max_runs), 1, RUNS_LIMIT},
    {"max_queued", &member_uint64, AT(max_queued), 0, QUEUED_LIMIT},
    {"sessions", &member_object, .members = sessions},
    {"tools", &member_object, .members = policy_tools_members},
    {"pools", .read = policy_read_pools},
    {"outer_uids", .read = read_outer_uids},
    {"runtime_path", &policy_strings, AT(runtime_path), 1, .check = json_check_absolute_path},
    {"view", &member_object, .members = view},
    {"environment", &policy_environment, AT(environment)},
    {"environment_without_network", &policy_environment, AT(environment_without_network),
     .optional = true},
    {"languages", &member_map, AT(languages), .maximum = POLICY_LIST_LIMIT,
     .items = &policy_languages},
    {"environments_directory", &member_text, AT(environments_directory), 1, PATH_LIMIT,
     .check = policy_check_environments_directory},
    {"environments", &member_map, AT(environments), .maximum = ENVIRONMENTS_LIMIT,
     .items = &policy_environments},
    {"only_languages", .optional = true, .read = policy_read_only_languages},
    {"memory_total_bytes", .read = policy_read_memory_total},
    {"content_checks", &member_object, AT(content), .members = policy_content_members},
    {0},
};

/* The options of a variant are in the section of the other mode, which the table has. */
static bool has_section(const struct sandbox_mode_row *row)
{
    return row->read_options && !row->variant_of;
}

/* The sections of modes, which look at languages. */
static bool read_options(const struct json_place *root, json_t *merged, struct policy *policy)
{
    for (size_t i = 0; i < SANDBOX_MODE_COUNT; i++) {
        const struct sandbox_mode_row *row = sandbox_mode_row((enum sandbox_mode)i);
        struct json_place place = json_place_named(root, row->name);
        if (row->read_options && !row->read_options(&place, json_object_get(merged, row->name),
                                                    policy, &policy->options[i]))
            return false;
    }
    return true;
}

bool policy_parse(const struct json_place *root, json_t *merged, struct policy *policy)
{
    struct json_member members[COUNT_OF(policy_members) + SANDBOX_MODE_COUNT] = {0};
    size_t count = COUNT_OF(policy_members) - 1;
    memcpy(members, policy_members, sizeof(policy_members));
    for (size_t i = 0; i < SANDBOX_MODE_COUNT; i++)
        if (has_section(sandbox_mode_row((enum sandbox_mode)i)))
            members[count++].name = sandbox_mode_name((enum sandbox_mode)i);
    if (!json_read_members(root, merged, members, policy) || !read_options(root, merged, policy))
        return false;
    policy_bound_shapes(&policy->limits); /* languages may raise what is as the file has it */
    return true;
}
