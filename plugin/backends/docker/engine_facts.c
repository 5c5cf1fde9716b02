/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the judgement on the engine and its images: see engine_facts.h. */
#include "engine_facts.h"

#include <stdio.h>
#include <string.h>

#include "../../cleanup.h"

#define ID_PREFIX "sha256:"

/* "1.N"; 0 for anything else. */
static unsigned int minor_version(const json_t *value)
{
    const char *text = json_string_value(value);
    unsigned int minor = 0;
    if (!text || strncmp(text, "1.", 2) != 0 || text[2] == '\0')
        return 0;
    for (text += 2; *text; text++) {
        if (*text < '0' || *text > '9' || minor > 1000)
            return 0;
        minor = minor * 10 + (unsigned int)(*text - '0');
    }
    return minor;
}

bool engine_facts_of_version(const json_t *version, struct engine_facts *ret,
                             struct engine_fault *fault)
{
    unsigned int newest = minor_version(json_object_get(version, "ApiVersion"));
    unsigned int oldest = minor_version(json_object_get(version, "MinAPIVersion"));
    if (newest == 0) {
        engine_fault_set(fault, ENGINE_PROBLEM_SILENT, "what answers is not a Docker engine");
        return false;
    }
    if (newest < ENGINE_API_MINIMUM) {
        engine_fault_set(fault, ENGINE_PROBLEM_API_TOO_OLD,
                         "docker is too old: its API is 1.%u, 1.%d is needed", newest,
                         ENGINE_API_MINIMUM);
        return false;
    }
    ret->api = newest < ENGINE_API_MAXIMUM ? newest : ENGINE_API_MAXIMUM;
    /* A newer engine may have stopped speaking what this backend knows best. */
    if (oldest > ret->api)
        ret->api = oldest;
    return true;
}

static bool has_security_option(const json_t *info, const char *name)
{
    size_t i;
    const json_t *option;
    size_t length = strlen(name);
    json_array_foreach(json_object_get(info, "SecurityOptions"), i, option)
    {
        const char *text = json_string_value(option);
        if (text && strncmp(text, name, length) == 0 &&
            (text[length] == '\0' || text[length] == ','))
            return true;
    }
    return false;
}

bool engine_facts_of_info(const json_t *info, struct engine_facts *ret, struct engine_fault *fault)
{
    static const char *const limits[] = {"MemoryLimit", "SwapLimit", "PidsLimit", "CpuCfsQuota"};
    if (!has_security_option(info, "name=seccomp")) {
        engine_fault_set(fault, ENGINE_PROBLEM_NO_SECCOMP, "docker has no seccomp on this machine");
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        if (json_is_true(json_object_get(info, limits[i])))
            continue;
        engine_fault_set(fault, ENGINE_PROBLEM_NO_LIMITS,
                         "docker cannot limit containers on this machine: %s is false", limits[i]);
        return false;
    }
    const char *version = json_string_value(json_object_get(info, "CgroupVersion"));
    ret->cgroup_version = version && strcmp(version, "2") == 0 ? 2 : 1;
    ret->user_namespace =
        has_security_option(info, "name=userns") || has_security_option(info, "name=rootless");
    return true;
}

bool engine_id_is_good(const char *id)
{
    return id && strlen(id) == 64 && strspn(id, "0123456789abcdef") == 64;
}

bool engine_image_name_is_good(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:@";
    return name[0] && !strchr("./-:@", name[0]) && name[strspn(name, allowed)] == '\0' &&
           !strstr(name, "..") && !strstr(name, "//");
}

bool engine_image_is_pinned(const char *name)
{
    const char *at = strrchr(name, '@');
    return at && strncmp(at + 1, ID_PREFIX, strlen(ID_PREFIX)) == 0 &&
           engine_id_is_good(at + 1 + strlen(ID_PREFIX));
}

bool engine_facts_of_image(const json_t *image, const char *name, const char **ret_id,
                           struct engine_fault *fault)
{
    const char *id = json_string_value(json_object_get(image, "Id"));
    bool prefixed = id && strncmp(id, ID_PREFIX, strlen(ID_PREFIX)) == 0; /* Podman's is not */
    if (!engine_id_is_good(prefixed ? id + strlen(ID_PREFIX) : id)) {
        engine_fault_set(fault, ENGINE_PROBLEM_SILENT, "docker tells no id of the image %.100s",
                         name);
        return false;
    }
    if (json_object_size(json_object_get(json_object_get(image, "Config"), "Volumes")) > 0) {
        engine_fault_set(fault, ENGINE_PROBLEM_IMAGE_UNUSED,
                         "the image %.100s declares volumes, which would be written to disk", name);
        return false;
    }
    *ret_id = id;
    return true;
}
