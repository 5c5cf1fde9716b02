/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's docker section: which engine, which runtime. Pure code; runs in the gateway on the
 * calling thread.
 */
#include <stdlib.h>

#include "policy/policy_parse.h"

/* The backend decides whether it can be used. Here it only must have no blank and no control
 * character. */
static bool read_host(const struct json_place *place, const json_t *value, char **ret)
{
    const char *host;
    if (!value)
        return true;
    if (!json_read_string(place, value, 1, RUN_HOST_LIMIT, &host))
        return false;
    for (const char *c = host; *c != '\0'; c++) {
        if (*c <= ' ' || *c >= 0x7F)
            return json_place_refuse(place, "must be printable ASCII without blanks");
    }
    return json_copy_text(place, host, ret);
}

static bool read_name(const struct json_place *place, const json_t *value, char **ret)
{
    const char *name;
    if (!value)
        return true;
    if (!json_read_string(place, value, 1, RUN_NAME_LIMIT, &name))
        return false;
    if (!policy_is_plain_name(name, "._+-"))
        return json_place_refuse(place, "must be letters, digits and any of ._+-");
    return json_copy_text(place, name, ret);
}

static bool read_directory(const struct json_place *place, const json_t *value, char **ret)
{
    const char *path;
    if (!value)
        return true;
    return json_read_string(place, value, 1, POLICY_STRING_LIMIT, &path) &&
           policy_check_path(place, path) && json_copy_text(place, path, ret);
}

bool policy_read_docker(const struct json_place *place, json_t *value, void *object)
{
    static const char *const members[] = {"host",           "context", "certificates",
                                          "require_digest", "pull",    "runtime",
                                          "images",         "offered", NULL};
    struct policy *policy = object;
    struct policy_docker *docker = &policy->docker;
    struct json_place host = json_place_named(place, "host");
    struct json_place context = json_place_named(place, "context");
    struct json_place certificates = json_place_named(place, "certificates");
    struct json_place runtime = json_place_named(place, "runtime");
    return json_read_known_members(place, value, members) &&
           read_host(&host, json_object_get(value, "host"), &docker->host) &&
           read_name(&context, json_object_get(value, "context"), &docker->context) &&
           read_directory(&certificates, json_object_get(value, "certificates"),
                          &docker->certificates) &&
           read_name(&runtime, json_object_get(value, "runtime"), &docker->runtime) &&
           policy_read_images(place, value, policy);
}

void policy_docker_clear(struct policy_docker *docker)
{
    free(docker->host);
    free(docker->context);
    free(docker->config_directory);
    free(docker->certificates);
    free(docker->runtime);
}
