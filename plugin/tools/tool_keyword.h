/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keywords of JSON Schema (drafts 4 to 2020-12) that tool_schema.c knows, and the forms that
 * their values have. Pure code, any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "json/json_place.h"

enum keyword_form {
    FORM_NOTE, /* an annotation: any value, and nothing to check */
    FORM_ANY,  /* any value */
    FORM_TYPE, /* the name of a type, or a list of some */
    FORM_NUMBER,
    FORM_BOUND, /* a number; or a boolean, as draft 4 has it */
    FORM_COUNT, /* an integer that is not negative */
    FORM_NAMES, /* a list of strings */
    FORM_LIST,
    FORM_SCHEMA,  /* an object or a boolean */
    FORM_SCHEMAS, /* a list of some, not empty */
    FORM_MAP,     /* an object of schemas */
};

/* X(constant, name, form) */
#define TOOL_KEYWORDS(X)                                     \
    X(TYPE, "type", TYPE)                                    \
    X(PROPERTIES, "properties", MAP)                         \
    X(REQUIRED, "required", NAMES)                           \
    X(ADDITIONAL_PROPERTIES, "additionalProperties", SCHEMA) \
    X(ITEMS, "items", SCHEMA)                                \
    X(ENUM, "enum", LIST)                                    \
    X(CONST, "const", ANY)                                   \
    X(MINIMUM, "minimum", NUMBER)                            \
    X(MAXIMUM, "maximum", NUMBER)                            \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", BOUND)          \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", BOUND)          \
    X(MIN_LENGTH, "minLength", COUNT)                        \
    X(MAX_LENGTH, "maxLength", COUNT)                        \
    X(MIN_ITEMS, "minItems", COUNT)                          \
    X(MAX_ITEMS, "maxItems", COUNT)                          \
    X(ANY_OF, "anyOf", SCHEMAS)                              \
    X(ONE_OF, "oneOf", SCHEMAS)                              \
    X(SCHEMA, "$schema", NOTE)                               \
    X(ID, "$id", NOTE)                                       \
    X(COMMENT, "$comment", NOTE)                             \
    X(DEFS, "$defs", NOTE)                                   \
    X(DEFINITIONS, "definitions", NOTE)                      \
    X(TITLE, "title", NOTE)                                  \
    X(DESCRIPTION, "description", NOTE)                      \
    X(DEFAULT, "default", NOTE)                              \
    X(EXAMPLES, "examples", NOTE)                            \
    X(FORMAT, "format", NOTE)                                \
    X(DEPRECATED, "deprecated", NOTE)                        \
    X(READ_ONLY, "readOnly", NOTE)                           \
    X(WRITE_ONLY, "writeOnly", NOTE)

enum tool_keyword {
#define X(constant, name, form) KEYWORD_##constant,
    TOOL_KEYWORDS(X)
#undef X
        KEYWORD_COUNT /* not checked */
};

/* The keyword of that name in the schema, whose value is word. KEYWORD_COUNT: it is unknown, its
 * value has not the form, or one beside it that is not checked changes what it means. */
enum tool_keyword tool_keyword_in(const json_t *schema, const char *name, const json_t *word);
/* The first keyword in the schema (an object or a boolean), or in one within it, that is not
 * checked; true: there is none. */
bool tool_keywords_are_checked(const struct json_place *place, json_t *schema,
                               struct json_place *ret_unchecked);
