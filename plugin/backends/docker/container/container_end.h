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
#define END_MARK_LINE   34 /* with the end of the line, as the bootstrap reads it */

/* Starts all zero, one a stream. */
struct end_mark_reader {
    size_t matched; /* bytes of the mark that were seen and held back */
    bool found;
};

/* The mark with the end of its line and a NUL. */
void end_mark_make(const uint64_t random[2], char mark[END_MARK_LINE + 1]);

/* Takes bytes up to one piece of output, which points into the bytes or into the mark, or is empty.
 * The number of bytes taken. Everything behind the mark is taken and dropped. */
size_t end_mark_next(struct end_mark_reader *reader, const char *mark, const unsigned char *bytes,
                     size_t length, const unsigned char **ret_piece, size_t *ret_length);
/* The stream has ended: the bytes that were held back are output after all. How many bytes of the
 * mark they are. */
size_t end_mark_rest(struct end_mark_reader *reader);

struct container_end {
    int64_t status; /* the engine's: an exit code, or 128 + signal */
    bool memory_killed;
};

/* Fills cause, exit_code and signal of the event. Like a shell, an engine reports a signal as 128 +
 * its number: the status of a fatal signal is taken for that signal. */
void container_cause_decide(const struct container_end *end, struct run_event *event);
