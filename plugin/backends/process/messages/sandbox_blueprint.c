/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the message: see sandbox_blueprint.h. Written in the supervisor, read in an interpreter that
 * is copied. */
#include "backends/process/messages/sandbox_blueprint.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/run_input.h"
#include "base/cleanup.h"
#include "protocol/wire.h"

static void put_program(struct wire_writer *writer, const struct seccomp_program *program)
{
    wire_put_bytes(writer, program->instructions, program->count * sizeof(*program->instructions));
}

static void get_program(struct wire_reader *reader, struct seccomp_program *ret)
{
    size_t length = 0;
    unsigned char *bytes =
        wire_get_bytes(reader, BPF_MAXINSNS * sizeof(*ret->instructions), &length);
    /* As malloc() gave it, it is aligned. */
    ret->instructions = (struct sock_filter *)(void *)bytes;
    ret->count = (unsigned short)(length / sizeof(*ret->instructions));
}

unsigned char *sandbox_blueprint_encode(const struct sandbox_blueprint *blueprint,
                                        size_t *ret_length)
{
    struct wire_writer writer = {.limit = RUN_DESCRIPTION_LIMIT};
    const struct sandbox_shape *shape = &blueprint->shape;
    wire_put_u32(&writer, shape->outer_uid_base);
    wire_put_u32(&writer, shape->outer_uid_count);
    wire_put_u32(&writer, shape->network);
    wire_put_u64(&writer, shape->scratch_bytes);
    wire_put_u64(&writer, shape->scratch_inodes);
    wire_put_strings(&writer, shape->read_only_paths);
    wire_put_string(&writer, shape->workspace);
    wire_put_u64(&writer, shape->workspace_id.device);
    wire_put_u64(&writer, shape->workspace_id.inode);
    wire_put_u32(&writer, shape->interpreter.kind);
    put_program(&writer, &blueprint->filters.list);
    put_program(&writer, &blueprint->filters.guard[0]);
    put_program(&writer, &blueprint->filters.guard[1]);
    wire_put_bytes(&writer, &blueprint->outside, sizeof(blueprint->outside));
    if (writer.failed) {
        free(writer.bytes);
        return NULL;
    }
    *ret_length = writer.length;
    return writer.bytes;
}

static bool decode(const unsigned char *bytes, size_t length, struct sandbox_blueprint *ret)
{
    struct wire_reader reader = {.bytes = bytes, .length = length};
    struct sandbox_shape *shape = &ret->shape;
    size_t outside_length = 0;
    shape->outer_uid_base = wire_get_u32(&reader);
    shape->outer_uid_count = wire_get_u32(&reader);
    shape->network = wire_get_u32(&reader);
    shape->scratch_bytes = wire_get_u64(&reader);
    shape->scratch_inodes = wire_get_u64(&reader);
    shape->read_only_paths = wire_get_strings(&reader, RUN_STRINGS_LIMIT, PATH_MAX);
    shape->workspace = wire_get_string(&reader, PATH_MAX);
    shape->workspace_id.device = wire_get_u64(&reader);
    shape->workspace_id.inode = wire_get_u64(&reader);
    shape->interpreter.kind = wire_get_u32(&reader);
    shape->interpreter.fork = 1;
    get_program(&reader, &ret->filters.list);
    get_program(&reader, &ret->filters.guard[0]);
    get_program(&reader, &ret->filters.guard[1]);
    CLEANUP_FREE unsigned char *outside =
        wire_get_bytes(&reader, sizeof(ret->outside), &outside_length);
    if (reader.failed || reader.offset != length || outside_length != sizeof(ret->outside) ||
        shape->network > 1)
        return false;
    memcpy(&ret->outside, outside, sizeof(ret->outside));
    return true;
}

bool sandbox_blueprint_read(int fd, struct sandbox_blueprint *ret)
{
    size_t length;
    CLEANUP_FREE unsigned char *bytes = run_read_file(fd, RUN_DESCRIPTION_LIMIT, &length);
    return bytes && decode(bytes, length, ret);
}
