/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers to a program's calls of tools, on their way from the gateway's socket to the guest,
 * unread: orders of at most GUEST_ANSWERS_LIMIT bytes, and never more under way than the guest has
 * room for. Beyond that they stay in the gateway's socket. Runs in the docker backend,
 * single-threaded; no function here waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/docker/container/message_sender.h"

/* All zero: the run has no tools, nor had any of its cells. */
struct answer_sender {
    unsigned char *order; /* owned, as is the socket; NULL: there is none */
    size_t begin;         /* of what is not sent of the order under way */
    size_t end;
    uint32_t in_guest; /* bytes that the guest has not told of */
    int socket;
    bool ended; /* the guest is told of the end of the socket, or is gone; or there is none */
};

/* Takes a copy of the socket, in place of the one that it has. What is under way of that one's is
 * still to be sent whole. false when out of memory or descriptors. */
bool answer_sender_open(struct answer_sender *sender, int socket);
/* The same without a further socket. */
void answer_sender_end(struct answer_sender *sender);
void answer_sender_close(struct answer_sender *sender);

/* The socket, where more could be taken from it; else -1. */
int answer_sender_socket(const struct answer_sender *sender);
/* An order is under way. Nothing else may be sent before the rest of it. */
bool answer_sender_is_busy(const struct answer_sender *sender);
/* Takes the next order from the socket. false: there is nothing now. */
bool answer_sender_fill(struct answer_sender *sender);
/* The rest of the order under way, and so many bytes of it are sent. */
struct message_piece answer_sender_rest(const struct answer_sender *sender);
void answer_sender_take(struct answer_sender *sender, size_t count);
/* No more of it can be sent. */
void answer_sender_stop(struct answer_sender *sender);
/* The guest has told of so many bytes. false: it had not so many. */
bool answer_sender_told(struct answer_sender *sender, uint32_t count);
