/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options. Constant data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options/options.h"

#define OPTION_FOR(command) (1u << (command))

struct option_row;

/* Takes an option's value (NULL where it has none; borrowed for good) into the options. */
typedef bool set_option(const struct option_row *row, struct options *options, const char *value,
                        struct failure *failure);

struct option_row {
    const char *name;
    int letter;            /* 0: none */
    const char *argument;  /* what its value is called; NULL: it has none */
    uint32_t commands;     /* OPTION_FOR() of each that takes it */
    const char *help;      /* one line of text, as long as it wants */
    const char *completes; /* "file", "directory", "words ..." or NULL */
    set_option *set;
    size_t place; /* in struct options, of a text or a flag that is only kept */
};

/* At most 128: the parser has an array of that many. */
extern const struct option_row option_rows[];
extern const size_t option_row_count;
