/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse -> validate -> policy -> capability -> readiness -> content -> approval -> admission ->
 * secrets -> audit start -> run -> audit end. Runs in the gateway, on the thread inside
 * tool_invoke(). A request that an approver edited passes all stages before the approval again.
 * Readiness comes before approval, so that nobody is asked about a call that cannot run. It comes
 * after capability, so that a caller without rights starts no process. Admission comes after
 * approval, so that a call that waits for a human holds no run slot. It comes before secrets, so
 * that none is in memory while its call waits.
 */
#include "gate/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artifacts/artifact_reader.h"
#include "base/cleanup.h"
#include "call/capability_check.h"
#include "call/context.h"
#include "call/workspace.h"
#include "content/content.h"
#include "gate/audit_record.h"
#include "gate/cell.h"
#include "gate/cells_grant.h"
#include "gate/choice/endpoint_plan.h"
#include "gate/choice/package_plan.h"
#include "gate/choice/tool_plan.h"
#include "gate/decision.h"
#include "gate/endpoint_delivery.h"
#include "gate/offer/offer_hint.h"
#include "gate/tool_gate.h"
#include "host/host.h"
#include "run/readiness.h"
#include "run/run.h"

static bool find_tool(const char *tool, enum request_shape *ret, struct error *error)
{
    if (tool && strcmp(tool, "code_execute") == 0) {
        *ret = REQUEST_CODE_EXECUTE;
        return true;
    }
    if (tool && strcmp(tool, "sandbox.exec") == 0) {
        *ret = REQUEST_SANDBOX_EXEC;
        return true;
    }
    error_set(error, ERROR_UNKNOWN_TOOL, "unknown tool");
    return false;
}

/* A gateway may pass on a value of its client; the run is not refused for it. */
static void drop_invalid_traceparent(struct call *call)
{
    if (!call->context.traceparent || traceparent_is_valid(call->context.traceparent))
        return;
    free(call->context.traceparent);
    call->context.traceparent = NULL;
    call_note(call, "the context's traceparent does not follow W3C Trace Context and was ignored");
}

static bool parse(struct call *call, const char *tool, const char *input_json, struct error *error)
{
    enum request_shape shape;
    if (!find_tool(tool, &shape, error))
        return false;
    call->tool = shape == REQUEST_SANDBOX_EXEC ? "sandbox.exec" : "code_execute";
    if (!input_json) {
        error_set(error, ERROR_INVALID_INPUT, "request: no input");
        return false;
    }
    /* One byte beyond the limit is enough to see that it is too long. */
    size_t length = strnlen(input_json, REQUEST_BYTES_LIMIT + 1);
    if (!request_parse(shape, input_json, length, &call->request, error)) {
        offer_hint_input(call, error);
        return false;
    }
    call->parsed = true;
    (void)json_array_extend(call->notes, call->request.notes);
    if (!context_parse(call->host.context_json, &call->context, error))
        return false;
    drop_invalid_traceparent(call);
    if (call->host_mistake == HOST_SOUND && call->context.tools.count > 0 &&
        !host_calls_tools(&call->host))
        call->host_mistake = HOST_NO_CALL_TOOL;
    return true;
}

static bool hash_request(struct call *call, struct error *error)
{
    if (call_hash_request(call, call->request_sha256))
        return true;
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the request's hash");
    return false;
}

static bool check_network(const struct call *call, struct error *error)
{
    bool allowed = call->configuration.policy->network_allowed;
    const struct sandbox_mode_row *row = sandbox_mode_row(call->configuration.mode);
    if (call->request.network && !row->network) {
        error_set(error, ERROR_NOT_SUPPORTED, "request: /network: mode %s has no network",
                  row->name);
        error_set_hint(error, "work without the network: no policy can allow it in this mode");
        return false;
    }
    if (!call->request.network || (allowed && narrowing_leaves_network(&call->context.narrowing)))
        return true;
    error_set(error, ERROR_POLICY_DENIED, "policy denied: network");
    error_set_hint(error, allowed
                              ? "work without the network: the gateway grants this caller none"
                              : "work without the network, or ask the operator to allow it in the "
                                "policy's \"network\"");
    return false;
}

/* An edited request keeps the directory that its editor saw. */
static bool pin_workspace(struct call *call, struct error *error)
{
    if (!workspace_check(call->configuration.policy, call->configuration.mode,
                         call->context.workspace, &call->workspace, error))
        return false;
    call->description.workspace_id = call->workspace.id;
    return true;
}

static bool apply_policy(struct call *call, struct error *error)
{
    /* An edited request keeps the policy that its editor saw. */
    if (!call->configuration.policy && !configuration_current(&call->configuration, error))
        return false;
    const struct policy *policy = call->configuration.policy;
    const struct request *request = &call->request;
    if (!narrowing_check(&call->context.narrowing, policy, error))
        return false;
    call->configuration.mode = narrowing_mode(&call->context.narrowing, call->configuration.mode);
    if (!narrowing_check_mode(&call->context.narrowing, policy, call->configuration.mode, error))
        return false;
    if (!input_files_find(call, error) || !package_plan(call, error) || !plan_run(call, error) ||
        !cell_plan(call, error) || !tool_plan(call, error) || !endpoint_plan(call, error) ||
        !input_files_fit(call, error) || !check_network(call, error))
        return false;
    if (!decision_check_secrets(call, error) || !pin_workspace(call, error) ||
        !hash_request(call, error) || !decision_check_rules(call, error))
        return false;
    if (request->network)
        call_note(call, "the program has the network of %s",
                  sandbox_mode_row(call->configuration.mode)->network);
    else if (request->secret_count > 0 && call->endpoint_count == 0)
        call_note(call, "the program has no network: secrets can only be used locally");
    return true;
}

/* A name may mean another image tomorrow: the image of the trial is the one that is approved and
 * run. */
static bool pin_image(struct call *call, const char *image_id, struct error *error)
{
    if (image_id[0] == '\0')
        return true;
    free(call->description.image.id);
    call->description.image.id = strdup(image_id);
    if (call->description.image.id)
        return hash_request(call, error);
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the image's id");
    return false;
}

/* A call waits for half of its time at most: the wait is inside its time, and a program that would
 * have less than half of it is better not begun. */
static bool enter_admission(struct call *call, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    /* A tool that a program has called may not wait for a place that this very program has. */
    uint64_t patience_ms = call_is_nested() ? 0 : call->description.limits.wall_ms / 2;
    uint64_t waited_ms = call->admission.waited_ms;
    const struct admission_terms terms = {
        .principal = call->context.principal,
        .max_runs = policy->max_runs,
        .max_queued = policy->max_queued,
        .memory_bytes = cell_memory_bytes(call),
        .memory_total_bytes = policy->memory_total_bytes,
        .patience_ms = patience_ms > waited_ms ? patience_ms - waited_ms : 0,
        .cancelled = &call->registration.cancelled,
    };
    return admission_enter(&call->admission, &terms, error);
}

static bool check_readiness(struct call *call, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    const struct trial_subject subject = {
        .policy = policy,
        .mode = call->configuration.mode,
        .language = call->language,
        .image = call->description.image.name,
        .network = call->request.network,
        .endpoints = call->endpoint_count > 0,
        .pull = policy->images[call->configuration.mode].pull,
        .workspace = call->context.workspace,
        .workspace_id = call->workspace.id,
    };
    const struct trial_watcher watcher = {.host = &call->host,
                                          .cancel_fd = call->registration.cancel_fd};
    char image_id[IMAGE_ID_SIZE] = "";
    /* A trial starts processes, as a run does, so it takes a slot. */
    bool ready = (readiness_is_known(&subject) || enter_admission(call, error)) &&
                 readiness_check(&subject, &watcher, image_id, error);
    admission_leave(&call->admission);
    return ready && package_plan_fits_image(call, image_id, error) &&
           pin_image(call, image_id, error);
}

static char *make_approval_request(void *user, const char *id)
{
    return call_approval_request(user, id);
}

static bool is_cancelled(void *user)
{
    struct call *call = user;
    return atomic_load(&call->registration.cancelled);
}

static bool obtain_approval(struct call *call, struct error *error)
{
    const struct policy *policy = call->configuration.policy;
    /* The hash is made again, because only now is the image known. */
    if (!decision_check_rules(call, error))
        return false;
    struct policy_verdict verdict = decision_of(call);
    if (verdict.decision == APPROVAL_ALLOW) {
        (void)snprintf(call->approval.decision, sizeof(call->approval.decision), "not_required");
        decision_name(policy, &verdict, call->approval.approver, sizeof(call->approval.approver));
        return true;
    }
    if (cells_grant_covers(call, &verdict, &call->approval))
        return true;
    const struct approval_question question = {
        .request_sha256 = call->request_sha256,
        .principal = call->context.principal,
        .session = call->context.session,
        .answers = call_approval_answers(call),
        .timeout_ms = policy->approval_timeout_ms,
        .max_waiting = policy->approval_max_waiting,
        .make_request = make_approval_request,
        .cancelled = is_cancelled,
        .user = call,
    };
    return approval_obtain(&call->host, &question, &call->approval, error) &&
           cells_grant_take_answer(call, &verdict, error);
}

/* As with a trial: the processes of a check take a slot. */
static bool check_content(struct call *call, struct error *error)
{
    bool checked = (!content_needs_process(call) || enter_admission(call, error)) &&
                   content_check(call, error);
    admission_leave(&call->admission);
    return checked;
}

static bool has_input_files(const struct call *call)
{
    for (size_t i = 0; i < call->request.file_count; i++)
        if (call->request.files[i].ref)
            return true;
    return false;
}

/* Only now are all of their hashes known. */
static bool check_input_files(struct call *call, struct error *error)
{
    return !has_input_files(call) || (input_files_check(call, error) && hash_request(call, error));
}

/* Without the broker nobody need be asked. */
static bool check_broker(const struct call *call, struct error *error)
{
    return call->endpoint_count == 0 || broker_exists(error);
}

/* All stages before the approval. */
static bool judge(struct call *call, struct error *error)
{
    return apply_policy(call, error) && host_is_sound(&call->host, call->host_mistake, error) &&
           capability_check(call, error) && check_broker(call, error) &&
           check_input_files(call, error) && check_readiness(call, error) &&
           check_content(call, error);
}

static bool take_edit(struct call *call, struct error *error)
{
    const char *arguments = call->approval.arguments;
    struct request edited;
    if (!arguments)
        return true;
    memcpy(call->approval.edited_from, call->request_sha256, sizeof(call->request_sha256));
    if (!request_parse(call->request.shape, arguments, strlen(arguments), &edited, error)) {
        /* The agent cannot correct this. */
        error->code = ERROR_APPROVAL_DENIED;
        error_set_hint(error, "%s", error_code_hint(ERROR_APPROVAL_DENIED));
        error_add_context(error, "approval denied: the approver's edit cannot be used");
        return false;
    }
    call_replace_request(call, &edited);
    call_note(
        call,
        "the approver changed the request: the program that ran is not the one that was sent");
    return judge(call, error);
}

/* The hash is made again from the sources of the description, so that the approved request is the
 * one that runs. */
static bool confirm_request(struct call *call, struct error *error)
{
    char hash[SHA256_HEX_LENGTH + 1];
    bool same = call_hash_request(call, hash) && strcmp(hash, call->request_sha256) == 0 &&
                call->description.files[0].length == call->request.code_length &&
                memcmp(call->description.files[0].content, call->request.code,
                       call->request.code_length) == 0;
    if (!same)
        error_set(error, ERROR_APPROVAL_MISMATCH,
                  "approval mismatch: the request is not the one that was approved");
    return same && approval_holds(&call->approval, error);
}

/* The wait is taken from the program's time. This comes after the hash, which covers the requested
 * time. */
static void spend_wait(struct call *call)
{
    uint64_t *wall_ms = &call->description.limits.wall_ms;
    uint64_t waited_ms = call->admission.waited_ms;
    if (waited_ms == 0)
        return;
    call_note(call, "the call waited %llu ms for its turn: the program has the rest of its %llu ms",
              (unsigned long long)waited_ms, (unsigned long long)*wall_ms);
    /* A thread that woke up late has waited longer than allowed. */
    *wall_ms -= waited_ms < *wall_ms / 2 ? waited_ms : *wall_ms / 2;
}

static bool record_start(struct call *call, struct error *error)
{
    if (!confirm_request(call, error))
        return false;
    spend_wait(call);
    if (audit_record_start(call)) {
        call->start_recorded = true;
        return true;
    }
    error_set(error, ERROR_AUDIT_UNAVAILABLE, "the audit record of the start was not stored");
    return false;
}

static bool take_files(void *user, const void *bytes, size_t length)
{
    return artifact_reader_feed(user, bytes, length);
}

/* The sandbox was gone before the last of its files had come. */
static void note_lost_files(struct call *call)
{
    enum run_cause cause = call->outcome.ended.cause;
    bool was_killed = run_cause_is_order(cause) || cause == RUN_CAUSE_MEMORY_LIMIT;
    artifact_list_lose(&call->artifacts, was_killed ? FILE_KILLED : FILE_LOST);
    call_note(call, "files that the program has left may be missing: the sandbox ended before "
                    "all of them were collected");
}

/* The program, and behind it the files that it leaves. */
static bool execute(struct call *call, struct error *error)
{
    const struct policy_files_out *out = &call->transfers.files_out;
    const struct artifact_settings settings = {
        .files = out->max_files,
        .file_bytes = out->file_bytes,
        .total_bytes = out->total_bytes,
        .inline_bytes = out->inline_bytes,
        .keeps_unscanned = out->binary_with_secrets,
        .hashes = sandbox_mode_row(call->configuration.mode)->machine != NULL,
        .host = &call->host,
        .redaction = call->redaction,
    };
    CLEANUP(artifact_reader_clear) struct artifact_reader reader;
    bool collects = call->description.outputs.files > 0;
    artifact_reader_init(&reader, &settings, &call->artifacts);
    call->run.files = (struct file_stream){.fd = -1, .take = take_files, .user = &reader};
    bool ended = call->request.session ? cell_execute(call, error)
                                       : run_execute(&call->run, &call->outcome, error);
    if (!artifact_reader_finish(&reader) && collects && ended && call->outcome.started &&
        !cell_leaves_nothing(call))
        note_lost_files(call);
    if (call->artifacts.omitted_reason == FILE_NOT_FROZEN)
        call_note(call, "the files that the cell has left were not collected, because its "
                        "processes did not stop; they come with the next cell");
    return ended;
}

static bool run_program(struct call *call, struct error *error)
{
    CLEANUP_CLOSE int input =
        program_input_open(call->request.stdin_text, call->request.stdin_length, error);
    if (input < 0)
        return false;
    results_init(&call->results, &call->transfers.results, call->redaction, call->run_id);
    call->run = (struct run){
        .mode = call->configuration.mode,
        .description = &call->description,
        .spent = &call->description,
        .stdin_fd = input,
        .input_fds = call->inputs.fds,
        .input_count = call->inputs.count,
        .endpoints_fd = -1,
        .cancel_fd = call->registration.cancel_fd,
        .output_limit = call->limits.output_total_bytes.default_value,
        .output = {.id = TOOL_STREAM_STDOUT,
                   .host = &call->host,
                   .redaction = {.redaction = call->redaction}},
        .errors = {.id = TOOL_STREAM_STDERR,
                   .host = &call->host,
                   .redaction = {.redaction = call->redaction}},
        .results = {.handler = results_handler(&call->results)},
    };
    output_capture_init(&call->run.output.capture, (size_t)call->limits.stdout_bytes.default_value);
    output_capture_init(&call->run.errors.capture, (size_t)call->limits.stderr_bytes.default_value);
    if (call->description.tools && !tool_gate_begin(call, error))
        return false;
    if (!call->request.session)
        call->run.endpoints_fd = TAKE_FD(call->broker_run.intake);
    bool ended = execute(call, error);
    close_fd(TAKE_FD(call->run.endpoints_fd));
    tool_gate_end(call);
    endpoints_end(call);
    if (call->tool_calls.made > TOOL_ROWS_LIMIT)
        call_note(call, "the program has made %llu calls of tools, of which the first are listed",
                  (unsigned long long)call->tool_calls.made);
    results_end(&call->results, &call->run.results);
    call->executed = call->outcome.started;
    if (ended && call->outcome.ended.failure != RUN_FAILURE_NONE) {
        readiness_explain(&call->outcome.ended, call->configuration.mode, call->language,
                          call->description.image.name, error);
        return false;
    }
    return ended;
}

bool gate_apply_policy(struct call *call, const char *tool, const char *input_json,
                       struct error *error)
{
    return parse(call, tool, input_json, error) && apply_policy(call, error);
}

/* From now on the host can cancel it. */
static bool begin_call(struct call *call, struct error *error)
{
    return call_register(&call->registration, call->host.call_id, error);
}

/* A call may be cancelled from inside any callback, and then goes no further. */
static bool is_wanted(struct call *call, struct error *error)
{
    if (!is_cancelled(call))
        return true;
    error_set(error, ERROR_CANCELLED, "cancelled before the program began");
    return false;
}

bool gate_pass(struct call *call, const char *tool, const char *input_json, struct error *error)
{
    static bool (*const stages[])(struct call *, struct error *) = {
        begin_call,
        judge,
        obtain_approval,
        take_edit,
        enter_admission,
        input_files_open,
        deliver_endpoint_variables,
        deliver_secrets,
        deliver_endpoints,
        record_start,
        run_program,
    };
    bool passed = parse(call, tool, input_json, error);
    for (size_t i = 0; passed && i < COUNT_OF(stages); i++)
        passed = is_wanted(call, error) && stages[i](call, error);
    admission_leave(&call->admission);
    if (call->start_recorded)
        audit_record_end(call, passed ? NULL : error);
    else if (call->configuration.policy)
        audit_record_refusal(call, error);
    return passed;
}
