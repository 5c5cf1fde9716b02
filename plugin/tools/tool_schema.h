/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of a call against the tool's input schema, as far as this part of JSON Schema goes:
 * type, properties, required, additionalProperties, items, enum, const, minimum, maximum,
 * exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems, anyOf, oneOf.
 * Annotations say nothing about arguments. Any other keyword, and one of these with a value that it
 * cannot have, is not checked, and the result names the first one: what is not checked only lets
 * more arguments through. Both texts are strangers': depth and work are bounded. Pure code, any
 * thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "json/json_input.h"

#define TOOL_ARGUMENTS_DEPTH_LIMIT 32      /* of arrays and objects */
#define TOOL_SCHEMA_ALTERNATIVES   8       /* anyOf and oneOf in one another */
#define TOOL_SCHEMA_STEPS          2000000 /* keywords, members, items and 64 bytes of a text */
#define TOOL_SCHEMA_PLACE_SIZE     (JSON_POINTER_LIMIT + 4)
#define TOOL_SCHEMA_MESSAGE_SIZE   512

struct tool_schema_result {
    bool fits;                              /* all that was checked */
    bool fully_checked;                     /* false: the tool itself may want more */
    char unchecked[TOOL_SCHEMA_PLACE_SIZE]; /* pointer of the first such keyword, or "" */
    /* Where it does not fit, with the place; printable ASCII. */
    char message[TOOL_SCHEMA_MESSAGE_SIZE];
};

/* New: the object that the bytes of a call are. NULL: INVALID_INPUT with the place, or
 * OUT_OF_MEMORY. */
json_t *tool_arguments_read(const char *bytes, size_t length, size_t limit, struct error *error);

/* schema: an object. */
void tool_schema_check(json_t *schema, json_t *arguments, struct tool_schema_result *ret);
