/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the search for the mark in a program's output: see end_mark.h. */
#include "backends/docker/container/end_mark.h"

#include <stdio.h>
#include <string.h>

#define FIRST '\004'

void end_mark_make(const unsigned char random[16], char mark[END_MARK_LINE + 1])
{
    mark[0] = FIRST;
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(mark + 1 + 2 * i, 3, "%02x", random[i]);
    (void)strcpy(mark + END_MARK_LENGTH, "\n");
}

/* Goes on with a mark that has begun. As its first byte is nowhere else in it, no other one can
 * have begun within. */
static size_t match(struct end_mark_reader *reader, const char *mark, const unsigned char *bytes,
                    size_t length, const unsigned char **ret_piece, size_t *ret_length)
{
    size_t taken = 0;
    while (taken < length && reader->matched < END_MARK_LENGTH &&
           bytes[taken] == (unsigned char)mark[reader->matched]) {
        reader->matched++;
        taken++;
    }
    if (reader->matched == END_MARK_LENGTH) {
        reader->found = true;
        reader->matched = 0;
    } else if (taken < length) {
        *ret_piece = (const unsigned char *)mark;
        *ret_length = end_mark_rest(reader);
    }
    return taken;
}

size_t end_mark_next(struct end_mark_reader *reader, const char *mark, const unsigned char *bytes,
                     size_t length, const unsigned char **ret_piece, size_t *ret_length)
{
    *ret_piece = bytes;
    *ret_length = 0;
    if (reader->found)
        return length;
    if (reader->matched > 0)
        return match(reader, mark, bytes, length, ret_piece, ret_length);
    const unsigned char *first = memchr(bytes, FIRST, length);
    if (first == bytes && length > 0) {
        reader->matched = 1;
        return 1;
    }
    *ret_length = first ? (size_t)(first - bytes) : length;
    return *ret_length;
}

size_t end_mark_rest(struct end_mark_reader *reader)
{
    size_t rest = reader->matched;
    reader->matched = 0;
    return rest;
}
