/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses and rewrites what a server says about its tools. Pure code, any thread. */
#include "mcp/client/tool_definitions.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"

#define NAME_LENGTH 128u
#define MOST_DEPTH  32u

/* The protocol's: letters, digits, "_", "-", "." and "/". */
static bool is_name(const char *name)
{
    return ascii_consists_of(name, NAME_LENGTH, ASCII_ALPHANUMERIC "_-./");
}

/* How deeply the text of a value is nested. */
static size_t depth_of(const char *text)
{
    size_t depth = 0;
    size_t most = 0;
    bool in_string = false;
    for (; *text; text++) {
        if (in_string && *text == '\\')
            text++;
        else if (*text == '"')
            in_string = !in_string;
        else if (!in_string && (*text == '{' || *text == '['))
            most = ++depth > most ? depth : most;
        else if (!in_string && (*text == '}' || *text == ']'))
            depth--;
    }
    return most;
}

/* What is wrong with a definition, or NULL. A provider may refuse a NUL, and with it the context of
 * every call. */
static const char *problem_of(const json_t *definition)
{
    CLEANUP_FREE char *text = json_compact(definition);
    if (!text)
        return "there is no memory for it";
    if (strlen(text) > DEFINITION_BYTES)
        return "its definition has more than 64 KiB";
    if (depth_of(text) > MOST_DEPTH)
        return "its definition is nested too deeply";
    return strstr(text, "\\u0000") ? "its definition has a NUL character" : NULL;
}

static json_t *text_member(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return json_is_string(value) ? value : NULL;
}

static json_t *object_member(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return json_is_object(value) ? value : NULL;
}

static json_t *make_definition(const struct server_config *config, const char *full_name,
                               const char *name, const json_t *tool)
{
    json_t *annotations = object_member(tool, "annotations");
    json_t *title = text_member(tool, "title");
    if (!title)
        title = text_member(annotations, "title");
    return json_pack("{s:s, s:O*, s:O*, s:O, s:O*, s:O*, s:s}", "name", full_name, "title", title,
                     "description", text_member(tool, "description"), "input_schema",
                     object_member(tool, "inputSchema"), "output_schema",
                     object_member(tool, "outputSchema"), "annotations", annotations, "approval",
                     server_config_approval(config, name));
}

/* Why a tool that is allowed is not offered, or NULL with the definition (new; NULL: no memory). */
static const char *define(const json_t *definitions, const struct definition_rules *rules,
                          const char *name, const json_t *tool, json_t **ret_definition)
{
    char full_name[NAME_LENGTH + 2];
    int length = snprintf(full_name, sizeof(full_name), "%s.%s", rules->config->name, name);
    if (!is_name(name) || length > (int)NAME_LENGTH)
        return "its name is too long, or has characters that the protocol does not allow";
    if (json_list_has(rules->own, name))
        return "it has the name of the provider's own tool";
    if (tool_definitions_have(definitions, full_name))
        return "there is one of that name already";
    if (!object_member(tool, "inputSchema"))
        return "it has no input schema";
    if (json_array_size(definitions) >= DEFINITIONS)
        return "the server has too many tools";
    json_auto_t *definition = make_definition(rules->config, full_name, name, tool);
    const char *problem = definition ? problem_of(definition) : NULL;
    if (!problem)
        *ret_definition = TAKE_POINTER(definition);
    return problem;
}

bool tool_definitions_add(json_t *definitions, const struct definition_rules *rules,
                          const json_t *result)
{
    size_t index = 0;
    const json_t *tool = NULL;
    json_array_foreach(json_object_get(result, "tools"), index, tool)
    {
        const char *name = json_member_string(tool, "name", NULL);
        json_t *definition = NULL;
        char text[320];
        if (!name || !server_config_allows(rules->config, name))
            continue;
        const char *why = define(definitions, rules, name, tool, &definition);
        if (!why && json_array_append_new(definitions, definition) != 0)
            return false;
        (void)snprintf(text, sizeof(text), "%.128s is left out: %s", name, why ? why : "");
        if (why)
            rules->notice(rules->user, text);
    }
    return true;
}

bool tool_definitions_have(const json_t *definitions, const char *name)
{
    size_t index = 0;
    const json_t *definition = NULL;
    json_array_foreach(definitions, index, definition)
    {
        if (strcmp(json_member_string(definition, "name", ""), name) == 0)
            return true;
    }
    return false;
}

size_t tool_definitions_join(json_t *all, const json_t *definitions, size_t *bytes)
{
    size_t left_out = 0;
    size_t index = 0;
    const json_t *definition = NULL;
    json_array_foreach(definitions, index, definition)
    {
        size_t size = json_dumpb(definition, NULL, 0, JSON_COMPACT);
        if (json_array_size(all) >= DEFINITIONS || *bytes + size > DEFINITIONS_BYTES ||
            json_array_append_new(all, json_deep_copy(definition)) != 0) {
            left_out++;
            continue;
        }
        *bytes += size;
    }
    return left_out;
}
