/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the rows of the messages: see guest_protocol.h. Runs in the guest and in the backend. */
#include "guest/messages/guest_protocol.h"

#include "base/cleanup.h"
#include "protocol/checkpoint.h"
#include "protocol/file_frames.h"
#include "protocol/run_description.h"
#include "protocol/wire_fields.h"

#include "base/path_form.h"

#define STRINGS(member) \
    WIRE_STRINGS(struct guest_run, member, GUEST_STRINGS_LIMIT, GUEST_STRING_LIMIT)

static const struct wire_field run_fields[] = {
    WIRE_NUMBER(struct guest_run, trial, 1),
    WIRE_NUMBER(struct guest_run, has_input, 1),
    WIRE_NUMBER(struct guest_run, has_results, 1),
    WIRE_NUMBER(struct guest_run, has_tools, 1),
    WIRE_NUMBER(struct guest_run, has_command, 1),
    WIRE_NUMBER(struct guest_run, has_installers, 1),
    WIRE_NUMBER(struct guest_run, has_endpoints, 1),
    WIRE_NUMBER(struct guest_run, runner, RUN_RUNNER_COUNT - 1),
    WIRE_NUMBER(struct guest_run, session, 1),
    WIRE_NUMBER(struct guest_run, lasting, GUEST_STRINGS_LIMIT),
    WIRE_NUMBER(struct guest_run, checkpoints, CHECKPOINTS_MOST),
    WIRE_NUMBER(struct guest_run, private_file_count, GUEST_STRINGS_LIMIT),
    STRINGS(argv),
    STRINGS(environment),
    WIRE_STRINGS(struct guest_run, paths, GUEST_STRINGS_LIMIT, RUN_FILE_PATH_LIMIT),
    WIRE_NUMBER(struct guest_run, outputs.files, UINT64_MAX),
    WIRE_NUMBER(struct guest_run, outputs.file_bytes, UINT64_MAX),
    WIRE_NUMBER(struct guest_run, outputs.total_bytes, UINT64_MAX),
    WIRE_STRINGS(struct guest_run, outputs.patterns, OUTPUT_PATTERNS_LIMIT,
                 OUTPUT_PATTERN_BYTES_LIMIT),
    WIRE_NUMBER(struct guest_run, file_bytes, UINT64_MAX),
};

static const struct wire_field end_fields[] = {
    WIRE_NUMBER(struct guest_end, wait_status, UINT32_MAX),
    WIRE_NUMBER(struct guest_end, user_us, UINT64_MAX),
    WIRE_NUMBER(struct guest_end, system_us, UINT64_MAX),
    WIRE_NUMBER(struct guest_end, peak_memory_bytes, UINT64_MAX),
};

static const struct wire_field measure_fields[] = {
    WIRE_NUMBER(struct guest_measure, is_known, 1),
    WIRE_NUMBER(struct guest_measure, processors, UINT16_MAX),
    WIRE_NUMBER(struct guest_measure, total_us, UINT64_MAX),
    WIRE_NUMBER(struct guest_measure, cost_us, UINT32_MAX),
    WIRE_NUMBER(struct guest_measure, user_us, UINT64_MAX),
};

void guest_run_write(struct wire_writer *writer, const struct guest_run *run)
{
    wire_put_fields(writer, run_fields, COUNT_OF(run_fields), run);
}

static bool has_good_paths(const struct guest_run *run)
{
    size_t count = 0;
    for (; run->paths[count]; count++)
        if (!path_stays_below(run->paths[count]))
            return false;
    return run->private_file_count <= count;
}

bool guest_run_read(const unsigned char *bytes, size_t length, struct guest_run *ret)
{
    struct wire_reader reader = {.bytes = bytes, .length = length};
    struct guest_run run = {.trial = 0};
    wire_get_fields(&reader, run_fields, COUNT_OF(run_fields), &run);
    if (reader.failed || reader.offset != length || !run.argv[0] || !has_good_paths(&run)) {
        guest_run_clear(&run);
        return false;
    }
    *ret = run;
    return true;
}

void guest_run_clear(struct guest_run *run)
{
    wire_release_fields(run_fields, COUNT_OF(run_fields), run);
}

bool guest_kind_is_program(enum guest_kind kind)
{
    return kind == GUEST_STDOUT || kind == GUEST_STDERR || kind == GUEST_RESULTS ||
           kind == GUEST_LATE_STDOUT || kind == GUEST_LATE_STDERR || kind == GUEST_ENDPOINTS;
}

bool guest_kind_is_stream(enum guest_kind kind)
{
    return guest_kind_is_program(kind) || kind == GUEST_FILES;
}

void guest_end_write(struct wire_writer *writer, const struct guest_end *end)
{
    wire_put_fields(writer, end_fields, COUNT_OF(end_fields), end);
}

bool guest_end_read(const unsigned char *bytes, size_t length, struct guest_end *ret)
{
    struct wire_reader reader = {.bytes = bytes, .length = length};
    struct guest_end end = {.wait_status = 0};
    wire_get_fields(&reader, end_fields, COUNT_OF(end_fields), &end);
    if (reader.failed || reader.offset != length)
        return false;
    *ret = end;
    return true;
}

void guest_measure_write(struct wire_writer *writer, const struct guest_measure *measure)
{
    wire_put_fields(writer, measure_fields, COUNT_OF(measure_fields), measure);
}

bool guest_measure_read(const unsigned char *bytes, size_t length, struct guest_measure *ret)
{
    struct wire_reader reader = {.bytes = bytes, .length = length};
    struct guest_measure measure = {.is_known = 0};
    wire_get_fields(&reader, measure_fields, COUNT_OF(measure_fields), &measure);
    if (reader.failed || reader.offset != length || measure.processors == 0 ||
        measure.user_us > measure.total_us)
        return false;
    *ret = measure;
    return true;
}
