/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. Pure code, any thread. */
#include "formats/manifest_format.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "formats/schema_subset.h"

#define FIRST_LETTERS ASCII_LETTERS "_"
#define LETTERS       FIRST_LETTERS ASCII_DIGITS "-"
/* OpenAI refuses the whole request above it ("string_above_max_length"). */
#define LONGEST_OPENAI_DESCRIPTION 1024u
#define LONGEST_NAME               128u

/* A tool of the manifest on its way into a format. */
struct tool {
    const json_t *manifest;
    char name[LONGEST_NAME + 1];
    json_t *description; /* a string; owned */
    json_t *schema;      /* owned */
};

struct manifest_format {
    const char *name;
    size_t longest_name;
    const char *name_letters;
    bool letter_first;          /* no digit, "-", "." or ":" in front */
    size_t longest_description; /* in bytes, the provider counts characters; 0: no limit */
    bool rewrites;              /* else the tool's schema is taken as it is */
    enum schema_subset subset;
    json_t *(*entry)(const struct tool *tool);
};

static void clear_tool(struct tool *tool)
{
    json_decref(tool->description);
    json_decref(tool->schema);
}

static json_t *object_or_nothing(const json_t *object, const char *name)
{
    json_t *member = json_object_get(object, name);
    return json_is_object(member) ? member : NULL;
}

/* "Tool" of the protocol's schema. */
static json_t *mcp_entry(const struct tool *tool)
{
    json_t *title = json_object_get(tool->manifest, "title");
    return json_pack("{s:s, s:O*, s:O, s:O, s:O*, s:O*}", "name", tool->name, "title",
                     json_is_string(title) ? title : NULL, "description", tool->description,
                     "inputSchema", tool->schema, "outputSchema",
                     object_or_nothing(tool->manifest, "output_schema"), "annotations",
                     object_or_nothing(tool->manifest, "annotations"));
}

/* An item of "tools" of a chat completion. */
static json_t *openai_entry(const struct tool *tool)
{
    return json_pack("{s:s, s:{s:s, s:O, s:O}}", "type", "function", "function", "name", tool->name,
                     "description", tool->description, "parameters", tool->schema);
}

static json_t *openai_strict_entry(const struct tool *tool)
{
    return json_pack("{s:s, s:{s:s, s:O, s:b, s:O}}", "type", "function", "function", "name",
                     tool->name, "description", tool->description, "strict", 1, "parameters",
                     tool->schema);
}

static json_t *anthropic_entry(const struct tool *tool)
{
    return json_pack("{s:s, s:O, s:O}", "name", tool->name, "description", tool->description,
                     "input_schema", tool->schema);
}

/* A function without parameters has none: an object without properties is refused. */
static json_t *gemini_entry(const struct tool *tool)
{
    bool has_members = json_object_size(json_object_get(tool->schema, "properties")) > 0;
    return json_pack("{s:s, s:O, s:O*}", "name", tool->name, "description", tool->description,
                     "parameters", has_members ? tool->schema : NULL);
}

static const struct manifest_format formats[] = {
    {.name = "mcp", .longest_name = 128, .name_letters = LETTERS ".", .entry = mcp_entry},
    {.name = "openai",
     .longest_name = 64,
     .name_letters = LETTERS,
     .longest_description = LONGEST_OPENAI_DESCRIPTION,
     .rewrites = true,
     .subset = SCHEMA_SUBSET_OPENAI,
     .entry = openai_entry},
    {.name = "openai-strict",
     .longest_name = 64,
     .name_letters = LETTERS,
     .longest_description = LONGEST_OPENAI_DESCRIPTION,
     .rewrites = true,
     .subset = SCHEMA_SUBSET_OPENAI_STRICT,
     .entry = openai_strict_entry},
    {.name = "anthropic",
     .longest_name = 64,
     .name_letters = LETTERS,
     .rewrites = true,
     .subset = SCHEMA_SUBSET_ANTHROPIC,
     .entry = anthropic_entry},
    {.name = "gemini",
     .longest_name = 64,
     .name_letters = LETTERS ".:",
     .letter_first = true,
     .rewrites = true,
     .subset = SCHEMA_SUBSET_GEMINI,
     .entry = gemini_entry},
};

const struct manifest_format *manifest_format_find(const char *name, struct failure *failure)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    (void)failure_usage(
        failure, "--format must be mcp, openai, openai-strict, anthropic or gemini, not %s", name);
    return NULL;
}

static bool add_note(json_t *notes, json_t *note, struct failure *failure)
{
    return json_array_append_new(notes, note) == 0 || failure_out_of_memory(failure);
}

/* What the format does not take in a name becomes "_". */
static void fit_name(const struct manifest_format *format, const char *name, struct tool *tool)
{
    for (size_t i = 0; name[i] != '\0'; i++) {
        bool taken = strchr(format->name_letters, name[i]) != NULL &&
                     (i > 0 || !format->letter_first || strchr(FIRST_LETTERS, name[i]) != NULL);
        tool->name[i] = '_';
        if (taken)
            tool->name[i] = name[i];
    }
}

static bool take_name(const struct manifest_format *format, struct tool *tool, json_t *notes,
                      struct failure *failure)
{
    const char *name = json_member_string(tool->manifest, "name", "");
    size_t length = strlen(name);
    if (length == 0 || length > format->longest_name)
        return failure_set(failure, "schema_unsupported",
                           "%s accepts tool names of 1 to %zu characters, not \"%.200s\"",
                           format->name, format->longest_name, name);
    fit_name(format, name, tool);
    if (strcmp(tool->name, name) == 0)
        return true;
    return add_note(notes,
                    json_sprintf("%s is named %s here: call it by its own name", name, tool->name),
                    failure);
}

/* Cut where a line, a sentence or at least a character ends. */
static size_t cut_length(const char *text, size_t longest)
{
    size_t length = longest;
    while (length > 0 && ((unsigned char)text[length] & 0xC0u) == 0x80u)
        length--;
    for (size_t i = length; i > longest / 2; i--) {
        if (text[i] == '\n' || (text[i] == ' ' && text[i - 1] == '.'))
            return i;
    }
    return length;
}

static bool take_description(const struct manifest_format *format, struct tool *tool, json_t *notes,
                             struct failure *failure)
{
    const char *text = json_member_string(tool->manifest, "description", "");
    size_t length = strlen(text);
    bool cut = format->longest_description > 0 && length > format->longest_description;
    tool->description =
        json_stringn(text, cut ? cut_length(text, format->longest_description) : length);
    if (!tool->description)
        return failure_out_of_memory(failure);
    return !cut || add_note(notes,
                            json_sprintf("%s: the description has more than %d characters and was "
                                         "cut",
                                         tool->name, (int)format->longest_description),
                            failure);
}

static bool note_left_out(const struct manifest_format *format, const struct tool *tool,
                          const json_t *left_out, json_t *notes, struct failure *failure)
{
    size_t index = 0;
    const json_t *pointer = NULL;
    json_array_foreach(left_out, index, pointer)
    {
        if (!add_note(notes,
                      json_sprintf("%s: %s cannot express %s, which was left out", tool->name,
                                   format->name, json_string_value(pointer)),
                      failure))
            return false;
    }
    return true;
}

static bool take_schema(const struct manifest_format *format, struct tool *tool, json_t *notes,
                        struct failure *failure)
{
    json_t *schema = json_object_get(tool->manifest, "input_schema");
    if (!json_is_object(schema))
        return failure_set(failure, "provider_failed", "%s has no input schema", tool->name);
    if (!format->rewrites) {
        tool->schema = json_incref(schema);
        return true;
    }
    json_auto_t *left_out = json_array();
    if (!left_out)
        return failure_out_of_memory(failure);
    tool->schema = schema_subset_make(schema, format->subset, left_out, failure);
    if (!tool->schema) {
        failure_set_hint(failure, "%s cannot be offered to %s", tool->name, format->name);
        return false;
    }
    return note_left_out(format, tool, left_out, notes, failure);
}

static bool add_tool(const struct manifest_format *format, const json_t *manifest, json_t *tools,
                     json_t *names, json_t *notes, struct failure *failure)
{
    CLEANUP(clear_tool) struct tool tool = {.manifest = manifest};
    if (!take_name(format, &tool, notes, failure) ||
        !take_description(format, &tool, notes, failure) ||
        !take_schema(format, &tool, notes, failure))
        return false;
    if (json_object_get(names, tool.name))
        return failure_set(failure, "schema_unsupported", "two tools would be named %s", tool.name);
    if (json_object_set_new(names, tool.name, json_true()) != 0 ||
        json_array_append_new(tools, format->entry(&tool)) != 0)
        return failure_out_of_memory(failure);
    return true;
}

/* Gemini groups its functions. */
static json_t *wrap(const struct manifest_format *format, json_t *tools)
{
    if (format->rewrites && format->subset == SCHEMA_SUBSET_GEMINI)
        return json_pack("[{s:O}]", "functionDeclarations", tools);
    return json_incref(tools);
}

bool manifest_format_apply(const struct manifest_format *format, const json_t *manifest,
                           json_t **ret_tools, json_t **ret_notes, struct failure *failure)
{
    const json_t *own = json_object_get(manifest, "tools");
    if (json_array_size(own) == 0)
        return failure_set(failure, "provider_failed", "the provider's manifest names no tool");
    json_auto_t *tools = json_array();
    json_auto_t *names = json_object();
    json_auto_t *notes = json_array();
    size_t index = 0;
    const json_t *tool = NULL;
    json_array_foreach(own, index, tool)
    {
        if (!add_tool(format, tool, tools, names, notes, failure))
            return false;
    }
    json_t *wrapped = wrap(format, tools);
    if (!wrapped || !notes) {
        json_decref(wrapped);
        return failure_out_of_memory(failure);
    }
    *ret_tools = wrapped;
    *ret_notes = TAKE_POINTER(notes);
    return true;
}
