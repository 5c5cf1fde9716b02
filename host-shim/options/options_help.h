/* SPDX-License-Identifier: Apache-2.0 */
/* Help for commands and options, from their tables; "did you mean" for words of the command line.
 * Any thread. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "options/options.h"

/* For people: of one command, or of toolhost where the command is COMMAND_NONE. */
void options_help_write(FILE *out, enum command command);

/* One more entry of such a help. */
void options_help_write_entry(FILE *out, const char *name, const char *text);

/* For a shell's completion, one a line: "command NAME", or of one command "action NAME", "option
 * NAME" (it has no value), and "option NAME KIND" with KIND "file", "directory", "value" or "words
 * WORD...". A letter is a name of one character. */
void options_help_write_words(FILE *out, enum command command);

/* The candidates: the index-th word, NULL behind the last one. */
typedef const char *suggestion_word(const void *words, size_t index);

/* The one that the given word was probably meant to be: it is misspelt by a few letters, or only
 * the beginning or the end of a name that is made of parts. NULL where none is near, or several
 * are. */
const char *suggestion_find(const char *word, suggestion_word *at, const void *words);
