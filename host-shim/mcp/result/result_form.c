/* SPDX-License-Identifier: Apache-2.0 */
/* Filters schemas and outputs by the manifest's lists. Pure code, any thread. */
#include "mcp/result/result_form.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

static const json_t *list_of(const json_t *tool, const char *name)
{
    const json_t *list = json_object_get(json_object_get(tool, "result"), name);
    return json_is_array(list) ? list : NULL;
}

/* A null and an empty list say nothing; an empty text and a 0 do. */
static bool says_nothing(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

/* Is a value of that schema in every brief output? One of several types can be null. */
static bool always_says(const json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    return type && strcmp(type, "array") != 0 && strcmp(type, "object") != 0;
}

static json_t *brief_required(const json_t *schema, const json_t *brief)
{
    json_auto_t *required = json_array();
    size_t index = 0;
    json_t *name = NULL;
    json_array_foreach(json_object_get(schema, "required"), index, name)
    {
        const char *text = json_string_value(name);
        const json_t *properties = json_object_get(schema, "properties");
        if (text && json_list_has(brief, text) && always_says(json_object_get(properties, text)) &&
            json_array_append(required, name) != 0)
            return NULL;
    }
    return TAKE_POINTER(required);
}

static json_t *brief_properties(const json_t *schema, const json_t *brief)
{
    json_auto_t *properties = json_object();
    const char *name = NULL;
    json_t *property = NULL;
    json_t *all = json_object_get(schema, "properties");
    json_object_foreach(all, name, property)
    {
        if (json_list_has(brief, name) && json_object_set(properties, name, property) != 0)
            return NULL;
    }
    return TAKE_POINTER(properties);
}

json_t *result_form_schema(const json_t *tool, bool full)
{
    json_t *schema = json_object_get(tool, "output_schema");
    const json_t *brief = list_of(tool, "brief");
    if (!json_is_object(schema) || strcmp(json_member_string(schema, "type", ""), "object") != 0)
        return NULL;
    if (full || !brief)
        return json_incref(schema);
    json_auto_t *shorter = json_copy(schema);
    if (json_object_set_new(shorter, "required", brief_required(schema, brief)) != 0 ||
        json_object_set_new(shorter, "properties", brief_properties(schema, brief)) != 0)
        return NULL;
    return TAKE_POINTER(shorter);
}

json_t *result_form_structured(const json_t *tool, json_t *output, bool full)
{
    const json_t *brief = list_of(tool, "brief");
    if (full || !brief)
        return json_incref(output);
    json_auto_t *shorter = json_object();
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(output, name, value)
    {
        if (json_list_has(brief, name) && !says_nothing(value) &&
            json_object_set(shorter, name, value) != 0)
            return NULL;
    }
    return TAKE_POINTER(shorter);
}

static void write_bytes(FILE *out, const json_t *text)
{
    (void)fwrite(json_string_value(text), 1, json_string_length(text), out);
}

static void write_named(FILE *out, const char *name, const json_t *value)
{
    size_t index = 0;
    const json_t *line = NULL;
    if (json_is_integer(value) && json_integer_value(value) != 0)
        (void)fprintf(out, "%s: %lld\n", name, (long long)json_integer_value(value));
    json_array_foreach(value, index, line)
    {
        if (json_is_string(line))
            (void)fprintf(out, "%s: %s\n", name, json_string_value(line));
    }
    if (!json_is_string(value) || json_string_length(value) == 0)
        return;
    (void)fprintf(out, "%s: ", name);
    write_bytes(out, value);
    if (json_string_value(value)[json_string_length(value) - 1] != '\n')
        (void)fputc('\n', out);
}

static bool ends_a_line(const json_t *text)
{
    size_t length = json_string_length(text);
    return length == 0 || json_string_value(text)[length - 1] == '\n';
}

static void write_members(FILE *out, const json_t *list, const json_t *output)
{
    size_t index = 0;
    const json_t *entry = NULL;
    json_array_foreach(list, index, entry)
    {
        const char *name = json_string_value(entry);
        const json_t *value = name ? json_object_get(output, name) : NULL;
        if (index > 0 && value)
            write_named(out, name, value);
        else if (json_is_string(value))
            write_bytes(out, value);
        if (index == 0 && !ends_a_line(value))
            (void)fputc('\n', out);
    }
}

json_t *result_form_text(const json_t *tool, const json_t *output)
{
    const json_t *list = list_of(tool, "text");
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    FILE *out = list ? open_memstream(&text, &length) : NULL;
    if (!out)
        return NULL;
    write_members(out, list, output);
    if (fclose(out) != 0 || length == 0)
        return NULL;
    return json_stringn(text, length);
}
