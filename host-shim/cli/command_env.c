/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost env: builds the sets of packages of a policy, checks and lists them, and takes old ones
 * away. The provider does all of it (tool_prepare(), "environments"). Main thread.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/json.h"
#include "base/text_escape.h"
#include "cli/commands.h"
#include "host/tool_call.h"

static json_t *question(const struct options *options, struct failure *failure)
{
    const char *name = options->word_count > 1 ? options->words[1] : NULL;
    json_t *config =
        json_pack("{s:{s:s, s:s*}}", "environments", "action", options->words[0], "name", name);
    if (!config)
        (void)failure_set(failure, "usage", "the name is not UTF-8");
    return config;
}

/* The provider's answer; false with its refusal. */
static bool ask(const struct provider *provider, const json_t *config, json_t **ret_answer,
                struct failure *failure)
{
    CLEANUP_FREE char *config_text = json_compact(config);
    char *text = NULL;
    if (!config_text)
        return failure_out_of_memory(failure);
    if (!provider->prepare)
        return failure_set(failure, "plugin_unusable", "this provider has no environments");
    int32_t code = provider->prepare(config_text, &text);
    CLEANUP_FREE char *copy = provider_take_text(provider, text);
    json_auto_t *answer = provider_json_read(copy);
    const json_t *error = json_object_get(answer, "error");
    if (json_is_object(error))
        return failure_from_json(failure, error);
    if (code != TOOL_OK || !json_is_array(json_object_get(answer, "environments")))
        return failure_set(failure, "provider_failed", "this provider has no environments");
    *ret_answer = TAKE_POINTER(answer);
    return true;
}

static bool ask_provider(const struct options *options, json_t **ret_answer,
                         struct failure *failure)
{
    CLEANUP(provider_close) struct provider provider = {0};
    json_auto_t *config = question(options, failure);
    json_auto_t *prepared = NULL;
    bool refused = false;
    if (!config || !tool_provider_open(options, &provider, failure) ||
        !tool_provider_prepare(options, &provider, false, &refused, &prepared, failure))
        return false;
    if (refused)
        return failure_from_json(failure, json_object_get(prepared, "error"));
    return ask(&provider, config, ret_answer, failure);
}

static void write_text(FILE *out, const char *text)
{
    text_escape_write(out, text, strlen(text));
}

static void write_line(FILE *out, const char *name, const json_t *value)
{
    if (!json_is_string(value) || json_string_length(value) == 0)
        return;
    (void)fprintf(out, "  %s: ", name);
    write_text(out, json_string_value(value));
    (void)fputc('\n', out);
}

static void write_packages(FILE *out, const json_t *packages)
{
    size_t i;
    const json_t *package;
    json_array_foreach(packages, i, package)
    {
        (void)fputs("  - ", out);
        write_text(out, json_member_string(package, "name", "?"));
        (void)fputc(' ', out);
        write_text(out, json_member_string(package, "version", "?"));
        (void)fputc('\n', out);
    }
}

static void write_environment(FILE *out, const json_t *environment)
{
    static const char *const lines[] = {"description", "problem", "hint",
                                        "sha256",      "path",    "runtime"};
    write_text(out, json_member_string(environment, "name", "?"));
    (void)fprintf(out, " (");
    write_text(out, json_member_string(environment, "language", "?"));
    (void)fprintf(out, "): ");
    write_text(out, json_member_string(environment, "state", "?"));
    (void)fputc('\n', out);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        write_line(out, lines[i], json_object_get(environment, lines[i]));
    if (json_object_get(environment, "bytes"))
        (void)fprintf(out, "  size: %lld files, %lld MiB\n",
                      (long long)json_member_integer(environment, "files", 0),
                      (long long)json_member_integer(environment, "bytes", 0) >> 20);
    write_packages(out, json_object_get(environment, "packages"));
}

static void write_removed(FILE *out, const json_t *removed)
{
    for (size_t i = 0; i < json_array_size(removed); i++) {
        (void)fputs("removed ", out);
        write_text(out, json_string_value(json_array_get(removed, i)));
        (void)fputc('\n', out);
    }
    if (json_array_size(removed) == 0)
        (void)fputs("nothing to remove\n", out);
}

static void write_answer(FILE *out, const json_t *answer)
{
    const json_t *list = json_object_get(answer, "environments");
    const json_t *removed = json_object_get(answer, "removed");
    if (removed) {
        write_removed(out, removed);
        return;
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        write_environment(out, json_array_get(list, i));
    if (json_array_size(list) == 0)
        (void)fputs("no environments\n", out);
}

/* Those that the answer is about. */
static bool are_usable(const json_t *answer)
{
    size_t i;
    const json_t *environment;
    json_array_foreach(json_object_get(answer, "environments"), i, environment)
    {
        if (strcmp(json_member_string(environment, "state", ""), "ready") != 0)
            return false;
    }
    return true;
}

static bool is_action(const struct options *options, const char *action)
{
    return strcmp(options->words[0], action) == 0;
}

static bool perform(const struct options *options, int out, bool *ret_usable,
                    struct failure *failure)
{
    json_auto_t *answer = NULL;
    if (is_action(options, "build") && options->word_count < 2)
        return failure_usage(failure, "env build needs NAME");
    if (is_action(options, "gc") && options->word_count > 1)
        return failure_usage(failure, "env gc takes no NAME");
    if (!ask_provider(options, &answer, failure))
        return false;
    *ret_usable = are_usable(answer) || is_action(options, "list") || is_action(options, "gc");
    return options->json ? console_print_json(out, answer, failure)
                         : console_print_page(out, write_answer, answer, failure);
}

int command_env(const struct options *options, int out)
{
    struct failure failure;
    bool usable = false;
    if (perform(options, out, &usable, &failure))
        return usable ? EXIT_SUCCESS : EXIT_FAILURE;
    console_print_failure(&failure);
    return failure_is_usage(&failure) ? EXIT_USAGE : EXIT_FAILURE;
}
