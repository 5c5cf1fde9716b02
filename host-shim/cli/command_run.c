/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost run: makes the tool's input from the command line, prints the program's output on the
 * right streams as it comes, and exits with its status. Main thread.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "base/write_fully.h"
#include "cli/call_input.h"
#include "cli/commands.h"
#include "cli/input_members.h"
#include "cli/run_output.h"
#include "formats/run_outcome.h"
#include "host/tool_call.h"

#define TEXT_LIMIT (8u << 20)

static const struct {
    const char *extension;
    const char *language;
} known_extensions[] = {
    {".py", "python"},     {".js", "javascript"}, {".mjs", "javascript"}, {".cjs", "javascript"},
    {".ts", "typescript"}, {".sh", "sh"},         {".bash", "bash"},      {".rb", "ruby"},
    {".php", "php"},       {".pl", "perl"},       {".lua", "lua"},        {".R", "r"},
    {".r", "r"},
};

#define LANGUAGE_OF_CODE "python" /* what most people try first */

static const char *language_of_file(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');
    for (size_t i = 0; dot && i < COUNT_OF(known_extensions); i++) {
        if (strcmp(dot, known_extensions[i].extension) == 0)
            return known_extensions[i].language;
    }
    return NULL;
}

static bool add_file(json_t *input, const char *member, const char *path, struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    return read_bounded_file(path, TEXT_LIMIT, &text, &length, failure) &&
           call_input_add_text(input, member, text, length, failure);
}

/* NULL: only the person can tell. */
static const char *language_of(const struct options *options)
{
    if (options->language)
        return options->language;
    return options->code ? LANGUAGE_OF_CODE : language_of_file(options->words[0]);
}

static bool add_code(const struct options *options, json_t *input, struct failure *failure)
{
    bool has_file = options->word_count > 0;
    if (options->code && has_file)
        return failure_usage(failure, "run takes -c CODE or a FILE, not both");
    if (!options->code && !has_file)
        return failure_usage(failure, "run needs -c CODE, a FILE or -");
    if (has_file && options->stdin_file && strcmp(options->words[0], "-") == 0 &&
        strcmp(options->stdin_file, "-") == 0)
        return failure_usage(failure, "standard input cannot be both the code and its input");
    const char *language = language_of(options);
    if (!language) {
        (void)failure_usage(failure,
                            "run needs --language: the file name does not tell the language");
        return failure_set_hint(failure, "for example --language python");
    }
    if (!call_input_add_text(input, "language", language, strlen(language), failure))
        return false;
    if (options->code)
        return call_input_add_text(input, "code", options->code, strlen(options->code), failure);
    return add_file(input, "code", options->words[0], failure);
}

static bool add_arguments(const struct options *options, json_t *input, struct failure *failure)
{
    if (options->program_argument_count == 0)
        return true;
    json_t *arguments = json_array();
    if (json_object_set_new(input, "args", arguments) < 0)
        return failure_out_of_memory(failure);
    for (size_t i = 0; i < options->program_argument_count; i++) {
        if (json_array_append_new(arguments, json_string(options->program_arguments[i])) < 0)
            return failure_set(failure, "invalid_input", "argument %zu is not UTF-8 text", i + 1);
    }
    return true;
}

static bool add_stdin(const struct options *options, json_t *input, struct failure *failure)
{
    return !options->stdin_file || add_file(input, "stdin", options->stdin_file, failure);
}

/* The tool's input as JSON text (new). code "usage" means that the command line was wrong. */
static bool build_input(const struct options *options, struct lent_files *files, char **ret_input,
                        struct failure *failure)
{
    json_auto_t *input = json_object();
    if (!input)
        return failure_out_of_memory(failure);
    if (!add_code(options, input, failure) || !add_arguments(options, input, failure) ||
        !add_stdin(options, input, failure) || !call_input_add_settings(options, input, failure) ||
        !input_files_add(options, input, files, failure))
        return false;
    *ret_input = json_compact(input);
    return *ret_input || failure_out_of_memory(failure);
}

static void print_isolation(const json_t *result)
{
    CLEANUP_FREE char *line = run_outcome_isolation_line(result);
    if (line)
        console_print_notice(line);
}

static int exit_with_failure(const struct failure *failure)
{
    console_print_failure(failure);
    return failure_is_usage(failure) ? EXIT_USAGE : EXIT_NOT_RUN;
}

/* With --json standard output has JSON even when no provider could be asked. */
static int exit_without_result(const struct options *options, int out,
                               const struct failure *failure)
{
    struct failure ignored;
    json_auto_t *result =
        json_pack("{s:s, s:o}", "status", "error", "error", failure_to_json(failure));
    if (options->json && result)
        (void)console_print_json(out, result, &ignored);
    return exit_with_failure(failure);
}

/* The program's own status, unless a file that it has left was not written. */
static int end_status(const struct call_result *call, bool all_written)
{
    if (!call->ran && call->interrupted)
        return EXIT_CANCELLED;
    int status = run_outcome_exit_status(call->ran, call->json);
    return status == EXIT_SUCCESS && !all_written ? EXIT_FAILURE : status;
}

static bool report_made(const struct options *options, const struct output_directory *directory,
                        struct run_output *output, json_t *result)
{
    struct failure ignored; /* out of memory */
    CLEANUP(artifact_store_clear) struct artifact_store artifacts = {0};
    return artifact_store_init(&artifacts, options->artifacts, options->artifacts_max_bytes,
                               options->artifacts_age_ms, &ignored) &&
           run_output_report_made(options, directory, &artifacts, output, result);
}

static int report_result(const struct options *options, const struct output_directory *directory,
                         struct run_output *output, const struct call_result *call)
{
    struct failure failure;
    run_output_print_rest(output, call->json);
    bool all_written = report_made(options, directory, output, call->json);
    if (options->json && !console_print_json(output->out, call->json, &failure))
        return exit_with_failure(&failure);
    run_output_print_error(call->json);
    if (options->verbose && call->ran)
        print_isolation(call->json);
    return end_status(call, all_written);
}

static bool open_output(const struct options *options, struct output_directory *directory,
                        struct failure *failure)
{
    if (options->force && !options->out)
        return failure_usage(failure, "%s is for --out", "--force");
    return !options->out || output_directory_open(options->out, options->force, directory, failure);
}

int command_run(const struct options *options, int out)
{
    struct failure failure;
    struct run_output output = {.out = out, .silent = options->json};
    CLEANUP_FREE char *input = NULL;
    CLEANUP(lent_files_clear) struct lent_files files = {0};
    CLEANUP(output_directory_close) struct output_directory directory = {.fd = -1};
    struct call_result call = {0};
    if (!build_input(options, &files, &input, &failure) ||
        !open_output(options, &directory, &failure))
        return exit_with_failure(&failure);
    const struct call_listener listener = {run_output_take, run_output_notice, &output};
    if (!tool_call(options, &(struct tool_input){input, &files}, &listener, &call, &failure))
        return exit_without_result(options, out, &failure);
    int status = report_result(options, &directory, &output, &call);
    json_decref(call.json);
    return status;
}
