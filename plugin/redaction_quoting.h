/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a text looks as a literal of a language: Python's repr(), ascii() and bytes, Node's
 * util.inspect(), the shells' traces and lists of variables, shlex.quote(), printf %q, HTML. Always
 * what stands between the outer quotes, as a value may be one part of a literal. Pure code, any
 * thread.
 */
#pragma once

#include <stddef.h>

/* styles 0 .. QUOTING_STYLES-1 */
#define QUOTING_STYLES 20

/* Writes the literal to text, which has room for 6 * length bytes; the number of bytes written. */
size_t redaction_quote(const unsigned char *value, size_t length, size_t style, char *text);
