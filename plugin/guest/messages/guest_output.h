/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames to the backend, buffered, on standard output. Where that is broken, nobody wants anything
 * of this container any more, and the guest exits with all there is in it. Runs in the guest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "guest/messages/guest_protocol.h"

/* Makes standard output non-blocking: a backend that does not read must not keep the guest from
 * ending the tree. */
void output_open(void);
/* Adds a frame, and waits for room where there is none. */
void output_put(enum guest_kind kind, const void *bytes, size_t length);
/* Whether output_read() has room. */
bool output_has_room(void);
/* The same for two of them and a frame as large. */
bool output_has_room_for_three(void);
/* One read from a program's pipe, as a frame of that kind. 0: the pipe is at its end; -1 with
 * errno: it has nothing now. */
ssize_t output_read(int fd, enum guest_kind kind);
bool output_is_empty(void);
/* Sends what can be sent now. */
void output_flush(void);
/* Waits until all is sent, or the backend is gone. */
void output_flush_all(void);
