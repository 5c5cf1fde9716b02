/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. Pure code, any thread. */
#include "formats/result_format.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "formats/result_file.h"
#include "formats/shown_result.h"

struct result_format {
    const char *name;
    json_t *(*make)(const struct outcome *outcome); /* NULL: text */
};

/* Standard error, and why nothing ran or what ended the program, where the format has no other
 * place for it. */
static json_t *err_with_reason(const struct outcome *outcome)
{
    if (!outcome->error || outcome->timed_out)
        return json_incref(outcome->err);
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    outcome_write_lines(out, outcome->err);
    (void)fprintf(out, "%s\n", outcome->reason);
    return fclose(out) == 0 ? json_stringn(text, length) : NULL;
}

/* An item of a response's input; whoever sends it adds the call's "call_id". */
static json_t *make_openai_shell(const struct outcome *outcome)
{
    json_t *end = outcome->timed_out
                      ? json_pack("{s:s}", "type", "timeout")
                      : json_pack("{s:s, s:i}", "type", "exit", "exit_code", outcome->exit_status);
    return json_pack("{s:s, s:s, s:[{s:O, s:o, s:o}]}", "type", "shell_call_output", "status",
                     outcome->cancelled ? "incomplete" : "completed", "output", "stdout",
                     outcome->printed, "stderr", err_with_reason(outcome), "outcome", end);
}

/* Anthropic's list is closed: what it has no word for is "unavailable". */
static const char *anthropic_code(const struct outcome *outcome)
{
    static const struct {
        const char *code, *theirs;
    } words[] = {
        {"invalid_input", "invalid_tool_input"},
        {"unknown_tool", "invalid_tool_input"},
        {"too_many_requests", "too_many_requests"},
        {"timeout", "execution_time_exceeded"},
    };
    const char *code = json_member_string(outcome->error, "code", "");
    if (outcome->timed_out)
        return "execution_time_exceeded";
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i].code, code) == 0)
            return words[i].theirs;
    }
    return "unavailable";
}

/* The name by which a client fetches a file. */
static const char *file_name(const json_t *file)
{
    static const char *const members[] = {"file_id", "id", "uri", "path", "name"};
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const char *name = json_member_string(file, members[i], NULL);
        if (name)
            return name;
    }
    return NULL;
}

static json_t *anthropic_files(const struct outcome *outcome)
{
    json_auto_t *content = json_array();
    size_t index = 0;
    const json_t *file = NULL;
    json_array_foreach(outcome->files, index, file)
    {
        const char *name = file_name(file);
        if (name &&
            json_array_append_new(content, json_pack("{s:s, s:s}", "type", "code_execution_output",
                                                     "file_id", name)) != 0)
            return NULL;
    }
    return TAKE_POINTER(content);
}

static json_t *make_anthropic(const struct outcome *outcome)
{
    if (!outcome->ran || outcome->timed_out)
        return json_pack("{s:s, s:s}", "type", "code_execution_tool_result_error", "error_code",
                         anthropic_code(outcome));
    return json_pack("{s:s, s:O, s:o, s:i, s:o}", "type", "code_execution_result", "stdout",
                     outcome->printed, "stderr", err_with_reason(outcome), "return_code",
                     outcome->exit_status, "content", anthropic_files(outcome));
}

static json_t *join(const json_t *first, const json_t *second)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    outcome_write_text(out, first);
    outcome_write_text(out, second);
    return fclose(out) == 0 ? json_stringn(text, length) : NULL;
}

/* Pictures that the result itself has: of displays, and of files. make() says how one is written;
 * entries have "mime_type", and "data" or "content". */
static bool add_pictures(const struct outcome *outcome, json_t *list,
                         json_t *(*make)(const char *mime_type, const json_t *data))
{
    size_t index = 0;
    json_t *entry = NULL;
    json_array_foreach(outcome->results, index, entry)
    {
        if (shown_result_is_picture(entry) &&
            json_array_append_new(list, make(json_member_string(entry, "mime_type", ""),
                                             json_object_get(entry, "data"))) != 0)
            return false;
    }
    json_array_foreach(outcome->files, index, entry)
    {
        struct result_file file;
        if (result_file_read(entry, &file) && file.content && !file.is_text &&
            shown_result_is_picture_type(file.mime_type) &&
            json_array_append_new(list, make(file.mime_type, file.content)) != 0)
            return false;
    }
    return true;
}

static json_t *gemini_picture(const char *mime_type, const json_t *data)
{
    return json_pack("{s:{s:s, s:O}}", "inlineData", "mimeType", mime_type, "data", data);
}

/* Parts of a message. */
static json_t *make_gemini(const struct outcome *outcome)
{
    bool succeeded = outcome->ran && !outcome->timed_out && outcome->exit_status == EXIT_SUCCESS;
    const char *verdict = succeeded            ? "OUTCOME_OK"
                          : outcome->timed_out ? "OUTCOME_DEADLINE_EXCEEDED"
                                               : "OUTCOME_FAILED";
    json_auto_t *err = err_with_reason(outcome);
    if (!err)
        return NULL;
    json_t *text = succeeded ? json_incref(outcome->printed) : join(err, outcome->printed);
    json_auto_t *parts =
        json_pack("[{s:{s:s, s:o}}]", "codeExecutionResult", "outcome", verdict, "output", text);
    return parts && add_pictures(outcome, parts, gemini_picture)
               ? json_pack("{s:O}", "parts", parts)
               : NULL;
}

static json_t *openai_picture(const char *mime_type, const json_t *data)
{
    return json_pack("{s:s, s:o}", "type", "image", "url",
                     json_sprintf("data:%s;base64,%s", mime_type, json_string_value(data)));
}

static const char *openai_status(const struct outcome *outcome)
{
    if (outcome->timed_out || outcome->cancelled)
        return "incomplete";
    return outcome->ran ? "completed" : "failed";
}

/* An item of a response's output; whoever sends it adds "id", "code" and "container_id". */
static json_t *make_openai(const struct outcome *outcome)
{
    json_auto_t *err = err_with_reason(outcome);
    json_auto_t *outputs =
        err ? json_pack("[{s:s, s:o}]", "type", "logs", "logs", join(outcome->printed, err)) : NULL;
    return outputs && add_pictures(outcome, outputs, openai_picture)
               ? json_pack("{s:s, s:s, s:O}", "type", "code_interpreter_call", "status",
                           openai_status(outcome), "outputs", outputs)
               : NULL;
}

static const struct result_format formats[] = {
    {"openai", make_openai},       {"openai-shell", make_openai_shell},
    {"anthropic", make_anthropic}, {"gemini", make_gemini},
    {"e2b", e2b_format_make},      {"text", NULL},
};

const struct result_format *result_format_find(const char *name, struct failure *failure)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    (void)failure_usage(
        failure, "--format must be openai, openai-shell, anthropic, gemini, e2b or text, not %s",
        name);
    return NULL;
}

static void write_text(const struct outcome *outcome, FILE *out)
{
    if (*outcome->reason)
        (void)fprintf(out, "error: %s\n", outcome->reason);
    if (!outcome->ran && !json_string_length(outcome->out) && !json_string_length(outcome->err))
        return;
    if (outcome->timed_out)
        (void)fputs("exit_code: none, the program reached its time limit\n", out);
    else
        (void)fprintf(out, "exit_code: %d\n", outcome->exit_status);
    (void)fputs("stdout:\n", out);
    outcome_write_lines(out, outcome->printed);
    (void)fputs("stderr:\n", out);
    outcome_write_lines(out, outcome->err);
    if (json_array_size(outcome->files) > 0)
        (void)fputs("files:\n", out);
    size_t index = 0;
    const json_t *file = NULL;
    json_array_foreach(outcome->files, index, file)
    {
        const char *name = file_name(file);
        (void)fprintf(out, "%s\n", name ? name : "?");
    }
}

static char *as_text(const struct outcome *outcome, size_t *ret_length)
{
    CLEANUP_FREE char *text = NULL;
    FILE *out = open_memstream(&text, ret_length);
    if (!out)
        return NULL;
    write_text(outcome, out);
    return fclose(out) == 0 ? TAKE_POINTER(text) : NULL;
}

static char *as_json(const struct result_format *format, const struct outcome *outcome,
                     size_t *ret_length)
{
    json_auto_t *value = format->make(outcome);
    CLEANUP_FREE char *text = value ? json_text(value, JSON_INDENT(2)) : NULL;
    char *line = NULL;
    if (!text || asprintf(&line, "%s\n", text) < 0)
        return NULL;
    *ret_length = strlen(line);
    return line;
}

bool result_format_apply(const struct result_format *format, bool ran, const json_t *result,
                         char **ret_text, size_t *ret_length, struct failure *failure)
{
    CLEANUP(outcome_clear) struct outcome outcome = {0};
    if (!outcome_read(ran, result, &outcome))
        return failure_out_of_memory(failure);
    size_t length = 0;
    char *text = format->make ? as_json(format, &outcome, &length) : as_text(&outcome, &length);
    if (!text)
        return failure_out_of_memory(failure);
    *ret_text = text;
    *ret_length = length;
    return true;
}
