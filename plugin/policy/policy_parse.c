/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's top level and its simple sections. Pure code; runs in the gateway on the calling
 * thread.
 */
#include "policy/policy_parse.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "protocol/layers.h"
#include "vocabulary/capability.h"
#include "vocabulary/environment.h"
#include "vocabulary/language.h"

#define UID_MINIMUM  65536 /* below: the host's own users, nobody, and distributions' ranges */
#define UID_MAXIMUM  UINT32_C(4294967294) /* (uid_t)-1 means "unchanged" to the kernel */
#define RUNS_LIMIT   1024
#define QUEUED_LIMIT 4096 /* each holds its request, and a thread of the gateway */

bool policy_check_path(const struct json_place *place, const char *path)
{
    if (path[0] != '/')
        return json_place_refuse(place, "must be an absolute path");
    if (strlen(path) > POLICY_PATH_LIMIT)
        return json_place_refuse(place, "must be at most %d bytes long", POLICY_PATH_LIMIT);
    for (const char *c = path; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            return json_place_refuse(place, "must not hold control characters");
    }
    for (const char *part = path + 1; path[1] != '\0';) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length <= 2 && strspn(part, ".") >= length))
            return json_place_refuse(place, "must not have empty, \".\" or \"..\" parts");
        if (part[length] == '\0')
            break;
        part += length + 1;
    }
    return true;
}

bool policy_check_view_path(const struct json_place *place, const char *path)
{
    static const char *const made_by_sandbox[] = {"/proc", "/sys", "/dev"};
    if (!policy_check_path(place, path))
        return false;
    if (path[1] == '\0')
        return json_place_refuse(place, "the root directory cannot be shown");
    for (size_t i = 0; i < COUNT_OF(made_by_sandbox); i++) {
        size_t length = strlen(made_by_sandbox[i]);
        if (strncmp(path, made_by_sandbox[i], length) == 0 &&
            (path[length] == '\0' || path[length] == '/'))
            return json_place_refuse(place, "the host's %s is never shown", made_by_sandbox[i]);
    }
    return true;
}

bool policy_choose(const char *name, const char *const *names, size_t count, size_t *ret)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

bool policy_is_plain_name(const char *name, const char *others)
{
    static const char alphanumeric[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    if (name[0] == '.' || name[0] == '-')
        return false;
    while (*name != '\0') {
        if (!strchr(alphanumeric, *name) && !strchr(others, *name))
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

static bool read_mode(const struct json_place *place, const char *name, enum sandbox_mode *ret)
{
    if (sandbox_mode_parse(name, ret))
        return true;
    return json_place_refuse(place, "must be docker, process or none");
}

bool policy_check_mode(const struct json_place *place, const char *name)
{
    enum sandbox_mode mode;
    return read_mode(place, name, &mode);
}

bool policy_check_capability(const struct json_place *place, const char *name)
{
    if (capability_entry_valid(name))
        return true;
    return json_place_refuse(place, "unknown capability, or one without such a parameter");
}

bool policy_copy_text(const struct json_place *place, const char *text, char **ret)
{
    *ret = copy_bytes(text, strlen(text));
    if (*ret)
        return true;
    return json_place_out_of_memory(place);
}

bool policy_read_strings(const struct json_place *place, json_t *value, size_t minimum,
                         policy_string_check *check, char ***ret)
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
            (check && !check(&item_place, string)) || !policy_copy_text(place, string, &list[i]))
            return false;
    }
    *ret = TAKE_POINTER(list);
    return true;
}

bool policy_read_optional_strings(const struct json_place *place, json_t *value,
                                  policy_string_check *check, char ***ret)
{
    if (value)
        return policy_read_strings(place, value, 0, check, ret);
    *ret = string_list_new(0);
    if (*ret)
        return true;
    return json_place_out_of_memory(place);
}

static bool parse_version(const struct json_place *place, json_t *value, struct policy *policy)
{
    (void)policy;
    int64_t version;
    return json_read_integer(place, value, 1, 1, &version);
}

static bool parse_description(const struct json_place *place, json_t *value, struct policy *policy)
{
    (void)policy;
    const char *text;
    return !value || json_read_string(place, value, 0, POLICY_STRING_LIMIT, &text);
}

static bool parse_modes(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"default", "allowed", NULL};
    const char *default_name;

    if (!json_read_known_members(place, value, members))
        return false;
    struct json_place default_place = json_place_named(place, "default");
    struct json_place allowed_place = json_place_named(place, "allowed");
    CLEANUP(cleanup_string_list) char **allowed = NULL;
    if (!json_read_string(&default_place, json_object_get(value, "default"), 1, 16,
                          &default_name) ||
        !read_mode(&default_place, default_name, &policy->default_mode) ||
        !policy_read_strings(&allowed_place, json_object_get(value, "allowed"), 1,
                             policy_check_mode, &allowed))
        return false;
    for (size_t i = 0; i < SANDBOX_MODE_COUNT; i++)
        policy->mode_allowed[i] =
            string_list_contains(allowed, sandbox_mode_name((enum sandbox_mode)i));
    if (policy->mode_allowed[policy->default_mode])
        return true;
    return json_place_refuse(&default_place, "is not in \"allowed\"");
}

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
    if (layer_bit(name) != 0)
        return true;
    return json_place_refuse(place, "unknown layer");
}

static bool parse_require(const struct json_place *place, json_t *value, struct policy *policy)
{
    CLEANUP(cleanup_string_list) char **names = NULL;
    if (!policy_read_strings(place, value, 0, check_layer, &names))
        return false;
    for (char **name = names; *name; name++)
        policy->required_layers |= layer_bit(*name);
    return true;
}

static bool parse_capabilities(const struct json_place *place, json_t *value, struct policy *policy)
{
    return policy_read_strings(place, value, 0, policy_check_capability, &policy->capabilities);
}

static bool parse_network(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"allowed", NULL};
    struct json_place allowed = json_place_named(place, "allowed");
    return json_read_known_members(place, value, members) &&
           json_read_boolean(&allowed, json_object_get(value, "allowed"), &policy->network_allowed);
}

/* Directories below which a gateway's workspace may be. */
static bool parse_workspace(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"below", NULL};
    struct json_place below = json_place_named(place, "below");
    return json_read_known_members(place, value, members) &&
           policy_read_strings(&below, json_object_get(value, "below"), 0, policy_check_view_path,
                               &policy->workspaces);
}

static bool parse_max_runs(const struct json_place *place, json_t *value, struct policy *policy)
{
    int64_t count;
    if (!json_read_integer(place, value, 1, RUNS_LIMIT, &count))
        return false;
    policy->max_runs = (uint64_t)count;
    return true;
}

static bool parse_max_queued(const struct json_place *place, json_t *value, struct policy *policy)
{
    int64_t count;
    if (!json_read_integer(place, value, 0, QUEUED_LIMIT, &count))
        return false;
    policy->max_queued = (uint64_t)count;
    return true;
}

static bool parse_outer_uids(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"first", "count", NULL};
    struct json_place first_place = json_place_named(place, "first");
    struct json_place count_place = json_place_named(place, "count");
    int64_t first;
    int64_t count;

    if (!json_read_known_members(place, value, members) ||
        !json_read_integer(&first_place, json_object_get(value, "first"), UID_MINIMUM, UID_MAXIMUM,
                           &first))
        return false;
    /* Every run at the same time has a uid of its own: the process limit is counted by uid. */
    if (!json_read_integer(&count_place, json_object_get(value, "count"), (int64_t)policy->max_runs,
                           UID_MAXIMUM - first + 1, &count))
        return false;
    policy->outer_uid_base = (uint32_t)first;
    policy->outer_uid_count = (uint32_t)count;
    return true;
}

static bool parse_runtime_path(const struct json_place *place, json_t *value, struct policy *policy)
{
    return policy_read_strings(place, value, 1, policy_check_path, &policy->runtime_path);
}

static bool parse_view(const struct json_place *place, json_t *value, struct policy *policy)
{
    static const char *const members[] = {"read_only", NULL};
    struct json_place paths = json_place_named(place, "read_only");
    return json_read_known_members(place, value, members) &&
           policy_read_strings(&paths, json_object_get(value, "read_only"), 1,
                               policy_check_view_path, &policy->read_only);
}

static bool parse_environment(const struct json_place *place, json_t *value, struct policy *policy)
{
    if (!value)
        return json_place_refuse(place, "missing");
    return environment_read(place, value, POLICY_LIST_LIMIT, POLICY_STRING_LIMIT,
                            &policy->environment);
}

/* Absent: none. */
static bool parse_environment_without_network(const struct json_place *place, json_t *value,
                                              struct policy *policy)
{
    return !value || environment_read(place, value, POLICY_LIST_LIMIT, POLICY_STRING_LIMIT,
                                      &policy->environment_without_network);
}

typedef bool section_parser(const struct json_place *place, json_t *value, struct policy *policy);

/* Read in this order: approval looks at modes, outer_uids at max_runs, languages at limits,
 * only_languages, memory_total_bytes and docker at languages. */
static const struct {
    const char *name;
    section_parser *parse;
} sections[] = {
    {"version", parse_version},
    {"description", parse_description},
    {"modes", parse_modes},
    {"require", parse_require},
    {"capabilities", parse_capabilities},
    {"approval", policy_parse_approval},
    {"network", parse_network},
    {"workspace", parse_workspace},
    {"secrets", policy_parse_secrets},
    {"limits", policy_parse_limits},
    {"max_runs", parse_max_runs},
    {"max_queued", parse_max_queued},
    {"pools", policy_parse_pools},
    {"outer_uids", parse_outer_uids},
    {"runtime_path", parse_runtime_path},
    {"view", parse_view},
    {"environment", parse_environment},
    {"environment_without_network", parse_environment_without_network},
    {"languages", policy_parse_languages},
    {"only_languages", policy_parse_only_languages},
    {"memory_total_bytes", policy_parse_memory_total},
    {"docker", policy_parse_docker},
    {"content_checks", policy_parse_content},
};

bool policy_parse(const struct json_place *root, json_t *merged, struct policy *policy)
{
    const char *names[COUNT_OF(sections) + 1] = {NULL};
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        names[i] = sections[i].name;
    if (!json_read_known_members(root, merged, names))
        return false;
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        struct json_place place = json_place_named(root, sections[i].name);
        if (!sections[i].parse(&place, json_object_get(merged, sections[i].name), policy))
            return false;
    }
    return true;
}
