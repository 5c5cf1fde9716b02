/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures in a terminal (--show), by the graphics protocol of kitty or the inline images of
 * iTerm2. The terminal decodes them, and they are a stranger's: only where a person asks for it.
 * Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum terminal_pictures {
    TERMINAL_PICTURES_NONE,
    TERMINAL_PICTURES_KITTY, /* PNG */
    TERMINAL_PICTURES_ITERM, /* PNG, JPEG, GIF, WebP */
};

/* What the terminal at that descriptor takes, as the environment names it. */
enum terminal_pictures terminal_pictures_of(int fd);

/* Nothing where the terminal does not take that type. */
void terminal_picture_show(int fd, enum terminal_pictures protocol, const char *mime_type,
                           const void *bytes, size_t length);
