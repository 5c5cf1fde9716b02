/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine sends on an attached connection, which libcurl hands over raw: the head of an HTTP
 * answer, then the streams of a container without a terminal, multiplexed into frames. A frame is a
 * header of 8 bytes (stream, three zeroes, length in big endian) and as many bytes of that stream.
 * Read as it comes, without keeping any of it. Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_LIMIT    16384 /* bytes, those of interim answers included */
#define HTTP_INTERIM_LIMIT 8     /* 1xx answers before the one that counts */

/* Starts all zero. */
struct http_head {
    size_t length; /* bytes seen */
    size_t line_length;
    char line[64]; /* the beginning of the status line */
    bool in_headers;
    unsigned int interim;
    int status; /* of the answer, once it is whole */
};

enum http_head_state { HTTP_HEAD_MORE, HTTP_HEAD_WHOLE, HTTP_HEAD_BROKEN };

/* Takes bytes up to the end of the head; *ret_taken of them. Not to be called again after anything
 * but HTTP_HEAD_MORE. */
enum http_head_state http_head_feed(struct http_head *head, const unsigned char *bytes,
                                    size_t length, size_t *ret_taken);

#define FRAME_HEADER_LENGTH 8
#define FRAME_LENGTH_LIMIT  (UINT32_C(16) << 20) /* engines send 32 KiB at the most */

enum frame_stream { FRAME_STDIN = 0, FRAME_STDOUT = 1, FRAME_STDERR = 2 };

/* Starts all zero. */
struct frame_reader {
    unsigned char header[FRAME_HEADER_LENGTH];
    size_t header_length;
    uint32_t left; /* of the payload of the frame under way */
};

/* Consecutive bytes of one stream; length 0: none so far. */
struct frame_piece {
    enum frame_stream stream;
    const unsigned char *bytes; /* inside the input */
    size_t length;
};

/* Takes input up to one piece. The number of bytes taken (all of them where there is no piece), or
 * -1 where a frame has no valid header; the reader must not be used after that. */
ptrdiff_t frame_reader_next(struct frame_reader *reader, const unsigned char *bytes, size_t length,
                            struct frame_piece *ret);

/* true: the input ends with a whole frame. */
bool frame_reader_at_boundary(const struct frame_reader *reader);
