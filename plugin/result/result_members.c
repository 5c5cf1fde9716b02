/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the result's members, and the source of each. Runs in the gateway, on the thread
 * inside tool_invoke().
 */
#include <stddef.h>

#include "protocol/run_event.h"
#include "result/result.h"
#include "result/result_member.h"
#include "vocabulary/sandbox_mode.h"

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* The omissions of the streams. */

static bool truncated_stdout(const struct result *result)
{
    return output_capture_truncated(&result->call->run.output.capture);
}

static bool truncated_stderr(const struct result *result)
{
    return output_capture_truncated(&result->call->run.errors.capture);
}

static int64_t stdout_bytes(const struct result *result)
{
    return (int64_t)result->call->run.output.capture.total;
}

static int64_t stderr_bytes(const struct result *result)
{
    return (int64_t)result->call->run.errors.capture.total;
}

static const struct result_member truncated_members[] = {
    {.name = "stdout",
     .type = RESULT_BOOLEAN,
     .description = "the middle of stdout was left out",
     .boolean = truncated_stdout},
    {.name = "stderr",
     .type = RESULT_BOOLEAN,
     .description = "the middle of stderr was left out",
     .boolean = truncated_stderr},
    {.name = "stdout_bytes",
     .type = RESULT_INTEGER,
     .description = "bytes the program wrote",
     .integer = stdout_bytes},
    {.name = "stderr_bytes",
     .type = RESULT_INTEGER,
     .description = "bytes the program wrote",
     .integer = stderr_bytes},
    {.name = NULL},
};

/* The usage of the run. */

static const struct run_usage *usage_of(const struct result *result)
{
    return &result->call->outcome.ended.usage;
}

/* Negative, that is null, where the backend cannot measure it. */
static int64_t figure(uint64_t value, uint64_t unit)
{
    return value == RUN_USAGE_UNKNOWN ? -1 : (int64_t)(value / unit);
}

static int64_t wall_ms(const struct result *result)
{
    return (int64_t)(usage_of(result)->wall_us / 1000);
}

static int64_t user_ms(const struct result *result)
{
    return figure(usage_of(result)->user_us, 1000);
}

static int64_t system_ms(const struct result *result)
{
    return figure(usage_of(result)->system_us, 1000);
}

static int64_t peak_memory_bytes(const struct result *result)
{
    return figure(usage_of(result)->peak_memory_bytes, 1);
}

static int64_t processes(const struct result *result)
{
    return figure(usage_of(result)->processes, 1);
}

static int64_t output_bytes(const struct result *result)
{
    return stdout_bytes(result) + stderr_bytes(result);
}

static const struct result_member usage_members[] = {
    {.name = "wall_ms",
     .type = RESULT_INTEGER,
     .description = "time from start to end",
     .integer = wall_ms},
    {.name = "user_ms",
     .type = RESULT_INTEGER,
     .nullable = true,
     .description = "processor time in the program; null where it cannot be measured",
     .integer = user_ms},
    {.name = "system_ms",
     .type = RESULT_INTEGER,
     .nullable = true,
     .description = "processor time in the kernel; null where it cannot be measured",
     .integer = system_ms},
    {.name = "peak_memory_bytes",
     .type = RESULT_INTEGER,
     .nullable = true,
     .description = "of all processes where a cgroup counts it, else of the largest; null where "
                    "it cannot be measured",
     .integer = peak_memory_bytes},
    {.name = "processes",
     .type = RESULT_INTEGER,
     .nullable = true,
     .description = "most processes and threads at one time; null where they cannot be counted",
     .integer = processes},
    {.name = "output_bytes",
     .type = RESULT_INTEGER,
     .description = "bytes the program printed",
     .integer = output_bytes},
    {.name = NULL},
};

/* The decision. */

static const char *decision(const struct result *result)
{
    return result->call->approval.decision;
}

static const char *approval_id(const struct result *result)
{
    return text_or_null(result->call->approval.id);
}

static const char *approver(const struct result *result)
{
    return text_or_null(result->call->approval.approver);
}

static const char *edited_from(const struct result *result)
{
    return text_or_null(result->call->approval.edited_from);
}

static const char *request_sha256(const struct result *result)
{
    return text_or_null(result->call->request_sha256);
}

static bool was_decided(const struct result *result)
{
    return result->call->approval.decision[0] != '\0';
}

static const struct result_member approval_members[] = {
    {.name = "decision",
     .type = RESULT_STRING,
     .description = "the decision; pending while the request waits",
     .string = decision},
    {.name = "id",
     .type = RESULT_STRING,
     .nullable = true,
     .description = "the approval request's id",
     .string = approval_id},
    {.name = "approver",
     .type = RESULT_STRING,
     .nullable = true,
     .description = "the approver, as the host names it",
     .string = approver},
    {.name = "edited_from",
     .type = RESULT_STRING,
     .nullable = true,
     .description = "where the approver changed the request: the hash of the original request",
     .string = edited_from},
    {.name = "request_sha256",
     .type = RESULT_STRING,
     .nullable = true,
     .description = "the hash the decision is bound to",
     .string = request_sha256},
    {.name = NULL},
};

/* The error. */

static const char *error_code(const struct result *result)
{
    return error_code_name(result->error->code);
}

static const char *error_message(const struct result *result)
{
    return result->error->message;
}

static const char *error_hint(const struct result *result)
{
    return result->error->hint;
}

static bool error_retryable(const struct result *result)
{
    return error_code_retryable(result->error->code);
}

static int64_t retry_after_ms(const struct result *result)
{
    uint64_t after_ms = result->error->retry_after_ms;
    return after_ms > 0 ? (int64_t)after_ms : -1;
}

static bool has_error(const struct result *result)
{
    return result->error;
}

static const struct result_member error_members[] = {
    {.name = "code",
     .type = RESULT_STRING,
     .description = "one of the manifest's errors",
     .string = error_code},
    {.name = "message",
     .type = RESULT_STRING,
     .description = "what exactly went wrong",
     .string = error_message},
    {.name = "hint",
     .type = RESULT_STRING,
     .description = "what to do about it",
     .string = error_hint},
    {.name = "retryable",
     .type = RESULT_BOOLEAN,
     .description = "the identical call may succeed later",
     .boolean = error_retryable},
    {.name = "retry_after_ms",
     .type = RESULT_INTEGER,
     .nullable = true,
     .description = "when it may succeed: an estimate from the duration of runs and the length of "
                    "the queue; null where it is unknown",
     .integer = retry_after_ms},
    {.name = NULL},
};

/* The result. */

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
    return text_or_null(result->signal);
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

static int64_t omitted_results(const struct result *result)
{
    return (int64_t)result->call->results.omitted.count;
}

static int64_t omitted_result_bytes(const struct result *result)
{
    return (int64_t)result->call->results.omitted.bytes;
}

static const char *omission_at(size_t index)
{
    return index < RESULT_OMISSION_COUNT ? result_omission_name((enum result_omission)index) : NULL;
}

static const char *omission_of_results(const struct result *result)
{
    return result_omission_name(result->call->results.omitted.reason);
}

static const struct result_member results_omitted_members[] = {
    {.name = "count",
     .type = RESULT_INTEGER,
     .description = "results, or single forms of one",
     .integer = omitted_results},
    {.name = "bytes",
     .type = RESULT_INTEGER,
     .description = "their size, as far as it is known",
     .integer = omitted_result_bytes},
    {.name = "reason",
     .type = RESULT_STRING,
     .value_at = omission_at,
     .description = "the reason of the first one",
     .string = omission_of_results},
    {.name = NULL},
};

static void write_notes(struct json_draft *draft, const char *name, const struct result *result)
{
    json_draft_value(draft, name, json_incref(result->call->notes));
}

/* The files. */

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
