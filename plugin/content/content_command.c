/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check by a command of the operator's. It is trusted as the policy that names it, and so has no
 * sandbox; but it is no child of the gateway: process mode's backend runs it as it runs what has no
 * isolation, with the policy's environment, in an empty directory, and kills what it leaves behind.
 * Runs in the gateway, on the thread inside tool_invoke().
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "content/content_checkers.h"
#include "program/program_input.h"
#include "run/describe.h"
#include "run/readiness.h"
#include "run/run.h"

static const char who[] = "the policy's command";

/* true: it came to its end, and what it printed is in the run's capture. */
static bool run_command(struct run *run, struct content_answer *ret, struct error *error)
{
    struct run_outcome outcome = {0};
    struct error fault;
    const struct run_event *ended = &outcome.ended;
    if (!run_execute(run, &outcome, &fault)) {
        *ret = content_outside_failed(who, fault.message);
    } else if (ended->cause == RUN_CAUSE_CANCELLED) {
        error_set(error, ERROR_CANCELLED, "cancelled before the program began");
        *ret = (struct content_answer){.verdict = CONTENT_STOPPED};
    } else if (ended->failure != RUN_FAILURE_NONE) {
        readiness_explain(ended, NULL, NULL, &fault);
        *ret = content_outside_failed(who, fault.message);
    } else if (ended->cause != RUN_CAUSE_EXIT) {
        *ret = content_outside_failed(who, run_cause_name((enum run_cause)ended->cause));
    } else if (ended->exit_code != 0) {
        *ret = content_outside_failed(who, "it did not end with status 0");
    } else if (output_capture_truncated(&run->output.capture)) {
        *ret = content_outside_failed(who, "it said too much");
    } else {
        return true;
    }
    return false;
}

struct content_answer content_ask_command(struct call *call, struct error *error)
{
    static const struct tool_host no_host;
    size_t length = 0;
    CLEANUP_FREE char *question = call_content_question(call, &length);
    CLEANUP(run_description_clear) struct run_description description = {.file_count = 0};
    if (question == NULL || !content_plan_command(call, &description))
        return content_outside_stopped(error);
    struct error fault;
    CLEANUP_CLOSE int input = program_input_open(question, length, &fault);
    if (input < 0)
        return content_outside_failed(who, fault.message);
    CLEANUP(run_clear)
    struct run run = {
        .mode = SANDBOX_MODE_PROCESS,
        .description = &description,
        .stdin_fd = input,
        .cancel_fd = call->registration.cancel_fd,
        .output_limit = UINT64_C(2) * CONTENT_ANSWER_LIMIT,
        .output = {.id = TOOL_STREAM_STDOUT, .host = &no_host},
        .errors = {.id = TOOL_STREAM_STDERR, .host = &no_host},
    };
    output_capture_init(&run.output.capture, CONTENT_ANSWER_LIMIT);
    struct content_answer answer;
    if (!run_command(&run, &answer, error))
        return answer;
    bool replaced = false;
    CLEANUP_FREE char *text = output_capture_text(&run.output.capture, &length, &replaced);
    if (text == NULL)
        return content_outside_stopped(error);
    return content_outside_answer(call, who, text, length, error);
}
