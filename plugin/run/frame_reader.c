/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a stream into frames: see frame_reader.h. Runs in the gateway, on the thread inside
 * tool_invoke(). */
#include "run/frame_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FIRST_CAPACITY 4096

static void release_payload(struct frame_reader *reader)
{
    if (reader->payload)
        explicit_bzero(reader->payload, reader->filled);
    free(TAKE_POINTER(reader->payload));
    reader->capacity = 0;
    reader->filled = 0;
}

void frame_reader_clear(struct frame_reader *reader)
{
    release_payload(reader);
    *reader = (struct frame_reader){.handler = reader->handler};
}

/* Not realloc(): what it leaves behind cannot be wiped. */
static bool grow(struct frame_reader *reader, size_t more)
{
    size_t wanted = reader->filled + more;
    size_t whole = reader->filled + reader->missing;
    if (wanted <= reader->capacity)
        return true;
    size_t capacity = reader->capacity ? 2 * reader->capacity : FIRST_CAPACITY;
    if (capacity < wanted)
        capacity = wanted;
    if (capacity > whole)
        capacity = whole;
    unsigned char *larger = malloc(capacity);
    if (!larger)
        return false;
    if (reader->filled > 0)
        memcpy(larger, reader->payload, reader->filled);
    size_t filled = reader->filled;
    release_payload(reader);
    reader->payload = larger;
    reader->capacity = capacity;
    reader->filled = filled;
    return true;
}

static size_t payload_length(const struct frame_reader *reader)
{
    const unsigned char *header = reader->header;
    return (size_t)header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 |
           (size_t)header[3] << 24;
}

static void end_frame(struct frame_reader *reader)
{
    static const unsigned char nothing[1];
    if (reader->kept)
        reader->handler.take(reader->handler.user, reader->header[FRAME_HEADER_LENGTH - 1],
                             reader->payload ? reader->payload : nothing, reader->filled);
    release_payload(reader);
    reader->header_length = 0;
}

static void begin_frame(struct frame_reader *reader)
{
    size_t length = payload_length(reader);
    enum frame_verdict verdict = reader->handler.judge(
        reader->handler.user, reader->header[FRAME_HEADER_LENGTH - 1], length);
    reader->refused = verdict == FRAME_REFUSE;
    reader->kept = verdict == FRAME_KEEP;
    reader->missing = length;
    if (!reader->refused && length == 0)
        end_frame(reader);
}

static size_t take_header(struct frame_reader *reader, const unsigned char *bytes, size_t length)
{
    size_t room = FRAME_HEADER_LENGTH - reader->header_length;
    size_t count = length < room ? length : room;
    memcpy(reader->header + reader->header_length, bytes, count);
    reader->header_length += count;
    if (reader->header_length == FRAME_HEADER_LENGTH)
        begin_frame(reader);
    return count;
}

static size_t take_payload(struct frame_reader *reader, const unsigned char *bytes, size_t length)
{
    size_t count = length < reader->missing ? length : reader->missing;
    if (reader->kept && !grow(reader, count)) {
        reader->kept = false;
        reader->handler.lose(reader->handler.user, payload_length(reader));
        release_payload(reader);
    }
    if (reader->kept) {
        memcpy(reader->payload + reader->filled, bytes, count);
        reader->filled += count;
    }
    reader->missing -= count;
    if (reader->missing == 0)
        end_frame(reader);
    return count;
}

void frame_reader_feed(struct frame_reader *reader, const unsigned char *bytes, size_t length)
{
    for (size_t done = 0; done < length && !reader->refused;)
        done += reader->header_length < FRAME_HEADER_LENGTH
                    ? take_header(reader, bytes + done, length - done)
                    : take_payload(reader, bytes + done, length - done);
}

bool frame_reader_is_inside(const struct frame_reader *reader)
{
    return !reader->refused && reader->header_length > 0;
}
