/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands by which a shell begins a cell: they put the cell's arguments and variables in
 * place, and leave in _ce_back the commands that take back the variables which do not last. Pure
 * code; runs in the process that takes the cells of a shell.
 */
#pragma once

#include "protocol/wire.h"

/* Adds to the text. The lists are NULL-terminated; variables are "NAME=value", and one whose name
 * no shell can have is left out. */
void begin_text_write(struct wire_writer *text, char *const *arguments, char *const *variables,
                      size_t lasting);
