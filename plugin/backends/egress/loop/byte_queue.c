/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the bytes in a queue: see byte_queue.h. Runs in the broker. */
#include "backends/egress/loop/byte_queue.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 4096

/* Room behind the bytes for so many more. */
static bool make_room(struct byte_queue *queue, size_t length)
{
    if (queue->capacity - queue->offset - queue->length >= length && queue->bytes)
        return true;
    size_t capacity = queue->capacity > LEAST ? queue->capacity : LEAST;
    while (capacity < queue->length + length)
        capacity *= 2;
    unsigned char *bytes = malloc(capacity);
    if (!bytes)
        return false;
    if (queue->length)
        memcpy(bytes, byte_queue_first(queue), queue->length);
    size_t kept = queue->length;
    byte_queue_clear(queue);
    *queue = (struct byte_queue){.bytes = bytes, .length = kept, .capacity = capacity};
    return true;
}

bool byte_queue_add(struct byte_queue *queue, const void *bytes, size_t length)
{
    if (length == 0)
        return true;
    if (!make_room(queue, length))
        return false;
    memcpy(queue->bytes + queue->offset + queue->length, bytes, length);
    queue->length += length;
    return true;
}

const unsigned char *byte_queue_first(const struct byte_queue *queue)
{
    return queue->bytes + queue->offset;
}

void byte_queue_skip(struct byte_queue *queue, size_t length)
{
    queue->offset += length;
    queue->length -= length;
    if (queue->length == 0)
        queue->offset = 0;
}

size_t byte_queue_take(struct byte_queue *queue, void *bytes, size_t capacity)
{
    size_t length = queue->length < capacity ? queue->length : capacity;
    if (length == 0)
        return 0;
    memcpy(bytes, byte_queue_first(queue), length);
    byte_queue_skip(queue, length);
    return length;
}

void byte_queue_clear(struct byte_queue *queue)
{
    if (queue->bytes)
        explicit_bzero(queue->bytes, queue->capacity);
    free(queue->bytes);
    *queue = (struct byte_queue){0};
}
