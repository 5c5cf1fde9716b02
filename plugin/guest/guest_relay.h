/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run under way: its program's output goes to the backend until all its processes are dead. Runs
 * in the guest.
 */
#pragma once

#include <stdbool.h>

#include "guest/program/guest_program.h"
#include "guest/session/guest_session.h"

/* From the start of a program to the death of all its processes: its output goes to the backend,
 * orphans are reaped, and what is left when its first process has ended is killed. children: a
 * signalfd for SIGCHLD, which is blocked. Returns when every other process of the container is dead
 * and all output is in the buffer. *ret_ordered: the backend has ordered that. */
struct guest_end relay_until_end(struct guest_program *program, struct guest_session *session,
                                 int children, bool *ret_ordered);
