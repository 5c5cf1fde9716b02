/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the message form of a run description, and what makes one acceptable. Runs in the plugin
 * (encode) and in every backend (decode), on any thread.
 */
#include "run_description.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "run_event.h"
#include "wire.h"

#define FILE_PATH_LIMIT 4095

static void put_limits(struct wire_writer *writer, const struct run_limits *limits)
{
    wire_put_u64(writer, limits->wall_ms);
    wire_put_u64(writer, limits->cpu_ms);
    wire_put_u64(writer, limits->memory_bytes);
    wire_put_u64(writer, limits->processes);
    wire_put_u64(writer, limits->open_files);
    wire_put_u64(writer, limits->file_bytes);
    wire_put_u64(writer, limits->scratch_bytes);
    wire_put_u64(writer, limits->scratch_inodes);
}

static void get_limits(struct wire_reader *reader, struct run_limits *limits)
{
    limits->wall_ms = wire_get_u64(reader);
    limits->cpu_ms = wire_get_u64(reader);
    limits->memory_bytes = wire_get_u64(reader);
    limits->processes = wire_get_u64(reader);
    limits->open_files = wire_get_u64(reader);
    limits->file_bytes = wire_get_u64(reader);
    limits->scratch_bytes = wire_get_u64(reader);
    limits->scratch_inodes = wire_get_u64(reader);
}

static void put_text(struct wire_writer *writer, const char *text)
{
    wire_put_string(writer, text ? text : "");
}

static void put_docker(struct wire_writer *writer, const struct run_docker *docker)
{
    put_text(writer, docker->host);
    put_text(writer, docker->context);
    put_text(writer, docker->config_directory);
    put_text(writer, docker->certificates);
    wire_put_u32(writer, docker->tls);
    put_text(writer, docker->runtime);
    put_text(writer, docker->image);
    put_text(writer, docker->image_id);
    wire_put_u32(writer, docker->require_digest);
    wire_put_u32(writer, docker->pull);
}

static void get_docker(struct wire_reader *reader, struct run_docker *docker)
{
    docker->host = wire_get_string(reader, RUN_HOST_LIMIT);
    docker->context = wire_get_string(reader, RUN_NAME_LIMIT);
    docker->config_directory = wire_get_string(reader, FILE_PATH_LIMIT);
    docker->certificates = wire_get_string(reader, FILE_PATH_LIMIT);
    docker->tls = wire_get_u32(reader);
    docker->runtime = wire_get_string(reader, RUN_NAME_LIMIT);
    docker->image = wire_get_string(reader, RUN_IMAGE_LIMIT);
    docker->image_id = wire_get_string(reader, RUN_NAME_LIMIT);
    docker->require_digest = wire_get_u32(reader);
    docker->pull = wire_get_u32(reader);
}

static void put_preparation(struct wire_writer *writer, const struct run_preparation *preparation)
{
    wire_put_u32(writer, preparation->interpreter);
    wire_put_u32(writer, preparation->fork);
    wire_put_u32(writer, preparation->argument_count);
    wire_put_u32(writer, preparation->program_argument);
    wire_put_u32(writer, preparation->environment_count);
    wire_put_strings(writer, preparation->modules);
    wire_put_strings(writer, preparation->named_modules);
    wire_put_u64(writer, preparation->renew_runs);
    wire_put_u64(writer, preparation->renew_ms);
}

static void get_preparation(struct wire_reader *reader, struct run_preparation *preparation)
{
    preparation->interpreter = wire_get_u32(reader);
    preparation->fork = wire_get_u32(reader);
    preparation->argument_count = wire_get_u32(reader);
    preparation->program_argument = wire_get_u32(reader);
    preparation->environment_count = wire_get_u32(reader);
    preparation->modules = wire_get_strings(reader, RUN_STRINGS_LIMIT, RUN_NAME_LIMIT);
    preparation->named_modules = wire_get_strings(reader, RUN_STRINGS_LIMIT, RUN_NAME_LIMIT);
    preparation->renew_runs = wire_get_u64(reader);
    preparation->renew_ms = wire_get_u64(reader);
}

bool run_description_file_private(const struct run_description *description, size_t index)
{
    return index >= description->file_count - description->private_file_count;
}

unsigned char *run_description_encode(const struct run_description *description, size_t *ret_length)
{
    struct wire_writer writer = {.limit = RUN_DESCRIPTION_LIMIT};
    wire_put_u32(&writer, PROTOCOL_VERSION);
    wire_put_string(&writer, description->run_id);
    wire_put_u32(&writer, description->isolation);
    wire_put_u32(&writer, description->purpose);
    wire_put_u32(&writer, description->network);
    wire_put_u64(&writer, description->required);
    wire_put_u32(&writer, description->outer_uid_base);
    wire_put_u32(&writer, description->outer_uid_count);
    put_limits(&writer, &description->limits);
    wire_put_strings(&writer, description->argv);
    wire_put_strings(&writer, description->environment);
    wire_put_strings(&writer, description->runtime_path);
    wire_put_strings(&writer, description->read_only_paths);
    if (description->file_count > RUN_STRINGS_LIMIT)
        writer.failed = true;
    wire_put_u32(&writer, (uint32_t)description->file_count);
    for (size_t i = 0; i < description->file_count && !writer.failed; i++) {
        wire_put_string(&writer, description->files[i].path);
        wire_put_bytes(&writer, description->files[i].content, description->files[i].length);
    }
    put_text(&writer, description->workspace);
    put_docker(&writer, &description->docker);
    wire_put_u32(&writer, description->pool_size);
    wire_put_u32(&writer, description->pool_most);
    wire_put_u64(&writer, description->pool_memory);
    wire_put_u64(&writer, description->pool_idle_ms);
    put_preparation(&writer, &description->preparation);
    wire_put_u32(&writer, description->private_file_count);
    wire_put_u64(&writer, description->workspace_id.device);
    wire_put_u64(&writer, description->workspace_id.inode);
    if (writer.failed) {
        if (writer.bytes)
            explicit_bzero(writer.bytes, writer.length);
        free(writer.bytes);
        return NULL;
    }
    *ret_length = writer.length;
    return writer.bytes;
}

/* Relative, without an empty, "." or ".." part: it can only name something below a directory. */
static bool file_path_is_safe(const char *path)
{
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += length;
        if (*part == '\0')
            return true;
    }
}

static void get_files(struct wire_reader *reader, struct run_description *description)
{
    size_t count = wire_get_u32(reader);
    if (count > RUN_STRINGS_LIMIT)
        reader->failed = true;
    if (reader->failed || count == 0)
        return;
    description->files = calloc(count, sizeof(*description->files));
    if (!description->files) {
        reader->failed = true;
        return;
    }
    for (size_t i = 0; i < count && !reader->failed; i++) {
        struct run_file *file = &description->files[description->file_count++];
        file->path = wire_get_string(reader, FILE_PATH_LIMIT);
        file->content = wire_get_bytes(reader, RUN_DESCRIPTION_LIMIT, &file->length);
        if (file->path && !file_path_is_safe(file->path))
            reader->failed = true;
    }
}

static void get_run_id(struct wire_reader *reader, char run_id[RUN_ID_LENGTH + 1])
{
    char *text = wire_get_string(reader, RUN_ID_LENGTH);
    if (!text)
        return;
    if (strspn(text, "0123456789abcdef") != RUN_ID_LENGTH)
        reader->failed = true;
    memcpy(run_id, text, strlen(text) + 1);
    free(text);
}

static bool list_is_absolute(char *const *paths)
{
    for (; *paths; paths++)
        if ((*paths)[0] != '/')
            return false;
    return true;
}

static bool is_absolute_or_empty(const char *path)
{
    return path[0] == '/' || path[0] == '\0';
}

static bool docker_is_acceptable(const struct run_docker *docker)
{
    return docker->tls <= 1 && docker->require_digest <= 1 && docker->pull < RUN_PULL_COUNT &&
           is_absolute_or_empty(docker->config_directory) &&
           is_absolute_or_empty(docker->certificates);
}

static bool has_strings(char *const *strings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strings[i])
            return false;
    return true;
}

static bool preparation_is_acceptable(const struct run_description *description)
{
    const struct run_preparation *preparation = &description->preparation;
    return preparation->interpreter < RUN_INTERPRETER_COUNT && preparation->fork <= 1 &&
           preparation->renew_runs <= RUN_RENEW_LIMIT &&
           preparation->renew_ms <= RUN_POOL_IDLE_LIMIT &&
           (preparation->interpreter == RUN_INTERPRETER_NONE ||
            (preparation->program_argument > 0 &&
             preparation->program_argument < preparation->argument_count)) &&
           has_strings(description->argv, preparation->argument_count) &&
           has_strings(description->environment, preparation->environment_count);
}

static bool is_acceptable(const struct run_description *description)
{
    return description->isolation <= RUN_ISOLATION_SANDBOX &&
           description->purpose < RUN_PURPOSE_COUNT && description->network <= 1 &&
           description->pool_size <= RUN_POOL_LIMIT && description->pool_most <= RUN_POOL_LIMIT &&
           description->pool_idle_ms <= RUN_POOL_IDLE_LIMIT &&
           is_absolute_or_empty(description->workspace) &&
           docker_is_acceptable(&description->docker) && description->argv[0] &&
           description->argv[0][0] && preparation_is_acceptable(description) &&
           list_is_absolute(description->runtime_path) &&
           list_is_absolute(description->read_only_paths);
}

bool run_description_decode(const unsigned char *message, size_t length,
                            struct run_description *ret)
{
    if (length > RUN_DESCRIPTION_LIMIT)
        return false;
    struct wire_reader reader = {.bytes = message, .length = length};
    if (wire_get_u32(&reader) != PROTOCOL_VERSION)
        return false;
    struct run_description description = {.file_count = 0};
    get_run_id(&reader, description.run_id);
    description.isolation = wire_get_u32(&reader);
    description.purpose = wire_get_u32(&reader);
    description.network = wire_get_u32(&reader);
    description.required = wire_get_u64(&reader);
    description.outer_uid_base = wire_get_u32(&reader);
    description.outer_uid_count = wire_get_u32(&reader);
    get_limits(&reader, &description.limits);
    description.argv = wire_get_strings(&reader, RUN_STRINGS_LIMIT, RUN_DESCRIPTION_LIMIT);
    description.environment = wire_get_strings(&reader, RUN_STRINGS_LIMIT, RUN_DESCRIPTION_LIMIT);
    description.runtime_path = wire_get_strings(&reader, RUN_STRINGS_LIMIT, FILE_PATH_LIMIT);
    description.read_only_paths = wire_get_strings(&reader, RUN_STRINGS_LIMIT, FILE_PATH_LIMIT);
    get_files(&reader, &description);
    description.workspace = wire_get_string(&reader, FILE_PATH_LIMIT);
    get_docker(&reader, &description.docker);
    description.pool_size = wire_get_u32(&reader);
    description.pool_most = wire_get_u32(&reader);
    description.pool_memory = wire_get_u64(&reader);
    description.pool_idle_ms = wire_get_u64(&reader);
    get_preparation(&reader, &description.preparation);
    description.private_file_count = wire_get_u32(&reader);
    description.workspace_id.device = wire_get_u64(&reader);
    description.workspace_id.inode = wire_get_u64(&reader);
    if (description.private_file_count > description.file_count)
        reader.failed = true;
    if (reader.failed || reader.offset != length || !is_acceptable(&description)) {
        run_description_clear(&description);
        return false;
    }
    *ret = description;
    return true;
}

static void clear_docker(struct run_docker *docker)
{
    free(docker->host);
    free(docker->context);
    free(docker->config_directory);
    free(docker->certificates);
    free(docker->runtime);
    free(docker->image);
    free(docker->image_id);
}

void run_description_clear_program(struct run_description *description)
{
    strings_wipe_free(TAKE_POINTER(description->argv));
    strings_wipe_free(TAKE_POINTER(description->environment));
    for (size_t i = 0; i < description->file_count; i++) {
        struct run_file *file = &description->files[i];
        if (file->content)
            explicit_bzero(file->content, file->length);
        free(file->content);
        free(file->path);
    }
    free(TAKE_POINTER(description->files));
    description->file_count = 0;
    description->private_file_count = 0;
}

void run_description_clear(struct run_description *description)
{
    run_description_clear_program(description);
    strings_wipe_free(description->runtime_path);
    strings_wipe_free(description->read_only_paths);
    free(description->workspace);
    clear_docker(&description->docker);
    strings_wipe_free(description->preparation.modules);
    strings_wipe_free(description->preparation.named_modules);
    explicit_bzero(description, sizeof(*description));
}
