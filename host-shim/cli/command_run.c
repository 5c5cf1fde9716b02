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
#include "cli/commands.h"
#include "cli/input_members.h"
#include "cli/run_report.h"
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

/* A text of JSON: UTF-8 without exception. */
static bool add_text(json_t *input, const char *member, const char *text, size_t length,
                     struct failure *failure)
{
    json_t *value = json_stringn(text, length);
    if (!value)
        return failure_set(failure, "invalid_input", "%s is not UTF-8 text", member);
    if (json_object_set_new(input, member, value) < 0)
        return failure_out_of_memory(failure);
    return true;
}

static bool add_file(json_t *input, const char *member, const char *path, struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    return read_bounded_file(path, TEXT_LIMIT, &text, &length, failure) &&
           add_text(input, member, text, length, failure);
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
    if (!add_text(input, "language", language, strlen(language), failure))
        return false;
    if (options->code)
        return add_text(input, "code", options->code, strlen(options->code), failure);
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

/* An object of the pairs of an option, each value between two texts. */
static bool add_pairs(json_t *input, const char *member, const struct name_values *list,
                      const char *before, const char *after, const char *option,
                      struct failure *failure)
{
    if (list->count == 0)
        return true;
    json_t *object = json_object();
    if (json_object_set_new(input, member, object) < 0)
        return failure_out_of_memory(failure);
    for (size_t i = 0; i < list->count; i++) {
        const struct name_value *pair = &list->pairs[i];
        if (json_object_set_new(object, pair->name,
                                json_sprintf("%s%s%s", before, pair->value, after)) < 0)
            return failure_set(failure, "invalid_input", "%s %s is not UTF-8 text", option,
                               pair->name);
    }
    return true;
}

static bool add_settings(const struct options *options, json_t *input, struct failure *failure)
{
    if (options->timeout_ms > 0 &&
        json_object_set_new(input, "timeout_ms", json_integer((json_int_t)options->timeout_ms)) < 0)
        return failure_out_of_memory(failure);
    if (options->network && json_object_set_new(input, "network", json_true()) < 0)
        return failure_out_of_memory(failure);
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
        !add_pairs(input, "env", &options->environment, "", "", "--env", failure) ||
        !add_pairs(input, "secrets", &options->used_secrets, "{{secret:", "}}", "--use-secret",
                   failure) ||
        !add_settings(options, input, failure) || !input_members_set(options, input, failure) ||
        !input_files_add(options, input, files, failure))
        return false;
    *ret_input = json_compact(input);
    return *ret_input || failure_out_of_memory(failure);
}

struct streams {
    int out;
    bool silent; /* the result has it all */
    bool streamed_stdout, streamed_stderr;
    char last; /* byte on standard output; 0: none */
};

static void print_out(struct streams *streams, const char *bytes, size_t length)
{
    (void)write_fully(streams->out, bytes, length);
    if (length > 0)
        streams->last = bytes[length - 1];
}

/* A reader that is gone is no reason to stop the program: its result still counts. SIGPIPE, where
 * it is not ignored, ends toolhost as it ends any other filter. */
static void take_output(void *user, uint32_t stream, const void *bytes, size_t length)
{
    struct streams *streams = user;
    if (stream == TOOL_STREAM_STDOUT) {
        streams->streamed_stdout = true;
        if (!streams->silent)
            print_out(streams, bytes, length);
    } else if (stream == TOOL_STREAM_STDERR) {
        streams->streamed_stderr = true;
        if (!streams->silent)
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
static void print_unstreamed(struct streams *streams, const json_t *result)
{
    const json_t *out = json_object_get(result, "stdout");
    const json_t *err = json_object_get(result, "stderr");
    if (!streams->streamed_stdout && json_is_string(out))
        print_out(streams, json_string_value(out), json_string_length(out));
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

static enum terminal_pictures pictures_of(const struct options *options,
                                          const struct streams *streams)
{
    bool wanted = options->show && !options->quiet && !streams->silent;
    enum terminal_pictures pictures =
        wanted ? terminal_pictures_of(streams->out) : TERMINAL_PICTURES_NONE;
    if (wanted && pictures == TERMINAL_PICTURES_NONE)
        console_print_notice("--show: standard output is no terminal that shows pictures");
    return pictures;
}

/* Values begin on a line of their own. */
static bool report_made(const struct options *options, const struct output_directory *directory,
                        struct streams *streams, json_t *result)
{
    struct failure ignored; /* out of memory */
    CLEANUP(artifact_store_clear) struct artifact_store artifacts = {0};
    const struct run_report report = {.out = streams->silent ? -1 : streams->out,
                                      .quiet = options->quiet,
                                      .directory = options->out ? directory : NULL,
                                      .artifacts = &artifacts,
                                      .pictures = pictures_of(options, streams)};
    if (!artifact_store_init(&artifacts, options->artifacts, options->artifacts_max_bytes,
                             options->artifacts_age_ms, &ignored))
        return false;
    if (!options->quiet && !streams->silent && streams->last && streams->last != '\n' &&
        json_array_size(json_object_get(result, "results")) > 0)
        print_out(streams, "\n", 1);
    return run_report_make(&report, result);
}

static void print_streams(struct streams *streams, const json_t *result)
{
    if (streams->silent)
        return;
    print_unstreamed(streams, result);
    print_truncated(streams, result);
}

/* The program's own status, unless a file that it has left was not written. */
static int end_status(const struct call_result *call, bool all_written)
{
    if (!call->ran && call->interrupted)
        return EXIT_CANCELLED;
    int status = run_outcome_exit_status(call->ran, call->json);
    return status == EXIT_SUCCESS && !all_written ? EXIT_FAILURE : status;
}

static int report_result(const struct options *options, const struct output_directory *directory,
                         struct streams *streams, const struct call_result *call)
{
    struct failure failure;
    print_streams(streams, call->json);
    bool all_written = report_made(options, directory, streams, call->json);
    if (options->json && !console_print_json(streams->out, call->json, &failure))
        return exit_with_failure(&failure);
    print_error(call->json);
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
    struct streams streams = {.out = out, .silent = options->json};
    CLEANUP_FREE char *input = NULL;
    CLEANUP(lent_files_clear) struct lent_files files = {0};
    CLEANUP(output_directory_close) struct output_directory directory = {.fd = -1};
    struct call_result call = {0};
    if (!build_input(options, &files, &input, &failure) ||
        !open_output(options, &directory, &failure))
        return exit_with_failure(&failure);
    const struct call_listener listener = {take_output, take_notice, &streams};
    if (!tool_call(options, &(struct tool_input){input, &files}, &listener, &call, &failure))
        return exit_without_result(options, out, &failure);
    int status = report_result(options, &directory, &streams, &call);
    json_decref(call.json);
    return status;
}
