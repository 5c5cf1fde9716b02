/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the changes to a run's description at the worker, and the refusals: see run_rewrite.h. */
#include "backends/worker/run_rewrite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path_form.h"
#include "base/string_list.h"
#include "protocol/layers.h"
#include "protocol/run_event.h"

#define TRIAL_MEMORY (UINT64_C(64) << 20)

/* The paths that programs need on any machine, as policies/default.json shows them. A worker shows
 * another path only if its own configuration names it: its keys may be there. */
static const char *const usual_paths[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/matplotlibrc",
    "/etc/fonts",
    "/etc/php",
    "/etc/perl",
    "/etc/R",
    "/var/lib/gems",
    NULL,
};

/* Of runs with a network. */
static const char *const network_paths[] = {"/etc/resolv.conf", "/etc/ssl", NULL};

static bool is_within(const char *path, const char *const *list)
{
    for (; *list; list++) {
        size_t length = strlen(*list);
        if (path_is_within(path, *list) &&
            (path[length] == '\0' || path_stays_below(path + length + 1)))
            return true;
    }
    return false;
}

static bool refuse(struct error *error, const char *message, const char *remedy)
{
    error_set(error, ERROR_NOT_SUPPORTED, "%s", message);
    error_set_hint(error, "%s", remedy);
    return false;
}

/* More than the admitted memory would be more than the worker has. */
static bool is_as_offered(const struct run_description *description,
                          const struct remote_offer *offer, struct error *error)
{
    bool has_program = description->purpose != RUN_PURPOSE_SWEEP;
    if (description->purpose == offer->purpose &&
        (description->session.idle_ms > 0) == (offer->is_session != 0) &&
        (!has_program || (description->limits.memory_bytes > 0 &&
                          description->limits.memory_bytes <= offer->memory_bytes)))
        return true;
    error_set(error, ERROR_BACKEND_FAILED,
              "the run is not the one that the gateway has offered to the worker");
    return false;
}

static bool can_be_had(const struct worker_configuration *configuration,
                       const struct run_description *description, struct error *error)
{
    if (description->isolation == RUN_ISOLATION_NONE)
        return refuse(error, "a worker runs nothing without isolation", "use a mode that isolates");
    if (description->workspace[0] != '\0')
        return refuse(error,
                      "the workspace is a directory of the gateway's machine, and the run "
                      "would be on another",
                      "hand the files over with the request, or use a mode of this machine");
    if (description->packages.path[0] != '\0')
        return refuse(
            error,
            "the set of packages is on the gateway's machine, and the run would "
            "be on another",
            "leave packages out, or ask the operator of the worker for an interpreter that "
            "has them");
    if (description->network && !configuration->allows_network)
        return refuse(error, "the worker gives no run its machine's network",
                      "leave network out, or ask the operator of the worker to set \"network\" in "
                      "its configuration");
    return true;
}

static bool replace_list(char ***list, char **by)
{
    char **copy = string_list_copy(by, SIZE_MAX);
    if (!copy)
        return false;
    string_list_free(*list);
    *list = copy;
    return true;
}

static bool keep_usual_paths(struct run_description *description)
{
    char **kept = string_list_new(string_list_count(description->read_only_paths));
    if (!kept)
        return false;
    size_t count = 0;
    for (char **path = description->read_only_paths; path && *path; path++) {
        if (is_within(*path, usual_paths) ||
            (description->network && is_within(*path, network_paths)))
            kept[count++] = *path;
        else
            free(*path);
    }
    free((void *)description->read_only_paths);
    description->read_only_paths = kept;
    return true;
}

/* An interpreter looks for itself there, and so finds its packages. A PATH that says something else
 * is the request's own. */
static bool replace_search(const struct worker_configuration *configuration,
                           struct run_description *description)
{
    static const char name[] = "PATH=";
    CLEANUP_FREE char *usual = string_list_join(description->runtime_path, ':');
    CLEANUP_FREE char *own = string_list_join(configuration->runtime_path, ':');
    if (!usual || !own)
        return false;
    for (char **variable = description->environment; variable && *variable; variable++) {
        char *replaced;
        if (strncmp(*variable, name, strlen(name)) != 0 ||
            strcmp(*variable + strlen(name), usual) != 0)
            continue;
        if (asprintf(&replaced, "%s%s", name, own) < 0)
            return false;
        free(*variable);
        *variable = replaced;
    }
    return true;
}

static bool replace_paths(const struct worker_configuration *configuration,
                          struct run_description *description)
{
    if (configuration->runtime_path &&
        (!replace_search(configuration, description) ||
         !replace_list(&description->runtime_path, configuration->runtime_path)))
        return false;
    if (!configuration->read_only)
        return keep_usual_paths(description);
    return replace_list(&description->read_only_paths, configuration->read_only) &&
           (!description->network ||
            string_list_append_all(&description->read_only_paths, network_paths));
}

static uint32_t smaller(uint32_t one, uint32_t other)
{
    return one < other ? one : other;
}

/* 0 is no limit. */
static uint64_t smaller_limit(uint64_t one, uint64_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

static void replace_numbers(const struct worker_configuration *configuration,
                            struct run_description *description)
{
    uint64_t mandatory = worker_mode_layers(configuration->mode, description->network != 0);
    uint64_t required = configuration->required;
    if (description->network)
        required &= ~LAYER_BIT(LAYER_NETWORK_NAMESPACE);
    description->isolation = configuration->mode == WORKER_UNPRIVILEGED ? RUN_ISOLATION_UNPRIVILEGED
                                                                        : RUN_ISOLATION_SANDBOX;
    description->required |= mandatory | required;
    if (description->endpoints)
        description->required |= LAYER_BIT(LAYER_ENDPOINT_BROKER);
    description->outer_uid_base = configuration->outer_uid_base;
    description->outer_uid_count = configuration->outer_uid_count;
    description->pool_size = smaller(description->pool_size, configuration->pool_ready);
    description->pool_most = smaller(description->pool_most, configuration->pool_most);
    description->pool_memory =
        smaller_limit(description->pool_memory, configuration->pool_memory_bytes);
    if (description->pool_idle_ms > configuration->pool_idle_ms)
        description->pool_idle_ms = configuration->pool_idle_ms;
}

static bool replace_options(const struct worker_configuration *configuration,
                            struct run_description *description)
{
    const struct wire_bytes *own = &configuration->options;
    free(TAKE_POINTER(description->options.bytes));
    description->options.length = 0;
    if (own->length == 0)
        return true;
    description->options.bytes = (unsigned char *)copy_bytes((const char *)own->bytes, own->length);
    description->options.length = description->options.bytes ? own->length : 0;
    return description->options.bytes != NULL;
}

/* Only the worker knows the images of its engine. */
static bool choose_image(const struct worker_configuration *configuration,
                         struct run_description *description, struct error *error)
{
    const char *image = "";
    if (configuration->mode == WORKER_DOCKER) {
        image = worker_image_of(configuration, description->argv[0]);
        if (!image) {
            error_set(error, ERROR_RUNTIME_NOT_FOUND, "the worker has no image for %.100s",
                      description->argv[0]);
            error_set_hint(error, "ask the operator of the worker to add it to \"docker.images\" "
                                  "in its configuration");
            return false;
        }
    }
    char *name = strdup(image);
    char *id = strdup("");
    if (!name || !id) {
        free(name);
        free(id);
        error_set(error, ERROR_OUT_OF_MEMORY, "the worker has no memory for the run");
        return false;
    }
    free(description->image.name);
    free(description->image.id);
    description->image = (struct run_image){.name = name, .id = id, .pull = RUN_PULL_NEVER};
    return true;
}

static unsigned char *make_message(const struct worker_configuration *configuration,
                                   struct run_description *description, size_t *ret_length,
                                   struct error *error)
{
    unsigned char *message = NULL;
    replace_numbers(configuration, description);
    if (!choose_image(configuration, description, error))
        return NULL;
    if (replace_paths(configuration, description) && replace_options(configuration, description))
        message = run_description_encode(description, ret_length);
    if (!message)
        error_set(error, ERROR_OUT_OF_MEMORY, "the worker has no memory for the run");
    return message;
}

static bool decode(const unsigned char *bytes, size_t length, struct run_description *ret,
                   struct error *error)
{
    if (run_description_decode(bytes, length, ret))
        return true;
    error_set(error, ERROR_BACKEND_FAILED, "the worker cannot read the run's description");
    return false;
}

static void put_in_place(unsigned char *message, size_t message_length, unsigned char **bytes,
                         size_t *length)
{
    explicit_bzero(*bytes, *length);
    free(*bytes);
    *bytes = message;
    *length = message_length;
}

bool run_rewrite(const struct worker_configuration *configuration, const struct remote_offer *offer,
                 unsigned char **bytes, size_t *length, struct error *error)
{
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    size_t new_length = 0;
    if (!decode(*bytes, *length, &description, error) ||
        !is_as_offered(&description, offer, error) ||
        !can_be_had(configuration, &description, error))
        return false;
    unsigned char *message = make_message(configuration, &description, &new_length, error);
    if (!message)
        return false;
    put_in_place(message, new_length, bytes, length);
    return true;
}

/* Its image is the session's. */
bool run_rewrite_further(const struct worker_configuration *configuration,
                         const struct remote_offer *offer, unsigned char **bytes, size_t *length,
                         struct error *error)
{
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    unsigned char *message = NULL;
    size_t new_length = 0;
    if (!decode(*bytes, *length, &description, error))
        return false;
    replace_numbers(configuration, &description); /* a collection names no isolation */
    description.limits.memory_bytes =
        smaller_limit(description.limits.memory_bytes, offer->memory_bytes);
    if (!can_be_had(configuration, &description, error))
        return false;
    if (replace_paths(configuration, &description) && replace_options(configuration, &description))
        message = run_description_encode(&description, &new_length);
    if (!message) {
        error_set(error, ERROR_OUT_OF_MEMORY, "the worker has no memory for the run");
        return false;
    }
    put_in_place(message, new_length, bytes, length);
    return true;
}

/* Every machine has a shell; an engine has only the configured images. */
static const char *program_of_trial(const struct worker_configuration *configuration)
{
    if (configuration->mode != WORKER_DOCKER || worker_image_of(configuration, "sh"))
        return "sh";
    return configuration->images[0].program;
}

unsigned char *run_trial_message(const struct worker_configuration *configuration,
                                 size_t *ret_length, struct error *error)
{
    static const char *const runtime_path[] = {"/usr/local/bin", "/usr/bin", "/bin", NULL};
    CLEANUP(run_description_clear)
    struct run_description description = {
        .purpose = RUN_PURPOSE_TRIAL,
        .limits = {.wall_ms = 10000,
                   .cpu_ms = 10000,
                   .memory_bytes = TRIAL_MEMORY,
                   .processes = 16,
                   .open_files = 64,
                   .file_bytes = UINT64_C(1) << 20,
                   .scratch_bytes = UINT64_C(1) << 20,
                   .scratch_inodes = 64},
    };
    memset(description.run_id, '0', RUN_ID_LENGTH);
    if (string_list_append(&description.argv, program_of_trial(configuration)) &&
        string_list_append_all(&description.runtime_path, runtime_path) &&
        string_list_append_all(&description.read_only_paths, usual_paths))
        return make_message(configuration, &description, ret_length, error);
    error_set(error, ERROR_OUT_OF_MEMORY, "the worker has no memory for a trial");
    return NULL;
}
