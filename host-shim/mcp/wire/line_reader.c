/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a stream into lines of bounded length. Owned by one thread. */
#include "mcp/wire/line_reader.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_CAPACITY 4096u

static void forget_taken(struct line_reader *reader)
{
    if (reader->taken == 0)
        return;
    memmove(reader->bytes, reader->bytes + reader->taken, reader->length - reader->taken);
    reader->length -= reader->taken;
    reader->scanned -= reader->taken;
    reader->taken = 0;
}

bool line_reader_add(struct line_reader *reader, const void *bytes, size_t length)
{
    forget_taken(reader);
    size_t needed = reader->length + length;
    if (needed > reader->capacity) {
        size_t capacity = reader->capacity ? reader->capacity : LEAST_CAPACITY;
        while (capacity < needed)
            capacity *= 2;
        char *grown = realloc(reader->bytes, capacity);
        if (!grown)
            return false;
        reader->bytes = grown;
        reader->capacity = capacity;
    }
    if (length > 0)
        memcpy(reader->bytes + reader->length, bytes, length);
    reader->length = needed;
    return true;
}

static enum line_event take_unfinished(struct line_reader *reader, const char **ret_line,
                                       size_t *ret_length)
{
    size_t unfinished = reader->length - reader->taken;
    reader->scanned = reader->length;
    if (!reader->skipping && unfinished <= reader->limit)
        return LINE_NONE;
    bool known = reader->skipping;
    size_t kept = unfinished < LINE_END_KEPT ? unfinished : LINE_END_KEPT;
    *ret_line = reader->bytes + reader->taken;
    *ret_length = unfinished;
    reader->skipping = true;
    reader->taken = reader->length - kept;
    return known ? LINE_NONE : LINE_TOO_LONG;
}

enum line_event line_reader_next(struct line_reader *reader, const char **ret_line,
                                 size_t *ret_length)
{
    for (;;) {
        size_t unscanned = reader->length - reader->scanned;
        const char *end =
            unscanned > 0 ? memchr(reader->bytes + reader->scanned, '\n', unscanned) : NULL;
        if (!end)
            return take_unfinished(reader, ret_line, ret_length);
        const char *line = reader->bytes + reader->taken;
        size_t length = (size_t)(end - line);
        bool skipped = reader->skipping;
        reader->taken += length + 1;
        reader->scanned = reader->taken;
        reader->skipping = false;
        if (skipped && !reader->tells_end)
            continue;
        *ret_line = line;
        *ret_length = length;
        if (skipped)
            return LINE_SKIPPED;
        return length > reader->limit ? LINE_TOO_LONG : LINE_READY;
    }
}

void line_reader_clear(struct line_reader *reader)
{
    free(reader->bytes);
    *reader = (struct line_reader){.limit = reader->limit};
}
