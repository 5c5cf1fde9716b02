/* SPDX-License-Identifier: Apache-2.0 */
/* Puts lines together. Main thread. */
#include "cli/terminal/session_input.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/console.h"

#define INPUT_LIMIT (8u << 20) /* bytes */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Does an input go on behind its first line? In Python it does, to the next empty line, where the
 * line ends with a colon, a backslash or an opening bracket, or begins with "@" as a decorator
 * does.
 */
static bool goes_on(const char *language, const char *line, size_t length)
{
    if (strcmp(language, "python") != 0)
        return false;
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    return length > 0 &&
           (line[0] == '@' || (line[length - 1] && strchr(":\\([{", line[length - 1])));
}

static bool has_text(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_blank(line[i]))
            return true;
    return false;
}

/* false: it is too long, or there is no memory. */
static bool add_line(struct session_input *input, const char *line, size_t length)
{
    size_t needed = input->length + length + 2; /* a line break, and a NUL */
    if (needed > INPUT_LIMIT)
        return false;
    if (needed > input->capacity) {
        char *grown = realloc(input->text, needed * 2);
        if (!grown)
            return false;
        input->text = grown;
        input->capacity = needed * 2;
    }
    if (input->length > 0)
        input->text[input->length++] = '\n';
    memcpy(input->text + input->length, line, length);
    input->length += length;
    input->text[input->length] = '\0';
    return true;
}

static bool take_line(struct session_input *input, const char *line, size_t length)
{
    if (add_line(input, line, length))
        return true;
    input->length = 0;
    console_print_notice("the input is too long: it was dropped");
    return false;
}

static bool is_command(const char *line, size_t length)
{
    return length > 1 && line[0] == ':' && isalpha((unsigned char)line[1]);
}

/* The lines of an input behind its first one. */
static enum session_input_kind read_rest(struct typed_lines *lines, struct session_input *input)
{
    const char *line = NULL;
    size_t length = 0;
    bool fits = true;
    for (;;) {
        switch (typed_lines_next(lines, "... ", &line, &length)) {
        case TYPED_LINE:
            if (!has_text(line, length))
                return fits ? SESSION_INPUT_CELL : SESSION_INPUT_NOTHING;
            fits = fits && take_line(input, line, length);
            break;
        case TYPED_TOO_LONG:
            fits = false;
            console_print_notice("the line is too long: the input is dropped");
            break;
        case TYPED_INTERRUPT:
            return SESSION_INPUT_NOTHING;
        case TYPED_END: /* the next look finds the end again */
            return fits ? SESSION_INPUT_CELL : SESSION_INPUT_NOTHING;
        case TYPED_SIGNAL:
            return SESSION_INPUT_SIGNAL;
        }
    }
}

static enum session_input_kind take_first(struct typed_lines *lines, const char *language,
                                          struct session_input *input, const char *line,
                                          size_t length)
{
    if (!has_text(line, length) || !take_line(input, line, length))
        return SESSION_INPUT_NOTHING;
    if (is_command(line, length))
        return SESSION_INPUT_COMMAND;
    return goes_on(language, line, length) ? read_rest(lines, input) : SESSION_INPUT_CELL;
}

enum session_input_kind session_input_read(struct typed_lines *lines, const char *language,
                                           struct session_input *input)
{
    const char *line = NULL;
    size_t length = 0;
    input->length = 0;
    switch (typed_lines_next(lines, ">>> ", &line, &length)) {
    case TYPED_LINE:
        return take_first(lines, language, input, line, length);
    case TYPED_TOO_LONG:
        console_print_notice("the line is too long: it was dropped");
        return SESSION_INPUT_NOTHING;
    case TYPED_INTERRUPT:
        return SESSION_INPUT_NOTHING;
    case TYPED_SIGNAL:
        return SESSION_INPUT_SIGNAL;
    case TYPED_END:
        break;
    }
    return SESSION_INPUT_END;
}

void session_input_clear(struct session_input *input)
{
    free(input->text);
    *input = (struct session_input){0};
}
