/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's section "modes", names of modes everywhere else in it, and section "process", which
 * says what the name "process" means. Pure code; runs in the gateway on the calling thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "policy/policy_parse.h"

#define NAMES_LIMIT 128

static bool refuse_name(const struct json_place *place, bool with_variants)
{
    char names[NAMES_LIMIT] = "";
    for (size_t i = 0, length = 0; i < SANDBOX_MODE_COUNT; i++, length = strlen(names)) {
        const char *before = i + 1 == SANDBOX_MODE_COUNT ? " or " : ", ";
        if (with_variants || !sandbox_mode_row((enum sandbox_mode)i)->variant_of)
            (void)snprintf(names + length, sizeof(names) - length, "%s%s", i == 0 ? "" : before,
                           sandbox_mode_name((enum sandbox_mode)i));
    }
    return json_place_refuse(place, "must be %s", names);
}

bool policy_check_mode(const struct json_place *place, const char *name)
{
    enum sandbox_mode mode;
    return sandbox_mode_parse(name, &mode) || refuse_name(place, true);
}

/* A variant is not chosen by its name. */
static bool check_chosen_mode(const struct json_place *place, const char *name)
{
    enum sandbox_mode mode;
    if (!sandbox_mode_parse(name, &mode))
        return refuse_name(place, false);
    const struct sandbox_mode_row *of = sandbox_mode_row(mode)->variant_of;
    return !of || json_place_refuse(place,
                                    "is mode %s with another isolation: name \"%s\" here, and set "
                                    "\"%s.isolation\" to \"%s\"",
                                    of->name, of->name, of->name, name);
}

static bool read_mode(const struct json_place *place, json_t *value,
                      const struct json_member *member, void *target)
{
    const char *name;
    return json_read_string(place, value, 1, 16, &name) && member->check(place, name) &&
           sandbox_mode_parse(name, target);
}

const struct json_kind policy_mode = {.read = read_mode};

#define AT(member) .offset = offsetof(struct policy, member)

static bool read_allowed_modes(const struct json_place *place, json_t *value, void *object)
{
    struct policy *policy = object;
    CLEANUP(cleanup_string_list) char **allowed = NULL;
    if (!policy_read_strings(place, value, 1, check_chosen_mode, &allowed))
        return false;
    for (size_t i = 0; i < SANDBOX_MODE_COUNT; i++)
        policy->mode_allowed[i] =
            string_list_contains(allowed, sandbox_mode_name((enum sandbox_mode)i));
    return true;
}

bool policy_read_modes(const struct json_place *place, json_t *value, void *object)
{
    static const struct json_member members[] = {
        {"default", &policy_mode, AT(default_mode), .check = check_chosen_mode},
        {"allowed", .read = read_allowed_modes},
        {0},
    };
    const struct policy *policy = object;
    struct json_place default_place = json_place_named(place, "default");
    if (!json_read_members(place, value, members, object))
        return false;
    return policy->mode_allowed[policy->default_mode] ||
           json_place_refuse(&default_place, "is not in \"allowed\"");
}

static bool read_isolation(const struct json_place *place, json_t *value,
                           const struct json_member *member, void *target)
{
    static const char *const names[] = {"namespaces", "unprivileged", NULL};
    static const enum sandbox_mode modes[] = {SANDBOX_MODE_PROCESS, SANDBOX_MODE_UNPRIVILEGED};
    const char *name;
    unsigned choice;
    (void)member;
    if (!json_read_string(place, value, 1, 16, &name) || !json_choose(place, names, name, &choice))
        return false;
    *(enum sandbox_mode *)target = modes[choice];
    return true;
}

const struct json_kind policy_isolation = {.read = read_isolation};

static bool read_process_isolation(const struct json_place *place, json_t *value, void *object)
{
    struct policy *policy = object;
    if (!read_isolation(place, value, NULL, &policy->process_means))
        return false;
    enum sandbox_mode mode = policy->process_means;
    if (mode == SANDBOX_MODE_PROCESS)
        return true;
    policy->mode_allowed[mode] = policy->mode_allowed[SANDBOX_MODE_PROCESS];
    policy->mode_allowed[SANDBOX_MODE_PROCESS] = false;
    if (policy->default_mode == SANDBOX_MODE_PROCESS)
        policy->default_mode = mode;
    return true;
}

static bool check_scratch_directory(const struct json_place *place, const char *path)
{
    return path[0] == '\0' || json_check_absolute_path(place, path);
}

const struct json_member policy_process_members[] = {
    {"isolation", .read = read_process_isolation},
    {"scratch_directory", &member_text, AT(scratch_directory), 0, PATH_LIMIT,
     .check = check_scratch_directory},
    {0},
};

enum sandbox_mode policy_mode_named(const struct policy *policy, enum sandbox_mode mode)
{
    const struct sandbox_mode_row *means = sandbox_mode_row(policy->process_means);
    return means->variant_of == sandbox_mode_row(mode) ? policy->process_means : mode;
}

const struct sandbox_mode_row *policy_mode_row(const struct policy *policy, enum sandbox_mode mode)
{
    bool replaced = policy && policy->rows[mode]; /* a refused call may have no policy yet */
    return replaced ? policy->rows[mode] : sandbox_mode_row(mode);
}
