/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs for a tool that is known by its schema alone. Pure code, any thread. */
#include "conformance/conformance_input.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define MARKING_PROGRAM "echo conformance-$((6*7))-marker"

bool conformance_input_has_marker(const json_t *tool)
{
    return strcmp(json_member_string(tool, "name", ""), "code_execute") == 0;
}

static char *shell_program(const char *code)
{
    json_auto_t *input = json_pack("{s:s, s:s}", "language", "sh", "code", code);
    return json_compact(input);
}

/* "type" may be a list, as in ["string", "null"]. */
static bool has_type(const json_t *schema, const char *type)
{
    const json_t *types = json_object_get(schema, "type");
    return strcmp(json_member_string(schema, "type", ""), type) == 0 || json_list_has(types, type);
}

static json_t *value_of(const json_t *schema)
{
    json_t *choice = json_array_get(json_object_get(schema, "enum"), 0);
    if (choice)
        return json_incref(choice);
    if (has_type(schema, "string"))
        return json_string("x");
    if (has_type(schema, "integer") || has_type(schema, "number"))
        return json_integer(json_member_integer(schema, "minimum", 1));
    if (has_type(schema, "boolean"))
        return json_false();
    if (has_type(schema, "array"))
        return json_array();
    return has_type(schema, "object") ? json_object() : json_null();
}

static char *from_schema(const json_t *tool)
{
    const json_t *schema = json_object_get(tool, "input_schema");
    const json_t *properties = json_object_get(schema, "properties");
    json_auto_t *input = json_object();
    size_t index = 0;
    const json_t *name = NULL;
    json_array_foreach(json_object_get(schema, "required"), index, name)
    {
        if (json_is_string(name))
            (void)json_object_set_new(
                input, json_string_value(name),
                value_of(json_object_get(properties, json_string_value(name))));
    }
    return json_compact(input);
}

char *conformance_input_good(const json_t *tool)
{
    if (conformance_input_has_marker(tool))
        return shell_program(MARKING_PROGRAM);
    return from_schema(tool);
}

char *conformance_input_numbered(unsigned number)
{
    char code[64];
    (void)snprintf(code, sizeof(code), "echo number-$((6*7))-%u", number);
    return shell_program(code);
}

char *conformance_input_sleeping(void)
{
    return shell_program("sleep 30");
}

char *conformance_input_printing_nul(void)
{
    return shell_program("printf 'before\\000between\\000\\000behind\\n'");
}

/* The schema of that member of the tool's input; NULL: it has none, or no marker. */
static const json_t *member_schema(const json_t *tool, const char *name)
{
    const json_t *schema = json_object_get(tool, "input_schema");
    if (!conformance_input_has_marker(tool))
        return NULL;
    return json_object_get(json_object_get(schema, "properties"), name);
}

char *conformance_input_with_secret(const json_t *tool)
{
    if (!member_schema(tool, "secrets"))
        return NULL;
    json_auto_t *input = json_pack("{s:s, s:s, s:{s:s}}", "language", "sh", "code", MARKING_PROGRAM,
                                   "secrets", "CONFORMANCE", "{{secret:conformance}}");
    return json_compact(input);
}

char *conformance_input_with_file(const json_t *tool, const char *ref)
{
    const json_t *row = json_object_get(member_schema(tool, "files"), "items");
    if (!json_object_get(json_object_get(row, "properties"), "ref"))
        return NULL;
    json_auto_t *input = json_pack("{s:s, s:s, s:[{s:s, s:s}]}", "language", "sh", "code",
                                   "cat in.txt", "files", "path", "in.txt", "ref", ref);
    return json_compact(input);
}

char *conformance_input_leaving_file(const json_t *tool)
{
    if (!member_schema(tool, "outputs"))
        return NULL;
    return shell_program("head -c 2000000 /dev/zero >out.bin");
}

static const char calling_program[] =
    "import tools\n"
    "try: print(tools.call(\"conformance\", {}))\n"
    "except tools.ToolError: print(\"" CONFORMANCE_TOOL_ERROR "\")";

char *conformance_input_calling_tool(const json_t *tool)
{
    if (!member_schema(tool, "tools"))
        return NULL;
    json_auto_t *input = json_pack("{s:s, s:s, s:[s]}", "language", "python", "code",
                                   calling_program, "tools", "conformance");
    return json_compact(input);
}
