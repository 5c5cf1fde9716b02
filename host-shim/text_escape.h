/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes untrusted text safe to look at: whatever a terminal would obey, hide or reorder (control
 * characters, escape sequences, bidirectional and zero-width characters, blanks that are not
 * spaces, combining marks, invalid UTF-8) is written out as <U+202E> or <0xFF>. Pure code, any
 * thread.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct shown_character {
    char text[16];    /* NUL-terminated, printable */
    unsigned columns; /* never less than a terminal takes for it */
    size_t consumed;  /* bytes of the input, at least 1 */
};

/* The shown form of the first character of text (length > 0). A tab becomes spaces; a line break
 * is escaped like any other control character: callers split lines themselves. */
struct shown_character text_escape_next(const char *text, size_t length);

/* Writes all of the text on one line. */
void text_escape_write(FILE *out, const char *text, size_t length);
