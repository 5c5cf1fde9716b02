/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of one connection: TLS, the greeting, frames in and out, keep-alive, and the reason of
 * its end. Its owner gives frames their meaning. Single-threaded, and no function waits. Runs in
 * code-execute-remote and code-execute-worker, which ignore SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/remote/link/link.h"
#include "backends/remote/link/remote_frame.h"

#define CONNECTION_RECORD 16384 /* bytes of one TLS record */
/* The most that one read of a local descriptor takes, so that its frame is one TLS record. */
#define CONNECTION_PIECE (CONNECTION_RECORD - REMOTE_HEADER)

struct connection;

struct connection_handler {
    void (*ready)(void *user, const struct remote_hello *peer);
    /* A frame of a kind that is not the connection's own. payload belongs to the connection, and
     * may be changed in place. false: connection_break() was called. */
    bool (*frame)(void *user, const struct remote_header *header, unsigned char *payload);
};

/* As link_new(). */
struct connection *connection_new(int fd, struct tls_context *context, bool is_server,
                                  const struct link_peer *peer, const struct remote_hello *self,
                                  const struct connection_handler *handler, void *user);
void connection_free(struct connection *connection);

int connection_fd(const struct connection *connection);
bool connection_is_ready(const struct connection *connection);
bool connection_is_over(const struct connection *connection);
const struct error *connection_error(const struct connection *connection);
const char *connection_peer_name(const struct connection *connection);

/* Goes on with whatever can be done without waiting, and gives out frames. is_ready: its descriptor
 * has an event, or connection_deadline_us() is past. false: it is over. */
bool connection_receive(struct connection *connection, bool is_ready, uint64_t now_us);
/* Sends what waits, as far as it goes. false: it is over. */
bool connection_flush(struct connection *connection);
/* When connection_receive() is due in any case; 0: at once. */
uint64_t connection_deadline_us(const struct connection *connection);

/* Ends the connection for that reason: a frame broke the rules, or the owner wants it. The reason
 * is sent to the other side if it can go out at once. Always false. */
bool connection_break(struct connection *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A frame of few bytes, which waits until the next connection_flush(). It does not get lost, or the
 * connection is over. */
void connection_put(struct connection *connection, enum remote_kind kind, uint32_t channel,
                    const void *payload, size_t length);
/* Room for the payload of a frame, to be written in place and then committed, or left. NULL: the
 * connection is over. */
unsigned char *connection_room(struct connection *connection, size_t length);
void connection_commit(struct connection *connection, enum remote_kind kind, uint32_t channel,
                       size_t length);
/* Whether more of what can wait may be added now. */
bool connection_wants_more(const struct connection *connection);

/* Counts the bytes that were added so far, and of those the ones that may have left. */
uint64_t connection_added(const struct connection *connection);
uint64_t connection_sent(const struct connection *connection);
