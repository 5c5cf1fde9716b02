/* SPDX-License-Identifier: Apache-2.0 */
/* Makes results of tools/call, and takes large files and images out of the output. On the thread of
 * a call. */
#include "mcp/result/call_result.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failure.h"
#include "base/json.h"
#include "mcp/result/catalogue.h"
#include "mcp/result/file_blocks.h"
#include "mcp/result/result_form.h"
#include "tool_provider.h"

static json_t *text_block(const char *text)
{
    return json_pack("{s:s, s:s}", "type", "text", "text", text);
}

static json_t *error_block(const char *code, const char *message, const char *hint)
{
    CLEANUP_FREE char *text = NULL;
    if (asprintf(&text, "%s: %s%s%s", code, failure_after_code(code, message),
                 *hint ? "\nhint: " : "", hint) < 0) {
        text = NULL;
        return NULL;
    }
    return text_block(text);
}

json_t *call_result_error(const char *code, const char *message, const char *hint)
{
    return json_pack("{s:[o], s:b}", "content", error_block(code, message, hint), "isError", 1);
}

/* "uri" of what is embedded, with its text or its bytes in Base64. */
static json_t *resource_block(const json_t *entry)
{
    json_t *text = json_object_get(entry, "text");
    json_t *data = json_object_get(entry, "data");
    json_t *mime_type = json_object_get(entry, "mime_type");
    return json_pack("{s:s, s:{s:O, s:O*, s:O*}}", "type", "resource", "resource", "uri",
                     json_object_get(entry, "uri"), "mimeType", mime_type, text ? "text" : "blob",
                     text ? text : data);
}

/* One of the provider's "results" as a content block; NULL for a kind that is not known. */
static json_t *rich_block(const json_t *entry)
{
    const char *type = json_member_string(entry, "type", "");
    json_t *data = json_object_get(entry, "data");
    json_t *mime_type = json_object_get(entry, "mime_type");
    json_t *text = json_object_get(entry, "text");
    if (strcmp(type, "text") == 0 && json_is_string(text))
        return json_pack("{s:s, s:O}", "type", "text", "text", text);
    if ((strcmp(type, "image") == 0 || strcmp(type, "audio") == 0) && json_is_string(data) &&
        json_is_string(mime_type))
        return json_pack("{s:s, s:O, s:O}", "type", type, "data", data, "mimeType", mime_type);
    if (strcmp(type, "resource") == 0 && json_is_string(json_object_get(entry, "uri")) &&
        (json_is_string(text) || json_is_string(data)))
        return resource_block(entry);
    return NULL;
}

static bool add_rich(json_t *content, const json_t *output)
{
    size_t index = 0;
    const json_t *entry = NULL;
    json_array_foreach(json_object_get(output, "results"), index, entry)
    {
        json_t *block = rich_block(entry);
        if (block && json_array_append_new(content, block) != 0)
            return false;
    }
    return true;
}

static bool add_error(json_t *content, const json_t *output)
{
    const json_t *error = json_object_get(output, "error");
    json_t *block = error_block(json_member_string(error, "code", "error"),
                                json_member_string(error, "message", "the tool did not run"),
                                json_member_string(error, "hint", ""));
    return json_array_append_new(content, block) == 0;
}

/* The text for the model. Without a list of members in the manifest it is the whole output. */
static bool add_text(json_t *content, const json_t *tool, const json_t *output,
                     const json_t *structured)
{
    json_t *words = result_form_text(tool, output);
    if (words)
        return json_array_append_new(content,
                                     json_pack("{s:s, s:o}", "type", "text", "text", words)) == 0;
    CLEANUP_FREE char *text = json_compact(structured);
    return text && json_array_append_new(content, text_block(text)) == 0;
}

json_t *call_result_make(const struct artifact_store *artifacts,
                         const struct session_revision *session, bool full,
                         const struct tool_answer *answer)
{
    const json_t *tool = answer->tool;
    json_t *output = answer->output;
    if (!output)
        return call_result_error("provider_failed", "the tool returned no result that can be read",
                                 "");
    bool failed = answer->status != TOOL_OK || json_is_object(json_object_get(output, "error"));
    bool is_structured = catalogue_is_structured(tool);
    json_auto_t *content = json_array();
    bool made = (!failed || add_error(content, output)) && add_rich(content, output) &&
                file_blocks_add(artifacts, session, output, content);
    json_auto_t *structured = result_form_structured(tool, output, full);
    if (made && (is_structured || json_array_size(content) == 0))
        made = add_text(content, tool, output, structured);
    if (!made || !structured)
        return NULL;
    return json_pack("{s:O, s:O*, s:b}", "content", content, "structuredContent",
                     is_structured ? structured : NULL, "isError", failed);
}
