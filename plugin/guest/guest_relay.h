/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the start of a program to the death of all its processes: its output goes to the backend,
 * orphans are reaped, and what is left when its first process has ended is killed. Runs in the
 * guest.
 */
#pragma once

#include "guest/guest_program.h"
#include "guest/guest_protocol.h"
#include "guest/guest_session.h"

/* children: a signalfd for SIGCHLD, which is blocked. Returns when every other process of the
 * container is dead and all output is in the buffer. *ret_ordered: the backend has ordered that. */
struct guest_end relay_until_end(struct guest_program *program, struct guest_session *session,
                                 int children, bool *ret_ordered);
