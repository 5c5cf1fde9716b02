/* SPDX-License-Identifier: Apache-2.0 */
/* Takes files out of a provider's output. On the thread of a call. */
#include "mcp/result/call_files.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_member.h"

#define LARGE_FILE             32768u     /* bytes of its content as it stands in the JSON */
#define LARGE_IMAGE            (4u << 20) /* the same of an image; larger ones are linked to */
#define RESOURCE_LINK_REVISION "2025-06-18"

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
static json_t *link_block(const struct terms *terms, const struct file *file, json_t *uri)
{
    const json_t *size = json_object_get(file->entry, "size");
    if (terms_at_least(terms, RESOURCE_LINK_REVISION))
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

static bool link_file(struct artifacts *artifacts, const struct terms *terms,
                      const struct file *file, json_t *content)
{
    CLEANUP_JSON json_t *uri =
        artifacts_keep(artifacts, file->path, file->mime_type, file->content, file->is_text);
    if (!uri) /* larger than is kept: it stays in the result */
        return true;
    return json_array_append_new(content, link_block(terms, file, uri)) == 0 &&
           json_object_set(file->entry, "uri", uri) == 0 &&
           json_object_del(file->entry, "content") == 0;
}

static bool take_file(struct artifacts *artifacts, const struct terms *terms,
                      const struct file *file, json_t *content)
{
    if (is_image(file))
        return json_array_append_new(content, image_block(file)) == 0 &&
               json_object_del(file->entry, "content") == 0;
    if (json_string_length(file->content) > LARGE_FILE)
        return link_file(artifacts, terms, file, content);
    return true;
}

bool call_files_take(struct artifacts *artifacts, const struct terms *terms, json_t *output,
                     json_t *content)
{
    size_t index = 0;
    json_t *entry = NULL;
    json_array_foreach(json_object_get(output, "files"), index, entry)
    {
        struct file file;
        if (read_file(entry, &file) && !take_file(artifacts, terms, &file, content))
            return false;
    }
    return true;
}
