/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the channels of an attached WebSocket: see attach_channels.h. Runs in the kubernetes
 * backend. */
#include "backends/kubernetes/api/attach_channels.h"

#include <string.h>

static void keep_status(struct attach_channels *channels, const unsigned char *bytes, size_t length)
{
    size_t room = ATTACH_STATUS_LIMIT - channels->status_length;
    size_t count = length < room ? length : room;
    if (count > 0)
        memcpy(channels->status + channels->status_length, bytes, count);
    channels->status_length += count;
    channels->status_is_cut = channels->status_is_cut || count < length;
}

/* false: nothing may come on that channel. An empty message opens each of the server's channels. */
static bool take_bytes(struct attach_channels *channels, const unsigned char *bytes, size_t length,
                       struct attach_piece *ret)
{
    switch (channels->channel) {
    case ATTACH_STDOUT:
    case ATTACH_STDERR:
        if (length > 0)
            *ret = (struct attach_piece){ATTACH_BYTES, (enum attach_channel)channels->channel,
                                         bytes, length};
        return true;
    case ATTACH_ERROR:
        keep_status(channels, bytes, length);
        return true;
    case ATTACH_CLOSE:
        return true;
    default:
        return length == 0;
    }
}

static bool take_data(struct attach_channels *channels, const struct websocket_piece *piece,
                      struct attach_piece *ret)
{
    if (!piece->begins)
        return take_bytes(channels, piece->bytes, piece->length, ret);
    channels->channel = piece->bytes[0];
    channels->has_channel = true;
    return take_bytes(channels, piece->bytes + 1, piece->length - 1, ret);
}

/* false: no more can be read. */
static bool take_piece(struct attach_channels *channels, const struct websocket_piece *piece,
                       struct attach_piece *ret)
{
    bool had_channel = channels->has_channel;
    switch (piece->kind) {
    case WEBSOCKET_DATA:
        return take_data(channels, piece, ret);
    case WEBSOCKET_MESSAGE: /* one without a byte has no channel */
        channels->has_channel = false;
        return had_channel;
    case WEBSOCKET_IS_PING:
        *ret = (struct attach_piece){ATTACH_IS_PING, ATTACH_STDIN, piece->bytes, piece->length};
        return true;
    case WEBSOCKET_IS_CLOSE:
        *ret = (struct attach_piece){ATTACH_IS_CLOSED, ATTACH_STDIN, piece->bytes, piece->length};
        return true;
    case WEBSOCKET_NOTHING:
        break;
    }
    return true;
}

ptrdiff_t attach_channels_next(struct attach_channels *channels, const unsigned char *bytes,
                               size_t length, struct attach_piece *ret)
{
    size_t taken = 0;
    struct websocket_piece piece;
    *ret = (struct attach_piece){.kind = ATTACH_NOTHING};
    do {
        ptrdiff_t count =
            websocket_reader_next(&channels->frames, bytes + taken, length - taken, &piece);
        if (count < 0 || !take_piece(channels, &piece, ret))
            return -1;
        taken += (size_t)count;
    } while (ret->kind == ATTACH_NOTHING && piece.kind != WEBSOCKET_NOTHING);
    return (ptrdiff_t)taken;
}
