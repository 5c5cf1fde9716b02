/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the parsing of the engine's multiplexed stream: see stream_frames.h. */
#include "backends/docker/container/stream_frames.h"

#include <string.h>

static bool header_is_good(struct frame_reader *reader)
{
    const unsigned char *header = reader->header;
    if (header[0] > FRAME_STDERR || header[1] != 0 || header[2] != 0 || header[3] != 0)
        return false;
    reader->left = (uint32_t)header[4] << 24 | (uint32_t)header[5] << 16 |
                   (uint32_t)header[6] << 8 | (uint32_t)header[7];
    return reader->left <= FRAME_LENGTH_LIMIT;
}

ptrdiff_t frame_reader_next(struct frame_reader *reader, const unsigned char *bytes, size_t length,
                            struct frame_piece *ret)
{
    size_t taken = 0;
    *ret = (struct frame_piece){.length = 0};
    while (reader->left == 0 && taken < length) {
        size_t missing = FRAME_HEADER_LENGTH - reader->header_length;
        size_t count = length - taken < missing ? length - taken : missing;
        memcpy(reader->header + reader->header_length, bytes + taken, count);
        reader->header_length += count;
        taken += count;
        if (reader->header_length < FRAME_HEADER_LENGTH)
            return (ptrdiff_t)taken;
        if (!header_is_good(reader))
            return -1;
        reader->header_length = 0;
    }
    size_t count = length - taken < reader->left ? length - taken : reader->left;
    ret->stream = (enum frame_stream)reader->header[0];
    ret->bytes = bytes + taken;
    ret->length = count;
    reader->left -= (uint32_t)count;
    return (ptrdiff_t)(taken + count);
}

bool frame_reader_at_boundary(const struct frame_reader *reader)
{
    return reader->left == 0 && reader->header_length == 0;
}
