/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared parts of all checkers: the verdicts of a failed check, the run of a checker that is a
 * program, and the values of its answer. Runs in the gateway, on the thread inside tool_invoke().
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "content/content_checkers.h"
#include "run/readiness.h"
#include "run/run.h"

struct content_answer content_failed(const char *who, const char *why)
{
    struct content_answer answer = {.verdict = CONTENT_FAILED};
    content_describe(&answer.why, "not_checked", "the content check%s%s failed: %s",
                     who ? " of " : "", who ? who : "", why);
    return answer;
}

struct content_answer content_out_of_memory(struct error *error)
{
    error_set(error, ERROR_OUT_OF_MEMORY, "no memory for the content check");
    return (struct content_answer){.verdict = CONTENT_STOPPED};
}

static struct content_answer cancelled(struct error *error)
{
    error_set(error, ERROR_CANCELLED, "cancelled before the program began");
    return (struct content_answer){.verdict = CONTENT_STOPPED};
}

/* The verdict of a checker that failed; CONTENT_READ of one that did not. */
static struct content_answer verdict_of_end(const struct content_program *program,
                                            const struct run_event *ended, struct error *error)
{
    struct error fault;
    if (ended->cause == RUN_CAUSE_CANCELLED)
        return cancelled(error);
    if (ended->failure != RUN_FAILURE_NONE) {
        readiness_explain(ended, program->mode, program->language, program->image, &fault);
        return content_failed(program->who, fault.message);
    }
    if (ended->cause != RUN_CAUSE_EXIT)
        return content_failed(program->who, run_cause_name((enum run_cause)ended->cause));
    if (ended->exit_code != 0)
        return content_failed(program->who, "it did not end with status 0");
    return (struct content_answer){.verdict = CONTENT_READ};
}

char *content_run_program(const struct call *call, const struct content_program *program,
                          size_t *ret_length, struct content_answer *ret, struct error *error)
{
    static const struct tool_host no_host;
    CLEANUP(run_clear)
    struct run run = {
        .mode = program->mode,
        .description = program->description,
        .stdin_fd = program->input,
        .cancel_fd = call->registration.cancel_fd,
        .output_limit = UINT64_C(2) * CONTENT_ANSWER_LIMIT,
        .output = {.id = TOOL_STREAM_STDOUT, .host = &no_host},
        .errors = {.id = TOOL_STREAM_STDERR, .host = &no_host},
    };
    struct run_outcome outcome = {0};
    struct error fault;
    bool replaced = false;
    output_capture_init(&run.output.capture, CONTENT_ANSWER_LIMIT);
    if (run_execute(&run, &outcome, &fault))
        *ret = verdict_of_end(program, &outcome.ended, error);
    else
        *ret = content_failed(program->who, fault.message);
    if (ret->verdict == CONTENT_READ && output_capture_truncated(&run.output.capture))
        *ret = content_failed(program->who, "it printed too much");
    if (ret->verdict != CONTENT_READ)
        return NULL;
    char *text = output_capture_text(&run.output.capture, ret_length, &replaced);
    if (!text)
        *ret = content_out_of_memory(error);
    return text;
}

bool content_read_number(const struct json_place *place, const json_t *object, const char *name,
                         int64_t minimum, int64_t maximum, uint32_t *ret)
{
    struct json_place number = json_place_named(place, name);
    int64_t value;
    if (!json_read_integer(&number, json_object_get(object, name), minimum, maximum, &value))
        return false;
    *ret = (uint32_t)value;
    return true;
}

bool content_read_text(const struct json_place *place, const json_t *object, const char *name,
                       size_t limit, const char **ret)
{
    struct json_place text = json_place_named(place, name);
    if (!json_read_string(&text, json_object_get(object, name), 1, limit, ret))
        return false;
    for (const char *byte = *ret; *byte; byte++)
        if ((unsigned char)*byte < 0x20 || *byte == 0x7F)
            return json_place_refuse(&text, "must not hold control characters");
    return true;
}
