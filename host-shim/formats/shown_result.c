/* SPDX-License-Identifier: Apache-2.0 */
/* Reads entries of "results". Pure code, any thread. */
#include "formats/shown_result.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

static bool is_plain(const json_t *shown)
{
    const char *mime_type = json_member_string(shown, "mime_type", "text/plain");
    return strcmp(mime_type, "text/plain") == 0 || strcmp(mime_type, "text/markdown") == 0 ||
           strcmp(mime_type, "application/json") == 0;
}

const json_t *shown_result_text(const json_t *shown)
{
    const json_t *text = json_object_get(shown, "text");
    const json_t *plain = json_object_get(json_object_get(shown, "alternatives"), "text/plain");
    if (strcmp(json_member_string(shown, "type", ""), "image") == 0)
        return NULL;
    if (is_plain(shown) && json_is_string(text))
        return text;
    return json_is_string(plain) ? plain : NULL;
}

bool shown_result_is_picture_type(const char *mime_type)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcmp(mime_type, types[i]) == 0)
            return true;
    }
    return false;
}

bool shown_result_is_active_type(const char *mime_type)
{
    return strcmp(mime_type, "text/html") == 0 || strcmp(mime_type, "image/svg+xml") == 0;
}

bool shown_result_is_picture(const json_t *shown)
{
    return strcmp(json_member_string(shown, "type", ""), "image") == 0 &&
           json_is_string(json_object_get(shown, "data")) &&
           shown_result_is_picture_type(json_member_string(shown, "mime_type", ""));
}

static const char *ending_of(const char *mime_type)
{
    static const struct {
        const char *mime_type, *ending;
    } known[] = {{"image/png", ".png"},      {"image/jpeg", ".jpg"}, {"image/svg+xml", ".svg"},
                 {"image/gif", ".gif"},      {"text/html", ".html"}, {"text/latex", ".tex"},
                 {"application/pdf", ".pdf"}};
    size_t length = strlen(mime_type);
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strcmp(known[i].mime_type, mime_type) == 0)
            return known[i].ending;
    }
    return length >= 4 && strcmp(mime_type + length - 4, "json") == 0 ? ".json" : ".bin";
}

json_t *shown_result_file(const json_t *shown, unsigned number)
{
    char path[64];
    const char *mime_type = json_member_string(shown, "mime_type", "application/octet-stream");
    json_t *data = json_object_get(shown, "data");
    json_t *content = data ? data : json_object_get(shown, "text");
    size_t length = json_string_length(content);
    size_t padding =
        length - strcspn(json_is_string(content) ? json_string_value(content) : "", "=");
    (void)snprintf(path, sizeof(path), "display-%u%s", number, ending_of(mime_type));
    return json_pack("{s:s, s:s, s:s, s:O*, s:I, s:b}", "path", path, "mime_type", mime_type,
                     "encoding", data ? "base64" : "utf-8", "content", content, "size",
                     (json_int_t)(data ? length / 4 * 3 - (padding <= 2 ? padding : 0) : length),
                     "active", shown_result_is_active_type(mime_type));
}
