/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a program in a container ended: by the end mark in its output, else by the engine's report.
 * Pure code.
 *
 * An engine reports an exit only after teardown. So the bootstrap puts a mark behind the output of
 * a program that has ended well, on both streams. The mark is random for each container and is the
 * first line that the bootstrap reads. A program that finds it out can only claim by it that it has
 * ended, and its container is removed for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/run_event.h"

#define END_MARK_LENGTH 33 /* a byte that is nowhere else in it, and 32 hexadecimal digits */
#define END_MARK_LINE   34 /* with the end of a line, as it is told */

/* Starts all zero, one a stream. */
struct end_mark_reader {
    size_t matched; /* bytes of the mark that were seen, and kept back */
    bool found;
};

/* Fills the mark with its end of a line and a NUL behind that, from random numbers. */
void end_mark_make(const uint64_t random[2], char mark[END_MARK_LINE + 1]);

/* Takes as much as makes one piece of output, which is in the bytes or in the mark itself, or
 * empty; the number of bytes taken. Everything behind the mark is taken and dropped. */
size_t end_mark_next(struct end_mark_reader *reader, const char *mark, const unsigned char *bytes,
                     size_t length, const unsigned char **ret_piece, size_t *ret_length);
/* The stream has ended: what was kept back is output after all. Bytes of the mark; their number. */
size_t end_mark_rest(struct end_mark_reader *reader);

struct container_end {
    int64_t status; /* the engine's: an exit code, or 128 + signal */
    bool memory_killed;
};

/* Fills cause, exit_code and signal of the event. An engine tells a program that exits with 137
 * from one that was killed no better than a shell does: a code that a signal gives is taken for
 * that signal. */
void container_cause_decide(const struct container_end *end, struct run_event *event);
