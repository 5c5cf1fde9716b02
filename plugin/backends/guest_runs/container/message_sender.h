/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a run's message has gone to its guest. The bytes come in pieces, with the content of each
 * file by reference in its gap; no such file is in memory as a whole. Runs in a backend of
 * containers, single-threaded. Reading a file waits for its file system, nothing else here waits.
 */
#pragma once

#include <stdint.h>

#include "backends/guest_runs/container/run_message.h"

struct message_file;

/* All zero: nothing is sent yet. */
struct message_sender {
    uint64_t filling;          /* zeros that are left to send of a file that was refused */
    struct message_file *file; /* owned: the gap that is being filled; NULL: none */
    size_t sent;               /* of the message's own bytes */
    size_t filled;             /* gaps */
    uint64_t total;            /* bytes that were taken, files included */
    bool over;                 /* no more of it is to be sent */
};

struct message_piece {
    const unsigned char *bytes; /* borrowed, until they are taken */
    size_t length;              /* at least 1 */
};

/* The next bytes to send; the same until some of them are taken. inputs: RUN_FD_INPUTS of the run.
 * 1: *ret is a piece; 0: the message is sent; -1: the next file cannot be read, or is not as
 * described (errno 0). Then sender->filled is the index of its gap, and nothing more may be sent
 * before message_sender_fill(). */
int message_sender_next(struct message_sender *sender, const struct run_message *message,
                        int inputs, struct message_piece *ret);

/* Behind -1: the file's place is filled up with zeros, and the rest of the message is sent. */
void message_sender_fill(struct message_sender *sender, const struct run_message *message);

/* So many bytes of the piece are sent. */
void message_sender_take(struct message_sender *sender, size_t count);

/* No more is to be sent. */
void message_sender_close(struct message_sender *sender);
