/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the walk over a JSON value that may hold secrets: see result_bundle.h. Runs in the gateway,
 * on the thread inside tool_invoke(). */
#include "results/result_bundle.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void count_only(void *user, const void *bytes, size_t length)
{
    size_t *total = user;
    (void)bytes;
    *total += length;
}

static void append(void *user, const void *bytes, size_t length)
{
    char **end = user;
    memcpy(*end, bytes, length);
    *end += length;
}

/* *ret: the text without secrets, new; NULL where it has none. false: no memory, or no room. */
static bool redact_text(struct json_redaction *redaction, const char *text, size_t length,
                        json_t **ret)
{
    size_t total = 0;
    size_t found = redaction_whole(redaction->redaction, text, length, count_only, &total);
    *ret = NULL;
    if (found == 0)
        return true;
    redaction->found += found;
    redaction->lacks_room = total > redaction->room;
    if (redaction->lacks_room)
        return false;
    redaction->room -= total;
    CLEANUP_FREE char *clean = malloc(total + 1);
    char *end = clean;
    if (!clean)
        return false;
    (void)redaction_whole(redaction->redaction, text, length, append, &end);
    *ret = json_stringn(clean, total);
    return *ret != NULL;
}

static json_t *redact_string(struct json_redaction *redaction, json_t *string)
{
    json_t *clean = NULL;
    const char *text = json_string_value(string);
    size_t length = json_string_length(string);
    bool done = redact_text(redaction, text, length, &clean);
    if (done && !clean)
        return string;
    explicit_bzero((char *)(uintptr_t)text, length);
    json_decref(string);
    return clean;
}

static bool redact_items(struct json_redaction *redaction, json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *item = json_redact(redaction, json_incref(json_array_get(array, i)));
        if (!item || json_array_set_new(array, i, item) != 0)
            return false;
    }
    return true;
}

static bool redact_values(struct json_redaction *redaction, json_t *object)
{
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        json_t *value = json_redact(redaction, json_incref(json_object_iter_value(at)));
        if (!value || json_object_iter_set_new(object, at, value) != 0)
            return false;
    }
    return true;
}

static bool has_secret_name(const struct json_redaction *redaction, json_t *object)
{
    size_t total = 0;
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at))
        if (redaction_whole(redaction->redaction, json_object_iter_key(at),
                            json_object_iter_key_len(at), count_only, &total) > 0)
            return true;
    return false;
}

/* Names that become the same are one member. */
static json_t *with_clean_names(struct json_redaction *redaction, json_t *object)
{
    json_auto_t *clean = json_object();
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        json_auto_t *name = NULL;
        const char *key = json_object_iter_key(at);
        size_t length = json_object_iter_key_len(at);
        if (!redact_text(redaction, key, length, &name) ||
            json_object_setn(clean, name ? json_string_value(name) : key,
                             name ? json_string_length(name) : length,
                             json_object_iter_value(at)) != 0)
            return NULL;
    }
    return TAKE_POINTER(clean);
}

static json_t *redact_object(struct json_redaction *redaction, json_t *object)
{
    json_auto_t *owned = object;
    if (!redact_values(redaction, owned))
        return NULL;
    return has_secret_name(redaction, owned) ? with_clean_names(redaction, owned)
                                             : TAKE_POINTER(owned);
}

static json_t *redact_array(struct json_redaction *redaction, json_t *array)
{
    json_auto_t *owned = array;
    return redact_items(redaction, owned) ? TAKE_POINTER(owned) : NULL;
}

json_t *json_redact(struct json_redaction *redaction, json_t *value)
{
    if (json_is_string(value))
        return redact_string(redaction, value);
    if (json_is_array(value))
        return redact_array(redaction, value);
    return json_is_object(value) ? redact_object(redaction, value) : value;
}
