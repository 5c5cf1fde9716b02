/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of the options of runs without namespaces: see process_options.h. */
#include "backends/process/messages/process_options.h"

#include <limits.h>

#include "base/cleanup.h"
#include "protocol/wire_fields.h"

static const struct wire_field fields[] = {
    WIRE_PATH(struct process_options, scratch_directory, PATH_MAX - 1),
};

bool process_options_write(const struct process_options *options, struct wire_bytes *ret)
{
    return wire_write_structure(fields, COUNT_OF(fields), options, RUN_OPTIONS_LIMIT, ret);
}

bool process_options_read(const struct wire_bytes *bytes, struct process_options *ret)
{
    struct process_options options = {.scratch_directory = NULL};
    if (!wire_read_structure(fields, COUNT_OF(fields), bytes, &options))
        return false;
    *ret = options;
    return true;
}

void process_options_clear(struct process_options *options)
{
    wire_release_fields(fields, COUNT_OF(fields), options);
}
