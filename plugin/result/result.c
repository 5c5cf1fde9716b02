/* SPDX-License-Identifier: Apache-2.0 */
/* Building results. Runs in the gateway, on the thread inside tool_invoke(). */
#include "result/result.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_list.h"
#include "call/call_limits.h"
#include "result/result_member.h"
#include "result/run_notes.h"
#include "json/json_text.h"

static void cleanup_result(struct result *result)
{
    free(result->output.text);
    free(result->errors.text);
}

/* The error of a program that was ended from outside, in words that an agent can act on. */
static bool error_of_cause(const struct call *call, struct error *ret)
{
    const struct run_event *ended = &call->outcome.ended;
    const struct run_limits *limits = &call->description.limits;
    switch ((enum run_cause)ended->cause) {
    case RUN_CAUSE_EXIT:
        return false;
    case RUN_CAUSE_WALL_TIMEOUT:
        error_set(ret, ERROR_TIMEOUT, "timeout: the program did not end within %llu ms",
                  (unsigned long long)limits->wall_ms);
        call_limit_hint(call, "wall_ms", ret);
        return true;
    case RUN_CAUSE_CPU_LIMIT:
        error_set(ret, ERROR_CPU_LIMIT, "the program used more than %llu ms of processor time",
                  (unsigned long long)limits->cpu_ms);
        return true;
    case RUN_CAUSE_MEMORY_LIMIT:
        error_set(ret, ERROR_MEMORY_LIMIT, "the program needed more than %llu bytes of memory",
                  (unsigned long long)limits->memory_bytes);
        call_limit_hint(call, "memory_bytes", ret);
        return true;
    case RUN_CAUSE_PROCESS_LIMIT:
        error_set(ret, ERROR_PROCESS_LIMIT,
                  "the program tried to start more than %llu processes or threads",
                  (unsigned long long)limits->processes);
        return true;
    case RUN_CAUSE_OUTPUT_LIMIT:
        error_set(ret, ERROR_OUTPUT_LIMIT, "the program printed more than %llu bytes",
                  (unsigned long long)call->limits.output_total_bytes.default_value);
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
                  sigabbrev_np(ended->signal) ? sigabbrev_np(ended->signal) : "?");
        return true;
    case RUN_CAUSE_FORBIDDEN_SYSCALL:
        error_set(ret, ERROR_FORBIDDEN_SYSCALL, "forbidden system call%s%.100s",
                  ended->message[0] != '\0' ? ": " : "", ended->message);
        return true;
    case RUN_CAUSE_CANCELLED:
        error_set(ret, ERROR_CANCELLED, "cancelled");
        return true;
    case RUN_CAUSE_INFRASTRUCTURE:
    case RUN_CAUSE_COUNT:
        break;
    }
    error_set(ret, ERROR_BACKEND_FAILED, "the sandbox failed during the run%s%.200s",
              ended->message[0] != '\0' ? ": " : "", ended->message);
    return true;
}

/* Keeps the stream's text and adds its notes; its last part in *ret_words. */
static void take_stream(struct call *call, const struct run_stream *stream, const char *name,
                        struct result_text *ret, struct run_words *ret_words)
{
    bool replaced = false;
    ret->text = output_capture_text(&stream->capture, &ret->length, &replaced);
    run_words_take(ret->text, ret->length, ret_words);
    if (!ret->text)
        return;
    if (replaced)
        call_note(call, "%s contained bytes that are not UTF-8; each is shown as U+FFFD", name);
    if (stream->capture.failed)
        call_note(call, "%s could not be kept: the gateway is out of memory", name);
    if (stream->redaction.found > 0)
        call_note(call, "secrets were redacted from %s in %zu places (best effort)", name,
                  stream->redaction.found);
}

static void name_signal(int number, char ret[RESULT_SIGNAL_SIZE])
{
    const char *abbreviation = number > 0 ? sigabbrev_np(number) : NULL;
    if (abbreviation)
        (void)snprintf(ret, RESULT_SIGNAL_SIZE, "SIG%s", abbreviation);
    else if (number > 0)
        (void)snprintf(ret, RESULT_SIGNAL_SIZE, "SIG%d", number);
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
        if (!explained && note.timeout_hint) {
            error_set_hint(met, "%s", note.timeout_hint);
            explained = true;
        }
    }
}

/* Except for the output. */
static struct run_facts facts_of_run(const struct call *call)
{
    const struct run_event *ended = &call->outcome.ended;
    const struct run_limits *limits = &call->description.limits;
    uint32_t isolation =
        policy_mode_row(call->configuration.policy, call->configuration.mode)->isolation;
    bool is_isolated = isolation != RUN_ISOLATION_NONE;
    return (struct run_facts){
        .language = call->language->name,
        .modules = call->language->modules,
        .code = call->request.code,
        .code_length = call->request.code_length,
        .arguments = call->request.args,
        .cause = (enum run_cause)ended->cause,
        .exit_code = ended->exit_code,
        .has_network = call->request.network || !is_isolated,
        .is_unprivileged = isolation == RUN_ISOLATION_UNPRIVILEGED,
        .memory_bytes = limits->memory_bytes,
        .memory_is_refused = is_isolated && ended->isolation.cgroup_has_memory == 0,
        .memory_kills = ended->usage.memory_kills,
        .file_bytes = is_isolated ? limits->file_bytes : 0,
    };
}

void result_settle(const struct call *call, const struct error *refusal, struct result *ret)
{
    const struct run_event *ended = &call->outcome.ended;
    *ret = (struct result){.call = call, .error = refusal, .has_ended = !refusal};
    if (refusal) {
        ret->status = error_code_status(refusal->code);
        ret->cause =
            refusal->code == ERROR_CANCELLED ? RUN_CAUSE_CANCELLED : RUN_CAUSE_INFRASTRUCTURE;
        return;
    }
    ret->cause = (enum run_cause)ended->cause;
    ret->has_met = error_of_cause(call, &ret->met);
    ret->status = ret->has_met ? error_code_status(ret->met.code) : CALL_COMPLETED;
    if (ret->status == CALL_KILLED && ended->exit_code >= 0)
        ret->status = CALL_COMPLETED;
    if (ret->status != CALL_COMPLETED)
        ret->error = &ret->met;
    if (ended->exit_code < 0)
        name_signal(ended->signal, ret->signal);
}

/* What a program that misses a library could have; NULL: nothing. */
static char **packages_to_name(const struct call *call)
{
    return sandbox_mode_row(call->configuration.mode)->packages_for
               ? policy_name_environments(call->configuration.policy)
               : NULL;
}

static void take_streams(struct call *call, struct result *result)
{
    struct run_facts facts = {0};
    CLEANUP(cleanup_string_list) char **environments = NULL;
    if (result->has_ended) {
        facts = facts_of_run(call);
        facts.environments = environments = packages_to_name(call);
    }
    take_stream(call, &call->run.output, "stdout", &result->output, &facts.output);
    take_stream(call, &call->run.errors, "stderr", &result->errors, &facts.errors);
    if (result->has_ended)
        note_run(call, &facts, &result->met);
}

/* What a reader of a cell's late output has to know about it. */
static void note_late(struct call *call)
{
    size_t found = 0;
    for (size_t i = 0; i < COUNT_OF(call->late); i++)
        found += call->late[i].redaction.found;
    if (found > 0)
        call_note(call, "secrets were redacted from late output in %zu places (best effort)",
                  found);
}

/* What a reader of the results has to know about them. */
static void note_results(struct call *call)
{
    const struct results *results = &call->results;
    if (results->refused)
        call_note(call, "the program's stream of results was not understood; what came behind that "
                        "place was dropped");
    if (results->refused && results->cell && !results->cell->ended)
        call_note(call, "neither was the end of the cell, which was ended for it");
    if (results->redacted > 0)
        call_note(call, "secrets were redacted from the results in %zu places (best effort)",
                  results->redacted);
    if (results->omitted.reasons & 1u << RESULT_OMITTED_WITHHELD)
        call_note(call, "images were withheld: a run with secrets shows none, as secrets cannot be "
                        "found in them (the policy's results.images_with_secrets)");
}

char *result_text(struct call *call, const struct error *refusal)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length = 0;
    CLEANUP(cleanup_result) struct result result;
    result_settle(call, refusal, &result);
    if (result.has_met && !result.error)
        call_note(call, "%s", result.met.message);
    take_streams(call, &result);
    note_late(call);
    note_results(call);

    json_draft_open(&draft, NULL, '{');
    result_members_write(&draft, result_members(), &result);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, &length);
}
