/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the list of tools. Main thread. */
#include "mcp/result/catalogue.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/result/result_form.h"

#define LONGEST_NAME 128u

/* The protocol's: letters, digits, "_", "-" and ".". */
static bool is_tool_name(const char *name)
{
    return ascii_consists_of(name, LONGEST_NAME, ASCII_ALPHANUMERIC "_-.");
}

static bool is_object_schema(const json_t *schema)
{
    return json_is_object(schema) && strcmp(json_member_string(schema, "type", ""), "object") == 0;
}

bool catalogue_is_structured(const json_t *tool)
{
    return is_object_schema(json_object_get(tool, "output_schema"));
}

static json_t *annotations_of(const json_t *tool, const json_t *status)
{
    const char *name = json_member_string(tool, "name", "");
    json_auto_t *annotations = json_object();
    json_t *own = json_object_get(tool, "annotations");
    json_t *configured = json_object_get(json_object_get(status, "annotations"), name);
    if (json_is_object(own) && json_object_update(annotations, own) != 0)
        return NULL;
    if (json_is_object(configured) && json_object_update(annotations, configured) != 0)
        return NULL;
    return TAKE_POINTER(annotations);
}

/* The schema that the configuration leaves, where the provider reports one. */
static json_t *input_schema_of(const json_t *tool, const json_t *status)
{
    const char *name = json_member_string(tool, "name", "");
    json_t *configured = json_object_get(json_object_get(status, "input_schemas"), name);
    return is_object_schema(configured) ? configured : json_object_get(tool, "input_schema");
}

static json_t *entry_of(const json_t *tool, const json_t *status, bool full)
{
    json_t *title = json_object_get(tool, "title");
    json_t *description = json_object_get(tool, "description");
    return json_pack("{s:s, s:O*, s:O*, s:O, s:o*, s:o}", "name",
                     json_member_string(tool, "name", ""), "title",
                     json_is_string(title) ? title : NULL, "description",
                     json_is_string(description) ? description : NULL, "inputSchema",
                     input_schema_of(tool, status), "outputSchema", result_form_schema(tool, full),
                     "annotations", annotations_of(tool, status));
}

static bool add_tool(json_t *tool, const json_t *status, bool full, struct catalogue *catalogue,
                     struct failure *failure)
{
    const char *name = json_member_string(tool, "name", "");
    if (!is_tool_name(name) || !is_object_schema(json_object_get(tool, "input_schema")))
        return failure_set(
            failure, "provider_failed", "the manifest has a tool that cannot be offered: %s",
            is_tool_name(name) ? name : "its name may have only letters, digits, _, - and .");
    if (json_array_append_new(catalogue->tools, entry_of(tool, status, full)) != 0 ||
        json_array_append(catalogue->manifest, tool) != 0)
        return failure_out_of_memory(failure);
    return true;
}

bool catalogue_make(const char *manifest_text, const json_t *status, bool full,
                    struct catalogue *ret, struct failure *failure)
{
    json_auto_t *manifest =
        manifest_text ? json_loads(manifest_text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const json_t *tools = json_object_get(manifest, "tools");
    if (!json_is_array(tools) || json_array_size(tools) == 0)
        return failure_set(failure, "provider_failed", "the provider's manifest names no tool");
    CLEANUP(catalogue_clear)
    struct catalogue catalogue = {.tools = json_array(), .manifest = json_array()};
    (void)snprintf(catalogue.provider, sizeof(catalogue.provider), "%s",
                   json_member_string(manifest, "provider", "toolhost"));
    (void)snprintf(catalogue.version, sizeof(catalogue.version), "%s",
                   json_member_string(manifest, "version", "0"));
    size_t index = 0;
    json_t *tool = NULL;
    json_array_foreach(tools, index, tool)
    {
        if (!add_tool(tool, status, full, &catalogue, failure))
            return false;
    }
    json_t *instructions = json_object_get(manifest, "instructions");
    catalogue.instructions = json_is_string(instructions) ? json_incref(instructions) : NULL;
    *ret = catalogue;
    catalogue = (struct catalogue){0};
    return true;
}

static bool has_name(const json_t *tool, const char *name)
{
    return strcmp(json_member_string(tool, "name", ""), name) == 0 ||
           json_list_has(json_object_get(tool, "aliases"), name);
}

const json_t *catalogue_find(const struct catalogue *catalogue, const char *name)
{
    size_t index = 0;
    const json_t *tool = NULL;
    json_array_foreach(catalogue->manifest, index, tool)
    {
        if (has_name(tool, name))
            return tool;
    }
    return NULL;
}

void catalogue_clear(struct catalogue *catalogue)
{
    json_decref(TAKE_POINTER(catalogue->tools));
    json_decref(TAKE_POINTER(catalogue->manifest));
    json_decref(TAKE_POINTER(catalogue->instructions));
}
