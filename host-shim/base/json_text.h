/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as text. Written wholly or not at all: json_dumps() leaves pieces out when memory runs out.
 * Parse errors have words of their own: jansson's would repeat the text. Pure code,
 * any thread.
 */
#pragma once

#include <jansson.h>

/* New text without blanks, members in their order; NULL when out of memory, or for NULL. */
char *json_compact(const json_t *value);
/* The same as jansson's flags (JSON_INDENT(2), JSON_ENCODE_ANY …) lay it out. */
char *json_text(const json_t *value, size_t flags);

#define JSON_PROBLEM_LIMIT 96

/* "a member twice, at line 3, byte 7"; *error is what the json_load…() that returned NULL filled.
 */
void json_problem(const json_error_t *error, char ret[JSON_PROBLEM_LIMIT]);
