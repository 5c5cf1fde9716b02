/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 (RFC 4648 section 4), strict: padded, no line breaks, no bits left over, so that a content
 * has one spelling only. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum base64_result { BASE64_OK, BASE64_INVALID, BASE64_OUT_OF_MEMORY };

/* *ret is new (free()), never NULL on success, with a NUL behind its *ret_length bytes. */
enum base64_result base64_decode(const char *text, size_t length, unsigned char **ret,
                                 size_t *ret_length);
/* The text of those bytes, new; NULL when out of memory. */
char *base64_encode(const unsigned char *bytes, size_t length);
