/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes untrusted text safe to look at: whatever a terminal would obey, hide or reorder (control
 * characters, escape sequences, bidirectional and zero-width characters, blanks that are not
 * spaces, combining marks, invalid UTF-8) is written out as <U+202E> or <0xFF>. Pure code, any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct shown_character {
    char text[16];    /* NUL-terminated, printable */
    unsigned columns; /* never less than a terminal takes for it */
    size_t consumed;  /* bytes of the input, at least 1 */
};

/* Where in its words a text is; {0} at its beginning. */
struct escape_words {
    size_t left;   /* bytes of the word under way */
    bool is_latin; /* it has Latin letters, or nothing but what could be taken for them */
};

/* The shown form of the first character of text (length > 0), as a person takes it for code. A tab
 * becomes spaces; a line break is escaped like any other control character: callers split lines
 * themselves. What looks like an ASCII character and is another (Cyrillic a, Greek question mark,
 * full-width letters) is written out as well; letters only in words that could be read as Latin, so
 * that a sentence in Russian stays one. */
struct shown_character text_escape_next_of_words(struct escape_words *words, const char *text,
                                                 size_t length);

/* Writes all of the text on one line. */
void text_escape_write(FILE *out, const char *text, size_t length);
