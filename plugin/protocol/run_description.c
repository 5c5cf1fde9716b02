/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the message form of a run description, and the checks of one. Runs in the plugin (encode)
 * and in every backend (decode), on any thread.
 */
#include "run_description.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/path_form.h"
#include "checkpoint.h"
#include "file_frames.h"
#include "run_event.h"
#include "wire_fields.h"

#define INPUT_SIZE_LIMIT (UINT64_C(1) << 50) /* bytes of one file by reference */
#define PAGE_BYTES       UINT64_C(65536)     /* the largest page of any architecture */

#define NUMBER(member, most)  WIRE_NUMBER(struct run_description, member, most)
#define STRING(member, limit) WIRE_STRING(struct run_description, member, limit)
#define PATH(member)          WIRE_PATH(struct run_description, member, RUN_FILE_PATH_LIMIT)
#define PATHS(member) \
    WIRE_PATHS(struct run_description, member, RUN_STRINGS_LIMIT, RUN_FILE_PATH_LIMIT)
#define STRINGS(member, limit) \
    WIRE_STRINGS(struct run_description, member, RUN_STRINGS_LIMIT, limit)

/* The files stand between the two. */
static const struct wire_field before_files[] = {
    WIRE_TEXT(struct run_description, run_id),
    NUMBER(isolation, RUN_ISOLATION_COUNT - 1),
    NUMBER(purpose, RUN_PURPOSE_COUNT - 1),
    NUMBER(network, 1),
    NUMBER(required, UINT64_MAX),
    NUMBER(outer_uid_base, UINT32_MAX),
    NUMBER(outer_uid_count, UINT32_MAX),
    NUMBER(limits.wall_ms, UINT64_MAX),
    NUMBER(limits.cpu_ms, UINT64_MAX),
    NUMBER(limits.memory_bytes, UINT64_MAX),
    NUMBER(limits.processes, UINT64_MAX),
    NUMBER(limits.open_files, UINT64_MAX),
    NUMBER(limits.file_bytes, UINT64_MAX),
    NUMBER(limits.scratch_bytes, UINT64_MAX),
    NUMBER(limits.scratch_inodes, UINT64_MAX),
    STRINGS(argv, RUN_DESCRIPTION_LIMIT),
    STRINGS(environment, RUN_DESCRIPTION_LIMIT),
    PATHS(runtime_path),
    PATHS(read_only_paths),
};
static const struct wire_field after_files[] = {
    PATH(workspace),
    STRING(image.name, RUN_IMAGE_LIMIT),
    STRING(image.id, RUN_NAME_LIMIT),
    NUMBER(image.require_digest, 1),
    NUMBER(image.pull, RUN_PULL_COUNT - 1),
    PATH(packages.path),
    STRING(packages.sha256, RUN_HASH_LENGTH),
    NUMBER(packages.bytes, UINT64_MAX),
    NUMBER(packages.inodes, UINT64_MAX),
    WIRE_BYTES(struct run_description, options, RUN_OPTIONS_LIMIT),
    NUMBER(pool_size, RUN_POOL_LIMIT),
    NUMBER(pool_most, RUN_POOL_LIMIT),
    NUMBER(pool_memory, UINT64_MAX),
    NUMBER(pool_idle_ms, RUN_POOL_IDLE_LIMIT),
    NUMBER(preparation.runner, RUN_RUNNER_COUNT - 1),
    NUMBER(preparation.interpreter, RUN_INTERPRETER_COUNT - 1),
    NUMBER(preparation.fork, 1),
    NUMBER(preparation.argument_count, UINT32_MAX),
    NUMBER(preparation.program_argument, UINT32_MAX),
    NUMBER(preparation.environment_count, UINT32_MAX),
    STRINGS(preparation.modules, RUN_NAME_LIMIT),
    STRINGS(preparation.named_modules, RUN_NAME_LIMIT),
    NUMBER(preparation.renew_runs, RUN_RENEW_LIMIT),
    NUMBER(preparation.renew_ms, RUN_POOL_IDLE_LIMIT),
    NUMBER(private_file_count, RUN_STRINGS_LIMIT),
    NUMBER(workspace_id.device, UINT64_MAX),
    NUMBER(workspace_id.inode, UINT64_MAX),
    NUMBER(results, 1),
    NUMBER(tools, 1),
    NUMBER(tool_command, 1),
    NUMBER(installer_commands, 1),
    NUMBER(endpoints, 1),
    NUMBER(tools_wait_ms, RUN_SESSION_LIMIT),
    NUMBER(outputs.files, UINT64_MAX),
    NUMBER(outputs.file_bytes, UINT64_MAX),
    NUMBER(outputs.total_bytes, UINT64_MAX),
    WIRE_STRINGS(struct run_description, outputs.patterns, OUTPUT_PATTERNS_LIMIT,
                 OUTPUT_PATTERN_BYTES_LIMIT),
    NUMBER(session.idle_ms, RUN_SESSION_LIMIT),
    NUMBER(session.age_ms, RUN_SESSION_LIMIT),
    NUMBER(session.checkpoints, CHECKPOINTS_MOST),
    NUMBER(session.lasting_variables, RUN_STRINGS_LIMIT),
};

bool run_description_file_private(const struct run_description *description, size_t index)
{
    return index >= description->file_count - description->private_file_count;
}

bool run_description_has_inputs(const struct run_description *description)
{
    for (size_t i = 0; i < description->file_count; i++)
        if (description->files[i].by_reference)
            return true;
    return false;
}

uint64_t run_description_input_bytes(const struct run_description *description)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < description->file_count; i++)
        if (description->files[i].by_reference)
            bytes += (description->files[i].length + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    return bytes;
}

static void put_files(struct wire_writer *writer, const struct run_description *description)
{
    if (description->file_count > RUN_STRINGS_LIMIT)
        writer->failed = true;
    wire_put_u32(writer, (uint32_t)description->file_count);
    for (size_t i = 0; i < description->file_count && !writer->failed; i++) {
        const struct run_file *file = &description->files[i];
        wire_put_string(writer, file->path);
        wire_put_string(writer, file->sha256);
        writer->failed |= file->by_reference != (file->sha256[0] != '\0');
        if (file->by_reference)
            wire_put_u64(writer, file->length);
        else
            wire_put_bytes(writer, file->content, file->length);
    }
}

unsigned char *run_description_encode(const struct run_description *description, size_t *ret_length)
{
    struct wire_writer writer = {.limit = RUN_DESCRIPTION_LIMIT};
    wire_put_u32(&writer, PROTOCOL_VERSION);
    wire_put_fields(&writer, before_files, COUNT_OF(before_files), description);
    put_files(&writer, description);
    wire_put_fields(&writer, after_files, COUNT_OF(after_files), description);
    return wire_take_message(&writer, ret_length);
}

static bool is_hash(const char *text)
{
    return ascii_is_hex(text, RUN_HASH_LENGTH);
}

/* One with a hash is by reference. */
static void get_file(struct wire_reader *reader, struct run_file *file)
{
    file->path = wire_get_string(reader, RUN_FILE_PATH_LIMIT);
    CLEANUP_FREE char *sha256 = wire_get_string(reader, RUN_HASH_LENGTH);
    file->by_reference = sha256 && sha256[0] != '\0';
    if (!file->by_reference) {
        file->content = wire_get_bytes(reader, RUN_DESCRIPTION_LIMIT, &file->length);
    } else if (is_hash(sha256)) {
        memcpy(file->sha256, sha256, sizeof(file->sha256));
        file->length = wire_get_u64(reader);
        reader->failed |= file->length > INPUT_SIZE_LIMIT;
    } else {
        reader->failed = true;
    }
    if (file->path && !path_stays_below(file->path))
        reader->failed = true;
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
    for (size_t i = 0; i < count && !reader->failed; i++)
        get_file(reader, &description->files[description->file_count++]);
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
    return (preparation->interpreter == RUN_INTERPRETER_NONE ||
            (preparation->program_argument > 0 &&
             preparation->program_argument < preparation->argument_count)) &&
           has_strings(description->argv, preparation->argument_count) &&
           has_strings(description->environment, preparation->environment_count);
}

/* The hash becomes part of a request to an engine. */
static bool packages_are_acceptable(const struct run_packages *packages)
{
    return packages->path[0] != '\0' ? is_hash(packages->sha256) : packages->sha256[0] == '\0';
}

/* The checks that concern more than one member. */
static bool is_acceptable(const struct run_description *description)
{
    return ascii_is_hex(description->run_id, RUN_ID_LENGTH) && description->argv[0] &&
           description->argv[0][0] && description->private_file_count <= description->file_count &&
           packages_are_acceptable(&description->packages) &&
           preparation_is_acceptable(description);
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
    wire_get_fields(&reader, before_files, COUNT_OF(before_files), &description);
    get_files(&reader, &description);
    wire_get_fields(&reader, after_files, COUNT_OF(after_files), &description);
    if (reader.failed || reader.offset != length || !is_acceptable(&description)) {
        run_description_clear(&description);
        return false;
    }
    *ret = description;
    return true;
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
    wire_release_fields(before_files, COUNT_OF(before_files), description);
    wire_release_fields(after_files, COUNT_OF(after_files), description);
    explicit_bzero(description, sizeof(*description));
}
