/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the message form of a backend's pool report. Runs in the plugin (decode) and in every
 * backend (encode), on any thread.
 */
#include "pool_report.h"

#include "run_event.h"
#include "wire.h"

void pool_report_encode(const struct pool_report *report, unsigned char message[POOL_REPORT_LENGTH])
{
    struct wire_writer writer = {
        .bytes = message,
        .capacity = POOL_REPORT_LENGTH,
        .limit = POOL_REPORT_LENGTH,
    };
    wire_put_u32(&writer, PROTOCOL_VERSION);
    for (size_t i = 0; i < RUN_INTERPRETER_COUNT; i++) {
        wire_put_u32(&writer, report->rows[i].ready);
        wire_put_u32(&writer, report->rows[i].wanted);
        wire_put_u64(&writer, report->rows[i].memory_bytes);
    }
}

static bool in_range(const struct pool_row *row)
{
    return row->ready <= RUN_POOL_LIMIT &&
           (row->memory_bytes <= INT64_MAX || row->memory_bytes == RUN_USAGE_UNKNOWN);
}

bool pool_report_decode(const unsigned char *message, size_t length, struct pool_report *ret)
{
    struct pool_report report;
    struct wire_reader reader = {.bytes = message, .length = length};
    if (length != POOL_REPORT_LENGTH || wire_get_u32(&reader) != PROTOCOL_VERSION)
        return false;
    for (size_t i = 0; i < RUN_INTERPRETER_COUNT; i++) {
        report.rows[i].ready = wire_get_u32(&reader);
        report.rows[i].wanted = wire_get_u32(&reader);
        report.rows[i].memory_bytes = wire_get_u64(&reader);
        if (!in_range(&report.rows[i]))
            return false;
    }
    *ret = report;
    return true;
}
