/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session: the orders that the backend gives it, its cells on their way to their interpreter, its
 * further interpreters, and the files that each cell leaves. Runs in the guest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "guest/messages/guest_protocol.h"
#include "guest/program/guest_program.h"
#include "guest/session/guest_checkpoints.h"
#include "protocol/session.h"

enum { SESSION_LATE_STDOUT, SESSION_LATE_STDERR, SESSION_LATE };

/* What has cells of its own: the main program, and an interpreter for each further language. */
struct guest_session_program {
    pid_t pid; /* of the main program 0: all branches sleep */
    int cells; /* the socket to it */
};

/* All zero but for the descriptors: the run is no session. */
struct guest_session {
    struct guest_session_program programs[SESSION_PROGRAMS_MOST];
    size_t count;           /* 0: the run is no session */
    size_t current;         /* whose cell is under way, or was the last one */
    int late[SESSION_LATE]; /* read ends of the last cell's streams; -1 */
    struct guest_checkpoints checkpoints;
    bool has_cell;             /* the interpreter has had one, which is not undone */
    bool is_restored;          /* or woken, and what was printed before is still to be passed on */
    struct guest_end restored; /* how the interpreter that was undone has ended */
};

/* Opens the socket of the next program. Returns the program's end, which becomes its standard
 * input; -1 with errno. */
int session_open(struct guest_session *session);
/* That program has started. */
void session_add(struct guest_session *session, pid_t pid);
/* Is it one of its programs, whose end is that of the session? */
bool session_has(const struct guest_session *session, pid_t pid);
/* Takes the next order off standard input, with the message behind it. true: the backend orders the
 * end. Exits where it is none. */
bool session_take_order(struct guest_session *session, struct guest_program *program);
/* Back to before the last cells, of which the last may be under way. false: there is no checkpoint,
 * or it was killed, and program->pid is 0. */
bool session_restore(struct guest_session *session, struct guest_program *program, size_t cells);

#define SEND_FDS_LIMIT 8

/* To the interpreter of a session: one byte and the descriptors, in one datagram. Does not wait. */
bool send_fds(int socket, char kind, const int *fds, size_t count);
