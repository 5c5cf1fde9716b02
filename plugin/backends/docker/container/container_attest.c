/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the comparison of the container asked for and the one made: see container_config.h. */
#include "backends/docker/container/container_config.h"

#include <stdio.h>
#include <string.h>

#include "backends/guest_runs/container/engine_members.h"
#include "base/cleanup.h"

/* What an engine fills in by itself, and why it takes nothing from the isolation. */
static bool is_engines_choice(const char *name)
{
    static const char *const choices[] = {
        "Runtime",      /* the engine's default, where none is asked for */
        "ShmSize",      /* of a /dev/shm that IpcMode "none" does not mount */
        "ConsoleSize",  /* there is no terminal */
        "Isolation",    /* of Windows */
        "CgroupParent", /* where the engine keeps its groups */
    };
    for (size_t i = 0; i < COUNT_OF(choices); i++)
        if (strcmp(choices[i], name) == 0)
            return true;
    return false;
}

static bool report_difference(char *field, size_t size, const char *parent, const char *name)
{
    (void)snprintf(field, size, "%s%.60s", parent, name);
    return false;
}

/* Members asked for must be there; members not asked for must be empty. */
static bool compare_host(json_t *asked, json_t *made, char *field, size_t size)
{
    const char *name;
    json_t *value;
    if (!json_is_object(made))
        return report_difference(field, size, "", "HostConfig");
    json_object_foreach(asked, name, value)
    {
        if (!engine_members_are_same(value, json_object_get(made, name)))
            return report_difference(field, size, "HostConfig.", name);
    }
    json_object_foreach(made, name, value)
    {
        if (!json_object_get(asked, name) && !engine_member_is_empty(value) &&
            !is_engines_choice(name))
            return report_difference(field, size, "HostConfig.", name);
    }
    return true;
}

/* Where the image has a HEALTHCHECK with options, engines write its times and retries beside the
 * "NONE" that was asked for. They have no effect. */
static bool has_no_health_check(const json_t *asked, json_t *made)
{
    const char *name;
    json_t *value;
    if (!engine_members_are_same(json_object_get(asked, "Test"), json_object_get(made, "Test")))
        return false;
    json_object_foreach(made, name, value)
    {
        if (strcmp(name, "Test") != 0 && !json_is_integer(value))
            return false;
    }
    return true;
}

/* Labels, environment and exposed ports also come from the image, which the operator chose. Our
 * labels must be there; the other members have no effect on the isolation. */
static bool compare_config(const json_t *asked, const json_t *made, char *field, size_t size)
{
    static const char *const members[] = {
        "User", "Hostname",  "Domainname", "WorkingDir", "Entrypoint",      "Cmd",
        "Tty",  "OpenStdin", "StdinOnce",  "Volumes",    "NetworkDisabled",
    };
    if (!json_is_object(made))
        return report_difference(field, size, "", "Config");
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (!engine_members_are_same(json_object_get(asked, members[i]),
                                     json_object_get(made, members[i])))
            return report_difference(field, size, "Config.", members[i]);
    if (!has_no_health_check(json_object_get(asked, "Healthcheck"),
                             json_object_get(made, "Healthcheck")))
        return report_difference(field, size, "Config.", "Healthcheck");
    const char *name;
    json_t *label;
    const json_t *labels = json_object_get(made, "Labels");
    json_object_foreach(json_object_get(asked, "Labels"), name, label)
    {
        if (!json_equal(label, json_object_get(labels, name)))
            return report_difference(field, size, "Config.Labels.", name);
    }
    return true;
}

bool container_attest(const json_t *asked, const json_t *made, char *field, size_t size)
{
    json_t *host = json_object_get(asked, "HostConfig");
    if (!engine_members_are_same(json_object_get(asked, "Image"), json_object_get(made, "Image")))
        return report_difference(field, size, "", "Image");
    if (!engine_member_is_empty(json_object_get(made, "ExecIDs")))
        return report_difference(field, size, "", "ExecIDs");
    if (!engine_member_is_empty(json_object_get(made, "Mounts")))
        return report_difference(field, size, "", "Mounts");
    return compare_config(asked, json_object_get(made, "Config"), field, size) &&
           compare_host(host, json_object_get(made, "HostConfig"), field, size);
}
