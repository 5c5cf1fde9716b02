/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many connected sockets over one stream of bytes, as the connections of a container's program to
 * the broker of endpoints: one relay is in the guest, which accepts them, the other one in the
 * broker. What is between them passes the bytes on unread.
 *
 * A frame is a u32 length of the payload, a byte with the kind, the u32 number of the connection
 * and the payload, all numbers little endian. Each side sends at most RELAY_WINDOW bytes of a
 * connection beyond what the other one has told to be taken, so each has room for all that comes,
 * and one connection that nobody reads holds up no other. No function here waits. Runs in the guest
 * and in the broker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_CONNECTIONS 64
/* The side that accepts takes fewer: of others the other side may still have the ends. */
#define RELAY_ACCEPTED    32
#define RELAY_WINDOW      (UINT32_C(64) << 10)
#define RELAY_HEADER      9
#define RELAY_DATA_LIMIT  UINT32_C(16384) /* payload of a frame */
#define RELAY_FRAME_LIMIT (RELAY_HEADER + RELAY_DATA_LIMIT)

enum relay_frame {
    RELAY_OPEN = 1, /* from the side that accepts: there is such a connection */
    RELAY_DATA,
    RELAY_END,   /* no more DATA of it; the other direction goes on */
    RELAY_RESET, /* it is gone in both directions */
    RELAY_TAKEN, /* a u32: so many more bytes may come */
    RELAY_FRAME_END
};

struct relay_connection {
    int fd; /* non-blocking, owned; -1: the place is free */
    uint32_t number;
    unsigned char *waiting; /* RELAY_WINDOW bytes, owned: what fd has not taken yet */
    size_t begin, length;   /* of them */
    uint32_t allowance;     /* bytes that the other side has room for */
    uint32_t taken;         /* by fd, and not told */
    bool readable;          /* until read(2) says otherwise */
    bool open_due;
    bool reset_due;
    bool has_ended; /* fd has given its last byte ... */
    bool end_due;   /* ... which is still to be told */
    bool peer_ended;
    bool shut; /* fd is told so */
};

struct connection_relay {
    struct relay_connection connections[RELAY_CONNECTIONS];
    int epoll; /* of their sockets, edge-triggered; -1: none */
    uint32_t next_number;
    size_t first; /* whose turn it is */
    unsigned char header[RELAY_HEADER];
    size_t header_length;
    uint32_t left; /* of the payload under way */
    uint32_t number;
    unsigned char kind;
    unsigned char payload[sizeof(uint32_t)]; /* of TAKEN */
    bool broken;
    /* Takes the socket of a connection that the other side has opened: made by the relay, owned by
     * the callee. false: it is refused. NULL: this side accepts them, and none may come. */
    bool (*opened)(void *user, int fd);
    void *user;
};

/* false with errno. In both cases the caller's to clear. */
bool relay_init(struct connection_relay *relay);
void relay_clear(struct connection_relay *relay);

bool relay_has_place(const struct connection_relay *relay);
/* Takes a connected socket, where there is a place. */
void relay_add(struct connection_relay *relay, int fd);

/* Ends all connections in both directions, and the other side hears of it. */
void relay_reset_all(struct connection_relay *relay);

/* Behind POLLIN on the relay's epoll: notes which sockets can be read, and writes to those that can
 * take more what waits for them. */
void relay_serve(struct connection_relay *relay);

/* Takes bytes that have come from the other side, and writes to the sockets what they take now.
 * false: these are no frames. */
bool relay_take(struct connection_relay *relay, const unsigned char *bytes, size_t length);

/* Frames of what the sockets have to say now, as far as there is room for whole ones; capacity at
 * least RELAY_FRAME_LIMIT. Returns their length; 0: there is nothing, until relay_serve() or
 * relay_take() is due again. */
size_t relay_give(struct connection_relay *relay, unsigned char *bytes, size_t capacity);
