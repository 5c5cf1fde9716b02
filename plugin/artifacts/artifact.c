/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of a run's files, and its JSON: see artifact.h. Runs in the gateway, on the thread
 * inside tool_invoke(). */
#include "artifacts/artifact.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/cleanup.h"

void artifact_clear(struct artifact *artifact)
{
    free(artifact->path);
    free(artifact->content);
    free(artifact->uri);
    *artifact = (struct artifact){.path = NULL};
}

void artifact_list_clear(struct artifact_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        artifact_clear(&list->items[i]);
    free(list->items);
    *list = (struct artifact_list){.count = 0};
}

static bool grow(struct artifact_list *list)
{
    if (list->count < list->capacity)
        return true;
    size_t capacity = list->capacity > 0 ? list->capacity * 2 : 8;
    struct artifact *items = reallocarray(list->items, capacity, sizeof(*items));
    if (!items)
        return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

bool artifact_list_add(struct artifact_list *list, struct artifact *artifact)
{
    if (!grow(list)) {
        artifact_clear(artifact);
        return false;
    }
    list->items[list->count++] = *artifact;
    *artifact = (struct artifact){.path = NULL};
    return true;
}

void artifact_list_lose(struct artifact_list *list, enum file_omission reason)
{
    if (list->omitted_reason == FILE_WHOLE)
        list->omitted_reason = reason;
}

void artifact_list_omit(struct artifact_list *list, uint64_t count, uint64_t bytes,
                        enum file_omission reason)
{
    if (count == 0)
        return;
    artifact_list_lose(list, reason);
    if (__builtin_add_overflow(list->omitted_count, count, &list->omitted_count))
        list->omitted_count = UINT64_MAX;
    if (__builtin_add_overflow(list->omitted_bytes, bytes, &list->omitted_bytes))
        list->omitted_bytes = UINT64_MAX;
}

static const char *change_name(enum file_change index)
{
    static const char *const names[FILE_CHANGE_COUNT] = {"new", "changed"};
    return names[index];
}

/* NULL for one that is whole. */
static const char *omission_name(enum file_omission index)
{
    static const char *const names[FILE_OMISSION_COUNT] = {NULL,
#define FILE_OMISSION_NAME(value, name, meaning) name,
                                                           FILE_OMISSIONS(FILE_OMISSION_NAME)
#undef FILE_OMISSION_NAME
    };
    return names[index];
}

/* JSON numbers are exact up to 2^53; a sparse file may be larger. */
static int64_t json_size(uint64_t size)
{
    return size < INT64_C(1) << 53 ? (int64_t)size : INT64_C(1) << 53;
}

static void write_facts(struct json_draft *draft, const struct artifact *artifact)
{
    json_draft_string(draft, "path", artifact->path);
    json_draft_integer(draft, "size", json_size(artifact->size));
    if (artifact->mime_type)
        json_draft_string(draft, "mime_type", artifact->mime_type);
    if (artifact->sha256[0] != '\0')
        json_draft_string(draft, "sha256", artifact->sha256);
    json_draft_string(draft, "change", change_name(artifact->change));
    if (artifact->mime_type)
        json_draft_boolean(draft, "active", artifact->active);
    if (artifact->not_scanned)
        json_draft_boolean(draft, "not_scanned", true);
}

static void write_content(struct json_draft *draft, const struct artifact *artifact)
{
    size_t size = (size_t)artifact->size;
    if (artifact->is_text) {
        json_draft_string(draft, "encoding", "utf-8");
        json_draft_bytes(draft, "content", size > 0 ? (const char *)artifact->content : "", size);
        return;
    }
    CLEANUP_FREE char *text = base64_encode(artifact->content, size);
    json_draft_string(draft, "encoding", "base64");
    if (text)
        json_draft_string(draft, "content", text);
    else
        draft->failed = true;
}

void artifact_list_write(struct json_draft *draft, const char *name,
                         const struct artifact_list *list)
{
    json_draft_open(draft, name, '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct artifact *artifact = &list->items[i];
        json_draft_open(draft, NULL, '{');
        write_facts(draft, artifact);
        if (artifact->omission != FILE_WHOLE)
            json_draft_string(draft, "omitted", omission_name(artifact->omission));
        else if (artifact->uri)
            json_draft_string(draft, "uri", artifact->uri);
        else
            write_content(draft, artifact);
        json_draft_close(draft, '}');
    }
    json_draft_close(draft, ']');
}

void artifact_list_write_omitted(struct json_draft *draft, const char *name,
                                 const struct artifact_list *list)
{
    json_draft_open(draft, name, '{');
    json_draft_integer(draft, "count", json_size(list->omitted_count));
    json_draft_integer(draft, "bytes", json_size(list->omitted_bytes));
    json_draft_string(draft, "reason", omission_name(list->omitted_reason));
    json_draft_close(draft, '}');
}

void artifact_list_audit(struct json_draft *draft, const char *name,
                         const struct artifact_list *list)
{
    json_draft_open(draft, name, '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct artifact *artifact = &list->items[i];
        json_draft_open(draft, NULL, '{');
        json_draft_string(draft, "omitted", omission_name(artifact->omission));
        json_draft_string(draft, "path", artifact->path);
        json_draft_string(draft, "sha256", artifact->sha256[0] ? artifact->sha256 : NULL);
        json_draft_integer(draft, "size", json_size(artifact->size));
        json_draft_close(draft, '}');
    }
    json_draft_close(draft, ']');
}

char *artifact_description(const struct artifact *artifact)
{
    struct json_draft draft = {.order = JSON_ORDER_MADE};
    size_t length;
    json_draft_open(&draft, NULL, '{');
    write_facts(&draft, artifact);
    json_draft_close(&draft, '}');
    return json_draft_take(&draft, &length);
}
