/* SPDX-License-Identifier: Apache-2.0 */
/* Makes results of tools/call, and takes large files and images out of the output. On the thread of
 * a call. */
#include "mcp/result/call_result.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failure.h"
#include "base/json.h"
#include "formats/shown_result.h"
#include "mcp/result/catalogue.h"
#include "mcp/result/result_form.h"
#include "tool_provider.h"

#define LONG_TEXT 32768u /* bytes of a display that the structured content does not repeat */

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

static json_t *media_block(const json_t *shown, const char *type)
{
    return json_pack("{s:s, s:O, s:O}", "type", type, "data", json_object_get(shown, "data"),
                     "mimeType", json_object_get(shown, "mime_type"));
}

static bool is_seen(const json_t *shown)
{
    return shown_result_is_picture(shown) &&
           json_string_length(json_object_get(shown, "data")) <= FILE_BLOCKS_IMAGE;
}

/* What a model can make nothing of in a message is a file: HTML, SVG, a chart's description, an
 * image that is too large. */
static bool is_file(const json_t *shown)
{
    json_t *own = json_object_get(shown, "text");
    const json_t *text = shown_result_text(shown);
    bool is_audio = strcmp(json_member_string(shown, "type", ""), "audio") == 0;
    bool is_active = shown_result_is_active_type(json_member_string(shown, "mime_type", ""));
    if (is_audio || is_seen(shown) || (json_object_get(shown, "uri") && !is_active))
        return false;
    return (own || json_object_get(shown, "data")) && (!text || text != own);
}

/* One of the provider's "results" as a content block; NULL for what has no block of its own. */
static json_t *rich_block(const json_t *shown)
{
    const char *type = json_member_string(shown, "type", "");
    bool has_data = json_is_string(json_object_get(shown, "data"));
    const json_t *text = shown_result_text(shown);
    if (is_seen(shown))
        return media_block(shown, "image");
    if (strcmp(type, "audio") == 0 && has_data && json_object_get(shown, "mime_type"))
        return media_block(shown, "audio");
    if (strcmp(type, "resource") == 0 && !is_file(shown) &&
        json_is_string(json_object_get(shown, "uri")) &&
        (has_data || json_is_string(json_object_get(shown, "text"))))
        return resource_block(shown);
    return text ? json_pack("{s:s, s:O}", "type", "text", "text", text) : NULL;
}

/* A display as a file, which remembers what it was made of. */
static bool add_display(json_t *displays, json_t *shown)
{
    unsigned number = (unsigned)json_array_size(displays) + 1;
    json_t *file = shown_result_file(shown, number);
    return json_array_append_new(displays, file) == 0 && json_object_set(file, "of", shown) == 0;
}

static bool add_rich(json_t *content, const json_t *output, json_t *displays)
{
    size_t index = 0;
    json_t *shown = NULL;
    json_array_foreach(json_object_get(output, "results"), index, shown)
    {
        json_t *block = rich_block(shown);
        const char *description = json_member_string(shown, "alt", NULL);
        if (block && json_array_append_new(content, block) != 0)
            return false;
        if (description && json_array_append_new(content, text_block(description)) != 0)
            return false;
        if (is_file(shown) && !add_display(displays, shown))
            return false;
    }
    return true;
}

/* The structured content repeats no picture and no display that is kept. Where it is brief it has
 * one form of each. */
static void shorten_results(const json_t *output, const json_t *displays, bool full)
{
    size_t index = 0;
    json_t *shown = NULL;
    json_t *display = NULL;
    json_array_foreach(json_object_get(output, "results"), index, shown)
    {
        if (is_seen(shown))
            (void)json_object_del(shown, "data");
        if (!full)
            (void)json_object_del(shown, "alternatives");
    }
    json_array_foreach(displays, index, display)
    {
        json_t *uri = json_object_get(display, "uri");
        shown = json_object_get(display, "of");
        if (!uri)
            continue;
        (void)json_object_set(shown, "uri", uri);
        (void)json_object_del(shown, "data");
        if (json_string_length(json_object_get(shown, "text")) > LONG_TEXT)
            (void)json_object_del(shown, "text");
    }
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
    json_auto_t *displays = json_array();
    bool made = (!failed || add_error(content, output)) && add_rich(content, output, displays) &&
                file_blocks_add(artifacts, session, output, displays, content);
    shorten_results(output, displays, full);
    json_auto_t *structured = result_form_structured(tool, output, full);
    if (made && (is_structured || json_array_size(content) == 0))
        made = add_text(content, tool, output, structured);
    if (!made || !structured)
        return NULL;
    return json_pack("{s:O, s:O*, s:b}", "content", content, "structuredContent",
                     is_structured ? structured : NULL, "isError", failed);
}
