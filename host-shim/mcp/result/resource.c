/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, describes and reads kept files. Any thread. */
#include "mcp/result/resource.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/descriptor_io.h"
#include "base/json.h"
#include "base/number.h"
#include "files/artifact_entry.h"

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

void resource_list_init(struct resource_list *ret)
{
    *ret = (struct resource_list){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void resource_list_clear(struct resource_list *list)
{
    for (size_t i = 0; i < RESOURCES_MOST; i++)
        free(list->uris[i]);
    (void)pthread_mutex_destroy(&list->lock);
}

/* A provider may name resources of its own. */
static void add_uri(struct resource_list *list, const json_t *entry)
{
    const char *uri = json_member_string(entry, "uri", "");
    char id[ARTIFACT_ID_SIZE];
    char *copy = strchr(uri, '/') && artifact_id_of_uri(uri, id) ? strdup(uri) : NULL;
    if (!copy)
        return;
    char **place = &list->uris[list->added % RESOURCES_MOST];
    free(*place);
    *place = copy;
    list->added++;
}

void resource_list_add(struct resource_list *list, const json_t *output)
{
    static const char *const members[] = {"files", "results"};
    (void)pthread_mutex_lock(&list->lock);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        size_t index = 0;
        const json_t *entry = NULL;
        json_array_foreach(json_object_get(output, members[i]), index, entry) add_uri(list, entry);
    }
    (void)pthread_mutex_unlock(&list->lock);
}

json_t *resource_describe(const struct result_file *file)
{
    json_t *size = file->size >= 0 ? json_integer(file->size) : NULL;
    return json_pack("{s:s, s:s, s:s, s:s*, s:o*}", "uri", file->uri, "name", file->path,
                     "mimeType", file->mime_type, "description",
                     file->active ? "active content: it can run scripts where it is shown" : NULL,
                     "size", size);
}

static bool add_resource(json_t *resources, const char *uri, const struct artifact_store *artifacts)
{
    struct failure ignored;
    struct result_file file;
    json_auto_t *entry = artifact_store_find(artifacts, uri, NULL, &ignored);
    return !entry || !result_file_read(entry, &file) ||
           json_array_append_new(resources, resource_describe(&file)) == 0;
}

/* The number of a page's first file. A cursor is that number: what has gone meanwhile is passed
 * over. */
static bool read_cursor(const struct resource_list *list, const json_t *cursor, uint64_t *ret)
{
    uint64_t oldest = list->added > RESOURCES_MOST ? list->added - RESOURCES_MOST : 0;
    const char *text = json_c_string(cursor);
    uint64_t number = 0;
    if (cursor && (!text || !number_parse(text, list->added, &number)))
        return false;
    *ret = number > oldest ? number : oldest;
    return true;
}

/* Under the lock. */
static json_t *make_page(const struct resource_list *list, const struct artifact_store *artifacts,
                         uint64_t number)
{
    json_auto_t *resources = json_array();
    char next[24];
    while (number < list->added && json_array_size(resources) < RESOURCES_PAGE) {
        if (!add_resource(resources, list->uris[number % RESOURCES_MOST], artifacts))
            return NULL;
        number++;
    }
    (void)snprintf(next, sizeof(next), "%" PRIu64, number);
    return json_pack("{s:O, s:s*}", "resources", resources, "nextCursor",
                     number < list->added ? next : NULL);
}

json_t *resource_list_page(struct resource_list *list, const struct artifact_store *artifacts,
                           const json_t *cursor, struct failure *failure)
{
    uint64_t number = 0;
    (void)pthread_mutex_lock(&list->lock);
    bool known = read_cursor(list, cursor, &number);
    json_t *page = known ? make_page(list, artifacts, number) : NULL;
    (void)pthread_mutex_unlock(&list->lock);
    if (!known)
        (void)failure_set(failure, "unknown_cursor", "no such cursor");
    else if (!page)
        (void)failure_out_of_memory(failure);
    return page;
}
