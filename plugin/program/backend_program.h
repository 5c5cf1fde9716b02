/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend's process, from the gateway's side: its program, its start, its end. The gateway keeps
 * two descriptors of it (control socket, pidfd), both CLOEXEC, and no lasting child. Any thread;
 * the caller keeps two threads from using one at the same time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct backend_program {
    pid_t owner; /* the process that started it: in a fork of the gateway it is not ours */
    int control; /* -1: not running */
    int pidfd;
};

#define BACKEND_PROGRAM_NONE       \
    {                              \
        .control = -1, .pidfd = -1 \
    }

/* Programs are looked for in the directory of that file, instead of that of this .so: for a program
 * that starts backends itself. At its start. */
void backend_program_look_beside(const char *path);

/* Is the program of that name next to this .so? */
bool backend_program_exists(const char *name);

/* Was it started by this very process, and not ended by it? */
bool backend_program_is_ours(const struct backend_program *program);

/* Starts it and waits for its hello, 10 s at most; -1 with error BACKEND_UNAVAILABLE. */
int backend_program_start(const char *name, struct backend_program *ret, struct error *error);

/* One byte with descriptors, which stay the caller's. The socket's buffer holds some hundred
 * orders: with more at once, one waits for the program to take those before it, 10 s at most. 0, or
 * -1 with errno: EPIPE or ECONNRESET where the program has ended. */
int backend_program_order(const struct backend_program *program, char order, const int *fds,
                          size_t fd_count);

/* Closes the control socket, which ends it and all its runs, and waits for that; killed after 5 s.
 * Nothing where it is not running. */
void backend_program_stop(struct backend_program *program);

/* Forgets a program that has ended, or ends within half a second: a killed process closes its
 * sockets one after the other, and the control socket may still take bytes that are never read. */
void backend_program_forget_ended(struct backend_program *program);

/* Kills it without waiting: it no longer answers. */
void backend_program_kill(struct backend_program *program);

/* Closes the descriptors of a program that has ended, or belongs to another process. */
void backend_program_forget(struct backend_program *program);

/* A message to such a program in a memory file that nobody can change any more, so that what is
 * checked is what is read (sealed_message.c). name: of the file, for people who look at
 * descriptors. The bytes stay the caller's to wipe. A new descriptor, CLOEXEC; -1 with
 * BACKEND_FAILED. */
int sealed_message_open(const char *name, const void *bytes, size_t length, struct error *error);
