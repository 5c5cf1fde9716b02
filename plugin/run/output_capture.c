/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Head, tail and totals of an output stream. The buffer is the head followed by a ring for the
 * tail; as long as nothing is dropped, the two together are simply the output. Runs in the gateway,
 * on the thread inside tool_invoke().
 */
#include "run/output_capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define FIRST_CAPACITY 4096

void output_capture_init(struct output_capture *capture, size_t limit)
{
    *capture = (struct output_capture){.limit = limit};
}

void output_capture_clear(struct output_capture *capture)
{
    free(capture->bytes);
    *capture = (struct output_capture){0};
}

bool output_capture_truncated(const struct output_capture *capture)
{
    return capture->total > capture->limit ||
           (capture->failed && capture->total > capture->capacity);
}

/* Out of memory, the present buffer is filled: a head without a tail. */
static size_t kept_limit(const struct output_capture *capture)
{
    return capture->failed ? capture->capacity : capture->limit;
}

static size_t head_size(const struct output_capture *capture)
{
    if (capture->failed)
        return capture->capacity;
    return capture->limit / 100 * OUTPUT_HEAD_PERCENT +
           capture->limit % 100 * OUTPUT_HEAD_PERCENT / 100;
}

static bool grow(struct output_capture *capture, uint64_t wanted)
{
    size_t target = wanted < capture->limit ? (size_t)wanted : capture->limit;
    if (target <= capture->capacity)
        return true;
    size_t capacity = capture->capacity > 0 ? capture->capacity : FIRST_CAPACITY;
    while (capacity < target)
        capacity *= 2;
    if (capacity > capture->limit)
        capacity = capture->limit;
    unsigned char *bytes = realloc(capture->bytes, capacity);
    if (!bytes)
        return false;
    capture->bytes = bytes;
    capture->capacity = capacity;
    return true;
}

void output_capture_add(struct output_capture *capture, const void *bytes, size_t length)
{
    const unsigned char *next = bytes;
    if (length == 0) /* there may be no buffer yet, and memcpy() wants one */
        return;
    if (!capture->failed && !grow(capture, capture->total + length))
        capture->failed = true;
    size_t kept = kept_limit(capture);
    if (capture->total < kept) {
        size_t room = kept - (size_t)capture->total;
        size_t count = length < room ? length : room;
        memcpy(capture->bytes + capture->total, next, count);
        capture->total += count;
        next += count;
        length -= count;
    }
    size_t head = head_size(capture);
    size_t ring = kept - head;
    if (ring == 0) {
        capture->total += length;
        return;
    }
    while (length > 0) {
        size_t position = (size_t)((capture->total - head) % ring);
        size_t count = length < ring - position ? length : ring - position;
        memcpy(capture->bytes + head + position, next, count);
        capture->total += count;
        next += count;
        length -= count;
    }
}

int output_capture_places(struct output_capture *capture, struct iovec ret[2])
{
    if (!capture->failed && capture->total < capture->limit && !grow(capture, capture->total + 1))
        capture->failed = true;
    if (capture->total < capture->capacity) {
        size_t filled = (size_t)capture->total;
        ret[0] = (struct iovec){capture->bytes + filled, capture->capacity - filled};
        return 1;
    }
    size_t head = head_size(capture);
    size_t ring = kept_limit(capture) - head;
    if (ring == 0)
        return 0;
    size_t position = (size_t)((capture->total - head) % ring);
    ret[0] = (struct iovec){capture->bytes + head + position, ring - position};
    ret[1] = (struct iovec){capture->bytes + head, position};
    return position > 0 ? 2 : 1;
}

void output_capture_put(struct output_capture *capture, size_t length)
{
    capture->total += length;
}

/* The kept bytes in order, with the marker in the middle. */
static unsigned char *assemble_truncated(const struct output_capture *capture, size_t *ret_length)
{
    size_t head = head_size(capture);
    size_t ring = kept_limit(capture) - head;
    size_t start = /* the oldest byte of the ring */
        ring > 0 ? (size_t)((capture->total - head) % ring) : 0;
    char marker[80];

    unsigned char *text = malloc(head + ring + sizeof(marker));
    unsigned char *tail = malloc(ring + 1);
    if (!text || !tail) {
        free(text);
        free(tail);
        return NULL;
    }
    memcpy(tail, capture->bytes + head + start, ring - start);
    memcpy(tail + ring - start, capture->bytes + head, start);

    size_t head_kept = utf8_whole_prefix(capture->bytes, head);
    size_t tail_skipped = utf8_continuation_prefix(tail, ring);
    uint64_t omitted = capture->total - head_kept - (ring - tail_skipped);
    int marker_length = snprintf(marker, sizeof(marker), "\n[... %llu bytes omitted ...]\n",
                                 (unsigned long long)omitted);

    memcpy(text, capture->bytes, head_kept);
    memcpy(text + head_kept, marker, (size_t)marker_length);
    memcpy(text + head_kept + (size_t)marker_length, tail + tail_skipped, ring - tail_skipped);
    *ret_length = head_kept + (size_t)marker_length + ring - tail_skipped;
    free(tail);
    return text;
}

char *output_capture_text(const struct output_capture *capture, size_t *ret_length,
                          bool *ret_replaced)
{
    if (capture->total == 0 || kept_limit(capture) == 0)
        return utf8_sanitize((const unsigned char *)"", 0, ret_length, ret_replaced);
    if (!output_capture_truncated(capture))
        return utf8_sanitize(capture->bytes, (size_t)capture->total, ret_length, ret_replaced);
    size_t length = 0;
    unsigned char *text = assemble_truncated(capture, &length);
    if (!text)
        return NULL;
    char *clean = utf8_sanitize(text, length, ret_length, ret_replaced);
    free(text);
    return clean;
}
