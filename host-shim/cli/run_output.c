/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a call gives, as it comes and at its end. Main thread, which is inside tool_invoke()
 * while output comes. */
#include "cli/run_output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/json.h"
#include "base/write_fully.h"
#include "tool_provider.h"

static void print_out(struct run_output *output, const char *bytes, size_t length)
{
    (void)write_fully(output->out, bytes, length);
    if (length > 0)
        output->last = bytes[length - 1];
}

void run_output_take(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct run_output *output = user;
    if (stream == TOOL_STREAM_STDOUT) {
        output->streamed_stdout = true;
        if (!output->silent)
            print_out(output, bytes, length);
    } else if (stream == TOOL_STREAM_STDERR) {
        output->streamed_stderr = true;
        if (!output->silent)
            (void)write_fully(STDERR_FILENO, bytes, length);
    } else if (stream == TOOL_STREAM_PROGRESS) {
        char line[1024];
        (void)snprintf(line, sizeof(line), "%.*s",
                       (int)(length < sizeof(line) ? length : sizeof(line)), (const char *)bytes);
        line[strcspn(line, "\n")] = '\0';
        console_print_notice(line);
    }
}

void run_output_notice(void *user, const char *text)
{
    (void)user;
    console_print_notice(text);
}

/* A provider need not stream; what it has not streamed is in the result. */
static void print_unstreamed(struct run_output *output, const json_t *result)
{
    const json_t *out = json_object_get(result, "stdout");
    const json_t *err = json_object_get(result, "stderr");
    if (!output->streamed_stdout && json_is_string(out))
        print_out(output, json_string_value(out), json_string_length(out));
    if (!output->streamed_stderr && json_is_string(err))
        (void)write_fully(STDERR_FILENO, json_string_value(err), json_string_length(err));
}

/* The result keeps the beginning and the end of long output. What was streamed was all printed. */
static void print_truncated(const struct run_output *output, const json_t *result)
{
    static const char *const names[] = {"stdout", "stderr"};
    const bool streamed[] = {output->streamed_stdout, output->streamed_stderr};
    const json_t *truncated = json_object_get(result, "truncated");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!streamed[i] && json_member_true(truncated, names[i])) {
            char text[64];
            (void)snprintf(text, sizeof(text), "the program's %s was cut off", names[i]);
            console_print_notice(text);
        }
    }
}

void run_output_print_error(const json_t *result)
{
    const json_t *error = json_object_get(result, "error");
    if (!json_is_object(error))
        return;
    struct failure failure;
    (void)failure_from_json(&failure, error);
    console_print_failure(&failure);
}

static enum terminal_pictures pictures_of(const struct options *options,
                                          const struct run_output *output)
{
    bool wanted = options->show && !options->quiet && !output->silent;
    enum terminal_pictures pictures =
        wanted ? terminal_pictures_of(output->out) : TERMINAL_PICTURES_NONE;
    if (wanted && pictures == TERMINAL_PICTURES_NONE)
        console_print_notice("--show: standard output is no terminal that shows pictures");
    return pictures;
}

/* Values begin on a line of their own. */
bool run_output_report_made(const struct options *options, const struct output_directory *directory,
                            const struct artifact_store *artifacts, struct run_output *output,
                            json_t *result)
{
    const struct run_report report = {.out = output->silent ? -1 : output->out,
                                      .quiet = options->quiet,
                                      .directory = options->out ? directory : NULL,
                                      .artifacts = artifacts,
                                      .pictures = pictures_of(options, output)};
    if (!options->quiet && !output->silent && output->last && output->last != '\n' &&
        json_array_size(json_object_get(result, "results")) > 0)
        print_out(output, "\n", 1);
    return run_report_make(&report, result);
}

void run_output_print_rest(struct run_output *output, const json_t *result)
{
    if (output->silent)
        return;
    print_unstreamed(output, result);
    print_truncated(output, result);
}
