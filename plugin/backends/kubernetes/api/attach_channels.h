/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the messages of a Kubernetes API server on an attached WebSocket. Each begins with a byte
 * that names its channel. The subprotocols are v5.channel.k8s.io, by which one channel can be
 * closed (KEP-4006), and v4.channel.k8s.io before it. The last message is a Status object on the
 * channel of errors. Messages are read as they arrive, and output is not kept. Pure code. Runs in
 * the kubernetes backend.
 */
#pragma once

#include "backends/kubernetes/api/websocket.h"

#define ATTACH_STATUS_LIMIT 8192 /* bytes of the Status object that are kept */

enum attach_channel {
    ATTACH_STDIN = 0,
    ATTACH_STDOUT = 1,
    ATTACH_STDERR = 2,
    ATTACH_ERROR = 3,
    ATTACH_RESIZE = 4,
    ATTACH_CLOSE = 255, /* of v5; its one byte is the channel that is closed */
};

/* Starts all zero. */
struct attach_channels {
    struct websocket_reader frames;
    unsigned char channel; /* of the message under way */
    bool has_channel;
    char status[ATTACH_STATUS_LIMIT + 1]; /* what has come of it, with a NUL behind it */
    size_t status_length;
    bool status_is_cut;
};

enum attach_kind {
    ATTACH_NOTHING,   /* the input is used up */
    ATTACH_BYTES,     /* the next bytes of the program's output, of that channel */
    ATTACH_IS_PING,   /* its payload is to be sent back */
    ATTACH_IS_CLOSED, /* by the server, with that payload */
};

struct attach_piece {
    enum attach_kind kind;
    enum attach_channel channel; /* BYTES: ATTACH_STDOUT or ATTACH_STDERR */
    const unsigned char *bytes;  /* inside the input or the reader */
    size_t length;
};

/* Takes input up to one piece. The number of bytes taken (all of them where there is no piece), or
 * -1 where it is no frame, or is of a channel on which a server has nothing to send; the reader
 * must not be used after that. */
ptrdiff_t attach_channels_next(struct attach_channels *channels, const unsigned char *bytes,
                               size_t length, struct attach_piece *ret);
