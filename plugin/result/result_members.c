/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the result's members, and the source of each; those of its objects are in
 * nested_members.c. Runs in the gateway, on the thread inside tool_invoke().
 */
#include <stddef.h>

#include "protocol/run_event.h"
#include "result/result.h"
#include "result/result_member.h"
#include "vocabulary/sandbox_mode.h"

static const char *status_at(size_t index)
{
    return index < CALL_STATUS_COUNT ? call_status_name((enum call_status)index) : NULL;
}

static const char *status(const struct result *result)
{
    return call_status_name(result->status);
}

static void write_text(struct json_draft *draft, const char *name, const struct result_text *text)
{
    if (text->text)
        json_draft_bytes(draft, name, text->text, text->length);
    else
        json_draft_value(draft, name, NULL);
}

static void write_stdout(struct json_draft *draft, const char *name, const struct result *result)
{
    write_text(draft, name, &result->output);
}

static void write_stderr(struct json_draft *draft, const char *name, const struct result *result)
{
    write_text(draft, name, &result->errors);
}

static int64_t exit_code(const struct result *result)
{
    return result->has_ended ? result->call->outcome.ended.exit_code : -1;
}

static const char *signal_name(const struct result *result)
{
    return result->signal[0] != '\0' ? result->signal : NULL;
}

static bool timed_out(const struct result *result)
{
    return result->status == CALL_TIMEOUT;
}

static int64_t duration_ms(const struct result *result)
{
    return (int64_t)result->call->outcome.duration_ms;
}

static int64_t queued_ms(const struct result *result)
{
    return (int64_t)result->call->admission.waited_ms;
}

static bool is_settled(const struct result *result)
{
    return result->call->configuration.policy;
}

static const char *mode_at(size_t index)
{
    return index < SANDBOX_MODE_COUNT ? sandbox_mode_name((enum sandbox_mode)index) : NULL;
}

static const char *mode(const struct result *result)
{
    return sandbox_mode_name(result->call->configuration.mode);
}

static const char *policy_sha256(const struct result *result)
{
    return result->call->configuration.policy->sha256;
}

static const char *run_id(const struct result *result)
{
    return result->call->run_id;
}

static const char *traceparent(const struct result *result)
{
    return result->call->context.traceparent;
}

static bool has_traceparent(const struct result *result)
{
    return result->call->context.traceparent;
}

static const char *cause_at(size_t index)
{
    return index < RUN_CAUSE_COUNT ? run_cause_name((enum run_cause)index) : NULL;
}

static const char *cause(const struct result *result)
{
    return run_cause_name(result->cause);
}

static bool has_cause(const struct result *result)
{
    return result->has_ended || result->call->executed;
}

static void write_limits(struct json_draft *draft, const char *name, const struct result *result)
{
    (void)name;
    call_write_limits(draft, result->call);
}

static void write_results(struct json_draft *draft, const char *name, const struct result *result)
{
    results_write_rows(&result->call->results, name, draft);
}

static bool has_exception(const struct result *result)
{
    return result->call->results.exception.length > 0;
}

static void write_exception(struct json_draft *draft, const char *name, const struct result *result)
{
    results_write_exception(&result->call->results, name, draft);
}

static bool has_omitted_results(const struct result *result)
{
    return result->call->results.omitted.count > 0;
}

static void write_notes(struct json_draft *draft, const char *name, const struct result *result)
{
    json_draft_value(draft, name, json_incref(result->call->notes));
}

static void write_files(struct json_draft *draft, const char *name, const struct result *result)
{
    artifact_list_write(draft, name, &result->call->artifacts);
}

static void write_files_omitted(struct json_draft *draft, const char *name,
                                const struct result *result)
{
    artifact_list_write_omitted(draft, name, &result->call->artifacts);
}

static bool has_omitted_files(const struct result *result)
{
    return result->call->artifacts.omitted_reason != FILE_WHOLE;
}

static bool has_session(const struct result *result)
{
    return result->call->session;
}

static bool has_calls(const struct result *result)
{
    return result->call->tool_calls.made > 0;
}

static void write_calls(struct json_draft *draft, const char *name, const struct result *result)
{
    tool_calls_write(&result->call->tool_calls, name, draft);
}

static bool has_network(const struct result *result)
{
    return result->call->endpoint_count > 0 || result->call->network.complete;
}

static void write_network(struct json_draft *draft, const char *name, const struct result *result)
{
    network_log_write(&result->call->network, draft, name);
}

static bool has_packages(const struct result *result)
{
    return result->call->packages.name;
}

static bool was_decided(const struct result *result)
{
    return result->call->approval.decision[0] != '\0';
}

static bool has_error(const struct result *result)
{
    return result->error;
}

static const struct result_member members[] = {
    {.name = "status",
     .type = RESULT_STRING,
     .value_at = status_at,
     .description = "how the call ended; a non-zero exit code is completed",
     .string = status,
     .brief = true,
     .audited = true},
    {.name = "stdout",
     .type = RESULT_STRING,
     .description = "standard output, with secrets redacted",
     .write = write_stdout,
     .brief = true,
     .text = true},
    {.name = "stderr",
     .type = RESULT_STRING,
     .description = "standard error, with secrets redacted",
     .write = write_stderr,
     .brief = true,
     .text = true},
    {.name = "exit_code",
     .type = RESULT_INTEGER,
     .nullable = true,
     .description = "null where the program did not exit",
     .integer = exit_code,
     .brief = true,
     .text = true,
     .audited = true},
    {.name = "signal",
     .type = RESULT_STRING,
     .nullable = true,
     .description = "the signal that ended it, such as SIGKILL",
     .string = signal_name,
     .brief = true,
     .text = true,
     .audited = true},
    {.name = "timed_out",
     .type = RESULT_BOOLEAN,
     .description = "the program reached its wall-clock limit",
     .boolean = timed_out},
    {.name = "truncated",
     .type = RESULT_OBJECT,
     .description = "what was left out of stdout and stderr",
     .members = truncated_members},
    {.name = "duration_ms",
     .type = RESULT_INTEGER,
     .description = "duration of the run, without the wait for approval or for its turn",
     .integer = duration_ms,
     .audited = true},
    {.name = "queued_ms",
     .type = RESULT_INTEGER,
     .description = "how long it waited for its turn; the program had that much less of its time",
     .integer = queued_ms,
     .audited = true},
    {.name = "mode",
     .type = RESULT_STRING,
     .nullable = true,
     .value_at = mode_at,
     .description = "the sandbox it ran in",
     .string = mode,
     .is_given = is_settled},
    {.name = "policy_sha256",
     .type = RESULT_STRING,
     .nullable = true,
     .description = "the policy that decided the call; null where none was in force",
     .string = policy_sha256,
     .is_given = is_settled},
    {.name = "run_id",
     .type = RESULT_STRING,
     .description = "the run's id in the audit log",
     .string = run_id},
    {.name = "traceparent",
     .type = RESULT_STRING,
     .optional = true,
     .description = "the trace that the call belongs to, where the host named one",
     .string = traceparent,
     .is_given = has_traceparent,
     .brief = true},
    {.name = "cause",
     .type = RESULT_STRING,
     .nullable = true,
     .value_at = cause_at,
     .description = "what ended the program",
     .string = cause,
     .is_given = has_cause,
     .audited = true},
    {.name = "usage",
     .type = RESULT_OBJECT,
     .description = "what the run used",
     .members = usage_members},
    {.name = "limits",
     .type = RESULT_INTEGER_MAP,
     .description = "the limits that were in force, by name",
     .write = write_limits},
    {.name = "isolation",
     .type = RESULT_OBJECT,
     .description = "the isolation that was in force",
     .members = isolation_members,
     .audited = true},
    {.name = "files",
     .type = RESULT_OPEN_ARRAY,
     .description = "files that the program has made or changed in its working directory: path, "
                    "size, mime_type, sha256, change, active, and content with its encoding, or "
                    "uri, or omitted with the reason",
     .write = write_files,
     .brief = true},
    {.name = "files_omitted",
     .type = RESULT_OPEN,
     .nullable = true,
     .description = "count, bytes and reason of further files that are not named",
     .write = write_files_omitted,
     .is_given = has_omitted_files,
     .brief = true},
    {.name = "results",
     .type = RESULT_OPEN_ARRAY,
     .description = "the value of the program's last line, and what it has displayed",
     .write = write_results,
     .brief = true},
    {.name = "results_omitted",
     .type = RESULT_OBJECT,
     .nullable = true,
     .description = "what is not among the results; null where all are there",
     .members = results_omitted_members,
     .is_given = has_omitted_results,
     .brief = true},
    {.name = "exception",
     .type = RESULT_OPEN,
     .nullable = true,
     .description = "the program's own exception: name, value and frames; null where it had none",
     .write = write_exception,
     .is_given = has_exception,
     .brief = true},
    {.name = "session",
     .type = RESULT_OBJECT,
     .optional = true,
     .description = "the session whose cell it was, where the request has one",
     .members = session_members,
     .is_given = has_session,
     .brief = true},
    {.name = "calls",
     .type = RESULT_OPEN_ARRAY,
     .optional = true,
     .description =
         "the tools that the program has called, the first 256: seq, tool, status, code, "
         "duration_ms, bytes_in, bytes_out, call_sha256, approved_by, decision, flow",
     .write = write_calls,
     .is_given = has_calls,
     .brief = true},
    {.name = "network",
     .type = RESULT_OPEN_ARRAY,
     .optional = true,
     .description = "the program's requests to its endpoints, the first 100: endpoint, method, "
                    "path, query_sha256, status, decision, reason, bytes_out, bytes_in, "
                    "duration_ms",
     .write = write_network,
     .is_given = has_network,
     .brief = true},
    {.name = "packages",
     .type = RESULT_OBJECT,
     .optional = true,
     .description = "the set of packages that the program had, where it had one",
     .members = packages_members,
     .is_given = has_packages},
    {.name = "approval",
     .type = RESULT_OBJECT,
     .nullable = true,
     .description = "null where no approval was needed",
     .members = approval_members,
     .is_given = was_decided},
    {.name = "notes",
     .type = RESULT_STRINGS,
     .description =
         "corrections that were made to the request, and facts that help to understand the result",
     .write = write_notes,
     .brief = true,
     .text = true},
    {.name = "error",
     .type = RESULT_OBJECT,
     .nullable = true,
     .description = "null where the program ended by itself",
     .members = error_members,
     .is_given = has_error,
     .brief = true},
    {.name = NULL},
};

const struct result_member *result_members(void)
{
    return members;
}
