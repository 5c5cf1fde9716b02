/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a run as JSON. Runs in the gateway, on the thread inside tool_invoke(). */
#include "endpoints/network_log.h"

#include <stdlib.h>

static const char *endpoint_name(const struct network_log *log, uint32_t index)
{
    return index < log->name_count ? log->names[index] : NULL;
}

static const char *text_or_null(const char *text)
{
    return text && text[0] != '\0' ? text : NULL;
}

static void take_record(struct network_log *log, const struct egress_record *record)
{
    struct json_draft *rows = &log->rows;
    json_draft_open(rows, NULL, '{');
    json_draft_string(rows, "endpoint", endpoint_name(log, record->endpoint));
    json_draft_string(rows, "method", text_or_null(record->method));
    json_draft_string(rows, "path", text_or_null(record->path));
    json_draft_string(rows, "query_sha256", text_or_null(record->query_sha256));
    json_draft_integer(rows, "status", (int64_t)record->status);
    json_draft_string(rows, "decision",
                      egress_decision_name((enum egress_decision)record->decision));
    json_draft_string(rows, "reason", text_or_null(record->reason));
    json_draft_integer(rows, "bytes_out", (int64_t)record->bytes_out);
    json_draft_integer(rows, "bytes_in", (int64_t)record->bytes_in);
    json_draft_integer(rows, "duration_ms", (int64_t)record->duration_ms);
    json_draft_close(rows, '}');
    log->row_count++;
}

void network_log_take(struct network_log *log, const struct egress_event *event)
{
    if (event->type == EGRESS_EVENT_RECORD && log->row_count < EGRESS_RECORDS_LIMIT)
        take_record(log, &event->record);
    if (event->type == EGRESS_EVENT_CLOSED) {
        log->totals = event->totals;
        log->complete = true;
    }
}

void network_log_write(const struct network_log *log, struct json_draft *draft, const char *name)
{
    json_draft_open(draft, name, '[');
    if (log->rows.length > 0)
        json_draft_text(draft, NULL, log->rows.bytes, log->rows.length);
    json_draft_close(draft, ']');
}

void network_log_clear(struct network_log *log)
{
    free(log->rows.bytes);
    *log = (struct network_log){0};
}
