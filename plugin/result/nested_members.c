/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of the result's objects, and the source of each. Runs in the gateway, on the thread
 * inside tool_invoke().
 */
#include <stddef.h>

#include "protocol/run_event.h"
#include "result/result.h"
#include "result/result_member.h"

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

const struct result_member truncated_members[] = {
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

/* The set of packages. */

static const char *packages_name(const struct result *result)
{
    return result->call->packages.name;
}

static const char *packages_sha256(const struct result *result)
{
    return result->call->packages.sha256;
}

const struct result_member packages_members[] = {
    {.name = "name",
     .type = RESULT_STRING,
     .description = "of the environment, as the request names it",
     .string = packages_name},
    {.name = "sha256",
     .type = RESULT_STRING,
     .description = "over all files of the packages",
     .string = packages_sha256},
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

const struct result_member usage_members[] = {
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

const struct result_member approval_members[] = {
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

const struct result_member error_members[] = {
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

/* The results that are left out. */

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

const struct result_member results_omitted_members[] = {
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
