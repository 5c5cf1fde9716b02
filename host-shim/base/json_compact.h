/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as text, wholly or not at all: json_dumps() leaves pieces out where memory ends. Pure code,
 * any thread. */
#pragma once

#include <jansson.h>

/* New text without blanks, members in their order; NULL when out of memory, or for NULL. */
char *json_compact(const json_t *value);
/* The same as jansson's flags (JSON_INDENT(2), JSON_ENCODE_ANY …) lay it out. */
char *json_text(const json_t *value, size_t flags);
