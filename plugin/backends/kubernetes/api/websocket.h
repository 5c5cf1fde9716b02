/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of WebSocket (RFC 6455), as far as the API server's attach needs it: the key of
 * the handshake, frames out, and frames in, read as they come without keeping their data. Pure
 * code. Runs in the kubernetes backend.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBSOCKET_KEY_BYTES     16 /* random, of one handshake */
#define WEBSOCKET_MASK_BYTES    4
#define WEBSOCKET_HEADER_LIMIT  14
#define WEBSOCKET_CONTROL_LIMIT 125 /* payload of a control frame (section 5.5) */

enum websocket_opcode {
    WEBSOCKET_CONTINUATION = 0,
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

/* Whether the server's Sec-WebSocket-Accept answers that Sec-WebSocket-Key, Base64 of random bytes.
 * false also when out of memory. */
bool websocket_is_answer(const char *key, const char *accept);

/* The header of a whole message, or a control frame, with so many bytes behind it, which are masked
 * by websocket_mask(). The mask is random, and another one for each frame. Its length. */
size_t websocket_header(enum websocket_opcode opcode, uint64_t length,
                        const unsigned char mask[WEBSOCKET_MASK_BYTES],
                        unsigned char ret[WEBSOCKET_HEADER_LIMIT]);
/* Bytes of a payload that are behind so many others of it. */
void websocket_mask(unsigned char *bytes, size_t length, uint64_t offset,
                    const unsigned char mask[WEBSOCKET_MASK_BYTES]);

/* Starts all zero. */
struct websocket_reader {
    unsigned char header[WEBSOCKET_HEADER_LIMIT];
    size_t header_length;
    bool in_frame; /* its header is whole */
    bool is_final;
    bool in_message; /* fragments of a message have come, and the last one has not */
    bool begins;     /* none of the message's bytes has been handed out */
    enum websocket_opcode opcode;
    uint64_t left; /* of the payload of the frame under way */
    unsigned char control[WEBSOCKET_CONTROL_LIMIT];
    size_t control_length;
};

enum websocket_kind {
    WEBSOCKET_NOTHING,  /* the input is used up */
    WEBSOCKET_DATA,     /* the next bytes of a message */
    WEBSOCKET_MESSAGE,  /* a message has ended, of which all bytes have come */
    WEBSOCKET_IS_PING,  /* its payload is to be sent back as WEBSOCKET_PONG */
    WEBSOCKET_IS_CLOSE, /* nothing more comes; its payload: a code (big endian) and a text, or none
                         */
};

struct websocket_piece {
    enum websocket_kind kind;
    bool begins;                /* DATA: the first bytes of the message */
    const unsigned char *bytes; /* inside the input or the reader */
    size_t length;
};

/* Takes input up to one piece. The number of bytes taken (all of them where there is no piece), or
 * -1 where a frame is not what a server may send; the reader must not be used after that. */
ptrdiff_t websocket_reader_next(struct websocket_reader *reader, const unsigned char *bytes,
                                size_t length, struct websocket_piece *ret);
