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
#include "mcp/result/result_form.h"
#include "tool_provider.h"

#define LARGE_FILE             32768u     /* bytes of its content as it stands in the JSON */
#define LARGE_IMAGE            (4u << 20) /* the same of an image; larger ones are linked to */
#define RESOURCE_LINK_REVISION "2025-06-18"

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

struct file {
    json_t *entry;
    const char *path, *mime_type;
    json_t *content;
    bool is_text;
};

static bool read_file(json_t *entry, struct file *ret)
{
    const char *encoding = json_member_string(entry, "encoding", "utf-8");
    bool is_text = strcmp(encoding, "base64") != 0;
    *ret = (struct file){
        .entry = entry,
        .path = json_member_string(entry, "path", ""),
        .mime_type = json_member_string(entry, "mime_type",
                                        is_text ? "text/plain" : "application/octet-stream"),
        .content = json_object_get(entry, "content"),
        .is_text = is_text,
    };
    return ret->path[0] && json_is_string(ret->content);
}

static bool is_image(const struct file *file)
{
    return !file->is_text && strncmp(file->mime_type, "image/", strlen("image/")) == 0 &&
           json_string_length(file->content) <= LARGE_IMAGE;
}

static json_t *image_block(const struct file *file)
{
    return json_pack("{s:s, s:O, s:s}", "type", "image", "data", file->content, "mimeType",
                     file->mime_type);
}

/* Revisions without links get the same in words. */
static json_t *link_block(const struct session_revision *session, const struct file *file,
                          json_t *uri)
{
    const json_t *size = json_object_get(file->entry, "size");
    if (session_is_at_least(session, RESOURCE_LINK_REVISION))
        return json_pack("{s:s, s:O, s:s, s:s, s:o*}", "type", "resource_link", "uri", uri, "name",
                         file->path, "mimeType", file->mime_type, "size",
                         json_is_integer(size) ? json_copy((json_t *)(uintptr_t)size) : NULL);
    CLEANUP_FREE char *text = NULL;
    if (asprintf(&text, "%s: read the resource %s", file->path, json_string_value(uri)) < 0) {
        text = NULL;
        return NULL;
    }
    return json_pack("{s:s, s:s}", "type", "text", "text", text);
}

static bool link_file(struct artifacts *artifacts, const struct session_revision *session,
                      const struct file *file, json_t *content)
{
    json_auto_t *uri =
        artifacts_keep(artifacts, file->path, file->mime_type, file->content, file->is_text);
    if (!uri) /* larger than is kept: it stays in the result */
        return true;
    return json_array_append_new(content, link_block(session, file, uri)) == 0 &&
           json_object_set(file->entry, "uri", uri) == 0 &&
           json_object_del(file->entry, "content") == 0;
}

static bool take_file(struct artifacts *artifacts, const struct session_revision *session,
                      const struct file *file, json_t *content)
{
    if (is_image(file))
        return json_array_append_new(content, image_block(file)) == 0 &&
               json_object_del(file->entry, "content") == 0;
    if (json_string_length(file->content) > LARGE_FILE)
        return link_file(artifacts, session, file, content);
    return true;
}

/* Appends content blocks for what is taken out of output's "files", where each such file then has
 * "uri" or nothing instead of "content". false: out of memory. */
static bool take_files(struct artifacts *artifacts, const struct session_revision *session,
                       json_t *output, json_t *content)
{
    size_t index = 0;
    json_t *entry = NULL;
    json_array_foreach(json_object_get(output, "files"), index, entry)
    {
        struct file file;
        if (read_file(entry, &file) && !take_file(artifacts, session, &file, content))
            return false;
    }
    return true;
}

json_t *call_result_make(struct artifacts *artifacts, const struct session_revision *session,
                         bool full, const struct tool_answer *answer)
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
                take_files(artifacts, session, output, content);
    json_auto_t *structured = result_form_structured(tool, output, full);
    if (made && (is_structured || json_array_size(content) == 0))
        made = add_text(content, tool, output, structured);
    if (!made || !structured)
        return NULL;
    return json_pack("{s:O, s:O*, s:b}", "content", content, "structuredContent",
                     is_structured ? structured : NULL, "isError", failed);
}
