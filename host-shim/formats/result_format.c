/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. Pure code, any thread. */
#include "formats/result_format.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "formats/run_outcome.h"

/* The common input of all formats. */
struct outcome {
    bool ran;
    bool timed_out;
    bool cancelled;
    int exit_status; /* as toolhost run would end */
    json_t *out;     /* texts of any characters, NUL too; owned */
    json_t *err;
    const json_t *files;
    const json_t *results;
    const json_t *error; /* an object or NULL */
    char *reason;        /* "code: message\nhint: …"; owned; "" where there is no error */
};

struct result_format {
    const char *name;
    json_t *(*make)(const struct outcome *outcome); /* NULL: text */
};

static void clear_outcome(struct outcome *outcome)
{
    json_decref(outcome->out);
    json_decref(outcome->err);
    free(outcome->reason);
}

static char *reason_of(const json_t *error)
{
    char *text = NULL;
    const char *hint = json_member_string(error, "hint", "");
    if (!json_is_object(error))
        return strdup("");
    const char *code = json_member_string(error, "code", "error");
    const char *message = json_member_string(error, "message", "the tool did not run");
    if (asprintf(&text, "%s: %s%s%s", code, failure_after_code(code, message),
                 *hint ? "\nhint: " : "", hint) < 0)
        return NULL;
    return text;
}

/* A tool that runs no programs has no exit code, and has succeeded. */
static int exit_status_of(bool ran, const json_t *result)
{
    bool says = json_object_get(result, "exit_code") || json_object_get(result, "signal") ||
                json_object_get(result, "status");
    return ran && !says ? EXIT_SUCCESS : run_outcome_exit_status(ran, result);
}

/* What the program printed; where a tool that ran has no standard output, its result as JSON. */
static json_t *out_of(bool ran, const json_t *result)
{
    json_t *out = json_object_get(result, "stdout");
    if (json_is_string(out))
        return json_incref(out);
    CLEANUP_FREE char *whole = ran ? json_compact(result) : strdup("");
    return whole ? json_string(whole) : NULL;
}

static json_t *err_of(const json_t *result)
{
    json_t *err = json_object_get(result, "stderr");
    return json_is_string(err) ? json_incref(err) : json_string("");
}

static bool read_outcome(bool ran, const json_t *result, struct outcome *ret)
{
    const char *status = json_member_string(result, "status", "");
    json_t *error = json_object_get(result, "error");
    *ret = (struct outcome){
        .ran = ran,
        .timed_out = strcmp(status, "timeout") == 0 || json_member_true(result, "timed_out"),
        .cancelled = strcmp(status, "cancelled") == 0,
        .exit_status = exit_status_of(ran, result),
        .out = out_of(ran, result),
        .err = err_of(result),
        .files = json_object_get(result, "files"),
        .results = json_object_get(result, "results"),
        .error = json_is_object(error) ? error : NULL,
        .reason = reason_of(error),
    };
    return ret->reason && ret->out && ret->err;
}

static void write_value(FILE *out, const json_t *text)
{
    (void)fwrite(json_string_value(text), 1, json_string_length(text), out);
}

static void write_lines(FILE *out, const json_t *text)
{
    size_t length = json_string_length(text);
    write_value(out, text);
    if (length > 0 && json_string_value(text)[length - 1] != '\n')
        (void)fputc('\n', out);
}

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
    write_lines(out, outcome->err);
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
                     outcome->out, "stderr", err_with_reason(outcome), "outcome", end);
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
                     outcome->out, "stderr", err_with_reason(outcome), "return_code",
                     outcome->exit_status, "content", anthropic_files(outcome));
}

static json_t *join(const json_t *first, const json_t *second)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    write_value(out, first);
    write_value(out, second);
    return fclose(out) == 0 ? json_stringn(text, length) : NULL;
}

/* A part of a message. */
static json_t *make_gemini(const struct outcome *outcome)
{
    bool succeeded = outcome->ran && !outcome->timed_out && outcome->exit_status == EXIT_SUCCESS;
    const char *verdict = succeeded            ? "OUTCOME_OK"
                          : outcome->timed_out ? "OUTCOME_DEADLINE_EXCEEDED"
                                               : "OUTCOME_FAILED";
    json_auto_t *err = err_with_reason(outcome);
    if (!err)
        return NULL;
    json_t *text = succeeded ? json_incref(outcome->out) : join(err, outcome->out);
    return json_pack("{s:{s:s, s:o}}", "codeExecutionResult", "outcome", verdict, "output", text);
}

static const char *e2b_member(const char *mime_type)
{
    static const struct {
        const char *mime_type, *member;
    } members[] = {
        {"text/plain", "text"},        {"text/html", "html"},
        {"text/markdown", "markdown"}, {"image/svg+xml", "svg"},
        {"image/png", "png"},          {"image/jpeg", "jpeg"},
        {"application/pdf", "pdf"},    {"text/latex", "latex"},
        {"application/json", "json"},  {"application/javascript", "javascript"},
    };
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        if (strcmp(members[i].mime_type, mime_type) == 0)
            return members[i].member;
    }
    return NULL;
}

/* One of the results: {"type": "text", "text"}, or {"mime_type", "data" or "text"}. */
static json_t *e2b_result(const json_t *result)
{
    json_t *data = json_object_get(result, "data");
    json_t *text = json_object_get(result, "text");
    const char *member = e2b_member(json_member_string(result, "mime_type", "text/plain"));
    if (!member || !(data || text))
        return json_object();
    return json_pack("{s:O}", member, data ? data : text);
}

static json_t *e2b_results(const struct outcome *outcome)
{
    json_auto_t *results = json_array();
    size_t index = 0;
    const json_t *result = NULL;
    json_array_foreach(outcome->results, index, result)
    {
        if (json_array_append_new(results, e2b_result(result)) != 0)
            return NULL;
    }
    return TAKE_POINTER(results);
}

static json_t *e2b_error(const struct outcome *outcome)
{
    if (outcome->error)
        return json_pack("{s:s, s:s, s:o}", "name",
                         json_member_string(outcome->error, "code", "error"), "value",
                         json_member_string(outcome->error, "message", ""), "traceback",
                         outcome->ran ? json_incref(outcome->err) : json_string(outcome->reason));
    if (outcome->ran && outcome->exit_status == EXIT_SUCCESS)
        return json_null();
    return json_pack("{s:s, s:o, s:O}", "name", "exit", "value",
                     json_sprintf("exit status %d", outcome->exit_status), "traceback",
                     outcome->err);
}

static json_t *lines_of(json_t *text)
{
    return json_string_length(text) > 0 ? json_pack("[O]", text) : json_array();
}

static json_t *make_e2b(const struct outcome *outcome)
{
    return json_pack("{s:o, s:{s:o, s:o}, s:o}", "results", e2b_results(outcome), "logs", "stdout",
                     lines_of(outcome->out), "stderr", lines_of(outcome->err), "error",
                     e2b_error(outcome));
}

static const struct result_format formats[] = {
    {"openai-shell", make_openai_shell},
    {"anthropic", make_anthropic},
    {"gemini", make_gemini},
    {"e2b", make_e2b},
    {"text", NULL},
};

const struct result_format *result_format_find(const char *name, struct failure *failure)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    (void)failure_usage(
        failure, "--format must be openai-shell, anthropic, gemini, e2b or text, not %s", name);
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
    write_lines(out, outcome->out);
    (void)fputs("stderr:\n", out);
    write_lines(out, outcome->err);
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
    CLEANUP(clear_outcome) struct outcome outcome = {0};
    if (!read_outcome(ran, result, &outcome))
        return failure_out_of_memory(failure);
    size_t length = 0;
    char *text = format->make ? as_json(format, &outcome, &length) : as_text(&outcome, &length);
    if (!text)
        return failure_out_of_memory(failure);
    *ret_text = text;
    *ret_length = length;
    return true;
}
