/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the bytes that wait to be sent: see output_buffer.h. Runs in code-execute-remote and
 * code-execute-worker. */
#include "backends/remote/link/output_buffer.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 32768

/* Bytes that were sent are wiped. */
static void move_to_begin(struct output_buffer *buffer)
{
    size_t end = buffer->begin + buffer->length;
    memmove(buffer->bytes, buffer->bytes + buffer->begin, buffer->length);
    explicit_bzero(buffer->bytes + buffer->length, end - buffer->length);
    buffer->begin = 0;
}

static bool grow(struct output_buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity > LEAST ? buffer->capacity : LEAST;
    while (capacity < needed)
        capacity *= 2;
    struct output_buffer larger = {
        .bytes = malloc(capacity), .length = buffer->length, .capacity = capacity};
    if (!larger.bytes)
        return false;
    if (buffer->length > 0)
        memcpy(larger.bytes, buffer->bytes + buffer->begin, buffer->length);
    output_buffer_clear(buffer);
    *buffer = larger;
    return true;
}

unsigned char *output_buffer_room(struct output_buffer *buffer, size_t length, size_t limit)
{
    if (buffer->length + length > limit)
        return NULL;
    if (buffer->begin > 0 && buffer->capacity - buffer->begin - buffer->length < length)
        move_to_begin(buffer);
    if (buffer->capacity - buffer->begin - buffer->length < length &&
        !grow(buffer, buffer->length + length))
        return NULL;
    return buffer->bytes + buffer->begin + buffer->length;
}

void output_buffer_add(struct output_buffer *buffer, size_t length)
{
    buffer->length += length;
}

void output_buffer_skip(struct output_buffer *buffer, size_t length)
{
    explicit_bzero(buffer->bytes + buffer->begin, length);
    buffer->begin += length;
    buffer->length -= length;
    if (buffer->length == 0)
        buffer->begin = 0;
}

void output_buffer_clear(struct output_buffer *buffer)
{
    if (buffer->bytes)
        explicit_bzero(buffer->bytes, buffer->capacity);
    free(buffer->bytes);
    *buffer = (struct output_buffer){.bytes = NULL};
}
