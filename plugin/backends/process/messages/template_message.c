/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the message: see template_message.h. Written in the supervisor, read in an interpreter that
 * is copied. */
#include "backends/process/messages/template_message.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/run_input.h"
#include "base/cleanup.h"
#include "protocol/wire_fields.h"

#define NUMBER(member, most) WIRE_NUMBER(struct sandbox_template, member, most)

/* Of the interpreter only its kind: it is the reader. */
static const struct wire_field fields[] = {
    NUMBER(isolation, RUN_ISOLATION_COUNT - 1),
    NUMBER(outer_uid_base, UINT32_MAX),
    NUMBER(outer_uid_count, UINT32_MAX),
    NUMBER(network, 1),
    NUMBER(scratch_bytes, UINT64_MAX),
    NUMBER(scratch_inodes, UINT64_MAX),
    WIRE_PATHS(struct sandbox_template, read_only_paths, RUN_STRINGS_LIMIT, PATH_MAX),
    WIRE_PATH(struct sandbox_template, workspace, PATH_MAX),
    NUMBER(workspace_id.device, UINT64_MAX),
    NUMBER(workspace_id.inode, UINT64_MAX),
    NUMBER(installer_commands, 1),
    NUMBER(interpreter.kind, RUN_INTERPRETER_COUNT - 1),
};

static const struct wire_field file_fields[] = {
    WIRE_PATH(struct template_message, files, PATH_MAX),
};

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

unsigned char *template_message_encode(const struct template_message *contents, size_t *ret_length)
{
    struct wire_writer writer = {.limit = RUN_DESCRIPTION_LIMIT};
    wire_put_fields(&writer, fields, COUNT_OF(fields), &contents->template);
    put_program(&writer, &contents->filters.list);
    put_program(&writer, &contents->filters.list_with_attributes);
    for (size_t i = 0; i < SECCOMP_GUARD_COUNT; i++)
        put_program(&writer, &contents->filters.guard[i]);
    wire_put_bytes(&writer, &contents->outside, sizeof(contents->outside));
    wire_put_fields(&writer, file_fields, COUNT_OF(file_fields), contents);
    return wire_take_message(&writer, ret_length);
}

static bool decode_template(const unsigned char *bytes, size_t length, struct template_message *ret)
{
    struct wire_reader reader = {.bytes = bytes, .length = length};
    size_t outside_length = 0;
    wire_get_fields(&reader, fields, COUNT_OF(fields), &ret->template);
    ret->template.interpreter.fork = 1;
    get_program(&reader, &ret->filters.list);
    get_program(&reader, &ret->filters.list_with_attributes);
    for (size_t i = 0; i < SECCOMP_GUARD_COUNT; i++)
        get_program(&reader, &ret->filters.guard[i]);
    CLEANUP_FREE unsigned char *outside =
        wire_get_bytes(&reader, sizeof(ret->outside), &outside_length);
    wire_get_fields(&reader, file_fields, COUNT_OF(file_fields), ret);
    if (reader.failed || reader.offset != length || outside_length != sizeof(ret->outside))
        return false;
    memcpy(&ret->outside, outside, sizeof(ret->outside));
    return true;
}

bool template_message_read(int fd, struct template_message *ret)
{
    size_t length;
    CLEANUP_FREE unsigned char *bytes = run_read_file(fd, RUN_DESCRIPTION_LIMIT, &length);
    return bytes && decode_template(bytes, length, ret);
}
