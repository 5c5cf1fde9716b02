/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON from outside (request, policy, host context, decisions, configuration) into jansson values,
 * with refusals that name the place as a JSON pointer (RFC 6901). jansson decides about validity;
 * this file bounds the text before jansson sees it (length, nesting: jansson recurses, and a host's
 * thread may have a small stack) and finds the pointer for jansson's byte position. Pure code, any
 * thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct json_input_limits {
    size_t max_bytes;
    size_t max_depth;  /* of arrays and objects, at most JSON_INPUT_DEPTH_LIMIT */
    size_t max_values; /* 0: JSON_INPUT_VALUES_LIMIT */
};

#define JSON_INPUT_DEPTH_LIMIT 64
/* Values and members of one text: jansson takes some 250 bytes for two bytes of "{}". */
#define JSON_INPUT_VALUES_LIMIT 65536
/* A pointer is cut to this many bytes (with an ellipsis) in messages. */
#define JSON_POINTER_LIMIT 160

/* A new reference to the object that text holds, or NULL with error: code is the given one, the
 * message names what ("request"), the pointer and the reason: not JSON, not an object, duplicate
 * member, NUL character, bad UTF-8, over-deep, over-long, too many values, bytes behind the value.
 */
json_t *json_input_parse(const char *what, const char *text, size_t length,
                         const struct json_input_limits *limits, enum error_code code,
                         struct error *error);
/* The same of any value, not of an object alone. */
json_t *json_input_parse_any(const char *what, const char *text, size_t length,
                             const struct json_input_limits *limits, enum error_code code,
                             struct error *error);

/* JSON Merge Patch (RFC 7386): changes target (an object) in place by patch (an object, unchanged,
 * from json_input_parse(), so not nested deeply). false when out of memory: target is then half
 * changed. */
bool merge_patch(json_t *target, json_t *patch);
