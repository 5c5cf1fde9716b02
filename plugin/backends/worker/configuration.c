/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of a worker's configuration, member by member, and what its modes are: see
 * configuration.h. */
#include "backends/worker/configuration.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "backends/docker/messages/docker_messages.h"
#include "backends/process/messages/process_options.h"
#include "backends/remote/messages/remote_options.h"
#include "backends/worker/address.h"
#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/path_form.h"
#include "base/string_list.h"
#include "protocol/layers.h"
#include "json/json_input.h"
#include "json/json_members.h"
#include "json/json_path.h"

#define DEPTH_LIMIT     8
#define LIST_LIMIT      256
#define NAME_LIMIT      127
#define ADDRESS_LIMIT   64
#define GATEWAYS_LIMIT  64
#define DNS_NAME_LIMIT  253
#define MEMORY_MINIMUM  (INT64_C(16) << 20)
#define MEMORY_MAXIMUM  (INT64_C(1) << 50)
#define DRAIN_MAXIMUM   86400
#define DRAIN_SECONDS   60
#define OUTER_UID_FIRST 2000000000 /* as policies/default.json has them */
#define OUTER_UID_COUNT 65536
#define POOL_READY      4
#define POOL_MOST       16
#define POOL_MEMORY     (UINT64_C(256) << 20)
#define POOL_IDLE_MS    60000

static const char *const mode_names[] = {"process", "unprivileged", "docker", NULL};

const char *worker_mode_name(enum worker_mode mode)
{
    return mode_names[mode];
}

const char *worker_mode_program(enum worker_mode mode)
{
    return mode == WORKER_DOCKER ? "code-execute-docker" : "code-execute-process";
}

uint64_t worker_mode_layers(enum worker_mode mode, bool network)
{
    static const uint64_t layers[] = {LAYERS_MANDATORY, LAYERS_UNPRIVILEGED, LAYERS_DOCKER};
    return network ? layers[mode] & ~LAYER_BIT(LAYER_NETWORK_NAMESPACE) : layers[mode];
}

/* The whole tree, or the kernel's file systems, would show more than programs. */
static bool check_view_path(const struct json_place *place, const char *path)
{
    static const char *const refused[] = {"/proc", "/sys", "/dev"};
    if (!json_check_absolute_path(place, path))
        return false;
    bool is_refused = path[1] == '\0';
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        is_refused |= path_is_within(path, refused[i]);
    return !is_refused || json_place_refuse(place, "must not be /, nor in /proc, /sys or /dev");
}

static bool check_address(const struct json_place *place, const char *text)
{
    struct listen_address address;
    return listen_address_parse(text, &address) ||
           json_place_refuse(place, "must be a numeric address with a port, such as "
                                    "\"0.0.0.0:7443\" or \"[::]:7443\"");
}

static bool check_status_address(const struct json_place *place, const char *text)
{
#ifdef WORKER_HAS_STATUS
    return check_address(place, text);
#else
    (void)text;
    return json_place_refuse(place, "this installation has no server of health and metrics: it is "
                                    "built where libmicrohttpd is");
#endif
}

static bool check_dns_name(const struct json_place *place, const char *name)
{
    return remote_name_is_valid(name) ||
           json_place_refuse(place, "must be a DNS name in lower case, without a wildcard");
}

static bool check_layer(const struct json_place *place, const char *name)
{
    for (enum isolation_layer layer = 0; layer < LAYER_COUNT; layer++)
        if (layer != LAYER_ENDPOINT_BROKER && strcmp(isolation_layer_name(layer), name) == 0)
            return true;
    return json_place_refuse(place, "must be the name of a layer, such as cgroup or landlock");
}

static bool check_program(const struct json_place *place, const char *name)
{
    return strcmp(name, "*") == 0 ||
           (json_check_printable(place, name) &&
            (!strchr(name, '/') ||
             json_place_refuse(place, "must be the name of a program, without a directory, or *")));
}

/* A list of texts, each at most maximum bytes long. */
static bool read_strings(const struct json_place *place, json_t *value,
                         const struct json_member *member, void *target)
{
    CLEANUP(cleanup_string_list) char **list = string_list_new(LIST_LIMIT);
    if (!list)
        return json_place_out_of_memory(place);
    if (!json_read_array(place, value, (size_t)member->minimum, LIST_LIMIT))
        return false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item = json_place_item(place, i);
        const char *text;
        if (!json_read_string(&item, json_array_get(value, i), 1, (size_t)member->maximum, &text) ||
            !member->check(&item, text))
            return false;
        if (!string_list_append(&list, text))
            return json_place_out_of_memory(place);
    }
    string_list_free(*(char ***)target);
    *(char ***)target = TAKE_POINTER(list);
    return true;
}

static void clear_strings(const struct json_member *member, void *target)
{
    (void)member;
    string_list_free(*(char ***)target);
    *(char ***)target = NULL;
}

static const struct json_kind strings = {.read = read_strings, .clear = clear_strings};

static bool read_layers(const struct json_place *place, json_t *value,
                        const struct json_member *member, void *target)
{
    const struct json_member names = {.minimum = 0, .maximum = NAME_LIMIT, .check = check_layer};
    CLEANUP(cleanup_string_list) char **list = NULL;
    (void)member;
    if (!read_strings(place, value, &names, &list))
        return false;
    for (enum isolation_layer layer = 0; layer < LAYER_COUNT; layer++)
        if (string_list_contains(list, isolation_layer_name(layer)))
            *(uint64_t *)target |= LAYER_BIT(layer);
    return true;
}

static const struct json_kind layers = {.read = read_layers};

#define AT(member)       .offset = offsetof(struct worker_configuration, member)
#define IMAGE_AT(member) .offset = offsetof(struct worker_image, member)

static const struct json_member tls_members[] = {
    {"authority", &member_text, AT(tls_authority), 1, PATH_MAX - 1,
     .check = json_check_absolute_path},
    {"certificate", &member_text, AT(tls_certificate), 1, PATH_MAX - 1,
     .check = json_check_absolute_path},
    {"key", &member_text, AT(tls_key), 1, PATH_MAX - 1, .check = json_check_absolute_path},
    {0},
};

static const struct json_member pool_members[] = {
    {"ready", &member_uint32, AT(pool_ready), 0, RUN_POOL_LIMIT, .optional = true},
    {"most", &member_uint32, AT(pool_most), 0, RUN_POOL_LIMIT, .optional = true},
    {"memory_bytes", &member_uint64, AT(pool_memory_bytes), 0, MEMORY_MAXIMUM, .optional = true},
    {"idle_ms", &member_uint64, AT(pool_idle_ms), 0, (int64_t)RUN_POOL_IDLE_LIMIT,
     .optional = true},
    {0},
};

static const struct json_member outer_uid_members[] = {
    {"first", &member_uint32, AT(outer_uid_base), 1, UINT32_MAX - 1},
    {"count", &member_uint32, AT(outer_uid_count), 1, UINT32_MAX - 1},
    {0},
};

static const struct json_member process_members[] = {
    {"scratch_directory", &member_text, AT(scratch_directory), 1, PATH_MAX - 1, .optional = true,
     .check = json_check_absolute_path},
    {0},
};

static bool read_image(const struct json_place *place, json_t *value, void *item, void *object)
{
    struct worker_image *image = item;
    const char *name;
    (void)object;
    return json_read_string(place, value, 1, RUN_IMAGE_LIMIT, &name) &&
           json_check_printable(place, name) && json_copy_text(place, name, &image->image);
}

static const struct json_member image_members[] = {
    {"image", &member_text, IMAGE_AT(image)},
    {0},
};

static const struct json_items images = {
    .size = sizeof(struct worker_image),
    .count = offsetof(struct worker_configuration, image_count),
    .name = offsetof(struct worker_image, program),
    .check_name = check_program,
    .members = image_members,
    .read = read_image,
};

static const struct json_member docker_members[] = {
    {"host", &member_text, AT(docker_host), 1, DOCKER_HOST_LIMIT, .optional = true,
     .check = json_check_printable},
    {"context", &member_text, AT(docker_context), 1, RUN_NAME_LIMIT, .optional = true,
     .check = json_check_printable},
    {"certificates", &member_text, AT(docker_certificates), 1, PATH_MAX - 1, .optional = true,
     .check = json_check_absolute_path},
    {"runtime", &member_text, AT(docker_runtime), 1, RUN_NAME_LIMIT, .optional = true,
     .check = json_check_printable},
    {"images", &member_map, AT(images), 0, LIST_LIMIT, .items = &images},
    {0},
};

/* Sections have no structs of their own: offsets of their members are from the whole. */
static const struct json_member members[] = {
    {"name", &member_text, AT(name), 1, NAME_LIMIT, .check = json_check_printable},
    {"listen", &member_text, AT(listen), 1, ADDRESS_LIMIT, .check = check_address},
    {"status_listen", &member_text, AT(status_listen), 1, ADDRESS_LIMIT, .optional = true,
     .check = check_status_address},
    {"tls", &member_object, .members = tls_members},
    {"gateways", &strings, AT(gateways), 1, DNS_NAME_LIMIT, .check = check_dns_name},
    {"mode", &member_choice, AT(mode), .names = mode_names},
    {"max_runs", &member_uint32, AT(max_runs), 1, WORKER_RUNS_LIMIT},
    {"memory_total_bytes", &member_uint64, AT(memory_total_bytes), MEMORY_MINIMUM, MEMORY_MAXIMUM},
    {"drain_seconds", &member_uint64, AT(drain_seconds), 0, DRAIN_MAXIMUM, .optional = true},
    {"require", &layers, AT(required), .optional = true},
    {"network", &member_boolean, AT(allows_network), .optional = true},
    {"runtime_path", &strings, AT(runtime_path), 1, PATH_MAX - 1, .optional = true,
     .check = json_check_absolute_path},
    {"read_only", &strings, AT(read_only), 1, PATH_MAX - 1, .optional = true,
     .check = check_view_path},
    {"outer_uids", &member_object, .members = outer_uid_members, .optional = true},
    {"pool", &member_object, .members = pool_members, .optional = true},
    {"process", &member_object, .members = process_members, .optional = true},
    {"docker", &member_object, .members = docker_members, .optional = true},
    {0},
};

/* A section of another mode would have no effect. */
static bool check_sections(const struct json_place *root, const json_t *value,
                           const struct worker_configuration *configuration)
{
    struct json_place docker = json_place_named(root, "docker");
    struct json_place process = json_place_named(root, "process");
    struct json_place named = json_place_named(&docker, "images");
    bool is_docker = configuration->mode == WORKER_DOCKER;
    if (is_docker && !json_object_get(value, "docker"))
        return json_place_refuse(&docker, "missing: mode docker needs the images of its programs");
    if (is_docker && configuration->image_count == 0)
        return json_place_refuse(&named, "must have at least 1 member");
    if (!is_docker && json_object_get(value, "docker"))
        return json_place_refuse(&docker, "is for mode docker alone");
    if (configuration->mode != WORKER_UNPRIVILEGED && json_object_get(value, "process"))
        return json_place_refuse(&process, "is for mode unprivileged alone");
    return true;
}

static bool check_numbers(const struct json_place *root,
                          const struct worker_configuration *configuration)
{
    struct json_place pool = json_place_named(root, "pool");
    struct json_place most = json_place_named(&pool, "most");
    struct json_place outer = json_place_named(root, "outer_uids");
    struct json_place gateways = json_place_named(root, "gateways");
    if (configuration->pool_most < configuration->pool_ready)
        return json_place_refuse(&most, "must be at least \"ready\", %u",
                                 configuration->pool_ready);
    if (configuration->outer_uid_count > UINT32_MAX - configuration->outer_uid_base)
        return json_place_refuse(&outer, "must end below 4294967295");
    if (string_list_count(configuration->gateways) > GATEWAYS_LIMIT)
        return json_place_refuse(&gateways, "must have at most %d members", GATEWAYS_LIMIT);
    return true;
}

static bool make_options(const struct json_place *root, struct worker_configuration *configuration)
{
    const struct process_options process = {.scratch_directory = configuration->scratch_directory};
    const struct docker_options docker = {
        .host = configuration->docker_host,
        .context = configuration->docker_context,
        .certificates = configuration->docker_certificates,
        .tls = configuration->docker_certificates != NULL,
        .runtime = configuration->docker_runtime,
    };
    bool made = true;
    if (configuration->mode == WORKER_DOCKER)
        made = docker_options_write(&docker, &configuration->options);
    if (configuration->mode == WORKER_UNPRIVILEGED)
        made = process_options_write(&process, &configuration->options);
    return made || json_place_out_of_memory(root);
}

bool worker_configuration_parse(const char *what, const char *text, size_t length,
                                struct worker_configuration *ret, struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = WORKER_CONFIGURATION_LIMIT,
                                                    .max_depth = DEPTH_LIMIT};
    struct json_place root = json_place_root(what, ERROR_INVALID_POLICY, error);
    json_auto_t *value = json_input_parse(what, text, length, &limits, ERROR_INVALID_POLICY, error);
    CLEANUP(worker_configuration_clear)
    struct worker_configuration configuration = {
        .drain_seconds = DRAIN_SECONDS,
        .outer_uid_base = OUTER_UID_FIRST,
        .outer_uid_count = OUTER_UID_COUNT,
        .pool_ready = POOL_READY,
        .pool_most = POOL_MOST,
        .pool_memory_bytes = POOL_MEMORY,
        .pool_idle_ms = POOL_IDLE_MS,
    };
    if (!value || !json_read_members(&root, value, members, &configuration) ||
        !check_sections(&root, value, &configuration) || !check_numbers(&root, &configuration) ||
        !make_options(&root, &configuration))
        return false;
    *ret = configuration;
    configuration = (struct worker_configuration){.name = NULL};
    return true;
}

bool worker_configuration_rename(struct worker_configuration *configuration, const char *name,
                                 struct error *error)
{
    size_t length = strlen(name);
    char *copy =
        length > 0 && length <= NAME_LIMIT && ascii_is_printable(name) ? strdup(name) : NULL;
    if (!copy) {
        error_set(error, ERROR_INVALID_POLICY,
                  "--name must be printable ASCII without blanks, at most %d characters",
                  NAME_LIMIT);
        return false;
    }
    free(configuration->name);
    configuration->name = copy;
    return true;
}

void worker_configuration_clear(struct worker_configuration *configuration)
{
    json_clear_members(members, configuration);
    free(configuration->options.bytes);
    *configuration = (struct worker_configuration){.name = NULL};
}

const char *worker_image_of(const struct worker_configuration *configuration, const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    const char *others = NULL;
    for (size_t i = 0; i < configuration->image_count; i++) {
        if (strcmp(configuration->images[i].program, name) == 0)
            return configuration->images[i].image;
        if (strcmp(configuration->images[i].program, "*") == 0)
            others = configuration->images[i].image;
    }
    return others;
}
