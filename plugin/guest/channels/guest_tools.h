/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers to the program's calls of tools, on their way from the backend to the program: a
 * socket of the program's, shut down for writing, and a buffer of GUEST_ANSWERS_ROOM bytes for what
 * it has not read yet. Nothing of them is looked at. A run without tools has neither. Each cell of
 * a session that has tools has a socket of its own. Runs in the guest, which never waits for the
 * program here.
 */
#pragma once

#include <stdbool.h>

#define TOOLS_NEED_DESCRIPTORS \
    "the limit on open files leaves the program no number for the answers of tools"

/* Makes the socket. The program's end, CLOEXEC, the caller's to close; -1 with errno. */
int tools_open(void);
bool tools_are_open(void);
/* The program that has the other end does not get to use it. */
void tools_drop(void);
/* The cell that had it is over, or undone: what waits for it is dropped as well. */
void tools_forget(void);

/* Takes what is behind a GUEST_ORDER_ANSWERS. Exits where it is more than there is room for. */
void tools_take_order(void);
/* More of that order is still to come ahead of the next one; takes what is there of it. */
bool tools_are_coming(void);
void tools_take_more(void);

/* The socket, as long as something waits for the program to read; else -1. */
int tools_blocked_socket(void);
/* Writes what the program's socket takes now. */
void tools_flush(void);
/* Tells the backend what has been taken, once that is worth a frame and there is room for one. */
void tools_tell_taken(void);
