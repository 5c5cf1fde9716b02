/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models' slips in code. Pure code; runs in the gateway on the calling thread.
 */
#include "request/request_members.h"

#include <string.h>

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"
#define FENCE_MINIMUM   3

static size_t line_length(const char *text, size_t length)
{
    const char *end = memchr(text, '\n', length);
    return !end ? length : (size_t)(end - text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Backticks at the beginning of the line. */
static size_t fence_length(const char *line, size_t length)
{
    size_t ticks = 0;
    while (ticks < length && line[ticks] == '`')
        ticks++;
    return ticks >= FENCE_MINIMUM ? ticks : 0;
}

/* Whether a line between the fences is one itself: then the text is more than one block. */
static bool has_fence_line(const char *text, size_t length, size_t ticks)
{
    for (size_t at = 0; at < length;) {
        size_t line = line_length(text + at, length - at);
        if (fence_length(text + at, line) >= ticks)
            return true;
        at += line + 1;
    }
    return false;
}

/* The inside of a text that is one fenced block and nothing else but blanks around it. */
static bool find_fenced(const char *text, size_t length, const char **ret, size_t *ret_length)
{
    while (length > 0 && is_blank(*text)) {
        text++;
        length--;
    }
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    size_t opening = line_length(text, length);
    size_t ticks = fence_length(text, opening);
    if (ticks == 0 || opening == length || memchr(text + ticks, '`', opening - ticks))
        return false;
    const char *inside = text + opening + 1;
    size_t inside_length = length - opening - 1;
    if (inside_length < ticks)
        return false;
    size_t body = inside_length - ticks; /* all that is before the closing fence */
    if (fence_length(inside + body, ticks) != ticks || (body > 0 && inside[body - 1] != '\n'))
        return false;
    if (has_fence_line(inside, body, ticks))
        return false;
    *ret = inside;
    *ret_length = body;
    return true;
}

struct code_repair code_repair_find(const char *text, size_t length)
{
    struct code_repair repair = {.code = text, .length = length};
    size_t mark = strlen(BYTE_ORDER_MARK);
    if (length >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0) {
        repair.byte_order_mark = true;
        repair.code += mark;
        repair.length -= mark;
    }
    repair.fence = find_fenced(repair.code, repair.length, &repair.code, &repair.length);
    return repair;
}
