/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values by the schema of the tool's input. Main thread. */
#include "cli/input_members.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/number.h"
#include "formats/schema_subset.h"
#include "host/tool_call.h"
#include "options/options_help.h"

json_t *input_members_of(const json_t *manifest, const char *tool_name)
{
    size_t index = 0;
    const json_t *tool = NULL;
    json_array_foreach(json_object_get(manifest, "tools"), index, tool)
    {
        if (strcmp(json_member_string(tool, "name", ""), tool_name) == 0 ||
            json_list_has(json_object_get(tool, "aliases"), tool_name))
            return json_object_get(json_object_get(tool, "input_schema"), "properties");
    }
    return NULL;
}

static const char *name_at(const void *members, size_t index)
{
    void *place = json_object_iter((json_t *)(uintptr_t)members);
    while (place && index-- > 0)
        place = json_object_iter_next((json_t *)(uintptr_t)members, place);
    return place ? json_object_iter_key(place) : NULL;
}

static bool refuse_member(const json_t *members, const char *name, struct failure *failure)
{
    const char *meant = suggestion_find(name, name_at, members);
    (void)failure_usage(failure, "--set %s: the tool's input has no such member", name);
    if (meant)
        failure_set_hint(failure, "did you mean %s?", meant);
    else
        failure_set_hint(failure, "toolhost run --help lists them");
    return false;
}

/* One value, not of a list or an object; NULL: it is not of that type. */
static json_t *read_value(const json_t *schema, const char *text)
{
    uint64_t number = 0;
    if (schema_has_type(schema, "string"))
        return json_string(text);
    if (schema_has_type(schema, "integer") && size_parse(text, INT64_MAX, &number))
        return json_integer((json_int_t)number);
    json_auto_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    bool fits = schema_has_type(schema, "boolean")   ? json_is_boolean(value)
                : schema_has_type(schema, "integer") ? json_is_integer(value)
                                                     : value != NULL;
    return fits ? TAKE_POINTER(value) : NULL;
}

static bool add_entry(const json_t *schema, json_t *list, const char *text)
{
    return json_array_append_new(list, read_value(json_object_get(schema, "items"), text)) == 0;
}

static bool add_pair(const json_t *schema, json_t *object, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return false;
    return json_object_setn_new(
               object, text, (size_t)(equals - text),
               read_value(json_object_get(schema, "additionalProperties"), equals + 1)) == 0;
}

/* The member of the input, made at its first use. */
static json_t *collection(json_t *input, const char *name, json_t *made)
{
    json_t *found = json_object_get(input, name);
    if (!found)
        return json_object_set_new(input, name, made) == 0 ? made : NULL;
    json_decref(made);
    return found;
}

static bool set_member(const json_t *members, const struct name_value *setting, json_t *input,
                       struct failure *failure)
{
    const json_t *schema = json_object_get(members, setting->name);
    bool taken = false;
    if (!schema)
        return refuse_member(members, setting->name, failure);
    if (schema_has_type(schema, "array") && setting->value[0] != '[')
        taken = add_entry(schema, collection(input, setting->name, json_array()), setting->value);
    else if (schema_has_type(schema, "object") && setting->value[0] != '{')
        taken = add_pair(schema, collection(input, setting->name, json_object()), setting->value);
    else if (json_object_get(input, setting->name))
        return failure_usage(failure, "%s is set twice", setting->name);
    else
        taken = json_object_set_new(input, setting->name, read_value(schema, setting->value)) == 0;
    if (!taken) {
        (void)failure_usage(failure, "--set %s: %s is no value of it", setting->name,
                            setting->value);
        failure_set_hint(failure, "%s: %s", setting->name,
                         json_member_string(schema, "description", "see toolhost manifest"));
    }
    return taken;
}

bool input_members_set(const struct options *options, json_t *input, struct failure *failure)
{
    if (options->settings.count == 0)
        return true;
    json_auto_t *manifest = tool_manifest_read(options, failure);
    const json_t *members = input_members_of(manifest, options->tool);
    bool set = manifest != NULL;
    for (size_t i = 0; set && i < options->settings.count; i++)
        set = set_member(members, &options->settings.pairs[i], input, failure);
    return set;
}

static const char *form_of(const json_t *schema)
{
    static const struct {
        const char *type, *form;
    } forms[] = {{"string", "TEXT"}, {"integer", "NUMBER"}, {"boolean", "true|false"},
                 {"number", "JSON"}, {"array", "ENTRY"},    {"object", "KEY=VALUE"}};
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (schema_has_type(schema, forms[i].type))
            return forms[i].form;
    return "JSON";
}

void input_members_write_help(FILE *out, const struct options *options)
{
    struct failure ignored;
    json_auto_t *manifest = tool_manifest_read(options, &ignored);
    json_t *members = input_members_of(manifest, options->tool);
    if (json_object_size(members) > 0)
        (void)fputs("\nInput of the tool, for --set, by the provider's manifest:\n", out);
    for (void *place = json_object_iter(members); place;
         place = json_object_iter_next(members, place)) {
        const json_t *schema = json_object_iter_value(place);
        char name[96];
        (void)snprintf(name, sizeof(name), "%s=%s", json_object_iter_key(place), form_of(schema));
        options_help_write_entry(out, name, json_member_string(schema, "description", ""));
    }
}
