/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the frames of WebSocket: see websocket.h. Runs in the kubernetes backend. */
#include "backends/kubernetes/api/websocket.h"

#include <sha1.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"

#define BIT_FINAL     0x80
#define BITS_RESERVED 0x70
#define BITS_OPCODE   0x0f
#define BIT_MASKED    0x80
#define BITS_LENGTH   0x7f
#define LENGTH_IN_2   126 /* the length is in the two bytes behind it ... */
#define LENGTH_IN_8   127 /* ... or in eight */
#define FIXED_LENGTH  2

/* SHA-1 is enough here: it only shows that both sides speak WebSocket (section 10.8). */
bool websocket_is_answer(const char *key, const char *accept)
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char digest[SHA1_DIGEST_LENGTH];
    SHA1_CTX context;
    SHA1Init(&context);
    SHA1Update(&context, (const uint8_t *)key, strlen(key));
    SHA1Update(&context, (const uint8_t *)guid, sizeof(guid) - 1);
    SHA1Final(digest, &context);
    CLEANUP_FREE char *expected = base64_encode(digest, sizeof(digest));
    return expected && strcmp(expected, accept) == 0;
}

static size_t put_big_endian(unsigned char *ret, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ret[i] = (unsigned char)(value >> (8 * (size - 1 - i)));
    return size;
}

size_t websocket_header(enum websocket_opcode opcode, uint64_t length,
                        const unsigned char mask[WEBSOCKET_MASK_BYTES],
                        unsigned char ret[WEBSOCKET_HEADER_LIMIT])
{
    size_t size = FIXED_LENGTH;
    ret[0] = (unsigned char)(BIT_FINAL | (unsigned int)opcode);
    if (length < LENGTH_IN_2) {
        ret[1] = (unsigned char)(BIT_MASKED | length);
    } else if (length <= UINT16_MAX) {
        ret[1] = BIT_MASKED | LENGTH_IN_2;
        size += put_big_endian(ret + size, length, 2);
    } else {
        ret[1] = BIT_MASKED | LENGTH_IN_8;
        size += put_big_endian(ret + size, length, 8);
    }
    memcpy(ret + size, mask, WEBSOCKET_MASK_BYTES);
    return size + WEBSOCKET_MASK_BYTES;
}

void websocket_mask(unsigned char *bytes, size_t length, uint64_t offset,
                    const unsigned char mask[WEBSOCKET_MASK_BYTES])
{
    for (size_t i = 0; i < length; i++)
        bytes[i] ^= mask[(offset + i) % WEBSOCKET_MASK_BYTES];
}

/* Of the header so far. */
static size_t header_size(const struct websocket_reader *reader)
{
    if (reader->header_length < FIXED_LENGTH)
        return FIXED_LENGTH;
    switch (reader->header[1] & BITS_LENGTH) {
    case LENGTH_IN_2:
        return FIXED_LENGTH + 2;
    case LENGTH_IN_8:
        return FIXED_LENGTH + 8;
    default:
        return FIXED_LENGTH;
    }
}

static uint64_t payload_length(const struct websocket_reader *reader)
{
    uint64_t length = 0;
    if (reader->header_length == FIXED_LENGTH)
        return reader->header[1] & BITS_LENGTH;
    for (size_t i = FIXED_LENGTH; i < reader->header_length; i++)
        length = length << 8 | reader->header[i];
    return length;
}

/* Each length has one form (section 5.2), and the highest bit of the longest is 0. */
static bool is_minimal(size_t header_length, uint64_t length)
{
    if (header_length == FIXED_LENGTH + 2)
        return length >= LENGTH_IN_2;
    return header_length == FIXED_LENGTH || (length > UINT16_MAX && length <= INT64_MAX);
}

static bool is_control(enum websocket_opcode opcode)
{
    return opcode >= WEBSOCKET_CLOSE;
}

/* A message begins with its kind and goes on with continuations. */
static bool fits_message(const struct websocket_reader *reader)
{
    if (reader->opcode == WEBSOCKET_CONTINUATION)
        return reader->in_message;
    return !reader->in_message &&
           (reader->opcode == WEBSOCKET_TEXT || reader->opcode == WEBSOCKET_BINARY);
}

static bool begin_frame(struct websocket_reader *reader)
{
    uint64_t length = payload_length(reader);
    if (reader->header[0] & BITS_RESERVED || reader->header[1] & BIT_MASKED ||
        !is_minimal(reader->header_length, length))
        return false;
    reader->opcode = (enum websocket_opcode)(reader->header[0] & BITS_OPCODE);
    reader->is_final = reader->header[0] & BIT_FINAL;
    reader->left = length;
    reader->header_length = 0;
    reader->control_length = 0;
    reader->in_frame = true;
    if (is_control(reader->opcode))
        return reader->opcode <= WEBSOCKET_PONG && reader->is_final &&
               length <= WEBSOCKET_CONTROL_LIMIT;
    if (!fits_message(reader))
        return false;
    reader->begins = reader->begins || !reader->in_message;
    reader->in_message = true;
    return true;
}

/* A pong without a ping is allowed, and is ignored (section 5.5.3). */
static void end_control(struct websocket_reader *reader, struct websocket_piece *ret)
{
    reader->in_frame = false;
    if (reader->opcode == WEBSOCKET_PONG)
        return;
    *ret = (struct websocket_piece){
        .kind = reader->opcode == WEBSOCKET_PING ? WEBSOCKET_IS_PING : WEBSOCKET_IS_CLOSE,
        .bytes = reader->control,
        .length = reader->control_length,
    };
}

static size_t take_control(struct websocket_reader *reader, const unsigned char *bytes,
                           size_t length, struct websocket_piece *ret)
{
    size_t count = reader->left < length ? (size_t)reader->left : length;
    if (count > 0)
        memcpy(reader->control + reader->control_length, bytes, count);
    reader->control_length += count;
    reader->left -= count;
    if (reader->left == 0)
        end_control(reader, ret);
    return count;
}

static void end_data(struct websocket_reader *reader, struct websocket_piece *ret)
{
    reader->in_frame = false;
    if (!reader->is_final)
        return;
    reader->in_message = false;
    reader->begins = false;
    *ret = (struct websocket_piece){.kind = WEBSOCKET_MESSAGE};
}

static size_t take_data(struct websocket_reader *reader, const unsigned char *bytes, size_t length,
                        struct websocket_piece *ret)
{
    size_t count = reader->left < length ? (size_t)reader->left : length;
    if (reader->left == 0) {
        end_data(reader, ret);
        return 0;
    }
    if (count == 0)
        return 0;
    *ret = (struct websocket_piece){WEBSOCKET_DATA, reader->begins, bytes, count};
    reader->begins = false;
    reader->left -= count;
    return count;
}

/* The bytes taken; 0 and false: the header is none. */
static size_t take_header(struct websocket_reader *reader, const unsigned char *bytes,
                          size_t length, bool *ret_good)
{
    size_t taken = 0;
    *ret_good = true;
    while (taken < length && reader->header_length < header_size(reader))
        reader->header[reader->header_length++] = bytes[taken++];
    if (reader->header_length >= FIXED_LENGTH && reader->header_length == header_size(reader))
        *ret_good = begin_frame(reader);
    return taken;
}

ptrdiff_t websocket_reader_next(struct websocket_reader *reader, const unsigned char *bytes,
                                size_t length, struct websocket_piece *ret)
{
    size_t taken = 0;
    *ret = (struct websocket_piece){.kind = WEBSOCKET_NOTHING};
    do {
        if (!reader->in_frame) {
            bool good = true;
            taken += take_header(reader, bytes + taken, length - taken, &good);
            if (!good)
                return -1;
        }
        if (reader->in_frame)
            taken += is_control(reader->opcode)
                         ? take_control(reader, bytes + taken, length - taken, ret)
                         : take_data(reader, bytes + taken, length - taken, ret);
    } while (ret->kind == WEBSOCKET_NOTHING && taken < length);
    return (ptrdiff_t)taken;
}
