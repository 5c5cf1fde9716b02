/* SPDX-License-Identifier: Apache-2.0 */
/* Help for commands and options, from their tables. Any thread. */
#pragma once

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
