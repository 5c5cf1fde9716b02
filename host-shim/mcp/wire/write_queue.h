/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output for one client: whole lines in their order, written by a thread of its own, so a
 * client that does not read blocks no other. Sending is safe from any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

struct write_queue;

enum write_weight {
    WRITE_NEEDED,    /* a client that leaves too many of these unread loses its connection */
    WRITE_DROPPABLE, /* left out where the client does not keep up */
};

/* Writes to fd; the event wake_fd is set when that has failed. Both stay the caller's and must
 * outlive the queue. NULL with a failure. */
struct write_queue *write_queue_new(int fd, int wake_fd, struct failure *failure);
/* Queues the message (borrowed). false: the client is gone or reads too slowly. */
bool write_queue_send(struct write_queue *queue, const json_t *message, enum write_weight weight);
/* Has writing failed, or has the client left too much unread? */
bool write_queue_is_broken(struct write_queue *queue);
/* Waits until all is written, until writing has failed, or until the deadline (monotonic_ms()). */
void write_queue_drain(struct write_queue *queue, uint64_t deadline_ms);
/* Ends the thread and frees. What is unwritten is dropped; a write under way must be able to end:
 * shut a socket down before. NULL is fine. */
void write_queue_free(struct write_queue *queue);
