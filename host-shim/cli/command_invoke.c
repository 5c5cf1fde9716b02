/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost invoke: one call, JSON in, JSON out, for programs. Main thread. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/descriptor_io.h"
#include "base/write_fully.h"
#include "cli/commands.h"
#include "formats/result_format.h"
#include "host/tool_call.h"

#define INPUT_LIMIT (16u << 20)

static void take_notice(void *user, const char *text)
{
    (void)user;
    console_print_notice(text);
}

static bool read_input(const struct options *options, char **ret_input, struct failure *failure)
{
    size_t length = 0;
    const char *path = options->word_count > 0 ? options->words[0] : "-";
    if (!read_bounded_file(path, INPUT_LIMIT, ret_input, &length, failure))
        return false;
    /* The ABI's texts end at a NUL: what stands behind one would vanish unseen. */
    if (strlen(*ret_input) != length)
        return failure_set(failure, "invalid_input", "the input holds a NUL byte");
    return true;
}

/* Standard output has JSON even when no provider could be asked. */
static json_t *result_of_failure(const struct failure *failure)
{
    return json_pack("{s:s, s:o}", "status", "error", "error", failure_to_json(failure));
}

/* The refusal of a provider, whose whole text not every format has room for. */
static void print_refusal(const json_t *result)
{
    struct failure failure;
    const json_t *error = json_object_get(result, "error");
    if (json_is_object(error)) {
        (void)failure_from_json(&failure, error);
        console_print_failure(&failure);
    }
}

static bool print_result(int out, const struct result_format *format,
                         const struct call_result *call, struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    if (!format)
        return console_print_json(out, call->json, failure);
    if (!result_format_apply(format, call->ran, call->json, &text, &length, failure))
        return false;
    return write_fully(out, text, length) ||
           failure_set_errno(failure, "internal", errno, "cannot write to standard output");
}

int command_invoke(const struct options *options, int out)
{
    struct failure failure;
    CLEANUP_FREE char *input = NULL;
    const struct call_listener listener = {.take_notice = take_notice};
    CLEANUP(lent_files_clear) struct lent_files files = {0};
    struct call_result call = {0};
    const struct result_format *format =
        options->format ? result_format_find(options->format, &failure) : NULL;
    if (options->format && !format) {
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    if (!read_input(options, &input, &failure) ||
        !tool_call(options, &(struct tool_input){input, &files}, &listener, &call, &failure)) {
        console_print_failure(&failure);
        call = (struct call_result){.json = result_of_failure(&failure)};
    } else if (format && !call.ran) {
        print_refusal(call.json);
    }
    json_auto_t *result = call.json;
    if (!result || !print_result(out, format, &call, &failure))
        return EXIT_FAILURE;
    return call.ran ? EXIT_SUCCESS : EXIT_FAILURE;
}
