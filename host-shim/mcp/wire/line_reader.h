/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits a stream into lines of bounded length. What is longer is skipped to its line break and
 * reported once, so that a stranger's endless line costs no memory. Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINE_END_KEPT 128u

struct line_reader {
    size_t limit;   /* of a line, without its break */
    bool tells_end; /* of a line that is too long: LINE_SKIPPED comes */
    char *bytes;
    size_t length, capacity;
    size_t taken;   /* bytes of lines that were handed out */
    size_t scanned; /* no line break before it */
    bool skipping;
};

enum line_event {
    LINE_NONE, /* no whole line is there */
    LINE_READY,
    LINE_TOO_LONG, /* once for each such line, as soon as it is known: what is there of it */
    LINE_SKIPPED,  /* such a line has ended: at least its last LINE_END_KEPT bytes */
};

/* false: out of memory. */
bool line_reader_add(struct line_reader *reader, const void *bytes, size_t length);
/* The line lasts until the next call of either function; no line break, not NUL-terminated. */
enum line_event line_reader_next(struct line_reader *reader, const char **ret_line,
                                 size_t *ret_length);
void line_reader_clear(struct line_reader *reader);
