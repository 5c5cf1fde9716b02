/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that the cells of a shell have defined, as the shell tells them, and the frame of a
 * cell's end that has them in it. Pure code; runs in the process that takes the cells of a shell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/wire.h"

/* Lists that end with NULL; NULL: empty. */
struct defined_names {
    char **known; /* before the first cell */
    char **told;  /* at the end of the last cell that was executed */
    bool begun;   /* the known ones are complete */
};

/* One more that the shell has told. */
void defined_names_add(struct defined_names *names, const char *name);
/* The shell waits for its first cell: what it has told so far is known. */
void defined_names_begin(struct defined_names *names);
/* Another cell is executed: what was told is forgotten. */
void defined_names_forget(struct defined_names *names);
/* The frame of the end of a cell, added to what is in the writer. */
void defined_names_write_end(const struct defined_names *names, uint32_t exit_code,
                             bool home_is_empty, struct wire_writer *frame);
