/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line editor with a history for a person at a terminal, where toolhost was built with libedit.
 * The history is in memory alone: what was typed may hold what belongs into no file. The terminal
 * is in the editor's mode only while a line is read, so that whatever else asks at the terminal
 * finds it as it was. Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct terminal_editor;

enum edited_line {
    EDITED_LINE,
    EDITED_SIGNAL, /* signal_fd is readable; what was typed is dropped */
    EDITED_END,
};

/* Reads from in, which it borrows as it does signal_fd, and draws on standard error. NULL: there is
 * no editor, or this terminal is none for it. */
struct terminal_editor *terminal_editor_open(int in, int signal_fd);
void terminal_editor_close(struct terminal_editor *editor);

/* *ret_line: without its break, the editor's until it reads again. */
enum edited_line terminal_editor_read(struct terminal_editor *editor, const char *prompt,
                                      const char **ret_line, size_t *ret_length);
