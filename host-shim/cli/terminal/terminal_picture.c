/* SPDX-License-Identifier: Apache-2.0 */
/* Writes pictures as escape sequences, whose payload is Base64 of our own making. Main thread. */
#include "cli/terminal/terminal_picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/write_fully.h"

#define KITTY_CHUNK 4096u /* the most that one sequence may carry */

enum terminal_pictures terminal_pictures_of(int fd)
{
    static const struct {
        const char *variable, *value; /* a NULL value: any */
        enum terminal_pictures protocol;
    } known[] = {
        {"KITTY_WINDOW_ID", NULL, TERMINAL_PICTURES_KITTY},
        {"TERM", "xterm-kitty", TERMINAL_PICTURES_KITTY},
        {"TERM", "xterm-ghostty", TERMINAL_PICTURES_KITTY},
        {"TERM_PROGRAM", "ghostty", TERMINAL_PICTURES_KITTY},
        {"TERM_PROGRAM", "iTerm.app", TERMINAL_PICTURES_ITERM},
        {"TERM_PROGRAM", "WezTerm", TERMINAL_PICTURES_ITERM},
        {"TERM_PROGRAM", "vscode", TERMINAL_PICTURES_ITERM},
        {"TERM_PROGRAM", "mintty", TERMINAL_PICTURES_ITERM},
        {"LC_TERMINAL", "iTerm2", TERMINAL_PICTURES_ITERM},
    };
    for (size_t i = 0; isatty(fd) && i < COUNT_OF(known); i++) {
        const char *value = getenv(known[i].variable);
        if (value && (!known[i].value || strcmp(value, known[i].value) == 0))
            return known[i].protocol;
    }
    return TERMINAL_PICTURES_NONE;
}

/* q=2: the terminal does not answer, which would be typed at whatever runs next. */
static void draw_kitty(FILE *page, const char *encoded)
{
    size_t length = strlen(encoded);
    for (size_t sent = 0; sent < length; sent += KITTY_CHUNK) {
        size_t left = length - sent;
        size_t part = left < KITTY_CHUNK ? left : KITTY_CHUNK;
        (void)fprintf(page, "\033_G%sm=%d;%.*s\033\\", sent == 0 ? "a=T,f=100,q=2," : "",
                      left > part, (int)part, encoded + sent);
    }
}

static void draw_iterm(FILE *page, const char *encoded, size_t length)
{
    (void)fprintf(page, "\033]1337;File=inline=1;size=%zu:%s\a", length, encoded);
}

void terminal_picture_show(int fd, enum terminal_pictures protocol, const char *mime_type,
                           const void *bytes, size_t length)
{
    bool is_kitty = protocol == TERMINAL_PICTURES_KITTY;
    CLEANUP_FREE char *text = NULL;
    size_t text_length = 0;
    if (protocol == TERMINAL_PICTURES_NONE || (is_kitty && strcmp(mime_type, "image/png") != 0))
        return;
    CLEANUP_FREE char *encoded = base64_encode(bytes, length);
    FILE *page = encoded ? open_memstream(&text, &text_length) : NULL;
    if (!page)
        return;
    if (is_kitty)
        draw_kitty(page, encoded);
    else
        draw_iterm(page, encoded, length);
    (void)fputc('\n', page);
    if (fclose(page) == 0)
        (void)write_fully(fd, text, text_length);
}
