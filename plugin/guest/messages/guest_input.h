/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message of the run, from standard input: its head, its files, the program's standard input
 * and the word at its end. Runs in the guest, which may wait here as
 * long as it takes. The end of standard input is the end of the backend: the guest exits.
 */
#pragma once

#include "guest/messages/guest_protocol.h"

/* Waits until the backend is there to hear. *ret_peer: the pod of GUEST_CALL_NETWORK; untouched by
 * another call. false: something else has come. */
bool input_await_call(char ret_peer[GUEST_PEER_SIZE]);
/* Waits for the message. Returns when it begins, or when the other descriptor hangs up first
 * (false); -1: there is no other. */
bool input_await(int other);
/* Takes the head. false: the bytes are none. */
bool input_take_head(struct guest_run *ret);
/* Takes the next file's content into a file, its length and its hash. false with errno. */
bool input_take_content(int fd, struct run_file *ret);
/* Takes the program's standard input into the file. false with errno. */
bool input_take_stdin(int fd);
/* Takes the end of the message. false: another word is there. */
bool input_take_end(void);
/* The same of a cell with so many files. *ret_refused: the number of one that is not as described;
 * count: all are. */
bool input_take_cell_end(size_t count, size_t *ret_refused);
/* Behind the message: a number that belongs to an order, and some of the bytes that do, as they
 * come; at least 1. */
uint32_t input_take_number(void);
size_t input_take_some(void *bytes, size_t length);
/* Drops what comes until the backend has gone. */
void input_await_end(void);
/* The same until it has said that it has taken all (GUEST_TAKEN), but for a while at most. */
void input_await_taken(void);
/* A file in memory for it, CLOEXEC; -1 with errno. */
int input_make_file(void);
/* No more can be written to it, and it is read from its beginning. false with errno. */
bool input_seal_file(int fd);
