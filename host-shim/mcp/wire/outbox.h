/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes to one client: whole lines, in the order in which they were sent, written by a thread
 * of its own, so that a client that does not read blocks nobody. Sending is safe from any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

struct outbox;

enum outbox_weight {
    OUTBOX_NEEDED,    /* a client that leaves too many of these unread loses its connection */
    OUTBOX_DROPPABLE, /* left out where the client does not keep up */
};

/* Writes to fd; the event wake_fd is set when that has failed. Both stay the caller's and must
 * outlive the outbox. NULL with a failure. */
struct outbox *outbox_new(int fd, int wake_fd, struct failure *failure);
/* Queues the message (borrowed). false: the client is gone or reads too slowly. */
bool outbox_send(struct outbox *outbox, const json_t *message, enum outbox_weight weight);
/* Has writing failed, or has the client left too much unread? */
bool outbox_is_broken(struct outbox *outbox);
/* Waits until all is written, until writing has failed, or until the deadline (monotonic_ms()). */
void outbox_drain(struct outbox *outbox, int64_t deadline_ms);
/* Ends the thread and frees. What is unwritten is dropped; a write under way must be able to end:
 * shut a socket down before. NULL is fine. */
void outbox_free(struct outbox *outbox);
