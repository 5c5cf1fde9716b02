/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the form of what gateway and docker backend tell each other: see docker_messages.h. */
#include "backends/docker/messages/docker_messages.h"

#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "protocol/wire_fields.h"

#define STRING(member, limit) WIRE_STRING(struct docker_options, member, limit)
#define PATH(member)          WIRE_PATH(struct docker_options, member, PATH_MAX - 1)

static const struct wire_field option_fields[] = {
    STRING(host, DOCKER_HOST_LIMIT),
    STRING(context, RUN_NAME_LIMIT),
    PATH(config_directory),
    PATH(certificates),
    WIRE_NUMBER(struct docker_options, tls, 1),
    STRING(runtime, RUN_NAME_LIMIT),
};

bool docker_options_write(const struct docker_options *options, struct wire_bytes *ret)
{
    return wire_write_structure(option_fields, COUNT_OF(option_fields), options, RUN_OPTIONS_LIMIT,
                                ret);
}

bool docker_options_read(const struct wire_bytes *bytes, struct docker_options *ret)
{
    struct docker_options options = {.tls = 0};
    if (!wire_read_structure(option_fields, COUNT_OF(option_fields), bytes, &options))
        return false;
    *ret = options;
    return true;
}

void docker_options_clear(struct docker_options *options)
{
    wire_release_fields(option_fields, COUNT_OF(option_fields), options);
}

#define TEXT(member) WIRE_TEXT(struct engine_report, member)

static const struct wire_field report_fields[] = {
    TEXT(name),
    TEXT(version),
    TEXT(api),
    TEXT(runtime),
    TEXT(runtime_version),
    TEXT(kernel),
    WIRE_NUMBER(struct engine_report, rootless, 1),
    WIRE_NUMBER(struct engine_report, user_namespace, 1),
};

void engine_report_write(const struct engine_report *report, struct run_details *ret)
{
    struct wire_writer writer = {
        .bytes = ret->bytes, .capacity = sizeof(ret->bytes), .limit = sizeof(ret->bytes)};
    wire_put_fields(&writer, report_fields, COUNT_OF(report_fields), report);
    ret->length = writer.failed ? 0 : (uint32_t)writer.length;
}

struct engine_report engine_report_read(const struct run_details *details)
{
    struct wire_reader reader = {.bytes = details->bytes, .length = details->length};
    struct engine_report report = {.rootless = 0};
    wire_get_fields(&reader, report_fields, COUNT_OF(report_fields), &report);
    if (reader.failed || reader.offset != reader.length)
        return (struct engine_report){.rootless = 0};
    return report;
}

void engine_report_note_kernel(const char *kernel, struct run_details *details)
{
    struct engine_report report = engine_report_read(details);
    (void)snprintf(report.kernel, sizeof(report.kernel), "%s", kernel);
    engine_report_write(&report, details);
}
