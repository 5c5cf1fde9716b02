/* SPDX-License-Identifier: Apache-2.0 */
/* Building results. Runs in the gateway, on the thread inside tool_invoke(). */
#include "result/result.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "call/timeout_hint.h"
#include "result/run_notes.h"
#include "json/json_text.h"

static const char *status_of_error(enum error_code code)
{
    switch ((int)code) {
    case ERROR_ACCESS_DENIED:
    case ERROR_APPROVAL_DENIED:
    case ERROR_APPROVAL_MISMATCH:
    case ERROR_APPROVAL_REPLAYED:
    case ERROR_APPROVAL_UNAVAILABLE:
    case ERROR_APPROVAL_TIMEOUT:
    case ERROR_POLICY_DENIED:
    case ERROR_CONTENT_REFUSED:
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

static void write_layers(struct json_draft *draft, const char *name, uint64_t layers)
{
    json_draft_open(draft, name, '[');
    for (int layer = 0; layer < LAYER_COUNT; layer++)
        if ((layers & LAYER_BIT(layer)) != 0)
            json_draft_string(draft, NULL, isolation_layer_name((enum isolation_layer)layer));
    json_draft_close(draft, ']');
}

static void write_or_null(struct json_draft *draft, const char *name, const char *text)
{
    json_draft_string(draft, name, text[0] != '\0' ? text : NULL);
}

/* What the backend saw of the machine; which members there are depends on the mode. */
static void write_process_details(struct json_draft *draft, const struct call *call)
{
    const struct isolation_report *report = &call->outcome.ended.isolation;
    json_draft_integer(draft, "landlock_abi", report->landlock_abi);
    json_draft_integer(draft, "cgroup_version", report->cgroup_version);
    json_draft_boolean(draft, "cgroup_memory", report->cgroup_has_memory);
    json_draft_boolean(draft, "cgroup_pids", report->cgroup_has_pids);
    json_draft_integer(draft, "outer_uid", report->outer_uid);
    json_draft_boolean(draft, "network", call->request.network);
    json_draft_integer(draft, "seccomp_instructions", report->seccomp_instructions);
}

static void write_docker_details(struct json_draft *draft, const struct call *call)
{
    const struct isolation_report *report = &call->outcome.ended.isolation;
    const struct engine_report *engine = &call->outcome.ended.engine;
    json_draft_integer(draft, "cgroup_version", report->cgroup_version);
    json_draft_boolean(draft, "cgroup_memory", report->cgroup_has_memory);
    json_draft_boolean(draft, "cgroup_pids", report->cgroup_has_pids);
    json_draft_boolean(draft, "network", call->request.network);
    write_or_null(draft, "engine", engine->name);
    write_or_null(draft, "engine_version", engine->version);
    write_or_null(draft, "engine_api", engine->api);
    write_or_null(draft, "runtime", engine->runtime);
    write_or_null(draft, "runtime_version", engine->runtime_version);
    json_draft_boolean(draft, "rootless", engine->rootless);
    json_draft_boolean(draft, "user_namespace", engine->user_namespace);
    json_draft_string(draft, "image", call->description.docker.image);
    write_or_null(draft, "image_id", engine->image_id);
}

void result_write_isolation(struct json_draft *draft, const struct call *call)
{
    uint64_t requested = 0;
    uint64_t applied = 0;
    if (call->description.isolation == RUN_ISOLATION_SANDBOX && call->configuration.policy != NULL)
        requested =
            call->request.network ? LAYERS_ALL & ~LAYER_BIT(LAYER_NETWORK_NAMESPACE) : LAYERS_ALL;
    if (call->executed && call->description.isolation != RUN_ISOLATION_NONE)
        applied = call->outcome.ended.isolation.applied;
    bool told = applied != 0; /* not by a backend that was lost before */
    json_draft_open(draft, "isolation", '{');
    write_layers(draft, "requested", requested);
    write_layers(draft, "applied", applied);
    write_layers(draft, "missing", told ? requested & ~applied : 0);
    json_draft_open(draft, "details", '{');
    if (told && call->configuration.mode == SANDBOX_MODE_DOCKER)
        write_docker_details(draft, call);
    else if (told)
        write_process_details(draft, call);
    json_draft_close(draft, '}');
    json_draft_close(draft, '}');
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
        timeout_hint(call, ret);
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
                  "the program tried to start more than %llu processes or threads",
                  (unsigned long long)limits->processes);
        return true;
    case RUN_CAUSE_OUTPUT_LIMIT:
        error_set(ret, ERROR_OUTPUT_LIMIT, "the program printed more than %llu bytes",
                  (unsigned long long)call->output_limit);
        return true;
    case RUN_CAUSE_FILE_LIMIT:
        error_set(ret, ERROR_FILE_LIMIT, "the program wrote a file larger than %llu bytes",
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

static void write_error(struct json_draft *draft, const struct error *error)
{
    if (error == NULL) {
        json_draft_string(draft, "error", NULL);
        return;
    }
    json_draft_open(draft, "error", '{');
    json_draft_string(draft, "code", error_code_name(error->code));
    json_draft_string(draft, "message", error->message);
    json_draft_string(draft, "hint", error->hint);
    json_draft_boolean(draft, "retryable", error_code_retryable(error->code));
    if (error->retry_after_ms > 0)
        json_draft_integer(draft, "retry_after_ms", (int64_t)error->retry_after_ms);
    else
        json_draft_string(draft, "retry_after_ms", NULL);
    json_draft_close(draft, '}');
}

/* The stream's text, with what is to be noted of it; its last part in *ret. */
static void write_stream(struct json_draft *draft, struct call *call,
                         const struct run_stream *stream, const char *name, struct run_words *ret)
{
    size_t length = 0;
    bool replaced = false;
    CLEANUP_FREE char *text = output_capture_text(&stream->capture, &length, &replaced);
    run_words_take(text, length, ret);
    if (text == NULL) {
        json_draft_value(draft, name, NULL);
        return;
    }
    if (replaced)
        call_note(call, "%s contained bytes that are not UTF-8; each is shown as U+FFFD", name);
    if (stream->capture.failed)
        call_note(call, "%s could not be kept: the gateway is out of memory", name);
    if (stream->redaction.found > 0)
        call_note(call, "secrets were redacted from %s in %zu places (best effort)", name,
                  stream->redaction.found);
    json_draft_bytes(draft, name, text, length);
}

void result_write_signal(struct json_draft *draft, const struct call *call,
                         const struct error *error)
{
    char name[32];
    const struct run_event *ended = &call->outcome.ended;
    int number = error == NULL && ended->exit_code < 0 ? ended->signal : 0;
    const char *abbreviation = number > 0 ? sigabbrev_np(number) : NULL;
    if (abbreviation != NULL)
        (void)snprintf(name, sizeof(name), "SIG%s", abbreviation);
    else
        (void)snprintf(name, sizeof(name), "SIG%d", number);
    json_draft_string(draft, "signal", number > 0 ? name : NULL);
}

/* null: the backend cannot measure it. */
static void write_figure(struct json_draft *draft, const char *name, uint64_t value, uint64_t unit)
{
    if (value == RUN_USAGE_UNKNOWN)
        json_draft_string(draft, name, NULL);
    else
        json_draft_integer(draft, name, (int64_t)(value / unit));
}

static void write_usage(struct json_draft *draft, const struct call *call)
{
    const struct run_usage *usage = &call->outcome.ended.usage;
    uint64_t printed = call->run.output.capture.total + call->run.errors.capture.total;
    json_draft_open(draft, "usage", '{');
    json_draft_integer(draft, "wall_ms", (int64_t)(usage->wall_us / 1000));
    write_figure(draft, "user_ms", usage->user_us, 1000);
    write_figure(draft, "system_ms", usage->system_us, 1000);
    write_figure(draft, "peak_memory_bytes", usage->peak_memory_bytes, 1);
    write_figure(draft, "processes", usage->processes, 1);
    json_draft_integer(draft, "output_bytes", (int64_t)printed);
    json_draft_close(draft, '}');
}

static void write_approval(struct json_draft *draft, const struct call *call)
{
    const struct approval_outcome *approval = &call->approval;
    if (approval->decision[0] == '\0') {
        json_draft_string(draft, "approval", NULL);
        return;
    }
    json_draft_open(draft, "approval", '{');
    json_draft_string(draft, "decision", approval->decision);
    write_or_null(draft, "id", approval->id);
    write_or_null(draft, "approver", approval->approver);
    write_or_null(draft, "edited_from", approval->edited_from);
    write_or_null(draft, "request_sha256", call->request_sha256);
    json_draft_close(draft, '}');
}

static void write_truncated(struct json_draft *draft, const struct run *run)
{
    json_draft_open(draft, "truncated", '{');
    json_draft_boolean(draft, "stdout", output_capture_truncated(&run->output.capture));
    json_draft_boolean(draft, "stderr", output_capture_truncated(&run->errors.capture));
    json_draft_integer(draft, "stdout_bytes", (int64_t)run->output.capture.total);
    json_draft_integer(draft, "stderr_bytes", (int64_t)run->errors.capture.total);
    json_draft_close(draft, '}');
}

/* Adds the rules' notes to the call's; met: the error of the cause, whose hint they may replace. */
static void note_run(struct call *call, const struct run_facts *facts, struct error *met)
{
    struct run_note note;
    bool explained = met->code != ERROR_TIMEOUT;
    for (size_t rule = 0; rule < run_note_rules(); rule++) {
        if (!run_note_make(rule, facts, &note))
            continue;
        call_note(call, "%s", note.text);
        if (!explained && note.timeout_hint != NULL) {
            error_set_hint(met, "%s", note.timeout_hint);
            explained = true;
        }
    }
}

/* But for what was printed. */
static struct run_facts facts_of_run(const struct call *call)
{
    const struct run_event *ended = &call->outcome.ended;
    const struct run_limits *limits = &call->description.limits;
    bool is_isolated = call->configuration.mode != SANDBOX_MODE_NONE;
    return (struct run_facts){
        .language = call->language->name,
        .modules = call->language->modules,
        .code = call->request.code,
        .code_length = call->request.code_length,
        .arguments = call->request.args,
        .cause = (enum run_cause)ended->cause,
        .exit_code = ended->exit_code,
        .has_network = call->request.network || !is_isolated,
        .memory_bytes = limits->memory_bytes,
        .memory_kills = ended->usage.memory_kills,
        .file_bytes = is_isolated ? limits->file_bytes : 0,
        .printed = call->run.output.capture.total + call->run.errors.capture.total,
    };
}

/* met: NULL where nothing ran. */
static void write_streams(struct json_draft *draft, struct call *call, struct error *met)
{
    struct run_facts facts = {0};
    if (met != NULL)
        facts = facts_of_run(call);
    write_stream(draft, call, &call->run.output, "stdout", &facts.output);
    write_stream(draft, call, &call->run.errors, "stderr", &facts.errors);
    if (met != NULL)
        note_run(call, &facts, met);
}

static void write_end(struct json_draft *draft, const struct call *call, const struct error *error)
{
    const struct run_event *ended = &call->outcome.ended;
    if (error == NULL && ended->exit_code >= 0)
        json_draft_integer(draft, "exit_code", ended->exit_code);
    else
        json_draft_string(draft, "exit_code", NULL);
    result_write_signal(draft, call, error);
}

char *result_text(struct call *call, const struct error *error)
{
    struct error cause_error = {0};
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    const char *status = result_status(call, error);
    const struct error *shown = error;
    bool met_limit = error == NULL && error_of_cause(call, &cause_error);
    if (met_limit && strcmp(status, "completed") != 0)
        shown = &cause_error;
    else if (met_limit)
        call_note(call, "%s", cause_error.message);
    bool settled = call->configuration.policy != NULL;
    bool has_cause = error == NULL || call->executed;

    json_draft_open(&draft, NULL, '{');
    json_draft_string(&draft, "status", status);
    /* Before the notes, to which they add. */
    write_streams(&draft, call, error == NULL ? &cause_error : NULL);
    write_end(&draft, call, error);
    json_draft_boolean(&draft, "timed_out", strcmp(status, "timeout") == 0);
    write_truncated(&draft, &call->run);
    json_draft_integer(&draft, "duration_ms", (int64_t)call->outcome.duration_ms);
    json_draft_integer(&draft, "queued_ms", (int64_t)call->admission.waited_ms);
    json_draft_string(&draft, "mode", settled ? sandbox_mode_name(call->configuration.mode) : NULL);
    json_draft_string(&draft, "policy_sha256", settled ? call->configuration.policy->sha256 : NULL);
    json_draft_string(&draft, "run_id", call->run_id);
    if (call->context.traceparent != NULL)
        json_draft_string(&draft, "traceparent", call->context.traceparent);
    json_draft_string(&draft, "cause", has_cause ? result_cause(call, error) : NULL);
    write_usage(&draft, call);
    call_write_limits(&draft, call);
    result_write_isolation(&draft, call);
    json_draft_open(&draft, "files", '[');
    json_draft_close(&draft, ']');
    json_draft_open(&draft, "results", '[');
    json_draft_close(&draft, ']');
    write_approval(&draft, call);
    json_draft_value(&draft, "notes", json_incref(call->notes));
    write_error(&draft, shown);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, &length);
}
