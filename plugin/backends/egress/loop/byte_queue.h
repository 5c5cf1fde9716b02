/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes on their way from one side to the other. Wiped where they were. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct byte_queue {
    unsigned char *bytes;
    size_t offset; /* of the first that is not taken */
    size_t length; /* how many there are */
    size_t capacity;
};

/* false when out of memory; nothing is added then. */
bool byte_queue_add(struct byte_queue *queue, const void *bytes, size_t length);
/* Moves at most capacity bytes out; how many. */
size_t byte_queue_take(struct byte_queue *queue, void *bytes, size_t capacity);
const unsigned char *byte_queue_first(const struct byte_queue *queue);
void byte_queue_skip(struct byte_queue *queue, size_t length);
void byte_queue_clear(struct byte_queue *queue);
