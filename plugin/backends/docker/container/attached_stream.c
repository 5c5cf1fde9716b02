/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the reading of an attached connection: see attached_stream.h. */
#include "backends/docker/container/attached_stream.h"

#include <stdlib.h>
#include <string.h>

/* "HTTP/1.x NNN" and then a blank or the end; 0 for anything else. */
static int parse_status(const char *line)
{
    static const char digits[] = "0123456789";
    if (strncmp(line, "HTTP/1.", 7) != 0 || strspn(line + 7, digits) != 1 || line[8] != ' ' ||
        strspn(line + 9, digits) != 3 || (line[12] != ' ' && line[12] != '\0'))
        return 0;
    return (int)strtol(line + 9, NULL, 10);
}

static enum http_head_state end_line(struct http_head *head)
{
    size_t length = head->line_length;
    head->line_length = 0;
    if (!head->in_headers) {
        head->line[length < sizeof(head->line) ? length : sizeof(head->line) - 1] = '\0';
        head->status = parse_status(head->line);
        head->in_headers = true;
        return head->status >= 100 ? HTTP_HEAD_MORE : HTTP_HEAD_BROKEN;
    }
    if (length > 0)
        return HTTP_HEAD_MORE;
    head->in_headers = false;
    if (head->status >= 200 || head->status == 101)
        return HTTP_HEAD_WHOLE;
    return ++head->interim > HTTP_INTERIM_LIMIT ? HTTP_HEAD_BROKEN : HTTP_HEAD_MORE;
}

/* A line ends with LF; every CR is dropped. */
static enum http_head_state take_byte(struct http_head *head, unsigned char byte)
{
    if (++head->length > HTTP_HEAD_LIMIT)
        return HTTP_HEAD_BROKEN;
    if (byte == '\n')
        return end_line(head);
    if (byte == '\r')
        return HTTP_HEAD_MORE;
    if (head->line_length < sizeof(head->line) - 1)
        head->line[head->line_length] = (char)byte;
    head->line_length++;
    return HTTP_HEAD_MORE;
}

enum http_head_state http_head_feed(struct http_head *head, const unsigned char *bytes,
                                    size_t length, size_t *ret_taken)
{
    enum http_head_state state = HTTP_HEAD_MORE;
    size_t taken = 0;
    while (state == HTTP_HEAD_MORE && taken < length)
        state = take_byte(head, bytes[taken++]);
    *ret_taken = taken;
    return state;
}

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
