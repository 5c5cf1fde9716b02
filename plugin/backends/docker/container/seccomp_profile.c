/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the making of the container's seccomp profile: see seccomp_profile.h. */
#include "backends/docker/container/seccomp_profile.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

extern const char profile_process_begin[];
extern const char profile_process_end[];
extern const char profile_docker_begin[];
extern const char profile_docker_end[];
__asm__(".section .rodata\n"
        ".global profile_process_begin\n"
        ".global profile_process_end\n"
        ".global profile_docker_begin\n"
        ".global profile_docker_end\n"
        "profile_process_begin:\n"
        ".incbin \"" SECCOMP_LIST_FILE "\"\n"
        "profile_process_end:\n"
        ".byte 0\n"
        "profile_docker_begin:\n"
        ".incbin \"" SECCOMP_DOCKER_FILE "\"\n"
        "profile_docker_end:\n"
        ".byte 0\n"
        ".previous\n");

static json_t *load_list(const char *begin, const char *end)
{
    return json_loadb(begin, (size_t)(end - begin), JSON_REJECT_DUPLICATES, NULL);
}

/* {"argument", "equals", "mask"?} in the engine's words. */
static json_t *test_json(const json_t *test)
{
    json_int_t argument = json_integer_value(json_object_get(test, "argument"));
    json_int_t equals = json_integer_value(json_object_get(test, "equals"));
    const json_t *mask = json_object_get(test, "mask");
    if (mask)
        return json_pack("{s:I, s:I, s:I, s:s}", "index", argument, "value",
                         json_integer_value(mask), "valueTwo", equals, "op", "SCMP_CMP_MASKED_EQ");
    return json_pack("{s:I, s:I, s:s}", "index", argument, "value", equals, "op", "SCMP_CMP_EQ");
}

static json_t *tests_json(const json_t *alternative)
{
    json_auto_t *tests = json_array();
    size_t i;
    const json_t *test;
    json_array_foreach(alternative, i, test)
    {
        if (json_array_append_new(tests, test_json(test)) != 0)
            return NULL;
    }
    return TAKE_POINTER(tests);
}

static bool group_names_call(const json_t *group, const char *call)
{
    size_t i;
    const json_t *name;
    json_array_foreach(json_object_get(group, "syscalls"), i, name)
    {
        if (strcmp(json_string_value(name), call) == 0)
            return true;
    }
    return false;
}

static bool names_call(const json_t *groups, const char *call)
{
    size_t i;
    const json_t *group;
    json_array_foreach(groups, i, group)
    {
        if (group_names_call(group, call))
            return true;
    }
    return false;
}

/* The group's calls but those that another list takes over (NULL: none). */
static json_t *names_json(const json_t *group, const json_t *instead)
{
    json_auto_t *names = json_array();
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(group, "syscalls"), i, name)
    {
        if (!names_call(instead, json_string_value(name)) && json_array_append(names, name) != 0)
            return NULL;
    }
    return TAKE_POINTER(names);
}

/* One rule for each alternative of the group's condition; one in all without a condition. */
static bool add_group(json_t *rules, const json_t *group, const json_t *instead, const char *action,
                      int error)
{
    const json_t *when = json_object_get(group, "when");
    size_t count = when ? json_array_size(when) : 1;
    for (size_t i = 0; i < count; i++) {
        json_t *tests = when ? tests_json(json_array_get(when, i)) : json_array();
        json_auto_t *rule = json_pack("{s:o, s:s, s:o}", "names", names_json(group, instead),
                                      "action", action, "args", tests);
        if (!rule)
            return false;
        if (error && json_object_set_new(rule, "errnoRet", json_integer(error)) != 0)
            return false;
        if (json_array_append(rules, rule) != 0)
            return false;
    }
    return true;
}

/* A group may be for runs with, or for runs without a network only. */
static bool is_for(const json_t *group, bool network)
{
    const json_t *variant = json_object_get(group, "network");
    return !variant || json_is_true(variant) == network;
}

static bool add_groups(json_t *rules, const json_t *groups, const json_t *instead, bool network,
                       const char *action, int error)
{
    size_t i;
    const json_t *group;
    if (json_array_size(groups) == 0)
        return false;
    json_array_foreach(groups, i, group)
    {
        if (is_for(group, network) && !add_group(rules, group, instead, action, error))
            return false;
    }
    return true;
}

static json_t *rules_json(const json_t *process, const json_t *docker, bool network)
{
    json_auto_t *rules = json_array();
    const json_t *instead = json_object_get(docker, "instead");
    const struct {
        const json_t *groups;
        const json_t *instead;
        const char *action;
        int error;
    } lists[] = {
        {json_object_get(process, "allow"), instead, "SCMP_ACT_ALLOW", 0},
        {instead, NULL, "SCMP_ACT_ALLOW", 0},
        {json_object_get(process, "refuse"), NULL, "SCMP_ACT_ERRNO", EPERM},
        {json_object_get(docker, "absent"), NULL, "SCMP_ACT_ERRNO", ENOSYS},
        {json_object_get(process, "kill"), NULL, "SCMP_ACT_KILL_PROCESS", 0},
    };
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        if (!add_groups(rules, lists[i].groups, lists[i].instead, network, lists[i].action,
                        lists[i].error))
            return NULL;
    return TAKE_POINTER(rules);
}

char *seccomp_profile_text(bool network)
{
    json_auto_t *process = load_list(profile_process_begin, profile_process_end);
    json_auto_t *docker = load_list(profile_docker_begin, profile_docker_end);
    /* The engine takes the entry of its own machine, which may be another than this one. */
    json_auto_t *profile =
        json_pack("{s:s, s:i, s:[{s:s, s:[]}, {s:s, s:[]}], s:o}", "defaultAction",
                  "SCMP_ACT_ERRNO", "defaultErrnoRet", ENOSYS, "archMap", "architecture",
                  "SCMP_ARCH_X86_64", "subArchitectures", "architecture", "SCMP_ARCH_AARCH64",
                  "subArchitectures", "syscalls", rules_json(process, docker, network));
    return profile ? json_dumps(profile, JSON_COMPACT) : NULL;
}
