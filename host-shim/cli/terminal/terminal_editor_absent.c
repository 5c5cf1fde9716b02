/* SPDX-License-Identifier: Apache-2.0 */
/* Where toolhost was built without libedit: the terminal's own line editing is all there is. */
#include "cli/terminal/terminal_editor.h"

struct terminal_editor *terminal_editor_open(int in, int signal_fd)
{
    (void)in;
    (void)signal_fd;
    return NULL;
}

void terminal_editor_close(struct terminal_editor *editor)
{
    (void)editor;
}

enum edited_line terminal_editor_read(struct terminal_editor *editor, const char *prompt,
                                      const char **ret_line, size_t *ret_length)
{
    (void)editor;
    (void)prompt;
    (void)ret_line;
    (void)ret_length;
    return EDITED_END;
}
