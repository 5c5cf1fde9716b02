/* SPDX-License-Identifier: Apache-2.0 */
/* Building audit records. Runs in the gateway, on the thread inside tool_invoke(). */
#include "gate/audit_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "gate/choice/package_plan.h"
#include "host/host.h"
#include "request/request_fields.h"
#include "result/result.h"
#include "result/result_member.h"
#include "json/json_text.h"

#define TIME_LIMIT 96 /* the most that the format can print */

/* RFC 3339 in UTC with milliseconds; made without strftime(), which follows the host's locale. */
static void format_time(char text[TIME_LIMIT])
{
    struct timespec now = {0};
    struct tm utc = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    (void)snprintf(text, TIME_LIMIT, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", utc.tm_year + 1900,
                   utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                   now.tv_nsec / 1000000);
}

static void write_or_null(struct json_draft *record, const char *name, const char *text)
{
    json_draft_string(record, name, text && text[0] != '\0' ? text : NULL);
}

static void write_approval(struct json_draft *record, const struct approval_outcome *approval)
{
    json_draft_open(record, "approval", '{');
    write_or_null(record, "approver", approval->approver);
    write_or_null(record, "decision", approval->decision);
    write_or_null(record, "edited_from", approval->edited_from);
    write_or_null(record, "id", approval->id);
    write_or_null(record, "reason", approval->reason);
    json_draft_close(record, '}');
}

/* The names of those that the program could read: every cell those of its session. */
static void write_cell_secrets(struct json_draft *record, const struct call *call)
{
    const char *names[REQUEST_SECRETS_LIMIT];
    size_t count = call_secrets(call, names);
    json_draft_open(record, "secrets", '[');
    for (size_t i = 0; i < count; i++)
        json_draft_string(record, NULL, names[i]);
    json_draft_close(record, ']');
}

/* The session that the program was, or would be, a cell of; "new" until it has begun. */
static void write_cell(struct json_draft *record, const struct call *call)
{
    const struct session *session = call->session;
    if (!call->parsed || !call->request.session) {
        json_draft_string(record, "cell", NULL);
        return;
    }
    json_draft_open(record, "cell", '{');
    json_draft_integer(record, "cells", session ? (int64_t)session->cell_count : 0);
    write_or_null(record, "forked_from", session ? session->forked_from : NULL);
    json_draft_string(
        record, "lost_reason",
        session && session->loss != SESSION_LOSS_NONE ? session_loss_name(session->loss) : NULL);
    write_cell_secrets(record, call);
    json_draft_string(record, "session", session ? session->id : call->request.session);
    json_draft_boolean(record, "undone", call->session_state == SESSION_RESTORED);
    json_draft_close(record, '}');
}

static void write_packages(struct json_draft *record, const struct call *call)
{
    if (call->packages.name)
        package_plan_write(record, "packages", call, false);
    else
        json_draft_string(record, "packages", NULL);
}

/* The members that all three kinds share. */
static struct json_draft begin_record(const struct call *call, const char *event)
{
    struct json_draft record = {.order = JSON_ORDER_SORTED};
    char time_text[TIME_LIMIT];
    char code_sha256[SHA256_HEX_LENGTH + 1];
    format_time(time_text);
    sha256_hex(call->request.code, call->request.code_length, code_sha256);
    json_draft_open(&record, NULL, '{');
    write_approval(&record, &call->approval);
    json_draft_string(&record, "code_sha256", code_sha256);
    json_draft_string(&record, "event", event);
    write_cell(&record, call);
    write_or_null(&record, "image", call->description.image.name);
    write_or_null(&record, "image_id", call->description.image.id);
    json_draft_string(&record, "mode", sandbox_mode_name(call->configuration.mode));
    json_draft_value(&record, "narrowing", narrowing_json(&call->context.narrowing));
    write_packages(&record, call);
    json_draft_string(&record, "policy_sha256", call->configuration.policy->sha256);
    write_or_null(&record, "principal", call->context.principal);
    json_draft_string(&record, "provider", "code-execute");
    write_or_null(&record, "request_sha256", call->request_sha256);
    json_draft_string(&record, "run_id", call->run_id);
    write_or_null(&record, "session", call->context.session);
    json_draft_string(&record, "time", time_text);
    json_draft_string(&record, "tool", call->tool);
    write_or_null(&record, "traceparent", call->context.traceparent);
    request_fields_audit(&record, &call->request);
    return record;
}

/* An incomplete record is not sent. */
static bool store(const struct call *call, struct json_draft *record)
{
    size_t length = 0;
    json_draft_close(record, '}');
    CLEANUP_FREE char *text = json_draft_take(record, &length);
    return text && host_audit(&call->host, text);
}

bool audit_record_start(const struct call *call)
{
    struct json_draft record = begin_record(call, "start");
    content_write_places(&record, call);
    call_write_limits(&record, call);
    return store(call, &record);
}

void audit_record_end(const struct call *call, const struct error *error)
{
    struct result result;
    struct json_draft record = begin_record(call, "end");
    result_settle(call, error, &result);
    result_members_audit(&record, &result);
    artifact_list_audit(&record, "files_out", &call->artifacts);
    network_log_write(&call->network, &record, "endpoint_requests");
    json_draft_integer(&record, "stdout_bytes", (int64_t)call->run.output.capture.total);
    json_draft_integer(&record, "stderr_bytes", (int64_t)call->run.errors.capture.total);
    json_draft_string(&record, "error", error ? error_code_name(error->code) : NULL);
    if (!store(call, &record))
        host_log(&call->host, TOOL_LOG_ERROR,
                 "code-execute: the audit record of the end of run %s was not stored",
                 call->run_id);
}

bool audit_record_tool_call(const struct call *call, const struct tool_call *tool_call,
                            bool has_ended)
{
    struct json_draft record = {.order = JSON_ORDER_SORTED};
    char time_text[TIME_LIMIT];
    format_time(time_text);
    json_draft_open(&record, NULL, '{');
    write_or_null(&record, "approver", tool_call->approver);
    json_draft_integer(&record, "arguments_bytes", (int64_t)tool_call->arguments_length);
    json_draft_string(&record, "call_sha256", tool_call->sha256);
    write_cell(&record, call);
    json_draft_string(&record, "decision",
                      tool_call->approver[0] != '\0' ? approval_answer_name(tool_call->decision)
                                                     : NULL);
    tool_flow_write_verdict(&call->tool_flow, &call->configuration.policy->tools, tool_call->name,
                            &tool_call->flow, &record);
    if (has_ended) {
        json_draft_integer(&record, "answer_bytes", (int64_t)tool_call->answer_bytes);
        json_draft_integer(&record, "duration_ms", (int64_t)tool_call->duration_ms);
        json_draft_string(&record, "error",
                          tool_call->status == TOOL_CALL_OK ? NULL
                                                            : tool_error_name(tool_call->error));
        json_draft_string(&record, "status", tool_call_status_name(tool_call->status));
    }
    json_draft_string(&record, "event", has_ended ? "tool_call_end" : "tool_call");
    json_draft_string(&record, "policy_sha256", call->configuration.policy->sha256);
    write_or_null(&record, "principal", call->context.principal);
    json_draft_string(&record, "provider", "code-execute");
    write_or_null(&record, "request_sha256", call->request_sha256);
    json_draft_string(&record, "run_id", call->run_id);
    json_draft_integer(&record, "seq", (int64_t)tool_call->seq);
    write_or_null(&record, "session", call->context.session);
    json_draft_string(&record, "time", time_text);
    json_draft_string(&record, "tool", tool_call->name);
    write_or_null(&record, "traceparent", call->context.traceparent);
    return store(call, &record);
}

void audit_record_refusal(const struct call *call, const struct error *error)
{
    struct json_draft record = begin_record(call, "refused");
    content_write_places(&record, call);
    json_draft_string(&record, "status", call_status_name(error_code_status(error->code)));
    json_draft_string(&record, "error", error_code_name(error->code));
    json_draft_string(&record, "message", error->message);
    (void)store(call, &record); /* nothing runs either way */
}
