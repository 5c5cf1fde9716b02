/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the checks of the engine and its images: see engine_facts.h. */
#include "backends/docker/engine/engine_facts.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"

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

/* Names and versions go into results: only the first line, and only printable ASCII, because a cut
 * in the middle of a character would not be UTF-8. */
static void copy_member(const json_t *object, const char *name, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(object, name));
    (void)snprintf(text, size, "%.*s", (int)size - 1, value ? value : "");
    text[strcspn(text, "\r\n")] = '\0';
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static bool has_component(const json_t *components, const char *name)
{
    size_t i;
    const json_t *component;
    json_array_foreach(components, i, component)
    {
        const char *text = json_string_value(json_object_get(component, "Name"));
        if (text && strstr(text, name))
            return true;
    }
    return false;
}

void engine_facts_clear(struct engine_facts *facts)
{
    json_decref(facts->runtimes);
    json_decref(facts->components);
    *facts = (struct engine_facts){0};
}

bool engine_facts_of_version(const json_t *version, struct engine_facts *ret,
                             struct engine_fault *fault)
{
    unsigned int newest = minor_version(json_object_get(version, "ApiVersion"));
    unsigned int oldest = minor_version(json_object_get(version, "MinAPIVersion"));
    if (newest == 0)
        return engine_fault_set(fault, ENGINE_PROBLEM_SILENT,
                                "the server that answers is not a Docker engine");
    if (newest < ENGINE_API_MINIMUM)
        return engine_fault_set(fault, ENGINE_PROBLEM_API_TOO_OLD,
                                "docker is too old: its API version is 1.%u, but 1.%d is needed",
                                newest, ENGINE_API_MINIMUM);
    copy_member(version, "Version", ret->version, sizeof(ret->version));
    json_decref(ret->components);
    ret->components = json_incref(json_object_get(version, "Components"));
    (void)snprintf(ret->name, sizeof(ret->name), "%s",
                   has_component(ret->components, "Podman") ? "podman" : "docker");
    ret->api = newest < ENGINE_API_MAXIMUM ? newest : ENGINE_API_MAXIMUM;
    /* A newer engine may have dropped the version that this backend knows best. */
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
    if (!has_security_option(info, "name=seccomp"))
        return engine_fault_set(fault, ENGINE_PROBLEM_NO_SECCOMP,
                                "docker has no seccomp on this machine");
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        if (json_is_true(json_object_get(info, limits[i])))
            continue;
        return engine_fault_set(fault, ENGINE_PROBLEM_NO_LIMITS,
                                "docker cannot limit containers on this machine: %s is false",
                                limits[i]);
    }
    const char *version = json_string_value(json_object_get(info, "CgroupVersion"));
    ret->cgroup_version = version && strcmp(version, "2") == 0 ? 2 : 1;
    ret->rootless = has_security_option(info, "name=rootless");
    ret->user_namespace = ret->rootless || has_security_option(info, "name=userns");
    copy_member(info, "DefaultRuntime", ret->runtime, sizeof(ret->runtime));
    json_decref(ret->runtimes);
    ret->runtimes = json_incref(json_object_get(info, "Runtimes"));
    return true;
}

bool engine_id_is_good(const char *id)
{
    return id && ascii_is_hex(id, 64);
}

bool engine_image_name_is_good(const char *name)
{
    static const char allowed[] = ASCII_ALPHANUMERIC "._-/:@";
    return name[0] && !strchr("./-:@", name[0]) && name[strspn(name, allowed)] == '\0' &&
           !strstr(name, "..") && !strstr(name, "//");
}

/* Podman's ids have no prefix. */
static const char *without_prefix(const char *id)
{
    return strncmp(id, ID_PREFIX, strlen(ID_PREFIX)) == 0 ? id + strlen(ID_PREFIX) : id;
}

bool engine_image_id_is_good(const char *id)
{
    return id && engine_id_is_good(without_prefix(id));
}

/* The digest that a name ends with, from "sha256:" on; NULL without one. */
static const char *digest_of(const char *name)
{
    const char *at = strrchr(name, '@');
    const char *digest = at ? at + 1 : name;
    const char *digits = without_prefix(digest);
    return digits != digest && engine_id_is_good(digits) ? digest : NULL;
}

bool engine_image_is_pinned(const char *name)
{
    return digest_of(name) != NULL;
}

bool engine_facts_have_runtime(const struct engine_facts *facts, const char *runtime,
                               struct engine_fault *fault)
{
    /* A shim of containerd needs no entry. */
    if (runtime[0] == '\0' || !json_is_object(facts->runtimes) ||
        json_object_get(facts->runtimes, runtime) || strncmp(runtime, "io.containerd.", 14) == 0)
        return true;
    return engine_fault_set(fault, ENGINE_PROBLEM_NO_RUNTIME, "docker has no OCI runtime %.60s",
                            runtime);
}

bool engine_facts_runtime_is_gvisor(const struct engine_facts *facts, const char *runtime)
{
    static const char own[] = "runsc";
    const char *name = runtime[0] ? runtime : facts->runtime;
    const json_t *entry = json_object_get(facts->runtimes, name);
    const char *path = json_string_value(json_object_get(entry, "path"));
    const char *type = json_string_value(json_object_get(entry, "runtimeType"));
    return strstr(name, own) || (path && strstr(path, own)) || (type && strstr(type, own));
}

/* Docker names a component after the runtime. Podman has the name in brackets, and writes more than
 * the version. */
void engine_facts_runtime_version(const struct engine_facts *facts, const char *runtime,
                                  char *version, size_t size)
{
    char bracketed[80];
    size_t i;
    const json_t *component;
    const char *wanted = runtime[0] ? runtime : facts->runtime;
    (void)snprintf(bracketed, sizeof(bracketed), "OCI Runtime (%.60s)", wanted);
    version[0] = '\0';
    json_array_foreach(facts->components, i, component)
    {
        const char *name = json_string_value(json_object_get(component, "Name"));
        if (!name || (strcmp(name, wanted) != 0 && strcmp(name, bracketed) != 0))
            continue;
        copy_member(component, "Version", version, size);
        return;
    }
}

static bool same_id(const char *one, const char *other)
{
    return strcmp(without_prefix(one), without_prefix(other)) == 0;
}

static bool has_digest(const json_t *image, const char *digest)
{
    size_t i;
    const json_t *known;
    json_array_foreach(json_object_get(image, "RepoDigests"), i, known)
    {
        const char *text = json_string_value(known);
        const char *own = text ? digest_of(text) : NULL;
        if (own && strcmp(own, digest) == 0)
            return true;
    }
    return false;
}

/* An engine may find another image under a name than the one that the name pins. */
static bool check_identity(const json_t *image, const char *id, const struct run_image *wanted,
                           struct engine_fault *fault)
{
    const char *digest = digest_of(wanted->name);
    if (digest && !same_id(id, digest) && !has_digest(image, digest))
        return engine_fault_set(fault, ENGINE_PROBLEM_DIGEST,
                                "digest mismatch: docker's %.120s is another image", wanted->name);
    if (wanted->id[0] == '\0' || same_id(id, wanted->id))
        return true;
    return engine_fault_set(
        fault, ENGINE_PROBLEM_DIGEST,
        "digest mismatch: %.100s has become another image since the run was prepared",
        wanted->name);
}

bool engine_facts_of_image(const json_t *image, const struct run_image *wanted, const char **ret_id,
                           struct engine_fault *fault)
{
    const char *id = json_string_value(json_object_get(image, "Id"));
    if (!engine_image_id_is_good(id))
        return engine_fault_set(fault, ENGINE_PROBLEM_SILENT,
                                "docker did not report the id of the image %.100s", wanted->name);
    if (!check_identity(image, id, wanted, fault))
        return false;
    if (json_object_size(json_object_get(json_object_get(image, "Config"), "Volumes")) > 0)
        return engine_fault_set(fault, ENGINE_PROBLEM_IMAGE_UNUSED,
                                "the image %.100s declares volumes, which would be written to disk",
                                wanted->name);
    *ret_id = id;
    return true;
}
