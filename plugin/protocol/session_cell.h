/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell on its way to its interpreter (session.h): one datagram. Most cells are small and bring
 * neither files nor tools. These are brief: their description is in the datagram itself, and there
 * are no descriptors but those of the streams. Sent by the plugin, received by the program of a
 * session in process mode and by the backend in docker mode.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "protocol/channel.h"

#define SESSION_CELL_FDS    RUN_FD_INSIDE_COUNT
#define SESSION_BRIEF_LIMIT 4096 /* bytes of a brief cell's description */

struct session_cell {
    char kind;
    bool is_brief; /* the description is here; else in the file of its descriptor */
    size_t length;
    unsigned char description[SESSION_BRIEF_LIMIT];
    int fds[SESSION_CELL_FDS]; /* from RUN_FD_FIRST_INSIDE on; -1: it has none */
};

/* The descriptor at that place. */
int session_cell_fd(const struct session_cell *cell, enum run_fd which);

/* All are the caller's. 0, or -1 with errno. */
int session_cell_send(int socket, char kind, const int fds[SESSION_CELL_FDS]);
/* Of at most SESSION_BRIEF_LIMIT bytes; streams: from RUN_FD_STDIN to RUN_FD_RESULTS. */
int session_cell_send_brief(int socket, char kind, const unsigned char *description, size_t length,
                            const int *streams);

/* Takes the next datagram, a cell or SESSION_PARK, for which *ret has no descriptor. false with
 * errno: EAGAIN where none is there and it does not wait; else this is none, and neither is
 * anything behind it. */
bool session_cell_receive(int socket, bool waits, struct session_cell *ret);
/* Closes what is left of its descriptors, and wipes its description. */
void session_cell_clear(struct session_cell *cell);
