/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark that the bootstrap puts behind the output of a program that has ended well, on both
 * streams: the engine tells of an end only when it has cleared the container away. The mark is
 * random for each container and is the first that the bootstrap is told. A program that finds it
 * out can only say that it has ended, and is removed for it. Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define END_MARK_LENGTH 33 /* a byte that is nowhere else in it, and 32 hexadecimal digits */
#define END_MARK_LINE   34 /* with the end of a line, as it is told */

/* Starts all zero, one a stream. */
struct end_mark_reader {
    size_t matched; /* bytes of the mark that were seen, and kept back */
    bool found;
};

/* Fills the mark with its end of a line and a NUL behind that, from 16 random bytes. */
void end_mark_make(const unsigned char random[16], char mark[END_MARK_LINE + 1]);

/* Takes as much as makes one piece of output, which is in the bytes or in the mark itself, or
 * empty; the number of bytes taken. Everything behind the mark is taken and dropped. */
size_t end_mark_next(struct end_mark_reader *reader, const char *mark, const unsigned char *bytes,
                     size_t length, const unsigned char **ret_piece, size_t *ret_length);
/* The stream has ended: what was kept back is output after all. Bytes of the mark; their number. */
size_t end_mark_rest(struct end_mark_reader *reader);
