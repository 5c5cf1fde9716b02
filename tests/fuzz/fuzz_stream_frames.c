/* SPDX-License-Identifier: Apache-2.0 */
/* The multiplexed stream: whatever the cuts, each stream's bytes are those that a reader of whole
 * frames finds, in the same order, and the end is where it says. */
#include "backends/docker/container/attached_stream.h"
#include "fuzz.h"

/* All payload in order, a stream's number before each byte. */
struct found {
    uint8_t *bytes;
    size_t length;
    bool refused;
    bool boundary;
};

static void add(struct found *found, unsigned int stream, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        found->bytes[found->length++] = (uint8_t)stream;
        found->bytes[found->length++] = bytes[i];
    }
}

/* The definition: 8 bytes of header, then as many as it says. */
static void read_plainly(const struct fuzz_input *input, struct found *ret)
{
    size_t at = 0;
    while (input->length - at >= FRAME_HEADER_LENGTH) {
        const uint8_t *header = input->bytes + at;
        size_t length =
            (size_t)header[4] << 24 | (size_t)header[5] << 16 | (size_t)header[6] << 8 | header[7];
        if (header[0] > 2 || header[1] || header[2] || header[3] || length > FRAME_LENGTH_LIMIT) {
            ret->refused = true;
            return;
        }
        at += FRAME_HEADER_LENGTH;
        size_t there = input->length - at < length ? input->length - at : length;
        add(ret, header[0], input->bytes + at, there);
        at += there;
        if (there < length)
            return;
    }
    ret->boundary = at == input->length;
}

static void read_slices(const struct fuzz_input *input, bool whole, struct found *ret)
{
    struct frame_reader reader = {.left = 0};
    size_t begin = 0;
    for (size_t i = 0; begin < input->length && !ret->refused; i++) {
        size_t left = input->length - begin;
        size_t length = whole ? left : fuzz_slice(input, i, left);
        uint8_t *slice = fuzz_exact(input->bytes + begin, length);
        for (size_t at = 0; at < length && !ret->refused;) {
            struct frame_piece piece;
            ptrdiff_t taken = frame_reader_next(&reader, slice + at, length - at, &piece);
            ret->refused = taken < 0;
            if (ret->refused)
                break;
            MUST(taken > 0 && (size_t)taken <= length - at);
            MUST(piece.length <= (size_t)taken);
            MUST(piece.length > 0 || (size_t)taken == length - at);
            if (piece.length)
                MUST(piece.bytes + piece.length == slice + at + taken);
            add(ret, piece.stream, piece.bytes, piece.length);
            at += (size_t)taken;
        }
        free(slice);
        begin += length;
    }
    ret->boundary = !ret->refused && frame_reader_at_boundary(&reader);
}

static void must_be_same(const struct found *one, const struct found *other)
{
    MUST(one->refused == other->refused && one->boundary == other->boundary);
    MUST(one->length == other->length);
    MUST(memcmp(one->bytes, other->bytes, one->length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_split(data, size);
    struct found found[3];
    for (size_t i = 0; i < 3; i++) {
        found[i] = (struct found){.bytes = malloc(2 * size + 1)};
        MUST(found[i].bytes != NULL);
    }
    read_plainly(&input, &found[0]);
    read_slices(&input, true, &found[1]);
    read_slices(&input, false, &found[2]);
    must_be_same(&found[0], &found[1]);
    must_be_same(&found[0], &found[2]);
    for (size_t i = 0; i < 3; i++)
        free(found[i].bytes);
    return 0;
}
