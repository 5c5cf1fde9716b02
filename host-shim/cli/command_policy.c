/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost policy check and explain: what a provider says of a policy, and of a request under it.
 * Nothing is run, and no policy is put in force. Main thread.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/console.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "base/text_escape.h"
#include "cli/commands.h"
#include "host/tool_call.h"

#define INPUT_LIMIT   (4u << 20)
#define CONTEXT_LIMIT (64u << 10)

/* The file's text as a JSON string; NULL with the failure. */
static json_t *file_json(const char *path, size_t limit, struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    if (!read_bounded_file(path, limit, &text, &length, failure))
        return NULL;
    json_t *json = json_stringn(text, length);
    if (!json)
        (void)failure_set(failure, "invalid_input", "%s is not UTF-8", path);
    return json;
}

static json_t *context_json(const struct options *options, struct failure *failure)
{
    if (options->context)
        return file_json(options->context, CONTEXT_LIMIT, failure);
    json_auto_t *context = tool_context(options, failure);
    CLEANUP_FREE char *text = context ? json_compact(context) : NULL;
    return text ? json_string(text) : NULL;
}

static json_t *explain_json(const struct options *options, struct failure *failure)
{
    json_auto_t *input = file_json(options->input, INPUT_LIMIT, failure);
    json_auto_t *context = input ? context_json(options, failure) : NULL;
    if (!context)
        return NULL;
    json_t *explain = json_pack("{s:s, s:O, s:O}", "tool", options->tool, "input_json", input,
                                "context_json", context);
    if (!explain)
        (void)failure_out_of_memory(failure);
    return explain;
}

static json_t *question(const struct options *options, bool explain, struct failure *failure)
{
    char path[TOOL_PATH_SIZE];
    const char *policy = explain ? options->policy : options->words[1];
    if (policy && !tool_policy_path(policy, path, failure))
        return NULL;
    json_auto_t *what = explain ? explain_json(options, failure) : json_true();
    if (!what)
        return NULL;
    json_t *config = json_pack("{s:s*, s:s*, s:O}", "policy_file", policy ? path : NULL, "sandbox",
                               options->sandbox, explain ? "explain" : "check", what);
    if (!config)
        (void)failure_set(failure, "usage", "a path is not UTF-8");
    return config;
}

static bool ask_provider(const struct options *options, bool explain, json_t **ret_answer,
                         struct failure *failure)
{
    CLEANUP(provider_close) struct provider provider = {0};
    json_auto_t *config = question(options, explain, failure);
    CLEANUP_FREE char *config_text = config ? json_compact(config) : NULL;
    if (!config_text || !tool_provider_open(options, &provider, failure))
        return false;
    if (!provider.prepare)
        return failure_set(failure, "plugin_unusable", "this provider does not support policies");
    char *text = NULL;
    int32_t code = provider.prepare(config_text, &text);
    CLEANUP_FREE char *copy = provider_take_text(&provider, text);
    json_auto_t *answer = provider_json_read(copy);
    const char *member = explain ? "explanation" : "findings";
    if (!json_is_object(answer) || (code == TOOL_OK && !json_object_get(answer, member)))
        return failure_set(failure, "provider_failed", "the provider did not answer the question");
    *ret_answer = TAKE_POINTER(answer);
    return true;
}

static void write_text(FILE *report, const char *text)
{
    text_escape_write(report, text, strlen(text));
}

/* Findings of that level; another level than "notice" is a warning. */
static size_t count_findings(const json_t *answer, bool notices)
{
    size_t count = 0;
    size_t index;
    json_t *finding;
    json_array_foreach(json_object_get(answer, "findings"), index, finding)
    {
        bool is_notice = strcmp(json_member_string(finding, "level", ""), "notice") == 0;
        count += is_notice == notices;
    }
    return count;
}

static void write_count(FILE *report, const char *before, size_t count, const char *what)
{
    if (count > 0)
        (void)fprintf(report, "%s%zu %s%s", before, count, what, count == 1 ? "" : "s");
}

/* The last line: ok, or how much is not. */
static void write_verdict(FILE *report, const json_t *answer)
{
    size_t warnings = count_findings(answer, false);
    (void)fputs(warnings > 0 ? "not ok" : "ok", report);
    write_count(report, ": ", warnings, "warning");
    write_count(report, ", ", count_findings(answer, true), "notice");
    (void)fputc('\n', report);
}

/* "level: place (rule): message" each, whose policy it is, and the verdict. */
static void write_findings(FILE *report, const json_t *answer)
{
    size_t index;
    json_t *finding;
    json_array_foreach(json_object_get(answer, "findings"), index, finding)
    {
        const char *rule = json_member_string(finding, "rule", NULL);
        write_text(report, json_member_string(finding, "level", "warning"));
        (void)fputs(": ", report);
        write_text(report, json_member_string(finding, "place", ""));
        (void)fputs(rule ? " (" : "", report);
        write_text(report, rule ? rule : "");
        (void)fputs(rule ? "): " : ": ", report);
        write_text(report, json_member_string(finding, "message", ""));
        (void)fputc('\n', report);
    }
    (void)fputs("sha256 ", report);
    write_text(report, json_member_string(json_object_get(answer, "policy"), "sha256", "unknown"));
    (void)fputc('\n', report);
    write_verdict(report, answer);
}

static bool is_empty(const json_t *value)
{
    return json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

/* A text as it is, a list or an object by its parts. */
static void write_value(FILE *report, json_t *value)
{
    const char *separator = "";
    size_t index = 0;
    const char *name = NULL;
    json_t *part = NULL;
    if (json_is_string(value)) {
        write_text(report, json_string_value(value));
        return;
    }
    json_array_foreach(value, index, part)
    {
        (void)fputs(separator, report);
        write_value(report, part);
        separator = "; ";
        if (json_is_string(part))
            separator = ", ";
    }
    json_object_foreach(value, name, part)
    {
        (void)fputs(separator, report);
        write_text(report, name);
        (void)fputc(' ', report);
        write_value(report, part);
        separator = ", ";
    }
    if (json_is_array(value) || json_is_object(value))
        return;
    CLEANUP_FREE char *dumped = json_text(value, JSON_ENCODE_ANY);
    write_text(report, dumped ? dumped : "?");
}

/* What and why, then every other fact as the provider names it. */
static void write_explanation(FILE *report, const json_t *answer)
{
    json_t *explanation = json_object_get(answer, "explanation");
    const char *name;
    json_t *value;
    write_text(report, json_member_string(explanation, "outcome", "unknown"));
    (void)fputs(": ", report);
    write_text(report, json_member_string(explanation, "why", ""));
    (void)fputc('\n', report);
    json_object_foreach(explanation, name, value)
    {
        if (strcmp(name, "outcome") == 0 || strcmp(name, "why") == 0 || is_empty(value))
            continue;
        write_text(report, name);
        (void)fputs(": ", report);
        write_value(report, value);
        (void)fputc('\n', report);
    }
}

static bool run(const struct options *options, int out, bool explain, bool *ret_warned,
                struct failure *failure)
{
    json_auto_t *answer = NULL;
    if (!ask_provider(options, explain, &answer, failure))
        return false;
    const json_t *error = json_object_get(answer, "error");
    *ret_warned = count_findings(answer, false) > 0;
    if (options->json)
        return console_print_json(out, answer, failure) && !json_is_object(error);
    return json_is_object(error)
               ? failure_from_json(failure, error)
               : console_print_page(out, explain ? write_explanation : write_findings, answer,
                                    failure);
}

static bool check_usage(const struct options *options, bool *ret_explain, struct failure *failure)
{
    *ret_explain = strcmp(options->words[0], "explain") == 0;
    bool check = strcmp(options->words[0], "check") == 0;
    if (check && options->word_count == 2 && !options->policy && !options->input &&
        !options->context)
        return true;
    if (*ret_explain && options->word_count == 1 && options->input)
        return true;
    return failure_usage(failure, "%s",
                         "policy check FILE, or policy explain --input FILE [--policy FILE] "
                         "[--context FILE]");
}

int command_policy(const struct options *options, int out)
{
    struct failure failure = {0};
    bool explain = false;
    bool warned = false;
    if (!check_usage(options, &explain, &failure)) {
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    if (run(options, out, explain, &warned, &failure))
        return warned ? EXIT_FAILURE : EXIT_SUCCESS;
    if (failure.code[0])
        console_print_failure(&failure);
    return EXIT_FAILURE;
}
