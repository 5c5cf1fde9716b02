/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client: where its messages come from and go to. Created, read and closed on the main thread;
 * calls under way hold a reference and answer from their own threads.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/failure.h"
#include "mcp/result/resource.h"
#include "mcp/wire/line_reader.h"
#include "mcp/wire/session_revision.h"
#include "mcp/wire/write_queue.h"

struct server;

struct connection {
    struct connection *next;
    struct server *server;
    int in, out;
    bool is_socket;
    char principal[64]; /* whose requests these are; "" where the operating system has no name */
    size_t references;  /* under the server's lock */
    struct write_queue *write_queue;
    bool closed; /* under the server's lock */
    struct resource_list resources;
    /* Of the main thread. */
    struct line_reader reader;
    bool initialized; /* by the handshake of revisions up to 2025-11-25 */
    bool has_listed;  /* the tools, by one of them, since they have last changed */
    struct session_revision session;
};

/* The answers to an array of messages, which are sent as one array when all are there. */
struct batch {
    struct connection *connection;
    size_t open; /* under the server's lock, as are the messages */
    json_t *messages;
};

/* Takes the descriptors over (in and out may be the same). NULL with a failure. */
struct connection *connection_new(struct server *server, int in, int out, bool is_socket,
                                  struct failure *failure);
void connection_hold(struct connection *connection);
void connection_release(struct connection *connection);
/* Ends sending and receiving. */
void connection_close(struct connection *connection);

/* Sends the message (taken over; NULL: none could be made) if the connection is still there. */
void connection_send(struct connection *connection, json_t *message, enum write_weight weight);

/* batch NULL: the answer goes by itself. message NULL: there is none. */
void connection_answer(struct connection *connection, struct batch *batch, json_t *message);
/* New, with one answer open: that of whoever reads the array. NULL when out of memory. */
struct batch *batch_new(struct connection *connection);
void batch_expect(struct batch *batch);
