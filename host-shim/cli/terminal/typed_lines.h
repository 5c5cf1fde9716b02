/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of standard input: with a line editor where a person sits at a terminal and there is
 * one, else as they come. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "cli/terminal/terminal_editor.h"
#include "mcp/wire/line_reader.h"

enum typed_line {
    TYPED_LINE,
    TYPED_TOO_LONG,
    TYPED_INTERRUPT, /* a person has dropped what was typed */
    TYPED_END,       /* of the input */
    TYPED_SIGNAL,    /* toolhost is asked to end */
};

struct typed_lines {
    int in;
    int signal_fd;
    bool has_person; /* a terminal */
    bool has_ended;
    struct line_reader reader;
    struct terminal_editor *editor; /* NULL: none */
};

/* Takes standard input for itself, so that no provider reads from it. signal_fd is borrowed. */
bool typed_lines_open(struct typed_lines *ret, int signal_fd, struct failure *failure);
/* One that was not opened (all zero) is fine. */
void typed_lines_close(struct typed_lines *lines);

/* prompt is shown to a person only. *ret_line has no break and no NUL at its end, and lasts until
 * the next one is read. */
enum typed_line typed_lines_next(struct typed_lines *lines, const char *prompt,
                                 const char **ret_line, size_t *ret_length);
