/* SPDX-License-Identifier: Apache-2.0 */
/* Building results. Runs in the gateway, on the thread inside tool_invoke(). */
#include "result.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "json_text.h"
#include "missing_module.h"

static const char *status_of_error(enum error_code code)
{
    switch ((int)code) {
    case ERROR_ACCESS_DENIED:
    case ERROR_APPROVAL_DENIED:
    case ERROR_APPROVAL_UNAVAILABLE:
    case ERROR_APPROVAL_TIMEOUT:
    case ERROR_POLICY_DENIED:
    case ERROR_LANGUAGE_NOT_ALLOWED:
    case ERROR_MODE_NOT_ALLOWED:
    case ERROR_SECRET_NOT_ALLOWED:
    case ERROR_LIMIT_TOO_HIGH:
        return "denied";
    case ERROR_APPROVAL_PENDING:
        return "pending";
    case ERROR_CANCELLED:
        return "cancelled";
    default:
        return "error";
    }
}

const char *result_status(const struct call *call, const struct error *error)
{
    if (error != NULL)
        return status_of_error(error->code);
    const struct run_event *ended = &call->outcome.ended;
    switch ((enum run_cause)ended->cause) {
    case RUN_CAUSE_EXIT:
        return "completed";
    case RUN_CAUSE_WALL_TIMEOUT:
        return "timeout";
    case RUN_CAUSE_CANCELLED:
        return "cancelled";
    case RUN_CAUSE_INFRASTRUCTURE:
    case RUN_CAUSE_COUNT:
        return "error";
    case RUN_CAUSE_CPU_LIMIT:
    case RUN_CAUSE_MEMORY_LIMIT:
    case RUN_CAUSE_PROCESS_LIMIT:
    case RUN_CAUSE_OUTPUT_LIMIT:
    case RUN_CAUSE_FILE_LIMIT:
    case RUN_CAUSE_DISK_FULL:
    case RUN_CAUSE_SIGNAL:
    case RUN_CAUSE_FORBIDDEN_SYSCALL:
        break;
    }
    /* A program that met a limit and still ended by itself has completed; the cause says what it
     * met. */
    return ended->exit_code >= 0 ? "completed" : "killed";
}

const char *result_cause(const struct call *call, const struct error *error)
{
    if (error != NULL)
        return error->code == ERROR_CANCELLED ? run_cause_name(RUN_CAUSE_CANCELLED)
                                              : run_cause_name(RUN_CAUSE_INFRASTRUCTURE);
    return run_cause_name((enum run_cause)call->outcome.ended.cause);
}

static json_t *layer_names(uint64_t layers)
{
    json_auto_t *names = json_array();
    for (int layer = 0; layer < LAYER_COUNT; layer++) {
        const char *name = isolation_layer_name((enum isolation_layer)layer);
        if ((layers & LAYER_BIT(layer)) != 0 &&
            json_array_append_new(names, json_string(name)) != 0)
            return NULL;
    }
    return TAKE_POINTER(names);
}

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

/* What the backend saw of the machine; which members there are depends on the mode. */
static json_t *process_details(const struct call *call)
{
    const struct isolation_report *report = &call->outcome.ended.isolation;
    return json_pack("{s:i, s:i, s:b, s:b, s:I, s:b, s:i}", "landlock_abi",
                     (int)report->landlock_abi, "cgroup_version", (int)report->cgroup_version,
                     "cgroup_memory", (int)report->cgroup_has_memory, "cgroup_pids",
                     (int)report->cgroup_has_pids, "outer_uid", (json_int_t)report->outer_uid,
                     "network", (int)call->request.network, "seccomp_instructions",
                     (int)report->seccomp_instructions);
}

static json_t *docker_details(const struct call *call)
{
    const struct isolation_report *report = &call->outcome.ended.isolation;
    const struct engine_report *engine = &call->outcome.ended.engine;
    return json_pack("{s:i, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:s, s:o}",
                     "cgroup_version", (int)report->cgroup_version, "cgroup_memory",
                     (int)report->cgroup_has_memory, "cgroup_pids", (int)report->cgroup_has_pids,
                     "network", (int)call->request.network, "engine", text_or_null(engine->name),
                     "engine_version", text_or_null(engine->version), "engine_api",
                     text_or_null(engine->api), "runtime", text_or_null(engine->runtime),
                     "runtime_version", text_or_null(engine->runtime_version), "rootless",
                     (int)engine->rootless, "user_namespace", (int)engine->user_namespace, "image",
                     call->description.docker.image, "image_id", text_or_null(engine->image_id));
}

static json_t *isolation_details(const struct call *call)
{
    return call->configuration.mode == SANDBOX_MODE_DOCKER ? docker_details(call)
                                                           : process_details(call);
}

json_t *result_isolation(const struct call *call)
{
    const struct isolation_report *report = &call->outcome.ended.isolation;
    uint64_t requested = 0;
    if (call->description.isolation == RUN_ISOLATION_SANDBOX && call->configuration.policy != NULL)
        requested =
            call->request.network ? LAYERS_ALL & ~LAYER_BIT(LAYER_NETWORK_NAMESPACE) : LAYERS_ALL;
    if (!call->executed || call->description.isolation == RUN_ISOLATION_NONE)
        return json_pack("{s:o, s:[], s:[], s:{}}", "requested", layer_names(requested), "applied",
                         "missing", "details");
    return json_pack("{s:o, s:o, s:o, s:o}", "requested", layer_names(requested), "applied",
                     layer_names(report->applied), "missing",
                     layer_names(requested & ~report->applied), "details", isolation_details(call));
}

/* The error of a program that was ended from outside: told in the words an agent can act on. */
static bool error_of_cause(const struct call *call, struct error *ret)
{
    const struct run_event *ended = &call->outcome.ended;
    const struct run_limits *limits = &call->description.limits;
    switch ((enum run_cause)ended->cause) {
    case RUN_CAUSE_EXIT:
    case RUN_CAUSE_COUNT:
        return false;
    case RUN_CAUSE_WALL_TIMEOUT:
        error_set(ret, ERROR_TIMEOUT, "timeout: the program did not end within %llu ms",
                  (unsigned long long)limits->wall_ms);
        return true;
    case RUN_CAUSE_CPU_LIMIT:
        error_set(ret, ERROR_CPU_LIMIT, "the program used more than %llu ms of processor time",
                  (unsigned long long)limits->cpu_ms);
        return true;
    case RUN_CAUSE_MEMORY_LIMIT:
        error_set(ret, ERROR_MEMORY_LIMIT, "the program needed more than %llu bytes of memory",
                  (unsigned long long)limits->memory_bytes);
        return true;
    case RUN_CAUSE_PROCESS_LIMIT:
        error_set(ret, ERROR_PROCESS_LIMIT,
                  "the program wanted more than %llu processes or threads",
                  (unsigned long long)limits->processes);
        return true;
    case RUN_CAUSE_OUTPUT_LIMIT:
        error_set(ret, ERROR_OUTPUT_LIMIT, "the program printed more than %llu bytes",
                  (unsigned long long)call->output_limit);
        return true;
    case RUN_CAUSE_FILE_LIMIT:
        error_set(ret, ERROR_FILE_LIMIT, "the program wrote a file of more than %llu bytes",
                  (unsigned long long)limits->file_bytes);
        return true;
    case RUN_CAUSE_DISK_FULL:
        error_set(
            ret, ERROR_DISK_FULL, "the program filled its file space of %llu bytes and %llu files",
            (unsigned long long)limits->scratch_bytes, (unsigned long long)limits->scratch_inodes);
        return true;
    case RUN_CAUSE_SIGNAL:
        error_set(ret, ERROR_KILLED_BY_SIGNAL, "killed by signal %d (SIG%s)", ended->signal,
                  sigabbrev_np(ended->signal) != NULL ? sigabbrev_np(ended->signal) : "?");
        return true;
    case RUN_CAUSE_FORBIDDEN_SYSCALL:
        error_set(ret, ERROR_FORBIDDEN_SYSCALL, "forbidden system call%s%.100s",
                  ended->message[0] != '\0' ? ": " : "", ended->message);
        return true;
    case RUN_CAUSE_CANCELLED:
        error_set(ret, ERROR_CANCELLED, "cancelled");
        return true;
    case RUN_CAUSE_INFRASTRUCTURE:
        break;
    }
    error_set(ret, ERROR_BACKEND_FAILED, "the sandbox failed during the run%s%.200s",
              ended->message[0] != '\0' ? ": " : "", ended->message);
    return true;
}

static json_t *error_json(const struct error *error)
{
    if (error == NULL)
        return json_null();
    return json_pack("{s:s, s:s, s:s, s:b, s:o}", "code", error_code_name(error->code), "message",
                     error->message, "hint", error->hint, "retryable",
                     (int)error_code_retryable(error->code), "retry_after_ms",
                     error->retry_after_ms > 0 ? json_integer((json_int_t)error->retry_after_ms)
                                               : json_null());
}

static json_t *stream_json(struct call *call, const struct run_stream *stream, const char *name)
{
    size_t length = 0;
    bool replaced = false;
    CLEANUP_FREE char *text = output_capture_text(&stream->capture, &length, &replaced);
    if (text == NULL)
        return NULL;
    if (replaced)
        call_note(call, "%s held bytes that are not UTF-8; each is shown as U+FFFD", name);
    if (stream->capture.failed)
        call_note(call, "%s could not be kept: the gateway is out of memory", name);
    if (stream->redaction.found > 0)
        call_note(call, "secrets were redacted from %s in %zu places (best effort)", name,
                  stream->redaction.found);
    return json_stringn(text, length);
}

/* Names as far as they fit; NULL-terminated. */
static void join_names(char *const *names, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (; *names != NULL && length + 1 < size; names++) {
        int added = snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", *names);
        length += added > 0 ? (size_t)added : 0;
    }
}

/* A program that lacks a library cannot get it by trying again. */
static void note_missing_module(struct call *call, const json_t *errors)
{
    char name[MISSING_MODULE_LIMIT + 1];
    char there[300];
    const char *text = json_string_value(errors);
    if (call->outcome.ended.exit_code <= 0 || text == NULL || call->language == NULL ||
        !missing_module_find(call->language->name, text, name))
        return;
    join_names(call->language->modules, there, sizeof(there));
    if (there[0] != '\0')
        call_note(call, "%s is not installed, and a run installs nothing; there are: %s", name,
                  there);
    else
        call_note(call,
                  "%s is not installed, and a run installs nothing: do without it, or ask "
                  "the operator for it",
                  name);
}

static json_t *signal_json(int number)
{
    if (number <= 0)
        return json_null();
    char name[32];
    const char *abbreviation = sigabbrev_np(number);
    if (abbreviation != NULL)
        (void)snprintf(name, sizeof(name), "SIG%s", abbreviation);
    else
        (void)snprintf(name, sizeof(name), "SIG%d", number);
    return json_string(name);
}

/* null: the backend cannot measure it. */
static json_t *figure(uint64_t value, uint64_t unit)
{
    return value == RUN_USAGE_UNKNOWN ? json_null() : json_integer((json_int_t)(value / unit));
}

static json_t *usage_json(const struct call *call)
{
    const struct run_usage *usage = &call->outcome.ended.usage;
    uint64_t printed = call->run.output.capture.total + call->run.errors.capture.total;
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:I}", "wall_ms",
                     (json_int_t)(usage->wall_us / 1000), "user_ms", figure(usage->user_us, 1000),
                     "system_ms", figure(usage->system_us, 1000), "peak_memory_bytes",
                     figure(usage->peak_memory_bytes, 1), "processes", figure(usage->processes, 1),
                     "output_bytes", (json_int_t)printed);
}

static json_t *approval_json(const struct call *call)
{
    const struct approval_outcome *approval = &call->approval;
    if (approval->decision[0] == '\0')
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o}", "decision", approval->decision, "id",
                     text_or_null(approval->id), "approver", text_or_null(approval->approver),
                     "request_sha256", text_or_null(call->request_sha256));
}

char *result_text(struct call *call, const struct error *error)
{
    struct error cause_error;
    const struct run_event *ended = &call->outcome.ended;
    bool exited = error == NULL && ended->exit_code >= 0;
    const char *status = result_status(call, error);
    const struct error *shown = error;
    bool met_limit = error == NULL && error_of_cause(call, &cause_error);
    if (met_limit && strcmp(status, "completed") != 0)
        shown = &cause_error;
    else if (met_limit)
        call_note(call, "%s", cause_error.message);
    bool settled = call->configuration.policy != NULL;

    /* Streams first: they add notes. Evaluated outside json_pack(), whose arguments have no order.
     */
    json_t *output = stream_json(call, &call->run.output, "stdout");
    json_t *errors = stream_json(call, &call->run.errors, "stderr");
    if (error == NULL)
        note_missing_module(call, errors);
    json_auto_t *result = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:b, s:{s:b, s:b, s:I, s:I}, s:I, s:I, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:[], s:[], s:o, "
        "s:O, s:o}",
        "status", status, "stdout", output, "stderr", errors, "exit_code",
        exited ? json_integer(ended->exit_code) : json_null(), "signal",
        error == NULL && !exited ? signal_json(ended->signal) : json_null(), "timed_out",
        (int)(strcmp(status, "timeout") == 0), "truncated", "stdout",
        (int)output_capture_truncated(&call->run.output.capture), "stderr",
        (int)output_capture_truncated(&call->run.errors.capture), "stdout_bytes",
        (json_int_t)call->run.output.capture.total, "stderr_bytes",
        (json_int_t)call->run.errors.capture.total, "duration_ms",
        (json_int_t)call->outcome.duration_ms, "queued_ms", (json_int_t)call->admission.waited_ms,
        "mode", settled ? json_string(sandbox_mode_name(call->configuration.mode)) : json_null(),
        "run_id", json_string(call->run_id), "cause",
        error == NULL || call->executed ? json_string(result_cause(call, error)) : json_null(),
        "usage", usage_json(call), "limits", call_limits(call), "isolation", result_isolation(call),
        "files", "results", "approval", approval_json(call), "notes", call->notes, "error",
        error_json(shown));
    return json_text(result, JSON_ORDER_MADE);
}
