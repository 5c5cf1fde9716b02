/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's multiplexed stream of a container without a terminal: frames of an 8-byte header
 * (stream, three zeroes, length in big endian) and so many bytes of that stream. Parsed as it
 * comes, without keeping any of it. Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_LENGTH 8
#define FRAME_LENGTH_LIMIT  (UINT32_C(16) << 20) /* engines send 32 KiB at the most */

enum frame_stream { FRAME_STDIN = 0, FRAME_STDOUT = 1, FRAME_STDERR = 2 };

/* Starts all zero. */
struct frame_reader {
    unsigned char header[FRAME_HEADER_LENGTH];
    size_t header_length;
    uint32_t left; /* of the payload of the frame under way */
};

/* What one step found: a piece of one stream's bytes, or nothing (length 0) so far. */
struct frame_piece {
    enum frame_stream stream;
    const unsigned char *bytes; /* inside the input */
    size_t length;
};

/* Takes as much of the input as makes one piece; the number of bytes taken (all of them where no
 * piece was found), or -1 where this is no such stream. A reader that has failed must not be used
 * again. */
ptrdiff_t frame_reader_next(struct frame_reader *reader, const unsigned char *bytes, size_t length,
                            struct frame_piece *ret);

/* Whether the stream may end here. */
bool frame_reader_at_boundary(const struct frame_reader *reader);
