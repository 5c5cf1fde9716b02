/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as toolhost reads and writes it. Members are read tolerantly: one that is missing or of
 * another type is the fallback, and NULL objects are fine. Texts are written wholly or not at all:
 * json_dumps() leaves pieces out when memory runs out. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

/* A program prints any character, so a provider's results, audit records and status may hold NUL
 * (RFC 8259, section 7: \u0000), which jansson refuses unless it is told otherwise. Their texts are
 * used with json_string_length(), or through json_member_string(). */
#define PROVIDER_JSON_FLAGS (JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)

/* New; NULL for a NULL text, text that is no JSON, and out of memory. */
static inline json_t *provider_json_read(const char *text)
{
    return text ? json_loads(text, PROVIDER_JSON_FLAGS, NULL) : NULL;
}

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

/* Is the text an element of the array? */
bool json_list_has(const json_t *list, const char *text);

/* New text without blanks, members in their order; NULL when out of memory, or for NULL. */
char *json_compact(const json_t *value);
/* The same as jansson's flags (JSON_INDENT(2), JSON_ENCODE_ANY …) lay it out. */
char *json_text(const json_t *value, size_t flags);

#define JSON_PROBLEM_LIMIT 96

/* "it has a member twice, at line 3, byte 7"; *error is what the json_load…() that returned NULL
 * filled. The words are ours: jansson's would repeat the text. */
void json_problem(const json_error_t *error, char ret[JSON_PROBLEM_LIMIT]);
