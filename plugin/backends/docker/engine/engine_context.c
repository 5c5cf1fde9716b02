/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of docker's contexts: see engine_address.h. Runs in the docker backend. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sha256.h>
#include <stdio.h>
#include <string.h>

#include "backends/common/run_input.h"
#include "backends/docker/engine/engine_address.h"
#include "base/ascii.h"
#include "base/cleanup.h"

#define FILE_LIMIT (1U << 20)

/* A new object. NULL without a fault: there is no such file. */
static json_t *read_object(const char *path, struct engine_fault *fault)
{
    fault->problem = ENGINE_PROBLEM_NONE;
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return NULL;
    if (fd < 0) {
        engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS, "%.150s: %s", path, strerror(errno));
        return NULL;
    }
    size_t length = 0;
    CLEANUP_FREE unsigned char *bytes = run_read_file(fd, FILE_LIMIT, &length);
    json_t *json = bytes ? json_loadb((const char *)bytes, length, 0, NULL) : NULL;
    if (json_is_object(json))
        return json;
    json_decref(json);
    engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS,
                     "not a file with a JSON object, of at most %u bytes: %.120s", FILE_LIMIT,
                     path);
    return NULL;
}

/* The characters that docker allows. */
static bool name_is_good(const char *name)
{
    return ascii_consists_of(name, RUN_NAME_LIMIT, ASCII_ALPHANUMERIC "_.+-");
}

static bool take_name(const char *name, char ret_name[RUN_NAME_LIMIT + 1],
                      struct engine_fault *fault)
{
    if (strcmp(name, "default") == 0)
        name = "";
    if (name[0] != '\0' && !name_is_good(name))
        return engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS,
                                "the name of the docker context is not valid");
    (void)snprintf(ret_name, RUN_NAME_LIMIT + 1, "%s", name);
    return true;
}

bool engine_context_choose(const struct docker_options *options, char ret_name[RUN_NAME_LIMIT + 1],
                           struct engine_fault *fault)
{
    char path[PATH_MAX + 16];
    if (options->context[0] != '\0' || options->config_directory[0] == '\0')
        return take_name(options->context, ret_name, fault);
    (void)snprintf(path, sizeof(path), "%s/config.json", options->config_directory);
    json_auto_t *config = read_object(path, fault);
    if (!config && fault->problem != ENGINE_PROBLEM_NONE)
        return false;
    const json_t *current = json_object_get(config, "currentContext");
    if (current && !json_is_string(current))
        return engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS,
                                "currentContext is not a string in %.150s", path);
    return take_name(current ? json_string_value(current) : "", ret_name, fault);
}

/* The host of a context's meta.json. Pure. */
static bool find_host(const char *name, const json_t *meta, char ret_host[DOCKER_HOST_LIMIT + 1],
                      struct engine_fault *fault)
{
    const json_t *endpoint = json_object_get(json_object_get(meta, "Endpoints"), "docker");
    const json_t *unverified = json_object_get(endpoint, "SkipTLSVerify");
    const char *host = json_string_value(json_object_get(endpoint, "Host"));
    if (unverified && !json_is_false(unverified))
        return engine_fault_set(fault, ENGINE_PROBLEM_CERTIFICATES,
                                "the docker context %.60s turns off the verification of the engine "
                                "(SkipTLSVerify), which is not supported",
                                name);
    if (!host || host[0] == '\0' || strlen(host) > DOCKER_HOST_LIMIT)
        return engine_fault_set(fault, ENGINE_PROBLEM_ADDRESS,
                                "the docker context %.60s names no host of at most %d bytes", name,
                                DOCKER_HOST_LIMIT);
    (void)snprintf(ret_host, DOCKER_HOST_LIMIT + 1, "%s", host);
    return true;
}

static bool has_tls_files(const char *directory)
{
    static const char *const names[] = {ENGINE_CA, ENGINE_CERTIFICATE, ENGINE_KEY};
    char path[PATH_MAX + 16];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        /* A file without permission exists; reading it reports the fault. */
        if (access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))
            return true;
    }
    return false;
}

/* false: too long. */
static bool set_certificates(const char *directory, const char *id, struct engine_context *context)
{
    char *path = context->certificates;
    size_t size = sizeof(context->certificates);
    if ((size_t)snprintf(path, size, "%s/contexts/tls/%s/docker", directory, id) >= size)
        return false;
    if (!has_tls_files(path))
        path[0] = '\0';
    return true;
}

bool engine_context_read(const char *directory, const char *name, struct engine_context *ret,
                         struct engine_fault *fault)
{
    char path[PATH_MAX];
    char id[SHA256_DIGEST_STRING_LENGTH]; /* docker's name for the context's directories */
    struct engine_context context;
    SHA256Data((const uint8_t *)name, strlen(name), id);
    fault->problem = ENGINE_PROBLEM_NONE;
    bool fits = (size_t)snprintf(path, sizeof(path), "%s/contexts/meta/%s/meta.json", directory,
                                 id) < sizeof(path);
    json_auto_t *meta = fits && directory[0] == '/' ? read_object(path, fault) : NULL;
    if (!meta && fault->problem != ENGINE_PROBLEM_NONE)
        return false;
    if (!meta || !set_certificates(directory, id, &context))
        return engine_fault_set(
            fault, ENGINE_PROBLEM_ADDRESS, "there is no docker context %.60s below %.100s", name,
            directory[0] == '/' ? directory : "docker's configuration directory, which is not set");
    if (!find_host(name, meta, context.host, fault))
        return false;
    *ret = context;
    return true;
}
