/* SPDX-License-Identifier: Apache-2.0 */
/* Reads results. Pure code, any thread. */
#include "formats/outcome.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failure.h"
#include "base/json.h"
#include "formats/run_outcome.h"
#include "formats/shown_result.h"

void outcome_clear(struct outcome *outcome)
{
    json_decref(outcome->out);
    json_decref(outcome->err);
    json_decref(outcome->printed);
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

void outcome_write_text(FILE *out, const json_t *text)
{
    (void)fwrite(json_string_value(text), 1, json_string_length(text), out);
}

void outcome_write_lines(FILE *out, const json_t *text)
{
    size_t length = json_string_length(text);
    outcome_write_text(out, text);
    if (length > 0 && json_string_value(text)[length - 1] != '\n')
        (void)fputc('\n', out);
}

/* As toolhost run prints it. */
static json_t *printed_of(const json_t *out, const json_t *results)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0, index = 0;
    const json_t *shown = NULL;
    bool first = true;
    FILE *page = open_memstream(&text, &length);
    if (!page)
        return NULL;
    json_array_foreach(results, index, shown)
    {
        const json_t *line = shown_result_text(shown);
        if (line && first)
            outcome_write_lines(page, out);
        first = first && !line;
        if (line)
            outcome_write_lines(page, line);
    }
    if (first)
        outcome_write_text(page, out);
    return fclose(page) == 0 ? json_stringn(text, length) : NULL;
}

bool outcome_read(bool ran, const json_t *result, struct outcome *ret)
{
    const char *status = json_member_string(result, "status", "");
    json_t *error = json_object_get(result, "error");
    bool printed = json_is_string(json_object_get(result, "stdout"));
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
        .exception = json_object_get(result, "exception"),
        .reason = reason_of(error),
    };
    ret->printed = ret->out ? printed_of(ret->out, printed ? ret->results : NULL) : NULL;
    return ret->reason && ret->printed && ret->err;
}
