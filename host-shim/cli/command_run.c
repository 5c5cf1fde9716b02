/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost run: a program as a person expects it, its bytes on the right streams as they come, its
 * exit status. Main thread.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/descriptor_io.h"
#include "base/json_member.h"
#include "cli/commands.h"
#include "cli/run_request.h"
#include "formats/run_outcome.h"
#include "host/tool_call.h"

struct streams {
    int out;
    bool streamed_stdout, streamed_stderr;
};

/* A reader that is gone is no reason to stop the program: its result still counts. SIGPIPE, where
 * it is not ignored, ends toolhost as it ends any other filter. */
static void take_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct streams *streams = user;
    if (stream == TOOL_STREAM_STDOUT) {
        streams->streamed_stdout = true;
        (void)write_fully(streams->out, bytes, length);
    } else if (stream == TOOL_STREAM_STDERR) {
        streams->streamed_stderr = true;
        (void)write_fully(STDERR_FILENO, bytes, length);
    } else if (stream == TOOL_STREAM_PROGRESS) {
        char line[1024];
        (void)snprintf(line, sizeof(line), "%.*s",
                       (int)(length < sizeof(line) ? length : sizeof(line)), (const char *)bytes);
        line[strcspn(line, "\n")] = '\0';
        console_print_notice(line);
    }
}

static void take_notice(void *user, const char *text)
{
    (void)user;
    console_print_notice(text);
}

/* A provider need not stream; what it has not streamed is in the result. */
static void print_unstreamed(const struct streams *streams, const json_t *result)
{
    const json_t *out = json_object_get(result, "stdout");
    const json_t *err = json_object_get(result, "stderr");
    if (!streams->streamed_stdout && json_is_string(out))
        (void)write_fully(streams->out, json_string_value(out), json_string_length(out));
    if (!streams->streamed_stderr && json_is_string(err))
        (void)write_fully(STDERR_FILENO, json_string_value(err), json_string_length(err));
}

/* The result keeps the beginning and the end of long output. What was streamed was all printed. */
static void print_truncated(const struct streams *streams, const json_t *result)
{
    static const char *const names[] = {"stdout", "stderr"};
    const bool streamed[] = {streams->streamed_stdout, streams->streamed_stderr};
    const json_t *truncated = json_object_get(result, "truncated");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!streamed[i] && json_member_true(truncated, names[i])) {
            char text[64];
            (void)snprintf(text, sizeof(text), "the program's %s was cut off", names[i]);
            console_print_notice(text);
        }
    }
}

static void print_error(const json_t *result)
{
    const json_t *error = json_object_get(result, "error");
    if (!json_is_object(error))
        return;
    struct failure failure;
    (void)failure_from_json(&failure, error);
    console_print_failure(&failure);
}

static void print_isolation(const json_t *result)
{
    CLEANUP_FREE char *line = run_outcome_isolation_line(result);
    if (line)
        console_print_notice(line);
}

static int fail(const struct failure *failure)
{
    console_print_failure(failure);
    return failure_is_usage(failure) ? EXIT_USAGE : EXIT_NOT_RUN;
}

int command_run(const struct options *options, int out)
{
    struct failure failure;
    struct streams streams = {.out = out};
    CLEANUP_FREE char *input = NULL;
    struct call_result call = {0};
    if (!run_request_build(options, &input, &failure))
        return fail(&failure);
    const struct call_listener listener = {take_output, take_notice, &streams};
    if (!tool_call(options, input, &listener, &call, &failure))
        return fail(&failure);
    CLEANUP_JSON json_t *result = call.json;
    print_unstreamed(&streams, result);
    print_truncated(&streams, result);
    print_error(result);
    if (options->verbose && call.ran)
        print_isolation(result);
    return !call.ran && call.interrupted ? EXIT_CANCELLED
                                         : run_outcome_exit_status(call.ran, result);
}
