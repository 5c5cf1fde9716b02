/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One input of toolhost session: a command, or the lines that are one cell. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/terminal/typed_lines.h"

enum session_input_kind {
    SESSION_INPUT_NOTHING, /* an empty line, or one that a person has dropped */
    SESSION_INPUT_COMMAND, /* ":" and a letter */
    SESSION_INPUT_CELL,
    SESSION_INPUT_END,
    SESSION_INPUT_SIGNAL, /* toolhost is asked to end */
};

struct session_input {
    char *text; /* owned; NUL-terminated, and may hold NUL bytes before */
    size_t length;
    size_t capacity;
};

/* *input is used anew. The end of the input ends what is being typed, too. */
enum session_input_kind session_input_read(struct typed_lines *lines, const char *language,
                                           struct session_input *input);
void session_input_clear(struct session_input *input);
