/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: the orders that the backend gives it, its cells on their way to the interpreter, and
 * the files that each leaves. Runs in the guest.
 */
#pragma once

#include "guest/guest_program.h"
#include "guest/guest_protocol.h"

enum { SESSION_LATE_STDOUT, SESSION_LATE_STDERR, SESSION_LATE };

/* All zero but for the descriptors: the run is no session. */
struct guest_session {
    int cells;              /* the socket to the interpreter; -1: the run is no session */
    int late[SESSION_LATE]; /* read ends of the last cell's streams; -1 */
};

/* Opens the socket. Returns the interpreter's end, which becomes its standard input; -1 with errno.
 */
int session_open(struct guest_session *ret);
/* Takes the next order off standard input, with the message behind it. true: the backend orders the
 * end. Exits where it is none. */
bool session_take_order(struct guest_session *session, struct guest_program *program);
