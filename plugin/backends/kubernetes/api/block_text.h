/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of YAML in which kubectl writes a kubeconfig: mappings and sequences by indentation, a
 * value on one line each, plain or in quotes. What YAML has beyond that (anchors, tags, texts of
 * several lines, several documents) is refused by its line. JSON is read as JSON. Pure code. Runs
 * in the kubernetes backend.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define BLOCK_TEXT_DEPTH 16 /* of mappings and sequences */

/* New; NULL with the number of the line that could not be read, from 1 on, or 0 when out of memory.
 * Of plain values, true and false are booleans, null, ~ and nothing are null; all others are
 * strings. No key comes twice in a mapping. */
json_t *block_text_read(const char *text, size_t length, size_t *ret_line);
