/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a secret may look in output: as it is and line by line, as a JSON string, percent-encoded, as
 * a literal of a language (redaction_quoting.c), in hexadecimal, in base64 at each of the three
 * byte offsets. Pure code, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Takes one form of the value; false ends the enumeration. The text is valid during the call. */
typedef bool redaction_form_sink(void *user, const void *text, size_t length);

/* Bytes of scratch for a value of that length: the longest form, "\u00XX" for each byte. */
#define REDACTION_SCRATCH_BYTES(length) (6 * (length) + 8)

/* Calls take with each form, some of them the same or empty. scratch has
 * REDACTION_SCRATCH_BYTES(length) bytes, the caller's to wipe. false where take said so. */
bool redaction_encode(const unsigned char *value, size_t length, char *scratch,
                      redaction_form_sink *take, void *user);

/* How a text looks as a literal of a language: Python's repr(), ascii() and bytes, Node's
 * util.inspect(), the shells' traces and lists of variables, shlex.quote(), printf %q, HTML. Always
 * the text between the outer quotes, because a value may be one part of a literal. */
#define QUOTING_STYLES 20 /* styles 0 .. QUOTING_STYLES-1 */

/* Writes the literal to text, which has room for 6 * length bytes; the number of bytes written. */
size_t redaction_quote(const unsigned char *value, size_t length, size_t style, char *text);
