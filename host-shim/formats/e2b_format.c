/* SPDX-License-Identifier: Apache-2.0 */
/* Writes results as E2B has them. Pure code, any thread. */
#include "formats/result_format.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

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

/* Under the member of its type, or among the extra ones under the type itself. JSON is a value. */
static bool e2b_add(json_t *result, json_t *extra, const char *mime_type, json_t *content)
{
    const char *member = e2b_member(mime_type);
    size_t length = strlen(mime_type);
    bool is_json = length >= 4 && strcmp(mime_type + length - 4, "json") == 0;
    json_t *value = is_json && json_is_string(content)
                        ? json_loadb(json_string_value(content), json_string_length(content),
                                     JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
                        : NULL;
    return json_object_set_new(member ? result : extra, member ? member : mime_type,
                               value ? value : json_incref(content)) == 0;
}

static bool e2b_add_alternatives(json_t *result, json_t *extra, json_t *alternatives)
{
    const char *mime_type = NULL;
    json_t *text = NULL;
    json_object_foreach(alternatives, mime_type, text)
    {
        if (!e2b_add(result, extra, mime_type, text))
            return false;
    }
    return true;
}

/* A table as its columns, each a list of its values. */
static json_t *e2b_data(const json_t *table)
{
    json_auto_t *data = json_object();
    size_t column = 0, row = 0;
    const json_t *description = NULL, *values = NULL;
    json_array_foreach(json_object_get(table, "columns"), column, description)
    {
        json_t *list = json_array();
        if (json_object_set_new(data, json_member_string(description, "name", ""), list) != 0)
            return NULL;
        json_array_foreach(json_object_get(table, "rows"), row, values)
        {
            json_t *value = json_array_get(values, column);
            if (json_array_append_new(list, value ? json_incref(value) : json_null()) != 0)
                return NULL;
        }
    }
    return TAKE_POINTER(data);
}

/* One of the results: {"type": "text", "text"}, or {"mime_type", "data" or "text"}. */
static json_t *e2b_result(const json_t *shown)
{
    json_auto_t *result = json_object();
    json_auto_t *extra = json_object();
    json_t *data = json_object_get(shown, "data");
    json_t *content = data ? data : json_object_get(shown, "text");
    json_t *chart = json_object_get(shown, "chart");
    json_t *table = json_object_get(shown, "table");
    const char *role = json_member_string(shown, "role", NULL);
    bool made =
        (!content ||
         e2b_add(result, extra, json_member_string(shown, "mime_type", "text/plain"), content)) &&
        e2b_add_alternatives(result, extra, json_object_get(shown, "alternatives")) &&
        (!json_is_object(chart) || json_object_set(result, "chart", chart) == 0) &&
        (!json_is_object(table) || json_object_set_new(result, "data", e2b_data(table)) == 0) &&
        (json_object_size(extra) == 0 || json_object_set(result, "extra", extra) == 0) &&
        (!role || json_object_set_new(result, "is_main_result",
                                      json_boolean(strcmp(role, "value") == 0)) == 0);
    return made ? TAKE_POINTER(result) : NULL;
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
    if (json_is_object(outcome->exception))
        return json_pack("{s:s, s:s, s:O}", "name",
                         json_member_string(outcome->exception, "name", "Exception"), "value",
                         json_member_string(outcome->exception, "value", ""), "traceback",
                         outcome->err);
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

json_t *e2b_format_make(const struct outcome *outcome)
{
    return json_pack("{s:o, s:{s:o, s:o}, s:o}", "results", e2b_results(outcome), "logs", "stdout",
                     lines_of(outcome->out), "stderr", lines_of(outcome->err), "error",
                     e2b_error(outcome));
}
