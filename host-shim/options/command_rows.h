/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of commands, which parser, help, manual page and completions walk. Constant data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "options/options.h"

/* One of the first words that a command takes. */
struct command_action {
    const char *name; /* NULL behind the last one */
    const char *words;
    const char *summary;
};

struct command_row {
    const char *name;
    enum command command;
    bool hidden; /* for programs of this project */
    size_t words_least, words_most;
    const char *words; /* as in a synopsis; NULL: none */
    const char *summary;
    const struct command_action *actions; /* NULL: none */
};

extern const struct command_row command_rows[];
extern const size_t command_row_count;

/* NULL where there is none. */
const struct command_row *command_row_of(enum command command);
const struct command_row *command_row_find(const char *name);
