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
    bool failed;     /* out of memory: what does not fit into capacity is counted only */
};

/* Share of the limit that the head gets: the start says what ran, the end says how it ended. */
#define OUTPUT_HEAD_PERCENT 40

void output_capture_init(struct output_capture *capture, size_t limit);
void output_capture_add(struct output_capture *capture, const void *bytes, size_t length);
/* The same without a copy, for who can read to where it is kept: up to two places, one behind the
 * other, valid until the next call with this capture. Returns how many there are; 0: only
 * output_capture_add() will do. */
int output_capture_places(struct output_capture *capture, struct iovec ret[2]);
/* That many bytes were put there; at least 1 is at the first place. */
void output_capture_put(struct output_capture *capture, size_t length);
bool output_capture_truncated(const struct output_capture *capture);
void output_capture_clear(struct output_capture *capture);

/* What was kept as valid UTF-8, new: bytes that are not become U+FFFD, a cut is marked with a line
 * that says how much is missing, and falls on a character's edge. *ret_replaced: was anything
 * replaced? NULL when out of memory. */
char *output_capture_text(const struct output_capture *capture, size_t *ret_length,
                          bool *ret_replaced);
