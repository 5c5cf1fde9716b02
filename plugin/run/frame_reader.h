/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames out of a stream of bytes that arrives in pieces: u32 length of the payload (little
 * endian), u8 kind, payload. The stream is a stranger's. One payload at a time is in memory, and
 * only where the handler wants it; its memory is wiped before it is released. Pure code; owned by
 * one call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_LENGTH 5

enum frame_verdict {
    FRAME_KEEP,    /* collect the payload */
    FRAME_DISCARD, /* pass over it */
    FRAME_REFUSE,  /* this is no frame: nothing behind it is looked at any more */
};

struct frame_handler {
    /* For each header. */
    enum frame_verdict (*judge)(void *user, uint8_t kind, size_t length);
    /* For each payload that is kept, once it is whole; it is borrowed. */
    void (*take)(void *user, uint8_t kind, const unsigned char *payload, size_t length);
    /* For a payload that was to be kept and for which there is no memory; it is passed over. */
    void (*lose)(void *user, size_t length);
    void *user;
};

/* {.handler = ...} is a new one. */
struct frame_reader {
    struct frame_handler handler;
    unsigned char header[FRAME_HEADER_LENGTH];
    size_t header_length; /* of it, read so far */
    unsigned char *payload;
    size_t capacity; /* grown as the payload comes, so that a length alone takes no memory */
    size_t filled;
    size_t missing; /* bytes of the payload that are still to come */
    bool kept;      /* the payload is collected */
    bool refused;   /* the stream is not understood any more */
};

void frame_reader_feed(struct frame_reader *reader, const unsigned char *bytes, size_t length);
/* Did the stream stop inside a frame? */
bool frame_reader_is_inside(const struct frame_reader *reader);
void frame_reader_clear(struct frame_reader *reader);
