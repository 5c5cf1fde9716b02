/* SPDX-License-Identifier: Apache-2.0 */
/* Reads kept files. Any thread. */
#include "mcp/result/resource.h"

#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "base/json.h"

#define RESOURCE_LIMIT (48 << 20) /* bytes of a file in one message */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_text_type(const char *mime_type)
{
    return strncmp(mime_type, "text/", strlen("text/")) == 0 || ends_with(mime_type, "json") ||
           ends_with(mime_type, "+xml") || ends_with(mime_type, "/xml");
}

static json_t *make_contents(const json_t *entry, const char *bytes, size_t length)
{
    const char *mime_type = json_member_string(entry, "mime_type", "");
    json_t *text = is_text_type(mime_type) && !memchr(bytes, '\0', length)
                       ? json_stringn(bytes, length)
                       : NULL;
    bool is_text = text != NULL;
    if (!is_text) {
        CLEANUP_FREE char *encoded = base64_encode((const unsigned char *)bytes, length);
        text = encoded ? json_string(encoded) : NULL;
    }
    return json_pack("[{s:O, s:s, s:o}]", "uri", json_object_get(entry, "uri"), "mimeType",
                     mime_type, is_text ? "text" : "blob", text);
}

json_t *resource_contents(const struct artifact_store *artifacts, const char *uri,
                          struct failure *failure)
{
    CLEANUP_CLOSE int fd = -1;
    json_auto_t *entry = artifact_store_find(artifacts, uri, &fd, failure);
    json_int_t size = json_member_integer(entry, "size", 0);
    if (!entry)
        return NULL;
    if (size > RESOURCE_LIMIT) {
        (void)failure_set(failure, "too_large", "Resource too large for a message");
        return NULL;
    }
    CLEANUP_FREE char *bytes = malloc((size_t)size + 1);
    ssize_t length = bytes ? read_up_to(fd, bytes, (size_t)size) : -1;
    json_t *contents = length >= 0 ? make_contents(entry, bytes, (size_t)length) : NULL;
    if (!contents)
        (void)failure_out_of_memory(failure);
    return contents;
}
