/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 has it (no surrogates, nothing above U+10FFFF, shortest form). Pure code, any
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Length of the valid sequence at the start of bytes, 0 where there is none. */
size_t utf8_sequence(const unsigned char *bytes, size_t length);

/* A new NUL-terminated copy in which every byte outside a valid sequence is U+FFFD. NULL when out
 * of memory. */
char *utf8_sanitize(const unsigned char *bytes, size_t length, size_t *ret_length,
                    bool *ret_replaced);

/* The longest prefix that does not end inside a sequence. */
size_t utf8_whole_prefix(const unsigned char *bytes, size_t length);

/* Ends a text where it was cut, at its last whole sequence. */
void utf8_end_whole(char *text);

/* How many bytes at the start are the rest of a sequence that began before (3 at most). */
size_t utf8_continuation_prefix(const unsigned char *bytes, size_t length);
