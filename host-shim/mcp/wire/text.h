/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of any kind as text for JSON. Pure code, any thread. */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* What is not UTF-8, at the edges of a piece as well, becomes U+FFFD. NULL when out of memory. */
json_t *text_to_json(const char *bytes, size_t length);
/* The length without an incomplete character at the end. */
size_t text_length_of_whole(const char *bytes, size_t length);
