/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that wait to be sent. They are wiped afterwards, because descriptions have secrets. One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct output_buffer {
    unsigned char *bytes; /* owned */
    size_t begin, length;
    size_t capacity;
};

/* Where length bytes can be written; NULL when out of memory, or where more than limit bytes would
 * wait. */
unsigned char *output_buffer_room(struct output_buffer *buffer, size_t length, size_t limit);
/* So many of them have been written. */
void output_buffer_add(struct output_buffer *buffer, size_t length);
void output_buffer_skip(struct output_buffer *buffer, size_t length);
void output_buffer_clear(struct output_buffer *buffer);
