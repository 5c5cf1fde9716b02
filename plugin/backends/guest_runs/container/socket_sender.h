/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes on their way from a socket of the run to the guest, unread: the answers to a program's
 * calls of tools, or its connections to endpoints. They go as orders of at most GUEST_ANSWERS_LIMIT
 * bytes. Of answers never more is under way than the guest has room for; beyond that they stay in
 * the socket. Those of connections keep to windows of their own
 * (guest/channels/connection_relay.h). Runs in a backend of containers, single-threaded; no
 * function here waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/guest_runs/container/message_sender.h"

/* All zero: the run has no such socket, nor had any of its cells. */
struct socket_sender {
    unsigned char *order; /* owned, as is the socket; NULL: there is none */
    size_t begin;         /* of what is not sent of the order under way */
    size_t end;
    char kind;         /* GUEST_ORDER_ANSWERS or GUEST_ORDER_ENDPOINTS */
    uint32_t in_guest; /* of answers: bytes that the guest has not told of */
    int socket;
    bool ended; /* the guest is told of the end of the socket, or is gone; or there is none */
};

/* Takes a copy of the socket for orders of that kind, in place of the one that it has. What is
 * under way of that one's is still to be sent whole. false when out of memory or descriptors. */
bool socket_sender_open(struct socket_sender *sender, char kind, int socket);
/* The same without a further socket. */
void socket_sender_end(struct socket_sender *sender);
void socket_sender_close(struct socket_sender *sender);

/* The socket, where more could be taken from it; else -1. */
int socket_sender_socket(const struct socket_sender *sender);
/* An order is under way. Nothing else may be sent before the rest of it. */
bool socket_sender_is_busy(const struct socket_sender *sender);
/* Takes the next order from the socket. false: there is nothing now. */
bool socket_sender_fill(struct socket_sender *sender);
/* The rest of the order under way, and so many bytes of it are sent. */
struct message_piece socket_sender_rest(const struct socket_sender *sender);
void socket_sender_take(struct socket_sender *sender, size_t count);
/* No more of it can be sent. */
void socket_sender_stop(struct socket_sender *sender);
/* The guest has told of so many bytes. false: it had not so many. */
bool socket_sender_told(struct socket_sender *sender, uint32_t count);
