/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of the options of runs without namespaces: see process_options.h. */
#include "backends/process/messages/process_options.h"

#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "protocol/wire_fields.h"

static const struct wire_field fields[] = {
    WIRE_PATH(struct process_options, scratch_directory, PATH_MAX - 1),
};

bool process_options_write(const struct process_options *options, struct wire_bytes *ret)
{
    struct wire_writer writer = {.limit = RUN_OPTIONS_LIMIT};
    wire_put_fields(&writer, fields, COUNT_OF(fields), options);
    if (writer.failed) {
        free(writer.bytes);
        return false;
    }
    free(ret->bytes);
    *ret = (struct wire_bytes){writer.bytes, writer.length};
    return true;
}

bool process_options_read(const struct wire_bytes *bytes, struct process_options *ret)
{
    struct wire_reader reader = {.bytes = bytes->bytes, .length = bytes->length};
    CLEANUP(process_options_clear) struct process_options options = {.scratch_directory = NULL};
    wire_get_fields(&reader, fields, COUNT_OF(fields), &options);
    if (reader.failed || reader.offset != reader.length)
        return false;
    *ret = options;
    options = (struct process_options){.scratch_directory = NULL};
    return true;
}

void process_options_clear(struct process_options *options)
{
    wire_release_fields(fields, COUNT_OF(fields), options);
}
