/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of objects. Reading is tolerant, as of a provider's JSON: a member that is missing or of
 * another type is the fallback, and NULL objects are fine. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

/* The text as a C string; NULL for another type, and for a text with a NUL character in it, which
 * as a C string would be another text. */
static inline const char *json_c_string(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

/* Names, words and hashes. What a program printed is used with its length, as json_t. */
static inline const char *json_member_string(const json_t *object, const char *name,
                                             const char *fallback)
{
    const char *text = json_c_string(json_object_get(object, name));
    return text ? text : fallback;
}

static inline json_int_t json_member_integer(const json_t *object, const char *name,
                                             json_int_t fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

static inline bool json_member_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

/* Nothing for a NULL text. false: not UTF-8, or out of memory. json_pack() with "s*" would leave
 * the member out then. */
static inline bool json_member_add(json_t *object, const char *name, const char *text)
{
    return !text || json_object_set_new(object, name, json_string(text)) == 0;
}
