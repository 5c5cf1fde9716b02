/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared parts of all checkers: the verdicts of a failed check, the run of a checker that is a
 * program, and taking its answer. Runs in the gateway, on the thread inside tool_invoke().
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "content/content_checkers.h"
#include "run/readiness.h"
#include "run/run.h"

#define ANSWER_DEPTH_LIMIT 4

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
        .endpoints_fd = -1,
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

bool content_read_findings(const struct json_place *place, json_t *value,
                           struct content_reading *reading, content_reader *read)
{
    if (!json_read_array(place, value, 0, CONTENT_ANSWER_LIMIT))
        return false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct json_place item = json_place_item(place, i);
        reading->finding = (struct content_finding){0};
        if (!read(&item, json_array_get(value, i), reading))
            return false;
        if (!content_add(&reading->call->content, &reading->finding))
            return json_place_out_of_memory(&item);
    }
    return true;
}

static bool read_text(struct content_reading *reading, const char *text, size_t length,
                      content_reader *read, struct error *error)
{
    static const struct json_input_limits limits = {.max_bytes = CONTENT_ANSWER_LIMIT,
                                                    .max_depth = ANSWER_DEPTH_LIMIT};
    struct json_place root = json_place_root("answer", ERROR_CONTENT_REFUSED, error);
    json_auto_t *json =
        json_input_parse(root.what, text, length, &limits, ERROR_CONTENT_REFUSED, error);
    return json && read(&root, json, reading);
}

struct content_answer content_take_answer(struct content_reading *reading, const char *text,
                                          size_t length, content_reader *read, struct error *error)
{
    struct content_findings *findings = &reading->call->content;
    const size_t count = findings->count;
    const uint64_t more = findings->more;
    struct error fault;
    if (read_text(reading, text, length, read, &fault))
        return reading->answer;
    findings->count = count; /* half an answer is none */
    findings->more = more;
    return fault.code == ERROR_OUT_OF_MEMORY ? content_out_of_memory(error)
                                             : content_failed(reading->who, fault.message);
}
