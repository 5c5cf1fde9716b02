/* SPDX-License-Identifier: Apache-2.0 */
/* Building audit records. Runs in the gateway, on the thread inside tool_invoke(). */
#include "audit_record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "host.h"
#include "json_text.h"
#include "result.h"

#define TIME_LIMIT 96 /* what the format could print at most */

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

static json_t *string_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *secret_names(const struct request *request)
{
    json_auto_t *names = json_array();
    for (size_t i = 0; i < request->secret_count; i++)
        if (json_array_append_new(names, json_string(request->secrets[i].name)) != 0)
            return NULL;
    return TAKE_POINTER(names);
}

/* A record without one of its members is none: *record becomes NULL and stays so. */
static void add(json_t **record, const char *name, json_t *value)
{
    if (json_object_set_new(*record, name, value) == 0)
        return;
    json_decref(*record);
    *record = NULL;
}

/* What all three have in common. */
static json_t *new_record(const struct call *call, const char *event)
{
    char time_text[TIME_LIMIT];
    char code_sha256[SHA256_HEX_LENGTH + 1];
    format_time(time_text);
    sha256_hex(call->request.code, call->request.code_length, code_sha256);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:s, s:o, s:b, s:{s:o, s:o, "
        "s:o}}",
        "event", event, "time", time_text, "run_id", call->run_id, "provider", "code-execute",
        "tool", call->tool, "principal", string_or_null(call->context.principal), "session",
        string_or_null(call->context.session), "traceparent",
        string_or_null(call->context.traceparent), "language", call->request.language->name,
        "code_sha256", code_sha256, "request_sha256", string_or_null(call->request_sha256),
        "policy_sha256", call->configuration.policy->sha256, "mode",
        sandbox_mode_name(call->configuration.mode), "secrets", secret_names(&call->request),
        "network", (int)call->request.network, "approval", "decision",
        string_or_null(call->approval.decision), "approver",
        string_or_null(call->approval.approver), "id", string_or_null(call->approval.id));
}

static bool store(const struct call *call, json_t *record)
{
    json_auto_t *owned = record;
    CLEANUP_FREE char *text = json_text(owned, JSON_ORDER_SORTED);
    return text != NULL && host_audit(&call->host, text);
}

bool audit_record_start(const struct call *call)
{
    json_t *record = new_record(call, "start");
    add(&record, "limits", call_limits(call));
    return store(call, record);
}

void audit_record_end(const struct call *call, const struct error *error)
{
    json_t *record = new_record(call, "end");
    const struct run_event *ended = &call->outcome.ended;
    add(&record, "status", json_string(result_status(call, error)));
    add(&record, "cause",
        error == NULL || call->executed ? json_string(result_cause(call, error)) : json_null());
    add(&record, "exit_code",
        error == NULL && ended->exit_code >= 0 ? json_integer(ended->exit_code) : json_null());
    add(&record, "duration_ms", json_integer((json_int_t)call->outcome.duration_ms));
    add(&record, "queued_ms", json_integer((json_int_t)call->admission.waited_ms));
    add(&record, "stdout_bytes", json_integer((json_int_t)call->run.output.capture.total));
    add(&record, "stderr_bytes", json_integer((json_int_t)call->run.errors.capture.total));
    add(&record, "isolation", result_isolation(call));
    add(&record, "error", error != NULL ? json_string(error_code_name(error->code)) : json_null());
    if (!store(call, record))
        host_log(&call->host, TOOL_LOG_ERROR,
                 "code-execute: the audit record of the end of run %s was not stored",
                 call->run_id);
}

void audit_record_refusal(const struct call *call, const struct error *error)
{
    json_t *record = new_record(call, "refused");
    add(&record, "error", json_string(error_code_name(error->code)));
    add(&record, "message", json_string(error->message));
    (void)store(call, record); /* nothing runs either way */
}
