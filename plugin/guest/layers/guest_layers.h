/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the guest puts on a program from inside, behind what the engine has put on the container:
 * Landlock where the kernel has it, and the system call filters; and what the kernel says of the
 * guest itself. Runs in the guest, and in its child that becomes the program.
 */
#pragma once

#include <stdbool.h>

#include "guest/layers/landlock.h"

/* Once, before anything is started: what of a network programs have. */
void layers_choose(enum landlock_network network);
/* In the child, last of all before its execve. false with errno: a layer is not in force, and the
 * program must not start. Each is looked at once it is on: the kernel has to count the filters, and
 * Landlock has to refuse what nothing else refuses. */
bool layers_apply(void);

/* Sends the guest's /proc/self/status, and behind that its own lines for what the kernel leaves out
 * there, or tells otherwise (GUEST_FACTS). false with errno. */
bool facts_send(void);
/* They are to have the digest of the guest's program, which can be read only before the guest is
 * protected. false with errno. */
bool facts_take_digest(void);

/* guest_network.c: what of the cluster's network a pod reaches, by the guest's own tries: before it
 * has heard of a run, and before a filter is on anything. No byte of a run is in them. Tries all at
 * once, for two seconds at most, and sends what came of each (GUEST_NETWORK). peer: the address of
 * another pod. */
void network_try(const char *peer);
