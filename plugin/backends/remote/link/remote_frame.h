/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames between a gateway's backend of remote mode and a worker: u32 length of the payload, u8
 * kind, u32 channel, payload; all numbers little endian. A connection carries many runs. Each run
 * has a channel of its own, and so has each descriptor that goes over with a datagram. Pure code.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_LINK_VERSION      1
#define REMOTE_MAGIC             "code-execute-remote"
#define REMOTE_HEADER            9
#define REMOTE_PAYLOAD_LIMIT     65536                 /* bytes of one frame */
#define REMOTE_WINDOW            (UINT32_C(256) << 10) /* bytes of a channel under way */
#define REMOTE_DATAGRAM_LIMIT    8192                  /* bytes of a datagram itself */
#define REMOTE_ATTACHMENTS_LIMIT 16                    /* of one datagram */
#define REMOTE_CHANNELS_LIMIT    16384                 /* of one connection, at one time */
#define REMOTE_RUNS_LIMIT        1024
#define REMOTE_OFFERS_LIMIT      256                 /* not answered yet */
#define REMOTE_CONTENT_LIMIT     (UINT64_C(4) << 30) /* bytes of one file */

enum remote_kind {
    REMOTE_HELLO = 1, /* channel 0, the first frame of each side */
    REMOTE_OFFER,     /* from the gateway: a new channel, for a run */
    REMOTE_ANSWER,
    REMOTE_DATAGRAM, /* with attachments: struct remote_attachment */
    REMOTE_DATA,     /* bytes of a channel, never none */
    REMOTE_END,      /* no more of them; the other direction goes on */
    REMOTE_RESET,    /* the channel is gone in both directions */
    REMOTE_TAKEN,    /* u32: so many more bytes of the channel may come */
    REMOTE_PING,     /* channel 0 */
    REMOTE_PONG,     /* channel 0 */
    REMOTE_CAPACITY, /* from the worker, channel 0 */
    REMOTE_DRAIN,    /* from the worker, channel 0: no offer is accepted any more */
    REMOTE_BYE,      /* channel 0, the last frame: the reason, as text */
    REMOTE_KIND_END
};

struct remote_header {
    uint32_t length; /* of the payload */
    enum remote_kind kind;
    uint32_t channel;
};

void remote_header_put(unsigned char bytes[REMOTE_HEADER], const struct remote_header *header);
/* false and *ret untouched: an unknown kind, a payload that is too long or too short for it, a
 * channel where there must be none, or none where there must be one. */
bool remote_header_read(const unsigned char bytes[REMOTE_HEADER], struct remote_header *ret);

/* The object that stands for an attached descriptor on the other side. */
enum remote_form {
    REMOTE_NOTHING = 1, /* /dev/null */
    REMOTE_CONTENT,     /* a sealed memfd with so many bytes, which come as DATA. The datagram is
                           delivered when it is whole, and then the channel is gone */
    REMOTE_OUTPUT,      /* the write end of a pipe, of which the bytes come back */
    REMOTE_INPUT,       /* a stream socket, to which the bytes go */
    REMOTE_DATAGRAMS,   /* a SOCK_SEQPACKET socket, to which the datagrams go */
    REMOTE_INTAKE,      /* RUN_FD_ENDPOINTS: a stream with the program's connections */
    REMOTE_FORM_END
};

struct remote_attachment {
    enum remote_form form;
    uint32_t channel; /* new; 0 of NOTHING alone */
    uint64_t size;    /* of CONTENT; else 0 */
};

struct remote_datagram {
    size_t attachment_count;
    struct remote_attachment attachments[REMOTE_ATTACHMENTS_LIMIT];
    const unsigned char *bytes; /* borrowed: of the payload */
    size_t length;              /* at least 1 */
};

#define REMOTE_ATTACHMENT_BYTES 13
/* Of a payload with so many attachments, ahead of the datagram's bytes. */
#define REMOTE_DATAGRAM_HEAD(count) (2 + (count)*REMOTE_ATTACHMENT_BYTES)

/* Writes the head alone, REMOTE_DATAGRAM_HEAD() bytes. */
void remote_datagram_put_head(unsigned char *bytes, const struct remote_datagram *datagram);
/* false and *ret untouched where it is none. */
bool remote_datagram_read(const unsigned char *payload, size_t length, struct remote_datagram *ret);
