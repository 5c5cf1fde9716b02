/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server sends on an attached connection, behind its head: whatever the cuts, the
 * streams' bytes are those of one piece, and nothing is taken that RFC 6455 forbids to a server. */
#include "backends/kubernetes/api/attach_channels.h"
#include "fuzz.h"

/* All that was handed out, a letter for its kind before each byte. */
struct found {
    uint8_t *bytes;
    size_t length;
    bool refused;
    bool closed;
};

static void add(struct found *found, uint8_t kind, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        found->bytes[found->length++] = kind;
        found->bytes[found->length++] = bytes[i];
    }
}

/* false: nothing more is read. */
static bool take(const struct attach_piece *piece, struct found *ret)
{
    static const uint8_t kinds[] = {[ATTACH_NOTHING] = 'n',
                                    [ATTACH_BYTES] = 'b',
                                    [ATTACH_IS_PING] = 'p',
                                    [ATTACH_IS_CLOSED] = 'c'};
    uint8_t kind = kinds[piece->kind];
    if (piece->kind == ATTACH_BYTES) {
        MUST(piece->channel == ATTACH_STDOUT || piece->channel == ATTACH_STDERR);
        MUST(piece->length > 0);
        kind = piece->channel == ATTACH_STDOUT ? 'o' : 'e';
    }
    if (piece->kind == ATTACH_IS_PING || piece->kind == ATTACH_IS_CLOSED)
        MUST(piece->length <= WEBSOCKET_CONTROL_LIMIT);
    add(ret, kind, piece->bytes, piece->length);
    ret->closed = piece->kind == ATTACH_IS_CLOSED;
    return !ret->closed;
}

static void read_slices(const struct fuzz_input *input, bool whole, struct found *ret)
{
    struct attach_channels *channels = calloc(1, sizeof(*channels));
    size_t begin = 0;
    MUST(channels != NULL);
    for (size_t i = 0; begin < input->length && !ret->refused && !ret->closed; i++) {
        size_t left = input->length - begin;
        size_t length = whole ? left : fuzz_slice(input, i, left);
        uint8_t *slice = fuzz_exact(input->bytes + begin, length);
        for (size_t at = 0; at < length;) {
            struct attach_piece piece;
            ptrdiff_t taken = attach_channels_next(channels, slice + at, length - at, &piece);
            ret->refused = taken < 0;
            if (ret->refused || !take(&piece, ret))
                break;
            MUST(taken > 0 && (size_t)taken <= length - at);
            MUST(piece.kind != ATTACH_NOTHING || (size_t)taken == length - at);
            at += (size_t)taken;
        }
        free(slice);
        begin += length;
    }
    MUST(channels->status_length <= ATTACH_STATUS_LIMIT);
    MUST(memchr(channels->status, '\0', sizeof(channels->status)) != NULL);
    free(channels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_input input = fuzz_split(data, size);
    struct found whole = {calloc(2 * input.length + 2, 1), 0, false, false};
    struct found sliced = {calloc(2 * input.length + 2, 1), 0, false, false};
    MUST(whole.bytes && sliced.bytes);
    read_slices(&input, true, &whole);
    read_slices(&input, false, &sliced);
    MUST(whole.refused == sliced.refused && whole.closed == sliced.closed);
    MUST(whole.length == sliced.length);
    MUST(whole.length == 0 || memcmp(whole.bytes, sliced.bytes, whole.length) == 0);
    free(whole.bytes);
    free(sliced.bytes);
    return 0;
}
