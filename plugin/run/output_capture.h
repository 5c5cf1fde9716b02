/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One output stream of a run, bounded: the head and the tail are kept, the middle is counted and
 * dropped. Memory is the limit and no more, however much is printed. Pure code; owned by one call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct output_capture {
    unsigned char *bytes;
    size_t limit;
    size_t capacity; /* grown up to limit as output comes */
    uint64_t total;  /* everything that was added */
    bool failed;     /* out of memory: bytes beyond capacity are only counted */
};

/* Share of the limit that the head gets: the start says what ran, the end says how it ended. */
#define OUTPUT_HEAD_PERCENT 40

void output_capture_init(struct output_capture *capture, size_t limit);
void output_capture_add(struct output_capture *capture, const void *bytes, size_t length);
/* The same without a copy, for a caller that can read into the buffer: up to two places, one after
 * the other, valid until the next call with this capture. Returns how many there are; 0: only
 * output_capture_add() will do. */
int output_capture_places(struct output_capture *capture, struct iovec ret[2]);
/* That many bytes were put there; at least 1 is at the first place. */
void output_capture_put(struct output_capture *capture, size_t length);
bool output_capture_truncated(const struct output_capture *capture);
void output_capture_clear(struct output_capture *capture);

/* The kept bytes as valid UTF-8, new. Invalid bytes become U+FFFD. A cut falls on a character's
 * edge, and a line there says how much is missing. *ret_replaced: was anything replaced? NULL when
 * out of memory. */
char *output_capture_text(const struct output_capture *capture, size_t *ret_length,
                          bool *ret_replaced);
