/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the message: see template_message.h. Written in the supervisor, read in an interpreter that
 * is copied. */
#include "backends/process/messages/template_message.h"

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

unsigned char *template_message_encode(const struct template_message *contents, size_t *ret_length)
{
    struct wire_writer writer = {.limit = RUN_DESCRIPTION_LIMIT};
    const struct sandbox_template *template = &contents->template;
    wire_put_u32(&writer, template->outer_uid_base);
    wire_put_u32(&writer, template->outer_uid_count);
    wire_put_u32(&writer, template->network);
    wire_put_u64(&writer, template->scratch_bytes);
    wire_put_u64(&writer, template->scratch_inodes);
    wire_put_strings(&writer, template->read_only_paths);
    wire_put_string(&writer, template->workspace);
    wire_put_u64(&writer, template->workspace_id.device);
    wire_put_u64(&writer, template->workspace_id.inode);
    wire_put_u32(&writer, template->interpreter.kind);
    put_program(&writer, &contents->filters.list);
    put_program(&writer, &contents->filters.guard[0]);
    put_program(&writer, &contents->filters.guard[1]);
    wire_put_bytes(&writer, &contents->outside, sizeof(contents->outside));
    if (writer.failed) {
        free(writer.bytes);
        return NULL;
    }
    *ret_length = writer.length;
    return writer.bytes;
}

static bool decode(const unsigned char *bytes, size_t length, struct template_message *ret)
{
    struct wire_reader reader = {.bytes = bytes, .length = length};
    struct sandbox_template *template = &ret->template;
    size_t outside_length = 0;
    template->outer_uid_base = wire_get_u32(&reader);
    template->outer_uid_count = wire_get_u32(&reader);
    template->network = wire_get_u32(&reader);
    template->scratch_bytes = wire_get_u64(&reader);
    template->scratch_inodes = wire_get_u64(&reader);
    template->read_only_paths = wire_get_strings(&reader, RUN_STRINGS_LIMIT, PATH_MAX);
    template->workspace = wire_get_string(&reader, PATH_MAX);
    template->workspace_id.device = wire_get_u64(&reader);
    template->workspace_id.inode = wire_get_u64(&reader);
    template->interpreter.kind = wire_get_u32(&reader);
    template->interpreter.fork = 1;
    get_program(&reader, &ret->filters.list);
    get_program(&reader, &ret->filters.guard[0]);
    get_program(&reader, &ret->filters.guard[1]);
    CLEANUP_FREE unsigned char *outside =
        wire_get_bytes(&reader, sizeof(ret->outside), &outside_length);
    if (reader.failed || reader.offset != length || outside_length != sizeof(ret->outside) ||
        template->network > 1)
        return false;
    memcpy(&ret->outside, outside, sizeof(ret->outside));
    return true;
}

bool template_message_read(int fd, struct template_message *ret)
{
    size_t length;
    CLEANUP_FREE unsigned char *bytes = run_read_file(fd, RUN_DESCRIPTION_LIMIT, &length);
    return bytes && decode(bytes, length, ret);
}
